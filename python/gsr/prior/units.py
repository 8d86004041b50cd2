"""Units of measurement: from text to exponents of base dimensions, and whether a law obeys them.

Only dimensions count. Numbers are never converted: ``"km"`` and ``"m"`` are both lengths, and a law
is found in whatever the columns hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gsr.encoding.rows import ONE, Argument, Matrix, Row, factors
from gsr.encoding.writing import Writer, shown_name
from gsr.equation import Equation
from gsr.exceptions import GSRError, suggestion
from gsr.library import Library
from gsr.prior.unit_parser import NONE, Dimension, parse, place
from gsr.transformation import POWERS, Array

__all__ = ["Dimension", "check", "dimensions", "exponent_table", "parse"]


def dimensions(
    units: Mapping[str, Any], feature_names: Sequence[str], target_name: str
) -> dict[str, Dimension]:
    """Return the dimension of each feature and of the target, which must all have a unit.

    Parameters
    ----------
    units : mapping
        From names to units as `parse` takes them.
    feature_names : sequence of str
        The features.
    target_name : str
        The target.

    Returns
    -------
    dict
        In the order of the features, the target last.
    """
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
    """Return the exponents of all variables over the base dimensions that they use.

    Parameters
    ----------
    units, feature_names, target_name
        As for `dimensions`.

    Returns
    -------
    features : array of shape (d, n_bases)
        Exponents of the features.
    target : array of shape (n_bases,)
        Those of the target.
    bases : tuple of str
        Names of the base dimensions.
    """
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
        walk = _Walk(library, given, named, constants_with_units, broken)
        for matrix, coefficient in zip(matrices, coefficients, strict=True):
            if coefficient:
                shown, found = walk.term(matrix)
                terms += [(shown, found)] if found is not None else []
    others = [] if constants_with_units else [t for t in terms if t[1] != terms[0][1]]
    broken += [_differ("", terms[0], other) for other in others]
    return list(dict.fromkeys(broken))


def _differ(where: str, first: tuple[str, Dimension], other: tuple[str, Dimension]) -> str:
    return f"{where}{first[0]} has {_of(first[1])}, but {other[0]} has {_of(other[1])}"


def _of(dimension: Dimension) -> str:
    return f"the unit {dimension}" if dimension else "no unit"


class _Walk:
    """Finds the dimensions of one side's terms; None is a value that may have any."""

    def __init__(
        self,
        library: Library,
        given: Sequence[Dimension],
        names: Sequence[str],
        free_constants: bool,
        broken: list[str],
    ) -> None:
        self.library, self.given, self.names = library, given, names
        self.free_constants, self.broken = free_constants, broken
        self.writer = Writer(library, lambda v: names[v - 1], ())

    def term(self, matrix: Matrix) -> tuple[str, Dimension | None]:
        """Return a basis function as text, and its dimension."""
        product = factors(matrix, self.library)
        total: Dimension | None = NONE
        for row in product:
            found = self._row(row)
            total = None if total is None or found is None else total * found
        return self.writer.product(product) if product else "1", total

    def _row(self, row: Row) -> Dimension | None:
        argument = row.argument
        found = self._product(argument) if argument.is_product else self._sum(row)
        name = self.library.names[row.code]
        if name in POWERS or name == "abs":  # |u| has the unit of u
            power = POWERS.get(name, Fraction(1)) * (-1 if row.reciprocal else 1)
            return None if found is None else found**power
        if found:
            shown = self.writer.product([Row(row.code, argument)])
            self.broken.append(f"{shown}: the argument has {_of(found)}")
        return NONE

    def _product(self, argument: Argument) -> Dimension | None:
        total = NONE
        for base, times in argument.parts:
            found = self._operand(base)
            if found is None:
                return None
            total = total * found ** int(times)
        return total

    def _sum(self, row: Row) -> Dimension | None:
        fixed: tuple[str, Dimension] | None = None
        for base, times in row.argument.parts:
            found = self._operand(base)
            weighted = isinstance(times, float) and times != 1.0
            if found is None or (weighted and self.free_constants):
                continue
            mine = (self._shown(base), found)
            fixed = fixed or mine
            if found != fixed[1]:
                self.broken.append(_differ(f"{self.writer.product([row])}: ", fixed, mine))
                return None
        return fixed[1] if fixed else None

    def _operand(self, base: int | Row) -> Dimension | None:
        if isinstance(base, Row):
            return self._row(base)
        return NONE if base == ONE else self.given[base - 1]

    def _shown(self, base: int | Row) -> str:
        if isinstance(base, Row):
            return self.writer.product([base])
        return "1" if base == ONE else shown_name(self.names[base - 1])
