"""Bits of a law's structure, priced by how science writes formulas."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from gsr.encoding.fold import Arithmetic
from gsr.encoding.rows import Matrix, Row, factors
from gsr.library import Library
from gsr.selection import expressions
from gsr.selection.expressions import INVERSE, UNIT, Base, Call, Exponent, Sum, Term, Variable
from gsr.selection.rounding import fraction_bits
from gsr.traits import TRAITS
from gsr.transformation import POWERS

#: Counts of the corpus, written by `python tests/formula_corpus.py`.
FILE = Path(__file__).with_name("formula_counts.json")

#: Where an expression stands.
LAW, TARGET, BRACKET, DENOMINATOR, ROOT = "law", "target", "bracket", "denominator", "root"
#: Weight of the counts over all contexts, in formulas, beside those of one context.
SHARED_WEIGHT = 2.0
#: Added to the counts over all contexts.
UNSEEN = 0.5
OTHER = "other"
KINDS = tuple(dict.fromkeys(traits.grammar for traits in TRAITS.values() if traits.grammar))
WAVES = tuple(name for name, traits in TRAITS.items() if traits.grammar == "wave")
#: What can be chosen, with one outcome for all that is not in the list.
OUTCOMES = {
    "terms": ("more", "stop"),
    "addend": ("term", "one", "real"),
    "scale": ("unit", "scaled"),
    "factors": ("more", "stop"),
    "factor": ("variable", "bracket", *KINDS, OTHER),
    "wave": WAVES,
    "power": ("1", "-1", "2", "-2", "1/2", "-1/2", "3", "-3", "4", "3/2", "real", OTHER),
}


class Choice(NamedTuple):
    """One choice, where it is made, and what was chosen."""

    kind: str
    context: str
    outcome: str

    @property
    def is_listed(self) -> bool:
        """Whether the outcome has counts of its own."""
        return self.outcome in OUTCOMES[self.kind]

    @property
    def listed(self) -> Choice:
        """The choice as it is counted."""
        return self if self.is_listed else self._replace(outcome=OTHER)


def choices(total: Sum, context: str = LAW, lone: bool = False) -> Iterator[Choice]:
    """Yield the choices that make an expression.

    A `lone` variable has a dimension more often than not, so that functions of it need a constant.
    """
    terms = [*total.varying, *filter(None, [total.constant])]
    for k, term in enumerate(terms):
        if k:
            yield Choice("terms", context, "more")
            constant = "one" if term.scale in (1, -1) else "real"
            yield Choice("addend", context, "term" if term.powers else constant)
        if term.powers:
            yield from _of_term(term, context, lone)
    yield Choice("terms", context, "stop")


def _of_term(term: Term, context: str, lone: bool) -> Iterator[Choice]:
    unit = term.scale in (1, -1)
    yield Choice("scale", _scale_context(term, context, lone), "unit" if unit else "scaled")
    kinds = [_kind(base) for base, _ in term.powers]
    for k, kind in enumerate(kinds):
        if k:
            yield Choice("factors", context, "more")
        yield Choice("factor", context, kind)
    yield Choice("factors", context, "stop")
    yield from _powers_of_variables(term, context)
    for base, exponent in term.powers:
        if isinstance(base, Call):
            if base.name in WAVES:
                yield Choice("wave", "any", base.name)
            yield Choice("power", "function", _power(exponent))
            yield from choices(base.argument, _kind(base), lone)
        elif isinstance(base, Sum):
            yield Choice("power", f"bracket in {context}", _power(exponent))
            inside = DENOMINATOR if exponent.number < 0 else BRACKET
            yield from choices(base, inside if exponent.is_whole else ROOT, lone)


def _scale_context(term: Term, context: str, lone: bool) -> str:
    """Constants are wanted where a single variable stands; products may have no dimension."""
    if context in (LAW, TARGET):
        return context
    if any(not isinstance(base, Variable) for base, _ in term.powers):
        return f"{context} of more"
    if len(term.powers) > 1:
        return f"{context} of monomial"
    if _power(term.powers[0][1]) != "1":
        return f"{context} of power"
    return f"{context} of the variable" if lone else f"{context} of variable"


def _kind(base: Base) -> str:
    if isinstance(base, Variable):
        return "variable"
    if isinstance(base, Sum):
        return "bracket"
    return TRAITS[base.name].grammar or OTHER if base.name in TRAITS else OTHER


def _power(exponent: Exponent) -> str:
    return "real" if exponent.real else str(exponent.number)


def _powers_of_variables(term: Term, context: str) -> Iterator[Choice]:
    """Yield the powers; variables under one root, or with one real exponent, share it."""
    groups: dict[Exponent, list[Exponent]] = defaultdict(list)
    for base, exponent in term.powers:
        if isinstance(base, Variable):
            number, real = exponent
            part = abs(number) if real else Fraction(1, number.denominator)
            groups[Exponent(part, real)].append(exponent)
    for shared, members in groups.items():
        if shared == Exponent(Fraction(1)) or len(members) == 1:
            yield from (Choice("power", context, _power(each)) for each in members)
            continue
        yield Choice("power", context, _power(shared))
        for each in members:
            yield Choice("power", context, _power(Exponent(each.number / shared.number)))


class Prices:
    """Bits of choices, from counts."""

    def __init__(self, counts: Mapping[Choice, int]) -> None:
        self._counts = Counter(counts)
        self._contexts: Counter[tuple[str, str]] = Counter()
        self._kinds: Counter[str] = Counter()
        self._outcomes: Counter[tuple[str, str]] = Counter()
        for (kind, context, outcome), n in counts.items():
            self._contexts[kind, context] += n
            self._kinds[kind] += n
            self._outcomes[kind, outcome] += n
        self._bits: dict[Choice, float] = {}

    def __call__(self, choice: Choice) -> float:
        """Return the bits of a choice; an unusual power has to be written out."""
        if choice not in self._bits:
            bits = -math.log2(self._probability(choice.listed))
            if choice.kind == "power" and not choice.is_listed:
                bits += fraction_bits(Fraction(choice.outcome))
            self._bits[choice] = bits
        return self._bits[choice]

    def _probability(self, choice: Choice) -> float:
        """Return the share in the context, smoothed by the share over all contexts."""
        kind, context, outcome = choice
        n = self._kinds[kind] + UNSEEN * len(OUTCOMES[kind])
        shared = (self._outcomes[kind, outcome] + UNSEEN) / n
        seen = self._contexts[kind, context] + SHARED_WEIGHT
        return (self._counts[choice] + SHARED_WEIGHT * shared) / seen

    def of(self, total: Sum, context: str = LAW, lone: bool = False) -> float:
        """Return the bits of an expression; see `choices`."""
        return sum(map(self, choices(total, context, lone)))


@cache
def prices() -> Prices:
    """Return the prices that follow from the corpus."""
    rows = json.loads(FILE.read_text("utf-8"))
    return Prices({Choice(*choice): n for *choice, n in rows})


# ---- laws ----------------------------------------------------------------------------------------

#: A weight this near to a fraction with a small denominator is that fraction.
EXACT = 1e-9
LARGEST_DENOMINATOR = 6
#: No term has a coefficient of 1 or -1.
NO_SIGNS: Mapping[int, int] = MappingProxyType({})


def law_structure_bits(
    psi: Sequence[Matrix],
    phi: Sequence[Matrix],
    library: Library,
    target_library: Library,
    n_features: int,
    signs: Mapping[int, int] = NO_SIGNS,
) -> float:
    """Return the bits of a law's expression without the digits of its constants.

    That a constant stands somewhere is part of the structure. Of the spellings of a law, such as
    ``ln y = a + b x`` and ``y = c exp(b x)``, the cheapest counts. `signs` maps the
    terms of phi whose coefficient is 1 or -1, and so is not written, to that coefficient.
    """
    left = side(psi, target_library, {0: 1})
    right = side(phi, library, signs)
    return min(_bits(*each, n_features) for each in [(left, right), *_solved(left, right)])


def _bits(left: Sum, right: Sum, n_features: int) -> float:
    bits = prices().of(left, TARGET) + prices().of(right, LAW, n_features == 1)
    return bits + math.log2(n_features) * len(expressions.variables_of(right))


def _solved(left: Sum, right: Sum) -> list[tuple[Sum, Sum]]:
    """Return the law for y itself, if the left side is ln y or a power of y."""
    if len(left.terms) != 1 or len(left.terms[0].powers) != 1:
        return []
    base, exponent = left.terms[0].powers[0]
    if isinstance(base, Variable) and not exponent.real and exponent.number != 1:
        y = expressions.variable(base.name)
        return [(y, expressions.power(right, Exponent(1 / exponent.number)))]
    if isinstance(base, Call) and base.name == "ln" and exponent.number == 1:
        return [(base.argument, expressions.call("exp", right))]
    return []


def side(matrices: Sequence[Matrix], library: Library, signs: Mapping[int, int] = NO_SIGNS) -> Sum:
    """Return a side of a law, with coefficients a0, a1, ... except where `signs` has 1 or -1."""
    terms = []
    for k, matrix in enumerate(matrices):
        coefficient = expressions.number(Fraction(signs[k]) if k in signs else f"a{k}")
        terms.append(expressions.multiply(coefficient, basis_function(matrix, library)))
    return expressions.add(terms)


def basis_function(matrix: Matrix, library: Library) -> Sum:
    """Return the product of a basis matrix in normal form."""
    return NormalForm(library).basis_function(factors(matrix, library))


class NormalForm(Arithmetic[Sum]):
    """Turns rows into the normal form of expressions."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def variable(self, v: int) -> Sum:
        return expressions.variable(f"x{v}")

    def one(self) -> Sum:
        return expressions.number(UNIT)

    def scale(self, value: Sum, factor: float) -> Sum:
        near = simple_fraction(factor)
        number = expressions.number(repr(factor) if near is None else near)
        return expressions.multiply(number, value)

    def add(self, terms: Sequence[Sum]) -> Sum:
        return expressions.add(terms)

    def power(self, value: Sum, n: int) -> Sum:
        return expressions.power(value, Exponent(Fraction(n)))

    def multiply(self, factors: Sequence[Sum]) -> Sum:
        return expressions.multiply(self.one(), *factors)

    def call(self, row: Row, argument: Sum) -> Sum:
        name, rate = self.library.names[row.code], self.library.traits[row.code].exponent
        if name in POWERS:
            value = expressions.power(argument, Exponent(POWERS[name]))
        elif rate:
            value = expressions.call("exp", argument if rate == 1 else self.scale(argument, rate))
        else:
            value = expressions.call(name, argument)
        return expressions.power(value, INVERSE) if row.reciprocal else value


def simple_fraction(weight: float) -> Fraction | None:
    """Return the fraction that a weight is, None if its denominator is large."""
    near = Fraction(weight).limit_denominator(LARGEST_DENOMINATOR)
    return near if abs(near - weight) <= EXACT * abs(weight) else None
