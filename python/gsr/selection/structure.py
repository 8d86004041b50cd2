"""Bits of a law's structure, priced by how science writes formulas."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction

from gsr.encoding.fold import Arithmetic
from gsr.encoding.rows import Matrix, Row, factors
from gsr.library import Library
from gsr.selection import expressions
from gsr.selection.expressions import INVERSE, UNIT, Call, Exponent, Scale, Sum, Variable
from gsr.selection.grammar import LAW, TARGET, prices
from gsr.transformation import POWERS

#: A weight this near to a fraction with a small denominator is that fraction.
EXACT = 1e-9
LARGEST_DENOMINATOR = 6


def law_structure_bits(
    psi: Sequence[Matrix],
    phi: Sequence[Matrix],
    library: Library,
    target_library: Library,
    n_features: int,
    unit_terms: Collection[int] = (),
) -> float:
    """Return the bits of a law's expression without the digits of its constants.

    That a constant stands somewhere is part of the structure. Of the spellings of a law, such as
    ``ln y = a + b x`` and ``y = c exp(b x)``, the cheapest counts.
    """
    left = _side(psi, target_library, {0})
    right = _side(phi, library, unit_terms)
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


def _side(matrices: Sequence[Matrix], library: Library, unit_terms: Collection[int]) -> Sum:
    terms = []
    for k, matrix in enumerate(matrices):
        coefficient = expressions.number(UNIT if k in unit_terms else f"a{k}")
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
        """Return a variable."""
        return expressions.variable(f"x{v}")

    def one(self) -> Sum:
        """Return 1."""
        return expressions.number(UNIT)

    def scale(self, value: Sum, factor: float) -> Sum:
        """Return a multiple."""
        return expressions.multiply(expressions.number(_scale(factor)), value)

    def add(self, terms: Sequence[Sum]) -> Sum:
        """Return a sum."""
        return expressions.add(terms)

    def power(self, value: Sum, n: int) -> Sum:
        """Return a power."""
        return expressions.power(value, Exponent(Fraction(n)))

    def multiply(self, factors: Sequence[Sum]) -> Sum:
        """Return a product."""
        return expressions.multiply(self.one(), *factors)

    def call(self, row: Row, argument: Sum) -> Sum:
        """Return the transformation of an argument."""
        name, rate = self.library.names[row.code], self.library.traits[row.code].exponent
        if name in POWERS:
            value = expressions.power(argument, Exponent(POWERS[name]))
        elif rate:
            value = expressions.call("exp", argument if rate == 1 else self.scale(argument, rate))
        else:
            value = expressions.call(name, argument)
        return expressions.power(value, INVERSE) if row.reciprocal else value


def _scale(weight: float) -> Scale:
    near = simple_fraction(weight)
    return repr(weight) if near is None else near


def simple_fraction(weight: float) -> Fraction | None:
    """Return the fraction that a weight is, None if its denominator is large."""
    near = Fraction(weight).limit_denominator(LARGEST_DENOMINATOR)
    return near if abs(near - weight) <= EXACT * abs(weight) else None
