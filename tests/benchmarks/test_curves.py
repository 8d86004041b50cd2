"""The suite of standard curves: its data, the judge of structure, and the runs."""

from __future__ import annotations

import io
import json
import pickle

import numpy as np
import pytest
from rich.console import Console

from gsr import fit_formula
from gsr.benchmarks import measured
from gsr.benchmarks.structure import judge
from gsr.benchmarks.suites.curves import CURVES, ERRORS, select_curves
from gsr.cli import main

MANDATORY = {
    "michaelis-menten", "langmuir", "arrhenius", "exponential approach", "power law",
    "second-order decay",
}  # fmt: skip


def fitted(formula, name, errors="constant"):
    (curve,) = select_curves([name])
    X, y, _ = curve.train(0, errors)
    return fit_formula(formula, X, y), curve


def verdict(formula, name, errors="constant"):
    equation, curve = fitted(formula, name, errors)
    return judge(equation, *curve.family(), curve.n_constants)


def test_suite_has_the_named_curves_once():
    names = [curve.name for curve in CURVES]
    assert len(names) >= 36
    assert len(set(names)) == len(names)
    assert set(names) >= MANDATORY


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_data_of_a_curve(curve):
    for errors in ERRORS:
        X, y, sigma = curve.train(1, errors)
        assert X.shape == (curve.n_rows, len(curve.features))
        assert np.isfinite(X).all() and np.isfinite(y).all()
        assert (sigma is not None) == (errors == "sigma")
    assert 20 <= curve.n_rows <= 150
    if len(curve.features) > 1:  # even steps in two columns would be one column
        assert all("uniform" in feature.rule for feature in curve.features)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_every_constant_of_a_curve_can_be_told_from_its_data(curve):
    X, y, _ = curve.train(0)
    columns = []
    for name, value in curve.constants.items():
        ends = [curve.values(X, {**curve.constants, name: value * part}) for part in (1.01, 0.99)]
        columns.append((ends[0] - ends[1]) / np.std(y))
    jacobian = np.stack(columns, axis=1)
    assert np.linalg.cond(jacobian / np.linalg.norm(jacobian, axis=0)) < 1e4


def test_sizes_of_errors():
    (curve,) = select_curves(["parabola"])
    y = curve.values(np.linspace(0, 6, 5000)[:, None])
    rng = np.random.default_rng(0)
    assert np.all(curve.sizes(y, "constant", rng) == pytest.approx(0.02 * np.std(y)))
    assert np.all(curve.sizes(y, "relative", rng) == pytest.approx(0.05 * np.abs(y)))
    ratio = curve.sizes(y, "sigma", rng) / (0.02 * np.std(y))
    assert 1 / 3 <= ratio.min() < 0.4 and 2.5 < ratio.max() <= 3
    with pytest.raises(ValueError, match="among none, constant"):
        curve.sizes(y, "poisson", rng)


def test_unknown_curve_suggests_a_name():
    with pytest.raises(ValueError, match="did you mean 'langmuir'"):
        select_curves(["langmiur"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "name"),
    [
        ("y = a*x1/(b + x1)", "michaelis-menten"),
        ("1/y = a/x1 + b", "michaelis-menten"),
        ("ln(y) = a*ln(x1) + b", "power law"),
        ("ln(y) = a/x1 + b", "arrhenius"),
        ("y = a*exp(b*x1) + c", "exponential approach"),
        ("1/y = a + b*x1", "second-order decay"),
        ("y^2 = a*x1", "pendulum"),
        ("y = a*sin(b*x1 + c) + d", "sinusoid with offset"),
        ("y = a*sin(b*x1) + c*cos(b*x1) + d", "sinusoid with offset"),
    ],
)
def test_true_families_pass_whatever_they_are_solved_for(formula, name):
    found = verdict(formula, name)
    assert found.found, found


@pytest.mark.parametrize(
    ("formula", "name"),
    [
        ("y = a*sqrt(x1) + b*x1 + c", "michaelis-menten"),
        ("y = a*ln(x1) + b", "power law"),
        ("y = a*x1 + b*ln(x1) + c", "power law"),
        ("y = a*exp(-x1) + b", "exponential approach"),  # the rate is fixed
        ("y = a*x1^2 + b*x1^3 + c", "parabola"),
        ("y = a*exp(b*x1)", "diode"),
    ],
)
def test_other_families_fail(formula, name):
    assert verdict(formula, name).verdict == "inexact"


def test_close_approximation_is_not_the_family():
    X = np.linspace(0, 1.3, 100)[:, None]
    y = sum(a * np.exp(-k * X[:, 0]) for a, k in ((0.0951, 1), (0.8607, 3), (1.5576, 5)))
    formula = "ln(y) = a*x1 + b*exp(sin(x1)) + c*sqrt(1 + sin(x1)) + d*(1 + x1^2)*cos(1 + x1) + e"
    found = judge(fit_formula(formula, X, y), X, y, 6)
    assert found.error < 1e-6
    assert found.verdict == "inexact"


def test_spare_and_superfluous_constants_are_told_apart():
    formulas = ["y = a*sqrt(x1)", "y = a*sqrt(x1) + b", "y = a*sqrt(x1) + b*x1 + c"]
    found = [verdict(formula, "pendulum").verdict for formula in formulas]
    assert found == ["same", "spare", "superfluous"]


def test_law_without_values_is_undefined():
    (curve,) = select_curves(["pendulum"])
    X = np.linspace(1.2, 2.0, 30)[:, None]
    equation = fit_formula("y = a*sqrt(x1 - 1) + b", X, curve.values(X))
    assert judge(equation, *curve.family(), 1).verdict == "undefined"


def test_constants_far_from_the_truth_are_found_again():
    equation, _ = fitted("y = a*exp(b*x1) + c", "decay with offset")
    X = np.linspace(0, 10, 100)[:, None]
    found = judge(equation, X, 2.1 * np.exp(-1.9 * X[:, 0]) + 40.0, 3)
    assert found.verdict == "same"


def run_some(**changed):
    how = {"options": {"max_evals": 200, "max_time": None}, "progress": False, **changed}
    return measured.run_curves(select_curves(["pendulum", "parabola"]), **how)


@pytest.mark.slow
def test_runs_are_judged(tmp_path):
    path = tmp_path / "curves.json"
    outcomes = run_some(errors=("none", "sigma"), runs=2, json_path=path)
    assert len(outcomes) == 8
    clean = [each for each in outcomes if each.errors == "none"]
    assert all(each.found and each.on_front and each.r2 > 0.999 for each in clean)
    assert not any(each.false_verdict for each in clean)
    assert all(each.ended_early and not each.error for each in outcomes)
    assert len(json.loads(path.read_text("utf-8"))) == 8
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(measured.curve_tables(outcomes))
    assert "By kind of error" in console.export_text()


def test_a_fit_that_raises_is_an_outcome_with_its_error():
    (first, _) = run_some(options={"depth": -1}, errors=("none",))
    assert "depth" in first.error
    assert not first.found


def test_tasks_travel():
    (curve,) = select_curves(["hill"])
    assert pickle.loads(pickle.dumps(curve)) == curve


def test_command_line(capsys):
    assert main(["bench", "curves", "pendulum", "--errors", "none", "--max-time", "0.5"]) == 0
    shown = capsys.readouterr().out
    assert "pendulum" in shown and "By kind of error" in shown
    with pytest.raises(SystemExit):
        main(["bench", "curves", "--errors", "poisson"])
    assert "must be among none" in capsys.readouterr().err
