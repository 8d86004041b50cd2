"""Laws of which one or two terms have constants inside, beside simple terms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from gsr import GSRRegressor

Array = NDArray[np.float64]
Law = Callable[[Array, Array], Array]

LAWS: dict[str, tuple[float, float, Law]] = {
    "exponential beside a cube root": (1, 15, lambda p, t: p * np.exp(-0.08 * t) + np.cbrt(p)),
    "logarithm with a shift": (1, 9, lambda a, t: a * np.log(1 + 0.26 * t) - 0.11 * a**2 + a),
    "sigmoid": (-1, 2, lambda x, z: 1 / (1 + 0.25 * np.exp(4.9 * x)) - z),
    "quotient": (0.1, 8, lambda x, z: 20 - x - x * z / (1 + 0.5 * x**2)),
    "two terms": (0.5, 9, lambda p, t: p * np.exp(-0.3 * t) + 2.1 * p * np.sin(0.72 * t) + t),
}


def data(name: str, n: int = 300, seed: int = 0) -> tuple[Array, Array]:
    low, high, law = LAWS[name]
    X = np.random.default_rng(seed).uniform(low, high, (n, 2))
    return X, law(*X.T)


@pytest.mark.parametrize("name", LAWS)
def test_a_term_with_constants_inside_is_found_beside_simple_ones(name: str) -> None:
    X, y = data(name)
    model = GSRRegressor(random_state=0, n_jobs=1, max_time=60).fit(X, y)
    X_new, y_new = data(name, seed=1)
    np.testing.assert_allclose(model.predict(X_new), y_new, rtol=1e-8, atol=1e-9)
    assert model.level_ == "rounding", str(model.equation_)


def test_noise_is_not_taken_for_a_law() -> None:
    X, y = data("quotient")
    rough = y + 0.1 * np.std(y) * np.random.default_rng(2).standard_normal(len(y))
    model = GSRRegressor(random_state=0, n_jobs=1, max_time=20, max_evals=5_000).fit(X, rough)
    assert len(model.equation_.terms()[1]) <= 5
