"""Benchmarks on files, of noise and of intervals, and the comparison of two runs."""

from __future__ import annotations

import gzip
import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from gsr import GSRError, fit_formula
from gsr.benchmarks import (
    data_files,
    measured,
    runner,
)
from gsr.benchmarks.structure import judge
from gsr.cli import main

FEW = {"max_evals": 60, "max_time": None}
HOW = {"options": FEW, "progress": False}

HEADER = """\
NIST/ITL StRD
Dataset Name:  Decay             (Decay.dat)

Data:          1 Response Variable  (y = activity)
               1 Predictor Variable (x = time)
               {n} Observations

Model:         Exponential Class
               2 Parameters (b1 and b2)

               {model}
                    + 0*b1  +  e

          Starting values                  Certified Values

        Start 1     Start 2           Parameter     Standard Deviation
  b1 =   1           3            2.0000000000E+00  2.7070075241E-02
  b2 =   1.1         0.5         -7.0000000000E-01  7.2668688436E-06

Residual Sum of Squares:                    {rss:.10E}
Residual Standard Deviation:                1.0187876330E-01

Data:   y               x
"""


def shown(renderable, width=160):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def write_nist(folder, model="y = b1*exp[b2*x]", log=False):
    rng = np.random.default_rng(0)
    x = np.linspace(0, 4, 40)
    y = 2.0 * np.exp(-0.7 * x) + 0.01 * rng.standard_normal(len(x))
    truth = 2.0 * np.exp(-0.7 * x)
    rss = float(np.sum((y - truth) ** 2))
    rows = [f"{a:14.8E} {b:14.8E}" for a, b in zip(np.exp(y) if log else y, x, strict=True)]
    text = HEADER.format(n=len(x), model=model, rss=rss) + "\n".join(rows) + "\n"
    (folder / "Decay.dat").write_text(text, "ascii")
    return x, y, rss


def test_nist_file_is_read(tmp_path):
    x, y, rss = write_nist(tmp_path)
    data = data_files.read_nist(tmp_path / "Decay.dat")
    assert data.model == "y = b1*exp[b2*x] + 0*b1"
    assert data.constants == {"b1": 2.0, "b2": -0.7}
    assert data.rss == pytest.approx(rss)
    assert data.X[:, 0] == pytest.approx(x) and data.y == pytest.approx(y)


def test_nist_model_is_a_curve(tmp_path):
    write_nist(tmp_path, "y = b1*exp[b2*x] - arctan[b1/(x+3)]/pi")
    data = data_files.read_nist(tmp_path / "Decay.dat")
    x = data.X[:, 0]
    truth = 2.0 * np.exp(-0.7 * x) - np.arctan(2.0 / (x + 3.0)) / np.pi
    assert data.curve.values(data.X) == pytest.approx(truth)


def test_nist_model_of_log_y_has_a_logarithmic_target(tmp_path):
    _, y, _ = write_nist(tmp_path, "log[y] = b1*exp[b2*x]", log=True)
    assert data_files.read_nist(tmp_path / "Decay.dat").y == pytest.approx(y)


def test_nist_file_without_parts_is_named(tmp_path):
    (tmp_path / "half.dat").write_text("Model:  none\n", "ascii")
    with pytest.raises(GSRError, match=r"half\.dat"):
        data_files.read_nist(tmp_path / "half.dat")


def test_nist_runs(tmp_path):
    write_nist(tmp_path)
    (outcome,) = data_files.run("nist", tmp_path, **HOW)
    assert outcome.found and outcome.ratio <= 1.1 and outcome.n_certified == 2
    assert outcome.structure == "same" and outcome.on_front
    assert "1 of 1 pass" in shown(data_files.SUITES["nist"].table([outcome]))


def test_nist_law_with_many_constants_does_not_pass(tmp_path, monkeypatch):
    write_nist(tmp_path)
    monkeypatch.setattr(data_files, "SPARE", -2)
    (outcome,) = data_files.run("nist", tmp_path, **HOW)
    assert not outcome.found and outcome.ratio <= 1.1


def test_folder_without_files_is_an_error(tmp_path):
    for suite in data_files.SUITES:
        with pytest.raises(GSRError, match=tmp_path.name):
            data_files.run(suite, tmp_path, **HOW)


def write_leavitt(folder):
    rng = np.random.default_rng(0)
    P = np.geomspace(1.2, 120, 30)
    y = 15.6 - 0.87 * np.log(P) + 0.02 * rng.standard_normal(len(P))
    rows = "\n".join(f"{a},{b}" for a, b in zip(P, y, strict=True))
    (folder / "leavitt.csv").write_text(f"P,target\n{rows}\n", "utf-8")


@pytest.mark.slow
def test_empirical_runs(tmp_path):
    write_leavitt(tmp_path)
    (tmp_path / "other.csv").write_text("a,target\n1,2\n", "utf-8")
    (outcome,) = data_files.run("empirical", tmp_path, **HOW)
    assert outcome.problem == "leavitt"
    assert outcome.structure == "same" and outcome.on_front and not outcome.false_verdict
    assert "1 of 1 found" in shown(data_files.SUITES["empirical"].table([outcome]))


@pytest.mark.parametrize(
    ("name", "columns", "low", "high", "formula"),
    [
        ("hubble", ["D"], [0.03], [2.0], "y = a*x1"),
        ("kepler", ["a"], [0.4], [9.5], "ln(y) = a*ln(x1) + b"),
        ("leavitt", ["P"], [1.3], [127], "y = a*ln(x1) + b"),
        ("schechter", ["L"], [1e6], [2.9e9], "y = a*ln(x1) + b*x1 + c"),
    ],
)
def test_historical_laws_pass_their_own_test(name, columns, low, high, formula):
    rng = np.random.default_rng(0)
    X = np.exp(rng.uniform(np.log(low), np.log(high), (60, len(columns))))
    X[0], X[1] = low, high
    curve = data_files.historical(name, columns, X)
    equation = fit_formula(formula, X, curve.values(X))
    assert judge(equation, *curve.family(), curve.n_constants).found


def test_plancks_law_is_defined_for_the_whole_range():
    nu, T = np.meshgrid(np.geomspace(1e9, 1e16, 20), np.geomspace(110, 5800, 10))
    X = np.column_stack([nu.ravel(), T.ravel()])
    curve = data_files.historical("planck", ["nu", "T"], X)
    assert np.isfinite(curve.values(X)).all()
    assert len(curve.family()[1]) == 200


def write_table(folder, n=60):
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, (n, 2))
    rows = "".join(f"{a}\t{a * b}\t{b}\n" for a, b in X)
    with gzip.open(folder / "product.tsv.gz", "wt") as file:
        file.write("a\ttarget\tb\n" + rows)


def test_blackbox_runs(tmp_path):
    write_table(tmp_path)
    first, second = data_files.run("blackbox", tmp_path, **HOW, runs=2)
    assert (first.problem, first.n_rows, first.n_features) == ("product", 45, 2)
    assert first.found and first.r2 > 0.99 and second.seed == 1
    assert "product" in shown(data_files.SUITES["blackbox"].table([first, second]))


def test_blackbox_split_leaves_test_rows_out_of_training(monkeypatch):
    monkeypatch.setattr(data_files, "MOST_ROWS", 10)
    train, test = data_files.split(40, 3)
    assert (len(train), len(test)) == (10, 10)
    assert not set(train) & set(test)
    assert list(train) != list(data_files.split(40, 4)[0])


def test_wild_predictions_are_flagged(tmp_path, monkeypatch):
    write_table(tmp_path)
    monkeypatch.setattr(measured, "r2", lambda prediction, truth: -5.0)
    (outcome,) = data_files.run("blackbox", tmp_path, **HOW)
    assert not outcome.found
    assert "-5.000 !" in shown(data_files.SUITES["blackbox"].table([outcome]))


def test_r2():
    y = np.array([1.0, 2.0, 4.0])
    assert measured.r2(y, y) == 1.0
    assert measured.r2(np.full(3, y.mean()), y) == pytest.approx(0.0)
    assert measured.r2([1.0, math.nan, 4.0], y) == -math.inf


def test_processor_time_stops_a_search():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (30, 2))
    y = X[:, 0] + rng.standard_normal(30)
    fitted = measured.fit(X, y, {"cpu_time": 0.3, "max_time": None})
    assert fitted.model.status_ == "stopped"
    assert not fitted.noted()["ended_early"] and fitted.cpu_seconds > 0.25


@pytest.mark.slow
def test_noise_tables_differ_and_are_judged(monkeypatch):
    assert measured.N_TABLES == 100
    monkeypatch.setattr(measured, "SIZES", ((30, 1), (40, 3)))
    outcomes = measured.run_noise(options={"max_generations": 1, "max_time": None}, progress=False)
    assert len(outcomes) == 10 == len({each.problem for each in outcomes})
    assert not any(each.error for each in outcomes)
    for each in outcomes:  # a law that names a feature is no constant
        assert each.found == ("x" not in each.equation.replace("exp", ""))
    assert f"{sum(each.found for each in outcomes)} of 10 right" in shown(
        measured.noise_tables(outcomes)
    )


def record(problem, **changed):
    base = {"suite": "curves", "problem": problem, "errors": "constant", "seed": 0,
            "found": False, "on_front": True, "false_verdict": False, "error": "", "r2": 0.9,
            "seconds": 2.0, "equation": "y = x1"}  # fmt: skip
    return {**base, **changed}


def write(path, *records):
    path.write_text(json.dumps(records), "utf-8")
    return path


def test_comparison_tells_better_from_worse(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    old = write(
        tmp_path / "old.json",
        record("gained"), record("lost", found=True), record("same"), record("gone"),
        record("r2", r2=None), record("nist", ratio=5.0),
    )  # fmt: skip
    new = write(
        tmp_path / "new.json",
        record("gained", found=True, equation="y = x1^2"), record("lost", false_verdict=True),
        record("same", r2=0.9001), record("r2", r2=0.99), record("nist", ratio=1.0),
    )  # fmt: skip
    assert main(["bench", "--compare", str(old), str(new)]) == 0
    better, worse = capsys.readouterr().out.split("Worse")
    assert "Better: 3" in better and "y = x1  ->  y = x1^2" in better
    assert "R2: -inf -> 0.99" in better and "residual sum: 5 -> 1" in better
    assert worse.lstrip().startswith(": 1") and "found: no; false verdict: yes" in worse
    assert "1 -> 1" in worse and "1 runs are in one of the files only" in worse


def test_comparison_reads_suites_of_known_laws():
    old = {("nguyen", "Nguyen-1", "", 0): {"suite": "nguyen", "problem": "Nguyen-1", "seed": 0}}
    new = {key: {**value, "recovered": True} for key, value in old.items()}
    assert "found: yes" in shown(runner.comparison(old, new))


def test_comparison_of_something_else_is_an_error(tmp_path):
    with pytest.raises(GSRError, match="not the JSON of a benchmark"):
        runner.read_json(write(tmp_path / "odd.json", {"a": 1}))


def test_command_line(tmp_path, capsys):
    write_nist(tmp_path)
    target = tmp_path / "out.json"
    options = ["--data", str(tmp_path), "--max-evals", "60", "--json", str(target)]
    assert main(["bench", "nist", *options]) == 0
    assert json.loads(target.read_text("utf-8"))[0]["problem"] == "Decay"
    capsys.readouterr()
    for wrong, message in (
        (["nist"], "needs --data"),
        (["nolaw", "more"], "stands alone"),
        (["curves", "--noise", "0.1"], "does not take --noise"),
        (["nolaw", "--list"], "--list goes with curves"),
    ):
        with pytest.raises(SystemExit):
            main(["bench", *wrong])
        assert message in capsys.readouterr().err
    assert main(["bench", "curves", "hill", "--list"]) == 0
    assert "K^n" in capsys.readouterr().out
