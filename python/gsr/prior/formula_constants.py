"""The constants of a known formula by the names that the user gave them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from gsr.exceptions import GSRError
from gsr.prior.formula_fit import Model, Spare, law_of, reduced, spare_constants
from gsr.prior.formula_terms import Known
from gsr.selection.fitted import STEP, FittedLaw, Training
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

Encode = Callable[..., Any]
Fitted = tuple[Array, FittedLaw]


class NamedConstants:
    """The constants of a formula as one vector, with their names.

    These are the constants inside functions, and for every coefficient that is fitted the letter
    that stands in it alone, or that scales a sum, as b in ``1/(a + b x)``. A coefficient without
    such a letter is a constant by itself.

    Parameters
    ----------
    formula : Known
        The formula as it is written.
    d : int
        Features.
    """

    def __init__(self, formula: Known, d: int) -> None:
        self.known, self.d = reduced(formula), d
        #: Names of the formula that are constants, and the columns that are in it, from 0.
        self.written = tuple(s.name for s, start in formula.starts.items() if start is None)
        symbols = {s for term in formula.features for s in term.basis.free_symbols}
        self.columns = {int(s.name[1:]) - 1 for s in symbols if not s.is_Dummy}
        model = self.model
        terms = [*self.known.target, *self.known.features]
        self.expressions = [term.coefficient for term in terms]
        #: The letter of each free term that has one, those that are determined last first.
        self.letters = dict(reversed(list(_assigned(self.expressions, model))))
        spare = spare_constants(formula)
        self.scales = {
            each.term: each
            for each in sorted(spare, key=lambda each: each.power == 1)
            if each.term in model.free
            and not self.expressions[each.term].free_symbols
            and each.power % 2
        }
        self.spare = tuple(s.symbol.name for s in spare if s not in self.scales.values())
        self.names = (*self._inner_names(), *map(self._coefficient_name, model.free))

    @cached_property
    def model(self) -> Model:
        """The formula as columns."""
        return Model(self.known, self.d)

    def __getstate__(self) -> dict[str, Any]:
        # Compiled functions do not travel; they are made again when needed.
        return {k: v for k, v in self.__dict__.items() if k not in ("model", "_coefficients")}

    @property
    def held(self) -> tuple[str, ...]:
        """Letters that are held at 1, since only their ratios to others can be known."""
        known = [s for k, s in self.letters.items() if k > 0]
        open_ = [s for s in self.known.starts if s not in self.model.inner and s not in known]
        return (*self.spare, *(s.name for s in open_))

    # ---- names -------------------------------------------------------------------------------

    def _inner_names(self) -> Iterator[str]:
        """Yield letters as they are; numbers that are fitted are c1, c2, ..."""
        taken = {s.name for s, start in self.known.starts.items() if start is None}
        free = (name for k in range(1, 10_000) if (name := f"c{k}") not in taken)
        for symbol in self.model.inner:
            yield symbol.name if self.known.starts[symbol] is None else next(free)

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that are fitted inside functions, as they are written in the formula."""
        starts = (self.known.starts[symbol] for symbol in self.model.inner)
        named = zip(self.names, starts, strict=False)
        return {name: float(start) for name, start in named if start is not None}

    def _coefficient_name(self, k: int) -> str:
        if k in self.letters or k in self.scales:
            return str((self.letters.get(k) or self.scales[k].symbol).name)
        terms = [*self.known.target, *self.known.features]
        return f"coefficient of {terms[k].text}"

    # ---- values ------------------------------------------------------------------------------

    def pack(self, theta: Array, coefficients: Array) -> Array:
        """Return the vector for constants inside functions and coefficients of all terms."""
        values = self.model.values(theta)
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
        outer = [by_term.get(k, coefficients[k]) for k in self.model.free]
        return np.concatenate([theta, np.array(outer, dtype=float)])

    def _partners(self, scale: Spare) -> list[int]:
        return [self.model.inner.index(symbol) for symbol in scale.partners]

    def _forget(self, k: int) -> None:
        """Let the coefficient of a term be the constant, not the letter in it."""
        del self.letters[k]
        names = list(self.names)
        if k in self.model.free:
            place = len(self.model.inner) + self.model.free.index(k)
            names[place] = str(self.expressions[k]).replace("_", "")
        self.names = tuple(names)
        self.__dict__.pop("_coefficients", None)

    def unpack(self, packed: Array) -> tuple[Array, dict[int, float]]:
        """Return the constants inside functions, and the coefficients of the free terms."""
        theta = packed[: len(self.model.inner)].copy()
        outer = dict(zip(self.model.free, self._coefficients(*packed), strict=True))
        for k, scale in self.scales.items():
            theta[self._partners(scale)] /= outer[k]
            outer[k] = float(self.expressions[k]) * outer[k] ** scale.power
        return theta, outer

    @cached_property
    def _coefficients(self) -> Callable[..., list[float]]:
        """The coefficients of the free terms as a function of the vector."""
        import sympy

        inner, free = self.model.inner, self.model.free
        own = {k: self.letters.get(k, sympy.Dummy(f"c{k}")) for k in free}
        ones = {s: 1 for s in self.known.starts if s not in {*inner, *own.values()}}
        forms = [self.expressions[k].xreplace(ones) if k in self.letters else own[k] for k in free]
        found: Callable[..., list[float]] = sympy.lambdify([*inner, *own.values()], forms, "numpy")
        return found

    def left(self, packed: Array, X: Array, y: Array) -> tuple[Array, Array]:
        """Return g(y) - f(x) and its slope with respect to y."""
        theta, outer = self.unpack(packed)
        columns, slopes, coefficients = self.model.columns(theta, X, y)
        for k, value in outer.items():
            coefficients[k] = value
        return columns @ coefficients, slopes @ coefficients[: self.model.n_target]

    def slopes(self, packed: Array, X: Array, y: Array) -> Array:
        """Return dy/dc where g(y) = f(x), one column for each constant."""
        with np.errstate(all="ignore"):
            return self._partial(packed, X, y) / self.left(packed, X, y)[1][:, None]

    def _partial(self, packed: Array, X: Array, y: Array) -> Array:
        """Return the derivatives of f(x) - g(y) by the constants."""
        columns = np.empty((len(y), len(packed)))
        for j, value in enumerate(packed):
            step = np.zeros(len(packed))
            step[j] = STEP * (abs(value) or 1.0)
            with np.errstate(all="ignore"):
                up, down = (self.left(packed + side * step, X, y)[0] for side in (1.0, -1.0))
                columns[:, j] = -(up - down) / (2.0 * step[j])
        return columns

    # ---- the fit -----------------------------------------------------------------------------

    def law(self, packed: Array, encoded: Encode, data: Training) -> tuple[FittedLaw, Array]:
        """Return the law of some constants with its error, and its residuals on the scale of y."""
        theta, outer = self.unpack(packed)
        coefficients = self.model.columns(theta, data.X[:1], data.y[:1])[2]
        for k, value in outer.items():
            coefficients[k] = value
        law = law_of(encoded(self.model.values(theta), coefficients))
        residuals = data.y - TargetScale(law, data).solve(data.X, data.y)
        error = data.loss.error(_weighed(residuals, data))
        return FittedLaw.of(law, rmse=error), residuals

    def linearise(self, packed: Array, residuals: Array, data: Training) -> Linearised:
        """Return the formula around its constants, on the scale of y."""
        solution = data.y - residuals
        roots = np.ones(len(solution)) if data.weights is None else np.sqrt(data.weights)
        with np.errstate(all="ignore"):
            rise = self.left(packed, data.X, solution)[1]
        columns = bounded(self._partial(packed, data.X, solution) * roots[:, None], rise)
        rows = np.column_stack([columns, residuals * roots])
        return Linearised(np.asarray(np.linalg.qr(rows, mode="r")), len(data.y))

    def refine(self, packed: Array, encoded: Encode, data: Training) -> tuple[Array, FittedLaw]:
        """Minimise the error on the scale of y, by Gauss-Newton steps with Levenberg's damping."""
        if not data.loss.is_squared:
            return self._with_least_loss(packed, encoded, data)
        free = np.ones(len(packed), dtype=bool)
        law, residuals = self.law(packed, encoded, data)
        damping = DAMPING
        around = self.linearise(packed, residuals, data) if math.isfinite(law.rmse) else None
        for _ in range(STEPS if len(packed) else 0):
            if around is None or around.gain(free) < GAIN or damping > MOST_DAMPING:
                break
            moved = packed + around.step(damping, free)
            try:
                new, left = self.law(moved, encoded, data)
            except GSRError:  # a coefficient of 0, or a weight that vanishes
                damping *= 10.0
                continue
            if not new.rmse < law.rmse:
                damping *= 10.0
                continue
            packed, law, residuals, damping = moved, new, left, damping / 10.0
            around = self.linearise(packed, residuals, data)
        return packed, law

    def _with_least_loss(
        self, packed: Array, encoded: Encode, data: Training
    ) -> tuple[Array, FittedLaw]:
        """Minimise another loss than squares."""
        law, residuals = self.law(packed, encoded, data)

        def refit(start: Fitted, weights: Array) -> tuple[Fitted, Array]:
            moved, _ = self.refine(start[0], encoded, data.reweighted(weights))
            made, left = self.law(moved, encoded, data)
            return (moved, made), _weighed(left, data)

        best, _ = minimised(data.loss, (packed, law), _weighed(residuals, data), refit)
        return best


def _weighed(residuals: Array, data: Training) -> Array:
    return residuals if data.weights is None else residuals * np.sqrt(data.weights)


def _assigned(expressions: list[Any], model: Model) -> Iterator[tuple[int, Any]]:
    """Yield terms with the letter that determines their coefficient, in the order of freeing."""
    rest = [k for k in model.open if expressions[k].free_symbols]
    while True:
        counts = Counter(s for k in rest for s in expressions[k].free_symbols)
        found = None
        for k in rest:
            letters = sorted(expressions[k].free_symbols, key=lambda s: str(s.name))
            lone = [s for s in letters if counts[s] == 1 and s not in model.inner]
            if lone:
                found = (k, lone[0])
                break
        if found is None:
            return
        yield found
        rest.remove(found[0])


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
