"""What must not happen in a law: divisions by 0, logarithms of 0, roots of negative numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gsr import intervals as iv
from gsr.encoding import evaluate
from gsr.encoding.rows import ONE, Argument, Row, factors
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


@dataclass
class Walk:
    """Evaluates a law on boxes and collects the guards on the way.

    Parameters
    ----------
    library : Library
        Mapping table of the features.
    boxes : sequence of Interval
        Each feature's values.
    """

    library: Library
    boxes: Sequence[Interval]
    guards: list[Guard] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Number of boxes."""
        return len(self.boxes[0].low)

    def product(self, rows: Sequence[Row], *, free_logarithm: bool = False) -> Interval:
        """Return a basis function; the zeros of a lone logarithm may be let pass."""
        value = iv.constant(1.0, self.n)
        for i, row in enumerate(rows):
            factor = self.row(row, free_logarithm)
            value = factor if i == 0 else iv.multiply(value, factor)
        return value

    def row(self, row: Row, free_logarithm: bool = False) -> Interval:
        """Return a transformation of an argument."""
        traits, t = self.library.traits[row.code], self.argument(row.argument)
        if traits.limit is not None and not (traits.of_magnitude and free_logarithm):
            self._limited(t, traits.limit)
        assert traits.image is not None
        value = traits.image(t)
        if traits.overflows:
            self._bounded(value)
        if not row.reciprocal:
            return value
        self._guard(t if traits.vanishes_at_zero else value, 0, DIVISION, removable=True)
        return iv.reciprocal(value)

    def argument(self, argument: Argument) -> Interval:
        """Return a sum or a product of operands."""
        total = iv.constant(float(argument.is_product), self.n)
        for i, (base, times) in enumerate(argument.parts):
            value = self._operand(base)
            if not argument.is_product:
                value = iv.scale(value, float(times))
                total = value if i == 0 else iv.add(total, value)
                continue
            if times < 0:
                self._guard(value, 0, DIVISION, removable=True)
            value = iv.power(value, int(times))
            total = value if i == 0 else iv.multiply(total, value)
        return total

    def target(self, g: Traits, f: Interval, reciprocal: bool = False) -> None:
        """Guard the inverse of g at f(x); of 1/g if `reciprocal`."""
        if reciprocal:
            self._guard(f, 0, DIVISION)
            f = iv.reciprocal(f)
        if g.inverse_limit is not None:
            self._limited(f, g.inverse_limit)
        for end, inside in ((g.low, f), (-g.high, iv.scale(f, -1.0))):
            if np.isfinite(end):
                room = iv.add(iv.constant(-end, self.n), inside) if end else inside
                for sign in (1, 0) if end else (0, 1):
                    if sign or g.is_open:
                        self._guard(room, sign, RANGE)
        # A logarithm that falls to minus infinity is a y of 0.
        self._bounded(iv.exp(f) if g.of_magnitude else f)

    def _limited(self, t: Interval, limit: Limit) -> None:
        value = limit.of(t) if limit.of is not None else t
        self._guard(value, int(limit.is_root), limit.reason, removable=limit.removable)

    def _operand(self, base: int | Row) -> Interval:
        if isinstance(base, Row):
            return self.row(base)
        return iv.constant(1.0, self.n) if base == ONE else self.boxes[base - 1]

    def _guard(self, value: Interval, sign: int, reason: str, *, removable: bool = False) -> None:
        self.guards.append(Guard(value, sign, reason, removable))

    def _bounded(self, value: Interval) -> None:
        """Guard against overflow: 1 where the value is finite, -1 where it certainly is not."""
        infinite = ~value.is_finite & ((value.low > HUGE) | (value.high < -HUGE))
        low, high = np.where(value.is_finite, 1.0, -1.0), np.where(infinite, -1.0, 1.0)
        self._guard(Interval(low, high), 1, OVERFLOW)


class GuardedLaw:
    """A law's two sides, read once.

    Parameters
    ----------
    law : LawLike
        The law.
    library, target_library : Library
        Its mapping tables.

    Attributes
    ----------
    target : str
        The transformation that g is, or 1/g if `reciprocal`; empty if g is none.
    traits : Traits
        What is known of it.
    """

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
        walk = Walk(self.library, boxes)
        f = iv.constant(0.0, len(low))
        logarithm = self.traits.of_magnitude and not self.reciprocal
        for a, rows in self.terms:
            free = logarithm and a > 0 and len(rows) == 1 and not rows[0].reciprocal
            term = iv.scale(walk.product(rows, free_logarithm=free), a)
            f = iv.add(f, term)
        walk.target(self.traits, f, self.reciprocal)
        return walk.guards

    def f(self, X: Array) -> Array:
        """Return f(x) in rows of all features."""
        with np.errstate(all="ignore"):
            return np.asarray(evaluate(self.law.phi, self.library, X) @ np.asarray(self.law.alpha))

    def solves(self, f: float) -> bool:
        """Tell whether g(y) = f has a solution, as far as the inverse of g is known."""
        walk = Walk(self.library, [iv.constant(0.0, 1)])
        with np.errstate(all="ignore"):
            walk.target(self.traits, iv.constant(f, 1), self.reciprocal)
        return not any(guard.broken(0.0)[0] for guard in walk.guards)
