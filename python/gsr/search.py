"""Searches: what they have in common, the loop that runs them, and why they end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

#: Seconds in the core between two checks of the clock, the progress display and Ctrl-C.
SLICE = 0.05
#: What `run` returns when the work up to a checkpoint is done.
CHECKPOINT = "checkpoint"
#: Why a search ended, as it reads after "because". Of several reasons at once the last one counts.
ENDINGS = {
    "max_generations": "the limit of generations was reached",
    "max_evals": "the limit of evaluations was reached",
    "max_time": "the time limit was reached",
    "settled": "the best law had stopped changing",
    "threshold": "the error fell below the threshold",
    "exact": "an exact law was found",
    "stopped": "a callback stopped it",
    "interrupted": "it was interrupted",
    "terminated": "it was terminated",
}


class Search(Protocol):
    """A search that continues where it stopped whenever it is run again.

    There are three: one island (`_core.Island`), islands on threads (`LocalIslands` in
    `islands.archipelago`), and the islands of an MPI rank (`islands.rank_run.RankRun`).
    """

    @property
    def status(self) -> str:
        """``"running"``, or a key of `ENDINGS`."""

    @property
    def generation(self) -> int:
        """The generation of the island that is furthest."""

    @property
    def evaluations(self) -> int:
        """The number of evaluations of all islands."""

    @property
    def best_rmse(self) -> float:
        """The error of the best law."""

    @property
    def n_unconverged(self) -> int:
        """The number of ADMM solves that reached their limit of iterations."""

    @property
    def scanned_features(self) -> Sequence[int]:
        """The features that the guide combines with each other, numbered from 1."""

    def run(self, seconds: float, /) -> str:
        """Search for so many seconds at most, and return the status."""

    def front(self) -> Sequence[Any]:
        """Return the Pareto front of all islands."""

    def runners_up(self) -> Sequence[Any]:
        """Return the laws that are slightly worse than the front."""


@dataclass(frozen=True)
class Progress:
    """How far a search is: time (in seconds) and its limit, work, best error, status."""

    seconds: float
    #: None: there is no limit.
    max_time: float | None
    generation: int
    evaluations: int
    #: The error of the best law so far, on the scale of y.
    rmse: float
    #: ``"running"``, or a key of `ENDINGS`.
    status: str
    write_law: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    make_front: Callable[[], list[Any]] | None = field(default=None, repr=False, compare=False)

    @property
    def law(self) -> str:
        """The best law so far as text; written on demand, since that takes milliseconds."""
        return self.write_law() if self.write_law is not None else ""

    @property
    def front(self) -> list[Any]:
        """The Pareto front so far, as `FrontEntry` objects, simplest first.

        It is made on demand, and only while the callback is called. Constants are those of the
        search; the final fits refine them.
        """
        return self.make_front() if self.make_front is not None else []


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search has found: its laws, and how it went."""

    laws: Sequence[Any]
    status: str
    seconds: float
    history: list[Progress]
    generations: int
    evaluations: int
    n_unconverged: int
    scanned_features: Sequence[int]

    @staticmethod
    def of(
        search: Search,
        status: str,
        seconds: float,
        history: list[Progress],
        laws: Sequence[Any] | None = None,
        work_before: tuple[int, int] = (0, 0),
    ) -> SearchResult:
        """Return the result of a search that has ended.

        By default its laws are the front and the runners-up. `work_before` is the number of
        generations and evaluations of searches that this one has replaced.
        """
        return SearchResult(
            [*search.front(), *search.runners_up()] if laws is None else laws,
            status,
            seconds,
            history,
            search.generation + 1 + work_before[0],
            search.evaluations + work_before[1],
            search.n_unconverged,
            search.scanned_features,
        )


def run(
    search: Any,
    max_time: float | None,
    report: Callable[[Progress], object] | None = None,
    write_law: Callable[[], str] | None = None,
    work: float | None = None,
) -> str:
    """Search until a law is accepted, time or work is used up, or `report` returns True."""
    start = time.perf_counter()
    status = "running"
    more = () if work is None else (work,)
    while status == "running":
        left = SLICE if max_time is None else max_time - (time.perf_counter() - start)
        if left <= 0.0 and search.evaluations > 0:
            return "max_time"
        if work is not None and search.work >= work:
            return CHECKPOINT
        status = search.run(min(SLICE, max(left, 0.0)), *more)
        if report is not None:
            done = max(search.generation, 0), search.evaluations, search.best_rmse
            seconds = time.perf_counter() - start
            progress = Progress(seconds, max_time, *done, search.status, write_law)
            if report(progress) is True and status == "running":
                return "stopped"
    return status


@contextmanager
def uninterrupted(
    tell: Callable[[str], object], signals: Sequence[signal.Signals] = (signal.SIGINT,)
) -> Iterator[None]:
    """Ignore the first of some signals while the results of a search are made or written.

    `tell` is called with a message when that happens.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []

    def on_signal(number: int, _: Any) -> None:
        waiting.append(number)
        if len(waiting) > 1:
            raise KeyboardInterrupt
        tell("the search has ended and its results are being kept; interrupt again to discard them")

    with handled(signals, on_signal):
        yield


@contextmanager
def handled(signals: Sequence[signal.Signals], handler: Any) -> Iterator[None]:
    """Handle some signals in another way for a while."""
    before = [(each, signal.signal(each, handler)) for each in signals]
    try:
        yield
    finally:
        for each, earlier in before:
            signal.signal(each, earlier)


def recorded(
    report: Callable[[Progress], object] | None, history: list[Progress]
) -> Callable[[Progress], object]:
    """Return a report that also keeps, in `history`, where the best error fell, and the last."""

    def record(progress: Progress) -> object:
        kept = replace(progress, write_law=None, make_front=None)
        if len(history) > 1 and history[-1].rmse == history[-2].rmse:
            history.pop()  # both ends of a plateau are enough
        history.append(kept)
        return report(progress) if report is not None else None

    return record


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads meant by scikit-learn's n_jobs; None is 1, -1 all cores."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
