"""Searches that the measurements have in common: laws that take long, and islands for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr.blueprint import Blueprint
from gsr.estimator import GSRRegressor

Array = npt.NDArray[np.float64]

ROWS = 400


@dataclass(frozen=True)
class HardLaw:
    """A law that takes the guide beyond its first stages."""

    name: str
    law: str
    #: Columns x1, x2, ...; those that the law does not have play no part.
    n_features: int
    #: Values of y, of the columns.
    function: Callable[..., Array]
    low: float = 1.0
    high: float = 4.0
    #: Standard deviation of the noise in y, relative to that of y.
    noise: float = 0.0

    def data(self, seed: int = 0) -> tuple[Array, Array]:
        """Draw X and y."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(self.low, self.high, (ROWS, self.n_features))
        y = self.function(*X.T)
        return X, y + self.noise * y.std() * rng.normal(size=ROWS)


PRODUCT = HardLaw(
    "product",
    "sin(x1) cos(x2) ln(x3 + x4) + x2/x4",
    7,
    lambda a, b, c, d, *_: np.sin(a) * np.cos(b) * np.log(c + d) + b / d,
)
SUM = HardLaw(
    "sum",
    "sqrt(x1 + x2 x3) + ln(x4 + x5)",
    8,
    lambda a, b, c, d, e, *_: np.sqrt(a + b * c) + np.log(d + e),
)
DEEP = HardLaw(
    "deep",
    "x4 sqrt(x1 + x2 x3) + ln(x5)",
    10,
    lambda a, b, c, d, e, *_: d * np.sqrt(a + b * c) + np.log(e),
)


def estimator(**options: Any) -> GSRRegressor:
    """Return an estimator on one thread that no clock stops."""
    return GSRRegressor(**{"random_state": 0, "n_jobs": 1, "max_time": None, **options})


def blueprint(X: Array, y: Array, weights: Array | None = None, **options: Any) -> Blueprint:
    """Return what islands are made of, with the settings of an estimator."""
    model = estimator(**options)
    problem, _ = model._pose(model._validate(X, y, weights))
    return problem.blueprint
