"""Exact arithmetic for the proof of a law: closed forms of constants, expressions that vanish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from math import pi, sqrt
from typing import Any

import mpmath
import sympy

#: Precision at which constants are found and compared.
DIGITS = 100
IDENTIFY_AT = mpmath.mpf("1e-50")
LARGEST = 10**12
#: How far a fitted constant may be from its closed form, relatively.
GUESS_AT = 1e-7
#: A fitted constant below this is taken for zero, too.
NOTHING_AT = 1e-9
MOST_GUESSES = 4
#: Largest denominators of a guessed rational, and of a rational beside an irrational unit.
DECIMAL, SMALL = 1000, 60
TURNS = 8


def identify(constant: Any) -> Any:
    """Return the closed form of an mpmath number as a SymPy expression, None if there is none.

    Tried are rationals, logarithms and roots of rationals, both also times a power of pi, and
    rational multiples of exp, log, 1/log, cos, sin of small rationals.
    """
    for attempt in (_rational, _logarithm, _root, _with_pi, _multiple):
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


def _with_pi(constant: Any) -> Any:
    """Find sqrt(rational) pi^(j/2), or the logarithm of it."""
    for j in (2, -2, 1, -1, 4, -4, 3, -3, 6, -6):
        unit, power = mpmath.pi**j, sympy.pi ** sympy.Rational(j, 2)
        if inside := _rational(constant**2 / unit):
            return int(mpmath.sign(constant)) * sympy.sqrt(inside) * power
        if abs(constant) < 25 and (inside := _rational(mpmath.exp(2 * constant) / unit)):
            return sympy.log(inside * sympy.pi**j) / 2
    return None


def _multiple(constant: Any) -> Any:
    """Find a rational multiple of exp, log, 1/log, cos, sin of a small rational."""
    for unit, value in _units():
        if factor := _rational(constant / value):
            return factor * unit
    return None


@cache
def _units() -> list[tuple[Any, Any]]:
    small = {sympy.Rational(n, d) for n in range(1, 21) for d in (1, 2, 3, 4, 5, 10)}
    forms = []
    for r in sorted(small):
        forms += [sympy.exp(r), sympy.exp(-r), sympy.cos(r), sympy.sin(r)]
        forms += [sympy.log(r), 1 / sympy.log(r)] if r > 1 else []
    return [(form, mpmath.mpf(form.evalf(DIGITS))) for form in forms]


# ---- guesses -----------------------------------------------------------------------------------


def guesses(value: float) -> list[Any]:
    """Return closed forms near a fitted number, simplest first; the number itself if none is.

    Tried are rationals, rational multiples of sqrt(2), sqrt(3) and powers of pi, and rationals
    with quarter turns added, as in a phase. A guess is no proof: it is for the caller to test.
    """
    found = {form: cost for cost, form in _near(value)}
    if not found:
        return [sympy.Rational(value)]
    return sorted(found, key=lambda form: found[form])[:MOST_GUESSES]


def _near(value: float) -> Iterator[tuple[float, Any]]:
    if abs(value) <= NOTHING_AT:
        yield 0.0, sympy.Integer(0)
    if (plain := _simple(value, DECIMAL)) is not None:
        yield _height(plain), sympy.Rational(plain)
    for unit, size in _irrational():
        if (factor := _simple(value / size, SMALL)) is not None:
            yield 10.0 * _height(factor), sympy.Rational(factor) * unit
    for quarter in (k for k in range(-TURNS, TURNS + 1) if k):
        rest = _simple(value - quarter * pi / 2, SMALL, abs(value))
        if rest is not None:
            turned = sympy.Rational(rest) + sympy.Rational(quarter, 2) * sympy.pi
            yield 100.0 * _height(rest) * abs(quarter), turned


def _simple(value: float, largest: int, scale: float | None = None) -> Fraction | None:
    near = Fraction(value).limit_denominator(largest)
    close = abs(float(near) - value) <= GUESS_AT * (abs(value) if scale is None else scale)
    return near if close and near else None


def _height(value: Fraction) -> float:
    return float(abs(value.numerator) + value.denominator)


@cache
def _irrational() -> list[tuple[Any, float]]:
    half = sympy.Rational(1, 2)
    powers = [(sympy.pi ** (half * j), pi ** (j / 2)) for j in (2, -2, 4, -4, 1, -1)]
    roots = [(sympy.sqrt(k), sqrt(k)) for k in (2, 3)]
    return powers + roots + [(sympy.sqrt(2) * form, sqrt(2) * size) for form, size in powers[-2:]]


# ---- proof that an expression vanishes -----------------------------------------------------------

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


STRATEGIES: tuple[Callable[[Any], Any], ...] = (
    lambda e: e,
    _split_logs,
    sympy.expand,
    lambda e: sympy.expand(sympy.expand_trig(sympy.expand(e))),
    lambda e: sympy.expand(e.rewrite(sympy.exp)),
    _numerator,
    lambda e: sympy.expand(sympy.powsimp(_numerator(e.rewrite(sympy.exp)))),
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
