"""Progress of a search: on a terminal, in a notebook, in a batch log."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gsr.encoding.writing import html
from gsr.files import printable
from gsr.search import Progress
from gsr.selection.criteria import BITS_PER_NODE

if TYPE_CHECKING:
    from rich.console import Console

Report = Callable[[Progress], object]

#: Characters of a law in a log.
LOGGED = 90
#: Seconds between two updates of the law, which takes some ms to write, and of the rest.
LAW_EVERY = 0.5
TERMINAL_EVERY = 0.1
NOTEBOOK_EVERY = 0.25
#: Seconds between two lines of a log at most.
LOG_EVERY = 60.0
BAR_WIDTH = 24


def current_law(laws: Sequence[Any], n_rows: int) -> Any:
    """Return the law of a front to show while the search goes on; None if there are no laws.

    Of the exact laws, or of all if there are none, it is roughly the one with the shortest
    description of law and data.
    """

    def rank(law: Any) -> tuple[bool, float]:
        error = 0.0 if law.exact else n_rows * math.log2(max(law.rmse, 1e-300))
        return not law.exact, float(error + BITS_PER_NODE * law.complexity)

    return min(laws, key=rank, default=None)


@contextmanager
def reporter(
    verbose: bool, callback: Report | None, console: Console | None = None
) -> Iterator[Report | None]:
    """Provide what the search calls with its progress: the callback, the display, both or nothing.

    The display is on `console` or standard error.
    """
    if not verbose:
        yield callback
        return
    from rich.console import Console

    console = console or Console(stderr=True)
    if console.is_jupyter:
        display = _notebook()
    elif console.is_terminal and not console.is_dumb_terminal:
        display = _block(console)
    else:
        display = _lines(console)
    with display as show:

        def report(progress: Progress) -> object:
            show(progress)
            return callback(progress) if callback is not None else None

        yield report


def say(line: str, console: Console | None = None) -> None:
    """Write a line to the display, unless it is empty."""
    from rich.console import Console

    if line:
        console = console or Console(stderr=True)
        console.print(printable(line), highlight=False, markup=False, soft_wrap=True)


class _Pace:
    """Lets a report through now and then, with the law, and always the last one of a search."""

    def __init__(self, every: float) -> None:
        self.every = every
        self.due = self.law_due = 0.0
        self.law = ""
        self.last: Progress | None = None

    def lets(self, progress: Progress) -> bool:
        self.last = progress
        ended = progress.status != "running"
        if progress.seconds < self.due and not ended:
            return False
        self.due = progress.seconds + self.every
        if progress.seconds >= self.law_due or ended:
            self.law_due = progress.seconds + LAW_EVERY
            self.law = progress.law
        return True

    def summary(self) -> str:
        """Return the last line; the law is not chosen yet."""
        if self.last is None:
            return "no search"
        last, status = self.last, self.last.status
        if status == "running":  # there was no report of the end
            timed_out = last.max_time is not None and last.seconds >= last.max_time
            status = "max_time" if timed_out else "ended"
        return f"{status}: {last.seconds:.1f} s  {_counts(last)}"


def _counts(progress: Progress) -> str:
    return (
        f"generation {progress.generation:,}  {progress.evaluations:,} evaluations  "
        f"best rmse {progress.rmse:.3g}"
    )


def _times(progress: Progress) -> str:
    if progress.max_time is None:
        return f"{progress.seconds:.1f} s"
    left = max(progress.max_time - progress.seconds, 0.0)
    return f"{progress.seconds:.1f} s, {left:.1f} s left"


# ---- batch logs --------------------------------------------------------------------------------


@contextmanager
def _lines(console: Console) -> Iterator[Report]:
    """Write a line now and then, since a batch log cannot be updated."""
    pace = _Pace(1.0)

    def show(progress: Progress) -> None:
        if pace.lets(progress):
            # A long search needs lines less and less often.
            pace.due = max(1.0, min(1.5 * progress.seconds, progress.seconds + LOG_EVERY))
            law = textwrap.shorten(pace.law, LOGGED, placeholder=" ...")
            rate = f"{progress.evaluations / max(progress.seconds, 1e-3):,.0f}/s"
            line = f"{progress.seconds:8.1f} s  {_counts(progress)}  {rate}  {law}"
            say(line.rstrip(), console)

    yield show
    say(pace.summary(), console)


# ---- terminals ---------------------------------------------------------------------------------


@contextmanager
def _block(console: Console) -> Iterator[Report]:
    """Update three lines, and leave one at the end."""
    from rich.live import Live

    pace = _Pace(TERMINAL_EVERY)
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def show(progress: Progress) -> None:
            if pace.lets(progress):
                live.update(_drawn(progress, pace.law), refresh=True)

        yield show
    console.print(_line(pace.summary()), no_wrap=True, overflow="ellipsis", crop=True)


def _drawn(progress: Progress, law: str) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    seconds = progress.seconds
    bar = ProgressBar(progress.max_time, seconds, width=BAR_WIDTH, animation_time=seconds)
    top = Table.grid(padding=(0, 1))
    top.add_row("searching", bar, _line(_times(progress)))
    return Group(top, _line(_counts(progress)), _line(law))


def _line(text: str) -> Any:
    """Return text as one line; nothing in it is markup."""
    from rich.text import Text

    return Text(printable(text), no_wrap=True, overflow="ellipsis")


# ---- notebooks ---------------------------------------------------------------------------------


@contextmanager
def _notebook() -> Iterator[Report]:
    """Update one output cell, without widgets, and leave one line in it at the end."""
    shown: Any = import_module("IPython.display")
    pace = _Pace(NOTEBOOK_EVERY)
    cell = shown.display(shown.HTML(""), display_id=True)

    def show(progress: Progress) -> None:
        if pace.lets(progress):
            cell.update(shown.HTML(_page(progress, pace.law)))

    yield show
    cell.update(shown.HTML(f"<div>{escape(pace.summary())}</div>"))


def _page(progress: Progress, law: str) -> str:
    bar = "<progress></progress>"
    if progress.max_time is not None:
        bar = f'<progress max="{progress.max_time:g}" value="{progress.seconds:.2f}"></progress>'
    # A law that is not there yet has a line too, so that the text below does not move.
    return (
        f"<div>{bar} {_times(progress)}<br>{escape(_counts(progress))}"
        f"<br>{html(law) or '&nbsp;'}</div>"
    )
