"""The journal of a run: metrics and events of each rank, and the state of the whole run.

- ``metrics/rank-00000.jsonl``: a JSON object a line, with ``time`` (seconds since 1970) and either
  metrics or an ``event`` (start, resume, checkpoint, signal, stop, warning);
- ``status.json``: the whole run, by rank 0.

A failed write does not end a search: it is tried again, and given up in the end.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from gsr import files
from gsr.exceptions import GSRError
from gsr.files import write_whole
from gsr.islands.checkpoints import WriteFailures

log = logging.getLogger(__name__)
STATUS, METRICS = "status.json", "metrics"
#: Seconds between two writes of metrics, and bytes that wait at most for a disk to come back.
EVERY = 1.0
MOST_WAITING = 1 << 20
#: Bytes at the end of a metrics file that `tail` reads.
TAIL = 1 << 16
#: Warnings that the status keeps.
MOST_WARNINGS = 20


class Metrics:
    """Appends metrics and events of a rank to its file in the run folder."""

    def __init__(self, folder: str | os.PathLike[str], rank: int) -> None:
        self.path = metrics_path(folder, rank)
        self._failures = WriteFailures("metrics", log)
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self._descriptor: int | None = None
        self._was_open = False
        self._due = 0.0

    def record(self, **metrics: Any) -> None:
        """Add a line of metrics: seconds, epoch, evaluations, generation, rmse, and so on."""
        line = json.dumps(files.plain({"time": round(time.time(), 3), **metrics}), allow_nan=False)
        with self._lock:
            if len(self._waiting) < MOST_WAITING:
                self._waiting += line.encode() + b"\n"
        if time.monotonic() >= self._due:
            self.flush()

    def event(self, name: str, **facts: Any) -> None:
        """Add a line about an event: start, resume, checkpoint, signal ..."""
        self.record(event=name, **facts)

    def flush(self, close: bool = False) -> None:
        """Write the lines that wait."""
        with self._lock:
            error = self._write()
            if close:
                self._close_file()
        # Without the lock: a log handler may add a line.
        if error is not None:
            self._failures.failed(error)
        else:
            self._failures.worked()

    def close(self) -> None:
        """Write the lines that wait and close the file; a later line opens it again."""
        self.flush(close=True)

    def _write(self) -> OSError | None:
        self._due = time.monotonic() + EVERY
        if self._descriptor is not None and _is_gone(self._descriptor, self.path):
            self._close_file()
        try:
            descriptor = self._open()
            while self._waiting:
                # A disk may be full after a part of a line; the rest is written later.
                del self._waiting[: os.write(descriptor, self._waiting)]
        except OSError as error:
            self._close_file()
            return error
        return None

    def _open(self) -> int:
        if self._descriptor is None:
            files.make_own_folder(self.path.parent)
            self._descriptor = files.open_own(self.path, os.O_APPEND)
            if not self._was_open and _ends_within_a_line(self._descriptor):
                self._waiting[:0] = b"\n"
            self._was_open = True
        return self._descriptor

    def _close_file(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


class JournalHandler(logging.Handler):
    """Records the warnings of this process as events, and keeps the last ones for the status.

    It handles the messages of gsr from its creation until it is closed.
    """

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(logging.WARNING)
        self.warnings: list[str] = []
        self._metrics = metrics
        logging.getLogger("gsr").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Record a warning."""
        message = record.getMessage()
        self.warnings = [*self.warnings, message][-MOST_WARNINGS:]
        self._metrics.event("warning", message=message)

    def close(self) -> None:
        """Stop to handle messages."""
        logging.getLogger("gsr").removeHandler(self)
        super().close()


def metrics_path(folder: str | os.PathLike[str], rank: int) -> Path:
    """Return where the metrics of a rank are."""
    return Path(folder) / METRICS / f"rank-{rank:05d}.jsonl"


def tail(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Yield the last lines of a metrics file, the oldest first; damaged lines are skipped."""
    if not Path(path).is_file():  # a pipe would be waited for
        return
    try:
        with open(path, "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - TAIL))
            lines = stream.read(TAIL).split(b"\n")
    except OSError:
        return
    for line in lines:
        with suppress(ValueError, RecursionError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found


def write_status(folder: str | os.PathLike[str], status: Mapping[str, Any]) -> bool:
    """Write the state of a run, in one step, with the time; False if that failed.

    All keys are optional: ``state`` (``"running"``, ``"finished"`` or ``"stopped"``), ``reason``,
    ``ranks``, ``islands``, ``mode``, ``seconds``, ``max_time``, ``evaluations``,
    ``evaluations_per_second``, ``rmse``, ``law``, ``checkpoint`` (the time of the last one, in
    seconds since 1970), ``warnings`` (a list of messages).
    """
    content = files.plain({"time": round(time.time(), 3), **status})
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        # The next status follows after a second: no need to wait for the disk.
        write_whole(text + "\n", Path(folder) / STATUS, durable=False, follow=False)
    except OSError:
        return False
    return True


def read_status(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the last state of a run, None if it is missing or damaged."""
    try:
        found = json.loads(files.read_whole(Path(folder) / STATUS))
    except (GSRError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_gone(descriptor: int, path: Path) -> bool:
    """Tell whether an open file was removed: nobody could read what is written to it."""
    try:
        return not os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _ends_within_a_line(descriptor: int) -> bool:
    """Tell whether a killed run has left half a line at the end of a file."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
