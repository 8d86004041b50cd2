"""Prediction: the y that solves g(y) = v (paper, Section 3.1, "Making predictions").

Where g is one invertible transformation all solutions are written down; otherwise they are found
on the monotone segments of g. Among several the training data decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gsr._rows import Matrix, Row, rows
from gsr.encoding import evaluate
from gsr.library import Library
from gsr.roots import Function, Mask, Scan
from gsr.signs import Neighbours, SignRule, eliminated_rule, parity_rule
from gsr.transformation import POWERS, Array, Symbolic

PERIODS_AT_MOST = 1000
SAME = 1e-6


class Solution(NamedTuple):
    """Values of y; `solved` is False where there is none, `guessed` True where several were."""

    values: Array
    solved: Mask
    guessed: Mask


@dataclass(frozen=True)
class ClosedForm:
    """The inverse of a transformation: all solutions are p, mirror - p, and their periods."""

    inverse: Callable[[Array], Array]
    symbolic: Symbolic | None
    mirror: float = np.nan
    period: float = 0.0

    def candidates(self, v: Array, low: float, high: float) -> Array:
        """Return all solutions in and around the range, one line for each branch."""
        with np.errstate(all="ignore"):
            principal = np.asarray(self.inverse(v), dtype=float)
        lines = [principal] if np.isnan(self.mirror) else [principal, self.mirror - principal]
        if not self.period:
            return np.array(lines)
        shifts = self.period * self.turns(low, high)
        return np.concatenate([line + shifts[:, None] for line in lines])

    def turns(self, low: float, high: float) -> Array:
        """Return the whole periods that lead from the principal branch into the range."""
        first, last = np.floor(low / self.period) - 1, np.ceil(high / self.period) + 1
        if last - first > PERIODS_AT_MOST:
            first = np.round((low + high) / 2 / self.period) - PERIODS_AT_MOST // 2
            last = first + PERIODS_AT_MOST
        return np.arange(first, last + 1)

    def branches(self, y: Array, p: Array) -> list[tuple[bool, int]]:
        """Return the (mirrored, turns) that lead from principal values p to y."""
        sides = [False] if np.isnan(self.mirror) else [False, True]
        images = np.array([self.mirror - p if mirrored else p for mirrored in sides])
        turns = np.round((y - images) / self.period) if self.period else np.zeros_like(images)
        misfit = np.abs(y - images - turns * self.period)
        # Where the sides meet, both fit and neither is meant.
        fits = (misfit < SAME * (1 + np.abs(y))) & (np.sum(misfit, axis=0) > SAME)
        fits |= len(sides) == 1
        return sorted({(sides[i], int(turns[i, j])) for i, j in np.argwhere(fits)})


def closed_form(library: Library, matrix: Matrix) -> ClosedForm | None:
    """Return the inverse of a basis function of y, None if it has none in closed form."""
    factors = [row for row in rows(matrix, library) if row is not None]
    names = [library.names[row.code] for row in factors]
    if len(factors) == 1:
        entry = library.table[factors[0].code]
        if not entry.has_inverse:
            return None
        symbolic = library.inverse_sympy(factors[0].code)
        return ClosedForm(entry.inverse, symbolic, entry.mirror, entry.period)
    total = sum(POWERS.get(name, np.nan) for name in names)
    return _power_inverse(total) if factors and np.isfinite(total) and total else None


def _power_inverse(q: float) -> ClosedForm:
    """Invert y^q; q is a multiple of one half."""
    odd = q % 2 == 1

    def inverse(v: Array) -> Array:
        size: Array = np.abs(v) ** (1 / q)
        return np.copysign(size, v) if odd else np.where(v < 0, np.nan, size)

    def symbolic(v: Any) -> Any:
        import sympy

        root = sympy.Rational(1 / sympy.Rational(q))
        return sympy.sign(v) * sympy.Abs(v) ** root if odd else v**root

    return ClosedForm(inverse, symbolic, 0.0 if q % 2 == 0 else np.nan)


@dataclass(frozen=True)
class Branches:
    """What the training data say about which solution is meant; plain data.

    Parameters
    ----------
    low, high : float
        The range of y.
    home : tuple of two floats, optional
        The interval on which g is monotone, if it holds every y and no sign rule is known.
    sign : SignRule, optional
        Gives the sign of y, if g is even.
    neighbours : Neighbours, optional
        The training data, kept only if nothing else decides.
    """

    low: float
    high: float
    home: tuple[float, float] | None = None
    sign: SignRule | None = None
    neighbours: Neighbours | None = None

    def choose(self, candidates: Array, X: Array) -> tuple[Array, Mask]:
        """Return one candidate of each column, and where it is no more than a guess.

        What was verified on the training data counts first, then the range of y, then the
        nearest training row.
        """
        candidates = np.where(np.isfinite(candidates), candidates, np.nan)
        slack = SAME * (self.high - self.low or max(abs(self.low), 1.0))
        outside = (candidates < self.low - slack) | (candidates > self.high + slack)
        rank = 2.0 * outside
        if self.home is not None:
            rank += 8.0 * (
                (candidates < self.home[0] - slack) | (candidates > self.home[1] + slack)
            )
        if self.sign is not None:
            rank += 4.0 * (self.sign(X) * np.sign(candidates) < 0)
        rank[np.isnan(candidates)] = np.inf
        goal = self.neighbours(X) if self.neighbours else np.clip(candidates, self.low, self.high)
        equals = rank == rank.min(axis=0)
        distance = np.where(equals & np.isfinite(rank), np.abs(candidates - goal), np.inf)
        chosen = candidates[distance.argmin(axis=0), np.arange(candidates.shape[1])]
        rivals = equals & (np.abs(candidates - chosen) > slack)
        return chosen, rivals.any(axis=0)


class Inversion:
    """Solves g(y) = v.

    Parameters
    ----------
    library : Library
        Mapping table of the target.
    psi : sequence of matrices
        Basis functions of y.
    beta : array
        Their coefficients.
    branches : Branches
        How to choose among several solutions.
    """

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
        logarithms: Sequence[tuple[float, Row]] = (),
    ) -> Inversion:
        """Learn from training data which solution is meant.

        Parameters
        ----------
        library, psi, beta
            The target's side of the law.
        X, y : array
            Training data.
        logarithms : sequence of (coefficient, Row)
            The terms of f that are one logarithm.

        Returns
        -------
        Inversion
        """
        low, high = float(y.min()), float(y.max())
        plain = cls(library, psi, beta, Branches(low, high))
        rule = parity_rule(X, y, logarithms, float(beta[0])) if plain.is_logarithm else None
        home = plain.scan.home(y) if rule is None else None
        if rule is None and home is None and low < 0 < high and plain.is_even(y):
            rule = eliminated_rule(X, y, [row for _, row in logarithms])
        neighbours = Neighbours.of(X, y) if rule is None and home is None else None
        return cls(library, psi, beta, Branches(low, high, home, rule, neighbours))

    @cached_property
    def function(self) -> Function:
        """The transformed target g."""
        return Function(lambda y: evaluate(self.psi, self.library, y[:, None]) * self.beta)

    @cached_property
    def scan(self) -> Scan:
        """The monotone segments of g."""
        return Scan(self.function, self.branches.low, self.branches.high)

    @cached_property
    def closed(self) -> ClosedForm | None:
        """The inverse of g's one basis function, if it has one in closed form."""
        return closed_form(self.library, self.psi[0]) if len(self.psi) == 1 else None

    @property
    def is_logarithm(self) -> bool:
        """Whether g is a multiple of ln|y|."""
        names = [
            [self.library.names[row.code] for row in rows(matrix, self.library) if row]
            for matrix in self.psi
        ]
        return names == [["ln"]]

    def is_even(self, y: Array) -> bool:
        """Tell whether g(-y) = g(y) for all of y."""
        value, mirrored = self.function(y), self.function(-y)
        known = np.isfinite(value) & np.isfinite(mirrored)
        return bool(known.any() and np.allclose(value[known], mirrored[known], rtol=1e-9))

    def solve(self, v: Array, X: Array) -> Solution:
        """Return the y of each row.

        Parameters
        ----------
        v : array of shape (n,)
            f(x), the values g(y) must have.
        X : array of shape (n, d)
            The features, which may decide between solutions.

        Returns
        -------
        Solution
        """
        values = np.full(len(v), np.nan)
        guessed = np.zeros(len(v), bool)
        left = np.flatnonzero(np.isfinite(v))
        for candidates in (self._closed_candidates, self._scanned_candidates):
            if len(left):
                values[left], guessed[left] = self.branches.choose(candidates(v[left]), X[left])
                left = left[~np.isfinite(values[left])]
        return Solution(values, np.isfinite(values), guessed)

    def _closed_candidates(self, v: Array) -> Array:
        if self.closed is None:
            return np.full((1, len(v)), np.nan)
        low, high = self.branches.low, self.branches.high
        found = self.closed.candidates(v / self.beta[0], low, high)
        fine = [self.function.solves(line, v) for line in found]
        return np.where(fine, found, np.nan)

    def _scanned_candidates(self, v: Array) -> Array:
        return self.scan.solve(v)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("library", "psi", "beta", "branches")
        return {name: self.__dict__[name] for name in kept}

    def overflows(self, v: Array) -> Mask:
        """Tell where the solution is too large for floating point."""
        if self.closed is None:
            return np.zeros(len(v), bool)
        with np.errstate(all="ignore"):
            y = np.asarray(self.closed.inverse(v / self.beta[0]), dtype=float)
        return np.asarray(np.isinf(y))
