"""`gsr status`: runs that run, have ended, or are silent, and folders that are damaged."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gsr.cli import main
from gsr.cli.status import GONE, SILENT, as_text, examine
from gsr.exceptions import GSRError
from gsr.islands.checkpoints import Checkpoints, Manifest
from gsr.islands.journal import Metrics, write_status

RUNNING = {
    "state": "running",
    "ranks": 4,
    "islands": 8,
    "mode": "throughput",
    "seconds": 20.0,
    "max_time": 3600.0,
    "evaluations": 1_000_000,
    "rmse": 0.0123,
    "law": "y = 2.5 x1^2",
    "warnings": ["checkpoints cannot be written: disk full"],
}
RESULT: dict[str, Any] = {
    "format": "gsr run",
    "format_version": 1,
    "status": "exact",
    "equation": "y = 3 x1",
    "rmse": 1e-16,
    "seconds": 40.0,
    "evaluations": 2_000_000,
}


def with_checkpoints(folder: Path, at: float) -> None:
    checkpoints = Checkpoints(folder / "checkpoints")
    checkpoints.write_manifest(Manifest("abc", 8, 4, 1, "throughput"))
    for island in (0, 1):
        checkpoints.write(island, 1, b"")
        path = checkpoints.island_folder(island) / "000000000001.gsr"
        os.utime(path, (at + island, at + island))


def with_result(folder: Path, **changes: Any) -> None:
    (folder / "result.json").write_text(json.dumps(RESULT | changes))


def test_a_run_that_runs(tmp_path: Path) -> None:
    write_status(tmp_path, RUNNING | {"time": 1000.0})
    with_checkpoints(tmp_path, 900.0)
    metrics = Metrics(tmp_path, 3)
    metrics.event("warning", message="a migrant could not be read")
    metrics.event("start", message="no warning")
    metrics.close()
    found = examine(tmp_path, now=1001.0)
    assert as_text(found, now=1001.0).splitlines() == [
        f"run         {tmp_path}",
        "state       running",
        "ranks       4",
        "islands     8, throughput",
        "search      20.0 s of 3,600.0 s",
        "evaluations 1,000,000, 50,000 /s",
        "best RMSE   0.0123",
        "law         y = 2.5 x1^2",
        "checkpoint  100 s ago (2 islands)",
        "warning     checkpoints cannot be written: disk full",
        "warning     a migrant could not be read",
    ]


def test_a_run_that_gives_no_sign_of_life(tmp_path: Path) -> None:
    write_status(tmp_path, RUNNING | {"time": 1000.0})
    assert examine(tmp_path, now=999.0 + SILENT)["state"] == "running"
    found = examine(tmp_path, now=1000.0 + 3600)
    assert found["state"] == "silent"
    assert "no sign of life for 60 min; start it again" in as_text(found, now=4600.0)


def test_a_run_whose_process_is_gone(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    here = {"host": socket.gethostname(), "pid": process.pid}
    write_status(tmp_path, RUNNING | here)
    found = examine(tmp_path)
    assert (found["state"], found["reason"]) == ("silent", GONE)
    assert "state       its process is gone; start it again" in as_text(found)
    for other in ({"host": "elsewhere"}, {"pid": os.getpid()}):
        write_status(tmp_path, RUNNING | here | other)
        assert examine(tmp_path)["state"] == "running"


def test_a_finished_run_shows_its_result(tmp_path: Path) -> None:
    write_status(tmp_path, RUNNING | {"state": "finished", "time": 1000.0})
    with_result(tmp_path)
    found = examine(tmp_path)
    assert (found["state"], found["law"], found["evaluations"]) == (
        "finished", "y = 3 x1", 2_000_000,
    )  # fmt: skip
    assert "finished: an exact law was found" in as_text(found)


def test_a_run_that_was_taken_up_again_shows_where_it_is(tmp_path: Path) -> None:
    with_result(tmp_path)
    write_status(tmp_path, RUNNING)
    found = examine(tmp_path)
    assert (found["state"], found["law"]) == ("running", "y = 2.5 x1^2")
    write_status(tmp_path, RUNNING | {"state": "stopped", "reason": "SIGTERM"})
    assert "stopped: SIGTERM" in as_text(examine(tmp_path))


def test_a_run_of_fit_has_a_result_only(tmp_path: Path) -> None:
    with_result(tmp_path, targets=[{"equation": "a = 1"}, {"equation": "b = x"}])
    text = as_text(examine(tmp_path))
    assert "law         a = 1\n            b = x" in text
    assert "ranks" not in text


def test_a_killed_run_may_have_checkpoints_only(tmp_path: Path) -> None:
    with_checkpoints(tmp_path, 900.0)
    found = examine(tmp_path)
    assert (found["state"], found["islands"], found["checkpointed"]) == ("stopped", 8, 2)


def test_damaged_files_are_told_beside_the_rest(tmp_path: Path) -> None:
    write_status(tmp_path, {"state": "running", "seconds": "many", "ranks": 2})
    (tmp_path / "result.json").write_text("{")
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "manifest.json").write_text("")
    found = examine(tmp_path)
    assert found["ranks"] == 2
    assert "seconds" not in found
    of_result, of_manifest = found["warnings"]
    assert "result.json is damaged" in of_result
    assert "manifest.json is damaged" in of_manifest


def test_what_is_no_run_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(GSRError, match="is not a run folder: there is no run in it"):
        examine(tmp_path)
    with pytest.raises(GSRError, match="is not a run folder: there is no such folder"):
        examine(tmp_path / "none")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_result(tmp_path)
    assert main(["status", str(tmp_path)]) == 0
    assert "y = 3 x1" in capsys.readouterr().out
    assert main(["status", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["law"] == "y = 3 x1"
    assert main(["status", str(tmp_path / "none")]) == 2
    assert "is not a run folder" in capsys.readouterr().err


NASTY = (
    None, 5, -1, 10**400, "x", "", [], {}, [None], ["x"], [{}], [{"rmse": "x"}], True,
)  # fmt: skip


@pytest.mark.parametrize("key", ["targets", "front", "evaluations", "seconds", "rmse", "status"])
def test_any_content_of_a_result_is_survived(key: str, tmp_path: Path) -> None:
    for value in NASTY:
        (tmp_path / "result.json").write_text(json.dumps({**RESULT, key: value}))
        assert "state       finished" in as_text(examine(tmp_path))


@pytest.mark.parametrize("islands", [10**12, 0, -5])
def test_a_manifest_with_an_absurd_number_of_islands_is_damaged(
    islands: int, tmp_path: Path
) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    checkpoints.write_manifest(Manifest("abc", islands, 4, 1, "throughput"))
    (warning,) = examine(tmp_path)["warnings"]
    assert "islands must be between 1 and 1,000,000" in warning


def test_pipes_in_a_run_folder_are_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "checkpoints").mkdir()
    names = ("result.json", "status.json", "metrics/rank-00000.jsonl", "checkpoints/manifest.json")
    for name in names:
        os.mkfifo(tmp_path / name)
    assert all("it is no file" in warning for warning in examine(tmp_path)["warnings"])
