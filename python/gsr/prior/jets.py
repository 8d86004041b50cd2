"""Intervals of a law's f(x), and of its first two derivatives by one feature, over boxes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from gsr.encoding.fold import Arithmetic
from gsr.encoding.rows import Row, factors
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


def _constant(value: float, n: int) -> Jet:
    return Jet(constant(value, n), constant(0.0, n), constant(0.0, n))


def _chained(value: Interval, slope: Interval, bend: Interval, t: Jet) -> Jet:
    """Return T(t) from T, T' and T'' at the value of t."""
    second = add(multiply(bend, power(t.first, 2)), multiply(slope, t.second))
    return Jet(value, multiply(slope, t.first), second)


class Jets(Arithmetic[Jet]):
    """Evaluates f(x) with its derivatives by one feature."""

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
            term = self.basis_function(factors(matrix, self.library))
            total = _sum(total, self.scale(term, float(a)))
        return total

    def variable(self, v: int) -> Jet:
        return self.variables[v - 1]

    def one(self) -> Jet:
        return _constant(1.0, self.n)

    def scale(self, value: Jet, factor: float) -> Jet:
        return Jet(*(scale(part, float(factor)) for part in value))

    def add(self, terms: Sequence[Jet]) -> Jet:
        return reduce(_sum, terms) if terms else _constant(0.0, self.n)

    def power(self, value: Jet, n: int) -> Jet:
        if n == 1:
            return value
        t = value.value
        slope = scale(power(t, n - 1), float(n))
        bend = constant(2.0, self.n) if n == 2 else scale(power(t, n - 2), float(n * (n - 1)))
        return _chained(power(t, n), slope, bend, value)

    def multiply(self, factors: Sequence[Jet]) -> Jet:
        return reduce(_product, factors) if factors else self.one()

    def call(self, row: Row, argument: Jet) -> Jet:
        traits, t = self.library.traits[row.code], argument.value
        assert traits.image and traits.slope and traits.bend
        found = _chained(traits.image(t), traits.slope(t), traits.bend(t), argument)
        return self.power(found, -1) if row.reciprocal else found


def usable(law: LawLike, library: Library) -> bool:
    """Tell whether all transformations of f(x) have derivatives here."""
    return all(
        library.traits[each.code].has_derivatives
        for matrix in law.phi
        for row in factors(matrix, library)
        for each in row.walk()
    )
