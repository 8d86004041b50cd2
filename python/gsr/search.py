"""The search loop around the core: time, progress and Ctrl-C."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gsr.exceptions import InterruptedWarning

#: Seconds in the core between looks at the clock, the progress display and Ctrl-C.
SLICE = 0.05


@dataclass(frozen=True)
class Progress:
    """How far a search is."""

    seconds: float
    max_time: float | None
    generation: int
    evaluations: int
    rmse: float
    status: str


def run(
    evolution: Any, max_time: float | None, report: Callable[[Progress], object] | None = None
) -> str:
    """Evolve until a law is accepted, time is up, or Ctrl-C.

    Returns
    -------
    str
        ``exact``, ``threshold``, ``max_generations``, ``max_time`` or ``interrupted``.
    """
    start = time.perf_counter()
    status = "running"
    try:
        while status == "running":
            left = SLICE if max_time is None else max_time - (time.perf_counter() - start)
            if left <= 0.0 and evolution.evaluations > 0:
                return "max_time"
            status = evolution.run(min(SLICE, max(left, 0.0)))
            if report is not None:
                report(_progress(evolution, time.perf_counter() - start, max_time))
    except KeyboardInterrupt:
        if evolution.evaluations == 0:
            raise
        warnings.warn(
            "interrupted: the best laws so far are kept", InterruptedWarning, stacklevel=3
        )
        return "interrupted"
    return status


def _progress(evolution: Any, seconds: float, max_time: float | None) -> Progress:
    return Progress(
        seconds,
        max_time,
        evolution.generation,
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
