"""Basis matrices (paper, Section 3.3.2): from integers to formulas and back.

A row is (transformation, argument type, operands...); a basis function is the product of its
rows, except those that are operands of others. A matrix of one column is a basis function of the
target. Entries that have no meaning (Remark 1) may hold any integer or None.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gsr import _core
from gsr.encoding.fold import Arithmetic, fold
from gsr.encoding.matcher import Composer, Matcher
from gsr.encoding.rows import (
    VARIABLE,
    WEIGHTED,
    IntegerMatrix,
    Matrix,
    Row,
    applies,
    factors,
    integers,
    matrix_of,
    name_of,
)
from gsr.encoding.sympy_forms import with_cube_roots
from gsr.exceptions import GSRError
from gsr.formula import expression as read_expression
from gsr.lazy import sympy
from gsr.library import Library
from gsr.transformation import Array

#: Nodes of a coefficient, its product and its sum sign.
TERM = 3


def canonical(matrix: Matrix, library: Library, n_features: int = 1) -> IntegerMatrix:
    """Return the one matrix that stands for all those that Remark 3 calls the same."""
    form: IntegerMatrix = _core.canonical(library.table, integers(matrix), n_features)
    return form


def complexity(matrix: Matrix, library: Library, n_features: int = 1) -> int:
    """Return the number of nodes of the basis function's expression."""
    return int(_core.complexity(library.table, integers(matrix), n_features))


def law_complexity(
    psi: Sequence[Matrix],
    phi: Sequence[Matrix],
    library: Library,
    target_library: Library,
    n_features: int,
) -> int:
    """Return the nodes of both sides of a law, as the search counts them.

    A coefficient with its product and sum sign adds 3 to a basis function; the constant is 2; the
    leading target term has no coefficient.
    """
    nodes = -TERM + sum(TERM + complexity(matrix, target_library) for matrix in psi)
    for matrix in phi:
        constant = not factors(matrix, library)
        nodes += 2 if constant else TERM + complexity(matrix, library, n_features)
    return nodes


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
    """Return a basis function as a SymPy expression; a matrix of one column is a function of y.

    Names of the variables are never parsed, and may be symbols; they are x1, x2, ... or y unless
    given. Rows of ln that are `absolute` (all, none, or those listed, counted from 0) are written
    log(Abs(argument)), which is their value everywhere.

    >>> from gsr.library import TABLE_2
    >>> decode([[1, 0, 2], [5, 1, 1]], TABLE_2)
    x2*log(x1)
    """
    decoder = Decoder(library, lambda v: name_of(matrix, names, v), absolute)
    product = sympy.Integer(1)
    for row in factors(matrix, library):
        product *= fold(row, decoder)
    return product


class Decoder(Arithmetic[Any]):
    """Turns rows into SymPy expressions."""

    def __init__(
        self,
        library: Library,
        name: Callable[[int], Any],
        absolute: bool | Collection[int] = False,
    ) -> None:
        self.library, self.name, self.absolute = library, name, absolute

    def variable(self, v: int) -> Any:
        name = self.name(v)
        return sympy.Symbol(name, real=True) if isinstance(name, str) else name

    def one(self) -> Any:
        return constant(1)

    def scale(self, value: Any, factor: float) -> Any:
        return constant(factor) * value

    def add(self, terms: Sequence[Any]) -> Any:
        return sympy.Add(*terms)

    def power(self, value: Any, n: int) -> Any:
        return value ** constant(n)

    def multiply(self, factors: Sequence[Any]) -> Any:
        return sympy.Mul(*factors)

    def call(self, row: Row, argument: Any) -> Any:
        if self.library.traits[row.code].of_magnitude and applies(self.absolute, row.number):
            argument = sympy.Abs(argument)
        value = self.library.sympy(row.code, argument)
        return 1 / value if row.reciprocal else value


def constant(value: float) -> Any:
    """Return a multiple or a weight for SymPy; what was fitted is a Float unless it is 1 or -1."""
    return sympy.Integer(value) if isinstance(value, int) or abs(value) == 1 else sympy.Float(value)


def encode(
    expression: Any,
    library: Library,
    n_features: int,
    *,
    n_v: int | None = None,
) -> IntegerMatrix:
    """Return the basis matrix of an expression in x1..xd, in canonical form.

    It is text or a SymPy expression, made of transformations of the library, sums, products,
    quotients and numbers, such as ``"x2 cos(x1^2 x2)/(1 + x3)"``. The paper's matrices are
    preferred: products of transformations, each of a variable, a sum or a product of variables
    with multiplicities. There are as few columns of variables as needed unless `n_v` is given. An
    error names the factor that cannot be encoded.
    """
    names = [f"x{v}" for v in range(1, n_features + 1)]
    width = n_v or _core.MAX_VARIABLES
    matrix = _recognised(parsed(expression, names), library, names, width)
    short = canonical(matrix, library, n_features)
    n_entries = 2 + (n_v or 0)
    return [row if row[1] == WEIGHTED else row + [0] * (n_entries - len(row)) for row in short]


def encode_target(expression: Any, library: Library) -> IntegerMatrix:
    """Return the basis matrix of an expression in y: of one column if that is enough."""
    form = parsed(expression, ["y"])
    try:
        matrix = _recognised(form, library, ["y"], 1)
    except GSRError:
        matrix = _recognised(form, library, ["y"], _core.MAX_VARIABLES)
    if all(row[1] == VARIABLE and row[2] == 1 for row in matrix):
        matrix = [row[:1] for row in matrix]
    return canonical(matrix, library)


def parsed(expression: Any, names: Sequence[str]) -> Any:
    """Return text or an expression as a SymPy expression in real variables."""
    symbols = {name: sympy.Symbol(name, real=True) for name in names}
    if isinstance(expression, str):
        return read_expression(expression, symbols)
    found = sympy.sympify(expression, strict=True)
    unknown = sorted(s.name for s in found.free_symbols if s.name not in symbols)
    if unknown:
        raise GSRError(f"{unknown[0]!r} is not one of the variables {', '.join(symbols)}")
    return found.xreplace({s: symbols[s.name] for s in found.free_symbols})


def _recognised(
    expression: Any, library: Library, names: Sequence[str], width: int
) -> IntegerMatrix:
    """Return a matrix as the paper has them if there is one and no number is better a weight."""
    expression = _with_half_powers(expression)
    if "cbrt" in library:
        expression = with_cube_roots(expression)
    product = None
    if not expression.has(sympy.Float):
        with suppress(GSRError):
            product = Matcher(library, names, width).match(expression)
    if product is None:
        product = Composer(library, names, width).compose(expression)
    return matrix_of(product, width) or [[library.code("one"), VARIABLE, 1]]


def _with_half_powers(expression: Any) -> Any:
    """Return an expression whose exponents are exact where they are multiples of one half."""
    return expression.replace(
        lambda part: part.is_Pow and part.exp.is_Float and (2 * float(part.exp)).is_integer(),
        lambda part: part.base ** sympy.Rational(int(2 * part.exp), 2),
    )
