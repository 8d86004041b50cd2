"""Units of measurement: from text to exponents of base dimensions, and whether a law obeys them.

Only dimensions count. Numbers are never converted: ``"km"`` and ``"m"`` are both lengths, and a law
is found in whatever the columns hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gsr.encoding.fold import Algebra, fold
from gsr.encoding.rows import Argument, Matrix, Row, factors
from gsr.encoding.writing import Writer
from gsr.equation import Equation
from gsr.exceptions import GSRError, suggestion
from gsr.library import Library
from gsr.prior.unit_parser import NONE, Dimension, parse, place
from gsr.transformation import POWERS, Array

__all__ = ["Dimension", "check", "dimensions", "exponent_table", "parse"]


def dimensions(
    units: Mapping[str, Any], feature_names: Sequence[str], target_name: str
) -> dict[str, Dimension]:
    """Return the dimension of each feature and of the target, which must all have a unit."""
    if not isinstance(units, Mapping):
        raise GSRError(f"units must be a mapping such as {{'x1': 'm', 'y': 's'}}, got {units!r}")
    names = [*feature_names, target_name]
    for name in units:
        if name not in names:
            hint = suggestion(name, names, otherwise_list=True)
            raise GSRError(f"units has {name!r}, which is no feature and not the target{hint}")
    missing = [name for name in names if name not in units]
    if missing:
        raise GSRError(
            f"every variable needs a unit ('1' if it has none), but units has none for"
            f" {', '.join(map(repr, missing))}"
        )
    found = {}
    for name in names:
        try:
            found[name] = parse(units[name])
        except GSRError as error:
            raise GSRError(f"units[{name!r}]: {error}") from None
    return found


def exponent_table(
    units: Mapping[str, Any], feature_names: Sequence[str], target_name: str
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return the exponents of all variables over the base dimensions that they use."""
    found = dimensions(units, feature_names, target_name)
    bases = tuple(sorted({base for each in found.values() for base in each}, key=place))
    table = np.array([[float(each.get(b, 0)) for b in bases] for each in found.values()])
    table = table.reshape(len(found), len(bases))
    return table[:-1], table[-1], bases


# ---- laws ------------------------------------------------------------------------------------


def check(
    equation: Equation, units: Mapping[str, Any], constants_with_units: bool = True
) -> list[str]:
    """Return where a law breaks its units, in words.

    Parameters
    ----------
    equation : Equation
        The law.
    units : mapping
        The unit of every feature and of the target, as `parse` takes them.
    constants_with_units : bool
        Whether fitted constants may have any unit: coefficients, and weights inside arguments
        other than 1. Otherwise they have none, and all terms must have the same unit.

    Returns
    -------
    list of str
        Empty if the law is consistent.
    """
    known = dimensions(units, equation.feature_names, equation.target_name)
    features = [known[name] for name in equation.feature_names]
    sides = (
        (equation.psi, equation.beta, equation.target_library, [known[equation.target_name]]),
        (equation.phi, equation.alpha, equation.library, features),
    )
    names = ([equation.target_name], list(equation.feature_names))
    broken: list[str] = []
    terms: list[tuple[str, Dimension]] = []
    for (matrices, coefficients, library, given), named in zip(sides, names, strict=True):
        algebra = _Dimensions(library, given, named, constants_with_units)
        for matrix in (m for m, c in zip(matrices, coefficients, strict=True) if c):
            shown, found = algebra.term(matrix)
            broken += found.broken
            terms += [(shown, found.dimension)] if found.dimension is not None else []
    others = [] if constants_with_units else [t for t in terms if t[1] != terms[0][1]]
    broken += [_differ("", terms[0], other) for other in others]
    return list(dict.fromkeys(broken))


def _differ(where: str, first: tuple[str, Dimension], other: tuple[str, Dimension]) -> str:
    return f"{where}{first[0]} has {_of(first[1])}, but {other[0]} has {_of(other[1])}"


def _of(dimension: Dimension) -> str:
    return f"the unit {dimension}" if dimension else "no unit"


_NOTHING: tuple[str, ...] = ()


class _Finding(NamedTuple):
    """A dimension (None: a value may have any), and what is wrong with the units on the way to it.

    `clash` are two parts of a sum that differ; the row that the sum is in names them.
    """

    dimension: Dimension | None
    broken: tuple[str, ...] = ()
    clash: tuple[tuple[str, Dimension], tuple[str, Dimension]] | None = None


class _Dimensions(Algebra[_Finding]):
    """Finds the dimensions of one side's terms."""

    def __init__(
        self,
        library: Library,
        given: Sequence[Dimension],
        names: Sequence[str],
        free_constants: bool,
    ) -> None:
        self.library, self.given = library, given
        self.free_constants = free_constants
        self.writer = Writer(library, lambda v: names[v - 1], ())

    def term(self, matrix: Matrix) -> tuple[str, _Finding]:
        """Return a basis function as text, and its dimension."""
        product = factors(matrix, self.library)
        found = [fold(row, self) for row in product]
        total: Dimension | None = NONE
        for dimension, *_ in found:
            total = None if total is None or dimension is None else total * dimension
        broken = tuple(message for each in found for message in each.broken)
        return self.writer.basis_function(product) if product else "1", _Finding(total, broken)

    def variable(self, v: int) -> _Finding:
        return _Finding(self.given[v - 1])

    def one(self) -> _Finding:
        return _Finding(NONE)

    def product(self, argument: Argument, parts: Sequence[_Finding]) -> _Finding:
        total, broken = NONE, _NOTHING
        for part, (_, times) in zip(parts, argument.parts, strict=True):
            broken += part.broken
            if part.dimension is None:
                return _Finding(None, broken)
            total = total * part.dimension ** int(times)
        return _Finding(total, broken)

    def total(self, argument: Argument, parts: Sequence[_Finding]) -> _Finding:
        fixed, broken = None, _NOTHING
        for part, (base, times) in zip(parts, argument.parts, strict=True):
            broken += part.broken
            weighted = isinstance(times, float) and times != 1.0
            if part.dimension is None or (weighted and self.free_constants):
                continue
            mine = (self.writer.operand(base), part.dimension)
            fixed = fixed or mine
            if part.dimension != fixed[1]:
                return _Finding(None, broken, (fixed, mine))
        return _Finding(fixed[1] if fixed else None, broken)

    def call(self, row: Row, argument: _Finding) -> _Finding:
        found, broken, clash = argument
        if clash is not None:
            broken += (_differ(f"{self.writer.basis_function([row])}: ", *clash),)
        power = POWERS.get(self.library.names[row.code])
        if self.library.traits[row.code].keeps_unit:
            power = Fraction(1)
        if power is not None:
            raised = None if found is None else found ** (-power if row.reciprocal else power)
            return _Finding(raised, broken)
        if found:
            shown = self.writer.basis_function([Row(row.code, row.argument)])
            broken += (f"{shown}: the argument has {_of(found)}",)
        return _Finding(NONE, broken)
