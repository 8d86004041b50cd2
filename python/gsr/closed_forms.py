"""Closed forms of constants that are known to many digits."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import sympy

#: Precision at which constants are found and compared.
DIGITS = 100
IDENTIFY_AT = mpmath.mpf("1e-50")
LARGEST = 10**12


def identify(constant: Any) -> Any:
    """Return the closed form of an mpmath number as a SymPy expression, None if there is none.

    Tried are rationals, logarithms and roots of rationals, and rational multiples of pi and of
    exp, log, 1/log, cos, sin of small rationals.
    """
    for attempt in (_rational, _logarithm, _root, _multiple):
        found = attempt(constant)
        if found is not None:
            return found
    return None


def _rational(constant: Any) -> Any:
    near = Fraction(*mpmath.libmp.to_rational(constant._mpf_)).limit_denominator(LARGEST)
    error = abs(mpmath.mpf(near.numerator) / near.denominator - constant)
    if error > IDENTIFY_AT * abs(constant):
        return None
    return sympy.Rational(near.numerator, near.denominator)


def _logarithm(constant: Any) -> Any:
    """Find log(rational)/k."""
    for k in range(1, 13):
        if abs(k * constant) < 50 and (inside := _rational(mpmath.exp(k * constant))):
            return sympy.log(inside) / k
    return None


def _root(constant: Any) -> Any:
    """Find the k-th root of a rational."""
    for k in range(2, 7):
        if inside := _rational(abs(constant) ** k):
            return int(mpmath.sign(constant)) * sympy.root(inside, k)
    return None


def _multiple(constant: Any) -> Any:
    """Find a rational multiple of pi or of exp, log, 1/log, cos, sin of a small rational."""
    for unit, value in _units():
        if factor := _rational(constant / value):
            return factor * unit
    return None


@cache
def _units() -> list[tuple[Any, Any]]:
    small = {sympy.Rational(n, d) for n in range(1, 21) for d in (1, 2, 3, 4, 5, 10)}
    forms = [sympy.pi]
    for r in sorted(small):
        forms += [sympy.exp(r), sympy.exp(-r), sympy.cos(r), sympy.sin(r)]
        forms += [sympy.log(r), 1 / sympy.log(r)] if r > 1 else []
    return [(form, mpmath.mpf(form.evalf(DIGITS))) for form in forms]
