"""Basis functions as source code: the statements and expressions that compute f(x) and g(y)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

import numpy as np

from gsr.encoding.fold import Algebra, fold, values_of
from gsr.encoding.rows import ONE, Argument, Matrix, Row, factors
from gsr.equation import Equation
from gsr.export.names import fresh
from gsr.export.syntax import Dialect, Expression
from gsr.library import Library, Transformation
from gsr.transformation import apply_symbolic

WIDTH = 100
Write = Callable[[], Expression]


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


class Terms(Algebra[Write]):
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

    def side(self, matrices: Sequence[Matrix], coefficients: Any) -> Expression:
        """Write a sum of basis functions with their coefficients."""
        terms: list[tuple[float, Expression | None]] = []
        for matrix, c in zip(matrices, coefficients, strict=True):
            product = factors(matrix, self.library)
            constants = [row for row in product if not row.argument.variables]
            others = [row for row in product if row.argument.variables]
            size = float(c) * self._value(constants)
            terms.append((size, self.basis_function(others) if others else None))
        # The constant comes last.
        return self.dialect.add(sorted(terms, key=lambda term: term[1] is None))

    def basis_function(self, rows: Sequence[Row]) -> Expression:
        """Write a product of rows, those under the line together."""
        above, below = (
            [fold(replace(r, reciprocal=False), self)() for r in rows if r.reciprocal == under]
            for under in (False, True)
        )
        return self._quotient(above, below)

    def _quotient(self, above: list[Expression], below: list[Expression]) -> Expression:
        top = self.dialect.multiply(above) if above else self.dialect.number(1.0)
        return self.dialect.divide(top, self.dialect.multiply(below)) if below else top

    def _value(self, product: Sequence[Row]) -> float:
        """Return the value of a product without variables."""
        nothing = np.zeros((1, len(self.variables)))
        return float(np.prod([values_of(row, nothing, self.library) for row in product]))

    def argument(self, argument: Argument) -> Expression:
        """Write a sum or a product of operands."""
        return fold(argument, self)()

    # ---- the algebra: what writes a part when it is called, after the statements that it needs

    def variable(self, v: int) -> Write:
        """Return what writes a variable."""
        return lambda: self.variables[v - 1]

    def one(self) -> Write:
        """Return what writes 1."""
        return lambda: self.dialect.number(1.0)

    def total(self, argument: Argument, parts: Sequence[Write]) -> Write:
        """Return what writes a sum."""
        pairs = [*zip(parts, argument.parts, strict=True)]
        return lambda: self.dialect.add(
            [(float(n), None if base == ONE else write()) for write, (base, n) in pairs]
        )

    def product(self, argument: Argument, parts: Sequence[Write]) -> Write:
        """Return what writes a product, as a quotient where there are negative powers."""

        def write() -> Expression:
            powers = [
                (self._power(part(), abs(n)), n > 0)
                for part, (_, n) in zip(parts, argument.parts, strict=True)
            ]
            above, below = ([p for p, over in powers if over == side] for side in (True, False))
            return self._quotient(above, below)

        return write

    def _power(self, operand: Expression, n: float) -> Expression:
        return self.dialect.power(self.body.named(operand) if n > 1 else operand, n)

    def call(self, row: Row, argument: Write) -> Write:
        """Return what writes a transformation; one without variables is a number."""
        if not row.argument.variables:
            return lambda: self.dialect.number(self._value([row]))
        if row.reciprocal:
            whole = self.call(replace(row, reciprocal=False), argument)
            return lambda: self._quotient([], [whole()])
        entry = self.library.entries[row.code]
        if isinstance(entry, Transformation):
            own = entry

            def write() -> Expression:
                shown = argument().text
                return Expression(f"{self._own(own)}({shown})")

            return write
        return lambda: self._template(str(self.library.table[row.code].code), argument())

    def _template(self, code: str, argument: Expression) -> Expression:
        if code.count("{}") > 1:
            argument = self.body.named(argument)
        return self.dialect.template(code, argument)

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


def used_variables(equation: Equation) -> set[int]:
    """Return the features that the source reads, counted from 1."""
    rows = [row for matrix in equation.phi for row in factors(matrix, equation.library)]
    rule = equation.inversion.branches.sign
    arguments = [row.argument for row in rows] + list(rule.arguments if rule else ())
    return set().union(*(argument.variables for argument in arguments))


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
