"""The search loop around the core: time, progress and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

#: Seconds in the core between looks at the clock, the progress display and Ctrl-C.
SLICE = 0.05
#: What `run` returns when the work up to a checkpoint is done.
CHECKPOINT = "checkpoint"


@dataclass(frozen=True)
class Progress:
    """How far a search is.

    Parameters
    ----------
    seconds, max_time : float
        Time used, and the limit (None: there is none).
    generation, evaluations : int
        Work done.
    rmse : float
        Error of the best law so far, on the scale of y.
    status : str
        ``"running"``, or why the search ended.
    write_law : callable, optional
        Writes the best law so far.
    """

    seconds: float
    max_time: float | None
    generation: int
    evaluations: int
    rmse: float
    status: str
    write_law: Callable[[], str] | None = field(default=None, repr=False, compare=False)

    @property
    def law(self) -> str:
        """The best law so far as text; made when asked for, since that takes longer than a look."""
        return self.write_law() if self.write_law is not None else ""


def run(
    evolution: Any,
    max_time: float | None,
    report: Callable[[Progress], object] | None = None,
    write_law: Callable[[], str] | None = None,
    work: float | None = None,
) -> str:
    """Evolve until a law is accepted, time or work is up, or `report` returns True.

    Parameters
    ----------
    evolution : Evolution
        The search, or islands with its face.
    max_time : float, optional
        Seconds.
    report : callable, optional
        Called with the progress after every slice of time.
    write_law : callable, optional
        Writes the best law so far.
    work : float, optional
        Return at a checkpoint: when so much work is done in all.

    Returns
    -------
    str
        ``exact``, ``threshold``, ``max_generations``, ``max_time``, ``stopped`` (by `report`) or
        ``checkpoint``.
    """
    start = time.perf_counter()
    status = "running"
    more = () if work is None else (work,)
    while status == "running":
        left = SLICE if max_time is None else max_time - (time.perf_counter() - start)
        if left <= 0.0 and evolution.evaluations > 0:
            return "max_time"
        if work is not None and evolution.work >= work:
            return CHECKPOINT
        status = evolution.run(min(SLICE, max(left, 0.0)), *more)
        if report is not None:
            progress = _progress(evolution, time.perf_counter() - start, max_time)
            if report(replace(progress, write_law=write_law)) is True and status == "running":
                return "stopped"
    return status


@contextmanager
def uninterrupted(
    tell: Callable[[str], object], signals: Sequence[signal.Signals] = (signal.SIGINT,)
) -> Iterator[None]:
    """Put off a first Ctrl-C while the results of a search are made or written.

    Parameters
    ----------
    tell : callable
        Gets a message when that happens.
    signals : sequence
        What to put off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []

    def put_off(number: int, _: Any) -> None:
        waiting.append(number)
        if len(waiting) > 1:
            raise KeyboardInterrupt
        tell("the search has ended and its results are being kept; once more to give them up")

    before = [signal.signal(each, put_off) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


def recorded(
    report: Callable[[Progress], object] | None, history: list[Progress]
) -> Callable[[Progress], object]:
    """Return a report that also keeps, in `history`, where the best error fell, and the last."""

    def record(progress: Progress) -> object:
        kept = replace(progress, write_law=None)
        if len(history) > 1 and history[-1].rmse == history[-2].rmse:
            history.pop()  # of a plateau both ends are enough
        history.append(kept)
        return report(progress) if report is not None else None

    return record


def _progress(evolution: Any, seconds: float, max_time: float | None) -> Progress:
    return Progress(
        seconds,
        max_time,
        max(evolution.generation, 0),
        evolution.evaluations,
        evolution.best_rmse,
        evolution.status,
    )


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads meant by scikit-learn's n_jobs; None is 1, -1 all cores."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
