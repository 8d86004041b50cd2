"""Coefficients of a law on all rows, and whether it is exact in every one of them.

A norm over all rows says nothing about rows where y is small. So the residual of each row is
measured in units of what rounding can do in that row. And many smooth terms interpolate any curve:
the least of them hardly stands out of rounding, and fitted to the middle of an interval they do not
predict its ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gsr.selection.fitted import (
    STEP,
    FittedLaw,
    LawLike,
    Training,
    inner_constants,
    norms,
    scaled_lstsq,
    triangle,
    variables,
    weight_slopes,
    weights,
)
from gsr.selection.target_scale import TargetScale, rmse
from gsr.transformation import Array, Indices

EPSILON = float(np.finfo(float).eps)
#: The core's rules for a residual at rounding level (cpp/src/fitness.cpp, cpp/src/reduced.cpp).
ROUNDINGS = 16.0
CANCELLATION = 30.0
EXACT_ON_TARGET = 1e-6
#: Below this relative error the rounding of a long QR decomposition shows.
NEAR_ROUNDING = 1e-9

# The core's rules for single rows (cpp/src/exactness.cpp).
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


# ---- coefficients on all rows --------------------------------------------------------------------


def refit(law: LawLike, data: Training) -> FittedLaw:
    """Fit alpha and beta by least squares in the space of g(y) on all rows, in blocks.

    A QR decomposition is accumulated over the blocks, so that a law that is exact stays exact to
    rounding. The law's own coefficients stay where they are as good. The result is exact if the law
    was and still is, weights inside arguments being as they were.
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
        left = psi - phi @ scaled_lstsq(phi, psi)
        _, _, directions = np.linalg.svd(left @ np.linalg.pinv(whitening))
        beta = np.linalg.pinv(whitening) @ directions[-1]
    return scaled_lstsq(phi, psi @ beta), beta


def _corrected(law: FittedLaw, data: Training, r: Array) -> FittedLaw:
    """Return the coefficients after one step of iterative refinement, R^T R d = C^T residual."""
    k, p = len(law.phi), len(law.psi) - 1
    columns = np.hstack([r[:, 1 : 1 + k], -r[:, 2 + k :]])
    sizes = norms(columns)
    pulled = np.zeros(k + p)
    for X, y, weigh in data.blocks():
        phi, psi = weigh(data.features(law, X)), weigh(data.targets(law, y))
        pulled += np.hstack([phi, -psi[:, 1:]]).T @ (psi @ law.beta - phi @ law.alpha)
    inverse = np.linalg.pinv(columns / sizes, rcond=1e-14)
    step = inverse @ (inverse.T @ (pulled / sizes)) / sizes
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


def _transformed(law: FittedLaw, r: Array) -> float:
    """Return the norm of f(x) - g(y), relative to that of g(y) less its mean, from R."""
    k = len(law.phi)
    target = r[:, 1 + k :] @ law.beta
    spread = float(np.linalg.norm(target[1:]))
    left = float(np.linalg.norm(r[:, 1 : 1 + k] @ law.alpha - target))
    return left / spread if spread > 0 else math.inf


# ---- exact laws ----------------------------------------------------------------------------------


def confirm(law: FittedLaw, data: Training) -> FittedLaw:
    """Return the law with its error on the scale of y, exact only if it is so on these rows.

    Every row must be at rounding level by itself; coefficients may be corrected for that.
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
        phi, psi = data.features(law, X), data.targets(law, y)
        residual = phi @ scale.alpha - psi @ scale.beta
        slopes = [alone.slope(y) * y for alone in _single_targets(scale)]
        columns = [residual, phi, psi, *slopes, weight_slopes(law, data, X, y)]
        parts = weigh(np.column_stack(columns))
        with np.errstate(all="ignore"):
            squares += (parts**2).sum(axis=0)
    sizes = np.sqrt(squares)
    target = float(np.abs(scale.beta) @ (sizes[1 + k : 1 + k + p] + sizes[1 + k + p :][:p]))
    terms = float(np.abs(scale.alpha) @ sizes[1 : 1 + k])
    inside = float(np.abs(inner_constants(law)) @ sizes[1 + k + 2 * p :])
    size = target + min(terms + inside, CANCELLATION * target)
    ratio = sizes[0] / (EPSILON * size) if size > 0 else math.inf
    return float(ratio) if math.isfinite(ratio) else math.inf


def _single_targets(scale: TargetScale) -> list[TargetScale]:
    """Return each psi as if it were all of g."""
    law = scale.law
    alone = (FittedLaw.of(law, psi=(psi,), beta=np.ones(1)) for psi in law.psi)
    return [TargetScale(each, scale.data) for each in alone]


# ---- each row at rounding level ------------------------------------------------------------------


def exact_in_every_row(law: FittedLaw, data: Training) -> FittedLaw | None:
    """Return a law at rounding level in all rows, if need be with corrected coefficients.

    None if there is none, or if the law only interpolates.
    """
    rows = RowWise.of(law, data)
    if not (np.isfinite(rows.terms).all() and np.isfinite(rows.target).all()):
        return None
    if not rows.hold():
        factors = rows.corrected()
        if not rows.hold(factors):
            return None
        law = FittedLaw.of(law, alpha=law.alpha * factors)
        rows = RowWise.of(law, data)
    return None if _interpolates(law, data, rows) else law


def _interpolates(law: LawLike, data: Training, rows: RowWise) -> bool:
    if rows.terms.shape[1] < MANY_TERMS:
        return False
    if rows.least_term() < STANDS_OUT:
        return True
    used = variables(law, data.library)
    if len(used) > 1:
        return False
    # A constant inside is fitted to the ends, too, so that they follow.
    return bool(weights(law)) or not rows.ends_follow(data.X[:, used[0] - 1])


@dataclass(frozen=True, eq=False)
class RowWise:
    """The two sides of a law, each row in units of what rounding can do in it."""

    terms: Array  # alpha_j phi_j(x)
    target: Array  # g(y)

    @classmethod
    def of(cls, law: LawLike, data: Training) -> RowWise:
        """Evaluate a law on all rows."""
        scale = TargetScale(law, data)
        inner = np.abs(inner_constants(law))
        blocks = []
        for X, y, _ in data.blocks():
            terms, target = data.features(law, X) * scale.alpha, scale.g(y)
            size = _target_size(scale, y) + np.abs(terms).sum(axis=1)
            size += np.abs(weight_slopes(law, data, X, y)) @ inner
            for v in variables(law, data.library):
                size += _feature_size(scale, X, v)
            unit = EPSILON * np.maximum(np.where(np.isfinite(size), size, 0.0), 1e-290)
            blocks.append((terms / unit[:, None], target / unit))
        return cls(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))

    def residuals(self, factors: Array | None = None) -> Array:
        """Return what is left if the terms are multiplied by factors."""
        with np.errstate(all="ignore"):
            if factors is None:
                return np.asarray(self.target - self.terms.sum(axis=1))
            return np.asarray(self.target - self.terms @ factors)

    def hold(self, factors: Array | None = None) -> bool:
        """Return whether all but a few rows are at rounding level."""
        off = ~(np.abs(self.residuals(factors)) <= ROW_ROUNDINGS)
        return int(off.sum()) <= STRAY_ROWS * len(off)

    def corrected(self, rows: Indices | slice = slice(None)) -> Array:
        """Return factors of the terms, fitted to some of the rows in these units."""
        terms = self.terms[rows]
        found = np.ones(terms.shape[1])
        for _ in range(CORRECTIONS):
            found = found + scaled_lstsq(terms, self.residuals(found)[rows], rcond=1e-15)
        return found

    def least_term(self) -> float:
        """Return the root mean square that is left without the term that matters least."""
        sizes = norms(self.terms)
        inverse = np.linalg.pinv(np.linalg.qr(self.terms / sizes, mode="r"), rcond=1e-15)
        left = sizes / np.linalg.norm(inverse, axis=1)
        return float(left.min()) / math.sqrt(len(self.target))

    def ends_follow(self, x: Array) -> bool:
        """Return whether the terms, fitted to the middle of x, predict the rows at its ends."""
        n, k = self.terms.shape
        order, cut = np.argsort(x, kind="stable"), int(ENDS * n)
        inner, outer = order[cut : n - cut], np.concatenate([order[:cut], order[n - cut :]])
        if cut == 0 or len(inner) <= k:
            return True
        left = self.residuals(self.corrected(inner))
        scaled = self.terms / norms(self.terms[inner])
        inverse = np.linalg.pinv(np.linalg.qr(scaled[inner], mode="r"), rcond=1e-15)
        amplified = 1.0 + ((scaled[outer] @ inverse) ** 2).sum(axis=1)
        noise = max(1.0, float(np.mean(left[inner] ** 2)))
        return math.sqrt(float(np.mean(left[outer] ** 2 / amplified)) / noise) <= ENDS_OFF


def _target_size(scale: TargetScale, y: Array) -> Array:
    """Return what rounding of y and of psi(y) can do to g(y), in units of epsilon."""
    values = np.abs(scale.data.targets(scale.law, y)) @ np.abs(scale.beta)
    for beta, alone in zip(scale.beta, _single_targets(scale), strict=True):
        values = values + np.abs(beta * y * alone.slope(y))
    return np.asarray(values)


def _feature_size(scale: TargetScale, X: Array, variable: int) -> Array:
    """Return what rounding of a feature can do to the terms, in units of epsilon."""
    ends = []
    for sign in (1.0, -1.0):
        moved = X.copy()
        moved[:, variable - 1] *= 1.0 + sign * STEP
        ends.append(scale.data.features(scale.law, moved) * scale.alpha)
    with np.errstate(all="ignore"):
        rise = np.abs(ends[0] - ends[1]).sum(axis=1) / (2.0 * STEP)
    return np.where(np.isfinite(rise), rise, 0.0)
