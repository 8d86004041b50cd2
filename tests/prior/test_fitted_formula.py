"""Formulas that are fitted: errors of their constants, bands, noise."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import curve_fit

from gsr import Equation, GSRError, fit_formula

RNG = np.random.default_rng(3)
X = np.sort(RNG.uniform(0.2, 6, 80))[:, None]
x = X[:, 0]
NOISE = RNG.normal(size=80)
DECAY = 3 * np.exp(-x / 2) + 1


def decay(x, a, tau, b):
    return a * np.exp(-x / tau) + b


def test_constants_have_the_users_names_and_the_errors_of_curve_fit():
    y = DECAY + 0.05 * NOISE
    law = fit_formula("y = a*exp(-x1/tau) + b", X, y)
    best, covariance = curve_fit(decay, x, y, p0=[3, 2, 1])
    for k, name in enumerate(("a", "tau", "b")):
        found = law.constants[name]
        assert found.value == pytest.approx(best[k], rel=1e-4)
        assert found.error == pytest.approx(np.sqrt(covariance[k, k]), rel=1e-3)
        assert found.low < found.value < found.high
        value, low, high = law.intervals(0.5)[name]
        assert found.low < low < value < high < found.high
    assert isinstance(law, Equation)
    assert law.equation is law
    assert law.level == "noise"
    assert law.rmse == pytest.approx(np.sqrt(np.mean((y - law.predict(X)) ** 2)))
    assert law.noise_.startswith("scatter is the same everywhere: 0.05")
    assert "tau = " in law.summary()
    assert str(law).startswith("y = ")


def test_known_standard_deviations():
    sigma = np.where(x < 2, 0.02, 0.2)
    y = DECAY + sigma * NOISE
    law = fit_formula("y = a*exp(-x1/tau) + b", X, y, sigma=sigma)
    best, covariance = curve_fit(decay, x, y, p0=[3, 2, 1], sigma=sigma, absolute_sigma=True)
    for k, name in enumerate(("a", "tau", "b")):
        assert law.constants[name].value == pytest.approx(best[k], rel=1e-4)
        assert law.constants[name].error == pytest.approx(np.sqrt(covariance[k, k]), rel=1e-3)
    _, narrow = law.predict([[3.0]], return_std=True, sigma=0.001)
    _, wide = law.predict([[3.0]], return_std=True, sigma=1.0)
    assert narrow[0] < 0.2 < wide[0]
    assert "as the given errors say" in law.noise_ or "as large as" in law.noise_
    with pytest.raises(GSRError, match="sample_weight or sigma"):
        fit_formula("y = a*x1", X, y, sample_weight=np.ones(80), sigma=1.0)
    with pytest.raises(GSRError, match="sigma must be positive"):
        fit_formula("y = a*x1", X, y, sigma=-1.0)


def test_weights_that_stand_for_the_noise():
    sigma = np.where(x < 2, 0.02, 0.2)
    y = DECAY + sigma * NOISE
    weighted = fit_formula("y = a*exp(-x1/tau) + b", X, y, sample_weight=sigma**-2.0)
    given = fit_formula("y = a*exp(-x1/tau) + b", X, y, sigma=sigma)
    assert weighted.constants["tau"].value == pytest.approx(given.constants["tau"].value, rel=1e-5)
    assert weighted.noise_ == "scatter follows the weights of the rows"


@pytest.mark.parametrize("errors", ["auto", "relative"])
def test_scatter_that_grows(errors):
    y = 5 * x**1.5 * (1 + 0.1 * NOISE)
    law = fit_formula("y = a*x1^n", X, y, errors=errors)
    assert "% of y" in law.noise_
    _, std = law.predict([[1.0], [4.0]], return_std=True)
    assert std[1] / std[0] == pytest.approx(8.0, rel=0.15)
    low, n, high = (law.constants["n"][k] for k in (2, 0, 3))
    assert low < 1.5 < high
    assert n == pytest.approx(1.5, abs=0.1)


@pytest.mark.parametrize("formula", ["y = a*x1^n", "ln(y) = n*ln(x1) + c"])
def test_scatter_that_grows_over_twenty_decades(formula):
    wide = np.geomspace(1e-10, 1e10, 60)
    y = 3.2 * wide**0.97 * (1 + 0.05 * np.random.default_rng(0).standard_normal(60))
    law = fit_formula(formula, wide[:, None], y, errors="relative")
    # The errors of a straight line in logarithms.
    known = stats.linregress(np.log(wide), np.log(y))
    assert law.constants["n"].value == pytest.approx(known.slope, abs=known.stderr)
    assert law.constants["n"].error == pytest.approx(known.stderr, rel=0.2)
    prediction, std = law.predict(wide[:, None], return_std=True)
    np.testing.assert_allclose(std / prediction, 0.05, rtol=0.25)


def test_counts():
    counts = np.random.default_rng(0).poisson(50 * np.exp(-x / 2) + 2)
    law = fit_formula("y = a*exp(-x1/tau) + b", X, counts, errors="poisson")
    assert "root of y" in law.noise_
    found = law.constants["tau"]
    assert found.low < 2.0 < found.high


def test_errors_that_are_not_known():
    with pytest.raises(GSRError, match="errors must be 'auto'"):
        fit_formula("y = a*x1", X, x, errors="gaussian")
    with pytest.raises(GSRError, match="cannot be combined"):
        fit_formula("y = a*x1", X, x, errors="relative", sigma=0.1)


def test_a_letter_in_two_places_is_one_constant_in_the_errors_too():
    y = 1.4 * np.exp(-1.4 * x) + 0.01 * NOISE
    law = fit_formula("y = a*exp(-a*x1)", X, y)
    best, covariance = curve_fit(lambda x, a: a * np.exp(-a * x), x, y, p0=[1.4])
    assert list(law.constants) == ["a"]
    assert law.constants["a"].value == pytest.approx(best[0], rel=1e-5)
    assert law.constants["a"].error == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-3)
    slope = (1 - 1.4 * 2) * np.exp(-1.4 * 2)
    low, high = law.predict_interval([[2.0]], 0.95, kind="mean")[0]
    assert high - low == pytest.approx(2 * 1.99 * abs(slope) * law.constants["a"].error, rel=0.02)


def test_constants_that_only_have_a_ratio_are_held():
    y = (1 + 2 * x) / (3 + x / 2) + 0.01 * NOISE
    law = fit_formula("y = (a + b*x1)/(c + d*x1)", X, y)
    assert set(law.constants) == {"a", "b", "c", "d"}
    assert [name for name, found in law.constants.items() if found.held] == ["d"]
    for name, value in (("a", 2.0), ("b", 4.0), ("c", 6.0)):
        assert abs(law.constants[name].value - value) < 4 * law.constants[name].error
        assert law.constants[name].error < 0.2 * value
    assert "d = 1 (held)" in law.summary()


def test_constants_of_a_reciprocal_are_all_free():
    y = 1 / (2 + 0.5 * x) + 0.001 * NOISE
    law = fit_formula("y = 1/(a + b*x1)", X, y)
    best, covariance = curve_fit(lambda x, a, b: 1 / (a + b * x), x, y, p0=[2, 0.5])
    assert set(law.constants) == {"a", "b"}
    for k, name in enumerate("ab"):
        assert law.constants[name].value == pytest.approx(best[k], rel=1e-5)
        assert law.constants[name].error == pytest.approx(np.sqrt(covariance[k, k]), rel=1e-3)


@pytest.mark.parametrize(
    ("formula", "truth", "name", "value"),
    [
        ("y = k^2*x1", 4 * x, "k", 2.0),
        ("y = x1^2/(2*m)", x**2 / 6, "m", 3.0),
        ("y = -q*x1 + 1", -0.5 * x + 1, "q", 0.5),
        ("y^2 = G*x1^3", np.sqrt(2 * x**3), "G", 2.0),
        ("y = a*b*x1 + b", 6 * x + 2, "a", 3.0),
        ("y = k^2*x1", -4 * x, "k**2", -4.0),
        ("y = 2.5*sin(1.5*x1)", 2 * np.sin(1.6 * x), "c1", 1.6),
        ("y = 3*x1 + b", 2 * x + 1, "coefficient of 3*x1", 2.0),
    ],
)
def test_constants_are_those_of_the_formula_as_it_is_written(formula, truth, name, value):
    law = fit_formula(formula, X, truth + 1e-3 * NOISE)
    found = law.constants[name]
    assert found.value == pytest.approx(value, rel=0.01)
    assert abs(found.value - value) < 5 * found.error


def test_intervals_hold_the_truth_as_often_as_they_say():
    truth = {"a": 3.0, "c1": 0.5, "b": 1.0}
    inside = dict.fromkeys((*truth, "new"), 0)
    rng = np.random.default_rng(5)
    for _ in range(60):
        y = DECAY + 0.1 * rng.normal(size=80)
        law = fit_formula("y = a*exp(-0.6*x1) + b", X, y, errors="constant")
        for name, value in truth.items():
            inside[name] += law.constants[name].low < value < law.constants[name].high
        low, high = law.predict_interval([[3.0]])[0]
        inside["new"] += low < decay(3.0, 3, 2, 1) + 0.1 * rng.normal() < high
    assert all(count >= 51 for count in inside.values()), inside


def test_exact_data():
    law = fit_formula("y = a*exp(-x1/tau) + b", X, DECAY)
    assert law.level == "rounding"
    assert law.noise_ == "scatter is rounding"
    assert law.constants["tau"].value == pytest.approx(2.0, rel=1e-9)
    assert law.constants["tau"].error < 1e-10


def test_a_fitted_formula_can_be_pickled():
    law = fit_formula("y = a*exp(-x1/tau) + b", X, DECAY + 0.05 * NOISE)
    again = pickle.loads(pickle.dumps(law))
    assert again.constants == law.constants
    np.testing.assert_array_equal(again.predict_interval(X), law.predict_interval(X))


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "quantile"])
def test_the_law_has_the_constants_that_it_tells(loss):
    rng = np.random.default_rng(0)
    x = np.geomspace(0.5, 70.0, 14)
    y = 40.0 * x / (22.0 + x) + 0.4 * rng.standard_normal(14)
    y[4] += 6.0
    found = fit_formula("y = a*x/(b + x)", x[:, None], y, ["x"], loss=loss)
    a, b = (found.constants[name].value for name in "ab")
    np.testing.assert_allclose(found.predict(x[:, None]), a * x / (b + x), rtol=1e-6)


def test_fitted_numbers_are_shown_with_the_number_that_was_written():
    x = np.linspace(0.5, 3, 40)[:, None]
    y = 2 * np.sin(3.3 * x[:, 0] + 0.2) + 0.01 * np.random.default_rng(0).normal(size=40)
    law = fit_formula("y = 1.5 sin(3.1 x1 + b)", x, y)
    (line,) = [each for each in law.summary().splitlines() if each.startswith("  c1 = ")]
    assert line.endswith(" (3.1 in the formula)")
    assert law.summary().count("in the formula") == 1


def test_the_result_says_which_names_are_columns_and_which_constants():
    table = np.column_stack([x, 2 - x, x**2])
    law = fit_formula("signal = a*time + b*zzz", table, x, ["time", "z", "w"], "signal")
    assert repr(law).splitlines() == [
        str(law), "columns: time; not used: z, w", "constants: a, b, zzz (held at 1)"
    ]  # fmt: skip
    assert repr(law) == "\n".join(law.summary().splitlines()[:3])
    assert "\n" not in str(law)


def test_a_formula_with_all_columns_and_no_letters():
    law = fit_formula("y = 2.5 x1", X, x)
    assert repr(law).splitlines() == [str(law), "columns: x1"]


def test_a_weighted_error_is_called_so():
    assert ", rmse " in fit_formula("y = a*x1", X, x + 0.1 * NOISE).summary()
    law = fit_formula("y = a*x1", X, x + 0.1 * x * NOISE, sigma=0.1 * x)
    assert ", weighted rmse " in law.summary()


def test_huge_constants_raise_no_warnings_of_numpy():
    X = np.random.default_rng(0).uniform(1, 2, (30, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fit_formula("(x1 + 1.5)^(-64)", X, 2 * X[:, 0])
