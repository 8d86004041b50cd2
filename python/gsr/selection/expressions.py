"""A normal form for expressions, in which different spellings of a formula become the same.

An expression is a sum of terms; a term is a scale times a product of powers; the base of a power
is a variable, a function of an expression, or a sum in brackets. A scale is a number of the
formula, or a real constant, of which only the name is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import NamedTuple

#: A number that is part of the formula, or the name of a real constant.
Scale = Fraction | str
ZERO, UNIT = Fraction(0), Fraction(1)


class Exponent(NamedTuple):
    """A rational number, times a real constant if `real` names one."""

    number: Fraction
    real: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number."""
        return not self.real and self.number.denominator == 1

    @property
    def as_scale(self) -> Scale:
        """The same number as a scale."""
        return times(self.real, self.number) if self.real else self.number

    def times(self, other: Exponent) -> Exponent:
        """Return the product of two exponents."""
        real = "*".join(sorted(filter(None, (self.real, other.real))))
        return Exponent(self.number * other.number, real)

    def plus(self, other: Exponent) -> Exponent:
        """Return the sum of two exponents; one with a real constant in it is real."""
        if self.real == other.real:
            return Exponent(self.number + other.number, self.real)
        return Exponent(Fraction(1), f"({self}+{other})")


ONCE = Exponent(Fraction(1))
INVERSE = Exponent(Fraction(-1))


@dataclass(frozen=True)
class Variable:
    """A measured quantity."""

    name: str


@dataclass(frozen=True)
class Call:
    """A function of an expression."""

    name: str
    argument: Sum


@dataclass(frozen=True)
class Term:
    """A scale times powers; without powers it is a constant."""

    scale: Scale
    powers: tuple[tuple[Base, Exponent], ...] = ()

    @property
    def key(self) -> str:
        """A text by which terms are sorted."""
        return f"{'*'.join(map(_power_key, self.powers))}*{self.scale}"


@dataclass(frozen=True)
class Sum:
    """A sum of terms, each with other powers."""

    terms: tuple[Term, ...]

    @cached_property
    def key(self) -> str:
        """A text that is the same for equal sums."""
        return f"({'+'.join(term.key for term in self.terms)})"

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def constant(self) -> Term | None:
        """The term without powers."""
        return next((term for term in self.terms if not term.powers), None)

    @property
    def varying(self) -> tuple[Term, ...]:
        """The terms that are not constant."""
        return tuple(term for term in self.terms if term.powers)


#: What stands to a power.
Base = Variable | Call | Sum


def _sorted(terms: Iterable[Term]) -> Sum:
    return Sum(tuple(sorted(terms, key=lambda term: term.key)))


def _power_key(item: tuple[Base, Exponent]) -> str:
    base, (rational, real) = item
    if isinstance(base, Variable):
        return f"{base.name}^{rational}{real}"
    inside = base.name + base.argument.key if isinstance(base, Call) else base.key
    return f"{inside}^{rational}{real}"


def number(value: Scale) -> Sum:
    """Return a constant."""
    return Sum((Term(value),))


def variable(name: str) -> Sum:
    """Return a variable."""
    return Sum((Term(UNIT, ((Variable(name), ONCE),)),))


def times(a: Scale, b: Scale) -> Scale:
    """Return the product of two scales."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a * b
    return "*".join(sorted(str(each) for each in (a, b) if each not in (1, -1)))


def _plus(a: Scale, b: Scale) -> Scale:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b
    return f"({a}+{b})" if a else b


def add(sums: Iterable[Sum]) -> Sum:
    """Return a sum, in which terms that differ by their scale only are put together."""
    scales: dict[tuple[tuple[Base, Exponent], ...], Scale] = {}
    for term in (term for each in sums for term in each.terms):
        scales[term.powers] = _plus(scales.get(term.powers, ZERO), term.scale)
    terms = [Term(scale, powers) for powers, scale in scales.items() if scale != 0]
    return _sorted(terms) if terms else number(ZERO)


def multiply(*sums: Sum) -> Sum:
    """Return a product."""
    return reduce(_product, sums)


def _product(a: Sum, b: Sum) -> Sum:
    scale: Scale = UNIT
    powers: dict[Base, Exponent] = {}
    for each in (a, b):
        term = each.terms[0] if len(each.terms) == 1 else Term(UNIT, ((each, ONCE),))
        scale = times(scale, term.scale)
        for base, exponent in term.powers:
            powers[base] = powers[base].plus(exponent) if base in powers else exponent
    return _term(scale, powers)


def _term(scale: Scale, powers: dict[Base, Exponent]) -> Sum:
    """Return a single term, as a sum if it is a scale times brackets."""
    if scale == 0:
        return number(ZERO)
    powers = _joined_exponentials({b: e for b, e in powers.items() if e.number})
    if len(powers) == 1:
        ((base, exponent),) = powers.items()
        if isinstance(base, Sum) and exponent == ONCE:
            return Sum(tuple(Term(times(scale, t.scale), t.powers) for t in base.terms))
    if isinstance(scale, str):
        powers = {_free_of_scale(b): e for b, e in powers.items()}
    return Sum((Term(scale, tuple(sorted(powers.items(), key=_power_key))),))


def _joined_exponentials(powers: dict[Base, Exponent]) -> dict[Base, Exponent]:
    """Write powers and products of exponentials as one exponential."""
    found = [b for b in powers if isinstance(b, Call) and b.name == "exp"]
    if not found or (len(found) == 1 and powers[found[0]] == ONCE):
        return powers
    joined = add(multiply(b.argument, number(powers[b].as_scale)) for b in found)
    kept = {b: e for b, e in powers.items() if b not in found}
    return kept if joined == number(ZERO) else {**kept, Call("exp", joined): ONCE}


def _free_of_scale(base: Base) -> Base:
    """Move the scale of a bracket to the term, if that has a real one anyway.

    1/(1 + c x), 1/(c + x) and 1/(c + d x) are the same then.
    """
    if not isinstance(base, Sum) or not base.varying:
        return base
    units = [t for t in base.terms if t.scale in (1, -1)]
    if any(t.powers for t in units) or not any(isinstance(t.scale, str) for t in base.terms):
        return base
    first = base.varying[0]
    ratios = [UNIT if t is first else f"{t.scale}/({first.scale})" for t in base.terms]
    return _sorted(Term(ratio, t.powers) for ratio, t in zip(ratios, base.terms, strict=True))


def expanded(total: Sum) -> Sum:
    """Return a sum with its products by brackets multiplied out."""
    return add(part for term in total.terms for part in _expanded_term(term))


def _expanded_term(term: Term) -> list[Sum]:
    bracket = next((b for b, e in term.powers if isinstance(b, Sum) and e == ONCE), None)
    if bracket is None:
        return [Sum((term,))]
    rest = Sum((Term(term.scale, tuple(item for item in term.powers if item[0] != bracket)),))
    products = [multiply(rest, Sum((each,))) for each in bracket.terms]
    return [part for product in products for each in product.terms for part in _expanded_term(each)]


def power(base: Sum, exponent: Exponent) -> Sum:
    """Return a power of an expression."""
    if exponent == ONCE:
        return base
    if len(base.terms) == 1:
        return _power_of_term(base.terms[0], exponent)
    divides = exponent.is_whole and exponent.number < 0
    outside, inside = _common_factor(base) if divides else (number(UNIT), base)
    scale: Scale = UNIT
    if all(isinstance(term.scale, str) for term in inside.terms):
        scale = f"({inside.varying[0].scale})^{exponent}"
    return multiply(power(outside, exponent), _term(scale, {inside: exponent}))


def _power_of_term(term: Term, exponent: Exponent) -> Sum:
    scale = term.scale
    if isinstance(scale, Fraction) and scale and exponent.is_whole:
        scale = Fraction(scale ** int(exponent.number))
    elif scale not in (1, -1):
        scale = f"({scale})^{exponent}"
    return _term(scale, {b: e.times(exponent) for b, e in term.powers})


def _common_factor(total: Sum) -> tuple[Sum, Sum]:
    """Return the monomial that all terms share, negative powers included, and what is left."""
    exponents: dict[Variable, list[Fraction]] = {}
    for term in total.terms:
        for base, exponent in term.powers:
            if isinstance(base, Variable) and not exponent.real:
                exponents.setdefault(base, []).append(exponent.number)
    least = {
        base: min(found) if len(found) == len(total.terms) else min([*found, Fraction(0)])
        for base, found in exponents.items()
    }
    shared: dict[Base, Exponent] = {base: Exponent(n) for base, n in least.items() if n}
    if not shared:
        return number(UNIT), total
    outside = _term(UNIT, shared)
    rest = add(multiply(Sum((t,)), power(outside, INVERSE)) for t in total.terms)
    return outside, rest


def call(name: str, argument: Sum) -> Sum:
    """Return a function of an expression; exp and ln are simplified."""
    if not argument.varying:
        return number(f"{name}({argument.key})")
    if name == "exp":
        return _exponential(argument)
    if name == "ln" and len(argument.terms) == 1:
        return _logarithm(argument.terms[0])
    return Sum((Term(UNIT, ((Call(name, argument), ONCE),)),))


def _exponential(argument: Sum) -> Sum:
    """exp(a + b ln x + c y) is a constant times x^b exp(c y)."""
    outside: Scale = UNIT if argument.constant is None else f"exp({argument.constant.scale})"
    product, rest = number(outside), []
    for term in argument.varying:
        base, exponent = term.powers[0]
        is_lone = len(term.powers) == 1 and exponent == ONCE
        if is_lone and isinstance(base, Call) and base.name == "ln":
            scale = term.scale
            scaled = Exponent(UNIT, scale) if isinstance(scale, str) else Exponent(scale)
            product = multiply(product, power(base.argument, scaled))
        else:
            rest.append(term)
    if not rest:
        return product
    return multiply(product, _term(UNIT, {Call("exp", Sum(tuple(rest))): ONCE}))


def _logarithm(term: Term) -> Sum:
    """ln(c x^2) is a constant and 2 ln(x); ln(x/y) stays one function."""
    parts = [] if term.scale in (1, -1) else [number(f"ln({term.scale})")]
    factor: Scale = UNIT
    powers = term.powers
    if len(powers) == 1:
        base, exponent = powers[0]
        if isinstance(base, Call) and base.name == "exp":
            return add([*parts, base.argument])
        factor, powers = exponent.as_scale, ((base, ONCE),)
    inside = Sum((Term(UNIT, powers),))
    if len(powers) == 1 and isinstance(powers[0][0], Sum):
        inside = powers[0][0]
    logarithm = Sum((Term(factor, ((Call("ln", inside), ONCE),)),))
    return add([*parts, logarithm])


def variables_of(total: Sum) -> Sequence[str]:
    """Return the names of the variables, each as often as it is written."""
    found: list[str] = []
    for term in total.terms:
        for base, _ in term.powers:
            if isinstance(base, Variable):
                found.append(base.name)
            else:
                found += variables_of(base.argument if isinstance(base, Call) else base)
    return found
