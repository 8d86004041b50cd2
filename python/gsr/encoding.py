"""Basis matrices (paper, Section 3.3.2): from integers to formulas and back.

A row is (transformation, argument type, variables...); a basis function is the product of its
rows. A matrix of one column is a basis function of the target. Entries that have no meaning
(Remark 1) may hold any integer or None.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from gsr import _core
from gsr._matcher import Matcher
from gsr._rows import PRODUCT, IntegerMatrix, Matrix, applies, integers, name_of, rows
from gsr._text import text
from gsr.library import Library
from gsr.transformation import Array

__all__ = [
    "canonical",
    "complexity",
    "decode",
    "encode",
    "encode_target",
    "evaluate",
    "text",
]


def canonical(matrix: Matrix, library: Library, n_features: int = 1) -> IntegerMatrix:
    """Return the one matrix that stands for all those that Remark 3 calls the same."""
    form: IntegerMatrix = _core.canonical(library.table, integers(matrix), n_features)
    return form


def complexity(matrix: Matrix, library: Library, n_features: int = 1) -> int:
    """Return the number of nodes of the basis function's expression."""
    return int(_core.complexity(library.table, integers(matrix), n_features))


def evaluate(matrices: Sequence[Matrix], library: Library, X: Array) -> Array:
    """Return the values of basis functions, one column each, over the rows of X."""
    if not len(X):
        return np.empty((0, len(matrices)))
    table = np.asfortranarray(X, dtype=float)
    values: Array = _core.evaluate_bases(library.table, [integers(m) for m in matrices], table)
    return values


def decode(
    matrix: Matrix,
    library: Library,
    names: Sequence[Any] | None = None,
    *,
    absolute: bool | Collection[int] = False,
) -> Any:
    """Return a basis function as a SymPy expression.

    Parameters
    ----------
    matrix : sequence of sequences of int
        A basis matrix; one column means a function of y.
    library : Library
        Its mapping table.
    names : sequence of str or Symbol, optional
        Names of the variables, which are never parsed; x1, x2, ... or y unless given.
    absolute : bool or collection of int
        Which rows of ln are written log(Abs(argument)), which is their value everywhere: all,
        none, or those listed (counted from 0).

    Returns
    -------
    sympy.Expr

    Examples
    --------
    >>> from gsr.library import TABLE_2
    >>> decode([[1, 0, 2], [5, 1, 1]], TABLE_2)
    x2*log(x1)
    """
    import sympy

    product = sympy.Integer(1)
    symbol = _symbols(matrix, names)
    for i, row in enumerate(rows(matrix, library)):
        if row is not None:
            combine = sympy.Mul if row.argument == PRODUCT else sympy.Add
            argument = combine(*map(symbol, row.variables))
            barred = library.names[row.code] == "ln" and applies(absolute, i)
            product *= library.sympy(row.code, sympy.Abs(argument) if barred else argument)
    return product


def _symbols(matrix: Matrix, names: Sequence[Any] | None) -> Callable[[int], Any]:
    import sympy

    def symbol(v: int) -> Any:
        name = name_of(matrix, names, v)
        return sympy.Symbol(name, real=True) if isinstance(name, str) else name

    return symbol


def encode(
    expression: Any, library: Library, n_features: int, *, n_v: int | None = None
) -> IntegerMatrix:
    """Return the basis matrix of an expression in x1..xd; the inverse of `decode`.

    Parameters
    ----------
    expression : sympy.Expr or str
        A product of transformations of the library, each of a variable, a sum or a product of
        variables with multiplicities. Text such as ``"x2 cos(x1^2 x2) ln(x1 + x3)"`` will do.
    library : Library
        Its mapping table.
    n_features : int
        The number d of features.
    n_v : int, optional
        Number of variable columns of the matrix; as few as needed unless given.

    Returns
    -------
    list of list of int
        In canonical form.

    Raises
    ------
    ValueError
        Names the factor that cannot be encoded.
    """
    names = [f"x{v}" for v in range(1, n_features + 1)]
    width = n_v or _core.MAX_VARIABLES
    found = Matcher(library, names, width).match(expression) or [(library.code("one"), 0, (1,))]
    matrix = [[code, kind, *_padded(variables, width)] for code, kind, variables in found]
    short = canonical(matrix, library, n_features)
    return [row[:2] + _padded(row[2:], n_v or 0) for row in short]


def encode_target(expression: Any, library: Library) -> IntegerMatrix:
    """Return the one-column basis matrix of an expression in y."""
    found = Matcher(library, ["y"], 1).match(expression) or [(library.code("one"), 0, (1,))]
    return canonical([[code] for code, _, _ in found], library)


def _padded(entries: Iterable[int], width: int) -> list[int]:
    listed = list(entries)
    return listed + [0] * (width - len(listed))
