"""Checkpoints written by a thread of their own, so that the search never waits for a disk."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gsr.islands.checkpoints import MANIFEST, Checkpoints
from gsr.islands.write_failures import WriteFailures

log = logging.getLogger(__name__)
#: Seconds between a failure and the next try: the first pause, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 60.0


@dataclass(frozen=True)
class _Job:
    island: int
    sequence: int
    payload: bytes = field(repr=False)
    about: Mapping[str, Any]


class BackgroundWriter:
    """Writes checkpoints in the background, the newest of each island.

    A failure is logged once for each kind, and tried again: after a pause that grows, or when
    something newer comes.
    """

    def __init__(self, checkpoints: Checkpoints, depth: int = 1) -> None:
        self._depth = depth
        self._checkpoints = checkpoints
        self._failures = WriteFailures("checkpoints", log)
        self._changed = threading.Condition()
        self._waiting: dict[int, list[_Job]] = {}
        self._current: _Job | None = None
        self._written: dict[int, int] = {}
        self._failed: set[int] = set()
        self._pause = self._due = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)
        self._thread.start()

    def submit(
        self, island: int, sequence: int, payload: bytes, about: Mapping[str, Any] | None = None
    ) -> None:
        """Take a checkpoint to write; it replaces older ones of that island that wait."""
        with self._changed:
            waiting = [job for job in self._waiting.get(island, []) if job.sequence != sequence]
            waiting.append(_Job(island, sequence, payload, dict(about or {})))
            self._waiting[island] = waiting[-self._depth :]
            self._try_now()

    def flush(self, timeout: float) -> bool:
        """Wait until all is written; False after so many seconds."""
        with self._changed:
            self._try_now()
            return self._changed.wait_for(self._is_idle, timeout)

    def is_idle(self) -> bool:
        """Tell whether all is written."""
        with self._changed:
            return self._is_idle()

    def written(self, island: int) -> int | None:
        """Return the number of an island's newest checkpoint on disk that was written here."""
        with self._changed:
            return self._written.get(island)

    def close(self, timeout: float) -> bool:
        """Write the rest and end the thread; False if not all could be written in time."""
        done = self.flush(timeout)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout if done else 0.0)
        return done

    # Called with the lock held.

    def _try_now(self) -> None:
        self._pause = self._due = 0.0
        self._failed.clear()
        self._changed.notify_all()

    def _is_idle(self) -> bool:
        return not self._waiting and self._current is None

    # The thread.

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._checkpoints.write(job.island, job.sequence, job.payload, job.about)
                if self._checkpoints.restore_manifest():
                    gone = self._checkpoints.folder / MANIFEST
                    log.warning("%s was removed; it is written again", gone)
            except Exception as error:  # a dead thread would lose all later checkpoints
                self._failures.failed(error)
                self._put_back(job)
            else:
                if self._is_last():
                    self._failures.worked()
                self._put_away(job)

    def _next(self) -> _Job | None:
        """Wait for a job: of an island that has not just failed, or of any after a pause."""
        with self._changed:
            while not self._closed:
                untried = (island for island in self._waiting if island not in self._failed)
                island = next(untried, None)
                if island is not None:
                    self._current, *later = self._waiting.pop(island)
                    if later:
                        self._waiting[island] = later
                    return self._current
                pause = self._due - time.monotonic()
                if self._waiting and pause <= 0.0:
                    self._failed.clear()
                else:
                    self._changed.wait(pause if self._waiting else None)
            return None

    def _put_back(self, job: _Job) -> None:
        with self._changed:
            self._current = None
            newer = self._waiting.get(job.island, [])
            if len(newer) < self._depth and job.sequence not in [each.sequence for each in newer]:
                self._waiting[job.island] = [job, *newer]
            if not self._failed:
                self._pause = min(max(2.0 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
            self._failed.add(job.island)
            self._due = time.monotonic() + self._pause

    def _is_last(self) -> bool:
        with self._changed:
            return not self._waiting

    def _put_away(self, job: _Job) -> None:
        with self._changed:
            self._current = None
            self._written[job.island] = job.sequence
            self._changed.notify_all()
