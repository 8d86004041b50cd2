"""Forms of the same law: from equations g(y) = f(x), as products, and without common factors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

from gsr.equation import Equation
from gsr.implicit.form import Form, inner_symbol
from gsr.lazy import sympy
from gsr.transformation import Array

#: Numbers this close to a whole one are whole.
WHOLE = 1e-9
#: Exponents this close to fractions with small denominators are taken for them.
NEAR = 0.04
DENOMINATOR = 3


def of_equation(equation: Equation, columns: tuple[Any, ...], target: int) -> Form:
    """Return a law g(y) = f(x) as a form.

    Parameters
    ----------
    equation : Equation
        The law; its features are the other columns, in their order.
    columns : tuple of symbols
        One for each column of the table.
    target : int
        Which of them is y.
    """
    others = [symbol for j, symbol in enumerate(columns) if j != target]
    known = dict(zip(equation.feature_names, others, strict=True))
    known[equation.target_name] = columns[target]
    names = {sympy.Symbol(name, real=True): symbol for name, symbol in known.items()}
    left, right = equation.terms()
    parts = [*left, *((-a, term) for a, term in right)]
    return of_terms(columns, [(a, term.xreplace(names)) for a, term in parts])


def of_terms(columns: tuple[Any, ...], parts: Iterable[tuple[float, Any]]) -> Form:
    """Return the form sum a t = 0 of (number, expression); numbers inside terms are constants."""
    numbers: list[float] = []

    def constant(value: Any) -> Any:
        if abs(value - round(value)) <= WHOLE * abs(value):
            return sympy.Integer(round(value))
        numbers.append(float(value))
        return inner_symbol(len(numbers) - 1)

    coefficients: dict[Any, float] = {}
    right = 0.0
    for a, term in parts:
        number, rest = term.as_coeff_Mul()
        if rest == 1:
            right -= a * float(number)
            continue
        floats = sorted(rest.atoms(sympy.Float), key=str)
        rest = rest.xreplace({each: constant(each) for each in floats})
        coefficients[rest] = coefficients.get(rest, 0.0) + a * float(number)
    inside, terms = np.array(numbers), tuple(coefficients)
    return Form(columns, terms, np.array(list(coefficients.values())), right, inside, right != 0.0)


def variants(form: Form, X: Array) -> Iterator[Form]:
    """Yield a form and others of the same law; also some that may hold as well and are shorter."""
    closed = replace(form, right=0.0, open_right=False)
    for each in [form, closed] if form.open_right else [form]:
        if all(term.func == sympy.log for term in each.terms):
            yield from _exponentiated(each, X)
        if each.open_right:
            yield each
            continue
        divided = _without_common_factor(each)
        is_pair = len(divided.terms) == 2 and not divided.open_right
        yield from (list(_quotient(divided, X)) if is_pair else []) or [divided]


def _without_common_factor(form: Form) -> Form:
    """Divide a sum that is 0 by the powers of columns that all its terms have."""
    powers = [term.as_powers_dict() for term in form.terms]
    factor = sympy.Integer(1)
    for symbol in form.columns:
        exponents = [each.get(symbol, sympy.Integer(0)) for each in powers]
        if all(each.is_Rational for each in exponents):
            least, most = min(exponents), max(exponents)
            factor *= symbol ** (least if least > 0 else min(most, 0))
    if factor == 1:
        return form
    parts = zip(form.coefficients, (term / factor for term in form.terms), strict=True)
    if form.terms and len(form.inside):
        terms = tuple(term / factor for term in form.terms)
        return form if sympy.Integer(1) in terms else replace(form, terms=terms)
    return of_terms(form.columns, parts)


def _quotient(form: Form, X: Array) -> Iterator[Form]:
    """Yield a t1 + b t2 = 0 as t1/t2 = -b/a."""
    first, second = form.terms
    a, b = form.coefficients
    ratio = sympy.powsimp(first / second)
    if a != 0.0 and ratio.free_symbols & set(form.columns):
        yield from _single(form, ratio, -b / a, X)


def _exponentiated(form: Form, X: Array) -> Iterator[Form]:
    """Yield a sum of logarithms as a product of powers, with exponents fitted or simple."""
    bases = [_without_bars(term.args[0]) for term in form.terms]
    for pivot in np.argsort(np.abs(form.coefficients)):
        if form.coefficients[pivot] == 0.0:
            continue
        exponents = form.coefficients / form.coefficients[pivot]
        simple = [_simple(each) for each in exponents]
        if all(each is not None for each in simple):
            product = sympy.Mul(*(b**e for b, e in zip(bases, simple, strict=True)))
            yield from _single(form, product, float(np.exp(form.right)), X)
            break
    if len(form.inside) == 0:
        pivot = int(np.argmax(np.abs(form.coefficients)))
        exponents = form.coefficients / form.coefficients[pivot]
        others = [k for k in range(len(bases)) if k != pivot]
        symbols = {k: inner_symbol(m) for m, k in enumerate(others)}
        product = sympy.Mul(*(b ** symbols.get(k, 1) for k, b in enumerate(bases)))
        yield from _single(replace(form, inside=exponents[others]), product, 1.0, X)


def _single(form: Form, term: Any, right: float, X: Array) -> Iterator[Form]:
    """Yield the law term = right in its simplest power, if its values have one sign."""
    whole = _simplest_power(term, form.columns)
    found = replace(form, terms=(whole,), coefficients=np.ones(1), right=right, open_right=True)
    values = found.values(X).terms[:, 0]
    if np.isfinite(values).all() and (values.min() > 0.0 or values.max() < 0.0):
        yield replace(found, right=float(np.median(values)))


def _simplest_power(term: Any, columns: Sequence[Any]) -> Any:
    """Return the power of a product whose exponents are whole and mostly positive."""
    powers = term.as_powers_dict()
    exponents = list(powers.values())
    if not all(each.is_Rational for each in exponents) or not powers.keys() <= set(columns):
        return term
    common = Fraction(gcd(*(int(e.p) for e in exponents)), lcm(*(int(e.q) for e in exponents)))
    above = sum(1 if each > 0 else -1 for each in exponents)
    first = next(powers[symbol] for symbol in columns if symbol in powers)
    sign = 1 if above > 0 or (above == 0 and first > 0) else -1
    scale = sympy.Rational(sign * common.denominator, common.numerator)
    return sympy.Mul(*(base ** (exponent * scale) for base, exponent in powers.items()))


def _simple(exponent: float) -> Any:
    near = Fraction(exponent).limit_denominator(DENOMINATOR)
    is_near = near != 0 and abs(float(near) - exponent) <= NEAR * abs(exponent)
    return sympy.Rational(near.numerator, near.denominator) if is_near else None


def _without_bars(expression: Any) -> Any:
    return expression.args[0] if isinstance(expression, sympy.Abs) else expression
