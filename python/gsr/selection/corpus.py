"""Textbook formulas, from which `gsr.selection.grammar` counts how science writes.

`formulas.txt` has one formula in a line, `name: target = expression`, under headings of fields.
Constants that are fitted or looked up are c0, c1, ...; every other name is a measured variable.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from gsr.selection.expressions import (
    INVERSE,
    Exponent,
    Sum,
    add,
    call,
    multiply,
    number,
    power,
    variable,
    variables_of,
)
from gsr.selection.grammar import FILE as COUNTS
from gsr.selection.grammar import LAW, TARGET, Choice, choices
from gsr.transformation import POWERS

FILE = Path(__file__).with_name("formulas.txt")
ROOTS = {name: power for name, power in POWERS.items() if power.denominator > 1}
MINUS = number(Fraction(-1))
#: Only whether a number is 1 matters.
PI = number(Fraction(355, 113))


class Formula(NamedTuple):
    """A formula of the corpus in normal form."""

    field: str
    name: str
    target: Sum
    expression: Sum


def formulas() -> Iterator[Formula]:
    """Yield the formulas of the corpus."""
    field = ""
    for line in FILE.read_text("utf-8").splitlines():
        if line.startswith("#"):
            field = line.lstrip("# ")
        elif line.strip():
            name, _, formula = line.partition(": ")
            target, _, expression = formula.partition(" = ")
            yield Formula(field, name, parse(target), parse(expression))


def counts() -> Counter[Choice]:
    """Return how often the corpus makes each choice."""
    found: Counter[Choice] = Counter()
    for formula in formulas():
        lone = len(set(variables_of(formula.expression))) == 1
        made = [*choices(formula.target, TARGET), *choices(formula.expression, LAW, lone)]
        found.update(choice.listed for choice in made)
    return found


def counts_text() -> str:
    """Return the counts as `gsr.selection.grammar` reads them."""
    rows = (json.dumps([*choice, n]) for choice, n in sorted(counts().items()))
    return "[\n" + ",\n".join(rows) + "\n]\n"


def parse(text: str) -> Sum:
    """Return the normal form of an expression; ^ is a power.

    Raises
    ------
    ValueError
        If the text is no expression of numbers, names, calls, + - * / and ^.
    """
    try:
        return _read(ast.parse(text.strip().replace("^", "**"), mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"no expression: {text!r}") from error


def _read(node: ast.expr) -> Sum:
    match node:
        case ast.Constant(value=int() | float() as value):
            return number(Fraction(str(value)))
        case ast.Name(id=name):
            return PI if name == "pi" else number(name) if is_constant(name) else variable(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return multiply(MINUS, _read(operand))
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            inside = _read(argument)
            return power(inside, Exponent(ROOTS[name])) if name in ROOTS else call(name, inside)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(left, right)
        case ast.BinOp(left=left, op=operator, right=right):
            return _combined(operator, _read(left), _read(right))
    raise ValueError(f"not allowed in a formula: {ast.unparse(node)}")


def is_constant(name: str) -> bool:
    """Tell whether a name is that of a constant: c and a number."""
    return name[0] == "c" and name[1:].isdecimal()


def _combined(operator: ast.operator, left: Sum, right: Sum) -> Sum:
    match operator:
        case ast.Add():
            return add([left, right])
        case ast.Sub():
            return add([left, multiply(MINUS, right)])
        case ast.Mult():
            return multiply(left, right)
        case ast.Div():
            return multiply(left, power(right, INVERSE))
    raise ValueError(f"not allowed in a formula: {operator!r}")


def _power(left: ast.expr, right: ast.expr) -> Sum:
    """Return a power if the exponent is constant, an exponential if it varies."""
    base, exponent = _read(left), _read(right)
    if not base.varying and exponent.varying:
        return call("exp", multiply(number(f"ln({ast.unparse(left)})"), exponent))
    if exponent.varying:
        return call("exp", multiply(exponent, call("ln", base)))
    scale = exponent.terms[0].scale
    if isinstance(scale, Fraction) and len(exponent.terms) == 1:
        return power(base, Exponent(scale))
    sign, rest = (-1, right.operand) if isinstance(right, ast.UnaryOp) else (1, right)
    return power(base, Exponent(Fraction(sign), ast.unparse(rest)))


if __name__ == "__main__":
    COUNTS.write_text(counts_text(), "utf-8")
