"""Basis functions as source code: the statements and expressions that compute f(x) and g(y)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

import numpy as np

from gsr.encoding.rows import ONE, Argument, Matrix, Row, factors
from gsr.encoding.values import row_values
from gsr.equation import Equation
from gsr.export.names import fresh
from gsr.export.syntax import Dialect, Expression
from gsr.library import Library, Transformation
from gsr.transformation import apply_symbolic

WIDTH = 100


class Body:
    """Statements of a function, and the functions of one's own that they call.

    Parameters
    ----------
    dialect : Dialect
        The language.
    prefix : str
        Of the helpers' names.
    taken : set of str
        Names that have a meaning already.
    """

    def __init__(self, dialect: Dialect, prefix: str, taken: set[str]) -> None:
        self.dialect, self.prefix, self.taken = dialect, prefix, set(taken)
        self.lines: list[str] = []
        self.functions: dict[str, str] = {}

    def let(self, value: Expression, name: str = "t", again: str | None = None) -> Expression:
        """Write an assignment and return the variable; `again` is one that gets a new value."""
        new = again or fresh(name, self.taken)
        self.taken.add(new)
        if self.dialect.is_c:
            self.lines.append(f"{'' if again else 'double '}{new} = {value.text};")
        else:
            self.lines.append(f"{new} = {value.text}")
        return Expression(new)

    def named(self, value: Expression, name: str = "t") -> Expression:
        """Return a variable that holds the value, or the value if it is short."""
        return value if value.is_name else self.let(value, name)


class Terms:
    """Writes basis functions.

    Parameters
    ----------
    body : Body
        Takes the statements.
    library : Library
        Mapping table.
    variables : sequence of Expression
        What stands for the variables.
    """

    def __init__(self, body: Body, library: Library, variables: Sequence[Expression]) -> None:
        self.body, self.library, self.variables = body, library, variables
        self.dialect = body.dialect

    def total(self, matrices: Sequence[Matrix], coefficients: Any) -> Expression:
        """Write a sum of basis functions with their coefficients."""
        terms: list[tuple[float, Expression | None]] = []
        for matrix, c in zip(matrices, coefficients, strict=True):
            product = factors(matrix, self.library)
            constants = [row for row in product if not _variables(row.argument)]
            others = [row for row in product if _variables(row.argument)]
            size = float(c) * self._value(constants)
            terms.append((size, self.product(others) if others else None))
        # The constant comes last.
        return self.dialect.add(sorted(terms, key=lambda term: term[1] is None))

    def product(self, product: Sequence[Row]) -> Expression:
        """Write a product of rows, those under the line together."""
        above = [self.row(replace(r, reciprocal=False)) for r in product if not r.reciprocal]
        below = [self.row(replace(r, reciprocal=False)) for r in product if r.reciprocal]
        return self._quotient(above, below)

    def _quotient(self, above: list[Expression], below: list[Expression]) -> Expression:
        top = self.dialect.multiply(above) if above else self.dialect.number(1.0)
        return self.dialect.divide(top, self.dialect.multiply(below)) if below else top

    def _value(self, product: Sequence[Row]) -> float:
        """Return the value of a product without variables."""
        nothing = np.zeros((1, len(self.variables)))
        return float(np.prod([row_values(row, nothing, self.library) for row in product]))

    def row(self, row: Row) -> Expression:
        """Write a transformation of an argument."""
        if not _variables(row.argument):
            return self.dialect.number(self._value([row]))
        if row.reciprocal:
            return self._quotient([], [self.row(replace(row, reciprocal=False))])
        entry = self.library.entries[row.code]
        argument = self.argument(row.argument)
        if isinstance(entry, Transformation):
            return Expression(f"{self._own(entry)}({argument.text})")
        code = str(self.library.table[row.code].code)
        if code.count("{}") > 1:
            argument = self.body.named(argument)
        return self.dialect.template(code, argument)

    def argument(self, argument: Argument) -> Expression:
        """Write a sum or a product of operands."""
        if not argument.is_product:
            return self.dialect.add(
                [(float(n), None if b == ONE else self._operand(b)) for b, n in argument.parts]
            )
        parts = [(self._power(base, abs(n)), n) for base, n in argument.parts]
        return self._quotient([p for p, n in parts if n > 0], [p for p, n in parts if n < 0])

    def _power(self, base: int | Row, n: float) -> Expression:
        operand = self._operand(base)
        return self.dialect.power(self.body.named(operand) if n > 1 else operand, n)

    def _operand(self, base: int | Row) -> Expression:
        if isinstance(base, Row):
            return self.row(base)
        return self.dialect.number(1.0) if base == ONE else self.variables[base - 1]

    def _own(self, entry: Transformation) -> str:
        """Write a transformation of the user's own as a function, and return its name."""
        import sympy

        name = f"{self.body.prefix}{entry.name}"
        if name not in self.body.functions:
            form = apply_symbolic(entry.sympy, sympy.Symbol("t", real=True))
            written = self.dialect.symbolic(form, Expression("t"))
            text = function(self.dialect, name, ["t"], [], written, is_helper=True)
            self.body.functions[name] = text
        return name


def _variables(argument: Argument) -> set[int]:
    found: set[int] = set()
    for base, _ in argument.parts:
        if isinstance(base, Row):
            found |= _variables(base.argument)
        elif base != ONE:
            found.add(base)
    return found


def used_variables(equation: Equation) -> set[int]:
    """Return the features that the source reads, counted from 1."""
    rows = [row for matrix in equation.phi for row in factors(matrix, equation.library)]
    rule = equation.inversion.branches.sign
    arguments = [row.argument for row in rows] + list(rule.arguments if rule else ())
    return set().union(*map(_variables, arguments))


def function(
    dialect: Dialect,
    name: str,
    arguments: Sequence[str],
    lines: Sequence[str],
    value: Expression,
    *,
    is_helper: bool,
) -> str:
    """Return the source of a function."""
    inside = "".join(f"    {line}\n" for line in lines)
    if dialect.is_c:
        head = "static double" if is_helper else "double"
        listed = _listed([f"double {argument}" for argument in arguments])
        return f"{head} {name}({listed})\n{{\n{inside}    return {value.text};\n}}"
    return f"def {name}({_listed(arguments)}):\n{inside}    return {value.text}"


def _listed(parts: Sequence[str]) -> str:
    """Return arguments on one line, or on several if they are many."""
    line = ", ".join(parts)
    if len(line) < WIDTH - 20:
        return line
    return "\n    " + "\n    ".join(wrap(line, WIDTH - 4))
