"""Laws that are functions of one or two products of powers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from gsr import GSRRegressor

Array = NDArray[np.float64]
Law = Callable[..., Array]

LAWS: dict[str, tuple[int, Law]] = {
    "one variable": (
        4,
        lambda a, b, c, d: a**2 / d * np.tanh(b / c) / np.sqrt(1 + b / c),
    ),
    "a difference as a base": (
        4,
        lambda a, b, c, d: d * c * np.tanh((a - b) / c) * np.exp((b - a) / c),
    ),
    "two variables": (
        4,
        lambda a, b, c, d: a * np.sqrt(1 + (b / a) ** 2 + np.exp(-c * d)),
    ),
}


def data(name: str, n: int = 500, seed: int = 0) -> tuple[Array, Array]:
    d, law = LAWS[name]
    X = np.random.default_rng(seed).uniform(1, 4, (n, d))
    return X, law(*X.T)


@pytest.mark.parametrize("name", LAWS)
def test_a_function_of_few_monomials_is_found(name: str) -> None:
    X, y = data(name)
    model = GSRRegressor(random_state=0, n_jobs=1, max_time=60).fit(X, y)
    X_new, y_new = data(name, seed=1)
    np.testing.assert_allclose(model.predict(X_new), y_new, rtol=1e-8, atol=1e-9)
    assert model.level_ == "rounding", str(model.equation_)
