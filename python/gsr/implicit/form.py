"""Forms sum_k a_k t_k(x, c) = r of implicit laws: values, gradients, orthogonal distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.lazy import sympy
from gsr.transformation import Array

#: Steps to the nearest point of a law. A row has not converged if |F| at its last point is more
#: than `FAR` times that at the row; the point after the first step is then used.
STEPS = 6
FAR = 0.1
EVALUATIONS = 40


def column_symbols(positive: Sequence[bool]) -> tuple[Any, ...]:
    """Return a symbol for each column; SymPy knows which are positive."""
    signs = ({"positive": True} if each else {"real": True} for each in positive)
    return tuple(sympy.Symbol(f"x{j}", **sign) for j, sign in enumerate(signs))


def inner_symbol(m: int) -> Any:
    """Return the symbol of a constant inside terms."""
    return sympy.Symbol(f"c{m}", real=True)


def nodes(term: Any) -> int:
    """Return the nodes of an expression; 1/x has two, and a function as many as a power."""
    parts = [each for each in sympy.preorder_traversal(term) if each != -1]
    return len(parts) + sum(1 for each in parts if each.is_Function)


class Values(NamedTuple):
    """F = sum_k a_k t_k - r with its derivatives in each row."""

    F: Array
    gradient: Array  # by the columns
    jacobian: Array  # by the constants: coefficients, right side, constants inside
    terms: Array


@dataclass(frozen=True, eq=False)
class Form:
    """A law sum_k a_k t_k(x, c) = r.

    Parameters
    ----------
    columns : tuple of symbols
        One for each column of the table.
    terms : tuple of SymPy expressions
        In the columns and in c0, c1, ...
    coefficients : array
        a_k.
    right : float
        r.
    inside : array
        The constants c0, c1, ...
    open_right : bool
        Whether r is fitted; otherwise it is 0.
    """

    columns: tuple[Any, ...]
    terms: tuple[Any, ...]
    coefficients: Array
    right: float
    inside: Array
    open_right: bool = True

    @property
    def constants(self) -> Array:
        """Coefficients, right side, constants inside."""
        return np.concatenate([self.coefficients, [self.right], self.inside])

    def with_constants(self, values: Array) -> Form:
        """Return the form with other constants."""
        n = len(self.terms)
        return replace(
            self, coefficients=values[:n], right=float(values[n]), inside=values[n + 1 :]
        )

    @property
    def key(self) -> tuple[frozenset[str], bool]:
        """A key that is equal for forms that differ only in their constants."""
        return frozenset(map(str, self.terms)), self.open_right

    @property
    def complexity(self) -> int:
        """Nodes of the expression, including fitted constants."""
        return sum(map(nodes, self.terms)) + len(self.terms) - 1 + int(self.free(0).sum())

    @property
    def used(self) -> list[int]:
        """The columns that occur in the law."""
        found = set().union(*(term.free_symbols for term in self.terms))
        return [j for j, symbol in enumerate(self.columns) if symbol in found]

    def free(self, pivot: int) -> npt.NDArray[np.bool_]:
        """Return which constants are fitted if the constant `pivot` sets the scale of the law."""
        found = np.ones(len(self.constants), dtype=bool)
        found[pivot] = False
        found[len(self.terms)] &= self.open_right
        return found

    def values(self, X: Array) -> Values:
        """Return F and its derivatives in rows of a table."""
        n, d = X.shape
        terms = np.empty((n, len(self.terms)))
        gradient = np.zeros((n, d))
        inner = np.zeros((n, len(self.inside)))
        with np.errstate(all="ignore"):
            for k, term in enumerate(self.terms):
                term_of = _compiled(term, self.columns, len(self.inside))
                a = self.coefficients[k]
                terms[:, k] = term_of.value(X, self.inside)
                for place, slope in term_of.slopes(X, self.inside):
                    if place < d:
                        gradient[:, place] += a * slope
                    else:
                        inner[:, place - d] += a * slope
            F = terms @ self.coefficients - self.right
        return Values(F, gradient, np.hstack([terms, np.full((n, 1), -1.0), inner]), terms)

    # ---- distances ---------------------------------------------------------------------------

    def foot_points(self, X: Array, scale: Array) -> Array:
        """Return the points of the law nearest to each row, with columns in units of `scale`."""
        first, z = self.values(X).F, X
        with np.errstate(all="ignore"):
            for _ in range(STEPS):
                at = self.values(z)
                along = at.gradient * scale**2
                size = (at.gradient * along).sum(axis=1)
                gap = at.F + (at.gradient * (X - z)).sum(axis=1)
                step = X - along * (gap / size)[:, None]
                if z is X:
                    nearest = step
                z = np.where(np.isfinite(step).all(axis=1)[:, None], step, z)
            converged = np.abs(self.values(z).F) <= FAR * np.abs(first) + np.finfo(float).tiny
        return np.where(converged[:, None], z, nearest)

    def distances(self, X: Array, scale: Array) -> Array:
        """Return the orthogonal distances to the law, with the sign of F."""
        away = np.linalg.norm((X - self.foot_points(X, scale)) / scale, axis=1)
        return np.asarray(np.sign(self.values(X).F) * away)

    def slopes(self, X: Array, scale: Array) -> Array:
        """Return the derivatives of the distances with respect to the constants."""
        at = self.values(self.foot_points(X, scale))
        with np.errstate(all="ignore"):
            steep = np.linalg.norm(at.gradient * scale, axis=1)
            found = np.nan_to_num(at.jacobian / steep[:, None], posinf=0.0, neginf=0.0)
        return np.asarray(found)

    def fitted(self, X: Array, scale: Array) -> Form | None:
        """Return the form with least squared distances; None if it is undefined in some row."""
        from scipy.optimize import least_squares

        at = self.values(X)
        if not np.isfinite(at.F).all():
            return None
        pivot = int(np.argmax(np.abs(self.coefficients) * at.terms.std(axis=0)))
        start = self.constants / self.coefficients[pivot]
        start[len(self.terms) + 1 :] = self.inside
        free = self.free(pivot)

        def form(values: Array) -> Form:
            everything = start.copy()
            everything[free] = values
            return self.with_constants(everything)

        def distances(values: Array) -> Array:
            return np.nan_to_num(form(values).distances(X, scale), nan=1e6, posinf=1e6, neginf=-1e6)

        if not free.any():
            return form(start[free])
        if free.sum() > len(X):
            return None
        found = least_squares(
            distances,
            start[free],
            jac=lambda values: form(values).slopes(X, scale)[:, free],
            x_scale="jac",
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
            max_nfev=EVALUATIONS,
        )
        return form(found.x)


class _Term(NamedTuple):
    """A term and its derivatives as NumPy functions."""

    function: Callable[..., Any]
    derivatives: tuple[tuple[int, Callable[..., Any]], ...]

    def value(self, X: Array, inside: Array) -> Any:
        """Return its values in rows of a table."""
        return self.function(*X.T, *inside)

    def slopes(self, X: Array, inside: Array) -> list[tuple[int, Any]]:
        """Return the places and values of the derivatives that are not 0."""
        return [(place, slope(*X.T, *inside)) for place, slope in self.derivatives]


@lru_cache(maxsize=4096)
def _compiled(term: Any, columns: tuple[Any, ...], n_inside: int) -> _Term:
    symbols = [*columns, *map(inner_symbol, range(n_inside))]
    used = [(j, symbol) for j, symbol in enumerate(symbols) if symbol in term.free_symbols]
    slopes = [(j, _slope(term, symbol)) for j, symbol in used]
    try:
        function, *rest = (
            sympy.lambdify(symbols, each, "numpy") for each in (term, *(s for _, s in slopes))
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise GSRError(f"{term} cannot be evaluated with NumPy: {error}") from error
    return _Term(function, tuple((j, slope) for (j, _), slope in zip(slopes, rest, strict=True)))


def _slope(term: Any, symbol: Any) -> Any:
    """Return a derivative in which signs are constant; SymPy leaves that of sign(1/x) as it is."""
    found = term.diff(symbol).replace(sympy.DiracDelta, _zero)
    of_signs = [each for each in found.atoms(sympy.Derivative) if isinstance(each.expr, sympy.sign)]
    return found.subs(dict.fromkeys(of_signs, 0))


def _zero(*_: Any) -> Any:
    return sympy.Integer(0)
