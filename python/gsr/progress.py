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
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("generation {task.fields[generation]}  rmse {task.fields[rmse]:.3g}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
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
