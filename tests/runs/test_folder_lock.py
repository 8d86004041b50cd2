"""One run at a time in a folder: living runs keep it, dead ones do not."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gsr.exceptions import GSRError
from gsr.islands.journal import write_status
from gsr.runs import folder_lock
from gsr.runs.folder_lock import START, FolderLock, is_gone

HERE = socket.gethostname()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_lock, "PATIENCE", 0.3)
    monkeypatch.setattr(folder_lock, "PAUSE", 0.01)


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def sign(lock: FolderLock, host: str, age: float = 0.0) -> None:
    """Let a lock look as if another host had it."""
    lock.path.write_text(json.dumps({"host": host, "pid": 1}))
    os.utime(lock.path, (time.time() - age, time.time() - age))


def test_a_folder_is_of_one_run(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    first.take()
    with pytest.raises(GSRError, match=rf"another run .*\({HERE}, process {os.getpid()}\)"):
        second.take()
    first.release()
    second.take()
    second.release()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_ending_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_lock, "PATIENCE", 30.0)
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    first.take()
    timer = threading.Timer(0.1, first.release)
    timer.start()
    second.take()
    timer.join()
    second.release()


def test_a_killed_run_leaves_the_folder_at_once(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from gsr.runs.folder_lock import FolderLock\n"
        "lock = FolderLock(sys.argv[1])\n"
        "lock.take()\n"
        "print('taken', flush=True)\n"
        "time.sleep(60)\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "taken\n"
    lock = FolderLock(tmp_path)
    with pytest.raises(GSRError, match=f"process {other.pid}"):
        lock.take()
    write_status(tmp_path, {"state": "running", "host": HERE, "pid": other.pid})
    other.kill()
    other.communicate()
    lock.take()
    lock.release()


def test_a_run_on_another_host_is_known_by_its_state(tmp_path: Path) -> None:
    """Locks may be those of each host alone."""
    lock = FolderLock(tmp_path)
    status: dict[str, Any] = {"state": "running", "host": "elsewhere", "pid": 7}
    write_status(tmp_path, status)
    timer = threading.Timer(0.1, lambda: write_status(tmp_path, status | {"time": time.time() + 1}))
    timer.start()
    with pytest.raises(GSRError, match=r"\(elsewhere, process 7\)"):
        lock.take()
    timer.join()
    lock.take()  # nothing was written meanwhile: it is dead
    lock.release()
    write_status(tmp_path, status | {"state": "finished"})
    lock.take()
    lock.release()


def test_the_lock_of_a_host_that_has_died_is_removed(tmp_path: Path) -> None:
    held, lock = FolderLock(tmp_path), FolderLock(tmp_path)
    held.take()
    sign(held, "elsewhere", START / 2)  # it may be starting
    with pytest.raises(GSRError, match=r"\(elsewhere, process 1\)"):
        lock.take()
    sign(held, "elsewhere", 2 * START)
    lock.take()
    held.release()
    with pytest.raises(GSRError, match="another run"):
        held.take()  # the one in the folder is the new one
    lock.release()


def test_without_locks_processes_of_this_host_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_lock, "_lock", lambda _: False)
    lock = FolderLock(tmp_path)
    lock.path.write_text(json.dumps({"host": HERE, "pid": os.getppid()}))
    with pytest.raises(GSRError, match=f"process {os.getppid()}"):
        lock.take()
    lock.path.write_text(json.dumps({"host": HERE, "pid": dead_pid()}))
    lock.take()
    lock.release()


def test_processes_that_are_gone() -> None:
    assert is_gone({"host": HERE, "pid": dead_pid()})
    for status in (
        {"host": HERE, "pid": os.getpid()},
        {"host": "elsewhere", "pid": dead_pid()},
        {"host": HERE, "pid": "many"},
        {"host": HERE, "pid": 2**70},
        {},
    ):
        assert not is_gone(status)
