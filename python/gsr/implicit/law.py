"""`ImplicitLaw`: a fitted form with its text, its uncertainty and its verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gsr.deadline import TimeUp, deadline
from gsr.encoding import latex
from gsr.encoding.sympy_forms import written
from gsr.exceptions import GSRError
from gsr.implicit.form import Form, inner_symbol
from gsr.implicit.scan import BITS_PER_NODE, shuffled
from gsr.lazy import sympy
from gsr.selection.residuals import FALSE_ALARM, LEAST_ROWS, Level, structure_probability
from gsr.selection.rounding import known_bits, simplest
from gsr.selection.uncertainty import Uncertainty
from gsr.transformation import Array

#: Distances, relative to those of independent columns, that are treated as rounding errors.
EXACT = 1e-9
#: Half of the distances of a normal distribution are below this many standard deviations.
HALF = 0.6745
#: Seconds to solve a law for a column.
SOLVING = 10.0
#: Rows on which solutions are tried.
TRIED = 50
WHOLE = 1e-11


@dataclass(frozen=True, eq=False, repr=False)
class ImplicitLaw:
    """A law between columns without a target.

    Parameters
    ----------
    form : Form
        The law, scaled so that one of its numbers is 1.
    names : tuple of str
        Names of the columns.
    scale : array of shape (d,)
        Units of distances: standard deviations of the noise of the columns, or of the columns.
    covariance : array
        Of the constants of the form, by least squared orthogonal distances.
    error : float
        Root mean square of the orthogonal distances of the training rows.
    spread : float
        The same for rows in which each column was permuted independently.
    level : str
        Verdict on the residuals: ``"rounding"``, ``"noise"``, ``"above"`` or ``"unknown"``.
    n_rows : int
        Number of training rows.
    sample : array of shape (n, d)
        Some of the training rows.
    """

    form: Form
    names: tuple[str, ...]
    scale: Array
    covariance: Array
    error: float
    spread: float
    level: Level
    n_rows: int
    sample: Array

    # ---- reading -----------------------------------------------------------------------------

    @property
    def complexity(self) -> int:
        """Nodes of the expression."""
        return self.form.complexity

    @property
    def score(self) -> float:
        """Part of the scatter of independent columns that the law explains; 1 is exact."""
        return 1.0 - (self.error / self.spread) ** 2

    @property
    def columns(self) -> list[str]:
        """Names of the columns that occur in the law."""
        return [self.names[j] for j in self.form.used]

    def _sides(self) -> tuple[Any, Any]:
        """Return both sides; negative terms are moved to the right if it is 0."""
        parts = [a * term for a, term in self._terms()]
        if self.form.open_right:
            return sympy.Add(*parts), _number(self.form.right)
        signs = self.form.coefficients < 0
        left, right = (
            sympy.Add(*(-part if side else part for part, s in zip(parts, signs, strict=True)
                        if s == side))
            for side in (False, True)
        )  # fmt: skip
        return left, right

    def _terms(self) -> list[tuple[Any, Any]]:
        """Return the terms in the user's names, with their coefficients."""
        known = {
            inner_symbol(m): sympy.Float(value) for m, value in enumerate(self.form.inside.tolist())
        }
        terms = (self._named(term.xreplace(known)) for term in self.form.terms)
        return [(_number(a), t) for a, t in zip(self.form.coefficients, terms, strict=True)]

    def sympy(self) -> Any:
        """Return the law as a SymPy equation."""
        return sympy.Eq(*self._sides(), evaluate=False)

    def latex(self) -> str:
        """Return the law as LaTeX, with six significant digits."""
        sides = (map(lambda t: t.as_coeff_Mul(), sympy.Add.make_args(s)) for s in self._sides())
        return " = ".join(latex.side([(float(a), term) for a, term in side]) for side in sides)

    def __str__(self) -> str:
        return " = ".join(map(written, self._sides()))

    def __repr__(self) -> str:
        return str(self)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    # ---- using -------------------------------------------------------------------------------

    def residuals(self, X: Array) -> Array:
        """Return the left side minus the right side in each row."""
        return self.form.values(self._rows(X)).F

    def distance(self, X: Array) -> Array:
        """Return the orthogonal distance of each row to the law, with the sign of the residual.

        Columns are in units of `scale`.
        """
        return self.form.distances(self._rows(X), self.scale)

    def _rows(self, X: Any) -> Array:
        rows = np.asarray(X, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != len(self.names):
            raise GSRError(
                f"X must have {len(self.names)} columns ({', '.join(self.names)}), but its shape "
                f"is {rows.shape}"
            )
        return rows

    def solve(self, name: str) -> list[Any]:
        """Solve the law for a column.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        list of SymPy expressions
            The solutions that are real in some training row; empty if SymPy finds none within ten
            seconds.
        """
        if name not in self.columns:
            raise GSRError(f"the law {self} has no column {name!r}, only {', '.join(self.columns)}")
        wanted = self.form.columns[self.names.index(name)]
        # Letters in place of numbers: SymPy would turn decimals into long fractions.
        letters = [sympy.Dummy(f"a{k}", real=True) for k in range(len(self.form.terms))]
        right = sympy.Dummy("r", real=True) if self.form.open_right else sympy.Integer(0)
        known = dict(zip(letters, map(_number, self.form.coefficients), strict=True))
        letters = [letter if known[letter] not in (1, -1) else known[letter] for letter in letters]
        known |= {right: _number(self.form.right)} if self.form.open_right else {}
        known |= {inner_symbol(m): _number(c) for m, c in enumerate(self.form.inside)}
        law = sympy.Add(*(a * t for a, t in zip(letters, self.form.terms, strict=True))) - right
        try:
            with deadline(SOLVING):
                found = [each.xreplace(known) for each in sympy.solve(law, wanted)]
        except (TimeUp, NotImplementedError, ValueError, TypeError, AttributeError):
            return []
        return [self._named(each) for each in found if self._is_real(each)]

    def _named(self, expression: Any) -> Any:
        names = zip(self.form.columns, self.names, strict=True)
        return expression.xreplace({symbol: sympy.Symbol(n, real=True) for symbol, n in names})

    def _is_real(self, expression: Any) -> bool:
        values = sympy.lambdify(self.form.columns, expression, ["scipy", "numpy"])
        with np.errstate(all="ignore"):
            found = np.asarray(values(*self.sample.T.astype(complex)))
        return bool((np.abs(found.imag) <= EXACT * np.abs(found.real)).any())

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float, float]]:
        """Return each fitted constant with its confidence interval.

        Parameters
        ----------
        level : float
            Confidence, between 0 and 1.

        Returns
        -------
        dict
            Name of the constant to (value, lower end, upper end): ``"coefficient of x^2"``,
            ``"right side"``, and ``"c1"``, ``"c2"``, ... for constants inside terms.
        """
        shown = (self._named(term) for term in self.form.terms)
        letters = {inner_symbol(m): sympy.Symbol(f"c{m + 1}") for m in range(len(self.form.inside))}
        names = [f"coefficient of {written(term.xreplace(letters))}" for term in shown]
        names += ["right side", *(letter.name for letter in letters.values())]
        freedom = max(self.n_rows - int((np.diag(self.covariance) > 0).sum()), 1)
        fitted = np.flatnonzero(self.form.free(pivot_of(self.form)))
        values, covariance = self.form.constants[fitted], self.covariance[np.ix_(fitted, fitted)]
        of_fitted = tuple(names[k] for k in fitted)
        return Uncertainty(of_fitted, values, covariance, freedom, math.nan).by_name(level)

    @cached_property
    def bits(self) -> float:
        """Description length of law and residuals, minus that without a law."""
        return description(self.form, self.error / self.spread, self.n_rows)


def description(form: Form, left: float, n_rows: int) -> float:
    """Return the bits of a form whose residual is `left`, relative to independent columns."""
    constants = 0.5 * (form.free(0).sum() + 1) * math.log2(n_rows)  # that of the noise included
    return float(BITS_PER_NODE * form.complexity + constants + n_rows * math.log2(max(left, EXACT)))


def _number(value: float) -> Any:
    """Return a number for SymPy; an integer if it is one up to rounding errors."""
    near = round(float(value))
    whole = near != 0 and abs(value - near) <= WHOLE * abs(near)
    return sympy.Integer(near) if whole else sympy.Float(float(value))


def pivot_of(form: Form) -> int:
    """Return the constant that sets the scale of a law: the one that is 1."""
    scaled = form.constants[: len(form.terms) + form.open_right]
    return int(np.argmin(np.abs(np.abs(scaled) - 1.0)))


# ---- fitting -----------------------------------------------------------------------------------


def fit(form: Form, names: Sequence[str], X: Array, scale: Array) -> ImplicitLaw | None:
    """Fit the constants of a form to rows with noise in all columns.

    Returns
    -------
    ImplicitLaw or None
        None if the form is not defined in all rows, or needs more constants than there are rows.
    """
    fitted = form.fitted(X, scale)
    if fitted is None:
        return None
    distances = fitted.distances(X, scale)
    error = float(np.sqrt(np.mean(distances**2)))
    spread = spread_of(fitted.distances(shuffled(X, seed=0), scale))
    if not (math.isfinite(error) and spread > 0.0):
        return None
    exact = error <= EXACT * spread
    slopes = fitted.slopes(X, scale)
    fitted, covariance = _scaled(fitted, slopes, error, exact)
    level: Level = "rounding" if exact else "unknown"
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), TRIED)).astype(int))
    return ImplicitLaw(
        fitted, tuple(names), scale, covariance, error, spread, level, len(X), X[rows]
    )


def _scaled(form: Form, slopes: Array, error: float, exact: bool) -> tuple[Form, Array]:
    """Return the form scaled so that its constants are shortest, and their covariance."""
    n_terms, constants = len(form.terms), form.constants
    best: tuple[float, Form, Array] | None = None
    for pivot in range(n_terms + (form.open_right and n_terms > 1)):
        if constants[pivot] == 0.0:
            continue
        factor = 1.0 / constants[pivot]
        sign = form.right * factor if form.right else form.coefficients[0] * factor
        factor = -factor if sign < 0 else factor
        scaled = constants.copy()
        scaled[: n_terms + 1] *= factor
        free = form.free(pivot)
        sized = slopes.copy()
        sized[:, : n_terms + 1] /= abs(factor) * np.sign(factor)
        freedom = max(len(slopes) - int(free.sum()), 1)
        covariance = np.zeros((len(scaled), len(scaled)))
        inner = np.linalg.pinv(sized[:, free].T @ sized[:, free])
        covariance[np.ix_(free, free)] = inner * error**2 * len(slopes) / freedom
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        bits = 0.0
        for value, width in zip(scaled[free], errors[free], strict=True):
            width = max(width, EXACT * abs(value)) if exact else width
            short = simplest(float(value), float(width))
            bits += known_bits(float(value), float(width)) if short is None else short.bits
        if best is None or bits < best[0] - WHOLE:
            best = bits, form.with_constants(scaled), covariance
    assert best is not None
    return best[1], best[2]


def spread_of(distances: Array) -> float:
    """Return a robust estimate of the size of distances; 0 if none is finite."""
    known = np.abs(distances[np.isfinite(distances)])
    if not len(known):
        return 0.0
    return min(float(np.median(known)) / HALF, float(np.sqrt(np.mean(known**2))))


def judged(law: ImplicitLaw, X: Array) -> ImplicitLaw:
    """Test the distances of the training rows for structure along the law."""
    form, scale = law.form, law.scale
    free = form.free(pivot_of(form))
    if law.level == "rounding" or len(X) - free.sum() < LEAST_ROWS:
        return law
    feet = form.foot_points(X, scale)[:, form.used]
    others = [j for j in range(X.shape[1]) if j not in form.used]
    table = np.column_stack([feet, X[:, others]])
    slopes = form.slopes(X, scale)[:, free]
    distances = form.distances(X, scale)
    chance = structure_probability(distances, feet[:, 0], table, int(free.sum()), slopes)
    return replace(law, level="noise" if chance > FALSE_ALARM else "above")
