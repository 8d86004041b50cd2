"""Checkpoints in the background: nobody waits, the newest counts, failures are outlived."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gsr.islands import checkpoints as writer_module
from gsr.islands.checkpoints import BackgroundWriter, Checkpoints

WAIT = 30.0


def wait_until(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + WAIT
    while not is_so() and time.monotonic() < end:
        threading.Event().wait(0.001)
    return is_so()


class Gated(Checkpoints):
    """Writes when it is let, and remembers what."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.gate = threading.Event()
        self.begun = threading.Event()
        self.errors: list[Exception] = []
        self.tried: list[tuple[int, int]] = []

    def write(
        self, island: int, sequence: int, payload: bytes, about: Mapping[str, Any] | None = None
    ) -> None:
        self.begun.set()
        assert self.gate.wait(WAIT)
        self.tried.append((island, sequence))
        if self.errors:
            raise self.errors.pop(0)
        super().write(island, sequence, payload, about)


def test_the_newest_of_each_island_is_written(tmp_path: Path) -> None:
    checkpoints = Gated(tmp_path)
    writer = BackgroundWriter(checkpoints)
    writer.submit(0, 1, b"")
    assert checkpoints.begun.wait(WAIT)
    for sequence in (2, 3, 4):
        writer.submit(0, sequence, b"%d" % sequence)
        writer.submit(1, sequence, b"", {"epoch": sequence})
    assert not writer.flush(0.01)
    assert writer.written(0) is None
    checkpoints.gate.set()
    assert writer.close(WAIT)
    assert checkpoints.tried == [(0, 1), (0, 4), (1, 4)]
    assert (writer.written(0), writer.written(1)) == (4, 4)
    found = checkpoints.latest(1)
    assert found is not None
    assert found.about == {"epoch": 4}


def test_a_failure_is_logged_once_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_module, "FIRST_PAUSE", 0.001)
    checkpoints = Gated(tmp_path)
    full = OSError(28, "No space left on device", "x.gsr")
    stale = OSError(116, "Stale file handle", "x.gsr")
    checkpoints.errors = [full, full, stale, full, MemoryError()]
    checkpoints.gate.set()
    writer = BackgroundWriter(checkpoints)
    writer.submit(3, 1, b"")
    assert writer.flush(WAIT)
    end = "; the search goes on, and writing is tried again"
    assert checkpoints.tried == 6 * [(3, 1)]
    assert writer.close(WAIT)
    assert caplog.messages == [
        f"checkpoints cannot be written: x.gsr: No space left on device{end}",
        f"checkpoints cannot be written: x.gsr: Stale file handle{end}",
        f"checkpoints cannot be written: MemoryError{end}",
        "checkpoints can be written again",
    ]


def test_a_pause_ends_when_something_newer_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_module, "FIRST_PAUSE", 10 * WAIT)
    in_the_way = tmp_path / "checkpoints"
    in_the_way.write_bytes(b"a file")
    writer = BackgroundWriter(Checkpoints(in_the_way))
    writer.submit(0, 1, b"")
    assert wait_until(lambda: len(caplog.messages) == 1)
    assert not writer.flush(0.01)
    in_the_way.unlink()
    writer.submit(0, 2, b"")
    assert wait_until(lambda: caplog.messages[1:] == ["checkpoints can be written again"])
    assert Checkpoints(in_the_way).sequences(0) == [2]


def test_one_island_that_fails_is_not_logged_again_for_others_that_do_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "island-00000").write_bytes(b"a file")
    writer = BackgroundWriter(Checkpoints(tmp_path))
    for sequence in (1, 2, 3):
        writer.submit(0, sequence, b"")
        writer.submit(1, sequence, b"")
        assert wait_until(lambda number=sequence: writer.written(1) == number)
        assert not writer.flush(0.01)
    assert len(caplog.messages) == 1


FULL_DISK = """
import logging
import sys
from pathlib import Path
from gsr.islands.checkpoints import BackgroundWriter
from gsr.islands.checkpoints import Checkpoints
disk = Path(sys.argv[1])
logging.basicConfig(stream=sys.stdout, format="%(message)s")
writer = BackgroundWriter(Checkpoints(disk / "checkpoints"))
writer.submit(0, 1, b"first")
assert writer.flush(30)
filler = disk / "filler"
with filler.open("wb", buffering=0) as stream:
    try:
        while True:
            stream.write(bytes(4096))
    except OSError:
        pass
writer.submit(0, 2, bytes(100_000))
assert not writer.flush(0.5)
assert Checkpoints(disk / "checkpoints").latest(0).payload == b"first"
filler.unlink()
assert writer.flush(30)
assert Checkpoints(disk / "checkpoints").latest(0).sequence == 2
writer.close(30)
"""


def test_a_full_disk_is_outlived(tmp_path: Path) -> None:
    command = f'mount -t tmpfs -o size=1m none "{tmp_path}" && exec "$@"'
    private = ["unshare", "--mount", "sh", "-c", command, "sh"]
    try:
        subprocess.run([*private, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no permission to make a small disk")
    done = subprocess.run(
        [*private, sys.executable, "-c", FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert "No space left on device" in first
    assert last == "checkpoints can be written again"
