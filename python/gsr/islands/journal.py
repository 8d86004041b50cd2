"""What a run tells while it goes on: figures and events of each rank, and the state of the whole.

- ``metrics/rank-00000.jsonl``: a JSON object a line, with ``time`` (seconds since 1970) and either
  figures or an ``event`` (start, resume, checkpoint, signal, stop, warning);
- ``status.json``: the whole run, by rank 0.

Neither is worth a search: what cannot be written is tried again, and given up in the end.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from gsr import files
from gsr.islands.troubles import Tell, Troubles
from gsr.whole_files import write_whole

STATUS, METRICS = "status.json", "metrics"
#: Seconds between two writes of metrics, and bytes that wait at most for a disk to come back.
EVERY = 1.0
MOST_WAITING = 1 << 20
#: Bytes at the end of a metrics file that `tail` reads.
TAIL = 1 << 16


class Metrics:
    """Appends figures and events of a rank to its file.

    Parameters
    ----------
    folder : str or path
        The run folder.
    rank : int
        Whose they are.
    tell : callable, optional
        Takes a sentence when the file cannot be written, and when it can be again.
    """

    def __init__(
        self, folder: str | os.PathLike[str], rank: int, tell: Tell = lambda _: None
    ) -> None:
        self.path = metrics_path(folder, rank)
        self._troubles = Troubles("metrics", tell)
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self._descriptor: int | None = None
        self._was_open = False
        self._due = 0.0

    def record(self, **figures: Any) -> None:
        """Add a line of figures: seconds, epoch, evaluations, generation, rmse, and so on."""
        line = json.dumps(files.plain({"time": round(time.time(), 3), **figures}), allow_nan=False)
        with self._lock:
            if len(self._waiting) < MOST_WAITING:
                self._waiting += line.encode() + b"\n"
            tried = time.monotonic() >= self._due
            error = self._write() if tried else None
        if tried:
            self._tell(error)

    def event(self, name: str, **facts: Any) -> None:
        """Add a line about something that happened: start, resume, checkpoint, signal ..."""
        self.record(event=name, **facts)

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            error = self._write()
        self._tell(error)

    def close(self) -> None:
        """Write what waits and close the file; a later line opens it again."""
        with self._lock:
            error = self._write()
            self._close_file()
        self._tell(error)

    def _tell(self, error: OSError | None) -> None:
        """Tell of a failure, or of its end; who is told may well have another line to write."""
        if error is not None:
            self._troubles.failed(error)
        else:
            self._troubles.worked()

    def _write(self) -> OSError | None:
        self._due = time.monotonic() + EVERY
        if self._descriptor is not None and _is_gone(self._descriptor, self.path):
            self._close_file()
        try:
            descriptor = self._open()
            while self._waiting:
                # A disk may take a part before it is full; the rest of the line comes later.
                del self._waiting[: os.write(descriptor, self._waiting)]
        except OSError as error:
            self._close_file()
            return error
        return None

    def _open(self) -> int:
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            if not self._was_open and _ends_within_a_line(self._descriptor):
                self._waiting[:0] = b"\n"
            self._was_open = True
        return self._descriptor

    def _close_file(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


def metrics_path(folder: str | os.PathLike[str], rank: int) -> Path:
    """Return where the metrics of a rank are."""
    return Path(folder) / METRICS / f"rank-{rank:05d}.jsonl"


def tail(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Yield the last lines of a metrics file, the oldest first; what is no such line is skipped."""
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

    Parameters
    ----------
    folder : str or path
        The run folder.
    status : mapping
        What `gsr status` shows, all of it optional: ``state`` (``"running"``, ``"finished"`` or
        ``"stopped"``), ``reason``, ``ranks``, ``islands``, ``mode``, ``seconds``, ``max_time``,
        ``evaluations``, ``evaluations_per_second``, ``rmse``, ``law``, ``checkpoint`` (the time of
        the last one, in seconds since 1970), ``warnings`` (a list of sentences).
    """
    content = files.plain({"time": round(time.time(), 3), **status})
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        # A status is old after a second: no reason to wait for the disk.
        write_whole(text + "\n", Path(folder) / STATUS, durable=False)
    except OSError:
        return False
    return True


def read_status(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the state that a run has written last, None if there is none that can be read."""
    try:
        found = json.loads((Path(folder) / STATUS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_gone(descriptor: int, path: Path) -> bool:
    """Whether somebody has removed an open file: what is written to it nobody can read."""
    try:
        return not os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _ends_within_a_line(descriptor: int) -> bool:
    """Whether a killed run has left half a line at the end of a file."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
