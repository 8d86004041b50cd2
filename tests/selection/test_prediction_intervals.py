"""Intervals of predictions."""

import pickle

import numpy as np
import pytest
from scipy import stats

from fitted_laws import LIBRARY, ONE, law, training
from gsr.equation import Equation
from gsr.exceptions import GSRError, PredictionWarning
from gsr.selection import FrontEntry
from gsr.selection.fitted import FittedLaw, constants
from gsr.selection.refit import refit
from gsr.selection.target_scale import refine
from gsr.selection.uncertainty import prediction_interval, prediction_std

X1, X2 = [[1, 0, 1]], [[1, 0, 2]]


def entry_of(fitted, data):
    def equation(found):
        sides = found.psi, found.beta, found.phi, found.alpha
        return Equation.from_data(LIBRARY, LIBRARY, *sides, data.X, data.y)

    return FrontEntry(9, fitted.rmse, False, len(constants(fitted)), 30.0, equation, fitted, data)


def line(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 1))
    y = 2 * X[:, 0] + 1 + 0.1 * rng.standard_normal(n)
    data = training(X, y)
    return entry_of(refit(law([X1, ONE], [1, 1], exact=False), data), data)


def test_a_straight_line_as_in_the_textbook():
    entry = line()
    x, y = entry.data.X[:, 0], entry.data.y
    at = np.array([-0.5, 0.3, 2.0])
    slope, shift, *_ = stats.linregress(x, y)
    s2 = ((y - shift - slope * x) ** 2).sum() / 28
    mean = s2 * (1 / 30 + (at - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    np.testing.assert_allclose(prediction_std(entry, at[:, None], "mean"), np.sqrt(mean), rtol=1e-9)
    half = stats.t.ppf(0.95, 28) * np.sqrt(mean + s2)
    expected = np.column_stack([-half, half]) + (shift + slope * at)[:, None]
    np.testing.assert_allclose(prediction_interval(entry, at[:, None], 0.9), expected, rtol=1e-9)


# psi, its coefficients, phi, the true constants of phi, y of f(x), noise
LAWS = {
    "y": ([[[1]]], [1], [X1, [[6, 0, 2]], ONE], [1.5, 2.0, 0.5], lambda f: f, 0.3),
    "ln(y)": ([[[11]]], [1], [X1, X2, ONE], [0.8, -0.5, 1.0], np.exp, 0.15),
    "y^2": ([[[3]]], [1], [X1, [[3, 0, 2]], ONE], [2.0, 1.5, 4.0], np.sqrt, 0.1),
    "y^2 - y": ([[[3]], [[1]]], [1, -1.0], [X1, [[3, 0, 2]], ONE], [2.0, 1.5, 4.0],
                lambda f: 0.5 + np.sqrt(f + 0.25), 0.05),
    "weight": ([[[1]]], [1], [[[10, 3, 1, 0.8]], X2], [1.5, 2.0], lambda f: f, 0.1),
}  # fmt: skip


def truth(name, X):
    psi, _, phi, alpha, inverse, _ = LAWS[name]
    return inverse(training(X, X[:, 0]).features(law(phi, alpha, psi), X) @ np.array(alpha))


@pytest.mark.parametrize("name", LAWS)
def test_intervals_hold_as_often_as_they_say(name):
    psi, beta, phi, alpha, _, noise = LAWS[name]
    rng = np.random.default_rng(1)
    new = rng.uniform(0.2, 2.2, (40, 2))
    law_there = truth(name, new)
    held, meant = [], []
    for _ in range(100):
        X = rng.uniform(0.2, 2.0, (25, 2))
        data = training(X, truth(name, X) + noise * rng.standard_normal(25))
        start = law(phi, alpha, psi, beta, exact=False)
        entry = entry_of(refine(refit(start, data), data), data)
        measured = law_there + noise * rng.standard_normal(40)
        low, high = prediction_interval(entry, new, 0.9).T
        held.append((low < measured) & (measured < high))
        low, high = prediction_interval(entry, new, 0.9, kind="mean").T
        meant.append((low < law_there) & (law_there < high))
    assert 0.85 < np.mean(held) < 0.95
    assert 0.85 < np.mean(meant) < 0.95


def test_works_without_training_data_and_row_by_row():
    psi, _, phi, alpha, _, _ = LAWS["y^2"]
    X = np.random.default_rng(0).uniform(0.2, 2, (30, 2))
    data = training(X, truth("y^2", X) + 0.1 * np.sin(37 * np.arange(30)))
    entry = entry_of(refine(law(phi, alpha, psi, exact=False), data), data)
    expected = prediction_interval(entry, X)
    again = pickle.loads(pickle.dumps(entry))
    assert again.data is None
    np.testing.assert_array_equal(prediction_interval(again, X), expected)
    rows = [prediction_interval(again, row[None])[0] for row in X]
    np.testing.assert_allclose(rows, expected, rtol=1e-12)
    inner = prediction_interval(again, X, kind="mean")
    assert (inner[:, 0] > expected[:, 0]).all()
    assert (inner[:, 1] < expected[:, 1]).all()


def test_rows_without_a_solution_are_nan():
    psi, _, phi, alpha, _, _ = LAWS["y^2"]
    X = np.random.default_rng(0).uniform(0.2, 2, (30, 2))
    entry = entry_of(law(phi, alpha, psi), training(X, truth("y^2", X)))
    with pytest.warns(PredictionWarning):
        found = prediction_interval(entry, [[-10.0, 0.0], [1.0, 1.0]])
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


def test_constants_that_the_data_leave_open():
    entry = line()
    slope, shift = entry.law.alpha
    alpha = np.array([slope, shift / 2, shift / 2])
    twice = entry_of(FittedLaw.of(entry.law, phi=(X1, ONE, ONE), alpha=alpha), entry.data)
    assert np.isinf(prediction_std(twice, [[0.5]])).all()
    assert np.isinf(prediction_interval(line(n=2), [[0.5]])).all()


def test_bad_options():
    with pytest.raises(GSRError, match="level must be between 0 and 1, got 95"):
        prediction_interval(line(), [[0.5]], 95)
    with pytest.raises(GSRError, match="kind must be 'prediction' or 'mean', got 'both'"):
        prediction_std(line(), [[0.5]], "both")
