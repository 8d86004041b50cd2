"""Exact laws that plain scans miss: deep products, quotients of sums, partial logarithms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from gsr import GSRRegressor

Array = NDArray[np.float64]
Law = Callable[..., Array]

#: Ranges of the features, and the law.
LAWS: dict[str, tuple[tuple[tuple[float, float], ...], Law]] = {
    "product of deep factors": (
        ((0.1, 0.9), (1, 6), (1, 6), (1, 3)),
        lambda a, b, c, d: d * (1 - np.cos(d * (b - c))) / (1 + a * np.cos(b - c)),
    ),
    "product of three functions": (
        ((0.5, 3), (0.5, 3), (1, 2)),
        lambda a, b, c: (1 - np.cos(a)) * (1 - np.cos(b)) / (1 - np.cos(b * c)),
    ),
    "quotient of sums": (
        ((-3, 3), (-3, 3)),
        lambda a, b: (0.7 * a - 2 * np.sin(b)) / (1 + 0.13 * a * np.sin(b)),
    ),
    "underflow": (
        ((0.1, 9), (0.1, 9), (1, 3)),
        lambda a, b, c: c / b * np.exp(-4 * a**2 * b),
    ),
    "cancellation": (
        ((-2, 2), (-3, 3), (0.1, 3)),
        lambda a, b, c: a * (np.exp(4 * b * c) - 1),
    ),
}


def data(name: str, n: int = 400, seed: int = 0) -> tuple[Array, Array]:
    ranges, law = LAWS[name]
    X = np.random.default_rng(seed).uniform(*np.transpose(ranges), (n, len(ranges)))
    return X, law(*X.T)


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_found(name: str) -> None:
    X, y = data(name)
    with np.errstate(all="ignore"):
        model = GSRRegressor(random_state=0, n_jobs=1, max_time=60).fit(X, y)
    X_new, y_new = data(name, seed=1)
    np.testing.assert_allclose(model.predict(X_new), y_new, rtol=1e-8, atol=1e-12)
    assert model.level_ == "rounding", str(model.equation_)
