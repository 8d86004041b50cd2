"""What single rows do to a law: its error on rows left out, and terms that live on few rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gsr.selection.fitted import LawLike, Training, constants, triangle, weights
from gsr.selection.target_scale import TargetScale
from gsr.transformation import Array

#: The constants are fitted again without a row of more leverage than this.
HIGH_LEVERAGE = 0.9
#: Directions that the rows determine less than this, relative to the best, are not determined.
UNDETERMINED = 1e-10
#: A term lives on few rows if so many have this share of its sum of squares ...
FEW_ROWS = 2
MOST_OF_IT = 0.9
#: ... and its norm on the others, in units of a typical residual there, is below this.
MEASURABLE = 3.0

Mask = npt.NDArray[np.bool_]


class _Rows(NamedTuple):
    """Weighted residuals of rows and the Jacobian of their predictions."""

    residuals: Array
    jacobian: Array


def _rows(law: LawLike, data: Training) -> Iterator[_Rows]:
    scale = TargetScale(law, data)
    for X, y, weigh in data.blocks():
        solution = scale.solve(X, y)
        yield _Rows(weigh(y - solution), scale.jacobian(X, solution, weigh))


def leave_one_out(law: LawLike, data: Training) -> float:
    """Return the error on rows left out one at a time, to first order (PRESS).

    Residuals are divided by 1 - leverage. For the few rows that nearly determine a constant by
    themselves, the linearised law is fitted to the other rows instead; linear coefficients that
    those do not determine are 0 then.
    """
    rows = _Rows(*(np.concatenate(parts) for parts in zip(*_rows(law, data), strict=True)))
    if not np.isfinite(rows.residuals).all():
        return math.inf
    norms = _norms(rows.jacobian)
    rows = rows._replace(jacobian=rows.jacobian / norms)
    leverage = _leverage(rows.jacobian)
    high = leverage > HIGH_LEVERAGE
    errors = rows.residuals / (1.0 - np.where(high, 0.0, leverage))
    errors[high] = _refitted_without(rows, high, _linear_constants(law) * norms)
    return data.loss.error(errors)


def _leverage(jacobian: Array) -> Array:
    r = triangle(iter([jacobian]))
    inverse = np.linalg.pinv(r, rcond=UNDETERMINED)
    leverage: Array = ((jacobian @ inverse) ** 2).sum(axis=1)
    return leverage


def _linear_constants(law: LawLike) -> Array:
    """Return the constants, with 0 for those inside arguments: these have no natural zero."""
    values = constants(law)
    values[len(values) - len(weights(law)) :] = 0.0
    return values


def _refitted_without(rows: _Rows, high: Mask, linear: Array) -> Array:
    """Return the error of each row in `high`, fitted to all rows but it."""
    at = np.flatnonzero(high)
    if not len(at):
        return np.empty(0)
    # With the linear part added the least solution has 0 for what is undetermined.
    target = rows.residuals + rows.jacobian @ linear
    columns = np.column_stack([rows.jacobian, target])
    rest = triangle(iter([columns[~high]])) if not high.all() else columns[:0]
    errors = np.empty(len(at))
    for k in range(len(at)):
        others = np.vstack([rest, columns[np.delete(at, k)]])
        found = np.linalg.lstsq(others[:, :-1], others[:, -1], rcond=UNDETERMINED)[0]
        errors[k] = columns[at[k], -1] - columns[at[k], :-1] @ found
    return errors


def lives_on_few_rows(law: LawLike, data: Training) -> bool:
    """Tell whether a term of the law is there for the sake of one or two rows."""
    rows = _Rows(*(np.concatenate(parts) for parts in zip(*_rows(law, data), strict=True)))
    n, c = rows.jacobian.shape
    if n - FEW_ROWS <= c or not np.isfinite(rows.residuals).all():
        return False
    alpha = np.asarray(law.alpha, dtype=float)
    return any(_is_local(j, float(alpha[j]), rows) for j in range(len(alpha)))


def _is_local(j: int, alpha: float, rows: _Rows) -> bool:
    term = alpha * rows.jacobian[:, j]
    largest = float(np.abs(term).max())
    if largest == 0.0 or not math.isfinite(largest):
        return largest != 0.0
    shares = (term / largest) ** 2
    few = np.argsort(shares)[-FEW_ROWS:]
    if shares[few].sum() < MOST_OF_IT * shares.sum():
        return False
    rest = np.delete(np.column_stack([rows.jacobian, rows.residuals]), few, axis=0)
    others = np.delete(rest[:, :-1], j, axis=1)
    mine = np.delete(term, few)
    beside = mine - others @ _least_squares(others, mine)
    typical = 1.4826 * float(np.median(np.abs(rest[:, -1])))
    return float(np.linalg.norm(beside)) < MEASURABLE * typical


def _least_squares(columns: Array, target: Array) -> Array:
    norms = _norms(columns)
    found = np.linalg.lstsq(columns / norms, target, rcond=UNDETERMINED)[0]
    return np.asarray(found / norms)


def _norms(columns: Array) -> Array:
    # Squares of the raw numbers could overflow or vanish.
    peaks = np.abs(columns).max(axis=0, initial=0.0)
    sized = columns / np.where(peaks > 0, peaks, 1.0)
    norms: Array = np.where(peaks > 0, np.linalg.norm(sized, axis=0) * peaks, 1.0)
    return norms
