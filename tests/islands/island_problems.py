"""Small problems for islands to be made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsr import GSRRegressor
from gsr.blueprint import Blueprint

Rows = NDArray[np.float64]


def noisy(n: int = 40) -> tuple[Rows, Rows]:
    """Rows of which no law is exact."""
    draw = np.random.default_rng(0)
    X = draw.uniform(1, 3, (n, 2))
    y = X[:, 0] * np.sin(X[:, 1]) + np.exp(-X[:, 0] * X[:, 1]) + draw.normal(0, 0.02, n)
    return X, y


def exact(n: int = 30) -> tuple[Rows, Rows]:
    """Rows of which a law is exact."""
    X = np.random.default_rng(0).uniform(1, 3, (n, 2))
    return X, 2 * X[:, 0] * X[:, 1]


def blueprint(
    X: Rows, y: Rows, weights: Rows | None = None, *, variants: Any = None, **parameters: Any
) -> Blueprint:
    """Return what islands are made of, by the parameters of the estimator."""
    asked = {"random_state": 0, "n_jobs": 1, **parameters}
    model = GSRRegressor(**asked)
    model._check_parameters()
    problem, _ = model._pose(model._validate(X, y, weights))
    found: Blueprint = problem.blueprint
    return found if variants is None else replace(found, variants=variants)
