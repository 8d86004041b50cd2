"""Equations of motion on the command line: `gsr fit --time`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gsr
from gsr.cli import main

T = np.linspace(0, 4, 60)
LIMITS = ["--max-evals", "1000", "--max-time", "inf", "--jobs", "1", "--seed", "0"]


def written(path: Path, **columns: Any) -> str:
    table = np.column_stack(list(columns.values()))
    np.savetxt(path, table, "%.17g", ",", header=",".join(columns), comments="")
    return str(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder on a series of two states."""
    folder = tmp_path_factory.mktemp("series")
    data = written(folder / "series.csv", a=3 * np.exp(-0.7 * T), b=np.exp(-2 * T), time=T)
    assert main(["fit", data, "--time", "time", *LIMITS, "-q", "-o", str(folder / "run")]) == 0
    return folder / "run"


def test_columns_become_states(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "--config", str(run / "config.toml"), "--max-time", "inf"]) == 0
    shown = capsys.readouterr().out
    assert "a' = -0.7 a" in shown and "b' = -2 b" in shown
    assert "its integral describes the measured series in the fewest bits" in shown
    assert "simulation error: a " in shown


def test_the_run_folder(run: Path) -> None:
    result = json.loads((run / "result.json").read_text())
    assert [each["target"] for each in result["targets"]] == ["a'", "b'"]
    assert result["motion"]["time"] == "time"
    assert result["motion"]["equations"] == {"a": "a' = -0.7 a", "b": "b' = -2 b"}
    assert (run / "sample.csv").read_text().startswith("time,a,b,a',b'\n")
    assert isinstance(gsr.load(run / "model.json"), gsr.GSRDynamics)


def test_show_predict_export_and_report(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(run)]) == 0
    assert "simulation error: a " in capsys.readouterr().out
    assert main(["predict", str(run), str(run.parent / "series.csv"), "--target", "a"]) == 0
    first = [line.split(",") for line in capsys.readouterr().out.splitlines()[:2]]
    assert first[0] == ["a", "b", "time", "a' predicted"]
    assert float(first[1][3]) == pytest.approx(-2.1)
    assert main(["export", str(run), "--name", "decay"]) == 0
    namespace: dict[str, Any] = {}
    exec(capsys.readouterr().out, namespace)
    np.testing.assert_allclose(namespace["decay"](0.0, [2.0, 3.0]), [-1.4, -6.0])
    assert main(["report", str(run), "-o", str(run.parent / "page.html")]) == 0
    page = (run.parent / "page.html").read_text()
    assert "The phase portrait" in page
    assert "the line is simulated" in page
    assert "GSRDynamics(" in page


def test_inputs_order_and_time_feature(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t = np.linspace(0, 6, 80)
    data = written(tmp_path / "s.csv", t=t, x=np.cos(2 * t), push=np.sin(t), other=t**2)
    options = ["--time", "t", "--inputs", "push", "--drop", "other", "--order", "2", "-q"]
    assert main(["fit", data, *LIMITS, *options]) == 0
    assert capsys.readouterr().out == "x'' = -4 x\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--time", "z"], "z"),
        (["--time", "t", "--inputs", "t"], "'t' has more than one role among time, state, input"),
        (["--time", "t", "--drop", "x"], "there is no state besides the time 't'"),
        (["--time", "t", "--weights", "x"], "data.weights does not apply to series"),
    ],
)
def test_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    data = written(tmp_path / "s.csv", t=T, x=np.exp(-T))
    assert main(["fit", data, *options]) == 2
    assert message in capsys.readouterr().err


def test_unsorted_times_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written(tmp_path / "s.csv", t=T[::-1], x=np.exp(-T))
    assert main(["fit", data, "--time", "t"]) == 2
    assert "t must increase" in capsys.readouterr().err


def test_a_position_without_its_velocity_points_to_the_second_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t = np.linspace(0, 12, 150)
    noise = 0.01 * np.random.default_rng(0).normal(size=150)
    data = written(tmp_path / "s.csv", t=t, angle=np.cos(2.8 * t) + noise)
    assert main(["fit", data, "--time", "t", "--max-evals", "300", "--seed", "0"]) == 1
    assert "or --order 2 for positions without velocities" in capsys.readouterr().err
