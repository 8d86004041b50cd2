"""Closed forms y = ... of a law g(y) = f(x)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr.encoding.matrices import constant
from gsr.encoding.rows import Argument
from gsr.lazy import sympy
from gsr.prediction.chain import POINTS, Branch, Step, exponent
from gsr.prediction.inversion import Inversion, lone_logarithm
from gsr.prediction.roots import evenly_spaced
from gsr.transformation import apply_symbolic

if TYPE_CHECKING:
    from gsr.equation import Equation

LARGEST_DENOMINATOR = 12
EXPONENT_TOLERANCE = 1e-8


def explicit(equation: Equation) -> list[Any]:
    """Return SymPy expressions for y, one for each branch that the training range meets."""
    inversion = equation.inversion
    if len(inversion.psi) == 2:
        return _quadratic(inversion, equation.sympy().rhs)
    if inversion.closed is None or not inversion.closed.is_symbolic:
        return []
    if inversion.inside is not None:
        return [_principal(inversion.inside.steps, t) for t in _products(equation)]
    forms = [_on_branch(equation, branch) for branch in _branches(inversion)]
    return list(dict.fromkeys(forms))


def _principal(steps: Sequence[Step], value: Any) -> Any:
    for step in steps:
        assert step.symbolic is not None
        value = apply_symbolic(step.symbolic, value)
    return value


def _branches(inversion: Inversion) -> list[Branch]:
    """Return the branches of the inverse that the training range meets."""
    assert inversion.closed is not None
    known = inversion.branches
    y = evenly_spaced(known.low, known.high, POINTS)
    if known.sides is not None:
        y = y[np.isin(inversion.closed.sides(y), known.sides)]
    return inversion.closed.branches(y)


def _on_branch(equation: Equation, branch: Branch) -> Any:
    inversion = equation.inversion
    assert inversion.closed is not None
    steps = inversion.closed.steps
    beta = float(equation.beta[0])
    right = equation.sympy().rhs
    value = right if beta == 1 else right / beta
    for k, (step, (mirrored, turns)) in enumerate(zip(steps, branch, strict=True)):
        first, last = k == 0, k == len(steps) - 1
        is_size = first and inversion.logarithm is not None
        value = _size(equation, {}) if is_size else _principal([step], value)
        if last and inversion.branches.sign is not None and not step.period:
            return _signed(equation, value)
        value = _image(step, value, mirrored, turns)
    return value


def _image(step: Step, principal: Any, mirrored: bool, turns: int) -> Any:
    exact = {0.0: sympy.Integer(0), float(np.pi): sympy.pi, float(2 * np.pi): 2 * sympy.pi}
    mirror = exact.get(step.mirror, step.mirror) if mirrored else 0
    period = exact.get(step.period, step.period)
    return (mirror - principal if mirrored else principal) + turns * period


def _quadratic(inversion: Inversion, right: Any) -> list[Any]:
    """Solve a y^2 + b y = f: (y - centre)^2 = f/a + centre^2."""
    coefficients = {
        exponent(matrix, inversion.library): float(b)
        for matrix, b in zip(inversion.psi, inversion.beta, strict=True)
    }
    if set(coefficients) != {1.0, 2.0}:
        return []
    a, b = coefficients[2.0], coefficients[1.0]
    centre = -b / (2 * a)
    root = sympy.sqrt((right if a == 1 else right / a) + centre**2)
    low, high = inversion.branches.low, inversion.branches.high
    return ([centre + root] if high > centre else []) + ([centre - root] if low < centre else [])


# ---- ln|y| = ... -----------------------------------------------------------------------------


def _products(equation: Equation) -> list[Any]:
    """Turn the sum of logarithms into a product of powers, with its sign."""
    rule = equation.inversion.branches.sign
    signs = dict.fromkeys(rule.arguments if rule else (), True)
    size = _size(equation, signs)
    return [sign * size for sign in _leftover_signs(equation, signs)]


def _size(equation: Equation, signs: dict[Argument, bool]) -> Any:
    """Return exp(f/beta) as a product of powers; signs that it has taken in are removed."""
    beta = float(equation.beta[0])
    powers, rest = sympy.Integer(1), sympy.Integer(0)
    for k, (matrix, c) in enumerate(zip(equation.phi, equation.alpha, strict=True)):
        row = lone_logarithm(matrix, equation.library)
        if row is None:
            term = equation.feature_term(k)
            rest += constant(float(c) / beta) * term
            continue
        bars = equation.absolute_features[k]
        argument = equation.argument(row.argument, bars)
        power = _exact(float(c) / beta)
        odd = bool(power.is_Integer and power % 2 == 1)
        signed = signs.pop(row.argument, False)
        powers *= _power(argument, power, odd, signed, row.number in bars)
    free, rest = rest.as_coeff_Add()
    return powers * sympy.exp(rest) * (sympy.exp(free) if free != 0 else 1)


def _power(argument: Any, power: Any, odd: bool, signed: bool, barred: bool) -> Any:
    """Return |argument|^power, times the sign of the argument if that is in the rule."""
    if odd == signed and power.is_Integer:
        return argument**power
    size = sympy.Abs(argument) ** power if barred else argument**power
    return sympy.sign(argument) * size if signed and barred else size


def _leftover_signs(equation: Equation, signs: dict[Argument, bool]) -> list[Any]:
    branches = equation.inversion.branches
    if branches.sign is not None:
        arguments = [equation.argument(argument) for argument in signs]
        return [branches.sign.constant * sympy.Mul(*map(sympy.sign, arguments))]
    if branches.home is not None:
        ends = equation.inversion.signed(np.array([branches.low, branches.high]))
        return [1 if np.nansum(ends) > 0 else -1]
    return [1, -1]


def _signed(equation: Equation, size: Any) -> Any:
    rule = equation.inversion.branches.sign
    assert rule is not None
    for argument in map(equation.argument, rule.arguments):
        sign = sympy.sign(argument)
        size = (sign * size).subs(sign * sympy.Abs(argument), argument)
    return rule.constant * size


def _exact(value: float) -> Any:
    """Return a simple fraction if the value is one but for rounding."""
    near = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    if abs(near - value) <= EXPONENT_TOLERANCE * max(1.0, abs(value)):
        return sympy.Rational(near.numerator, near.denominator)
    return sympy.Float(value)
