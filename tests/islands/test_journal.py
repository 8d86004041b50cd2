"""Metrics and status: readable at any moment, and never the end of a search."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gsr.islands import journal
from gsr.islands.journal import (
    JournalHandler,
    Metrics,
    metrics_path,
    read_status,
    tail,
    write_status,
)


def lines(folder: Path, rank: int = 0) -> list[dict[str, Any]]:
    return [json.loads(line) for line in metrics_path(folder, rank).read_text().splitlines()]


def test_figures_and_events_are_lines_of_json(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path, 3)
    metrics.event("start", ranks=4)
    metrics.record(seconds=1.5, rmse=float("inf"), evaluations=10)
    metrics.close()
    assert metrics.path == tmp_path / "metrics" / "rank-00003.jsonl"
    first, second = lines(tmp_path, 3)
    assert first.pop("time") <= second.pop("time")
    assert first == {"event": "start", "ranks": 4}
    assert second == {"seconds": 1.5, "rmse": None, "evaluations": 10}


def test_lines_wait_for_their_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(journal.time, "monotonic", lambda: now)
    metrics = Metrics(tmp_path, 0)
    metrics.record(n=1)
    metrics.record(n=2)
    assert [line["n"] for line in lines(tmp_path)] == [1]
    now += journal.EVERY
    metrics.record(n=3)
    assert [line["n"] for line in lines(tmp_path)] == [1, 2, 3]
    metrics.record(n=4)
    metrics.flush()
    assert len(lines(tmp_path)) == 4
    metrics.close()


def test_a_torn_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = metrics_path(tmp_path, 0)
    path.parent.mkdir()
    path.write_bytes(b'{"n": 1}\n{"n": 2, "rm')
    for n in (3, 4):
        metrics = Metrics(tmp_path, 0)
        metrics.record(n=n)
        metrics.close()
    assert path.read_bytes().count(b"\n") == 4
    assert [line["n"] for line in tail(path)] == [1, 3, 4]


def test_what_cannot_be_written_waits_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / "metrics"
    in_the_way.write_bytes(b"a file")
    metrics = Metrics(tmp_path, 0)
    for n in range(3):
        metrics.record(n=n)
        metrics.flush()
    in_the_way.unlink()
    metrics.flush()
    metrics.close()
    assert [line["n"] for line in lines(tmp_path)] == [0, 1, 2]
    failure, recovery = caplog.messages
    assert failure.startswith("metrics cannot be written: ")
    assert recovery == "metrics can be written again"


def test_a_disk_that_stays_away_costs_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "metrics").write_bytes(b"a file")
    monkeypatch.setattr(journal, "MOST_WAITING", 1000)
    metrics = Metrics(tmp_path, 0)
    for n in range(1000):
        metrics.record(n=n)
    (tmp_path / "metrics").unlink()
    metrics.close()
    assert 1000 <= metrics.path.stat().st_size < 1100


PARTLY = """
import resource, sys
from gsr.islands.journal import Metrics
metrics = Metrics(sys.argv[1], 0)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 1000))
for n in range(5):
    metrics.record(n=n, text="x" * 20)
metrics.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
metrics.close()
"""


def test_a_line_that_fitted_partly_is_completed(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", PARTLY, str(tmp_path)], check=True)
    assert [line["n"] for line in lines(tmp_path)] == [0, 1, 2, 3, 4]


def test_the_tail_of_a_long_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(20_000)) + "[1]\n\n")
    found = [line["n"] for line in tail(path)]
    assert found[-1] == 19_999
    assert found == list(range(found[0], 20_000))
    assert len(found) < 10_000
    assert list(tail(tmp_path / "none")) == []


def test_the_status_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_status(tmp_path) is None
    assert write_status(tmp_path, {"state": "running", "law": "y = √x", "rmse": float("nan")})
    found = read_status(tmp_path)
    assert found is not None
    assert found.pop("time") > 0
    assert found == {"state": "running", "law": "y = √x", "rmse": None}
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]


def test_a_status_that_cannot_be_written_or_read_is_no_error(tmp_path: Path) -> None:
    assert not write_status(tmp_path / "none", {})
    for text in (b"", b"[]", b"\xff"):
        (tmp_path / "status.json").write_bytes(text)
        assert read_status(tmp_path) is None


def test_warnings_are_events_even_those_of_the_journal_itself(tmp_path: Path) -> None:
    (tmp_path / "metrics").write_text("a file where the folder should be")
    metrics = Metrics(tmp_path, 0)
    handler = JournalHandler(metrics)
    metrics.record(n=1)
    (tmp_path / "metrics").unlink()
    logging.getLogger("gsr.islands").warning("a %s", "warning")
    logging.getLogger("gsr.islands").info("no warning")
    metrics.flush()
    handler.close()
    logging.getLogger("gsr.islands").warning("after the end")
    metrics.close()
    first, *others = handler.warnings
    assert first.startswith("metrics cannot be written")
    assert sorted(others) == ["a warning", "metrics can be written again"]
    events = [line.get("message") for line in tail(metrics.path) if line.get("event")]
    assert sorted(events) == sorted(handler.warnings)
