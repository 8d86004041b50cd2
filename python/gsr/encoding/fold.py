"""The one traversal of an expression, `fold`: an algebra says what each node becomes.

`Arithmetic` is an algebra of values; `Values` has those over the rows of a table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Generic, TypeVar

import numpy as np

from gsr.encoding.rows import ONE, Argument, Matrix, Row, rows
from gsr.library import Library
from gsr.transformation import Array

T = TypeVar("T")


class Algebra(ABC, Generic[T]):
    """What variables, sums, products and transformations become.

    A method is given the node itself and what its parts have become.
    """

    @abstractmethod
    def variable(self, v: int) -> T:
        """Return variable v, counted from 1."""

    @abstractmethod
    def one(self) -> T:
        """Return the number 1."""

    @abstractmethod
    def total(self, argument: Argument, parts: Sequence[T]) -> T:
        """Return a sum; the multiples of the parts are in the argument."""

    @abstractmethod
    def product(self, argument: Argument, parts: Sequence[T]) -> T:
        """Return a product; the exponents of the parts are in the argument."""

    @abstractmethod
    def call(self, row: Row, argument: T) -> T:
        """Return the transformation of an argument, or its reciprocal."""


def fold(expression: Row | Argument | int, algebra: Algebra[T]) -> T:
    """Return what an algebra makes of a row, an argument or an operand."""
    if isinstance(expression, Row):
        return algebra.call(expression, fold(expression.argument, algebra))
    if isinstance(expression, Argument):
        parts = [fold(base, algebra) for base, _ in expression.parts]
        combine = algebra.product if expression.is_product else algebra.total
        return combine(expression, parts)
    return algebra.one() if expression == ONE else algebra.variable(expression)


class Arithmetic(Algebra[T]):
    """An algebra of values that can be scaled, added, raised to powers and multiplied."""

    @abstractmethod
    def scale(self, value: T, factor: float) -> T:
        """Return a multiple of a value."""

    @abstractmethod
    def add(self, terms: Sequence[T]) -> T:
        """Return the sum of values; of none it is 0."""

    @abstractmethod
    def power(self, value: T, n: int) -> T:
        """Return a power of a value."""

    @abstractmethod
    def multiply(self, factors: Sequence[T]) -> T:
        """Return the product of values; of none it is 1."""

    def total(self, argument: Argument, parts: Sequence[T]) -> T:
        """Return a sum of multiples."""
        pairs = zip(parts, argument.parts, strict=True)
        return self.add([self.scale(part, times) for part, (_, times) in pairs])

    def product(self, argument: Argument, parts: Sequence[T]) -> T:
        """Return a product of powers."""
        pairs = zip(parts, argument.parts, strict=True)
        return self.multiply([self.power(part, int(times)) for part, (_, times) in pairs])

    def basis_function(self, rows: Sequence[Row]) -> T:
        """Return the product of rows."""
        return self.multiply([fold(row, self) for row in rows])


class Values(Arithmetic[Array]):
    """Evaluates over the rows of a table."""

    def __init__(self, X: Array, library: Library | None) -> None:
        self.X, self.library = X, library

    def variable(self, v: int) -> Array:
        return np.asarray(self.X[:, v - 1])

    def one(self) -> Array:
        return np.ones(len(self.X))

    def scale(self, value: Array, factor: float) -> Array:
        return factor * value

    def add(self, terms: Sequence[Array]) -> Array:
        return reduce(np.add, terms, np.zeros(len(self.X)))

    def power(self, value: Array, n: int) -> Array:
        return np.asarray(value**n)

    def multiply(self, factors: Sequence[Array]) -> Array:
        return reduce(np.multiply, factors, self.one())

    def call(self, row: Row, argument: Array) -> Array:
        values = self.transformed(row.code, argument)
        return 1 / values if row.reciprocal else values

    def transformed(self, code: int, argument: Array) -> Array:
        """Return T(argument)."""
        assert self.library is not None
        return np.asarray(self.library.table[code].value(argument))


def values_of(expression: Row | Argument, X: Array, library: Library | None) -> Array:
    """Return a row or an argument over the rows of X; the library is that of its rows, if any."""
    with np.errstate(all="ignore"):
        return fold(expression, Values(X, library))


def negative_arguments(matrix: Matrix, library: Library, X: Array) -> tuple[int, ...]:
    """Return the rows of ln|t| whose argument is not positive on all of X, counted from 0."""
    return tuple(
        row.number
        for row in rows(matrix, library)
        if row is not None
        and library.traits[row.code].of_magnitude
        and not (values_of(row.argument, X, library) > 0).all()
    )
