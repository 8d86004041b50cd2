"""Failed writes that do not end a search: each kind is logged once, and so is the recovery."""

from __future__ import annotations

import logging
import threading


class WriteFailures:
    """Logs the failures of writes that are tried again and again, from any thread."""

    def __init__(self, what: str, log: logging.Logger) -> None:
        self._what = what
        self._log = log
        self._kinds: set[object] = set()
        self._lock = threading.Lock()

    def failed(self, error: Exception) -> None:
        """Note a failure."""
        kind = getattr(error, "errno", None) or type(error)
        with self._lock:
            is_new = kind not in self._kinds
            self._kinds.add(kind)
        if is_new:
            self._log.warning(
                "%s cannot be written: %s; the search goes on, and writing is tried again",
                self._what,
                _reason(error),
            )

    def worked(self) -> None:
        """Note a success."""
        with self._lock:
            is_over = bool(self._kinds)
            self._kinds.clear()
        if is_over:
            self._log.warning("%s can be written again", self._what)


def _reason(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    place = getattr(error, "filename", None)
    reason = reason.removeprefix("cannot write: ")
    return f"{place}: {reason}" if place else reason
