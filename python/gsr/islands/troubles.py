"""Failures that a search outlives: each kind is told once, and that it is over."""

from __future__ import annotations

import threading
from collections.abc import Callable

Tell = Callable[[str], object]


class Troubles:
    """Tells the failures of one thing that is tried again and again.

    Parameters
    ----------
    what : str
        What fails, in the plural: ``"checkpoints"``.
    tell : callable
        Takes a sentence; may be called from any thread.
    """

    def __init__(self, what: str, tell: Tell) -> None:
        self._what = what
        self._tell = tell
        self._told: set[object] = set()
        self._lock = threading.Lock()

    def failed(self, error: Exception) -> None:
        """Note a failure."""
        kind = getattr(error, "errno", None) or type(error)
        with self._lock:
            is_new = kind not in self._told
            self._told.add(kind)
        if is_new:
            self._tell(
                f"{self._what} cannot be written: {_reason(error)}; "
                "the search goes on, and writing is tried again"
            )

    def worked(self) -> None:
        """Note a success."""
        with self._lock:
            is_over = bool(self._told)
            self._told.clear()
        if is_over:
            self._tell(f"{self._what} can be written again")


def _reason(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    place = getattr(error, "filename", None)
    reason = reason.removeprefix("cannot write: ")
    return f"{place}: {reason}" if place else reason
