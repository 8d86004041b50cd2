"""Laws fitted to rows whose features have errors too: orthogonal distance regression.

The sum of ((y - g^-1(f(x + d)))/sigma_y)^2 + (d/sigma_x)^2 over the rows is minimised over the
constants and over d. For given constants every row has its nearest point on the law. Around these
points the law is straight, and d drops out: what is left is a fit of y with the effective variance
sigma_y^2 + (dy/dx)^2 sigma_x^2. Points and constants are improved in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gsr.selection.choice import FrontEntry
from gsr.selection.fitted import STEP, FittedLaw, LawLike, Training, constants
from gsr.selection.noise import given
from gsr.selection.refine import refine
from gsr.selection.target_scale import TargetScale, rmse
from gsr.transformation import Array

#: Points and constants are improved in turn at most so often, until no constant moves by this part.
ROUNDS = 60
SETTLED = 1e-9
#: Steps of the points towards the law in each round.
POINT_STEPS = 3
#: The variance of y is at least this part of what the errors of the features make of it.
LEAST_SHARE = 1e-4
BISECTIONS = 100

Refit = Callable[[FittedLaw, Training], FittedLaw]


def with_errors_of_features(entry: FrontEntry) -> FrontEntry:
    """Return a law fitted again with the errors of the features, if its rows have such."""
    data = entry.data
    if data is None or data.x_sigma is None or entry.exact:
        return entry
    law, rows = fit_orthogonal(entry.law, data, refine)
    return replace(entry, law=law, data=rows, rmse=law.rmse)


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a law that are nearest to the rows."""

    X: Array  # their features
    residuals: Array  # distances of the measured y from the tangents there
    variance: Array  # the effective variance of the residuals
    solution: Array  # the law's y


def fit_orthogonal(law: LawLike, data: Training, refit: Refit) -> tuple[FittedLaw, Training]:
    """Fit the constants of a law to rows with errors in the features."""
    assert data.x_sigma is not None, "the features have errors"
    best, rows = FittedLaw.of(law), data
    variance = _variance_of_y(best, data)
    for _ in range(ROUNDS):
        points = nearest_points(best, data, variance)
        if not data.noise.absolute:
            variance = _rescaled(points, variance, len(constants(best)))
            points = nearest_points(best, data, variance)
        rows = _rows(points, data)
        moved = refit(best, rows)
        if not math.isfinite(moved.rmse):
            break
        before, now = constants(best), constants(moved)
        best = moved
        if len(before) == len(now) and np.allclose(before, now, rtol=SETTLED, atol=0.0):
            break
    return FittedLaw.of(best, rmse=rmse(best, data)), rows


def nearest_points(law: LawLike, data: Training, variance: Array) -> Points:
    """Return the points of a law nearest to the rows, for given variances of y."""
    assert data.x_sigma is not None
    X = data.X
    for _ in range(POINT_STEPS):
        points, slopes = _tangents(law, data, X, variance)
        step = data.x_sigma**2 * slopes * (points.residuals / points.variance)[:, None]
        moved = data.X + np.where(np.isfinite(step), step, 0.0)
        defined = np.isfinite(TargetScale(law, data).solve(moved, data.y))
        X = np.where(defined[:, None], moved, data.X)
    return _tangents(law, data, X, variance)[0]


def _tangents(law: LawLike, data: Training, X: Array, variance: Array) -> tuple[Points, Array]:
    assert data.x_sigma is not None
    solution = TargetScale(law, data).solve(X, data.y)
    slopes = feature_slopes(law, data, X, solution)
    residuals = data.y - solution - (slopes * (data.X - X)).sum(axis=1)
    effective = variance + (slopes**2 * data.x_sigma**2).sum(axis=1)
    return Points(np.asfortranarray(X), residuals, effective, solution), slopes


def feature_slopes(law: LawLike, data: Training, X: Array, solution: Array) -> Array:
    """Return dy/dx at points of a law; zero for features without errors, and where undefined."""
    assert data.x_sigma is not None
    scale = TargetScale(law, data)
    slopes = np.zeros_like(X)
    with np.errstate(all="ignore"):
        rise = scale.slope(solution)
        for j in np.flatnonzero(data.x_sigma.any(axis=0)):
            step = STEP * np.maximum(np.abs(X[:, j]), np.std(data.X[:, j]))
            up, down = X.copy(), X.copy()
            up[:, j] += step
            down[:, j] -= step
            slopes[:, j] = (scale.f(up) - scale.f(down)) / (2.0 * step) / rise
    return np.where(np.isfinite(slopes), slopes, 0.0)


def _variance_of_y(law: LawLike, data: Training) -> Array:
    """Return the variances of y: as given, or those that residuals with exact features have."""
    weights = np.ones(len(data.y)) if data.weights is None else data.weights
    if data.noise.absolute:
        return np.asarray(1.0 / (weights * data.noise.precision))
    residuals = data.y - TargetScale(law, data).solve(data.X, data.y)
    square = float(np.average(residuals[np.isfinite(residuals)] ** 2))
    return np.asarray((square or 1.0) / weights)


def _rescaled(points: Points, variance: Array, n_constants: int) -> Array:
    """Return variances of y in the same proportions for which chi-square is its expectation."""
    from_features = points.variance - variance
    unit = variance / variance.mean()
    freedom = max(len(unit) - n_constants, 1)
    squares = points.residuals**2
    low = LEAST_SHARE * float(from_features.mean()) + float(np.finfo(float).tiny)
    high = max(float(squares.mean() / unit.min()) * len(unit) / freedom, 2.0 * low)
    for _ in range(BISECTIONS):
        middle = math.sqrt(low * high)
        if float((squares / (middle * unit + from_features)).sum()) > freedom:
            low = middle
        else:
            high = middle
    return np.asarray(high * unit)


def _rows(points: Points, data: Training) -> Training:
    """Return the points as rows to which an ordinary fit is the orthogonal one."""
    noise = given(np.sqrt(points.variance), points.solution)
    if not data.noise.absolute:
        noise = replace(noise, kind="effective", absolute=False)
    precision = 1.0 / points.variance
    mean = float(precision.mean())
    return replace(
        data,
        X=points.X,
        y=points.solution + points.residuals,
        weights=precision / mean,
        noise=replace(noise, precision=mean),
        x_sigma=None,
    )
