"""Prediction: the y that solves g(y) = v (paper, Section 3.1, "Making predictions").

Where g is a chain of invertible functions all solutions are written down; otherwise they are found
on the monotone segments of g. Among several the training data decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from gsr.encoding import evaluate
from gsr.encoding.fold import values_of
from gsr.encoding.rows import Argument, Matrix, Row, factors, variable
from gsr.library import Library
from gsr.prediction.chain import SAME, ClosedForm, closed_argument, closed_form, powers_of
from gsr.prediction.roots import Function, Scan
from gsr.transformation import Array, Indices, Mask

INTEGER_TOLERANCE = 1e-6
#: A feature that varies less, relative to its size, is constant.
ROUNDING = 1e-12
#: Rows further from the training data, in standard deviations, are taken for this far.
FAR = 1e6


# ---- which of several solutions is meant -------------------------------------------------------


def lone_logarithm(matrix: Matrix, library: Library) -> Row | None:
    """Return the row of ln if the basis function is that logarithm and nothing else."""
    powers = powers_of(factors(matrix, library), library)
    row = next(iter(powers), None)
    if not isinstance(row, Row) or powers != {row: 1}:
        return None
    return row if library.traits[row.code].of_magnitude else None


def logarithms(
    phi: Sequence[Matrix], alpha: Sequence[float], library: Library
) -> list[tuple[float, Argument]]:
    """Return the arguments of terms that are one logarithm, with their coefficients."""
    found = []
    for matrix, c in zip(phi, alpha, strict=True):
        row = lone_logarithm(matrix, library)
        if row is not None:
            found.append((float(c), row.argument))
    return found


@dataclass(frozen=True)
class SignRule:
    """sign(y) = constant times the signs of some arguments."""

    constant: int
    arguments: tuple[Argument, ...]
    library: Library | None = field(default=None, compare=False, repr=False)

    def __call__(self, X: Array) -> Array:
        """Return 1 or -1 for each row of X; 0 where an argument is 0."""
        signs = np.full(len(X), float(self.constant))
        for argument in self.arguments:
            signs *= np.sign(values_of(argument, X, self.library))
        return signs


@dataclass(frozen=True)
class Neighbours:
    """The training rows; returns the y of the one nearest to a new row."""

    scale: Array
    X: Array
    y: Array

    @classmethod
    def of(cls, X: Array, y: Array) -> Neighbours:
        """Keep training data, with the features' standard deviations as scale."""
        size = np.abs(X).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        spread = (X / size).std(axis=0)
        scale = np.maximum(spread * size, np.finfo(float).tiny)
        return cls(np.where(spread > ROUNDING, scale, 1.0), X.copy(), y.copy())

    def __call__(self, X: Array) -> Array:
        """Return the y of the training row nearest to each row of X."""
        from scipy.spatial import cKDTree

        with np.errstate(over="ignore"):
            known, asked = self.X / self.scale, X / self.scale
        # A feature that the law does not use may be missing, and squares must not overflow.
        asked = np.nan_to_num(asked).clip(known.min(axis=0) - FAR, known.max(axis=0) + FAR)
        _, nearest = cKDTree(known).query(asked)
        found: Array = self.y[nearest]
        return found


def parity_rule(
    X: Array,
    y: Array,
    logarithms: Sequence[tuple[float, Argument]],
    beta: float,
    library: Library | None = None,
) -> SignRule | None:
    """Find the sign in beta ln|y| = sum c ln|argument| + ...: the product of the odd powers.

    The complex logarithm with integer coefficients gives it exactly.
    """
    powers = [(c / beta, argument) for c, argument in logarithms]
    if any(abs(c - round(c)) > INTEGER_TOLERANCE for c, _ in powers):
        return None
    odd = tuple(argument for c, argument in powers if round(c) % 2 == 1)
    rules = (SignRule(constant, odd, library) for constant in (1, -1))
    return next((rule for rule in rules if _holds(rule, X, y)), None)


def eliminated_rule(
    X: Array, y: Array, logarithms: Sequence[Argument], library: Library | None = None
) -> SignRule | None:
    """Find signs of logarithms' arguments and of features whose product is the sign of y.

    Signs multiply as bits add, so this is a linear system over GF(2).
    """
    arguments = [*logarithms, *(variable(v) for v in range(1, X.shape[1] + 1))]
    arguments = list(dict.fromkeys(arguments))
    values = np.column_stack([values_of(a, X, library) for a in arguments])
    known = (values != 0).all(axis=1) & (y != 0)
    bits = np.column_stack([np.ones(len(X), bool), values < 0, y < 0])[known]
    chosen = _solve_bits(np.unique(bits, axis=0)) if len(bits) else None
    if chosen is None:
        return None
    signed = tuple(arguments[j - 1] for j in chosen if j)
    rule = SignRule(-1 if 0 in chosen else 1, signed, library)
    return rule if _holds(rule, X, y) else None


def _holds(rule: SignRule, X: Array, y: Array) -> bool:
    signs = rule(X) * np.sign(y)
    return bool((signs >= 0).all() and (signs > 0).any())


def _solve_bits(system: Mask) -> list[int] | None:
    """Return the columns that add up to the last one; the first columns are preferred."""
    system = system.copy()
    pivots: list[int] = []
    for j in range(system.shape[1] - 1):
        rank = len(pivots)
        below = np.flatnonzero(system[rank:, j])
        if not len(below):
            continue
        system[[rank, rank + below[0]]] = system[[rank + below[0], rank]]
        others = system[:, j].copy()
        others[rank] = False
        system[others] ^= system[rank]
        pivots.append(j)
    if system[len(pivots) :, -1].any():
        return None
    return [j for i, j in enumerate(pivots) if system[i, -1]]


@dataclass(frozen=True)
class Branches:
    """What the training data say about which solution is meant; plain data."""

    #: The range of y.
    low: float
    high: float
    #: The interval on which g is monotone, if it holds every y and no sign rule is known.
    home: tuple[float, float] | None = None
    #: The sign of y, if g is even; that of t, if g is ln|t| and t has one y for each value.
    sign: SignRule | None = None
    #: The training data, kept only if nothing else decides.
    neighbours: Neighbours | None = None
    #: The mirrored solutions that the training data meet, as `ClosedForm.sides` numbers them.
    sides: tuple[int, ...] | None = None

    @property
    def width(self) -> float:
        """Of the range of y, or of what is near its one value."""
        return self.high - self.low or max(abs(self.low), 1.0)

    def choose(
        self,
        candidates: Array,
        X: Array,
        signed: Array | None = None,
        sides: Indices | None = None,
    ) -> tuple[Array, Mask]:
        """Return one candidate of each column, and where it is a guess.

        What was verified on the training data counts first, then the range of y, then the
        nearest training row. The sign rule is about `signed`, the candidates unless given.
        `sides` are those of the candidates.
        """
        signed = candidates if signed is None else signed
        candidates = np.where(np.isfinite(candidates), candidates, np.nan)
        slack = SAME * self.width
        outside = (candidates < self.low - slack) | (candidates > self.high + slack)
        rank = 2.0 * outside
        if self.home is not None:
            beyond = np.maximum(self.home[0] - candidates, candidates - self.home[1])
            rank += 8.0 * (beyond > slack) + 0.5 * (beyond > 0)
        if self.sign is not None:
            rank += 4.0 * (self.sign(X) * np.sign(signed) < 0)
        if self.sides is not None and sides is not None:
            rank += 1.0 * ~np.isin(sides, (-1, *self.sides))
        rank[np.isnan(candidates)] = np.inf
        goal = self.neighbours(X) if self.neighbours else np.clip(candidates, self.low, self.high)
        equals = rank == rank.min(axis=0)
        distance = np.where(equals & np.isfinite(rank), np.abs(candidates - goal), np.inf)
        chosen = candidates[distance.argmin(axis=0), np.arange(candidates.shape[1])]
        rivals = equals & (np.abs(candidates - chosen) > slack)
        return chosen, rivals.any(axis=0)


# ---- the solutions -----------------------------------------------------------------------------


class Solution(NamedTuple):
    """Values of y; `solved` is False where there is none, `guessed` True where several were."""

    values: Array
    solved: Mask
    guessed: Mask


@lru_cache(maxsize=256)
def _scan(library: Library, psi: Any, beta: tuple[float, ...], low: float, high: float) -> Scan:
    """Scan g once for all laws that have it: they are many, and a scan is slow."""
    return Scan(_function(library, psi, np.array(beta)), low, high)


def _function(library: Library, psi: Sequence[Matrix], beta: Array) -> Function:
    return Function(lambda y: evaluate(psi, library, y[:, None]) * beta)


class Inversion:
    """Solves g(y) = v."""

    def __init__(
        self, library: Library, psi: Sequence[Matrix], beta: Array, branches: Branches
    ) -> None:
        self.library, self.psi, self.beta = library, list(psi), np.asarray(beta, dtype=float)
        self.branches = branches

    @classmethod
    def learn(
        cls,
        library: Library,
        psi: Sequence[Matrix],
        beta: Array,
        X: Array,
        y: Array,
        logarithms: Sequence[tuple[float, Argument]] = (),
        feature_library: Library | None = None,
    ) -> Inversion:
        """Learn from training data which solution is meant."""
        low, high = float(y.min()), float(y.max())
        plain = cls(library, psi, beta, Branches(low, high))
        signed, rule = plain.signed(y), None
        if plain.is_logarithm:
            rule = parity_rule(X, signed, logarithms, float(beta[0]), feature_library)
        home = plain.scan.home(y) if rule is None else None
        if rule is None and home is None and low < 0 < high and plain.is_even(y):
            arguments = [argument for _, argument in logarithms]
            rule = eliminated_rule(X, signed, arguments, feature_library)
        neighbours = Neighbours.of(X, y) if rule is None and home is None else None
        met = plain.sides(y)
        sides = None if met is None else tuple(np.unique(met[met >= 0]).tolist())
        return cls(library, psi, beta, Branches(low, high, home, rule, neighbours, sides))

    @cached_property
    def function(self) -> Function:
        """The transformed target g."""
        return _function(self.library, self.psi, self.beta)

    @cached_property
    def scan(self) -> Scan:
        """The monotone segments of g."""
        psi = tuple(tuple(map(tuple, matrix)) for matrix in self.psi)
        low, high = self.branches.low, self.branches.high
        return _scan(self.library, psi, tuple(self.beta.tolist()), low, high)

    @cached_property
    def closed(self) -> ClosedForm | None:
        """The inverse of g's one basis function, if it has one in closed form."""
        return closed_form(self.library, self.psi[0]) if len(self.psi) == 1 else None

    @cached_property
    def logarithm(self) -> Argument | None:
        """The t of g = ln|t| times a number; y itself in most laws that have one."""
        row = lone_logarithm(self.psi[0], self.library) if len(self.psi) == 1 else None
        return row.argument if row is not None else None

    @cached_property
    def inside(self) -> ClosedForm | None:
        """The inverse of the t of g = ln|t|, if it has one y for each value."""
        if self.logarithm is None:
            return None
        found = closed_argument(self.library, self.logarithm)
        return found if found is not None and found.is_injective else None

    @property
    def is_logarithm(self) -> bool:
        """Whether g is a multiple of ln|t| in which the sign of t is all that is lost."""
        return self.inside is not None

    def signed(self, y: Array) -> Array:
        """Return that whose sign the sign rule gives: t in g = ln|t|, else y."""
        if self.logarithm is None or not self.is_logarithm or self.logarithm.lone == 1:
            return y
        values = values_of(self.logarithm, y.reshape(-1, 1), self.library)
        return values.reshape(y.shape)

    def sides(self, y: Array) -> Indices | None:
        """Return which mirrored solutions some y are, None without a closed form."""
        if self.closed is None or self.closed.is_injective:
            return None
        found: Indices = self.closed.sides(y.ravel()).reshape(y.shape)
        return found

    def is_even(self, y: Array) -> bool:
        """Return whether g(-y) = g(y) for all of y."""
        value, mirrored = self.function(y), self.function(-y)
        known = np.isfinite(value) & np.isfinite(mirrored)
        return bool(known.any() and np.allclose(value[known], mirrored[known], rtol=1e-9))

    def solve(self, v: Array, X: Array) -> Solution:
        """Return the y of each row."""
        values = np.full(len(v), np.nan)
        guessed = np.zeros(len(v), bool)
        left = np.flatnonzero(np.isfinite(v))
        for candidates in (self._closed_candidates, self._scanned_candidates):
            if len(left):
                found = candidates(v[left])
                told = self.signed(found), self.sides(found)
                values[left], guessed[left] = self.branches.choose(found, X[left], *told)
                left = left[~np.isfinite(values[left])]
        return Solution(values, np.isfinite(values), guessed)

    def _closed_candidates(self, v: Array) -> Array:
        if self.closed is None:
            return np.full((1, len(v)), np.nan)
        low, high = self.branches.low, self.branches.high
        found = self.closed.candidates(v / self.beta[0], low, high)
        return np.array([self._verified(line, v) for line in found])

    def _verified(self, y: Array, v: Array) -> Array:
        """Replace by NaN what does not solve g(y) = v, or outside the range by rounding only."""
        low, high, width = self.branches.low, self.branches.high, self.branches.width
        fine = self.function.solves(y, v, width)
        away = np.flatnonzero(fine & ((y < low) | (y > high)))
        fine[away] = ~self.function.is_level(y[away], v[away], width)
        return np.where(fine, y, np.nan)

    def _scanned_candidates(self, v: Array) -> Array:
        return self.scan.solve(v)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("library", "psi", "beta", "branches")
        return {name: self.__dict__[name] for name in kept}

    def overflows(self, v: Array) -> Mask:
        """Return where the solution is too large for floating point."""
        if self.closed is None:
            return np.zeros(len(v), bool)
        return np.asarray(np.isinf(self.closed.inverse(v / self.beta[0])))
