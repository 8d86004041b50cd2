"""Which rows of a big table to search on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.transformation import Array

#: Rows that a search looks at by default, and with which it goes on where the residuals of a law
#: are consistent with noise.
MAX_ROWS = 1000
MORE_ROWS = 5000

Indices = npt.NDArray[np.intp]


def choose(X: Array, y: Array, max_rows: int = MAX_ROWS, seed: int = 0) -> Indices:
    """Choose rows that stand for the whole table.

    The rows with the least and the greatest value of each column and of y are among them, so that
    the chosen rows span the same box; the others are random. Row numbers are in ascending order.
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
