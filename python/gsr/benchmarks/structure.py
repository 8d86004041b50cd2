"""Decide whether a law, its constants free, has the structure of the truth.

The constants of the law are fitted again, to noise-free rows. Coefficients follow from linear least
squares, constants inside arguments from Levenberg-Marquardt steps around it. Nothing else moves: an
exponent that is fixed in the law stays as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr.benchmarks.suites import Problem
from gsr.selection.fitted import (
    FittedLaw,
    Training,
    constants,
    inner_constants,
    polished,
    with_constants,
)
from gsr.selection.target_scale import TargetScale
from gsr.transformation import Array

if TYPE_CHECKING:
    from gsr.benchmarks.recovery import Equation

# ---- families of curves --------------------------------------------------------------------------

#: Error of y, relative to its standard deviation, of a law that represents the truth. True laws
#: come to 1e-13, six terms that merely approximate a smooth curve have come to 2e-7.
EXACT_AT = 1e-9
#: Part of the rows that must be so near; the rest may be at a pole, or at the end of a branch.
ROWS_NEEDED = 0.95
STARTS = 6
#: Spread of the logarithms of further starting values around the fitted constants.
START_SPREAD = 0.5
EVALUATIONS_EACH = 100
#: Slopes of g below this part of the median are raised to it.
FLATTEST = 1e-6


@dataclass(frozen=True)
class Judgement:
    """Whether a law is the family of the truth."""

    #: ``same``: the law represents the truth with no more constants than it has; ``spare``: with
    #: one constant more; ``superfluous``: with more than one more; ``inexact``: no constants were
    #: found that represent it; ``undefined``: the law has no value in much of the data.
    verdict: str
    #: Free constants of the law.
    n_constants: int
    #: Error of y at the best constants, relative to its standard deviation.
    error: float

    @property
    def found(self) -> bool:
        """Whether the structure is right, with at most one constant to spare."""
        return self.verdict in ("same", "spare")


def judge(equation: Any, X: Array, y: Array, n_constants: int, n_simple: int = 0) -> Judgement:
    """Compare a law with a family of curves, given noise-free rows and how many constants it has.

    Because the law is solved for y in the end, 1/v = a/S + b is the family of Michaelis and
    Menten. The `n_simple` constants that the data take for simple numbers are not counted.
    """
    alpha, beta = (np.array(each, dtype=float) for each in (equation.alpha, equation.beta))
    law = FittedLaw(tuple(equation.phi), tuple(equation.psi), alpha, beta)
    number = len(constants(law)) - n_simple
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model = _Family(law, Training(equation.library, equation.target_library, X, y))
        if model.kept.mean() < ROWS_NEEDED:
            return Judgement("undefined", number, np.inf)
        error = _least_error(model, lambda fitted: _error(equation, fitted, X, y))
    if not error <= EXACT_AT:
        return Judgement("inexact", number, error)
    spare = number - n_constants
    verdict = "same" if spare <= 0 else "spare" if spare == 1 else "superfluous"
    return Judgement(verdict, number, error)


def _least_error(model: _Family, error: Callable[[FittedLaw], float]) -> float:
    """Return the least error over several starts, the first that is exact if there is one."""
    least = np.inf
    for start in _starts(model.start):
        least = min(least, error(model.fitted(start)))
        if least <= EXACT_AT:
            break
    return float(least)


def _starts(fitted: Array) -> Iterator[Array]:
    """Yield the fitted constants inside arguments, and others around them."""
    yield fitted
    if not len(fitted):
        return
    rng = np.random.default_rng(0)
    for _ in range(STARTS - 1):
        yield fitted * np.exp(START_SPREAD * rng.standard_normal(len(fitted)))


def _error(equation: Any, law: FittedLaw, X: Array, y: Array) -> float:
    """Return the error of y that all but a few rows have, relative to its standard deviation."""
    from gsr.equation import Equation

    try:
        solved = Equation.from_data(
            equation.library, equation.target_library, law.psi, law.beta, law.phi, law.alpha, X, y
        )
        errors = np.abs(solved.solution(X).values - y)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):  # no sensible constants
        return np.inf
    errors = np.where(np.isfinite(errors), errors, np.inf)
    spread = float(np.std(y)) or 1.0
    return float(np.sort(errors)[int(np.ceil(ROWS_NEEDED * len(y))) - 1] / spread)


class _Family:
    """A law with free constants: psi_1(y) = sum(coefficient * column), rows on the scale of y."""

    def __init__(self, law: FittedLaw, data: Training) -> None:
        self.law, self.data = law, data
        self.n_linear = len(law.phi) + len(law.psi) - 1
        self.start = inner_constants(law)
        slope = np.abs(TargetScale(law, data).slope(data.y))
        known = np.isfinite(slope)
        least = FLATTEST * float(np.median(slope[known])) if known.any() else 1.0
        self.scale = np.where(known, np.maximum(slope, least), 1.0)
        self.scale[self.scale == 0] = 1.0
        self.kept = known & np.isfinite(self._columns(self.start)).all(axis=1)

    def fitted(self, start: Array) -> FittedLaw:
        """Return the law with its best constants, from a start for those inside arguments."""
        spread = float(np.std(self.data.y)) or 1.0
        evaluations = EVALUATIONS_EACH * (1 + len(start))
        inside = polished(lambda inside: self._solved(inside)[1] / spread, start, evaluations)
        return self._law(inside, self._solved(inside)[0])

    def _law(self, inside: Array, coefficients: Array) -> FittedLaw:
        return with_constants(self.law, np.concatenate([coefficients, inside]))

    def _columns(self, inside: Array) -> Array:
        """Return the columns whose combination is zero: phi, the other psi, the leading psi."""
        law = self._law(inside, np.ones(self.n_linear))
        phi, psi = self.data.features(law, self.data.X), self.data.targets(law, self.data.y)
        columns: Array = np.column_stack([phi, -psi[:, 1:], psi[:, 0]]) / self.scale[:, None]
        return columns

    def _solved(self, inside: Array) -> tuple[Array, Array]:
        """Return the best coefficients and the residuals."""
        columns = np.nan_to_num(self._columns(inside)[self.kept], posinf=0.0, neginf=0.0)
        others, lead = columns[:, :-1], columns[:, -1]
        size = np.linalg.norm(others, axis=0)
        size = np.where((size > 0) & np.isfinite(size), size, 1.0)
        found = np.linalg.lstsq(others / size, lead, rcond=1e-14)[0]
        return found / size, others / size @ found - lead


# ---- problems of known law -----------------------------------------------------------------------

Terms = list[tuple[float, Any]]

#: Largest contribution of a term that it could do without, relative to the same.
NEGLIGIBLE_AT = 1e-6
MOST_ROWS = 400
#: The law may be undefined in so many of the rows.
MOST_LOST = 0.2
EVALUATIONS = 200


@dataclass(frozen=True)
class Comparison:
    """Whether a law has the structure of the truth."""

    #: True for the verdict ``same``.
    same: bool
    #: ``same``; ``inexact``: no constants make the law exact; ``superfluous``: some term or
    #: constant is zero when they do; ``accidental``: exact in double precision only;
    #: ``undefined``: the law has no value in much of the data.
    verdict: str


def compare(equation: Equation, problem: Problem, seed: int = 0) -> Comparison:
    """Compare the structure of a law with the truth of a problem, on noise-free data of a seed.

    The law must then be exact to rounding, need each of its terms, and hold to many digits.
    """
    from gsr.benchmarks.recovery import check  # loads SymPy

    X, y = _rows(problem, seed)
    model = _FreeLaw(equation, problem, X, y)
    if model.lost > MOST_LOST:
        return Comparison(False, "undefined")
    constants = model.refined()
    fit = model.fit(constants)
    if not fit.error <= EXACT_AT:
        return Comparison(False, "inexact")
    if min([*fit.contributions, *np.abs(constants)], default=np.inf) < NEGLIGIBLE_AT:
        return Comparison(False, "superfluous")
    verdict = check(model.law(constants, fit), problem, seed).verdict
    same = verdict in ("proved", "undecided")
    return Comparison(same, "same" if same else "accidental")


def _rows(problem: Problem, seed: int) -> tuple[Array, Array]:
    """Return more rows than the law has constants, so that it cannot interpolate them."""
    drawn = [problem.train(seed)]
    while sum(len(y) for _, y in drawn) < MOST_ROWS:
        drawn.append(problem.train(seed + len(drawn)))
    X, y = (np.concatenate(each) for each in zip(*drawn, strict=True))
    step = len(y) // MOST_ROWS
    return X[::step], y[::step]


@dataclass(frozen=True)
class _Fit:
    coefficients: Array
    residuals: Array
    error: float
    contributions: Array


@dataclass(frozen=True)
class _Law:
    target: Terms
    features: Terms

    def terms(self) -> tuple[Terms, Terms]:
        return self.target, self.features


class _FreeLaw:
    """The law with its constants free: leading = sum(coefficient * column)."""

    def __init__(self, equation: Equation, problem: Problem, X: Array, y: Array) -> None:
        import sympy

        sides = [[(float(c), e) for c, e in side] for side in equation.terms()]
        expressions = [e for side in sides for _, e in side]
        floats = sorted({f for e in expressions for f in e.atoms(sympy.Float)}, key=float)
        self.n_target = len(sides[0])
        self.start = np.array([float(f) for f in floats])
        self.symbols = [sympy.Symbol(f"theta{k}", real=True) for k in range(len(floats))]
        self.free = [e.xreplace(dict(zip(floats, self.symbols, strict=True))) for e in expressions]
        self.values = _compiled(self.free, ["y", *problem.variables], self.symbols, [y, *X.T])
        with np.errstate(all="ignore"):
            columns = self.values(self.start)
        self.kept = np.isfinite(columns).all(axis=1)
        self.lost = 1 - np.mean(self.kept)
        spread = np.ptp(columns[self.kept, : self.n_target], axis=0) if self.kept.any() else [0.0]
        self.lead = int(np.argmax(spread * np.abs([c for c, _ in sides[0]])))

    def fit(self, constants: Array) -> _Fit:
        """Fit the coefficients for given constants inside arguments."""
        with np.errstate(all="ignore"):
            columns = np.nan_to_num(self.values(constants)[self.kept], posinf=0.0, neginf=0.0)
        lead, others = columns[:, self.lead], np.delete(columns, self.lead, axis=1)
        size = np.abs(others).max(axis=0, initial=0.0)
        scale = np.where(size > 0, size, 1.0)
        found, *_ = np.linalg.lstsq(others / scale, lead, rcond=1e-13)
        spread = float(np.std(lead)) or 1.0
        residuals = (others / scale @ found - lead) / spread
        error = float(np.sqrt(np.mean(residuals**2)))
        return _Fit(found / scale, residuals, error, np.abs(found) / spread)

    def refined(self) -> Array:
        """Return the constants inside arguments that fit best, close to the given ones."""
        return polished(lambda inside: self.fit(inside).residuals, self.start, EVALUATIONS)

    def law(self, constants: Array, fit: _Fit) -> _Law:
        """Return the law with the new constants."""
        import sympy

        numbers = [sympy.Float(float(value), 17) for value in constants]
        chosen = dict(zip(self.symbols, numbers, strict=True))
        columns = [e.xreplace(chosen) for e in self.free]
        coefficients = np.insert(fit.coefficients, self.lead, -1.0).tolist()
        terms = list(zip(coefficients, columns, strict=True))
        target = [(-c, e) for c, e in terms[: self.n_target]]
        return _Law(target, terms[self.n_target :])


def _compiled(
    expressions: list[Any], names: list[str], symbols: list[Any], data: list[Array]
) -> Callable[[Array], Array]:
    """Return a function of the constants that evaluates the expressions on the data."""
    import sympy

    by_name = {s.name: s for e in expressions for s in e.free_symbols}
    inputs = [by_name.get(name, sympy.Symbol(name)) for name in names]
    function = sympy.lambdify([*inputs, *symbols], expressions, "numpy", cse=True)

    def values(constants: Array) -> Array:
        columns = function(*data, *constants)
        return np.stack([np.broadcast_to(each, len(data[0])) for each in columns], axis=1)

    return values
