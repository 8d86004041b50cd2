"""Intervals of predictions, from the uncertainty of a law's constants (the delta method)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.selection.choice import FrontEntry
from gsr.selection.fitted import Training, weight_slopes
from gsr.selection.target_scale import TargetScale
from gsr.selection.uncertainty import Uncertainty
from gsr.transformation import Array

KINDS = ("prediction", "mean")


def prediction_std(
    entry: FrontEntry,
    X: npt.ArrayLike,
    kind: str = "prediction",
    sigma: Array | None = None,
) -> Array:
    """Return standard deviations of a law's predictions, on the scale of y."""
    return _std(entry, np.asarray(X, dtype=float), entry.equation.predict(X), kind, sigma)


def prediction_interval(
    entry: FrontEntry,
    X: npt.ArrayLike,
    level: float = 0.95,
    kind: str = "prediction",
    sigma: Array | None = None,
) -> Array:
    """Return intervals of Student's t around a law's predictions."""
    if not 0.0 < level < 1.0:
        raise GSRError(f"level must be between 0 and 1, got {level!r}")
    solution = entry.equation.predict(X)
    std = _std(entry, np.asarray(X, dtype=float), solution, kind, sigma)
    half = entry.uncertainty.quantile(level) * std
    return np.column_stack([solution - half, solution + half])


def _std(
    entry: FrontEntry, X: Array, solution: Array, kind: str, sigma: Array | None = None
) -> Array:
    return deviations(
        entry.uncertainty, lambda rows, y: _slopes(entry, rows, y), X, solution, kind, sigma
    )


def deviations(
    known: Uncertainty,
    slopes: Callable[[Array, Array], Array],
    X: Array,
    solution: Array,
    kind: str,
    sigma: Array | None = None,
) -> Array:
    """Return standard deviations of predictions, to first order in the errors of constants."""
    if kind not in KINDS:
        raise GSRError(f"kind must be 'prediction' or 'mean', got {kind!r}")
    if sigma is not None and known.noise.kind != "given":
        raise GSRError("sigma is for laws that were fitted with sigma; this one was not")
    solved = np.isfinite(solution)
    variance = np.full(len(solution), np.nan)
    if solved.any():
        variance[solved] = _variance(slopes(X[solved], solution[solved]), known.covariance)
    if kind == "prediction":
        variance += known.noise.deviation(solution, known.sigma, sigma) ** 2
    return np.asarray(np.sqrt(variance))


def _slopes(entry: FrontEntry, X: Array, solution: Array) -> Array:
    """Return dy/dc at the solution of g(y; c) = f(x; c), one column for each constant."""
    equation, law = entry.equation, entry.law
    data = Training(equation.library, equation.target_library, X, solution)
    columns = [
        data.features(law, X),
        -data.targets(law, solution)[:, 1:],
        weight_slopes(law, data, X, solution),
    ]
    with np.errstate(all="ignore"):
        slopes: Array = np.column_stack(columns) / TargetScale(law, data).slope(solution)[:, None]
    return slopes


def _variance(slopes: Array, covariance: Array) -> Array:
    """Return s C s^T of each row of slopes; infinite if an open constant has a part in it."""
    unknown = np.isinf(np.diag(covariance))
    fine = ~unknown
    with np.errstate(all="ignore"):
        known = slopes[:, fine]
        variance = np.einsum("ni,ij,nj->n", known, covariance[np.ix_(fine, fine)], known)
    is_open = (slopes[:, unknown] != 0.0).any(axis=1) | ~np.isfinite(slopes).all(axis=1)
    found: Array = np.where(is_open, np.inf, np.maximum(variance, 0.0))
    return found
