"""The benchmark runner, with a stand-in for the estimator."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import sympy
from rich.console import Console

import gsr
from gsr.benchmarks import suite_runs
from gsr.benchmarks.suites import get, select

KEYS = {"suite", "problem", "seed", "recovered", "rmse_train", "rmse_test", "seconds", "equation"}


class Equation:
    def __init__(self, coefficient: float) -> None:
        self.coefficient = coefficient

    def terms(self) -> tuple[list[Any], list[Any]]:
        y, x1, x2 = sympy.symbols("y x1 x2", real=True)
        return [(1.0, y)], [(self.coefficient, sympy.sin(x1) * sympy.cos(x2))]

    def __str__(self) -> str:
        return f"y = {self.coefficient:g} sin(x1) cos(x2)"


class Fake:
    """Knows y = c sin(x1) cos(x2) with the right c for Nguyen-10 (2); fails on Jin."""

    made: ClassVar[list[dict[str, Any]]] = []
    coefficient = 2.0
    interrupt_at = -1

    def __init__(self, **options: Any) -> None:
        self.options = options
        type(self).made.append(options)

    def fit(self, X: np.ndarray, y: np.ndarray) -> Fake:
        if len(self.made) - 1 == type(self).interrupt_at:
            raise KeyboardInterrupt
        if "cube" in self.options.get("library", ()):
            raise RuntimeError("cubes are too hard")
        self.equation_ = Equation(self.coefficient)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.coefficient * np.sin(X[:, 0]) * np.cos(X[:, -1]))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[Fake]:
    class Fresh(Fake):
        made: ClassVar[list[dict[str, Any]]] = []

    monkeypatch.setattr(gsr, "GSRRegressor", Fresh, raising=False)
    return Fresh


def run(names: list[str], **options: Any) -> list[suite_runs.Run]:
    settings = {"preset": "paper", "runs": 1, "max_time": 1.0, "jobs": 1, "progress": False}
    return suite_runs.run(select(names), **{**settings, **options})


def text_of(renderable: Any, width: int = 200) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


@pytest.mark.slow
def test_a_proved_law_is_recovered(fake: type[Fake]) -> None:
    rows = run(["Nguyen-10", "Neat-5"], runs=3)
    assert [(row.problem, row.seed) for row in rows] == [
        (name, seed) for name in ("Nguyen-10", "Neat-5") for seed in range(3)
    ]
    assert all(row.recovered and row.verdict == "proved" for row in rows)
    assert all(row.exact and not row.approximation for row in rows)
    assert all(row.rmse_train < 1e-15 and row.rmse_test < 1e-15 for row in rows)
    assert all(math.isfinite(row.seconds) and row.error == "" for row in rows)
    assert rows[0].equation == "y = 2 sin(x1) cos(x2)"


def test_the_estimator_gets_the_problem_s_settings(fake: type[Fake]) -> None:
    run(["SymSet-11"], runs=2, estimator_options={"verbose": 0})
    problem = get("SymSet-11")
    assert fake.made[-1] == {
        "preset": "paper",
        "max_time": 1.0,
        "random_state": 1,
        "n_jobs": 1,
        "library": problem.library,
        "target_library": problem.target_library,
        "hyperparameters": {"n_psi": 2},
        "verbose": 0,
    }


@pytest.mark.parametrize("name", ["SymSet-11", "Feynman-I.12.1"])
def test_the_default_preset_is_not_told_what_a_user_would_not_know(
    fake: type[Fake], name: str
) -> None:
    run([name], preset="default")
    assert fake.made[-1] == {
        "preset": "default",
        "max_time": 1.0,
        "random_state": 0,
        "n_jobs": 1,
    }


def test_a_problem_without_a_library_leaves_it_to_the_preset(fake: type[Fake]) -> None:
    run(["Feynman-I.12.1"], preset="paper")
    assert fake.made[-1]["library"] is None
    assert fake.made[-1]["target_library"] is None


def test_options_win_over_the_problem_s_settings(fake: type[Fake]) -> None:
    run(["Nguyen-10"], estimator_options={"n_psi": 4})
    assert fake.made[-1]["n_psi"] == 4


def test_one_warm_up_fit_comes_before_the_runs(fake: type[Fake]) -> None:
    run(["Nguyen-10"], runs=3)
    assert len(fake.made) == 4
    assert fake.made[0]["max_time"] < fake.made[1]["max_time"]


def test_a_wrong_law_is_not_recovered(fake: type[Fake]) -> None:
    fake.coefficient = 2.5
    (row,) = run(["Nguyen-10"])
    assert (row.recovered, row.verdict, row.approximation) == (False, "accidental", False)
    assert row.rmse_test > 0.01


def test_a_close_law_is_called_an_approximation(
    fake: type[Fake], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsr.benchmarks.recovery.FIT_TOLERANCE", 1e-12)
    fake.coefficient = 2.0 + 1e-8
    (row,) = run(["Nguyen-10"])
    assert (row.recovered, row.approximation, row.exact) == (False, True, False)


def test_noise_is_judged_by_structure(fake: type[Fake]) -> None:
    fake.coefficient = 2.01
    rows = run(["Nguyen-10", "Nguyen-9"], noise=(0.01, 0.1))
    assert [(row.problem, row.noise) for row in rows] == [
        (name, level) for level in (0.01, 0.1) for name in ("Nguyen-10", "Nguyen-9")
    ]
    assert [row.structure for row in rows] == [True, False, True, False]
    assert not any(row.recovered for row in rows)
    assert [row.verdict for row in rows[:2]] == ["same", "inexact"]
    assert all(row.found == row.structure for row in rows)


def test_noise_is_a_fraction_of_the_root_mean_square() -> None:
    problem = get("Livermore-1")
    (X, y), (X_noisy, y_noisy) = problem.train(0), problem.train(0, 0.1)
    np.testing.assert_array_equal(X, X_noisy)
    size = np.sqrt(np.mean((y_noisy - y) ** 2) / np.mean(y**2))
    assert size == pytest.approx(0.1, rel=0.1)
    np.testing.assert_array_equal(y_noisy, problem.train(0, 0.1)[1])
    np.testing.assert_allclose(problem.train(0, 0.2)[1] - y, 2 * (y_noisy - y))


def test_a_run_that_raises_is_kept_with_its_error(fake: type[Fake]) -> None:
    rows = run(["Jin-1", "Nguyen-10"])
    assert rows[0].error == "RuntimeError: cubes are too hard"
    assert not rows[0].recovered
    assert math.isnan(rows[0].rmse_test)
    assert rows[1].recovered


def test_json_has_all_keys_and_null_for_nan(fake: type[Fake], tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text("old")
    run(["Jin-1", "Nguyen-10"], json_path=path)
    records = json.loads(path.read_text())
    assert all(set(record) >= KEYS | {"verdict", "error", "approximation"} for record in records)
    assert records[0]["rmse_test"] is None
    assert records[1]["recovered"] is True
    assert [each.name for each in tmp_path.iterdir()] == ["rows.json"]


def test_a_missing_folder_is_refused_before_the_runs(fake: type[Fake], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        run(["Nguyen-10"], json_path=tmp_path / "no" / "rows.json")
    assert fake.made == []


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"jobs": 0}])
def test_nothing_to_run_is_refused(fake: type[Fake], wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        run(["Nguyen-10"], **wrong)


def test_ctrl_c_keeps_what_is_finished(
    fake: type[Fake], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.interrupt_at = 3
    path = tmp_path / "rows.json"
    rows = run(["Nguyen-10"], runs=5, json_path=path)
    assert [row.seed for row in rows] == [0, 1]
    assert len(json.loads(path.read_text())) == 2
    assert "2 of 5 runs finished" in capsys.readouterr().err
    assert "Nguyen-10" in text_of(suite_runs.tables(rows))


def test_progress_goes_to_standard_error(
    fake: type[Fake], capsys: pytest.CaptureFixture[str]
) -> None:
    run(["Nguyen-10"], progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "1/1" in captured.err


def row(problem: str, seed: int, **values: Any) -> suite_runs.Run:
    return suite_runs.Run(get(problem).suite, problem, seed, **values)


def lines_of(text: str, title: str) -> dict[str, str]:
    """Return the lines of the table called `title`, by their first word."""
    shown = text[text.index(title) :].splitlines()
    last = next(k for k, line in enumerate(shown) if line.split()[:1] in (["All"], ["Average"]))
    split = [line.split() for line in shown[: last + 1]]
    return {words[0]: " ".join(words[1:]) for words in split if words}


def test_tables_show_ours_beside_the_paper_s() -> None:
    good = {"recovered": True, "exact": True, "rmse_train": 0.0, "rmse_test": 0.0}
    rows = [
        row("Livermore-21", 0, **good, seconds=1.0),
        row("Livermore-21", 1, rmse_train=0.5, rmse_test=0.25, seconds=3.0),
        row("Livermore-5", 0, **good, seconds=4.0),
    ]
    table = lines_of(text_of(suite_runs.tables(rows)), "Livermore, mean RMSE")
    assert table["Livermore-21"] == "50 50 0 2.5e-01 1.2e-01 76 88 24 64 2"
    assert table["Livermore-5"] == "100 100 0 0 0 100 40 4 0 0"
    assert table["Average"] == "75 75 0 1.2e-01 6.2e-02 88 64 14 32 1"


def test_times_to_the_law_are_those_of_the_runs_that_found_it() -> None:
    rows = [row("Jin-1", s, recovered=True, seconds=float(s + 1)) for s in range(20)]
    rows += [row("Jin-1", 20, seconds=400.0), row("Jin-2", 0, seconds=10.0)]
    table = lines_of(text_of(suite_runs.tables(rows)), "Jin, seconds")
    assert table["Jin-1"] == "10.5 19 20 29"
    assert table["Jin-2"] == "- - - 10"
    assert table["All"].startswith("10.5 19 20")


def test_the_summary_has_a_line_for_every_suite() -> None:
    good = {"recovered": True, "exact": True, "rmse_train": 0.0, "rmse_test": 0.0}
    rows = [
        row("Jin-1", 0, **good, seconds=1.0),
        row("Jin-1", 1, approximation=True, rmse_train=0.0, rmse_test=0.0, seconds=9.0),
        row("Feynman-B1", 0, **good, seconds=3.0),
    ]
    table = lines_of(text_of(suite_runs.tables(rows)), "Summary")
    assert table["jin"] == "2 50 50 50 1 1 1 5"
    assert table["feynman"] == "1 100 100 0 3 3 3 3"
    assert table["All"] == "3 66.67 66.67 33.33 2 3 3 4.33"


def test_tables_of_noise_have_a_column_for_every_level() -> None:
    rows = [
        row("Jin-1", 0, noise=0.01, structure=True, seconds=1.0),
        row("Jin-1", 1, noise=0.01, seconds=8.0),
        row("Jin-1", 0, noise=0.1, seconds=8.0),
        row("Nguyen-1", 0, noise=0.1, structure=True, seconds=2.0),
    ]
    text = text_of(suite_runs.tables(rows))
    assert lines_of(text, "Jin with noise")["Jin-1"] == "50 1 0 -"
    table = lines_of(text, "Structure found under noise")
    assert table["nguyen"] == "- - 100 2"
    assert table["All"] == "50 1 50 2"
    assert "Summary" not in text


def test_narrow_tables_still_show_every_figure_whole() -> None:
    values = {"rmse_train": 1.5e-12, "rmse_test": 2.5e-12, "seconds": 0.125}
    text = text_of(suite_runs.tables([row("SymSet-10", 0, **values)]), width=80)
    for figure in ("1.5e-12", "2.5e-12", "2.1e-04", "3.3e-01", "1.6e+00", "393.6", "192.9"):
        assert figure in text
    assert max(map(len, text.splitlines())) <= 80


def test_neat_shows_the_median() -> None:
    rows = [row("Neat-1", s, rmse_train=v, rmse_test=v) for s, v in enumerate((0.0, 0.1, 9.0))]
    text = text_of(suite_runs.tables(rows))
    assert "median" in text
    assert "1.0e-01" in text


def test_failed_runs_count_against_recovery_and_are_mentioned() -> None:
    rows = [
        row("Jin-1", 0, recovered=True, rmse_train=0.5, rmse_test=0.5, seconds=1.0),
        row("Jin-1", 1, error="boom"),
    ]
    text = text_of(suite_runs.tables(rows))
    assert lines_of(text, "Jin, mean RMSE")["Jin-1"].startswith("50 0 0 inf inf")
    assert "1 runs failed" in text


def test_published_times_stand_beside_ours() -> None:
    times = {"recovered": True, "rmse_train": 0.0, "rmse_test": 0.0, "seconds": 0.125}
    text = text_of(suite_runs.tables([row("Nguyen-1", 0, **times), row("Jin-1", 0, **times)]))
    assert lines_of(text, "Nguyen, seconds")["Nguyen-1"].startswith("0.125 0.125 0.125 0.125 18.66")
    assert lines_of(text, "Jin, seconds")["Jin-1"] == "0.125 0.125 0.125 0.125"


def test_list_shows_every_problem() -> None:
    lines = text_of(suite_runs.list_problems()).splitlines()
    names = {line.split()[0] for line in lines if line.strip()}
    assert {each.name for each in select("all")} <= names
    assert any("(13/5) x1" in line for line in lines)


#: Spawned workers run it too, but for the last lines, and so have the stand-in.
SCRIPT = """
import os, time
import gsr
import numpy as np
import sympy
from gsr.benchmarks import suite_runs
from gsr.benchmarks.suites import select

class Equation:
    def terms(self):
        y, x1, x2 = sympy.symbols("y x1 x2", real=True)
        return [(1.0, y)], [(2.0, sympy.sin(x1) * sympy.cos(x2))]

    def __str__(self):
        return f"process {{os.getpid()}}"

class StandIn:
    def __init__(self, **options):
        self.options = options
        self.equation_ = Equation()

    def predict(self, X):
        return 2.0 * np.sin(X[:, 0]) * np.cos(X[:, 1])

    def fit(self, X, y):
{fit}
gsr.GSRRegressor = StandIn

if __name__ == "__main__":
    rows = suite_runs.run(select({names!r}), preset="p", runs={runs}, max_time=1.0, jobs=2,
                          json_path={path!r}, progress=False)
"""


def start(folder: Path, fit: str, **values: Any) -> subprocess.Popen[str]:
    script = folder / "script.py"
    body = textwrap.indent(fit, " " * 8)
    script.write_text(SCRIPT.format(path=str(folder / "rows.json"), fit=body, **values))
    return subprocess.Popen(
        [sys.executable, str(script)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
def test_jobs_share_the_runs_and_keep_their_order(tmp_path: Path) -> None:
    names = ["Nguyen-10", "Neat-5"]
    process = start(tmp_path, "time.sleep(0.05)\n", names=names, runs=8)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    records = json.loads((tmp_path / "rows.json").read_text())
    assert [(r["problem"], r["seed"]) for r in records] == [(n, s) for n in names for s in range(8)]
    assert all(record["recovered"] for record in records)
    processes = {record["equation"] for record in records}
    assert f"process {process.pid}" not in processes
    assert 1 <= len(processes) <= 2


@pytest.mark.slow
def test_a_process_that_dies_is_a_failed_run(tmp_path: Path) -> None:
    fit = "if self.options['max_time'] == 1.0: os._exit(3)\n"
    process = start(tmp_path, fit, names=["Nguyen-10"], runs=2)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    records = json.loads((tmp_path / "rows.json").read_text())
    assert [r["error"].partition(":")[0] for r in records] == ["BrokenProcessPool"] * 2


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_ends_the_workers(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    fit = (
        "if self.options['random_state'] and self.options['max_time'] == 1.0:\n"
        f"    open({str(marker)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "    time.sleep(300)\n"
    )
    process = start(tmp_path, fit, names=["Nguyen-10"], runs=6)
    while not (marker.exists() and marker.read_text().count("\n") == 2):
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1)  # the row of the first run is on its way to the parent
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "1 of 6 runs finished" in errors
    assert [r["seed"] for r in json.loads((tmp_path / "rows.json").read_text())] == [0]
    for worker in marker.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(worker), 0)
