"""The rows of a basis matrix, parsed.

A row that others refer to is part of their arguments and no factor of the product, so a matrix is
a small forest: each factor is a `Row`, whose argument holds variables, the number 1 and inner rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gsr.exceptions import GSRError
from gsr.library import Library

Matrix = Sequence[Sequence[float | None]]
#: Integers, except for the weights of weighted sums.
IntegerMatrix = list[list[Any]]
VARIABLE, SUM, PRODUCT, WEIGHTED = range(4)
#: The operand 1; ROW + i is the value of row i, counted from 1.
ONE = ROW = 30_000


@dataclass(frozen=True)
class Row:
    """A transformation of an argument, or its reciprocal."""

    code: int
    argument: Argument
    reciprocal: bool = False
    number: int = field(default=0, compare=False)

    def walk(self) -> Iterator[Row]:
        """Yield this row and those inside it."""
        yield self
        for base, _ in self.argument.parts:
            if isinstance(base, Row):
                yield from base.walk()


class Part(NamedTuple):
    """A variable, ONE or an inner row, with its multiple in a sum or its power in a product.

    `times` is a float for a weight, and an integer otherwise.
    """

    base: int | Row
    times: float = 1


class Argument(NamedTuple):
    """A sum, or a product, of parts; a lone part is a sum if it is the same as a product."""

    is_product: bool
    parts: tuple[Part, ...]

    @property
    def lone(self) -> int | Row | None:
        """The one operand, if the argument is nothing else."""
        return self.parts[0].base if len(self.parts) == 1 and self.parts[0].times == 1 else None

    @property
    def variables(self) -> set[int]:
        """The variables that it depends on, counted from 1."""
        inner = [base.argument.variables for base, _ in self.parts if isinstance(base, Row)]
        return {b for b, _ in self.parts if not isinstance(b, Row) and b != ONE}.union(*inner)


def variable(v: int) -> Argument:
    """Return the argument that is variable v."""
    return Argument(False, (Part(v),))


def combined(is_product: bool, parts: Iterable[tuple[int | Row, float]]) -> Argument:
    """Return a sum or a product, in which each operand stands once."""
    times: dict[int | Row, float] = {}
    for base, n in parts:
        if not is_product or base != ONE:
            times[base] = times.get(base, 0) + n
    found = tuple(Part(base, n) for base, n in sorted(times.items(), key=_place) if n)
    is_sum = len(found) == 1 and found[0].times == 1
    return Argument(is_product and not is_sum, found)


def _place(item: tuple[int | Row, float]) -> float:
    base = item[0]
    return ROW + 1 + base.number if isinstance(base, Row) else base


# ---- reading ---------------------------------------------------------------------------------


def integers(matrix: Matrix) -> IntegerMatrix:
    """Return the matrix as lists of integers and weights, as the compiled core takes it."""
    return [_numbers(row, i) for i, row in enumerate(matrix)]


def _numbers(row: Sequence[float | None], i: int) -> list[Any]:
    if all(type(entry) is int for entry in row) and WEIGHTED not in row[1:2]:
        return [*row]
    filled = [0 if entry is None else entry for entry in row]
    first_weight = len(filled)
    if len(filled) > 1 and filled[1] == WEIGHTED:
        first_weight = 2 + (len(filled) - 2) // 2
    whole = [int(entry) for entry in filled[:first_weight]]
    for k, (entry, integer) in enumerate(zip(filled, whole, strict=False), start=1):
        if entry != integer:
            raise _bad(i, f"entry {k} is {entry}, but only weights may be no integers")
    return [*whole, *map(float, filled[first_weight:])]


def rows(matrix: Matrix, library: Library) -> list[Row | None]:
    """Return all rows in the order of the matrix, None for rows of T = 1."""
    return [*_read(matrix, library)[0]]


def factors(matrix: Matrix, library: Library) -> list[Row]:
    """Return the rows whose product the basis function is, without those of T = 1."""
    found, inner = _read(matrix, library)
    return [row for row in found if row is not None and row.number not in inner]


def _read(matrix: Matrix, library: Library) -> tuple[list[Row | None], set[int]]:
    return _read_rows(tuple(map(tuple, matrix)), library)


@lru_cache(maxsize=8192)
def _read_rows(
    matrix: tuple[tuple[Any, ...], ...], library: Library
) -> tuple[list[Row | None], set[int]]:
    entries = integers(matrix)
    found: list[Row | None] = [None] * len(entries)
    inner: set[int] = set()
    for i in reversed(range(len(entries))):
        if not entries[i] or not abs(entries[i][0]) < len(library):
            raise _bad(i, f"no transformation of the library: {entries[i]}")
        code = abs(entries[i][0])
        if library.names[code] == "one":
            continue
        kind, operands, weights = _operands(entries[i], i)
        for k, operand in enumerate(operands):
            _check_operand(operand, i, k, len(entries))
        inner.update(abs(operand) - ROW - 1 for operand in operands if abs(operand) > ROW)
        argument = _argument(kind, operands, weights, found)
        found[i] = Row(code, argument, entries[i][0] < 0, i)
    return found, inner


def _operands(entries: list[Any], i: int) -> tuple[int, list[int], list[float]]:
    """Return (argument type, operands, weights) of a row, without skips."""
    if len(entries) == 1:
        return VARIABLE, [1], []
    kind, rest = entries[1], entries[2:]
    if not rest or kind not in (VARIABLE, SUM, PRODUCT, WEIGHTED):
        raise _bad(i, f"no argument type or no variable: {entries}")
    weights: list[float] = []
    if kind == VARIABLE:
        rest = rest[:1]
    if kind == WEIGHTED:
        if len(rest) % 2:
            raise _bad(i, f"a weighted sum needs one weight for each operand: {entries}")
        half = len(rest) // 2
        weights = [w for o, w in zip(rest[:half], rest[half:], strict=True) if o]
        rest = rest[:half]
        if min(rest) < 0 or not np.isfinite(weights).all():
            raise _bad(i, f"weights must be finite, and hold the signs: {entries}")
    operands = [o for o in rest if o]
    if not operands:
        raise _bad(i, f"no operand; variables are counted from 1: {entries}")
    return kind, operands, weights


def _check_operand(operand: int, i: int, k: int, n_rows: int) -> None:
    below = abs(operand) - ROW
    if below <= 0:
        return
    if below > n_rows:
        raise _bad(i, f"operand {k + 1} is {operand}, but there is no row {below}")
    if below <= i + 1:
        raise _bad(i, f"operand {k + 1} is {operand}, but a row may refer to rows below it only")


def _argument(
    kind: int, operands: list[int], weights: list[float], found: list[Row | None]
) -> Argument:
    signs = weights or [1 if operand > 0 else -1 for operand in operands]
    bases = [_base(abs(operand), found) for operand in operands]
    return combined(kind == PRODUCT, zip(bases, signs, strict=True))


def _base(operand: int, found: list[Row | None]) -> int | Row:
    inner = found[operand - ROW - 1] if operand > ROW else None
    return inner if inner is not None else min(operand, ONE)


def _bad(i: int, what: str) -> GSRError:
    return GSRError(f"basis matrix, row {i + 1}: {what}")


def is_constant(matrix: Matrix, library: Library) -> bool:
    """Return whether every factor is T = 1."""
    return not factors(matrix, library)


def name_of(matrix: Matrix, names: Sequence[Any] | None, v: int) -> Any:
    """Return the name of variable v; x1, x2, ... or y if there are no names."""
    if names is None:
        return "y" if len(matrix[0]) == 1 else f"x{v}"
    if v > len(names):
        raise GSRError(f"variable {v} has no name: there are {len(names)}")
    return names[v - 1]


def applies(absolute: bool | Collection[int], i: int) -> bool:
    """Return whether row i is among those meant."""
    return absolute if isinstance(absolute, bool) else i in absolute


# ---- writing ---------------------------------------------------------------------------------


def matrix_of(product: Sequence[Row], width: int) -> IntegerMatrix:
    """Return the matrix of a product of rows, with at most `width` operands in a row."""
    inner: dict[Row, None] = {}
    for row in product:
        _collect(row, inner)
    # Those who refer come before those referred to.
    below = {row: ROW + 1 + len(product) + k for k, row in enumerate(reversed(inner))}
    written = [_written(row, below, width) for row in [*product, *below]]
    longest = max((len(row) for row in written if row[1] != WEIGHTED), default=0)
    return [row if row[1] == WEIGHTED else row + [0] * (longest - len(row)) for row in written]


def _collect(row: Row, inner: dict[Row, None]) -> None:
    for base, _ in row.argument.parts:
        if isinstance(base, Row) and base not in inner:
            _collect(base, inner)
            inner[base] = None


def _written(row: Row, below: dict[Row, int], width: int) -> list[Any]:
    if not row.argument.parts:
        raise GSRError("a row has no operand: its operands cancel each other")
    parts = [(below[b] if isinstance(b, Row) else b, n) for b, n in row.argument.parts]
    code = -row.code if row.reciprocal else row.code
    total = sum(abs(n) for _, n in parts)
    whole = all(isinstance(n, int) for _, n in parts) or total == len(parts) == 1
    if whole and total <= width:
        kind = PRODUCT if row.argument.is_product else SUM
        operands = [o if n > 0 else -o for o, n in parts for _ in range(abs(int(n)))]
        lone = len(operands) == 1 and kind == SUM
        return [code, VARIABLE if lone else kind, *operands]
    if row.argument.is_product or len(parts) > width:
        raise GSRError(f"a row has more than {width} operands")
    return [code, WEIGHTED, *(o for o, _ in parts), *(float(n) for _, n in parts)]
