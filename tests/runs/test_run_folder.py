"""Run folders: complete, readable by others, and replaced whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gsr import files, tables
from gsr.cli.fit_data import NamedRegressor
from gsr.exceptions import GSRError
from gsr.islands.checkpoints import Checkpoints
from gsr.islands.journal import Metrics, write_status
from gsr.runs import config, run_folder
from gsr.runs.folder_lock import FolderLock
from gsr.runs.outcome import Outcome
from gsr.runs.run_folder import FILES

X = np.random.default_rng(0).uniform(1, 3, (1200, 2))
Y = X[:, 0] ** 2 + X[:, 1]


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    model = NamedRegressor(random_state=0, max_time=1).named(["a %", "b"], "y")
    found = config.parse('[data]\npath = "/data/d.csv"\n[run]\nseed = 0\noutput = "run"\n')
    return Outcome(model.fit(X, Y), X, Y, found, "0" * 64)


def test_a_folder_holds_everything(outcome: Outcome, tmp_path: Path) -> None:
    folder = run_folder.prepare(tmp_path / "new" / "run")
    run_folder.write(folder, outcome)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    found = run_folder.read(folder)
    assert found["rows"] == 1200
    assert found["seed"] == 0
    assert found["settings"]["data"] == {"path": "/data/d.csv"}
    assert {"gsr", "numpy", "python"} <= set(found["versions"])
    np.testing.assert_array_equal(
        run_folder.load_model(folder).equation_.predict(X), outcome.model.equation_.predict(X)
    )
    sample = tables.read(folder / "sample.csv")
    assert sample.names == ("a %", "b", "y")
    assert sample.values.shape == (1000, 3)
    assert set(map(tuple, sample.values)) <= set(map(tuple, np.c_[X, Y]))
    assert tables.read(folder / "history.csv").names == (
        "seconds", "generation", "evaluations", "rmse",
    )  # fmt: skip
    repeat = config.read(folder / "config.toml")
    assert repeat.data_path() == "/data/d.csv"
    assert not repeat.is_set("run", "output")
    assert len((folder / "equations.csv").read_text().splitlines()) == 1 + len(outcome.model.front_)


def test_a_configuration_of_the_user_is_left_alone(outcome: Outcome, tmp_path: Path) -> None:
    own, other = tmp_path / "config.toml", tmp_path / "config.run.toml"
    own.write_text("# mine\n")
    run_folder.write(tmp_path, outcome)
    assert own.read_text() == "# mine\n"
    assert config.read(other).data_path() == "/data/d.csv"
    own.unlink()
    run_folder.write(tmp_path, outcome)
    run_folder.write(tmp_path, outcome)  # the one that it has written itself is replaced
    assert run_folder.config_path(tmp_path) == own
    assert not other.exists()
    head = f"# repeats the run: gsr fit --config {tmp_path.name}/config.toml"
    assert own.read_text().splitlines()[0] == head


def test_drafts_of_a_killed_run_are_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in (f"{run_folder.DRAFTS}0123456789ab", ".new.0123456789ab", run_folder.DRAFTS):
        (tmp_path / name).mkdir()
    (tmp_path / f"{run_folder.DRAFTS}0123456789ac").write_text("room")
    (tmp_path / ".result.json.0123456789ab.tmp").write_text("half")
    (tmp_path / ".mine.0123456789ab.tmp").write_text("mine")
    (tmp_path / f"{run_folder.DRAFTS}mine").write_text("mine")
    run_folder.remove_drafts(tmp_path)
    left = {".new.0123456789ab", run_folder.DRAFTS, ".mine.0123456789ab.tmp"}
    assert {path.name for path in tmp_path.iterdir()} == {*left, f"{run_folder.DRAFTS}mine"}


@pytest.mark.parametrize("moved", range(len(FILES) + 3))
def test_a_kill_while_results_are_put_in_place_mixes_no_runs(
    moved: int, outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in FILES:
        (tmp_path / each).write_text("old")
    calls = iter(range(moved))

    def killed(function: Any) -> Any:
        def call(*paths: Any) -> None:
            if Path(paths[0]).parent.name == run_folder.RESULTS and next(calls, None) is None:
                raise KeyboardInterrupt
            function(*paths)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(run_folder.os, "replace", killed(os.replace))
        with contextlib.suppress(KeyboardInterrupt):
            run_folder.write(tmp_path, outcome)
    assert run_folder.read(tmp_path)["rows"] == 1200
    assert run_folder.load_model(tmp_path).n_features_in_ == 2
    assert "old" not in [(tmp_path / name).read_text() for name in FILES if name != "config.toml"]
    assert run_folder.RESULTS not in [path.name for path in tmp_path.iterdir()]


def test_files_of_a_run_do_not_follow_links(outcome: Outcome, tmp_path: Path) -> None:
    folder, outside = tmp_path / "run", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("precious")
    names = {*FILES, "status.json"} - {"config.toml"}
    for name in names:
        (folder / name).symlink_to(outside)
    run_folder.write(folder, outcome)
    assert write_status(folder, {"state": "running"})
    assert outside.read_text() == "precious"
    assert not any(path.is_symlink() for path in folder.iterdir())


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_lock_and_metrics_are_no_links(link: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (tmp_path / "metrics").mkdir()
    getattr(tmp_path / ".lock", link)(outside)
    getattr(tmp_path / "metrics" / "rank-00000.jsonl", link)(outside)
    with pytest.raises(files.WritingError, match=r"\.lock"):
        FolderLock(tmp_path).take()
    metrics = Metrics(tmp_path, 0)
    metrics.event("start")
    metrics.close()
    assert outside.read_text() == "precious"


@pytest.mark.parametrize("name", ["checkpoints", "checkpoints/island-00000"])
def test_checkpoints_are_not_written_through_links(name: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to(outside)
    with pytest.raises(OSError, match="it is a link"):
        Checkpoints(tmp_path / "checkpoints").write(0, 1, b"state")
    assert list(outside.iterdir()) == []


def test_wide_tables_have_small_samples(outcome: Outcome) -> None:
    wide = Outcome(outcome.model, np.ones((200, 9_999)), np.ones(200), outcome.config)
    assert len(wide.sample_csv().splitlines()) == 1 + 100


def test_results_are_not_replaced_by_accident(outcome: Outcome, tmp_path: Path) -> None:
    run_folder.write(run_folder.prepare(tmp_path), outcome)
    with pytest.raises(GSRError, match="holds the result of a run"):
        run_folder.prepare(tmp_path)
    assert run_folder.prepare(tmp_path, overwrite=True) == tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_failed_write_leaves_the_old_run(
    name: str, outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in FILES:
        (tmp_path / each).write_text("old")
    whole = files.write_whole

    def full(text: str, path: Any, **options: Any) -> None:
        if Path(path).name in (name, name.replace(".toml", ".run.toml")):
            raise OSError(28, "No space left on device", str(path))
        whole(text, path, **options)

    monkeypatch.setattr(files, "write_whole", full)
    monkeypatch.setattr("gsr.saving.write_whole", full)
    with pytest.raises(files.WritingError, match="No space left on device"):
        run_folder.write(tmp_path, outcome)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    assert {path.read_text() for path in tmp_path.iterdir()} == {"old"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no result.json in it"),
        ("{", "is damaged"),
        ("[1]", "does not say"),
        ('{"format": "gsr run", "format_version": 99}', "format version 99; this gsr reads up to"),
        ("[" * 99_999, "is damaged"),
    ],
)
def test_folders_that_are_no_runs(content: str | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    with pytest.raises(GSRError, match=message):
        run_folder.read(tmp_path)
    with pytest.raises(GSRError, match=message):
        run_folder.load_model(tmp_path)


def test_numbers_that_json_has_not_become_null() -> None:
    found = files.plain({"a": [np.float64("nan"), np.int64(3), float("inf"), None], 1: object})
    assert json.loads(json.dumps(found, allow_nan=False))["a"] == [None, 3, None, None]
