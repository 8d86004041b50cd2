"""Exact laws that need a scan of their own: groups, triples, shifted products, constants."""

import numpy as np
import pytest

from gsr import GSRRegressor

LAWS = {
    "a group of three and one of two": (
        7,
        lambda x: np.sqrt(x[0] * x[1] + x[2]) + np.log(1 + x[3] * x[4]),
    ),
    "a product of three functions": (
        7,
        lambda x: x[0] * np.exp(-x[1]) * np.cos(x[2]) + x[3] / (1 + x[4] ** 2),
    ),
    "two cheap terms beside another": (
        4,
        lambda x: np.sqrt(x[0] ** 2 + x[1] ** 2 - 2 * x[0] * x[1] * np.cos(x[2] - x[3])),
    ),
    "two long monomials": (
        8,
        lambda x: x[1] * x[2] * x[7] / x[0] - x[3] * x[6] / (x[4] * x[5] ** 2),
    ),
    "a shifted product in 1/y^2": (
        6,
        lambda x: x[4] / np.sqrt(1 + 2.5 * x[2] * x[3] * np.sqrt(x[0] * x[1] / x[5])),
    ),
    "a small product with a sum in it beside a product": (
        5,
        lambda x: x[0] * x[2] / x[1] + 0.02 * x[1] ** 2 * x[3] / (x[1] ** 2 + x[4] ** 2),
    ),
    "a small product with an exponential beside a product": (
        5,
        lambda x: x[0] * x[2] / x[1] + 0.02 * x[1] ** 2 * np.exp(-x[3] * x[4]),
    ),
    "a shift inside a logarithm of two features": (
        3,
        lambda x: x[1] * np.log(x[0] * x[2] + 0.61) + 1.7 * x[0],
    ),
    "a real exponent of a sum": (
        3,
        lambda x: (x[0] + x[1]) ** 1.37 * x[2] + 0.8 * x[0],
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_law_is_found(name):
    n_features, law = LAWS[name]
    X = np.random.default_rng(0).uniform(1, 3, (300, n_features))
    model = GSRRegressor(random_state=0, n_jobs=1, max_time=None, max_evals=150_000)
    model.fit(X, law(X.T))
    assert model.status_ == "exact", str(model.equation_)
    fresh = np.random.default_rng(1).uniform(1, 3, (100, n_features))
    assert np.allclose(model.predict(fresh), law(fresh.T), rtol=1e-9)
