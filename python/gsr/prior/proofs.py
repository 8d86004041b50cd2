"""Proofs by interval arithmetic that a law keeps a constraint in the whole box of the data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from gsr.encoding.fold import Arithmetic, fold
from gsr.encoding.rows import Row, factors
from gsr.equation import Equation
from gsr.intervals import Interval, add, constant, halved, multiply, power, scale
from gsr.library import Library
from gsr.selection.fitted import LawLike
from gsr.selection.poles import GuardedLaw, poles
from gsr.transformation import Array

if TYPE_CHECKING:
    from gsr.prior.constraints import Constraint

#: Boxes looked at before a constraint is left open, and at a time.
BUDGET = 4000
BATCH = 256
POLE_BUDGET = 2000
ROUNDING = 1e-9
#: Below this exp is 0.
LOG_OF_NOTHING = -700.0


class Verdict(NamedTuple):
    """True if it is proved, False if it is refuted (at a point), None if it is open."""

    holds: bool | None
    where: Array | None = None


PROVED, OPEN = Verdict(True), Verdict(None)


class Prover:
    """Proves constraints for one law."""

    def __init__(self, equation: Equation, X: Array) -> None:
        self.equation, self.X = equation, X
        self.law = cast(Any, equation)  # it has what a law has, but for its error
        read = GuardedLaw(self.law, equation.library, equation.target_library)
        self.target = "" if read.reciprocal else read.target
        self.g = read.traits
        self.used = [v - 1 for v in read.variables]

    def look_at(self, constraint: Constraint) -> Verdict:
        """Return whether the constraint holds everywhere in the box, up to rounding."""
        j, kind = constraint.feature, constraint.kind
        if j is not None and j not in self.used:
            return PROVED if self._defined else OPEN
        if not self.target or not self._defined or not usable(self.law, self.equation.library):
            return OPEN
        if j is None:
            return self._sign(kind)
        if kind in ("convex", "concave"):
            sign = 1 if kind == "convex" else -1
            return self._one_sided(j, 2, sign) if self.target == "identity" else OPEN
        rising = self._sign_of_y if self.g.rises_with_size else self.g.rises
        return self._one_sided(j, 1, rising if kind == "increasing" else -rising)

    @cached_property
    def _defined(self) -> bool:
        tables = self.equation.library, self.equation.target_library
        return poles(self.law, *tables, self.X, POLE_BUDGET).verdict == "safe"

    @cached_property
    def _sign_of_y(self) -> int:
        """The sign of every y that is predicted, 0 if it is not fixed."""
        branches = self.equation.inversion.branches
        if branches.home is not None:
            return 1 if branches.home[0] >= 0 else -1 if branches.home[1] <= 0 else 0
        if branches.sign is None or branches.sign.library not in (None, self.equation.library):
            return 0
        jets = Jets(self.equation.library, *self._box, 0)
        sign = branches.sign.constant
        for argument in branches.sign.arguments:
            values = fold(argument, jets).value
            sign *= 0 if values.has_zero[0] else int(np.sign(values.low[0]))
        return sign

    @property
    def _box(self) -> tuple[Array, Array]:
        return self.X.min(axis=0)[None], self.X.max(axis=0)[None]

    def _sign(self, kind: str) -> Verdict:
        wanted = 1 if kind in ("positive", "nonnegative") else -1
        strict = kind in ("positive", "negative")
        if self.g.rises and self.g.parity == -1:
            return self._one_sided(0, 0, wanted, strict)
        if not self.g.rises_with_size or self._sign_of_y != wanted:
            return OPEN
        # y = 0 is possible for y^2 and |y|, and where a logarithm goes to minus infinity.
        least = self._derivative(*self._box, 0, 0, 1).low[0]
        apart = least > (LOG_OF_NOTHING if self.g.of_magnitude else 0)
        return PROVED if apart or not strict else OPEN

    def _one_sided(self, feature: int, order: int, sign: int, strict: bool = False) -> Verdict:
        """Look for the sign of a derivative in all boxes; those that leave it open are split."""
        if sign == 0:
            return OPEN
        (low, high), budget = self._box, BUDGET
        slack = 0.0 if strict else ROUNDING * self._size(feature, order)
        while len(low) and budget > 0:
            budget -= len(low)
            found = self._derivative(low, high, feature, order, sign)
            wrong = found.high < -slack
            if wrong.any():
                at = int(np.argmax(wrong))
                return Verdict(False, (low[at] + high[at]) / 2)
            open_ = ~(found.low > 0 if strict else found.low >= -slack)
            if open_.sum() > BATCH:
                return OPEN
            low, high = self._split(low[open_], high[open_])
        return OPEN if len(low) else PROVED

    def _size(self, feature: int, order: int) -> float:
        """Return the size that a derivative would have if y changed once over the box."""
        values = self._derivative(*self._box, feature, 0, 1).size[0]
        width = float(np.ptp(self.X[:, feature])) or 1.0
        size = float(values) / width**order
        return size if np.isfinite(size) else 0.0

    def _derivative(self, low: Array, high: Array, feature: int, order: int, sign: int) -> Interval:
        with np.errstate(all="ignore"):
            jet = Jets(self.equation.library, low, high, feature).law(self.law)
        found = jet[order]
        return found if sign > 0 else Interval(-found.high, -found.low)

    def _split(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Halve each box where it is widest, among the features that the law uses."""
        ranges = np.full(low.shape[1], np.inf)
        ranges[self.used] = np.ptp(self.X, axis=0)[self.used]
        upper, lower = halved(low, high, (high - low) / np.where(ranges > 0, ranges, np.inf))
        return np.vstack([low, lower]), np.vstack([upper, high])


# ---- derivatives over boxes --------------------------------------------------------------------


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
