"""Whether a law at rounding level is so in every row, and beyond the rows it was fitted to.

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
import numpy.typing as npt

from gsr.encoding.rows import ONE, Row, factors
from gsr.selection.fitted import STEP, FittedLaw, LawLike, Training, constants, weight_slopes
from gsr.selection.target_scale import TargetScale
from gsr.transformation import Array

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
    """Return a law that is at rounding level in all rows, if need be with corrected coefficients."""
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
