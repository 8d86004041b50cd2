"""Laws on the scale of y: solutions of g(y) = f(x), their errors, and constants of least error.

A fit in the space of g(y) is biased by noise in y. Here the squared error of y = g^-1(f(x)) itself
is minimised, by Gauss-Newton steps with Levenberg's damping. The core does this for one psi with a
closed inverse; other left sides, and tables too long for it, are fitted here, in blocks of rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gsr.deadline import is_late
from gsr.selection.fitted import (
    FAILURES,
    STEP,
    FittedLaw,
    LawLike,
    Training,
    Weigh,
    constants,
    norms,
    triangle,
    weight_slopes,
    weights,
    with_constants,
)
from gsr.selection.noise import Loss, minimised
from gsr.transformation import Array, Mask

NEWTON_STEPS = 30
#: After so many steps a row that does not come nearer by half each time is as near as rounding lets
#: it, or has no solution.
FIRST_STEPS = 8
SOLVED = 1e-10
#: A row whose slope of g is below this part of the median must not dominate: derivatives
#: there may be so many times their medians.
FLATTEST = 1e-3
LARGEST = 1e3
#: Part of the rows whose |y| is smaller than those that set the least step of differences.
NEAR_ZERO = 0.05


class TargetScale:
    """Solves a law for y near the data."""

    def __init__(self, law: LawLike, data: Training) -> None:
        self.law, self.data = law, data
        self.beta = np.asarray(law.beta, dtype=float)
        self.alpha = np.asarray(law.alpha, dtype=float)
        self.entry = _single(law, data)

    def f(self, X: Array) -> Array:
        """Return f(x)."""
        with np.errstate(all="ignore"):
            return np.asarray(self.data.features(self.law, X) @ self.alpha)

    def g(self, y: Array) -> Array:
        """Return g(y)."""
        with np.errstate(all="ignore"):
            return np.asarray(self.data.targets(self.law, y) @ self.beta)

    @cached_property
    def _least_step(self) -> float:
        """The least step of differences by y: far below all |y| but for a few near zero."""
        y = self.data.y
        size = np.abs(y[np.isfinite(y) & (y != 0.0)])
        return STEP * float(np.quantile(size, NEAR_ZERO)) if len(size) else STEP

    def slope(self, y: Array) -> Array:
        """Return g'(y)."""
        with np.errstate(all="ignore"):
            if self.entry is not None and self.entry.has_derivative:
                return np.asarray(self.entry.derivative(np.ascontiguousarray(y)))
            step = STEP * np.maximum(np.abs(y), self._least_step)
            middle, up, down = self.g(y), self.g(y + step), self.g(y - step)
            # At the edge of the domain one side has to do.
            up_fine, down_fine = np.isfinite(up), np.isfinite(down)
            rise = np.where(up_fine, up, middle) - np.where(down_fine, down, middle)
            return np.asarray(rise / (step * (up_fine.astype(float) + down_fine)))

    def solve(self, X: Array, y: Array) -> Array:
        """Return the y of each row of X that is nearest to the data; NaN without a solution."""
        f = self.f(X)
        if self.entry is None or not self.entry.has_inverse:
            return self._newton(f, y)
        with np.errstate(all="ignore"):
            found = np.asarray(self.entry.inverse(np.ascontiguousarray(f)), dtype=float)
            found = self._nearest_repeat(found, y)
            if not math.isnan(self.entry.mirror):
                other = self._nearest_repeat(self.entry.mirror - found, y)
                found = np.where(np.abs(other - y) < np.abs(found - y), other, found)
        return np.where(np.isfinite(found), found, np.nan)

    def jacobian(self, X: Array, solution: Array, weigh: Weigh) -> Array:
        """Return dy/dc at a solution, one column for each constant; zero where there is none.

        Rows are weighed as those of `Training.blocks`.
        """
        rows = bounded(weigh(self.slopes(X, solution)), self.slope(solution))
        rows[~np.isfinite(solution)] = 0.0
        return rows

    def slopes(self, X: Array, y: Array) -> Array:
        """Return d(f(x) - g(y))/dc, one column for each constant."""
        phi, psi = self.data.features(self.law, X), self.data.targets(self.law, y)
        return np.column_stack([phi, -psi[:, 1:], weight_slopes(self.law, self.data, X, y)])

    def _nearest_repeat(self, solution: Array, y: Array) -> Array:
        assert self.entry is not None
        period = self.entry.period
        return solution + period * np.round((y - solution) / period) if period else solution

    def _newton(self, f: Array, y: Array) -> Array:
        """Newton's method from the data; the first step alone where it does not converge."""
        step = self._step(y, f)
        found = first = y - step
        # Steps much longer than the data's spread leave the branch.
        longest = 4.0 * (np.ptp(y) or max(float(np.abs(y).max()), 1.0))
        with np.errstate(all="ignore"):
            for k in range(NEWTON_STEPS):
                last, step = np.abs(step), np.clip(self._step(found, f), -longest, longest)
                moving = np.isfinite(step) & (np.abs(step) > SOLVED * np.abs(found))
                if k >= FIRST_STEPS:
                    moving &= np.abs(step) <= 0.5 * last
                if not moving.any():
                    break
                found = np.where(moving, found - step, found)
            miss = np.abs(self.g(found) - f)
            size = np.abs(self.data.targets(self.law, found) * self.beta).sum(axis=1) + np.abs(f)
            solved = miss <= 1e-6 * size
        found = np.where(solved, found, first)
        return np.where(np.isfinite(found), found, np.nan)

    def _step(self, y: Array, f: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray((self.g(y) - f) / self.slope(y))


def bounded(rows: Array, slope: Array) -> Array:
    """Return rows divided by slopes of g; where these are nearly 0, no larger than `LARGEST`."""
    with np.errstate(all="ignore"):
        found = np.asarray(rows / slope[:, None])
    known = np.isfinite(found).all(axis=1)
    found[~known] = 0.0
    if not known.any():
        return found
    flat = known & (np.abs(slope) < FLATTEST * np.median(np.abs(slope[known])))
    typical = np.median(np.abs(found[known]), axis=0)
    size = np.max(np.abs(found[flat]) / np.where(typical > 0.0, typical, np.inf), axis=1, initial=0)
    found[flat] *= (LARGEST / np.maximum(size, LARGEST))[:, None]
    return found


def _single(law: LawLike, data: Training) -> Any:
    """Return the transformation that g is, None if it is more than one plain transformation."""
    if len(law.psi) != 1 or len(law.psi[0]) != 1:
        return None
    row = law.psi[0][0]
    plain = len(row) == 1 or (row[1] == 0 and row[2] == 1)
    return data.target_library.table[int(row[0])] if plain and row[0] > 0 else None


def residuals(law: LawLike, data: Training) -> Array:
    """Return the residuals on the scale of y, in rows of one variance; NaN without a solution."""
    scale = TargetScale(law, data)
    return np.concatenate([weigh(y - scale.solve(X, y)) for X, y, weigh in data.blocks()])


def linear_rows(law: LawLike, data: Training) -> tuple[Array, Array, Array]:
    """Return the law's y in all rows, and residuals of one variance with their Jacobian."""
    scale, parts = TargetScale(law, data), []
    for X, y, weigh in data.blocks():
        solution = scale.solve(X, y)
        parts.append((solution, weigh(y - solution), scale.jacobian(X, solution, weigh)))
    solution, left, jacobian = (np.concatenate(part) for part in zip(*parts, strict=True))
    return solution, left, jacobian


def rmse(law: LawLike, data: Training) -> float:
    """Return the error on the scale of y; infinite if a row has no solution.

    That is the root mean square, or the error of another loss.
    """
    if not data.loss.is_squared:
        return data.loss.error(residuals(law, data))
    return math.sqrt(squared_error(law, data, len(data.y)) / len(data.y))


def errors_on_one_side(law: LawLike, data: Training) -> tuple[float, float]:
    """Return the sums of squares of the nearest solutions, and of those on one side of the mirror.

    Of ln|y| or y^2 = f(x) the second is for solutions that all have the sign that most y have. It
    is infinite where g has no mirror.
    """
    scale = TargetScale(law, data)
    if scale.entry is None or math.isnan(scale.entry.mirror):
        return math.inf, math.inf
    half = scale.entry.mirror / 2.0
    above = float(np.median(data.y)) > half
    nearest = confined = 0.0
    for X, y, weigh in data.blocks():
        found = scale.solve(X, y)
        nearest += float((weigh(y - found) ** 2).sum())
        one_side = np.where((found > half) == above, found, scale.entry.mirror - found)
        confined += float((weigh(y - one_side) ** 2).sum())
    return nearest, confined


# ---- refined constants ---------------------------------------------------------------------------

STEPS = 100
#: Stop when a step would gain less than this part of the squared error.
GAIN = 1e-9
DAMPING = 1e-3
MOST_DAMPING = 1e8


@dataclass(frozen=True, eq=False)
class Linearised:
    """A law's squared error on the scale of y around its constants, in QR coordinates."""

    r: Array  # R of [J, y - g^-1(f)]: the Jacobian dy/dc and the residuals
    n_rows: int  # rows that have a solution

    @property
    def jacobian(self) -> Array:
        """The Jacobian's part of R."""
        return self.r[:, :-1]

    @property
    def residual(self) -> Array:
        """The residuals in the same coordinates; their norm is that of the residuals."""
        return self.r[:, -1]

    def step(self, damping: float, free: Mask) -> Array:
        """Return the damped Gauss-Newton step; constants that are not free stay."""
        columns = self.jacobian[:, free]
        sizes, n = norms(columns), columns.shape[1]
        matrix = np.vstack([columns / sizes, math.sqrt(damping) * np.eye(n)])
        target = np.concatenate([self.residual, np.zeros(n)])
        step = np.zeros(len(free))
        step[free] = np.linalg.lstsq(matrix, target, rcond=1e-14)[0] / sizes
        return step

    def gain(self, free: Mask) -> float:
        """Return the part of the squared error that a full step would remove, were g linear."""
        total = float(self.residual @ self.residual)
        left = self.residual - self.jacobian @ self.step(0.0, free)
        return (total - float(left @ left)) / total if total > 0 else 0.0


def linearise(law: LawLike, data: Training) -> Linearised:
    """Return the law around its constants; rows without a solution are left out."""
    if data.fitter is not None:
        r = data.fitter.linearise(law.psi, law.phi, law.alpha)
        if r is not None:
            return Linearised(np.where(np.isfinite(r), r, 0.0), len(data.y))
    scale = TargetScale(law, data)
    n_rows = 0

    def blocks() -> Iterator[Array]:
        nonlocal n_rows
        for X, y, weigh in data.blocks():
            solution = scale.solve(X, y)
            solved = np.isfinite(solution)
            n_rows += int(solved.sum())
            residual = weigh(np.where(solved, y - solution, 0.0))
            yield np.column_stack([scale.jacobian(X, solution, weigh), residual])

    r = triangle(blocks())
    return Linearised(np.where(np.isfinite(r), r, 0.0), n_rows)


def squared_error(law: LawLike, data: Training, solved: int) -> float:
    """Return the sum of squares on the scale of y; infinite with fewer than `solved` solutions."""
    scale = TargetScale(law, data)
    total, count = 0.0, 0
    for X, y, weigh in data.blocks():
        residual = weigh(y - scale.solve(X, y))
        fine = np.isfinite(residual)
        count += int(fine.sum())
        with np.errstate(over="ignore"):
            total += float((residual[fine] ** 2).sum())
    return total if count >= solved else math.inf


def refine(
    law: LawLike, data: Training, free: Mask | None = None, until: float | None = None
) -> FittedLaw:
    """Minimise a law's error on the scale of y over its constants, or those that are `free`.

    The constants stay if no step lowers the error, and steps that leave a row without a solution
    are not taken. The error is infinite if a constant is not finite.
    """
    best = FittedLaw.of(law)
    values = constants(law)
    free = np.ones(len(values), bool) if free is None else np.asarray(free, dtype=bool)
    if not np.isfinite(values).all():
        return FittedLaw.of(best, rmse=math.inf)
    if not data.loss.is_squared:
        return _with_least_loss(best, data, free, until)
    if data.fitter is not None:
        found = data.fitter.refine(law.psi, law.phi, law.alpha, STEPS, free.tolist())
        if found is not None and math.isfinite(found[1]):
            return FittedLaw.of(with_constants(best, np.array(found[0])), rmse=found[1])
    around = linearise(best, data)
    error = squared_error(best, data, around.n_rows)
    g = TargetScale(best, data).entry
    # For y = f(x) without weights one full step is the minimum.
    is_linear = g is not None and g.name == "identity" and not weights(best)
    damping = 0.0 if is_linear else DAMPING
    for _ in range(STEPS if free.any() and around.n_rows > 0 else 0):
        if around.gain(free) < GAIN or damping > MOST_DAMPING or is_late(until):
            break
        step = around.step(damping, free)
        moved = with_constants(best, values + np.where(np.isfinite(step), step, 0.0))
        new = squared_error(moved, data, around.n_rows) if np.isfinite(step).all() else math.inf
        if not new < error:
            damping = max(10.0 * damping, DAMPING)
            continue
        best, error, damping = moved, new, damping / 10.0
        values = constants(best)
        around = linearise(best, data)
    complete = around.n_rows == len(data.y)
    return FittedLaw.of(best, rmse=math.sqrt(error / len(data.y)) if complete else math.inf)


def attempted(law: LawLike, data: Training) -> FittedLaw:
    """Refine a law; one that cannot be fitted is left out by an infinite error, with a warning."""
    try:
        return refine(law, data)
    except FAILURES as error:
        warnings.warn(f"a law was left out: {error}", RuntimeWarning, stacklevel=2)
        return FittedLaw.of(law, rmse=math.inf)


def with_loss(law: LawLike, data: Training) -> FittedLaw:
    """Return a law of a search, as it is, with the error that the loss of the rows gives it."""
    return FittedLaw.of(law, rmse=data.loss.error(residuals(law, data)))


def _with_least_loss(law: FittedLaw, data: Training, free: Mask, until: float | None) -> FittedLaw:
    """Minimise another loss than squares."""
    left = residuals(law, data)
    if not np.isfinite(left).all():
        law = refine(law, replace(data, loss=Loss()), free)
        left = residuals(law, data)

    def refit(start: FittedLaw, weights: Array) -> tuple[FittedLaw, Array]:
        moved = refine(start, data.reweighted(weights), free, until)
        return moved, residuals(moved, data)

    best, error = minimised(data.loss, law, left, refit)
    return FittedLaw.of(best, rmse=error)
