"""What must not happen in a law: divisions by 0, logarithms of 0, roots of negative numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from gsr import intervals as iv
from gsr.encoding import evaluate
from gsr.encoding.fold import Arithmetic, fold
from gsr.encoding.rows import Row, factors
from gsr.intervals import Interval, Mask
from gsr.library import Library
from gsr.selection.fitted import LawLike
from gsr.traits import DIVISION, TRAITS, UNKNOWN, Limit, Traits
from gsr.transformation import Array

OVERFLOW, RANGE = "overflow", "f(x) outside the range of g"
#: An interval that has infinity and nothing below this is an overflow.
HUGE = 1e200


class Guard(NamedTuple):
    """An interval that must not hold 0 (`sign` 0), or nothing negative (`sign` 1)."""

    value: Interval
    sign: int
    reason: str
    #: Whether the law may be continuous where this part of it is undefined.
    removable: bool = False

    def kept(self, tolerance: float) -> Mask:
        """Tell where the guard certainly holds."""
        return ~self.value.has_zero if self.sign == 0 else self.value.low >= -tolerance

    def broken(self, tolerance: float) -> Mask:
        """Tell where it certainly does not, for boxes that are points."""
        if self.sign == 1:
            return self.value.high < -tolerance
        exactly = (self.value.low <= 0) & (self.value.high >= 0)
        return exactly & (self.value.size <= np.finfo(float).tiny)


class Guarded(NamedTuple):
    """Values over boxes, and the guards met on the way to them."""

    value: Interval
    guards: tuple[Guard, ...] = ()

    def guarded(self, *guards: Guard) -> Guarded:
        """Return the same values with more guards."""
        return Guarded(self.value, (*self.guards, *guards))


class Boxes(Arithmetic[Guarded]):
    """Evaluates rows over boxes, and collects what must not happen."""

    def __init__(self, library: Library, boxes: Sequence[Interval]) -> None:
        self.library, self.boxes, self.n = library, boxes, len(boxes[0].low)

    def variable(self, v: int) -> Guarded:
        """Return a side of the boxes."""
        return Guarded(self.boxes[v - 1])

    def one(self) -> Guarded:
        """Return 1."""
        return Guarded(iv.constant(1.0, self.n))

    def scale(self, value: Guarded, factor: float) -> Guarded:
        """Return a multiple."""
        return Guarded(iv.scale(value.value, float(factor)), value.guards)

    def add(self, terms: Sequence[Guarded]) -> Guarded:
        """Return a sum."""
        return self._reduced(iv.add, terms) if terms else Guarded(iv.constant(0.0, self.n))

    def power(self, value: Guarded, n: int) -> Guarded:
        """Return a power."""
        divided = [Guard(value.value, 0, DIVISION, removable=True)] if n < 0 else []
        return Guarded(iv.power(value.value, n), value.guards).guarded(*divided)

    def multiply(self, factors: Sequence[Guarded]) -> Guarded:
        """Return a product."""
        return self._reduced(iv.multiply, factors) if factors else self.one()

    def call(self, row: Row, argument: Guarded, *, limited: bool = True) -> Guarded:
        """Return a transformation, with the limit of its argument if `limited`."""
        traits, t = self.library.traits[row.code], argument.value
        found = argument
        if traits.limit is not None and limited:
            found = found.guarded(_limited(t, traits.limit))
        assert traits.image is not None
        value = traits.image(t)
        if traits.overflows:
            found = found.guarded(_bounded(value))
        if row.reciprocal:
            below = t if traits.vanishes_at_zero else value
            found = found.guarded(Guard(below, 0, DIVISION, removable=True))
            value = iv.reciprocal(value)
        return Guarded(value, found.guards)

    def _reduced(
        self, operation: Callable[[Interval, Interval], Interval], values: Sequence[Guarded]
    ) -> Guarded:
        value = reduce(operation, (each.value for each in values))
        return Guarded(value, tuple(guard for each in values for guard in each.guards))


def inverse_guards(g: Traits, f: Interval, reciprocal: bool = False) -> Iterator[Guard]:
    """Yield the guards of the inverse of g at f(x); of 1/g if `reciprocal`."""
    if reciprocal:
        yield Guard(f, 0, DIVISION)
        f = iv.reciprocal(f)
    if g.inverse_limit is not None:
        yield _limited(f, g.inverse_limit)
    for end, inside in ((g.low, f), (-g.high, iv.scale(f, -1.0))):
        if np.isfinite(end):
            room = iv.add(iv.constant(-end, len(f.low)), inside) if end else inside
            signs = (1, 0) if end else (0, 1)
            yield from (Guard(room, sign, RANGE) for sign in signs if sign or g.is_open)
    # A logarithm that falls to minus infinity is a y of 0.
    yield _bounded(iv.exp(f) if g.of_magnitude else f)


def _limited(t: Interval, limit: Limit) -> Guard:
    value = limit.of(t) if limit.of is not None else t
    return Guard(value, int(limit.is_root), limit.reason, limit.removable)


def _bounded(value: Interval) -> Guard:
    """Guard against overflow: 1 where the value is finite, -1 where it certainly is not."""
    infinite = ~value.is_finite & ((value.low > HUGE) | (value.high < -HUGE))
    low, high = np.where(value.is_finite, 1.0, -1.0), np.where(infinite, -1.0, 1.0)
    return Guard(Interval(low, high), 1, OVERFLOW)


class GuardedLaw:
    """A law's two sides, read once."""

    def __init__(self, law: LawLike, library: Library, target_library: Library) -> None:
        self.law, self.library = law, library
        self.terms = [
            (float(a), factors(m, library)) for a, m in zip(law.alpha, law.phi, strict=True)
        ]
        psi = [factors(m, target_library) for m in law.psi]
        self.target, self.reciprocal, self.traits = "", False, UNKNOWN
        if len(psi) == 1 and len(psi[0]) == 1 and psi[0][0].argument.lone == 1:
            row = psi[0][0]
            self.target, self.reciprocal = target_library.names[row.code], row.reciprocal
            self.traits = target_library.traits[row.code]
        if self.target == "identity" and self.reciprocal:
            self.target, self.reciprocal, self.traits = "inverse", False, TRAITS["inverse"]
        rows = [each for _, product in self.terms for row in product for each in row.walk()]
        self.variables = sorted(set().union(*(row.argument.variables for row in rows)))
        codes = (row.code for row in rows)
        self.unknown = [library.names[c] for c in codes if library.traits[c].image is None]

    def guards(self, low: Array, high: Array, n_features: int) -> list[Guard]:
        """Return the guards over boxes of the variables that the law uses, one per line."""
        boxes = [iv.constant(0.0, len(low))] * n_features
        for k, v in enumerate(self.variables):
            boxes[v - 1] = Interval(low[:, k], high[:, k])
        algebra, f = Boxes(self.library, boxes), Guarded(iv.constant(0.0, len(low)))
        logarithm = self.traits.of_magnitude and not self.reciprocal
        for a, rows in self.terms:
            free = logarithm and a > 0 and len(rows) == 1 and not rows[0].reciprocal
            found = _free(rows[0], algebra) if free else algebra.basis_function(rows)
            f = algebra.add([f, algebra.scale(found, a)])
        return [*f.guards, *inverse_guards(self.traits, f.value, self.reciprocal)]

    def f(self, X: Array) -> Array:
        """Return f(x) in rows of all features."""
        with np.errstate(all="ignore"):
            return np.asarray(evaluate(self.law.phi, self.library, X) @ np.asarray(self.law.alpha))

    def solves(self, f: float) -> bool:
        """Tell whether g(y) = f has a solution, as far as the inverse of g is known."""
        with np.errstate(all="ignore"):
            guards = inverse_guards(self.traits, iv.constant(f, 1), self.reciprocal)
            return not any(guard.broken(0.0)[0] for guard in guards)


def _free(row: Row, algebra: Boxes) -> Guarded:
    """Return a lone term of ln|y| = f(x), whose logarithm may be that of 0: there y is 0."""
    is_logarithm = algebra.library.traits[row.code].of_magnitude
    return algebra.call(row, fold(row.argument, algebra), limited=not is_logarithm)
