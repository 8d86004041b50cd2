"""Checkpoints: whole or not there, whatever is done to the files, the disk or the process."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsr.exceptions import GSRError
from gsr.islands.checkpoints import Checkpoint, Checkpoints, Manifest, pack, unpack

ABOUT = {"evaluations": 1200, "rmse": 0.25, "seconds": 3.5, "epoch": 2}
MANIFEST = Manifest("abc", islands=8, ranks=4, seed=1, mode="throughput")


def filled(folder: Path, *sequences: int, keep: int = 3) -> Checkpoints:
    found = Checkpoints(folder, keep)
    for sequence in sequences:
        found.write(5, sequence, b"payload %d" % sequence, ABOUT)
    return found


def file_of(checkpoints: Checkpoints, sequence: int) -> Path:
    return checkpoints.island_folder(5) / f"{sequence:012d}.gsr"


def test_what_was_written_last_is_read(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path / "checkpoints", 1, 2)
    assert checkpoints.latest(5) == Checkpoint(5, 2, ABOUT, b"payload 2")
    assert checkpoints.at(5, 1) == Checkpoint(5, 1, ABOUT, b"payload 1")
    assert checkpoints.at(5, 3) is checkpoints.latest(4) is None
    assert checkpoints.notes == []


def test_so_many_are_kept_and_what_was_given_up_is_removed(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path, 1, 2, 3, 5, 8)
    assert checkpoints.sequences(5) == [3, 5, 8]
    checkpoints.write(5, 4, b"taken up at 3")
    assert checkpoints.sequences(5) == [3, 4]
    assert filled(tmp_path, 9, keep=1).sequences(5) == [9]


def test_figures_that_json_has_not_are_written(tmp_path: Path) -> None:
    Checkpoints(tmp_path).write(0, 1, b"", {"rmse": float("inf")})
    found = Checkpoints(tmp_path).latest(0)
    assert found is not None
    assert found.about == {"rmse": None}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is cut off: it has 0 bytes"),
        (b"x" * 500, "it is no checkpoint of gsr"),
        (pack(Checkpoint(5, 3, {}, b"p"))[:-1], "it is cut off: "),
        (pack(Checkpoint(5, 3, {}, b"p")) + b"p", "bytes are due"),
        (pack(Checkpoint(4, 3, {}, b"p")), "it belongs to island 4, number 3"),
        (pack(Checkpoint(5, 2, {}, b"p")), "it belongs to island 5, number 2"),
        (pack(Checkpoint(5, 3, {}, b"p")).replace(b"\n\x01", b"\n\x02"), "format version 2"),
        (None, "it is no file"),
    ],
    ids=["empty", "foreign", "cut", "longer", "other island", "other number", "newer", "folder"],
)
def test_a_bad_file_is_told_and_the_one_before_is_used(
    tmp_path: Path, content: bytes | None, why: str
) -> None:
    checkpoints = filled(tmp_path, 1, 2)
    path = file_of(checkpoints, 3)
    path.mkdir() if content is None else path.write_bytes(content)
    for _ in range(2):
        found = checkpoints.latest(5)
        assert found is not None
        assert found.sequence == 2
    (note,) = checkpoints.notes
    assert str(path) in note
    assert why in note


WHOLE = pack(Checkpoint(7, 99, ABOUT, bytes(range(200))))


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_no_changed_byte_is_accepted(place: int, change: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[place] ^= change
    with pytest.raises(GSRError):
        unpack(bytes(damaged))


def test_no_part_of_a_file_is_accepted() -> None:
    for length in range(len(WHOLE)):
        with pytest.raises(GSRError):
            unpack(WHOLE[:length])


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_told(content: bytes) -> None:
    with pytest.raises(GSRError):
        unpack(content)
    with pytest.raises(GSRError):
        unpack(WHOLE[:40] + content)


def test_leftovers_of_killed_runs_are_removed_by_the_next_write_only(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path, 1)
    left = checkpoints.island_folder(5) / ".000000000002.gsr.0123456789ab.tmp"
    other = checkpoints.island_folder(5) / ".mine.tmp"
    left.write_bytes(b"half")
    other.write_bytes(b"of the user")
    assert Checkpoints(tmp_path).latest(5) is not None
    assert left.exists()
    filled(tmp_path, 2)
    assert (left.exists(), other.exists()) == (False, True)


def test_an_unwritable_folder_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path, 1)
    (tmp_path / "island-00006").write_bytes(b"a file in the way")
    with pytest.raises(OSError, match="island-00006"):
        checkpoints.write(6, 1, b"")
    assert checkpoints.latest(5) is not None


FULL = """
import resource, sys
from gsr.islands.checkpoints import Checkpoints
checkpoints = Checkpoints(sys.argv[1])
checkpoints.write(0, 1, b"small")
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    checkpoints.write(0, 2, bytes(20_000))
except OSError as error:
    print(error)
print(checkpoints.latest(0).payload, checkpoints.notes)
"""


def test_a_file_that_does_not_fit_leaves_the_one_before(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=True
    )
    assert "cannot write: File too large" in done.stdout
    assert done.stdout.endswith("b'small' []\n")
    assert [path.name for path in tmp_path.rglob("*.*")] == ["000000000001.gsr"]


WRITER = """
import sys
from gsr.islands.checkpoints import Checkpoints
checkpoints = Checkpoints(sys.argv[1])
last = checkpoints.latest(0)
sequence = last.sequence if last else 0
while True:
    sequence += 1
    checkpoints.write(0, sequence, sequence.to_bytes(8, "little") * 5_000)
    print(sequence, flush=True)
"""


def test_a_writer_killed_a_hundred_times_loses_nothing(tmp_path: Path) -> None:
    draw = random.Random(0)
    for _ in range(100):
        told = killed_after(tmp_path, draw.randrange(1, 4), draw.random() * 0.003)
        checkpoints = Checkpoints(tmp_path)
        found = checkpoints.latest(0)
        assert found is not None
        assert told <= found.sequence <= told + 1
        assert found.payload == found.sequence.to_bytes(8, "little") * 5_000
        assert checkpoints.notes == []
        assert len(checkpoints.sequences(0)) <= checkpoints.keep + 1
    filled(tmp_path, 1)
    Checkpoints(tmp_path).write(0, found.sequence + 1, b"")
    assert not list(tmp_path.rglob("*.tmp"))


def killed_after(folder: Path, writes: int, delay: float) -> int:
    """Return the last number that a writer told before it was killed, somewhere in a write."""
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(writes)]
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(delay)  # a random moment of the next write
        os.kill(process.pid, signal.SIGKILL)
        told += process.stdout.read().splitlines()
    return int(told[-1])


# ---- the manifest ------------------------------------------------------------------------------


def test_the_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "run" / "checkpoints")
    assert checkpoints.read_manifest() is None
    checkpoints.write_manifest(MANIFEST)
    assert checkpoints.read_manifest() == MANIFEST


@pytest.mark.parametrize("left", ["manifest.json", "manifest.copy.json"])
@pytest.mark.parametrize("damaged", [False, True])
def test_one_of_two_manifests_is_enough(tmp_path: Path, left: str, damaged: bool) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write_manifest(MANIFEST)
    for path in tmp_path.glob("manifest*"):
        if path.name != left:
            path.write_bytes(b"{") if damaged else path.unlink()
    assert checkpoints.read_manifest() == MANIFEST


def test_a_manifest_that_is_gone_is_written_again(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    assert not checkpoints.restore_manifest()  # not here: of another rank
    checkpoints.write_manifest(MANIFEST)
    assert not checkpoints.restore_manifest()
    shutil.rmtree(checkpoints.folder)
    assert checkpoints.restore_manifest()
    assert checkpoints.read_manifest() == MANIFEST


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": "other"}, 'does not say "format": "gsr checkpoints"'),
        ({"version": 2}, "has version 2, this gsr reads 1"),
        ({"islands": "8"}, "damaged: islands is '8'"),
        ({"seed": True}, "damaged: seed is True"),
        ({"mode": None}, "damaged: mode is None"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_told(
    tmp_path: Path, change: dict[str, object], why: str
) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(json.loads(MANIFEST.to_json()) | change))
    with pytest.raises(GSRError) as error:
        Checkpoints(tmp_path).read_manifest()
    assert why in str(error.value)
    assert str(error.value).endswith("choose another run.output, or set checkpoint.resume to false")


@pytest.mark.parametrize("text", [b"", b"[]", b"\xff", MANIFEST.to_json().encode()[:-5]])
def test_a_damaged_manifest_is_told(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(text)
    with pytest.raises(GSRError, match=r"manifest\.json is damaged"):
        Checkpoints(tmp_path).read_manifest()


def test_checkpoints_of_another_problem_are_refused() -> None:
    other = Manifest("def", islands=8, ranks=4, seed=1, mode="throughput")
    with pytest.raises(GSRError, match="the checkpoints in run are of another problem"):
        MANIFEST.check_resumable(other, "run")


def test_other_ranks_matter_to_lock_step_only() -> None:
    more = Manifest("abc", islands=8, ranks=8, seed=1, mode="throughput")
    assert MANIFEST.check_resumable(more, "run") == []
    in_step = Manifest("abc", islands=8, ranks=8, seed=1, mode="deterministic")
    notes = MANIFEST.check_resumable(in_step, "run")
    assert [note.split(":")[0] for note in notes] == [
        "ranks was 4 and is 8 now",
        "mode was throughput and is deterministic now",
    ]


def test_a_run_that_begins_anew_sets_the_old_one_aside(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path / "checkpoints", 1)
    aside = checkpoints.set_aside()
    assert aside is not None
    assert checkpoints.latest(5) is None
    assert Checkpoints(aside).latest(5) is not None
    assert Checkpoints(tmp_path / "none").set_aside() is None
    checkpoints.write(5, 1, b"new")


def test_workers_need_nothing_heavy_for_files() -> None:
    program = (
        "import sys, gsr.islands.checkpoints, gsr.islands.journal, gsr.islands.launcher\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'sympy', 'mpi4py'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
