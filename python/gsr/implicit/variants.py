"""Forms of the same law: from laws g(y) = f(x), as products, and without common factors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr.equation import Equation
from gsr.implicit.form import Form, inner_symbol
from gsr.lazy import sympy
from gsr.transformation import Array

#: Numbers this close to an integer are treated as integers.
WHOLE = 1e-9
#: Exponents this close to fractions with small denominators are replaced by them.
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
    """Return the form sum a t = 0 from pairs (a, t); numbers inside terms become constants."""
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
    """Yield a form, equivalent forms, and shorter forms that may hold as well."""
    closed = replace(form, right=0.0, open_right=False)
    for each in [form, closed] if form.open_right else [form]:
        if all(term.func == sympy.log for term in each.terms) and len(each.inside) == 0:
            products = list(_exponentiated(each, X))
            if products:
                yield from products
                continue
        if each.open_right:
            yield each
            continue
        divided = _without_common_factor(each)
        is_pair = len(divided.terms) == 2 and not divided.open_right
        yield from (list(_quotient(divided, X)) if is_pair else []) or [divided]


def _without_common_factor(form: Form) -> Form:
    """Divide a sum that is 0 by the powers of columns common to all terms."""
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
    ratio = sympy.powsimp(first / second)
    if form.coefficients.all() and ratio.free_symbols & set(form.columns):
        yield from _single(form, ratio, X)


def _exponentiated(form: Form, X: Array) -> Iterator[Form]:
    """Yield a sum of logarithms as a product of powers."""
    bases = [_without_bars(term.args[0]) for term in form.terms]
    yield from _powers(form, bases, form.coefficients, X)


def _powers(form: Form, bases: Sequence[Any], exponents: Array, X: Array) -> Iterator[Form]:
    """Yield laws that a product of powers is constant, with simple or fitted exponents."""
    plain = replace(form, inside=np.empty(0))
    for exponent in sorted(exponents[exponents != 0.0], key=abs):
        simple = [_simple(each) for each in exponents / exponent]
        if all(each is not None for each in simple):
            product = sympy.Mul(*(b**e for b, e in zip(bases, simple, strict=True)))
            yield from _constant(plain, _simplest_power(product, form.columns), X)
            break
    pivot = max(exponents[exponents != 0.0], key=lambda each: _plainness(exponents / each))
    scaled = exponents / pivot
    unlike, others = np.flatnonzero(~_is_whole(scaled)), np.flatnonzero(scaled != 1.0)
    for free in (unlike.tolist(), others.tolist()):
        symbols = {k: inner_symbol(m) for m, k in enumerate(free)}
        powers = [symbols.get(k, round(float(scaled[k]))) for k in range(len(bases))]
        product = sympy.Mul(*(b**e for b, e in zip(bases, powers, strict=True)))
        whole = _simplest_power(product, form.columns)
        yield from _constant(replace(form, inside=scaled[free]), whole, X)


def _is_whole(exponents: Array) -> npt.NDArray[np.bool_]:
    near = np.round(exponents)
    return np.asarray((near != 0) & (np.abs(exponents - near) <= NEAR * np.abs(near)))


def _plainness(exponents: Array) -> tuple[int, int, float]:
    """Return how many exponents are integers, how many are positive, and the largest size."""
    whole, positive = int(_is_whole(exponents).sum()), int((exponents > 0.0).sum())
    return whole, positive, float(np.abs(exponents).max())


def _single(form: Form, term: Any, X: Array) -> Iterator[Form]:
    """Yield laws that an expression is constant: without its exponential, and in simple powers."""
    if isinstance(term, sympy.exp):
        parts = [(1.0, part) for part in sympy.Add.make_args(term.args[0])]
        if len(form.inside) == 0:
            yield from variants(_levelled(of_terms(form.columns, parts), X), X)
            return
    powers = term.as_powers_dict()
    if set(powers) <= set(form.columns) and len(form.inside):
        known = {inner_symbol(m): value for m, value in enumerate(form.inside.tolist())}
        exponents = np.array([float(each.xreplace(known)) for each in powers.values()])
        yield from _powers(form, list(powers), exponents, X)
        return
    yield from _constant(form, _simplest_power(term, form.columns), X)


def _levelled(form: Form, X: Array) -> Form:
    """Return a sum with its median over the rows as the right side."""
    right = float(np.median(form.values(X).terms @ form.coefficients))
    return replace(form, right=right, open_right=True)


def _constant(form: Form, term: Any, X: Array) -> Iterator[Form]:
    """Yield the law that a term is constant, if its values have one sign."""
    found = replace(form, terms=(term,), coefficients=np.ones(1))
    values = found.values(X).terms[:, 0]
    if np.isfinite(values).all() and (values.min() > 0.0 or values.max() < 0.0):
        yield _levelled(found, X)


def _simplest_power(term: Any, columns: Sequence[Any]) -> Any:
    """Return the power of a product that has integer, mostly positive exponents."""
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
