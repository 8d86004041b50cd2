"""Whether a law's residuals are noise, or have structure that the law leaves out.

Noise is independent of where it was measured. So residuals of rows that are neighbours, in order of
the prediction, of a feature, or in the space of all features, must not resemble each other; slow
waves and quadratic functions must not explain them; and boosted trees must not predict those of
rows that they have not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from gsr.selection import structure_tests as tests
from gsr.selection import target_scale
from gsr.selection.fitted import LawLike, Training, constants
from gsr.selection.leverage import leave_one_out
from gsr.selection.structure_tests import Indices, Scores
from gsr.threads import one_thread
from gsr.transformation import Array

__all__ = ["Level", "leave_one_out", "residual_level", "structure_probability"]

Level = Literal["rounding", "noise", "above", "unknown"]

#: Probability of calling noise structure.
FALSE_ALARM = 0.004
#: Rows beyond the constants that the tests need.
LEAST_ROWS = 8
#: A law that has all but this part of a constant has one.
NEGLIGIBLE = 1e-9
#: Rows that the tests look at, unless time is short.
MOST_ROWS = 50_000
#: Probability below which the size of the noise is taken to vary.
VARYING_SIZE = 0.003
#: Noise smaller than this part of the largest is 0.
ROUNDING = 1e-12


def residual_level(law: LawLike, data: Training, most_rows: int = MOST_ROWS) -> Level:
    """Tell whether the residual of a law is noise; see `gsr.selection.FrontEntry.level`.

    The tests look at `most_rows` rows at most.
    """
    if law.exact:
        return "rounding"
    scale = target_scale.TargetScale(law, data)
    parts = [np.concatenate(part) for part in zip(*_solved(scale), strict=True)]
    prediction, residuals, jacobian = parts
    if not np.isfinite(prediction).all():
        return "above"
    n_constants = len(constants(law))
    if len(prediction) - n_constants < LEAST_ROWS:
        return "unknown"
    residuals = data.loss.clipped(residuals)
    chance = structure_probability(residuals, prediction, data.X, n_constants, jacobian, most_rows)
    return "noise" if chance > FALSE_ALARM else "above"


def _solved(scale: target_scale.TargetScale) -> Iterator[tuple[Array, Array, Array]]:
    """Yield predictions, and residuals of one variance with their Jacobian, in blocks."""
    for X, y, weigh in scale.data.blocks():
        solution = scale.solve(X, y)
        yield solution, weigh(y - solution), scale.jacobian(X, solution, weigh)


def structure_probability(
    residuals: Array,
    prediction: Array,
    X: Array,
    n_constants: int,
    jacobian: Array | None = None,
    most_rows: int = MOST_ROWS,
) -> float:
    """Return the probability that noise alone looks as structured as the residuals do."""
    rows = _sample(len(residuals), most_rows)
    r, f, table = residuals[rows], prediction[rows], X[rows]
    if len(r) - n_constants < LEAST_ROWS or not np.isfinite(r).all() or np.ptp(r) == 0.0:
        return 1.0
    r = r / np.abs(r).max()
    slopes = None if jacobian is None else jacobian[rows]
    table = table[:, [tests.varies(column) for column in table.T]]
    with one_thread():
        chances = [] if slopes is None else [_refitted(r, slopes), _offset(r, slopes)]
        chances += _chances(_scores(r, slopes, f, table, n_constants), f, table)
    return min(1.0, len(chances) * min(chances))


def _chances(scores: Scores, f: Array, X: Array) -> list[float]:
    orders = _orders(f, X)
    chances = [tests.serial(scores, order) for order in orders]
    chances += [tests.smooth(scores, order) for order in orders]
    if 1 < X.shape[1] <= tests.MOST_DIMENSIONS:
        chances.append(tests.neighbourly(scores, X))
    if X.shape[1] > 1:
        chances.append(tests.single_term(scores, f, X))
    if X.shape[1] > 0:
        chances += [tests.quadratic(scores, f, X), tests.learned(scores, f, X)]
    return chances


def _sample(n: int, most: int) -> Indices:
    if n <= most:
        return np.arange(n)
    return np.random.default_rng(0).choice(n, most, replace=False)


def _orders(prediction: Array, X: Array) -> list[Indices]:
    """Return the orders of the prediction and of the features, each once in either direction."""
    found: list[Indices] = []
    for column in (prediction, *X.T):
        order = np.argsort(column, kind="stable")
        seen = any(np.array_equal(order, old) for one in found for old in (one, one[::-1]))
        if tests.varies(column) and not seen:
            found.append(order)
    return found


def _offset(r: Array, jacobian: Array) -> float:
    """F test of a constant beside the law, which the other tests take for granted."""
    from scipy.special import fdtrc

    basis = tests.orthonormal(jacobian)
    constant = np.ones(len(r)) - basis @ basis.sum(axis=0)
    left = r - basis @ (basis.T @ r)
    size, freedom = float(constant @ constant), len(r) - basis.shape[1] - 1
    if freedom < 1 or size <= NEGLIGIBLE * len(r):
        return 1.0
    explained = float(constant @ left) ** 2 / size
    rest = max(float(left @ left) - explained, float(np.finfo(float).tiny))
    return float(fdtrc(1, freedom, explained * freedom / rest))


def _refitted(r: Array, jacobian: Array) -> float:
    """F test of what other constants of the same law would explain; nothing once it is fitted."""
    from scipy.special import fdtrc

    basis = tests.orthonormal(jacobian)
    p, freedom = basis.shape[1], len(r) - basis.shape[1]
    if p == 0 or freedom <= 0:
        return 1.0
    along = basis.T @ r
    explained = float(along @ along)
    left = max(float(r @ r) - explained, np.finfo(float).tiny)
    return float(fdtrc(p, freedom, (explained / p) / (left / freedom)))


def _scores(r: Array, jacobian: Array | None, f: Array, X: Array, n_constants: int) -> Scores:
    """Return the scores; where the size of the noise varies, residuals are divided by it first.

    The constants were fitted to the large residuals then, so they are fitted again to first order:
    otherwise the small ones would show their errors as structure.
    """
    noise = _differences(r, X[:, 0] if X.shape[1] == 1 else f)
    along = _size_varies_with(noise, f, X)
    if along is None:
        return Scores.ranked(r, jacobian, n_constants)
    size = _local_size(noise, along)
    scaled = r / size
    if jacobian is None:
        return Scores.clipped(scaled, None, n_constants)
    slopes = jacobian / size[:, None]
    basis = tests.orthonormal(slopes)
    return Scores.clipped(scaled - basis @ (basis.T @ scaled), slopes, n_constants)


def _differences(r: Array, along: Array) -> Array:
    """Return each residual less the mean of its two neighbours: noise, without slow structure."""
    order = np.argsort(along, kind="stable")
    ordered = r[order]
    padded = np.concatenate([ordered[2:3], ordered, ordered[-3:-2]])
    noise = np.empty(len(r))
    noise[order] = ordered - (padded[2:] + padded[:-2]) / 2.0
    return noise


def _size_varies_with(noise: Array, f: Array, X: Array) -> Array | None:
    """Return the ranks that the size of the noise follows most; None if it follows none."""
    sizes = tests.normalised_ranks(np.abs(noise)) - 0.5
    best, ranks = 0.0, None
    candidates = [tests.normalised_ranks(c) - 0.5 for c in (f, np.abs(f), *X.T) if tests.varies(c)]
    for column in candidates:
        correlation = abs(float(sizes @ column)) / float(sizes @ sizes)
        if correlation > best:
            best, ranks = correlation, column
    z = best * math.sqrt(len(noise) - 1)
    chance = len(candidates) * math.erfc(z / math.sqrt(2.0))
    return ranks if chance < VARYING_SIZE else None


def _local_size(noise: Array, ranks: Array) -> Array:
    """Return the size of the noise as a smooth function of ranks."""
    floor = ROUNDING * np.abs(noise).max()
    size = np.log(np.maximum(np.abs(noise), floor))
    powers = np.vander(2.0 * ranks, 3)
    fitted: Array = np.exp(powers @ np.linalg.lstsq(powers, size, rcond=None)[0])
    return fitted
