"""Interval arithmetic on arrays: every result holds all values that its operands allow.

Bounds are rounded outwards, by one unit in the last place for sums and products and by a few for
elementary functions, whose rounding is not fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
ULPS = 4


class Interval(NamedTuple):
    """Lower and upper bounds, arrays of the same shape."""

    low: Array
    high: Array

    @property
    def has_zero(self) -> Mask:
        """Whether 0 is among the values; True where nothing is known."""
        return ~((self.low > 0) | (self.high < 0))

    @property
    def is_finite(self) -> Mask:
        """Whether both bounds are finite."""
        return np.isfinite(self.low) & np.isfinite(self.high)

    @property
    def size(self) -> Array:
        """The greatest absolute value."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def constant(value: float, n: int) -> Interval:
    """Return the same number n times."""
    return Interval(np.full(n, value), np.full(n, value))


def _outward(low: Array, high: Array, ulps: int = 1) -> Interval:
    """Widen the bounds; those that are NaN become infinite."""
    low = np.where(np.isnan(low), -np.inf, low)
    high = np.where(np.isnan(high), np.inf, high)
    for _ in range(ulps):
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return Interval(low, high)


def add(a: Interval, b: Interval) -> Interval:
    """Return a + b."""
    return _outward(a.low + b.low, a.high + b.high)


def scale(a: Interval, factor: float) -> Interval:
    """Return factor * a; by 1 and -1 without rounding."""
    low, high = (a.low, a.high) if factor >= 0 else (a.high, a.low)
    if abs(factor) == 1.0:
        return Interval(low * factor, high * factor)
    return _outward(low * factor, high * factor)


def multiply(a: Interval, b: Interval) -> Interval:
    """Return a * b."""
    with np.errstate(invalid="ignore"):
        products = np.array([a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high])
    # 0 times infinity: an unbounded factor times a factor that is 0 on one side only.
    products = np.where(np.isnan(products), 0.0, products)
    return _outward(products.min(axis=0), products.max(axis=0))


def reciprocal(a: Interval) -> Interval:
    """Return 1 / a; everything where a has 0."""
    zero = a.has_zero
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = 1.0 / a.high, 1.0 / a.low
    return _outward(np.where(zero, -np.inf, low), np.where(zero, np.inf, high))


def power(a: Interval, n: int) -> Interval:
    """Return a^n for a whole number n."""
    if n < 0:
        return reciprocal(power(a, -n))
    with np.errstate(over="ignore"):
        low, high = a.low**n, a.high**n
    if n == 1:
        return a
    if n % 2 == 0:
        least = np.where(a.has_zero, 0.0, np.minimum(low, high))
        # An even power is never negative, rounded or not.
        wide = _outward(least, np.maximum(low, high), ULPS)
        return Interval(np.maximum(wide.low, 0.0), wide.high)
    return _outward(low, high, ULPS)


def halved(low: Array, high: Array, width: Array) -> tuple[Array, Array]:
    """Cut boxes where they are widest; return where halves end below, and begin above."""
    cut = np.zeros(low.shape, bool)
    cut[np.arange(len(low)), width.argmax(axis=1)] = True
    middle = (low + high) / 2
    return np.where(cut, middle, high), np.where(cut, middle, low)


# ---- images --------------------------------------------------------------------------------------


def monotone(function: Callable[[Array], Array]) -> Callable[[Interval], Interval]:
    """Return the image of intervals under a function that never falls."""

    def image(a: Interval) -> Interval:
        with np.errstate(all="ignore"):
            return _outward(function(a.low), function(a.high), ULPS)

    return image


def flat(value: float) -> Callable[[Interval], Interval]:
    """Return the image of intervals under a constant."""
    return lambda a: constant(value, len(a.low))


def cos(a: Interval) -> Interval:
    """Return cos(a)."""
    # Maxima are at even, minima at odd multiples of pi; slack covers the rounding of the quotient.
    with np.errstate(all="ignore"):
        slack = 8 * np.finfo(float).eps * (1.0 + a.size / np.pi)
        low, high = a.low / np.pi - slack, a.high / np.pi + slack
        top = np.floor(high / 2) * 2 >= low
        bottom = np.floor((high - 1) / 2) * 2 + 1 >= low
        ends = np.array([np.cos(a.low), np.cos(a.high)])
    wide = _outward(ends.min(axis=0), ends.max(axis=0), ULPS)
    unknown = ~a.is_finite
    low = np.where(bottom | unknown, -1.0, np.maximum(wide.low, -1.0))
    return Interval(low, np.where(top | unknown, 1.0, np.minimum(wide.high, 1.0)))


def sin(a: Interval) -> Interval:
    """Return sin(a)."""
    return cos(_outward(a.low - np.pi / 2, a.high - np.pi / 2, ULPS))


def tan(a: Interval) -> Interval:
    """Return tan(a); everything where a has a pole."""
    open_ = cos(a).has_zero
    wide = monotone(np.tan)(a)
    return Interval(np.where(open_, -np.inf, wide.low), np.where(open_, np.inf, wide.high))


def ln(a: Interval) -> Interval:
    """Return ln|a|."""
    with np.errstate(all="ignore"):
        ends = np.log(np.abs(np.array([a.low, a.high])))
    wide = _outward(ends.min(axis=0), ends.max(axis=0), ULPS)
    return Interval(np.where(a.has_zero, -np.inf, wide.low), wide.high)


def sqrt(a: Interval) -> Interval:
    """Return the root of what is not negative in a."""
    wide = monotone(lambda t: np.asarray(np.sqrt(np.maximum(t, 0))))(a)
    return Interval(np.maximum(wide.low, 0.0), wide.high)


def exp(a: Interval) -> Interval:
    """Return exp(a)."""
    wide = monotone(np.exp)(a)
    return Interval(np.maximum(wide.low, 0.0), wide.high)


def tanh(a: Interval) -> Interval:
    """Return tanh(a)."""
    wide = monotone(np.tanh)(a)
    return Interval(np.maximum(wide.low, -1.0), np.minimum(wide.high, 1.0))


def absolute(a: Interval) -> Interval:
    """Return |a|."""
    ends = np.abs(np.array([a.low, a.high]))
    return Interval(np.where(a.has_zero, 0.0, ends.min(axis=0)), ends.max(axis=0))


def sign(a: Interval) -> Interval:
    """Return the sign of a: from -1 to 1 where a has 0."""
    return Interval(np.where(a.low > 0, 1.0, -1.0), np.where(a.high < 0, -1.0, 1.0))
