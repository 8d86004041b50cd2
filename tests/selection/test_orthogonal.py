"""Errors of features: orthogonal distance regression."""

import numpy as np
import pytest

from gsr import GSRError, GSRRegressor, fit_formula

#: Pearson's data with York's weights; the line that fits best is known (York 1966, 2004).
X = np.array([0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4])[:, None]
Y = np.array([5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5])
X_SIGMA = np.array([1000, 1000, 500, 800, 200, 80, 60, 20, 1.8, 1])[:, None] ** -0.5
Y_SIGMA = np.array([1, 1.8, 4, 8, 20, 20, 70, 70, 100, 500]) ** -0.5


def test_pearsons_data_with_yorks_weights():
    law = fit_formula("y = a + b*x1", X, Y, sigma=Y_SIGMA, x_sigma=X_SIGMA)
    assert law.constants["a"].value == pytest.approx(5.47991022, rel=1e-6)
    assert law.constants["b"].value == pytest.approx(-0.480533407, rel=1e-6)
    # York et al. (2004), with the errors as given.
    assert law.constants["a"].error == pytest.approx(0.295, rel=0.03)
    assert law.constants["b"].error == pytest.approx(0.058, rel=0.03)


def noisy(seed, n=150, x_error=0.25, y_error=0.05):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 5, n)
    y = 3 * np.exp(-x / 1.5) + 1 + y_error * rng.normal(size=n)
    return (x + x_error * rng.normal(size=n))[:, None], y


FORMULA = "y = a*exp(-0.6*x1) + b"


@pytest.mark.parametrize("sigma", [0.05, None])
def test_bias_of_a_curve_is_removed_and_its_errors_are_right(sigma):
    found, errors, naive = [], [], []
    for seed in range(40):
        table, y = noisy(seed)
        law = fit_formula(FORMULA, table, y, sigma=sigma, x_sigma=0.25)
        found.append([law.constants[name].value for name in ("a", "c1", "b")])
        errors.append([law.constants[name].error for name in ("a", "c1", "b")])
        naive.append(fit_formula(FORMULA, table, y, errors="constant").constants["a"].value)
    truth = np.array([3.0, 1 / 1.5, 1.0])
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
    assert (np.abs(mean - truth) < 4 * spread / np.sqrt(40) + 0.01 * truth).all(), mean
    assert abs(np.mean(naive) - 3.0) > 3 * abs(mean[0] - 3.0)
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=0.35)


def test_bands_have_the_errors_of_the_features_in_them():
    table, y = noisy(0, n=400)
    law = fit_formula(FORMULA, table, y, x_sigma=0.25)
    _, std = law.predict([[0.3], [4.8]], return_std=True)
    steep = np.hypot(0.05, 0.25 * 2 * np.exp(-0.2))
    assert std[0] == pytest.approx(steep, rel=0.25)
    assert std[1] < 0.4 * std[0]
    assert "errors of the features" in law.noise_


def test_features_without_errors():
    rng = np.random.default_rng(1)
    table = rng.uniform(0, 4, (200, 2))
    y = 2 * table[:, 0] - 3 * table[:, 1] + 0.1 * rng.normal(size=200)
    seen = table + [0.8, 0.0] * rng.normal(size=(200, 2))
    law = fit_formula("y = a*x1 + b*x2", seen, y, sigma=0.1, x_sigma=[0.8, 0.0])
    plain = fit_formula("y = a*x1 + b*x2", seen, y)
    assert abs(law.constants["a"].value - 2.0) < 3 * law.constants["a"].error
    assert law.constants["a"].error < 0.15
    assert abs(plain.constants["a"].value - 2.0) > abs(law.constants["a"].value - 2.0)
    same = fit_formula("y = a*x1 + b*x2", table, y, x_sigma=0.0)
    np.testing.assert_allclose(same.alpha, fit_formula("y = a*x1 + b*x2", table, y).alpha)


def test_the_chosen_law_of_a_search_is_fitted_with_them():
    rng = np.random.default_rng(2)
    x = rng.uniform(1, 5, 120)
    y = 2.5 * x**2 + 0.2 * rng.normal(size=120)
    seen = (x + 0.3 * rng.normal(size=120))[:, None]
    options = {"max_evals": 1500, "random_state": 0, "library": ["identity", "square"]}
    options |= {"transform_target": False, "max_terms": 1, "errors": "constant"}
    model = GSRRegressor(**options).fit(seen, y, sigma=0.2, x_sigma=0.3)
    formula = fit_formula(str(model.equation_), seen, y, sigma=0.2, x_sigma=0.3)
    np.testing.assert_allclose(sorted(model.equation_.alpha), sorted(formula.alpha), rtol=1e-4)
    ends = model.predict_interval([[1.5], [4.5]])
    assert np.ptp(ends[1]) > 1.5 * np.ptp(ends[0])


@pytest.mark.parametrize(
    ("x_sigma", "message"),
    [
        (-1.0, "x_sigma must be finite and not negative, got -1"),
        (np.ones(3), "x_sigma must be a number, one for each of 1 columns"),
        ("small", "x_sigma must be numbers"),
        (np.nan, "x_sigma must be finite"),
    ],
)
def test_what_x_sigma_may_be(x_sigma, message):
    with pytest.raises(GSRError, match=message):
        fit_formula("y = a + b*x1", X, Y, x_sigma=x_sigma)
    with pytest.raises(GSRError, match=message):
        GSRRegressor(max_evals=10).fit(X, Y, x_sigma=x_sigma)
