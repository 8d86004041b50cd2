"""Closed forms y = ... of a law g(y) = f(x)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr._rows import Row, rows
from gsr.inversion import ClosedForm, Inversion
from gsr.library import Library
from gsr.transformation import POWERS, apply_symbolic

if TYPE_CHECKING:
    from gsr.equation import Equation

LARGEST_DENOMINATOR = 12
EXPONENT_TOLERANCE = 1e-8


def explicit(equation: Equation) -> list[Any]:
    """Return SymPy expressions for y, one for each branch that the training range meets."""
    inversion = equation.inversion
    if inversion.is_logarithm:
        return _products(equation)
    right = equation.sympy().rhs
    if len(inversion.psi) == 2:
        return _quadratic(inversion, right)
    if inversion.closed is None or inversion.closed.symbolic is None:
        return []
    beta = float(equation.beta[0])
    principal = apply_symbolic(inversion.closed.symbolic, right if beta == 1 else right / beta)
    if inversion.branches.sign is not None and not inversion.closed.period:
        return [_signed(equation, principal)]
    return [_image(inversion.closed, principal, *branch) for branch in _branches(inversion)]


def _branches(inversion: Inversion) -> list[tuple[bool, int]]:
    """Return the branches of the inverse that the training range meets."""
    assert inversion.closed is not None
    y = np.linspace(inversion.branches.low, inversion.branches.high, 1001)
    with np.errstate(all="ignore"):
        v = inversion.function(y) / inversion.beta[0]
        principal = np.asarray(inversion.closed.inverse(v), dtype=float)
    known = np.isfinite(principal)
    return inversion.closed.branches(y[known], principal[known])


def _image(closed: ClosedForm, principal: Any, mirrored: bool, turns: int) -> Any:
    import sympy

    exact = {0.0: sympy.Integer(0), float(np.pi): sympy.pi, float(2 * np.pi): 2 * sympy.pi}
    mirror = exact.get(closed.mirror, closed.mirror) if mirrored else 0
    period = exact.get(closed.period, closed.period)
    return (mirror - principal if mirrored else principal) + turns * period


def _quadratic(inversion: Inversion, right: Any) -> list[Any]:
    """Solve a y^2 + b y = f: (y - centre)^2 = f/a + centre^2."""
    import sympy

    coefficients = {
        _exponent(matrix, inversion.library): float(b)
        for matrix, b in zip(inversion.psi, inversion.beta, strict=True)
    }
    if set(coefficients) != {1.0, 2.0}:
        return []
    a, b = coefficients[2.0], coefficients[1.0]
    centre = -b / (2 * a)
    root = sympy.sqrt((right if a == 1 else right / a) + centre**2)
    low, high = inversion.branches.low, inversion.branches.high
    return ([centre + root] if high > centre else []) + ([centre - root] if low < centre else [])


def _exponent(matrix: Any, library: Library) -> float:
    factors = [row for row in rows(matrix, library) if row is not None]
    return sum(POWERS.get(library.names[row.code], np.nan) for row in factors)


# ---- ln|y| = ... -----------------------------------------------------------------------------


def logarithms(
    phi: Sequence[Any], alpha: Sequence[float], library: Library
) -> list[tuple[float, Row]]:
    """Return the terms that are one logarithm, with their coefficients."""
    found = []
    for matrix, c in zip(phi, alpha, strict=True):
        row = _lone_logarithm(matrix, library)
        if row is not None:
            found.append((float(c), row))
    return found


def _lone_logarithm(matrix: Any, library: Library) -> Row | None:
    factors = [row for row in rows(matrix, library) if row is not None]
    lone = len(factors) == 1 and library.names[factors[0].code] == "ln"
    return factors[0] if lone else None


def _products(equation: Equation) -> list[Any]:
    """Turn the sum of logarithms into a product of powers, with the sign of y."""
    import sympy

    beta = float(equation.beta[0])
    powers, rest = sympy.Integer(1), sympy.Integer(0)
    rule = equation.inversion.branches.sign
    signs = dict.fromkeys(rule.arguments if rule else (), True)
    for k, (matrix, c) in enumerate(zip(equation.phi, equation.alpha, strict=True)):
        row = _lone_logarithm(matrix, equation.library)
        if row is None:
            term = equation.feature_term(k)
            rest += term if c == beta else sympy.Float(c / beta) * term
            continue
        argument = equation.argument(row)
        power = _exact(float(c) / beta)
        odd = bool(power.is_Integer and power % 2 == 1)
        signed = signs.pop((row.argument, row.variables), False)
        barred = bool(equation.absolute_features[k])
        powers *= _power(argument, power, odd, signed, barred)
    constant, rest = rest.as_coeff_Add()
    size = powers * sympy.exp(rest) * (sympy.exp(constant) if constant != 0 else 1)
    return [sign * size for sign in _leftover_signs(equation, signs)]


def _power(argument: Any, power: Any, odd: bool, signed: bool, barred: bool) -> Any:
    """Return |argument|^power, times the sign of the argument if that is in the rule."""
    import sympy

    if odd == signed and power.is_Integer:
        return argument**power
    size = sympy.Abs(argument) ** power if barred else argument**power
    return sympy.sign(argument) * size if signed and barred else size


def _leftover_signs(equation: Equation, signs: dict[Any, bool]) -> list[Any]:
    import sympy

    branches = equation.inversion.branches
    if branches.sign is not None:
        arguments = [equation.argument(Row(0, *a)) for a in signs]
        return [branches.sign.constant * sympy.Mul(*map(sympy.sign, arguments))]
    if branches.home is not None:
        return [1 if branches.high > 0 else -1]
    return [1, -1]


def _signed(equation: Equation, size: Any) -> Any:
    import sympy

    rule = equation.inversion.branches.sign
    assert rule is not None
    for argument in (equation.argument(Row(0, *a)) for a in rule.arguments):
        sign = sympy.sign(argument)
        size = (sign * size).subs(sign * sympy.Abs(argument), argument)
    return rule.constant * size


def _exact(value: float) -> Any:
    """Return a simple fraction if the value is one but for rounding."""
    import sympy

    near = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    if abs(near - value) <= EXPONENT_TOLERANCE * max(1.0, abs(value)):
        return sympy.Rational(near.numerator, near.denominator)
    return sympy.Float(value)
