"""Constants near simple numbers, which are rounded where the data agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from gsr.selection.fitted import FittedLaw, LawLike, Training, constants, with_constants
from gsr.selection.refit import confirm
from gsr.selection.target_scale import Linearised, linearise, refine, residuals, rmse
from gsr.selection.uncertainty import inverse_gram, noise_level
from gsr.transformation import Array, Mask

#: How far, in standard errors, a simple number may be from the constant it stands for.
WINDOWS = (0.5, 1.0, 3.0)
#: Probability of the F test below which the data do not agree.
LEAST_PROBABILITY = 0.002
#: Bits by which a simple number must be shorter than the digits that the data determine, and the
#: same for each of its bits: the more numbers there are, the more are near by chance.
SAVING = 1.0
SAVING_PER_BIT = 0.3
#: Bits to say that a number is a decimal, and that it is a multiple of pi.
DECIMAL_BITS = 2.0
PI_BITS = 3.0
LARGEST_PI_FACTOR = 16
#: An exact law's constants are known to so many of their standard errors, or roundings.
ROUNDINGS = 8.0
#: The most that a constant takes for standing in for others.
SHARED_BITS = 20.0


class Simple(NamedTuple):
    """A number that is short to write."""

    value: float
    bits: float
    text: str


@dataclass(frozen=True, eq=False)
class Rounded:
    """A law with some constants rounded to simple numbers and the others fitted again."""

    law: FittedLaw
    #: The simple number for each of the law's `constants`, such as ``"1/2"`` or ``"3 pi/4"``; None
    #: where a constant stays as it is.
    texts: tuple[str | None, ...]
    bits: float  # of all constants

    @property
    def any(self) -> bool:
        """Whether a constant was rounded."""
        return any(text is not None for text in self.texts)


def known_bits(value: float, error: float) -> float:
    """Return the bits of a constant's sign and of the digits that its error leaves."""
    if error == 0.0:
        return 53.0
    return 1.0 + math.log2(1.0 + min(abs(value) / error, 2.0**52))


def simplest(value: float, error: float) -> Simple | None:
    """Return the simple number that describes a constant best, None if its digits do better.

    The bits of the number and those that its distance costs the data are weighed together.
    """
    if value == 0.0 or not math.isfinite(error):
        return None
    error = max(error, 4.0 * float(np.finfo(float).eps) * abs(value))  # the value is rounded too
    best: Simple | None = None
    least = known_bits(value, error) - SAVING
    for found in _candidates(abs(value), error):
        away = (found.value - abs(value)) / error
        cost = (1.0 + SAVING_PER_BIT) * found.bits + away**2 / (2.0 * math.log(2.0))
        if cost < least:
            best, least = found, cost
    if best is None or value > 0:
        return best
    return Simple(-best.value, best.bits, "-" + best.text)


def rounded(law: LawLike, data: Training) -> Rounded:
    """Round the constants of a law where the data agree.

    One constant after the other is set to a simple number, that of the greatest saving first, and
    the others are fitted again, all on the linearised law. It stays so if the squared error has
    risen, in all, by no more than an F test allows. The same is then asked of the law
    itself; an exact law must still be exact.
    """
    if not data.loss.is_squared:
        weights = data.loss.weights(residuals(law, data), 1.0)
        squared = rounded(law, data.reweighted(weights))
        return replace(squared, law=FittedLaw.of(squared.law, rmse=rmse(squared.law, data)))
    plan = _Plan(FittedLaw.of(law), data)
    numbers = plan.numbers()
    found = plan.law_with(numbers)
    while numbers and not plan.agrees_with(found, len(numbers)):
        numbers.popitem()
        found = plan.law_with(numbers)
    texts = [numbers[j].text if j in numbers else None for j in range(plan.n)]
    errors = plan.errors(numbers)
    sizes = np.maximum(np.abs(constants(found)), plan.sizes())
    digits = [
        numbers[j].bits if j in numbers else known_bits(sizes[j], errors[j]) for j in range(plan.n)
    ]
    return Rounded(found, tuple(texts), float(sum(digits)) + plan.shared_bits(numbers))


class _Plan:
    """A law linearised around its constants, on which rounding is tried."""

    def __init__(self, law: FittedLaw, data: Training) -> None:
        self.law, self.data = law, data
        self.around = linearise(law, data)
        self.values = constants(law)
        self.n, self.n_rows = len(self.values), self.around.n_rows
        self.error = float(self.around.residual @ self.around.residual)

    def numbers(self) -> dict[int, Simple]:
        """Return the constants that may be rounded, in the order in which they were."""
        fixed: dict[int, Simple] = {}
        tried: set[int] = set()
        while True:
            values, _ = self.fitted(fixed)
            errors = self.errors(fixed)
            left = [j for j in range(self.n) if j not in tried]
            offers = {j: simplest(values[j], errors[j]) for j in left}
            known = {j: known_bits(values[j], errors[j]) - s.bits for j, s in offers.items() if s}
            if not known:
                return fixed
            j = max(known, key=lambda j: known[j])
            tried.add(j)
            number = offers[j]
            assert number is not None
            more = {**fixed, j: number}
            if self.law.exact or self._agrees(self.fitted(more)[1], len(more)):
                fixed = more

    def sizes(self) -> Array:
        """Return the constants that would make y vary as much as it does.

        Digits are counted from there: one that is 0 in the place of the others' first digit is
        not known better for it.
        """
        slopes = np.sqrt((self.around.jacobian**2).sum(axis=0) / max(self.n_rows, 1))
        spread = self.data.spread
        return np.where(slopes > 0, spread / np.where(slopes > 0, slopes, 1.0), 0.0)

    def fitted(self, fixed: Mapping[int, Simple]) -> tuple[Array, float]:
        """Return all constants with some of them fixed, and the squared error."""
        step = np.zeros(self.n)
        for j, number in fixed.items():
            step[j] = number.value - self.values[j]
        left = self.around.residual - self.around.jacobian @ step
        step += Linearised(np.column_stack([self.around.jacobian, left]), self.n_rows).step(
            0.0, self._free(fixed)
        )
        left = self.around.residual - self.around.jacobian @ step
        return self.values + step, float(left @ left)

    def errors(self, fixed: Mapping[int, Simple]) -> Array:
        """Return the standard errors of the constants that are not fixed."""
        free = self._free(fixed)
        sigma = noise_level(self.error, self.n_rows - self.n, self.data)
        errors = np.zeros(self.n)
        with np.errstate(invalid="ignore"):
            errors[free] = sigma * np.sqrt(np.diag(inverse_gram(self.around.jacobian[:, free])))
        if self.law.exact:
            least = ROUNDINGS * np.finfo(float).eps * np.abs(self.values)
            errors = np.maximum(ROUNDINGS * errors, least)
        return np.where(np.isnan(errors), math.inf, errors)

    def shared_bits(self, fixed: Mapping[int, Simple]) -> float:
        """Return the bits that constants take together beyond those of each by itself.

        Where constants can stand in for each other their errors are large, though the data say as
        much about them: the rest is half of log2 of the determinant of their correlations.
        """
        free = self._free(fixed)
        most = SHARED_BITS * float(free.sum() - 1)
        if self.law.exact or free.sum() < 2:
            return 0.0
        covariance = inverse_gram(self.around.jacobian[:, free])
        sizes = np.sqrt(np.diag(covariance))
        if not np.isfinite(sizes).all():
            return most
        _, logarithm = np.linalg.slogdet(covariance / np.outer(sizes, sizes))
        return float(np.clip(-0.5 * logarithm / math.log(2.0), 0.0, most))

    def law_with(self, fixed: Mapping[int, Simple]) -> FittedLaw:
        """Return the law itself with some constants fixed and the others fitted."""
        if not fixed:
            return self.law
        values = self.values.copy() if self.law.exact else self.fitted(fixed)[0]
        for j, number in fixed.items():
            values[j] = number.value
        moved = with_constants(self.law, values)
        if self.law.exact:
            return confirm(moved, self.data)
        return refine(moved, self.data, self._free(fixed))

    def agrees_with(self, law: FittedLaw, n_fixed: int) -> bool:
        """Return whether the data agree with a law whose constants were rounded."""
        return law.exact or (
            not self.law.exact and self._agrees(law.rmse**2 * len(self.data.y), n_fixed)
        )

    def _free(self, fixed: Mapping[int, Simple]) -> Mask:
        return np.array([j not in fixed for j in range(self.n)], dtype=bool)

    def _agrees(self, error: float, n_fixed: int) -> bool:
        from scipy.special import fdtrc

        left = self.n_rows - self.n
        if left < 1 or self.error == 0.0 or not math.isfinite(error):
            return False
        rise = max(error / self.error - 1.0, 0.0)
        return bool(fdtrc(n_fixed, left, rise * left / n_fixed) >= LEAST_PROBABILITY)


def _candidates(value: float, error: float) -> Iterator[Simple]:
    for window in WINDOWS:
        low, high = value - window * error, value + window * error
        if low <= 0.0:
            continue
        p, q = _simplest_fraction(low, high)
        yield Simple(p / q, fraction_bits(Fraction(p, q)), _fraction(p, q))
        digits, exponent = _shortest_decimal(value, low, high)
        bits = 1.0 + math.log2(1.0 + digits) + math.log2(1.0 + abs(exponent)) + DECIMAL_BITS
        decimal = float(f"{digits}e{exponent}")
        yield Simple(decimal, bits, f"{decimal:.15g}")
        if low / math.pi < LARGEST_PI_FACTOR:
            p, q = _simplest_fraction(low / math.pi, high / math.pi)
            bits = fraction_bits(Fraction(p, q)) + PI_BITS
            yield Simple(math.pi * p / q, bits, _fraction(p, q, "pi"))


def fraction_bits(value: Fraction) -> float:
    """Return the bits of a fraction and its sign."""
    return 1.0 + math.log2(1.0 + abs(value.numerator)) + math.log2(value.denominator)


def _fraction(p: int, q: int, unit: str = "") -> str:
    top = f"{p} {unit}".strip() if p != 1 or not unit else unit
    return top if q == 1 else f"{top}/{q}"


def _simplest_fraction(low: float, high: float) -> tuple[int, int]:
    """Return p, q of the fraction of least denominator between two positive numbers."""
    whole = math.floor(low)
    if whole == low:
        return whole, 1
    if whole + 1 <= high:
        return whole + 1, 1
    # Both have the same whole part, so the fraction sits in the reciprocals of the rest.
    above = 1.0 / (low - whole)
    below = 1.0 / (high - whole)
    if above > 2.0**40:
        return round(low * 2**40), 2**40
    q, p = _simplest_fraction(below, above)
    return whole * q + p, q


def _shortest_decimal(value: float, low: float, high: float) -> tuple[int, int]:
    """Return digits and exponent of ten of the shortest decimal between low and high."""
    exponent = math.floor(math.log10(high))
    for e in range(exponent, exponent - 17, -1):
        digits = round(value / 10.0**e)
        if digits and low <= float(f"{digits}e{e}") <= high:
            break
    return digits, e
