"""Decide whether a law that was fitted to noisy data has the structure of the truth.

The law's constants are fitted again, to noise-free data of the same problem: the coefficients by
linear least squares, the constants inside arguments by Gauss-Newton around it. The structure is
right if the law then is exact to rounding, needs each of its terms, and holds to many digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr.benchmarks.family import polished
from gsr.benchmarks.recovery import Equation, check
from gsr.benchmarks.suites import Problem

Array = npt.NDArray[np.float64]
Terms = list[tuple[float, Any]]

#: Residual, relative to the spread of the leading target term, that is rounding.
EXACT_AT = 1e-9
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
    """Compare the structure of a law with the truth of a problem, on noise-free data of a seed."""
    X, y = _rows(problem, seed)
    model = _Model(equation, problem, X, y)
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


class _Model:
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
