"""Whether a law's residuals are noise, or have structure that the law leaves out.

Noise is independent of where it was measured. So residuals of rows that are neighbours, in order of
the prediction, of a feature, or in the space of all features, must not resemble each other, and a
quadratic function of the features must not explain them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Literal

import numpy as np
import numpy.typing as npt

from gsr.selection import target_scale
from gsr.selection.fitted import LawLike, Training, constants
from gsr.selection.refine import linearise
from gsr.transformation import Array

Level = Literal["rounding", "noise", "above", "unknown"]

#: Probability of calling noise structure.
FALSE_ALARM = 0.001
#: Rows beyond the constants that the tests need.
LEAST_ROWS = 8
#: Rows that the tests look at.
MOST_ROWS = 4000
#: The quadratic function may have one coefficient for so many rows.
ROWS_PER_COLUMN = 4
ROUNDING = 1e-12

Indices = npt.NDArray[np.intp]


def residual_level(law: LawLike, data: Training) -> Level:
    """Tell whether the residual of a law is noise; see `gsr.selection.FrontEntry.level`."""
    if law.exact:
        return "rounding"
    scale = target_scale.TargetScale(law, data)
    prediction, residuals = (np.concatenate(parts) for parts in zip(*_solved(scale), strict=True))
    if not np.isfinite(prediction).all():
        return "above"
    n_constants = len(constants(law))
    if len(prediction) - n_constants < LEAST_ROWS:
        return "unknown"
    chance = structure_probability(residuals, prediction, data.X, n_constants)
    return "noise" if chance > FALSE_ALARM else "above"


def _solved(scale: target_scale.TargetScale) -> Iterator[tuple[Array, Array]]:
    """Yield predictions, and residuals of one variance, in blocks."""
    for X, y, weigh in scale.data.blocks():
        solution = scale.solve(X, y)
        yield solution, weigh(y - solution)


def leave_one_out(law: LawLike, data: Training) -> float:
    """Return the error on rows left out one at a time, to first order (PRESS)."""
    around = linearise(law, data)
    scale = target_scale.TargetScale(law, data)
    inverse = np.linalg.pinv(around.jacobian, rcond=1e-12)
    square = 0.0
    for X, y, weigh in data.blocks():
        solution = scale.solve(X, y)
        slopes = weigh(scale.jacobian(X, solution)) @ inverse
        leverage = np.minimum((slopes**2).sum(axis=1), 1.0 - 1e-9)
        square += float((weigh((y - solution) / (1.0 - leverage)) ** 2).sum())
    return math.sqrt(square / len(data.y)) if math.isfinite(square) else math.inf


def structure_probability(residuals: Array, prediction: Array, X: Array, n_constants: int) -> float:
    """Return the probability that noise alone looks as structured as the residuals do.

    Parameters
    ----------
    residuals, prediction : array of shape (N,)
        Of the law, on the scale of y.
    X : array of shape (N, d)
        Features.
    n_constants : int
        Constants of the law.

    Returns
    -------
    float
        Corrected for the number of tests; 1 where too few rows are left to tell.
    """
    rows = _sample(len(residuals))
    r, f, table = residuals[rows], prediction[rows], X[rows]
    left = len(r) - n_constants
    if left < LEAST_ROWS or not np.isfinite(r).all() or np.ptp(r) == 0.0:
        return 1.0
    table = table[:, [_varies(column) for column in table.T]]
    chances = [_serial(r, order) for order in _orders(f, table)]
    if table.shape[1] > 1:
        chances.append(_neighbourly(r, table))
    chances.append(_quadratic(r, f, table, left))
    return min(1.0, len(chances) * min(chances))


def _sample(n: int) -> Indices:
    if n <= MOST_ROWS:
        return np.arange(n)
    return np.random.default_rng(0).choice(n, MOST_ROWS, replace=False)


def _orders(prediction: Array, X: Array) -> Iterator[Indices]:
    for column in (prediction, *X.T):
        if _varies(column):
            yield np.argsort(column, kind="stable")


def _varies(column: Array) -> bool:
    """Tell whether there is more than rounding in a column."""
    return bool(np.ptp(column) > ROUNDING * np.abs(column).max())


def _standard(columns: Array) -> Array:
    """Return columns that vary with mean 0 and variance 1, whatever their unit."""
    # Squares of numbers as they come may overflow, or vanish.
    sized = columns / np.abs(columns).max(axis=0, initial=0.0)
    centred = sized - sized.mean(axis=0)
    centred /= np.abs(centred).max(axis=0, initial=0.0)
    standard: Array = centred / centred.std(axis=0)
    return standard


def _ranks(r: Array) -> Array:
    """Return the ranks with mean 0 and variance 1: tests on them hold for noise of any kind."""
    ranks = np.empty(len(r))
    ranks[np.argsort(r, kind="stable")] = np.arange(len(r))
    centred = ranks - ranks.mean()
    standard: Array = centred / centred.std()
    return standard


def _serial(r: Array, order: Indices) -> float:
    """Test the correlation of successive residuals (Bartels' rank version of von Neumann's)."""
    n = len(r)
    ratio = float(np.mean(np.diff(_ranks(r)[order]) ** 2)) * (n - 1) / n
    variance = 4.0 * (n - 2) * (5 * n**2 - 2 * n - 9) / (5.0 * n * (n + 1) * (n - 1) ** 2)
    return _tail((2.0 - ratio) / math.sqrt(variance))


def _neighbourly(r: Array, X: Array) -> float:
    """Test the correlation of each residual with that of its nearest neighbour."""
    from scipy.spatial import cKDTree

    scaled = _standard(X)
    _, found = cKDTree(scaled).query(scaled, k=2)
    # Among equal rows the nearest other may be named first.
    here = np.arange(len(r))
    nearest = np.where(found[:, 1] == here, found[:, 0], found[:, 1])
    ranks = _ranks(r)
    mutual = nearest[nearest] == here
    # A pair that are each other's nearest count twice.
    variance = float(np.where(mutual, 2.0, 1.0).sum())
    return _tail(float(ranks @ ranks[nearest]) / math.sqrt(variance))


def _tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def _quadratic(r: Array, prediction: Array, X: Array, left: int) -> float:
    """F test of a quadratic function of the features, and of powers of the prediction."""
    from scipy.special import fdtrc

    scaled = _standard(X)
    d = X.shape[1]
    # Made one by one: all products of many features would not fit into memory.
    terms: Iterable[Array] = chain(
        scaled.T,
        (column**2 for column in scaled.T),
        (scaled[:, i] * scaled[:, j] for i in range(d) for j in range(i)),
    )
    if _varies(prediction):
        f = _standard(prediction)
        terms = chain((f**2, f**3), terms)
    columns = [c - c.mean() for c in islice(terms, max(left // ROWS_PER_COLUMN, 0))]
    if not columns:
        return 1.0
    basis, sizes, _ = np.linalg.svd(np.column_stack(columns), full_matrices=False)
    basis = basis[:, sizes > 1e-9 * sizes[0]] if sizes[0] > 0 else basis[:, :0]
    p = basis.shape[1]
    centred = _standard(r)
    explained = float(((basis.T @ centred) ** 2).sum())
    rest = max(float(centred @ centred) - explained, np.finfo(float).tiny)
    if p == 0 or left <= p:
        return 1.0
    with np.errstate(over="ignore"):
        ratio = np.float64(explained / p) / (rest / (left - p))
    return float(fdtrc(p, left - p, ratio))
