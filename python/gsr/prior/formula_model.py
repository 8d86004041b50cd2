"""A known formula as a function of its constants, which have the names that the user gave them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gsr.exceptions import GSRError
from gsr.lazy import sympy
from gsr.prior.formula_terms import Known, Term
from gsr.prior.written_formula import structure
from gsr.selection.fitted import STEP, FittedLaw, Training, scaled_lstsq
from gsr.selection.noise import minimised
from gsr.selection.target_scale import (
    DAMPING,
    GAIN,
    MOST_DAMPING,
    STEPS,
    Linearised,
    TargetScale,
    bounded,
)
from gsr.transformation import Array

#: Slopes of g below this part of the median are raised to it, where constants are looked for.
FLATTEST = 1e-3
#: Values beyond this are as good as undefined.
HUGE = 1e150
#: Attributes that do not travel to other processes; they are made again when needed.
COMPILED = ("_evaluate", "_coefficients")

Fitted = tuple[Array, FittedLaw]


class FormulaModel:
    """A formula over the rows of data, without constants that a coefficient holds already.

    Its constants are one vector, with names: those inside functions, and for every coefficient
    that is fitted (those of the terms `free`) the letter that stands in it alone, or that scales a
    sum, as b in ``1/(a + b x)``. A coefficient without such a letter is a constant by itself.
    """

    def __init__(self, formula: Known, feature_names: Sequence[str]) -> None:
        spare = spare_constants(formula)
        self.known, self.feature_names = formula.with_ones(s.symbol for s in spare), feature_names
        self.terms, self.n_target = self.known.terms, len(self.known.target)
        self.expressions = [term.coefficient for term in self.terms]
        freed = freed_terms(self.terms)
        # The scale of an equation is open: what leads has the coefficient 1.
        self.free = [k for k in sorted(freed) if k > 0]
        self.all_free = len(self.free) == len(self.terms) - 1
        #: The coefficients that are not fitted; those that are have 1.
        self.given = [
            sympy.Integer(1) if k in freed else each for k, each in enumerate(self.expressions)
        ]
        used = {s for e in (*(t.basis for t in self.terms), *self.given) for s in e.free_symbols}
        self.inner = [s for s in self.known.starts if s in used]
        #: The letter of each free term that has one, those that are determined last first.
        self.letters = {k: letter for k, letter in reversed(freed.items()) if letter is not None}
        self.scales = {
            each.term: each
            for each in sorted(spare, key=lambda each: each.power == 1)
            if each.term in self.free
            and not self.expressions[each.term].free_symbols
            and each.power % 2
        }
        #: Names of the formula that are constants, and the columns that are in it, from 0.
        self.written = tuple(s.name for s, start in formula.starts.items() if start is None)
        symbols = {s for term in formula.features for s in term.basis.free_symbols}
        self.columns = {int(s.name[1:]) - 1 for s in symbols if not s.is_Dummy}
        self.spare = tuple(s.symbol.name for s in spare if s not in self.scales.values())
        self.names = (*self._inner_names(), *map(self._coefficient_name, self.free))

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in COMPILED}

    # ---- names -------------------------------------------------------------------------------

    @property
    def held(self) -> tuple[str, ...]:
        """Letters that are held at 1, since only their ratios to others can be known."""
        known = [s for k, s in self.letters.items() if k > 0]
        open_ = [s for s in self.known.starts if s not in self.inner and s not in known]
        return (*self.spare, *(s.name for s in open_))

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that are fitted inside functions, as they are written in the formula."""
        starts = (self.known.starts[symbol] for symbol in self.inner)
        named = zip(self.names, starts, strict=False)
        return {name: float(start) for name, start in named if start is not None}

    def _inner_names(self) -> Iterator[str]:
        """Yield letters as they are; numbers that are fitted are c1, c2, ..."""
        taken = {s.name for s, start in self.known.starts.items() if start is None}
        free = (name for k in range(1, 10_000) if (name := f"c{k}") not in taken)
        for symbol in self.inner:
            yield symbol.name if self.known.starts[symbol] is None else next(free)

    def _coefficient_name(self, k: int) -> str:
        if k in self.letters or k in self.scales:
            return str((self.letters.get(k) or self.scales[k].symbol).name)
        return f"coefficient of {self.terms[k].text}"

    # ---- columns -----------------------------------------------------------------------------

    @cached_property
    def _evaluate(self) -> Callable[..., Any]:
        """Terms, slopes of those of the target, and given coefficients, as one function."""
        y = sympy.Symbol("y", real=True)
        features = (sympy.Symbol(f"x{v}", real=True) for v, _ in enumerate(self.feature_names, 1))
        slopes = (sympy.diff(term.basis, y) for term in self.known.target)
        # The slope of a sign is 0 but for one point.
        own = {"log": lambda t: np.log(np.abs(t)), "DiracDelta": np.zeros_like}
        forms = [*(term.basis for term in self.terms), *slopes, *self.given]
        found: Callable[..., Any] = sympy.lambdify(
            [*features, y, *self.inner], forms, [own, "numpy"], cse=True
        )
        return found

    def values(self, theta: Array) -> dict[Any, float]:
        """Return the constants by symbol; those that are coefficients only are 1."""
        found = dict.fromkeys(self.known.starts, 1.0)
        return {**found, **dict(zip(self.inner, theta.tolist(), strict=True))}

    def table(self, theta: Array, X: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return the terms of g(y) - f(x), slopes of those of g, and coefficients, free ones 1."""
        n_terms = len(self.terms)
        raw = self._evaluate(*X.T, y, *theta)
        found = np.stack([np.broadcast_to(np.asarray(c, float), y.shape) for c in raw], axis=1)
        slopes = found[:, n_terms : n_terms + self.n_target]
        coefficients = found[0, n_terms + self.n_target :].copy()
        signs = np.where(np.arange(n_terms) < self.n_target, 1.0, -1.0)
        return found[:, :n_terms] * signs, slopes, coefficients

    def solve(self, theta: Array, X: Array, y: Array, roots: Array) -> tuple[Array, Array] | None:
        """Return the best coefficients for constants inside, and the residuals on the scale of y.

        Rows are multiplied by the roots of their weights. None if a row is undefined.
        """
        columns, slopes, coefficients = self.table(theta, X, y)
        if not (np.abs(columns) < HUGE).all() or not (np.abs(coefficients) < HUGE).all():
            return None
        beta = coefficients[: self.n_target]
        scale = np.ones(len(y)) if set(self.free) & set(range(self.n_target)) else None
        for _ in range(1 if scale is None else 2):
            size = _sizes(slopes @ beta) if scale is None else scale
            weighted = columns * (roots / size)[:, None]
            if not (np.abs(weighted) < HUGE).all():
                return None
            coefficients = self._linear(weighted, coefficients)
            beta, scale = coefficients[: self.n_target], None
        return coefficients, columns @ coefficients * roots / _sizes(slopes @ beta)

    def _linear(self, columns: Array, coefficients: Array) -> Array:
        fixed = [k for k in range(len(self.terms)) if k not in self.free]
        target = -columns[:, fixed] @ coefficients[fixed]
        result = coefficients.copy()
        result[self.free] = scaled_lstsq(columns[:, self.free], target, rcond=1e-13)
        return result

    def law(self, theta: Array, coefficients: Array, data: Training) -> FittedLaw:
        """Return the formula as a law whose error is not known yet."""
        tables = data.library, data.target_library
        found = structure(self.known, self.values(theta), self.feature_names, tables, coefficients)
        alpha, beta = np.array(found.alpha), np.array(found.beta)
        return FittedLaw(tuple(found.phi), tuple(found.psi), alpha, beta)

    # ---- the vector of constants -------------------------------------------------------------

    def pack(self, theta: Array, coefficients: Array) -> Array:
        """Return the vector for constants inside functions and coefficients of all terms."""
        values = self.values(theta)
        for k, letter in list(self.letters.items()):
            found = _solved(self.expressions[k], letter, coefficients[k], values)
            if found is None:  # such as a^2 of a negative coefficient
                self._forget(k)
            else:
                values[letter] = found
        by_term = {k: values[letter] for k, letter in self.letters.items()}
        theta = theta.copy()
        for k, scale in self.scales.items():
            by_term[k] = _root(coefficients[k] / float(self.expressions[k]), scale.power)
            theta[self._partners(scale)] *= by_term[k]
        outer = [by_term.get(k, coefficients[k]) for k in self.free]
        return np.concatenate([theta, np.array(outer, dtype=float)])

    def _partners(self, scale: Spare) -> list[int]:
        return [self.inner.index(symbol) for symbol in scale.partners]

    def _forget(self, k: int) -> None:
        """Let the coefficient of a term be the constant, not the letter in it."""
        del self.letters[k]
        names = list(self.names)
        if k in self.free:
            place = len(self.inner) + self.free.index(k)
            names[place] = str(self.expressions[k]).replace("_", "")
        self.names = tuple(names)
        self.__dict__.pop("_coefficients", None)

    @cached_property
    def _coefficients(self) -> Callable[..., list[float]]:
        """The coefficients of the free terms as a function of the vector."""
        own = {k: self.letters.get(k, sympy.Dummy(f"c{k}")) for k in self.free}
        ones = {s: 1 for s in self.known.starts if s not in {*self.inner, *own.values()}}
        forms = [
            self.expressions[k].xreplace(ones) if k in self.letters else own[k] for k in self.free
        ]
        found: Callable[..., list[float]] = sympy.lambdify(
            [*self.inner, *own.values()], forms, "numpy"
        )
        return found

    def _unpack(
        self, packed: Array, X: Array, y: Array
    ) -> tuple[Array, tuple[Array, Array, Array]]:
        """Return the constants inside functions, and the `table` with all coefficients."""
        theta = packed[: len(self.inner)].copy()
        outer = dict(zip(self.free, self._coefficients(*packed), strict=True))
        for k, scale in self.scales.items():
            theta[self._partners(scale)] /= outer[k]
            outer[k] = float(self.expressions[k]) * outer[k] ** scale.power
        columns, slopes, coefficients = self.table(theta, X, y)
        coefficients[self.free] = [outer[k] for k in self.free]
        return theta, (columns, slopes, coefficients)

    def _left(self, packed: Array, X: Array, y: Array) -> tuple[Array, Array]:
        """Return g(y) - f(x) and its slope with respect to y."""
        _, (columns, slopes, coefficients) = self._unpack(packed, X, y)
        return columns @ coefficients, slopes @ coefficients[: self.n_target]

    def slopes(self, packed: Array, X: Array, y: Array) -> Array:
        """Return dy/dc where g(y) = f(x), one column for each constant."""
        with np.errstate(all="ignore"):
            return self._partial(packed, X, y) / self._left(packed, X, y)[1][:, None]

    def _partial(self, packed: Array, X: Array, y: Array) -> Array:
        """Return the derivatives of f(x) - g(y) by the constants."""
        columns = np.empty((len(y), len(packed)))
        for j, value in enumerate(packed):
            step = np.zeros(len(packed))
            step[j] = STEP * (abs(value) or 1.0)
            with np.errstate(all="ignore"):
                up, down = (self._left(packed + side * step, X, y)[0] for side in (1.0, -1.0))
                columns[:, j] = -(up - down) / (2.0 * step[j])
        return columns

    # ---- the fit on the scale of y -----------------------------------------------------------

    def refine(self, packed: Array, data: Training) -> Fitted:
        """Minimise the error on the scale of y, by Gauss-Newton steps with Levenberg's damping."""
        if not data.loss.is_squared:
            return self._with_least_loss(packed, data)
        free = np.ones(len(packed), dtype=bool)
        law, residuals = self._with_error(packed, data)
        damping = DAMPING
        around = self.linearise(packed, residuals, data) if math.isfinite(law.rmse) else None
        for _ in range(STEPS if len(packed) else 0):
            if around is None or around.gain(free) < GAIN or damping > MOST_DAMPING:
                break
            moved = packed + around.step(damping, free)
            try:
                new, left = self._with_error(moved, data)
            except GSRError:  # a coefficient of 0, or a weight that vanishes
                damping *= 10.0
                continue
            if not new.rmse < law.rmse:
                damping *= 10.0
                continue
            packed, law, residuals, damping = moved, new, left, damping / 10.0
            around = self.linearise(packed, residuals, data)
        return packed, law

    def _with_least_loss(self, packed: Array, data: Training) -> Fitted:
        """Minimise another loss than squares."""
        law, residuals = self._with_error(packed, data)

        def refit(start: Fitted, weights: Array) -> tuple[Fitted, Array]:
            moved, _ = self.refine(start[0], data.reweighted(weights))
            made, left = self._with_error(moved, data)
            return (moved, made), left * roots(data)

        return minimised(data.loss, (packed, law), residuals * roots(data), refit)[0]

    def _with_error(self, packed: Array, data: Training) -> tuple[FittedLaw, Array]:
        """Return the law of some constants with its error, and its residuals on the scale of y."""
        theta, (_, _, coefficients) = self._unpack(packed, data.X[:1], data.y[:1])
        law = self.law(theta, coefficients, data)
        residuals = data.y - TargetScale(law, data).solve(data.X, data.y)
        return FittedLaw.of(law, rmse=data.loss.error(residuals * roots(data))), residuals

    def linearise(self, packed: Array, residuals: Array, data: Training) -> Linearised:
        """Return the formula around its constants, on the scale of y."""
        solution, weigh = data.y - residuals, roots(data)
        with np.errstate(all="ignore"):
            rise = self._left(packed, data.X, solution)[1]
        columns = bounded(self._partial(packed, data.X, solution) * weigh[:, None], rise)
        rows = np.column_stack([columns, residuals * weigh])
        return Linearised(np.asarray(np.linalg.qr(rows, mode="r")), len(data.y))


def roots(data: Training) -> Array:
    """Return the square roots of the weights of the rows."""
    return np.ones(len(data.y)) if data.weights is None else np.sqrt(data.weights)


def _sizes(slopes: Array) -> Array:
    """Return the size of g', none much below the others."""
    size = np.abs(np.nan_to_num(slopes, nan=0.0, posinf=0.0, neginf=0.0))
    least = FLATTEST * float(np.median(size)) or 1.0
    return np.maximum(size, least)


def _solved(
    expression: Any, letter: Any, coefficient: float, values: dict[Any, float]
) -> float | None:
    """Return the letter for which an expression is equal to a coefficient, where that is plain."""
    others = {s: v for s, v in values.items() if s != letter}
    factor, rest = expression.xreplace(others).as_independent(letter, as_Add=False)
    base, power = rest.as_base_exp()
    if base != letter or not power.is_number or factor == 0:
        return None
    ratio = float(coefficient) / float(factor)
    if power.is_Integer and power % 2:
        return _root(ratio, int(power)) if ratio else None
    return ratio ** (1.0 / float(power)) if ratio > 0.0 else None


def _root(value: float, power: int) -> float:
    """Return the real root of an odd power."""
    return math.copysign(abs(value) ** (1.0 / power), value)


# ---- which constants are free ------------------------------------------------------------------


def freed_terms(terms: Sequence[Term]) -> dict[int, Any]:
    """Return the terms whose coefficients may be any numbers, independently of each other.

    Those are the ones without letters (None), and those with a letter that stands in no other term
    that is not free, in the order of freeing.
    """
    inside = {s for t in terms for s in t.basis.free_symbols}
    found: dict[int, Any] = {k: None for k, t in enumerate(terms) if not t.coefficient.free_symbols}
    while True:
        rest = {k: t.coefficient.free_symbols for k, t in enumerate(terms) if k not in found}
        counts = Counter(s for letters in rest.values() for s in letters)
        lone = (
            (k, s)
            for k, letters in rest.items()
            for s in sorted(letters, key=lambda s: str(s.name))
            if counts[s] == 1 and s not in inside
        )
        k, letter = next(lone, (None, None))
        if k is None:
            return found
        found[k] = letter


class Spare(NamedTuple):
    """A constant of a sum that a coefficient holds already, as b in ``a (b x + c)``; it is 1."""

    symbol: Any
    #: Its term, counted over target and features, and the power of the sum.
    term: int
    power: int
    #: The other constants of the sum, which are divided by it.
    partners: tuple[Any, ...]


def spare_constants(known: Known) -> list[Spare]:
    """Return the constants that a coefficient holds already, one for each sum."""
    terms = known.terms
    counts = Counter(s for t in terms for e in (t.coefficient, t.basis) for s in e.free_symbols)
    found = []
    for k in sorted(freed_terms(terms)):
        for factor in sympy.Mul.make_args(terms[k].basis):
            base, power = factor.as_base_exp()
            if base.is_Add and power.is_Integer:
                lone = [_weight_of(part, known) for part in base.args]
                if None not in lone and all(counts[s] == 1 for s in lone):
                    named = [s for s, p in zip(lone, base.args, strict=True) if p != s]
                    one = (named or lone)[0]
                    partners = tuple(s for s in lone if s != one)
                    found.append(Spare(one, k, int(power), partners))
    return found


def _weight_of(part: Any, known: Known) -> Any:
    """Return the constant that a part of a sum is, or has as its factor."""
    found = [f for f in sympy.Mul.make_args(part) if f in known.starts]
    return found[0] if len(found) == 1 else None
