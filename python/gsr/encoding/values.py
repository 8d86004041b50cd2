"""Values of rows and arguments over tables of data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from gsr.encoding.fold import Arithmetic, fold
from gsr.encoding.rows import Argument, Matrix, Row, rows
from gsr.library import Library
from gsr.transformation import Array


class Values(Arithmetic[Array]):
    """Evaluates over the rows of a table.

    Parameters
    ----------
    X : array of shape (n, d)
        The variables.
    library : Library, optional
        Mapping table of the rows.
    """

    def __init__(self, X: Array, library: Library | None) -> None:
        self.X, self.library = X, library

    def variable(self, v: int) -> Array:
        """Return a column."""
        column: Array = self.X[:, v - 1]
        return column

    def one(self) -> Array:
        """Return 1 in every row."""
        return np.ones(len(self.X))

    def scale(self, value: Array, factor: float) -> Array:
        """Return a multiple."""
        return factor * value

    def add(self, terms: Sequence[Array]) -> Array:
        """Return a sum."""
        return reduce(np.add, terms, np.zeros(len(self.X)))

    def power(self, value: Array, n: int) -> Array:
        """Return a power."""
        powered: Array = value**n
        return powered

    def multiply(self, factors: Sequence[Array]) -> Array:
        """Return a product."""
        return reduce(np.multiply, factors, self.one())

    def call(self, row: Row, argument: Array) -> Array:
        """Return the values of a transformation."""
        values = self.transformed(row.code, argument)
        return 1 / values if row.reciprocal else values

    def transformed(self, code: int, argument: Array) -> Array:
        """Return T(argument)."""
        assert self.library is not None
        values: Array = self.library.table[code].value(argument)
        return values


def argument_values(argument: Argument, X: Array, library: Library | None) -> Array:
    """Return an argument over the rows of X; inner rows are of the library."""
    with np.errstate(all="ignore"):
        return fold(argument, Values(X, library))


def row_values(row: Row, X: Array, library: Library) -> Array:
    """Return a row's transformation of its argument over the rows of X."""
    with np.errstate(all="ignore"):
        return fold(row, Values(X, library))


def negative_arguments(matrix: Matrix, library: Library, X: Array) -> tuple[int, ...]:
    """Return the rows of ln|t| whose argument is not positive on all of X, counted from 0."""
    return tuple(
        row.number
        for row in rows(matrix, library)
        if row is not None
        and library.traits[row.code].of_magnitude
        and not (argument_values(row.argument, X, library) > 0).all()
    )
