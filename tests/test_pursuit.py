"""The pursuit: laws with real constants inside, from few rows, with and without noise."""

import numpy as np
import pytest

from gsr import GSRRegressor
from gsr.selection.fitted import constants

TIME = np.linspace(0.0, 10.0, 100)


def regressor(**changes):
    return GSRRegressor(**({"random_state": 0, "n_jobs": 1, "max_time": 60.0} | changes))


def damped(t):
    return 3.0 * np.sin(2.0 * t + 0.7) * np.exp(-0.2 * t) + 0.5


CURVES = {
    "damped cosine": (lambda t: 3.0 * np.exp(-0.3 * t) * np.cos(2.0 * t), 3),
    "damped oscillation with phase and offset": (damped, 5),
    "two exponentials": (lambda t: 6.0 * np.exp(-1.3 * t) + 2.2 * np.exp(-0.19 * t), 4),
    "oscillation on a line": (lambda t: 1.4 * np.sin(1.9 * t + 0.4) + 0.3 * t + 2.0, 5),
    "Hill curve": (lambda t: 8.1 * t**2.7 / (31.0 + t**2.7), 3),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves_without_noise_come_out_exact(name):
    law, n_constants = CURVES[name]
    model = regressor().fit(TIME[:, None], law(TIME))
    fresh = np.linspace(0.05, 9.95, 77)
    assert model.status_ == "exact", model.equation_
    np.testing.assert_allclose(model.predict(fresh[:, None]), law(fresh), rtol=1e-9, atol=1e-9)
    assert len(constants(model.front_[model.best_index_].law)) <= n_constants


def clean_error(model, X, truth, n_constants):
    """Return the least error against the noise-free target among laws of few constants."""
    few = [e for e in model.front_ if len(constants(e.law)) <= n_constants]
    return min(np.sqrt(np.mean((e.equation.predict(X) - truth) ** 2)) for e in few)


@pytest.mark.parametrize("name", CURVES)
def test_curves_with_noise_are_on_the_front(name):
    law, n_constants = CURVES[name]
    truth = law(TIME)
    sigma = 0.02 * truth.std()
    y = truth + sigma * np.random.default_rng(0).normal(size=len(TIME))
    model = regressor(max_time=None, max_evals=40000).fit(TIME[:, None], y)
    # A fit of p constants to n rows of noise misses the truth by about sigma sqrt(p/n).
    assert clean_error(model, TIME[:, None], truth, n_constants + 1) < 0.5 * sigma


REPEATED = {
    "three decays": (
        lambda t: 1.1 * np.exp(-0.2 * t) + 3.4 * np.exp(-0.7 * t) + 2.3 * np.exp(-1.9 * t),
        1e-4,
        7,
    ),
    "two peaks on a decay": (
        lambda t: (
            9.0 * np.exp(-0.25 * t)
            + 5.0 * np.exp(-1.3 * (t - 4.1) ** 2)
            + 7.0 * np.exp(-0.9 * (t - 6.2) ** 2)
        ),
        0.02,
        9,
    ),
}


@pytest.mark.parametrize("name", REPEATED)
def test_several_terms_of_one_family(name):
    law, noise, n_constants = REPEATED[name]
    # A hundred rows with this noise leave it open which slow function the peaks stand on.
    time = np.linspace(0.0, 10.0, 250) if "peaks" in name else TIME
    truth = law(time)
    y = truth + noise * truth.std() * np.random.default_rng(0).normal(size=len(time))
    model = regressor(max_time=None, max_evals=15000).fit(time[:, None], y)
    assert clean_error(model, time[:, None], truth, n_constants) < 0.5 * noise * truth.std()


def test_peaks_of_two_features_multiplied():
    X = np.random.default_rng(0).uniform(0.3, 4.0, (100, 2))
    y = np.exp(-((X[:, 0] - 1.0) ** 2)) / (1.2 + (X[:, 1] - 2.5) ** 2)
    model = regressor(max_time=None, max_evals=60000).fit(X, y)
    assert model.status_ == "exact", model.equation_


def test_relative_noise_with_weights():
    x = np.linspace(0.3, 12.0, 60)
    truth = 2.3 + 0.9 * x**1.57
    y = truth * (1.0 + 0.05 * np.random.default_rng(1).normal(size=len(x)))
    model = regressor(max_time=None, max_evals=40000)
    model.fit(x[:, None], y, sample_weight=1.0 / truth**2)
    few = [e for e in model.front_ if len(constants(e.law)) <= 4]
    errors = [np.sqrt(np.mean((e.equation.predict(x[:, None]) / truth - 1.0) ** 2)) for e in few]
    assert min(errors) < 0.02


def test_a_logarithm_of_y_survives_noise_that_makes_some_y_negative():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 3.0, (200, 2))
    truth = X[:, 0] * np.exp(-2.0 * X[:, 1])
    y = truth + 0.1 * truth.std() * rng.normal(size=len(X))
    assert 0.0 < np.mean(y < 0.0) < 0.2
    model = regressor(library=["identity", "ln"], max_time=None, max_evals=3000).fit(X, y)
    # The same law is also written y = c x1 exp(-2 x2).
    few = [e for e in model.front_ if e.n_constants <= 3]
    errors = [np.sqrt(np.mean((e.equation.predict(X) - truth) ** 2)) for e in few]
    assert min(errors) < 0.05 * truth.std()


def test_the_pursuit_respects_forbidden_functions():
    forbidden = {"*": ["sin", "cos", "exp", "exp_neg"]}
    model = regressor(forbid=forbidden, max_time=None, max_evals=3000)
    model.fit(TIME[:, None], damped(TIME))
    for entry in model.front_:
        right = str(entry.equation).partition("=")[2]
        assert not any(name in right for name in ("sin", "cos", "exp")), right


def test_results_do_not_depend_on_the_number_of_threads():
    y = damped(TIME) + 0.05 * np.random.default_rng(2).normal(size=len(TIME))
    fits = [
        regressor(n_jobs=n, max_time=None, max_evals=8000).fit(TIME[:, None], y) for n in (1, 2)
    ]
    assert str(fits[0].equations_) == str(fits[1].equations_)
