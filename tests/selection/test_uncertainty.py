"""Standard errors and confidence intervals."""

import warnings

import numpy as np
import pytest
from scipy import stats

from fitted_laws import ONE, law, noisy_exponential, root_law, training
from gsr.exceptions import GSRError
from gsr.selection.fitted import FittedLaw
from gsr.selection.refit import refit
from gsr.selection.target_scale import refine
from gsr.selection.uncertainty import inverse_gram, uncertainty


def line(n=30, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 1))
    y = 2 * X[:, 0] + 1 + noise * rng.standard_normal(n)
    data = training(X, y)
    return refit(law([[[1, 0, 1]], ONE], [1, 1], exact=False), data), data


def test_a_straight_line_as_in_the_textbook():
    found, data = line()
    known = stats.linregress(data.X[:, 0], data.y)
    sure = uncertainty(found, data)
    np.testing.assert_allclose(sure.errors, [known.stderr, known.intercept_stderr], rtol=1e-10)
    half = stats.t.ppf(0.95, 28) * known.stderr
    np.testing.assert_allclose(
        sure.intervals(0.9)[0], [known.slope - half, known.slope + half], rtol=1e-10
    )


def test_intervals_hold_the_truth_as_often_as_they_say():
    held = []
    for seed in range(150):
        found, data = noisy_exponential(n=60, noise=0.05, seed=seed)
        low, high = uncertainty(refine(refit(found, data), data), data).intervals(0.9).T
        held.append((low < [1, 2]) & (high > [1, 2]))
    assert 0.84 < np.mean(held) < 0.96


def test_names_and_kinds():
    X = np.random.default_rng(0).uniform(0, 2, (50, 2))
    y = 4 + np.sqrt(30 * np.exp(X[:, 1]) + 2 * np.cos(1.5 * X[:, 0]))
    phi = [[[10, 0, 2]], [[6, 3, 1, 1.5]], ONE]
    found = law(phi, [30, 2, -16], [[[3]], [[1]]], [1, -8])
    sure = uncertainty(found, training(X, y))
    assert sure.names == ("alpha[0]", "alpha[1]", "alpha[2]", "beta[1]", "weight[0]")
    assert [len(sure.of(kind)) for kind in ("alpha", "beta", "weight")] == [3, 1, 1]


def test_an_exact_law_has_errors_at_rounding_level():
    found, data = root_law(100)
    sure = uncertainty(refit(found, data), data)
    assert (sure.errors >= np.finfo(float).eps / 2).all()
    assert sure.errors.max() < 1e-14


def test_constants_that_the_data_leave_open():
    found, data = line()
    slope, shift = found.alpha
    alpha = np.array([slope, shift / 2, shift / 2])
    twice = FittedLaw.of(found, phi=([[1, 0, 1]], ONE, ONE), alpha=alpha)
    sure = uncertainty(twice, data)
    assert not np.isnan(sure.covariance).any()
    assert np.isinf(sure.errors[1:]).all()
    assert sure.errors[0] == pytest.approx(uncertainty(found, data).errors[0], rel=0.05)
    assert not np.isnan(sure.intervals()).any()


def test_no_rows_left():
    found, data = line(n=2)
    sure = uncertainty(found, data)
    assert np.isinf(sure.errors).all()
    assert not np.isnan(sure.intervals()).any()


@pytest.mark.parametrize("level", [0.0, 1.0, -1, 95])
def test_levels_are_probabilities(level):
    with pytest.raises(GSRError, match="level must be between 0 and 1"):
        uncertainty(*line()).intervals(level)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-160, 1e300, 1e308])
def test_variances_of_extreme_columns_raise_no_warnings_of_numpy(size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = inverse_gram(np.array([[size, 0.0], [0.0, 1.0]]))
    assert found[1, 1] == 1.0
