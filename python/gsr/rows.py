"""The rows that a law is fitted to: targets, missing values, weights, copies, and rows held out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError, MissingWarning
from gsr.options import MIN_ROWS
from gsr.transformation import Array, Indices

Missing = Literal["raise", "drop"]
#: Tables up to this size are searched for copies of rows if there are no weights.
MOST_COMPARED = 10_000
#: Columns that a message about missing values names.
MOST_NAMED = 8
#: Rows that a search looks at by default, and with which it goes on where the residuals of a law
#: are consistent with noise.
MAX_ROWS = 1000
MORE_ROWS = 5000


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, target and weights."""

    #: Of shape (N, d), and (N,).
    X: Array
    y: Array
    #: With a mean of 1; all rows count alike without.
    weights: Array | None = None
    #: If standard deviations are given: the mean of 1/sigma^2, by which weights were divided.
    precision: float | None = None
    #: Standard deviations of the features, 0 where they are exact.
    x_sigma: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Indices) -> Rows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        x_sigma = None if self.x_sigma is None else self.x_sigma[rows]
        return Rows(self.X[rows], self.y[rows], weights, self.precision, x_sigma).normalised()

    @property
    def sigma(self) -> Array | None:
        """Standard deviations of the rows, if they are given."""
        if self.precision is None:
            return None
        weights = np.ones(len(self)) if self.weights is None else self.weights
        return np.asarray(1.0 / np.sqrt(weights * self.precision))

    def normalised(self) -> Rows:
        """Return the rows with weights of mean 1; without, if they are all the same."""
        if self.weights is None:
            return self
        mean = float(self.weights.mean())
        precision = None if self.precision is None else self.precision * mean
        even = np.ptp(self.weights) == 0.0
        return replace(self, weights=None if even else self.weights / mean, precision=precision)


@dataclass(frozen=True, eq=False)
class Gaps:
    """The rows with missing values, and the columns that they are in; its text is a message."""

    #: Whether a row has a missing value, and the names as a message shows them.
    rows: npt.NDArray[np.bool_]
    columns: str

    @classmethod
    def of(cls, columns: Iterable[tuple[str, Array]], n_rows: int) -> Gaps:
        """Find the values that are NaN in columns with their names."""
        rows, names = np.zeros(n_rows, dtype=bool), []
        for name, values in columns:
            missing = np.isnan(values)
            if missing.any():
                rows |= missing
                names.append(name)
        return cls(rows, ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED))

    def __str__(self) -> str:
        count = f"{int(self.rows.sum())} of {len(self.rows)}"
        return f"{count} rows have missing values, in {self.columns}"


def without_missing(rows: Rows, policy: Missing, names: Sequence[str]) -> Rows:
    """Return the rows; by the policy "drop" without those with missing values, with a warning."""
    if policy == "raise":
        return rows
    columns = [*zip(names, rows.X.T, strict=True), ("the target", rows.y)]
    gaps = Gaps.of(columns, len(rows))
    if not gaps.rows.any():
        return rows
    if gaps.rows.all():
        raise GSRError(f"every row has a missing value, in {gaps.columns}: no rows are left")
    warnings.warn(f"{gaps}, and are left out", MissingWarning, stacklevel=4)
    return rows.take(np.flatnonzero(~gaps.rows))


def merged(rows: Rows) -> Rows:
    """Return each different row once, with the weights of its copies added up.

    So a row of weight 3 is the same as three copies of it, and one of weight 0 is none.
    """
    if rows.weights is None and (len(rows) > MOST_COMPARED or rows.x_sigma is not None):
        return rows
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    kept = np.flatnonzero(weights > 0.0)
    if not len(kept):
        raise GSRError("sample_weight is 0 in every row: no rows are left")
    if rows.x_sigma is not None:  # copies need not have the same errors
        return rows.take(kept)
    table = np.column_stack([rows.X, rows.y])[kept]
    unique, place = np.unique(table, axis=0, return_inverse=True)
    if rows.weights is None and len(unique) == len(table):
        return rows
    if len(unique) < MIN_ROWS:  # too few to work with by themselves
        if len(kept) >= MIN_ROWS:
            warnings.warn(
                f"only {len(unique)} of {len(kept)} rows differ: many laws go through them",
                UserWarning,
                stacklevel=4,
            )
        return rows.take(kept)
    summed = np.asarray(np.bincount(place.ravel(), weights=weights[kept]), dtype=float)
    X, y = np.asfortranarray(unique[:, :-1]), unique[:, -1].copy()
    return Rows(X, y, summed, rows.precision).normalised()


def split(rows: Rows, fraction: float | None, seed: int) -> tuple[Rows, Rows | None]:
    """Hold a fraction of the rows out, at random."""
    if fraction is None:
        return rows, None
    n_held = max(1, round(fraction * len(rows)))
    order = np.random.default_rng(seed).permutation(len(rows))
    return rows.take(np.sort(order[n_held:])), rows.take(np.sort(order[:n_held]))


def targets(y: Any) -> dict[str, Any]:
    """Return the columns of several targets by their names; y1, y2, ... unless they have some."""
    names = [str(name) for name in getattr(y, "columns", [])]
    columns = np.asarray(y).T
    names = names or [f"y{k + 1}" for k in range(len(columns))]
    if len(set(names)) < len(names):
        raise GSRError(f"names of the targets must differ, got {', '.join(names)}")
    return dict(zip(names, columns, strict=True))


def choose_subset(X: Array, y: Array, max_rows: int = MAX_ROWS, seed: int = 0) -> Indices:
    """Return the numbers of rows that stand for the whole table, in ascending order.

    The rows with the least and the greatest value of each column and of y are among them, so that
    the chosen rows span the same box; the others are random.
    """
    if max_rows < 1:
        raise GSRError(f"max_rows must be at least 1, got {max_rows}")
    if len(y) <= max_rows:
        return np.arange(len(y))
    columns = [y, *X.T]
    extremes = np.array([at for c in columns for at in (c.argmin(), c.argmax())])
    _, first = np.unique(extremes, return_index=True)
    kept = extremes[np.sort(first)][:max_rows]
    left = np.ones(len(y), bool)
    left[kept] = False
    rng = np.random.default_rng(seed)
    others = rng.choice(np.flatnonzero(left), max_rows - len(kept), replace=False)
    return np.sort(np.concatenate([kept, others]))
