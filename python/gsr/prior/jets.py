"""Intervals of a law's f(x), and of its first two derivatives by one feature, over boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gsr.encoding.rows import ONE, Argument, Row, factors
from gsr.intervals import Interval, add, constant, multiply, power, scale
from gsr.library import Library
from gsr.selection.fitted import LawLike
from gsr.transformation import Array


class Jet(NamedTuple):
    """A value with its first and second derivative, as intervals."""

    value: Interval
    first: Interval
    second: Interval


def _product(a: Jet, b: Jet) -> Jet:
    cross = scale(multiply(a.first, b.first), 2.0)
    outer = add(multiply(a.value, b.second), multiply(a.second, b.value))
    return Jet(
        multiply(a.value, b.value),
        add(multiply(a.value, b.first), multiply(a.first, b.value)),
        add(outer, cross),
    )


def _sum(a: Jet, b: Jet) -> Jet:
    return Jet(*(add(p, q) for p, q in zip(a, b, strict=True)))


def _scaled(a: Jet, factor: float) -> Jet:
    return Jet(*(scale(part, factor) for part in a))


def _constant(value: float, n: int) -> Jet:
    return Jet(constant(value, n), constant(0.0, n), constant(0.0, n))


def _chained(value: Interval, slope: Interval, bend: Interval, t: Jet) -> Jet:
    """Return T(t) from T, T' and T'' at the value of t."""
    second = add(multiply(bend, power(t.first, 2)), multiply(slope, t.second))
    return Jet(value, multiply(slope, t.first), second)


class JetWalk:
    """Evaluates f(x) with its derivatives by one feature.

    Parameters
    ----------
    library : Library
        Mapping table of the features, which all have derivatives over intervals.
    low, high : array of shape (n, d)
        The boxes.
    feature : int
        The feature, counted from 0.
    """

    def __init__(self, library: Library, low: Array, high: Array, feature: int) -> None:
        self.library, self.n = library, len(low)
        zero = constant(0.0, self.n)
        self.variables = [
            Jet(Interval(low[:, j], high[:, j]), constant(float(j == feature), self.n), zero)
            for j in range(low.shape[1])
        ]

    def law(self, law: LawLike) -> Jet:
        """Return the sum of alpha phi."""
        total = _constant(0.0, self.n)
        for a, matrix in zip(law.alpha, law.phi, strict=True):
            total = _sum(total, _scaled(self.product(factors(matrix, self.library)), float(a)))
        return total

    def product(self, rows: Sequence[Row]) -> Jet:
        """Return a product of rows."""
        total: Jet | None = None
        for row in rows:
            total = self.row(row) if total is None else _product(total, self.row(row))
        return _constant(1.0, self.n) if total is None else total

    def row(self, row: Row) -> Jet:
        """Return a transformation of an argument."""
        t = self.argument(row.argument)
        traits = self.library.traits[row.code]
        assert traits.image and traits.slope and traits.bend
        found = _chained(traits.image(t.value), traits.slope(t.value), traits.bend(t.value), t)
        return self._power(found, -1) if row.reciprocal else found

    def argument(self, argument: Argument) -> Jet:
        """Return a sum or a product of operands."""
        total: Jet | None = None
        for base, times in argument.parts:
            operand = self._operand(base)
            if argument.is_product:
                part = self._power(operand, int(times))
                total = part if total is None else _product(total, part)
            else:
                part = _scaled(operand, float(times))
                total = part if total is None else _sum(total, part)
        assert total is not None
        return total

    def _operand(self, base: int | Row) -> Jet:
        if isinstance(base, Row):
            return self.row(base)
        return _constant(1.0, self.n) if base == ONE else self.variables[base - 1]

    def _power(self, t: Jet, n: int) -> Jet:
        if n == 1:
            return t
        slope = scale(power(t.value, n - 1) if n != 1 else constant(1.0, self.n), float(n))
        bend = constant(2.0, self.n) if n == 2 else scale(power(t.value, n - 2), float(n * (n - 1)))
        return _chained(power(t.value, n), slope, bend, t)


def usable(law: LawLike, library: Library) -> bool:
    """Tell whether all transformations of f(x) have derivatives here."""
    return all(
        library.traits[each.code].has_derivatives
        for matrix in law.phi
        for row in factors(matrix, library)
        for each in row.walk()
    )
