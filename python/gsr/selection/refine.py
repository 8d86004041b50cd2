"""Constants of a law refined on the scale of y.

A fit in the space of g(y) is biased by noise in y. Here the squared error of y = g^-1(f(x)) itself
is minimised, by Gauss-Newton steps with Levenberg's damping. The core does this for one psi with a
closed inverse; other left sides, and tables too long for it, are fitted here, in blocks of rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gsr.deadline import is_late
from gsr.selection.fitted import (
    FAILURES,
    FittedLaw,
    LawLike,
    Training,
    constants,
    triangle,
    weights,
    with_constants,
)
from gsr.selection.loss import Loss, minimised
from gsr.selection.target_scale import TargetScale, residuals
from gsr.transformation import Array

STEPS = 50
#: Stop when a step would gain less than this part of the squared error.
GAIN = 1e-9
DAMPING = 1e-3
MOST_DAMPING = 1e8

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Linearised:
    """A law's squared error on the scale of y around its constants, in QR coordinates."""

    r: Array  # r of [J, y - g^-1(f)]: the Jacobian dy/dc and the residuals
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
        norms = np.linalg.norm(columns, axis=0)
        norms = np.where(norms > 0, norms, 1.0)
        size = columns.shape[1]
        matrix = np.vstack([columns / norms, math.sqrt(damping) * np.eye(size)])
        target = np.concatenate([self.residual, np.zeros(size)])
        step = np.zeros(len(free))
        step[free] = np.linalg.lstsq(matrix, target, rcond=1e-14)[0] / norms
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
    """Minimise a law's error on the scale of y."""
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
    damping = 0.0 if _is_linear(best, data) else DAMPING
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


def _is_linear(law: LawLike, data: Training) -> bool:
    """Tell whether the law is y = f(x) without weights, so that one full step is the minimum."""
    entry = TargetScale(law, data).entry
    return entry is not None and entry.name == "identity" and not weights(law)
