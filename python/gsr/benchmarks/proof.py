"""Prove with SymPy that an expression vanishes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import sympy

SAME_AT = mpmath.mpf("1e-60")


def is_zero(difference: Any, constants: Mapping[Any, Any]) -> bool:
    """Tell whether the difference can be reduced to zero, cheap ways first."""
    return any(_vanishes(_attempt(each, difference), constants) for each in STRATEGIES)


def stripped(expression: Any) -> Any:
    """Continue the expression from where all its symbols and Abs arguments are positive.

    Both sides of a law are analytic there, and the points of the domain have already agreed.
    """
    positive = {s: sympy.Symbol(s.name, positive=True) for s in expression.free_symbols}
    return expression.xreplace(positive).replace(sympy.Abs, lambda inside: inside)


# ---- ways to rewrite -------------------------------------------------------------------------


def _split_logs(expression: Any) -> Any:
    """Write logarithms of products as sums; ln|t| is meant, so that the signs do not matter."""
    return sympy.expand(expression.replace(sympy.log, _split_log))


def _split_log(inside: Any) -> Any:
    if inside.is_Mul:
        return sympy.Add(*map(_split_log, inside.args))
    base, exponent = inside.as_base_exp()
    if exponent != 1:
        return exponent * _split_log(base)
    if inside.is_Add:
        factored = sympy.factor(inside)
        if factored.is_Mul or factored.is_Pow:
            return _split_log(factored)
    return sympy.log(_unsigned(inside))


def _split_roots(expression: Any) -> Any:
    """Write roots of products as products of roots, likewise of |t|."""
    return expression.replace(
        lambda e: e.is_Pow and e.exp.is_integer is False, lambda e: _split_power(*e.args)
    )


def _split_power(base: Any, exponent: Any) -> Any:
    if base.is_Mul:
        return sympy.Mul(*(_split_power(each, exponent) for each in base.args))
    inner, power = base.as_base_exp()
    if power != 1:
        return _split_power(inner, power * exponent)
    if base.is_Add:
        factored = sympy.factor(base)
        if factored.is_Mul or factored.is_Pow:
            return _split_power(factored, exponent)
    return _unsigned(base) ** exponent


def _unsigned(t: Any) -> Any:
    return -t if t.is_negative or (t.is_Add and t.could_extract_minus_sign()) else t


def _numerator(expression: Any) -> Any:
    return sympy.expand(sympy.numer(sympy.together(expression)))


def _exponentials(expression: Any) -> Any:
    return sympy.expand(sympy.powsimp(_numerator(expression.rewrite(sympy.exp))))


STRATEGIES: tuple[Callable[[Any], Any], ...] = (
    lambda e: e,
    _split_logs,
    sympy.expand,
    lambda e: sympy.expand(sympy.expand_trig(sympy.expand(e))),
    lambda e: sympy.expand(e.rewrite(sympy.exp)),
    _numerator,
    _exponentials,
    lambda e: _numerator(_split_roots(e)),
    lambda e: _numerator(_split_logs(e)),
    lambda e: _numerator(sympy.expand_trig(e)),
    lambda e: sympy.expand(sympy.powdenest(sympy.powsimp(e, force=True), force=True)),
    lambda e: sympy.radsimp(sympy.expand(e)),
    lambda e: sympy.simplify(sympy.expand_log(e, force=True)),
    lambda e: sympy.simplify(e.rewrite(sympy.exp)),
)


def _attempt(strategy: Callable[[Any], Any], difference: Any) -> Any:
    try:
        return strategy(difference)
    except Exception:  # one way of rewriting may fail where the next one works
        return sympy.nan


# ---- what is left ----------------------------------------------------------------------------


def _vanishes(expression: Any, constants: Mapping[Any, Any]) -> bool:
    """Tell whether the coefficient of every function of the variables is zero."""
    if expression == 0 or expression.has(sympy.nan, sympy.zoo, sympy.oo):
        return bool(expression == 0)
    variables = expression.free_symbols - set(constants)
    groups: dict[Any, list[Any]] = {}
    for term in sympy.Add.make_args(expression):
        coefficient, function = term.as_independent(*variables, as_Add=False)
        groups.setdefault(function, []).append(coefficient)
    return all(_cancel(coefficients, constants) for coefficients in groups.values())


def _cancel(coefficients: list[Any], constants: Mapping[Any, Any]) -> bool:
    if len(coefficients) == 1 and not coefficients[0].free_symbols:
        return False
    symbols = list(constants)
    values = [
        mpmath.mpmathify(sympy.lambdify(symbols, each, "mpmath")(*constants.values()))
        for each in coefficients
    ]
    return bool(abs(mpmath.fsum(values)) <= SAME_AT * mpmath.fsum(map(abs, values)))
