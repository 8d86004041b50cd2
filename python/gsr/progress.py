"""Progress of a search on the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gsr.search import Progress

Report = Callable[[Progress], object]


@contextmanager
def reporter(verbose: bool, callback: Report | None) -> Iterator[Report | None]:
    """Give what the search is to call: the user's callback, the display, both or nothing."""
    if not verbose:
        yield callback
        return
    with _display() as show:

        def report(progress: Progress) -> None:
            show(progress)
            if callback is not None:
                callback(progress)

        yield report


@contextmanager
def _display() -> Iterator[Report]:
    from rich.console import Console

    console = Console(stderr=True)
    with _bar(console) if console.is_terminal or console.is_jupyter else _lines(console) as show:
        yield show


@contextmanager
def _lines(console: Any) -> Iterator[Report]:
    """Write a line now and then: batch logs have no cursor to move."""
    due = 0.0

    def show(progress: Progress) -> None:
        nonlocal due
        if progress.seconds < due and progress.status == "running":
            return
        due = max(1.0, 1.5 * progress.seconds)
        console.print(
            f"{progress.seconds:8.1f} s  generation {progress.generation}  "
            f"rmse {progress.rmse:.3g}  {progress.status}",
            highlight=False,
        )

    yield show


@contextmanager
def _bar(console: Any) -> Iterator[Report]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("generation {task.fields[generation]}  rmse {task.fields[rmse]:.3g}"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("searching", total=None, generation=0, rmse=float("inf"))

        def show(progress: Progress) -> None:
            bar.update(
                task,
                completed=progress.seconds,
                total=progress.max_time,
                generation=progress.generation,
                rmse=progress.rmse,
            )

        yield show
