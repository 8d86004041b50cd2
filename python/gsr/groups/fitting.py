"""One structure fitted to several groups of rows, with group constants and shared constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gsr.deadline import is_late
from gsr.selection.criteria import expression_bits
from gsr.selection.fitted import FAILURES, FittedLaw, Training, constants, norms, with_constants
from gsr.selection.target_scale import DAMPING, GAIN, MOST_DAMPING, Linearised, linearise, refine
from gsr.selection.uncertainty import inverse_gram
from gsr.transformation import Array

Mask = npt.NDArray[np.bool_]
STEPS = 40
#: Least damping, so that all constants of a group with few rows are determined.
LEAST_DAMPING = 1e-12
#: Errors below this part of the spread of y are treated as rounding errors.
EXACT = 1e-9


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows by group."""

    data: Training
    codes: npt.NDArray[np.intp]

    @cached_property
    def parts(self) -> list[Training]:
        """The rows of each group, with their weights relative to all rows."""
        return [self._part(np.flatnonzero(self.codes == k)) for k in range(self.n_groups)]

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return int(self.codes.max()) + 1

    @property
    def fewest(self) -> int:
        """The number of rows of the smallest group."""
        return int(np.bincount(self.codes).min())

    def bits(self, squares: float, n_constants: int) -> float:
        """Return the bits of the residuals and of `n_constants` constants in all groups."""
        data, n_rows = self.data, len(self.data.y)
        if n_rows <= n_constants or not math.isfinite(squares):
            return math.inf
        squares = max(squares, self.rounding)
        if data.noise.absolute:
            fit = 0.5 * squares * data.noise.precision / math.log(2.0)
        else:
            fit = 0.5 * n_rows * math.log2(squares / (n_rows - n_constants))
        return fit + 0.5 * math.log2(n_rows) * n_constants

    @property
    def rounding(self) -> float:
        """Sum of squares that is attributed to rounding errors."""
        return len(self.data.y) * (EXACT * self.data.spread) ** 2

    def _part(self, rows: npt.NDArray[np.intp]) -> Training:
        data = self.data
        weights = None if data.weights is None else data.weights[rows]
        return replace(data, X=np.asfortranarray(data.X[rows]), y=data.y[rows], weights=weights)


@dataclass(frozen=True, eq=False)
class GroupedFit:
    """A structure with its constants for each group.

    Parameters
    ----------
    law : FittedLaw
        The structure.
    values : array of shape (n_groups, n_constants)
        Its constants, in the order of `gsr.selection.fitted.constants`.
    local : array of bool
        Which constants differ from group to group.
    around : list of Linearised
        Residuals and Jacobian of each group.
    rows : GroupedRows
        The rows to which it is fitted.
    """

    law: FittedLaw
    values: Array
    local: Mask
    around: list[Linearised]
    rows: GroupedRows

    @property
    def n_constants(self) -> int:
        """The number of shared constants and of those of all groups."""
        n_local = int(self.local.sum())
        return len(self.local) - n_local + n_local * self.rows.n_groups

    @cached_property
    def squares(self) -> float:
        """Sum of squared residuals, at least that of rounding errors."""
        found = sum(float(each.residual @ each.residual) for each in self.around)
        return max(found, self.rows.rounding)

    @property
    def rmse(self) -> float:
        """Root mean square of the residuals."""
        return math.sqrt(self.squares / len(self.rows.data.y))

    @property
    def is_exact(self) -> bool:
        """Whether the residuals are rounding errors."""
        return self.squares <= self.rows.rounding

    @property
    def freedom(self) -> int:
        """Degrees of freedom: rows minus constants."""
        return len(self.rows.data.y) - self.n_constants

    @cached_property
    def bits(self) -> float:
        """Description length; infinite if a group has fewer rows than group constants."""
        if int(self.local.sum()) > self.rows.fewest:
            return math.inf
        data = self.rows.data
        tables = data.library, data.target_library
        structure = expression_bits(self.law, *tables, data.X.shape[1])
        return self.rows.bits(self.squares, self.n_constants) + structure

    # ---- errors ------------------------------------------------------------------------------

    @cached_property
    def variance(self) -> float:
        """Variance of the noise in a row of weight 1."""
        noise = self.rows.data.noise
        estimate = self.squares / max(self.freedom, 1)
        return 1.0 / noise.precision if noise.absolute else estimate

    @cached_property
    def errors(self) -> Array:
        """Standard errors of `values`."""
        covariance = self._shared_covariance
        found = np.empty_like(self.values)
        found[:, ~self.local] = np.sqrt(self.variance * np.diag(covariance))
        n_local = int(self.local.sum())
        for k, each in enumerate(self.around):
            top = _eliminated(each, self.local, LEAST_DAMPING)[0]
            inverse = np.linalg.pinv(top[:, :n_local])
            through = inverse @ top[:, n_local:-1]
            own = inverse @ inverse.T + through @ covariance @ through.T
            found[k, self.local] = np.sqrt(self.variance * np.diag(own))
        return found

    @cached_property
    def _shared_covariance(self) -> Array:
        n_local = int(self.local.sum())
        if n_local == len(self.local):
            return np.empty((0, 0))
        rest = [_eliminated(each, self.local, LEAST_DAMPING)[1] for each in self.around]
        covariance = inverse_gram(np.vstack(rest)[:, :-1])
        return np.where(np.isfinite(covariance), covariance, 0.0)

    def chance(self, k: int) -> float:
        """Return the probability that constant k differs so much between groups by chance."""
        from scipy.special import fdtrc

        between = self.rows.n_groups - 1
        free, tied = (self.local.copy() for _ in range(2))
        free[k], tied[k] = True, False
        target = _aligned(self.around, self.values)
        gain = _least_squares(target, tied) - _least_squares(target, free)
        within = max(self.freedom - between * (not self.local[k]), 1)
        return float(fdtrc(between, within, max(gain, 0.0) / between / self.variance))


def _aligned(around: Sequence[Linearised], values: Array) -> list[Linearised]:
    """Return linearised groups whose solutions are the constants, not steps from `values`."""
    return [
        Linearised(np.column_stack([each.jacobian, each.residual + each.jacobian @ own]), 0)
        for each, own in zip(around, values, strict=True)
    ]


def _least_squares(around: Sequence[Linearised], local: Mask) -> float:
    """Return the least sum of squares over all linearised groups."""
    steps = _steps(around, local, 0.0)
    left = [each.residual - each.jacobian @ step for each, step in zip(around, steps, strict=True)]
    return float(sum(each @ each for each in left))


def _eliminated(each: Linearised, local: Mask, damping: float) -> tuple[Array, Array]:
    """Return the QR factor R of a group: rows for its own constants, and the remaining rows."""
    own, n_local = each.jacobian[:, local], int(local.sum())
    damped = np.zeros((n_local, len(local) + 1))
    damped[:, :n_local] = math.sqrt(max(damping, LEAST_DAMPING)) * np.diag(norms(own))
    block = np.column_stack([own, each.jacobian[:, ~local], each.residual])
    r = np.asarray(np.linalg.qr(np.vstack([block, damped]), mode="r"))
    return r[:n_local], r[n_local:, n_local:]


def _steps(around: Sequence[Linearised], local: Mask, damping: float) -> Array:
    """Return damped Gauss-Newton steps of the constants of all groups."""
    n_local = int(local.sum())
    parts = [_eliminated(each, local, damping) for each in around]
    found = np.empty((len(around), len(local)))
    rest = np.vstack([part[1] for part in parts])
    shared = rest[:, :-1]
    if shared.shape[1]:
        sizes = norms(shared)
        damped = math.sqrt(damping) * np.eye(len(sizes))
        target = np.concatenate([rest[:, -1], np.zeros(len(sizes))])
        matrix = np.vstack([shared / sizes, damped])
        step = np.linalg.lstsq(matrix, target, rcond=1e-14)[0] / sizes
    else:
        step = np.empty(0)
    found[:, ~local] = step
    for k, (top, _) in enumerate(parts):
        right = top[:, -1] - top[:, n_local:-1] @ step
        found[k, local] = np.linalg.lstsq(top[:, :n_local], right, rcond=1e-14)[0]
    return found


def around(law: FittedLaw, values: Array, rows: GroupedRows) -> list[Linearised] | None:
    """Return the law linearised at its constants in each group; None if a row has no solution."""
    found = []
    for own, part in zip(values, rows.parts, strict=True):
        if not np.isfinite(own).all():
            return None
        each = _around(with_constants(law, own), part)
        if each is None:
            return None
        found.append(each)
    return found


def _around(law: FittedLaw, part: Training) -> Linearised | None:
    r = None
    if part.fitter is not None:
        r = part.fitter.linearise(law.psi, law.phi, law.alpha)
    if r is not None:
        return Linearised(r, len(part.y)) if np.isfinite(r).all() else None
    each = linearise(law, part)
    return each if each.n_rows == len(part.y) else None


def fit(
    law: FittedLaw, values: Array, local: Mask, rows: GroupedRows, until: float | None = None
) -> GroupedFit | None:
    """Minimise the sum of squares over group constants and shared constants.

    Shared constants start from the median of `values` over the groups. Return None if the law is
    undefined there.
    """
    values = values.copy()
    values[:, ~local] = np.median(values[:, ~local], axis=0)
    known = around(law, values, rows)
    if known is None:
        return None
    best, damping = GroupedFit(law, values, local, known, rows), DAMPING
    for _ in range(STEPS):
        if damping > MOST_DAMPING or best.is_exact or is_late(until):
            break
        moved = values + _steps(best.around, local, damping)
        known = around(law, moved, rows)
        new = None if known is None else GroupedFit(law, moved, local, known, rows)
        if new is None or not new.squares < best.squares:
            damping *= 10.0
            continue
        gained = 1.0 - new.squares / best.squares
        values, best, damping = moved, new, damping / 10.0
        if gained < GAIN:
            break
    return best


def fitted_alone(law: FittedLaw, rows: GroupedRows) -> Array | None:
    """Return the constants of a law fitted to each group separately; None if a fit fails."""
    found = []
    for part in rows.parts:
        try:
            each = refine(law, part)
        except FAILURES:
            return None
        if not math.isfinite(each.rmse):
            return None
        found.append(constants(each))
    return np.array(found)


def shared_as_they_are(law: FittedLaw) -> Mask:
    """Return which constants are coefficients of f; the others are shared at first."""
    return np.arange(len(constants(law))) < len(law.alpha)


def best_sharing(
    law: FittedLaw, rows: GroupedRows, until: float | None = None, *, all_local: bool = False
) -> GroupedFit | None:
    """Return the fit with the shortest description among the choices of shared constants."""
    start = np.tile(constants(law), (rows.n_groups, 1))
    alone = fitted_alone(law, rows)
    every = np.ones(start.shape[1], dtype=bool)
    if all_local:
        return None if alone is None else fit(law, alone, every, rows, until)
    coefficients = fit(law, start, shared_as_they_are(law), rows, until)
    found = [coefficients, fit(law, start, ~every, rows, until)]
    for first in (alone, None if coefficients is None else coefficients.values):
        found.append(None if first is None else fit(law, first, every, rows, until))
    known = [each for each in found if each is not None]
    if not known:
        return None
    return _climb(min(known, key=lambda each: each.bits), known, until)


def _climb(best: GroupedFit, known: list[GroupedFit], until: float | None) -> GroupedFit:
    """Share or free one constant at a time while the description becomes shorter."""
    widest = max(known, key=lambda each: int(each.local.sum()))
    while not is_late(until):
        tried = []
        for k in range(len(best.local)):
            local = best.local.copy()
            local[k] = not local[k]
            starts = [best.values] if not local[k] else [best.values, _freed(best, widest, k)]
            fits = (fit(best.law, each, local, best.rows, until) for each in starts)
            tried += [each for each in fits if each is not None]
        shortest = min(tried, key=lambda each: each.bits, default=best)
        if not shortest.bits < best.bits:
            break
        best = shortest
    return best


def _freed(best: GroupedFit, widest: GroupedFit, k: int) -> Array:
    """Return the constants, with constant k taken from the fit in which groups differ most."""
    values = best.values.copy()
    values[:, k] = widest.values[:, k]
    return values
