"""Coefficients of a law on all rows, and whether it is exact there too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gsr.encoding.rows import ONE, Row, factors
from gsr.selection.fitted import (
    STEP,
    FittedLaw,
    LawLike,
    Training,
    constants,
    triangle,
    weight_slopes,
    weights,
)
from gsr.selection.target_scale import TargetScale, rmse
from gsr.transformation import Array

# ---- each row at rounding level ------------------------------------------------------------------

# The core's rules (cpp/src/exactness.cpp).
#: Roundings that a row may be off, and the part of the rows that may be off by more.
ROW_ROUNDINGS = 1000.0
STRAY_ROWS = 0.01
#: So many terms may interpolate; the least of them must stand out of rounding by this much.
MANY_TERMS = 5
STANDS_OUT = 1e5
#: How far, in units of what rounding explains, both ends of an interval may be off, and which part
#: of the rows each of them is.
ENDS_OFF = 16.0
ENDS = 0.1
CORRECTIONS = 2

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RowWise:
    """The two sides of a law, each row in units of what rounding can do in it."""

    terms: Array  # alpha_j phi_j(x)
    target: Array  # g(y)

    @classmethod
    def of(cls, law: LawLike, data: Training) -> RowWise:
        """Evaluate a law on all rows."""
        parts = zip(*_blocks(law, data), strict=True)
        return cls(*(np.concatenate(part) for part in parts))

    def residuals(self, factors: Array | None = None) -> Array:
        """Return what is left if the terms are multiplied by factors."""
        with np.errstate(all="ignore"):
            if factors is None:
                return np.asarray(self.target - self.terms.sum(axis=1))
            return np.asarray(self.target - self.terms @ factors)

    def hold(self, factors: Array | None = None) -> bool:
        """Tell whether all but a few rows are at rounding level."""
        off = ~(np.abs(self.residuals(factors)) <= ROW_ROUNDINGS)
        return int(off.sum()) <= STRAY_ROWS * len(off)

    def corrected(self, rows: Indices | slice = slice(None)) -> Array:
        """Return factors of the terms, fitted to some of the rows in these units."""
        terms = self.terms[rows]
        norms = np.linalg.norm(terms, axis=0)
        norms = np.where(norms > 0, norms, 1.0)
        found = np.ones(terms.shape[1])
        for _ in range(CORRECTIONS):
            left = self.residuals(found)[rows]
            found = found + np.linalg.lstsq(terms / norms, left, rcond=1e-15)[0] / norms
        return found

    def least_term(self) -> float:
        """Return the root mean square that is left without the term that matters least."""
        norms = np.linalg.norm(self.terms, axis=0)
        norms = np.where(norms > 0, norms, 1.0)
        inverse = np.linalg.pinv(np.linalg.qr(self.terms / norms, mode="r"), rcond=1e-15)
        left = norms / np.linalg.norm(inverse, axis=1)
        return float(left.min()) / math.sqrt(len(self.target))

    def ends_follow(self, x: Array) -> bool:
        """Tell whether the terms, fitted to the middle of x, predict the rows at its ends."""
        n, k = self.terms.shape
        order, cut = np.argsort(x, kind="stable"), int(ENDS * n)
        inner, outer = order[cut : n - cut], np.concatenate([order[:cut], order[n - cut :]])
        if cut == 0 or len(inner) <= k:
            return True
        left = self.residuals(self.corrected(inner))
        norms = np.linalg.norm(self.terms[inner], axis=0)
        scaled = self.terms / np.where(norms > 0, norms, 1.0)
        inverse = np.linalg.pinv(np.linalg.qr(scaled[inner], mode="r"), rcond=1e-15)
        amplified = 1.0 + ((scaled[outer] @ inverse) ** 2).sum(axis=1)
        noise = max(1.0, float(np.mean(left[inner] ** 2)))
        return math.sqrt(float(np.mean(left[outer] ** 2 / amplified)) / noise) <= ENDS_OFF


def exact_in_every_row(law: FittedLaw, data: Training) -> FittedLaw | None:
    """Return a law at rounding level in all rows, if need be with corrected coefficients.

    None if there is none, or if the law only interpolates.
    """
    rows = RowWise.of(law, data)
    if not (np.isfinite(rows.terms).all() and np.isfinite(rows.target).all()):
        return None
    if not rows.hold():
        factors_ = rows.corrected()
        if not rows.hold(factors_):
            return None
        law = FittedLaw.of(law, alpha=law.alpha * factors_)
        rows = RowWise.of(law, data)
    return None if _interpolates(law, data, rows) else law


def _interpolates(law: LawLike, data: Training, rows: RowWise) -> bool:
    if rows.terms.shape[1] < MANY_TERMS:
        return False
    if rows.least_term() < STANDS_OUT:
        return True
    used = variables(law, data)
    if len(used) > 1:
        return False
    # A constant inside is fitted to the ends, too, so that they follow.
    has_inner = len(constants(law)) > len(law.phi) + len(law.psi) - 1
    return has_inner or not rows.ends_follow(data.X[:, used[0] - 1])


def variables(law: LawLike, data: Training) -> list[int]:
    """Return the numbers of the features that a law uses."""
    rows = [row for matrix in law.phi for row in factors(matrix, data.library)]
    return sorted({v for row in rows for v in _inside(row)})


def _inside(row: Row) -> set[int]:
    found: set[int] = set()
    for base, _ in row.argument.parts:
        if isinstance(base, Row):
            found |= _inside(base)
        elif base != ONE:
            found.add(base)
    return found


def _blocks(law: LawLike, data: Training) -> Iterator[tuple[Array, Array]]:
    scale = TargetScale(law, data)
    used = variables(law, data)
    inner = np.abs(constants(law)[len(law.phi) + len(law.psi) - 1 :])
    for X, y, _ in data.blocks():
        terms, target = data.features(law, X) * scale.alpha, scale.g(y)
        size = _target_size(scale, y) + np.abs(terms).sum(axis=1)
        size += np.abs(weight_slopes(law, data, X, y)) @ inner
        size += sum((_slope(scale, X, v) for v in used), np.zeros(len(y)))
        unit = np.finfo(float).eps * np.maximum(np.where(np.isfinite(size), size, 0.0), 1e-290)
        yield terms / unit[:, None], target / unit


def _target_size(scale: TargetScale, y: Array) -> Array:
    """Return what rounding of y and of psi(y) can do to g(y), in units of epsilon."""
    law, data = scale.law, scale.data
    values = np.abs(data.targets(law, y)) @ np.abs(scale.beta)
    for j, beta in enumerate(scale.beta):
        alone = FittedLaw.of(law, psi=(law.psi[j],), beta=np.ones(1))
        values = values + np.abs(beta * y * TargetScale(alone, data).slope(y))
    return np.asarray(values)


def _slope(scale: TargetScale, X: Array, variable: int) -> Array:
    """Return what rounding of a feature can do to the terms, in units of epsilon."""
    ends = []
    for sign in (1.0, -1.0):
        moved = X.copy()
        moved[:, variable - 1] *= 1.0 + sign * STEP
        ends.append(scale.data.features(scale.law, moved) * scale.alpha)
    with np.errstate(all="ignore"):
        rise = np.abs(ends[0] - ends[1]).sum(axis=1) / (2.0 * STEP)
    return np.where(np.isfinite(rise), rise, 0.0)


# ---- coefficients on all rows --------------------------------------------------------------------

#: The core's rules for a residual at rounding level (cpp/src/fitness.cpp, cpp/src/reduced.cpp).
ROUNDINGS = 16.0
CANCELLATION = 30.0
EXACT_ON_TARGET = 1e-6
#: Below this relative error the rounding of a long QR decomposition shows.
NEAR_ROUNDING = 1e-9


def refit(law: LawLike, data: Training) -> FittedLaw:
    """Fit alpha and beta by least squares in the space of g(y) on all rows, in blocks.

    A QR decomposition is accumulated over the blocks, so that a law that is exact stays exact to
    rounding. The law's own coefficients stay where they are as good.
    """
    r = triangle(_columns(law, data))
    if not np.isfinite(r).all():
        return FittedLaw.of(law, rmse=math.inf, transformed_error=math.inf, exact=False)
    alpha, beta = _solve(r, len(law.phi))
    # The costliest psi, which stands first, may have no part in it on these rows.
    beta = beta if abs(beta[0]) > 1e-12 * np.abs(beta).max() else np.asarray(law.beta, dtype=float)
    fitted = FittedLaw.of(law, alpha=alpha / beta[0], beta=beta / beta[0])
    if _transformed(fitted, r) < NEAR_ROUNDING:
        fitted = _corrected(fitted, data, r)
    candidates = sorted([fitted, FittedLaw.of(law)], key=lambda found: _residual(found, data))
    candidates = [FittedLaw.of(c, transformed_error=_transformed(c, r)) for c in candidates]
    # Where y spans many orders of magnitude the less residual as a whole may be the worse one in
    # most rows.
    confirmed = (confirm(candidate, data) for candidate in candidates if law.exact)
    exact = next((found for found in confirmed if found.exact), None)
    return exact or confirm(FittedLaw.of(candidates[0], exact=False), data)


def confirm(law: FittedLaw, data: Training) -> FittedLaw:
    """Return the law with its error on the scale of y, exact only if it is so on these rows.

    Every row must be at rounding level by itself (`gsr.selection.refit`); coefficients may be
    corrected for that.
    """
    error = rmse(law, data)
    exact = law.exact and error < EXACT_ON_TARGET * data.spread
    if exact and rounding_ratio(law, data) <= ROUNDINGS:
        found = exact_in_every_row(law, data)
        if found is not None:
            return FittedLaw.of(found, rmse=error if found is law else rmse(found, data))
    return FittedLaw.of(law, rmse=error, exact=False)


def rounding_ratio(law: LawLike, data: Training) -> float:
    """Return the residual of g(y) = f(x) in units of what rounding can do (docs/method.md, 4.4)."""
    k, p = len(law.phi), len(law.psi)
    squares = np.zeros(1 + k + 2 * p + len(weights(law)))
    scale = TargetScale(law, data)
    for X, y, weigh in data.blocks():
        parts = weigh(_parts(scale, X, y))
        with np.errstate(all="ignore"):
            squares += (parts**2).sum(axis=0)
    norms = np.sqrt(squares)
    target = float(np.abs(scale.beta) @ (norms[1 + k : 1 + k + p] + norms[1 + k + p :][:p]))
    terms = float(np.abs(scale.alpha) @ norms[1 : 1 + k])
    inside = float(np.abs(constants(law)[k + p - 1 :]) @ norms[1 + k + 2 * p :])
    size = target + min(terms + inside, CANCELLATION * target)
    ratio = norms[0] / (np.finfo(float).eps * size) if size > 0 else math.inf
    return float(ratio) if math.isfinite(ratio) else math.inf


def _parts(scale: TargetScale, X: Array, y: Array) -> Array:
    """Return the residual, phi, psi, y psi' and the slopes by the weights, in columns."""
    law, data = scale.law, scale.data
    phi, psi = data.features(law, X), data.targets(law, y)
    residual = phi @ scale.alpha - psi @ scale.beta
    slopes = [TargetScale(_alone(law, j), data).slope(y) * y for j in range(psi.shape[1])]
    return np.column_stack([residual, phi, psi, *slopes, weight_slopes(law, data, X, y)])


def _alone(law: LawLike, j: int) -> FittedLaw:
    return FittedLaw.of(law, psi=(law.psi[j],), beta=np.ones(1))


def _columns(law: LawLike, data: Training) -> Iterator[Array]:
    """Yield [1, phi, psi] in blocks."""
    for X, y, weigh in data.blocks():
        ones = np.ones((len(y), 1))
        yield weigh(np.hstack([ones, data.features(law, X), data.targets(law, y)]))


def _solve(r: Array, k: int) -> tuple[Array, Array]:
    """Minimise ||phi alpha - psi beta|| with the centred psi beta of norm 1, in QR coordinates."""
    phi, psi = r[:, 1 : 1 + k], r[:, 1 + k :]
    beta = np.ones(1)
    if psi.shape[1] > 1:
        # The first coordinate belongs to the constant.
        whitening = np.linalg.qr(psi[1:], mode="r")
        left = psi - phi @ _least_squares(phi, psi)
        _, _, directions = np.linalg.svd(left @ np.linalg.pinv(whitening))
        beta = np.linalg.pinv(whitening) @ directions[-1]
    return _least_squares(phi, psi @ beta), beta


def _corrected(law: FittedLaw, data: Training, r: Array) -> FittedLaw:
    """Return the coefficients after one step of iterative refinement, R^T R d = C^T residual."""
    k, p = len(law.phi), len(law.psi) - 1
    columns = np.hstack([r[:, 1 : 1 + k], -r[:, 2 + k :]])
    norms = _norms(columns)
    pulled = np.zeros(k + p)
    for X, y, weigh in data.blocks():
        phi, psi = weigh(data.features(law, X)), weigh(data.targets(law, y))
        pulled += np.hstack([phi, -psi[:, 1:]]).T @ (psi @ law.beta - phi @ law.alpha)
    inverse = np.linalg.pinv(columns / norms, rcond=1e-14)
    step = inverse @ (inverse.T @ (pulled / norms)) / norms
    moved = np.concatenate([law.alpha, law.beta[1:]]) + step
    return FittedLaw.of(law, alpha=moved[:k], beta=np.concatenate([[1.0], moved[k:]]))


def _residual(law: LawLike, data: Training) -> float:
    """Return the norm of f(x) - g(y), relative to that of g(y)."""
    scale = TargetScale(law, data)
    left = size = 0.0
    for X, y, weigh in data.blocks():
        target = scale.g(y)
        left += float((weigh(scale.f(X) - target) ** 2).sum())
        size += float((weigh(target) ** 2).sum())
    return math.sqrt(left / size) if size > 0 and math.isfinite(left) else math.inf


def _least_squares(columns: Array, target: Array) -> Array:
    norms = _norms(columns)
    found = np.asarray(np.linalg.lstsq(columns / norms, target, rcond=1e-14)[0], dtype=float)
    return (found.T / norms).T


def _norms(columns: Array) -> Array:
    norms = np.sqrt((columns**2).sum(axis=0))
    return np.where(norms > 0, norms, 1.0)


def _transformed(law: FittedLaw, r: Array) -> float:
    k = len(law.phi)
    target = r[:, 1 + k :] @ law.beta
    spread = float(np.linalg.norm(target[1:]))
    left = float(np.linalg.norm(r[:, 1 : 1 + k] @ law.alpha - target))
    return left / spread if spread > 0 else math.inf
