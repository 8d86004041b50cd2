"""Closed inverses: a basis function of y as a chain of functions of one number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr.encoding.fold import Algebra, fold
from gsr.encoding.matrices import constant
from gsr.encoding.rows import ONE, Argument, Matrix, Row, factors
from gsr.lazy import sympy
from gsr.library import Library
from gsr.prediction.roots import evenly_spaced
from gsr.transformation import BUILTINS, POWERS, Array, Symbolic

Real = Callable[[Array], Array]
#: For each step: whether the mirrored solution is meant, and how many periods away.
Branch = tuple[tuple[bool, int], ...]
#: Exponents of a variable, a call of a function or a sum.
Factor = tuple[int | Row | Argument, Fraction]
Powers = dict[int | Row | Argument, Fraction]
#: The factors of a power, given the exponent.
Taken = Callable[[Fraction], list[Factor]]
ONCE = Fraction(1)

PERIODS_AT_MOST = 1000
LINES_AT_MOST = 2100
POINTS = 1001
SAME = 1e-6
LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True)
class Step:
    """A function and its inverse: all solutions are p, mirror - p, and their periods."""

    forward: Real
    inverse: Real
    symbolic: Symbolic | None
    mirror: float = np.nan
    period: float = 0.0

    @property
    def is_injective(self) -> bool:
        """Whether p is the only solution."""
        return bool(np.isnan(self.mirror)) and not self.period

    def candidates(self, v: Array, low: float, high: float) -> Array:
        """Return all solutions in and around the range, one line for each branch."""
        with np.errstate(all="ignore"):
            principal = np.asarray(self.inverse(v), dtype=float)
        lines = [principal] if np.isnan(self.mirror) else [principal, self.mirror - principal]
        if not self.period:
            return np.array(lines)
        shifts = self.period * self._turns(low, high)
        return np.concatenate([line + shifts[:, None] for line in lines])

    def _turns(self, low: float, high: float) -> Array:
        """Return the whole periods that lead from the principal branch into the range.

        There is at least one: neighbours that rounding makes equal are returned once.
        """
        with np.errstate(over="ignore"):
            ends = np.clip(np.array([low, high]) / self.period, -LARGEST, LARGEST)
        first, last = np.floor(ends[0]) - 1, np.ceil(ends[1]) + 1
        if last / 2 - first / 2 > PERIODS_AT_MOST / 2:
            first = np.round(ends[0] / 2 + ends[1] / 2) - PERIODS_AT_MOST // 2
            last = first + PERIODS_AT_MOST
        return np.unique(first + np.arange(last - first + 1))

    def branches(self, u: Array) -> tuple[npt.NDArray[np.bool_], Array, Array]:
        """Return where one branch leads from forward(u) back to u: fits, mirrored, turns."""
        p = np.asarray(self.inverse(self.forward(u)), dtype=float)
        images = np.array([p] if np.isnan(self.mirror) else [p, self.mirror - p])
        turns = np.round((u - images) / self.period) if self.period else np.zeros_like(images)
        misfit = np.abs(u - images - turns * self.period)
        # Where the sides meet, both fit and neither is meant.
        fits = (misfit < SAME * (1 + np.abs(u))) & (np.sum(misfit, axis=0) > SAME)
        fits |= (len(images) == 1) & np.isfinite(misfit)
        if self.period:  # a number too large to tell where in its period it lies
            fits &= np.spacing(np.abs(u)) < SAME * self.period
        side = fits.argmax(axis=0)
        return fits.any(axis=0), side, turns[side, np.arange(len(u))]


@dataclass(frozen=True)
class ClosedForm:
    """A chain of steps, the outermost first."""

    steps: tuple[Step, ...]

    @property
    def is_symbolic(self) -> bool:
        """Whether SymPy can write the inverse."""
        return all(step.symbolic is not None for step in self.steps)

    def inverse(self, v: Array) -> Array:
        """Return the principal solution."""
        with np.errstate(all="ignore"):
            for step in self.steps:
                v = np.asarray(step.inverse(v), dtype=float)
        return v

    def candidates(self, v: Array, low: float, high: float) -> Array:
        """Return all solutions in and around the range of y, one line for each branch."""
        lines = np.array([v], dtype=float)
        inputs = self._inputs(evenly_spaced(low, high, POINTS))
        for step, u in zip(self.steps, inputs, strict=True):
            known = u[np.isfinite(u)]
            ends = (known.min(), known.max()) if len(known) else (0.0, 0.0)
            lines = np.concatenate([step.candidates(line, *ends) for line in lines])
            if len(lines) > LINES_AT_MOST:
                return np.full((1, len(v)), np.nan)
        return lines

    def branches(self, y: Array) -> list[Branch]:
        """Return the branches that lead back to some of y."""
        known, mirrored, turns = self._on_branches(y)
        met = np.unique(np.vstack([mirrored, turns])[:, known], axis=1).astype(int).T.tolist()
        n = len(self.steps)
        return [tuple((bool(m), k) for m, k in zip(b[:n], b[n:], strict=True)) for b in met]

    def sides(self, y: Array) -> npt.NDArray[np.intp]:
        """Return which steps have the mirrored solution, as bits of a number; -1 if unknown."""
        known, mirrored, _ = self._on_branches(y)
        bits = (1 << np.arange(len(self.steps))) @ mirrored.astype(int)
        return np.where(known, bits, -1)

    def _on_branches(self, y: Array) -> tuple[npt.NDArray[np.bool_], Array, Array]:
        known = np.ones(len(y), bool)
        mirrored, turns = np.zeros((2, len(self.steps), len(y)))
        with np.errstate(all="ignore"):
            for k, (step, u) in enumerate(zip(self.steps, self._inputs(y), strict=True)):
                fits, mirrored[k], turns[k] = step.branches(u)
                known &= fits
        return known, mirrored, turns

    def _inputs(self, y: Array) -> list[Array]:
        """Return what each step is given, for some y."""
        inputs: list[Array] = []
        with np.errstate(all="ignore"):
            for step in reversed(self.steps):
                inputs.insert(0, y)
                y = np.asarray(step.forward(y), dtype=float)
        return inputs

    @property
    def is_injective(self) -> bool:
        """Whether there is one solution at most."""
        return all(step.is_injective for step in self.steps)


# ---- from rows to steps ----------------------------------------------------------------------


def closed_form(library: Library, matrix: Matrix) -> ClosedForm | None:
    """Return the inverse of a basis function of y, None if it has none in closed form."""
    steps = _product_steps(factors(matrix, library), library)
    return None if steps is None else ClosedForm(tuple(steps))


def closed_argument(library: Library, argument: Argument) -> ClosedForm | None:
    """Return the inverse of an argument as a function of y, None without a closed form."""
    steps = _argument_steps(argument, library)
    return None if steps is None else ClosedForm(tuple(steps))


def powers_of(product: Sequence[Row], library: Library) -> Powers:
    """Return what a product consists of, with exponents."""
    return _gathered(factor for row in product for factor in fold(row, _Factors(library))(ONCE))


def exponent(matrix: Matrix, library: Library) -> float:
    """Return q if the basis function is y^q."""
    powers = powers_of(factors(matrix, library), library)
    return float(powers[1]) if powers.keys() == {1} else np.nan


def _gathered(factors: Iterable[Factor]) -> Powers:
    powers: Powers = {}
    for base, q in factors:
        powers[base] = powers.get(base, Fraction(0)) + q
    return powers


class _Factors(Algebra[Taken]):
    """Takes a power of an expression apart, given the exponent."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def variable(self, v: int) -> Taken:
        return lambda q: [(v, q)]

    def one(self) -> Taken:
        return self.variable(ONE)

    def total(self, argument: Argument, parts: Sequence[Taken]) -> Taken:
        if argument.lone in (None, ONE):
            return lambda q: [(argument, q)]
        return self.product(argument, parts)

    def product(self, argument: Argument, parts: Sequence[Taken]) -> Taken:

        def factors(q: Fraction) -> list[Factor]:
            if q.denominator != 1 and not isinstance(argument.lone, int):
                return [(argument, q)]
            pairs = zip(parts, argument.parts, strict=True)
            return [each for part, (_, n) in pairs for each in part(q * Fraction(n))]

        return factors

    def call(self, row: Row, argument: Taken) -> Taken:
        sign, power = -1 if row.reciprocal else 1, POWERS.get(self.library.names[row.code])
        if power is None:
            return lambda q: [(replace(row, reciprocal=False), sign * q)]
        return lambda q: argument(sign * power * q)


def _product_steps(product: Sequence[Row], library: Library) -> list[Step] | None:
    return _power_steps(powers_of(product, library), library)


def _power_steps(powers: Powers, library: Library) -> list[Step] | None:
    if len(powers) == 2:
        return _quotient_steps(powers, library)
    if len(powers) != 1:
        return None
    ((base, q),) = powers.items()
    inside = _base_steps(base, library)
    if inside is None or q == 0:
        return None
    return inside if q == 1 else [_power_step(q), *inside]


def _base_steps(base: int | Row | Argument, library: Library) -> list[Step] | None:
    if isinstance(base, Row):
        return _call_steps(base, library)
    return _argument_steps(base, library) if isinstance(base, Argument) else []


def _quotient_steps(powers: Powers, library: Library) -> list[Step] | None:
    """Invert a power of (a t + b)/(c t + d)."""
    (below, p), (above, q) = sorted(powers.items(), key=lambda item: item[1])
    (a, b, t), (c, d, u) = _line(above), _line(below)
    if q != -p or t is None or t != u or a * d == b * c:
        return None
    inside = _product_steps([t], library) if isinstance(t, Row) else []
    if inside is None:
        return None
    step = _quotient_step(a, b, c, d)
    return [step, *inside] if q == 1 else [_power_step(q), step, *inside]


def _line(base: int | Row | Argument) -> tuple[float, float, int | Row | None]:
    """Return a, b and t of a t + b, which is t itself unless it is a sum; None for t if not."""
    if not isinstance(base, Argument):
        return 1, 0, base
    shift = sum(times for part, times in base.parts if part == ONE)
    others = [part for part in base.parts if part.base != ONE]
    if base.is_product or len(others) != 1:
        return 1, 0, None
    return others[0].times, shift, others[0].base


def _call_steps(row: Row, library: Library) -> list[Step] | None:
    entry = library.table[row.code]
    inside = _argument_steps(row.argument, library)
    if inside is None or not entry.has_inverse:
        return None
    symbolic = library.inverse_sympy(row.code)
    return [Step(entry.value, entry.inverse, symbolic, entry.mirror, entry.period), *inside]


def _argument_steps(argument: Argument, library: Library) -> list[Step] | None:
    if argument.is_product:
        return _power_steps(_gathered(fold(argument, _Factors(library))(ONCE)), library)
    scale, shift, base = _line(argument)
    if base is None:
        return None
    inside = _product_steps([base], library) if isinstance(base, Row) else []
    if inside is None or (scale == 1 and shift == 0):
        return inside
    return [_affine_step(scale, shift), *inside]


def _affine_step(scale: float, shift: float) -> Step:
    def symbolic(v: Any) -> Any:
        return (v - constant(shift)) / constant(scale)

    return Step(lambda y: scale * y + shift, lambda v: (v - shift) / scale, symbolic)


def _quotient_step(a: float, b: float, c: float, d: float) -> Step:
    def symbolic(v: Any) -> Any:
        p, q, r, s = map(constant, (a, b, c, d))
        return (s * v - q) / (p - r * v)

    return Step(lambda t: (a * t + b) / (c * t + d), lambda v: (d * v - b) / (a - c * v), symbolic)


def _power_step(q: Fraction) -> Step:
    """Invert y^q; with an odd denominator it is defined for negative y, too."""
    for name, power in POWERS.items():
        if power == q:
            t = BUILTINS[name]
            return Step(t.value, t.inverse, t.inverse_sympy, t.mirror, t.period)
    both = q.denominator % 2 == 1
    odd, even = both and q.numerator % 2 == 1, both and q.numerator % 2 == 0

    def forward(y: Array) -> Array:
        size: Array = np.abs(y) ** float(q)
        return np.copysign(size, y) if odd else np.where((y < 0) & (not even), np.nan, size)

    def inverse(v: Array) -> Array:
        size: Array = np.abs(v) ** float(1 / q)
        return np.copysign(size, v) if odd else np.where(v < 0, np.nan, size)

    def symbolic(v: Any) -> Any:
        root = sympy.Rational(q.denominator, q.numerator)
        return sympy.sign(v) * sympy.Abs(v) ** root if odd else v**root

    return Step(forward, inverse, symbolic, 0.0 if even else np.nan)
