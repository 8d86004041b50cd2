"""Tells when a peer has found the law, by looking at the test rows.

A user has no such thing: it favours the peer, whose own stopping rules play no part then.

Seconds are processor time of this process: every program has one thread, and what else runs on the
machine takes nothing from it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

clock = time.process_time

#: Test RMSE, relative to the spread of y, at which a law is recovered, and exact.
RECOVERED_AT, EXACT_AT = 1e-6, 1e-10


class Found(Exception):  # noqa: N818
    """Ends a peer's search: the law is exact, or the time is up."""


@dataclass
class Oracle:
    """Test rows and a clock that stands still while they are looked at.

    Parameters
    ----------
    X, y : arrays
        Test rows.
    max_time : float
        Seconds that the search may take.

    Attributes
    ----------
    error : float
        Smallest test RMSE so far, relative to the spread of y.
    recovered_at, exact_at : float
        Seconds when it fell below 1e-6 and 1e-10; NaN before.
    equation : str
        The law that it belongs to.
    """

    X: Array
    y: Array
    max_time: float
    error: float = math.inf
    recovered_at: float = math.nan
    exact_at: float = math.nan
    equation: str = ""
    _start: float = field(default_factory=clock)
    _stopped_at: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds of the search."""
        now = clock() if self._stopped_at is None else self._stopped_at
        return now - self._start

    @property
    def done(self) -> bool:
        """Whether the search may end."""
        return self.error < EXACT_AT or self.seconds > self.max_time

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Stop the clock."""
        self._stopped_at = clock()
        try:
            yield
        finally:
            self._start += clock() - self._stopped_at
            self._stopped_at = None

    def judge(self, prediction: npt.ArrayLike, equation: str) -> None:
        """Look at a law's predictions of the test rows."""
        with np.errstate(all="ignore"):
            difference = np.asarray(prediction, dtype=float) - self.y
            error = float(np.sqrt(np.mean(difference**2)) / np.std(self.y))
        if not error < self.error:
            return
        self.error, self.equation = error, equation
        if error < RECOVERED_AT and math.isnan(self.recovered_at):
            self.recovered_at = self.seconds
        if error < EXACT_AT and math.isnan(self.exact_at):
            self.exact_at = self.seconds
