"""A run folder belongs to one run at a time.

The operating system holds the lock for a process and releases it when the process ends, so a killed
run can be resumed at once. Where a file system has no locks, or does not share them between hosts,
the status that a run writes every second tells whether it is alive.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from gsr import files
from gsr.exceptions import GSRError
from gsr.islands import journal

LOCK = ".lock"
#: Seconds after which a run gives no sign of life, and seconds to wait for one that may be ending.
FRESH, PATIENCE = 10.0, 4.0
#: Seconds that a run may need until it writes its status for the first time.
START = 120.0
#: Seconds between two attempts.
PAUSE = 0.2


class FolderLock:
    """Keeps other runs out of a folder, from `take` to `release` or the end of the process."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.path = self.folder / LOCK
        self._descriptor: int | None = None

    def take(self) -> None:
        """Lock the folder, which must exist; `GSRError` if another run has it."""
        ends = time.monotonic() + PATIENCE
        while (is_locked := self._try()) is None:
            if time.monotonic() > ends:
                self._remove_if_dead()
            time.sleep(PAUSE)
        if (other := self._other_run(is_locked)) is not None:
            self.release()
            raise self._refusal(other)
        self._sign()

    def release(self) -> None:
        """Unlock the folder."""
        if self._descriptor is not None:
            if self._is_there(self._descriptor):
                with suppress(OSError):
                    self.path.unlink()
            os.close(self._descriptor)
            self._descriptor = None

    # ---- the file ----------------------------------------------------------------------------

    def _try(self) -> bool | None:
        """Open and lock the file; False if there are no locks, None if another process has it."""
        try:
            descriptor = files.open_own(self.path)
        except OSError as error:
            raise files.failed(self.path, error) from error
        is_locked = _lock(descriptor)
        if is_locked is None or not self._is_there(descriptor):
            os.close(descriptor)
            return None
        self._descriptor = descriptor
        return is_locked

    def _is_there(self, descriptor: int) -> bool:
        """Whether an open file is still the one in the folder; others may have removed it."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.lstat(self.path))
        except OSError:
            return False

    def _sign(self) -> None:
        """Write who holds the lock, for the messages of other runs."""
        assert self._descriptor is not None
        text = json.dumps({"host": socket.gethostname(), "pid": os.getpid()}) + "\n"
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, text.encode())

    def _holder(self) -> dict[str, Any]:
        with suppress(OSError, ValueError, AttributeError):
            return dict(json.loads(files.read_whole(self.path)).items())
        return {}

    def _remove_if_dead(self) -> None:
        """Remove the file if it is locked by a host that gives no sign of life; otherwise refuse.

        A host that crashes cannot release its locks, and a file server may keep them.
        """
        holder, age = self._holder(), 0.0
        with suppress(OSError):
            age = time.time() - self.path.stat().st_mtime
        is_elsewhere = bool(holder) and not _is_here(holder)
        if not is_elsewhere or age < START or self._is_alive(self._status()):
            raise self._refusal(holder)
        with suppress(FileNotFoundError):
            self.path.unlink()

    # ---- signs of life -----------------------------------------------------------------------

    def _other_run(self, is_locked: bool) -> dict[str, Any] | None:
        """Return the other run that uses the folder, whatever the lock tells, if there is one."""
        status = self._status()
        if is_locked and _is_here(status):
            return None  # a run on this host would have the lock
        holder = self._holder()
        if not is_locked and _is_here(holder) and not is_gone(holder):
            return holder
        return status if self._is_alive(status) else None

    def _status(self) -> dict[str, Any]:
        return journal.read_status(self.folder) or {}

    def _is_alive(self, status: Mapping[str, Any]) -> bool:
        """Whether a run keeps writing its status, which may take seconds to see."""
        written = status.get("time")
        if status.get("state") != "running" or is_gone(status):
            return False
        if not isinstance(written, int | float) or time.time() - written > FRESH:
            return False
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            time.sleep(PAUSE)
            now = self._status()
            if now.get("time") != written:
                return now.get("state") == "running"
        return False

    def _refusal(self, holder: Mapping[str, Any]) -> GSRError:
        who = f" ({holder['host']}, process {holder.get('pid')})" if "host" in holder else ""
        return GSRError(
            f"another run writes to {self.folder}{who}; wait for it, or choose another run.output"
        )


def is_gone(status: Mapping[str, Any]) -> bool:
    """Whether the process that wrote a status was on this host, and has ended."""
    pid = status.get("pid")
    if not _is_here(status) or not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def _is_here(status: Mapping[str, Any]) -> bool:
    return bool(status.get("host") == socket.gethostname())


def _lock(descriptor: int) -> bool | None:
    """Lock a file; False if there are no locks, None if another process has it."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    except (ImportError, OSError):
        return False
    return True
