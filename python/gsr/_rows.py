"""The rows of a basis matrix, read once for all who need them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.transformation import Array

Matrix = Sequence[Sequence[int | None]]
IntegerMatrix = list[list[int]]
VARIABLE, SUM, PRODUCT = 0, 1, 2


class Row(NamedTuple):
    """One factor of a basis function, without its meaningless entries."""

    code: int
    argument: int
    variables: tuple[int, ...]


def integers(matrix: Matrix) -> IntegerMatrix:
    """Return the matrix as lists of integers, as the compiled core takes it."""
    return [[0 if entry is None else int(entry) for entry in row] for row in matrix]


def rows(matrix: Matrix, library: Library) -> list[Row | None]:
    """Return the factors in the order of the matrix, None for rows of T = 1."""
    found: list[Row | None] = []
    for i, entries in enumerate(integers(matrix), start=1):
        if not entries or not 0 <= entries[0] < len(library):
            raise GSRError(f"basis matrix, row {i}: no transformation of the library: {entries}")
        found.append(None if library.names[entries[0]] == "one" else _row(entries, i))
    return found


def _row(entries: list[int], i: int) -> Row:
    if len(entries) == 1:
        return Row(entries[0], VARIABLE, (1,))
    if len(entries) == 2 or entries[1] not in (VARIABLE, SUM, PRODUCT):
        raise GSRError(f"basis matrix, row {i}: no argument type or no variable: {entries}")
    variables = entries[2:3] if entries[1] == VARIABLE else [v for v in entries[2:] if v]
    if not variables or min(variables) < 1:
        raise GSRError(f"basis matrix, row {i}: variables are counted from 1: {entries}")
    argument = VARIABLE if len(variables) == 1 else entries[1]
    return Row(entries[0], argument, tuple(sorted(variables)))


def is_constant(matrix: Matrix, library: Library) -> bool:
    """Tell whether every row is T = 1."""
    return all(row is None for row in rows(matrix, library))


def argument_values(row: Row, X: Array) -> Array:
    """Return the argument of the row's transformation over the rows of X."""
    chosen = X[:, [v - 1 for v in row.variables]]
    values: Array = chosen.prod(axis=1) if row.argument == PRODUCT else chosen.sum(axis=1)
    return values


def negative_arguments(matrix: Matrix, library: Library, X: Array) -> tuple[int, ...]:
    """Return the rows of ln whose argument is not positive on all of X, counted from 0."""
    return tuple(
        i
        for i, row in enumerate(rows(matrix, library))
        if row and library.names[row.code] == "ln" and not (argument_values(row, X) > 0).all()
    )


def name_of(matrix: Matrix, names: Sequence[Any] | None, v: int) -> Any:
    """Return the name of variable v; x1, x2, ... or y if there are no names."""
    if names is None:
        return "y" if len(matrix[0]) == 1 else f"x{v}"
    if v > len(names):
        raise GSRError(f"variable {v} has no name: there are {len(names)}")
    return names[v - 1]


def applies(absolute: bool | Collection[int], i: int) -> bool:
    """Tell whether row i is among those meant."""
    return absolute if isinstance(absolute, bool) else i in absolute
