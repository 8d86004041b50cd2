"""Whether a few rows, far from all others, rule a fit of least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gsr.equation import listed
from gsr.selection.choice import FrontEntry
from gsr.selection.criteria import priced_length, rough_length
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.loss import OF_MEDIAN, Loss, neighbour_values, robust_scale
from gsr.selection.noise import Noise
from gsr.selection.refine import attempted
from gsr.selection.structure_tests import Indices
from gsr.selection.target_scale import residuals
from gsr.transformation import Array

#: Fewer rows do not show which of them are far from the others.
LEAST_ROWS = 15
#: Outliers are at least so many standard deviations away, and at most this part of the rows.
FAR, MOST = 10.0, 0.1
#: The same in units of the range of their neighbours.
BEYOND = 2.0
#: Rows, next in size, by which the standard deviation near a row is estimated.
NEAR = 15
#: Laws that are fitted again.
LAWS = 20


def note(chosen: FrontEntry, entries: Sequence[FrontEntry]) -> str:
    """Say which rows rule the chosen law, and which law the others speak for."""
    data = chosen.data
    if data is None or chosen.exact or not data.loss.is_squared or len(data.y) < LEAST_ROWS:
        return ""
    rows = outlying_rows(data.X, data.y)
    if not 0 < len(rows) <= MOST * len(data.y):
        return ""
    robust = replace(data, loss=Loss("huber"))
    if not data.noise.absolute:  # its kind may have been judged by these rows
        robust = replace(robust, weights=None, noise=Noise())
    best = _best([chosen, *entries], robust)
    if best is None or _is_as_good(chosen, best, robust, rows):
        return ""
    found = np.zeros(len(data.y), dtype=bool)
    found[rows] = True
    return (
        f"the squared error is dominated by {listed(found)}, far from all others: try loss='huber',"
        f" by which {chosen.make(best)} is better"
    )


def outlying_rows(X: Array, y: Array) -> Indices:
    """Return the numbers of the rows that are far from their neighbours.

    The scale is that of rows of similar y, as noise may grow with it. Where y is steep, no row is
    far that differs from its neighbours little more than they do from each other, but for one on
    either side.
    """
    near = neighbour_values(X, y)
    left = y - np.median(near, axis=1)
    low, high = np.sort(near[:, 1:], axis=1)[:, [1, -2]].T
    beyond = np.maximum(low - y, y - high) > BEYOND * (high - low)
    order = np.argsort(y - left, kind="stable")
    sizes = np.abs(left[order])
    starts = np.clip(np.arange(len(y)) - NEAR // 2, 0, max(len(y) - NEAR, 0))
    scale = np.empty(len(y))
    scale[order] = [OF_MEDIAN * np.median(sizes[start : start + NEAR]) for start in starts]
    return np.flatnonzero(beyond & (np.abs(left) > FAR * scale))


def _best(entries: Sequence[FrontEntry], robust: Training) -> FittedLaw | None:
    """Return the law that describes most rows best, fitted to them."""
    known = sorted(entries[1:], key=lambda entry: rough_length(entry.law, robust))[:LAWS]
    fitted = [attempted(entry.law, robust) for entry in [entries[0], *known]]
    return min(
        (law for law in fitted if np.isfinite(law.rmse)),
        key=lambda law: priced_length(law, robust),
        default=None,
    )


def _is_as_good(chosen: FrontEntry, best: FittedLaw, robust: Training, rows: Indices) -> bool:
    """Tell whether the chosen law says the same of most rows, or the rows are no outliers."""
    left, here = residuals(best, robust), residuals(chosen.law, robust)
    if not np.isfinite(left).all():
        return True
    scale = robust_scale(left)
    others = np.setdiff1d(np.arange(len(left)), rows)
    same = np.abs(left - here)[others].max() <= scale
    return bool(same or (np.abs(left[rows]) < FAR * scale).any())
