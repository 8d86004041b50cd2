"""Laws as plain data: their constants as one vector, and the rows they are fitted to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from gsr import _core
from gsr.encoding import evaluate, law_complexity
from gsr.encoding.rows import WEIGHTED, factors
from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.selection.noise import Loss, Noise
from gsr.transformation import Array, Indices

#: What fitting or inverting a law may raise; such a law is left out.
FAILURES = (GSRError, ArithmeticError, ValueError, IndexError, np.linalg.LinAlgError)
#: Rows of data in memory at a time.
BLOCK = 16384
#: The compiled fitter copies the rows and holds a Jacobian; longer tables are fitted in blocks.
FITTER_ROWS = 100_000
#: Relative step of numerical derivatives.
STEP = float(np.cbrt(np.finfo(float).eps))
TINY = float(np.finfo(float).tiny)

AnyMatrix = Sequence[Sequence[Any]]
Weigh = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class FittedLaw:
    """A law of the core whose constants were fitted again; it has the same attributes."""

    phi: tuple[AnyMatrix, ...]
    psi: tuple[AnyMatrix, ...]
    alpha: Array
    beta: Array  # the first is 1
    complexity: int = 0
    rmse: float = math.inf  # on the scale of y
    transformed_error: float = math.inf  # relative to the spread of g(y)
    exact: bool = False  # whether the residual is at rounding level and the law short to describe
    bits: float = 0.0  # description length

    @classmethod
    def of(cls, law: LawLike, **changes: Any) -> FittedLaw:
        """Copy a law with some attributes changed."""
        if not isinstance(law, FittedLaw):
            law = cls(
                tuple(law.phi), tuple(law.psi), np.array(law.alpha, dtype=float),
                np.array(law.beta, dtype=float), law.complexity, law.rmse,
                law.transformed_error, law.exact, law.bits,
            )  # fmt: skip
        return replace(law, **changes)


LawLike = _core.Law | FittedLaw


@dataclass(frozen=True, eq=False)
class Training:
    """The rows a law is fitted to, with the mapping tables that its matrices refer to."""

    library: Library
    target_library: Library
    X: Array
    y: Array
    weights: Array | None = None  # with a mean of 1
    noise: Noise = field(default_factory=Noise)  # where the weights come from
    #: If standard deviations are given: how much larger than theirs the variance is, at least 1.
    dispersion: float | None = None
    x_sigma: Array | None = None  # standard deviations of the features, 0 where they are exact
    loss: Loss = field(default_factory=Loss)  # what fits minimise, and of which errors are

    def with_noise(self, noise: Noise, values: Array) -> Training:
        """Return the rows weighted for noise around a law whose values there are given."""
        weights, known = noise.weights(values)
        even = noise.kind == "constant" or np.ptp(weights) == 0.0
        return replace(self, weights=None if even else weights, noise=known)

    def reweighted(self, weights: Array) -> Training:
        """Return the rows for least squares, with their weights multiplied by others."""
        found = weights if self.weights is None else weights * self.weights
        return replace(self, weights=found / found.mean(), loss=Loss())

    def take(self, rows: Indices) -> Training:
        """Return some of the rows, with weights of mean 1."""
        weights, noise = self.weights, self.noise
        if weights is not None:
            mean = float(weights[rows].mean())
            weights = weights[rows] / mean
            if noise.kind != "constant":
                noise = replace(noise, precision=noise.precision * mean)
        x_sigma = None if self.x_sigma is None else self.x_sigma[rows]
        return replace(
            self, X=np.asfortranarray(self.X[rows]), y=self.y[rows], weights=weights, noise=noise,
            x_sigma=x_sigma,
        )  # fmt: skip

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[Array, Array, Weigh]]:
        """Yield the rows as (X, y, weigh), some at a time.

        `weigh` multiplies the rows of an array by the square roots of their weights: squares of
        what it returns add up with the weights.
        """
        for start in range(0, len(self.y), size):
            part = slice(start, start + size)
            roots = None if self.weights is None else np.sqrt(self.weights[part])
            yield self.X[part], self.y[part], partial(_weigh, roots)

    @cached_property
    def fitter(self) -> Any:
        """The compiled fitter of laws to these rows; None if there are too many."""
        if len(self.y) > FITTER_ROWS:
            return None
        return _core.LawFitter(
            self.X, self.y, self.library.table, self.target_library.table, self.weights
        )

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "fitter"}

    @property
    def spread(self) -> float:
        """The standard deviation of y."""
        mean = np.average(self.y, weights=self.weights)
        return float(np.sqrt(np.average((self.y - mean) ** 2, weights=self.weights)))

    def features(self, law: LawLike, X: Array) -> Array:
        """Return phi over the rows of X, one column each."""
        if not law.phi:
            return np.empty((len(X), 0))
        with np.errstate(all="ignore"):
            return evaluate(law.phi, self.library, X)

    def targets(self, law: LawLike, y: Array) -> Array:
        """Return psi over y, one column each."""
        with np.errstate(all="ignore"):
            return evaluate(law.psi, self.target_library, y[:, None])


def _weigh(roots: Array | None, rows: Array) -> Array:
    return rows if roots is None else rows * (roots if rows.ndim == 1 else roots[:, None])


class Weight(NamedTuple):
    """Where a real constant inside an argument stands."""

    side: str
    term: int
    row: int
    column: int


def weights(law: LawLike) -> list[Weight]:
    """Return the places of the free weights; a weight of exactly 1 is not a constant."""
    found = []
    for side in ("phi", "psi"):
        for term, matrix in enumerate(getattr(law, side)):
            for i, row in enumerate(matrix):
                if len(row) > 2 and row[1] == WEIGHTED:
                    half = (len(row) - 2) // 2
                    found += [
                        Weight(side, term, i, 2 + half + j)
                        for j in range(half)
                        if row[2 + j] and row[2 + half + j] not in (0.0, 1.0)
                    ]
    return found


def constants(law: LawLike) -> Array:
    """Return alpha, beta without its leading 1, and the weights inside arguments."""
    inside = [getattr(law, w.side)[w.term][w.row][w.column] for w in weights(law)]
    parts = [np.asarray(law.alpha, dtype=float), np.asarray(law.beta, dtype=float)[1:], inside]
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])


def inner_constants(law: LawLike) -> Array:
    """Return the weights inside arguments, the last of `constants`."""
    return constants(law)[len(law.phi) + len(law.psi) - 1 :]


def with_constants(law: LawLike, values: Array) -> FittedLaw:
    """Return the law with other constants, in the order of `constants`."""
    k, p = len(law.phi), len(law.psi) - 1
    places = weights(law)
    sides = {side: [[list(r) for r in m] for m in getattr(law, side)] for side in ("phi", "psi")}
    for place, value in zip(places, values[k + p :], strict=True):
        # A weight of exactly 1 or 0 would not count as a constant, and the others would move up.
        free = float(np.nextafter(1.0, 2.0)) if value == 1.0 else float(value) or TINY
        sides[place.side][place.term][place.row][place.column] = free
    if places:
        law = FittedLaw.of(law, phi=tuple(sides["phi"]), psi=tuple(sides["psi"]))
    beta = np.concatenate([[1.0], values[k : k + p]])
    return FittedLaw.of(law, alpha=np.array(values[:k], dtype=float), beta=beta)


def weight_slopes(law: LawLike, data: Training, X: Array, y: Array) -> Array:
    """Return d(f(x) - g(y))/dw for every weight, one column each."""
    places = weights(law)
    values = constants(law)
    first = len(values) - len(places)
    slopes = np.empty((len(y), len(places)))
    for j, place in enumerate(places):
        step = STEP * abs(values[first + j])
        ends = []
        for sign in (1.0, -1.0):
            moved = values.copy()
            moved[first + j] += sign * step
            ends.append(_side(with_constants(law, moved), data, place, X, y))
        with np.errstate(all="ignore"):
            slopes[:, j] = (ends[0] - ends[1]) / (2.0 * step)
    return slopes


def _side(law: FittedLaw, data: Training, place: Weight, X: Array, y: Array) -> Array:
    """Return the one term that the weight is in, with the sign it has in f(x) - g(y)."""
    matrix = getattr(law, place.side)[place.term]
    with np.errstate(all="ignore"):
        if place.side == "phi":
            values: Array = evaluate([matrix], data.library, X)[:, 0] * law.alpha[place.term]
        else:
            values = -evaluate([matrix], data.target_library, y[:, None])[:, 0]
            values *= law.beta[place.term]
    return values


def structure(law: LawLike) -> tuple[Any, ...]:
    """Return the terms of a law without its constants, to tell laws of one structure by."""
    return (_shapes(law.psi), frozenset(_shapes([matrix]) for matrix in law.phi))


def _shapes(matrices: Sequence[AnyMatrix]) -> tuple[Any, ...]:
    return tuple(
        tuple(tuple(int(n) if float(n).is_integer() else "c" for n in row) for row in matrix)
        for matrix in matrices
    )


def without_repeats(laws: Sequence[LawLike]) -> list[LawLike]:
    """Return of the laws of each structure the one with the least error."""
    best: dict[tuple[Any, ...], LawLike] = {}
    for law in laws:
        known = best.setdefault(structure(law), law)
        if (law.exact, -law.rmse) > (known.exact, -known.rmse):
            best[structure(law)] = law
    return list(best.values())


def recounted(law: FittedLaw, data: Training) -> FittedLaw:
    """Return a law whose terms were changed with its nodes counted anew."""
    tables = (data.library, data.target_library)
    return replace(law, complexity=law_complexity(law.psi, law.phi, *tables, data.X.shape[1]))


def variables(law: LawLike, library: Library) -> list[int]:
    """Return the numbers of the features that a law uses."""
    rows = (row for matrix in law.phi for row in factors(matrix, library))
    return sorted(set().union(*(row.argument.variables for row in rows)))


def polished(residuals: Callable[[Array], Array], start: Array, evaluations: int) -> Array:
    """Return the constants of least squares by Levenberg-Marquardt steps from a start.

    They are scaled to 1, and stay where they are if a residual there is not finite.
    """
    if not len(start):
        return start
    from scipy.optimize import least_squares

    unit = np.where(start == 0, 1.0, np.abs(start))
    how: dict[str, Any] = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)
    how["method"] = "lm" if len(residuals(start)) >= len(start) else "trf"
    try:
        found = least_squares(
            lambda step: residuals(start + unit * step), 0.0 * start, max_nfev=evaluations, **how
        )
    except (ValueError, np.linalg.LinAlgError):
        return start
    return np.asarray(start + unit * found.x)


def norms(columns: Array) -> Array:
    """Return the norms of columns, and 1 for columns of zeros."""
    found = np.linalg.norm(columns, axis=0)
    return np.where(found > 0, found, 1.0)


def scaled_lstsq(columns: Array, target: Array, rcond: float = 1e-14) -> Array:
    """Return least-squares coefficients; columns are scaled to norm 1 for the cut at `rcond`."""
    sizes = norms(columns)
    found = np.asarray(np.linalg.lstsq(columns / sizes, target, rcond=rcond)[0], dtype=float)
    return (found.T / sizes).T


def triangle(blocks: Iterator[Array]) -> Array:
    """Return R of the QR decomposition of all blocks stacked, one block in memory at a time."""
    found: Array | None = None
    for block in blocks:
        stacked = block if found is None else np.vstack([found, block])
        found = np.asarray(np.linalg.qr(stacked, mode="r"))
    assert found is not None, "there are rows"
    return found
