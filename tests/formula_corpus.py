"""Textbook formulas, from which `gsr.selection.grammar` counts how science writes.

`formulas.txt` has one formula in a line, `name: target = expression`, under headings of fields.
Constants that are fitted or looked up are c0, c1, ...; every other name is a measured variable.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from gsr.exceptions import GSRError
from gsr.formula import EVERY, Grammar, Node
from gsr.formula import parse as parse_formula
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
    """Return the normal form of an expression; ^ is a power."""
    return _read(parse_formula(text, Grammar(functions=EVERY)), text)


def _read(node: Node, text: str) -> Sum:
    match node.kind, node.text:
        case "number", shown:
            return number(Fraction(shown))
        case "name", "pi":
            return PI
        case "name", name:
            return number(name) if is_constant(name) else variable(name)
        case "neg", _:
            return multiply(MINUS, _read(node.parts[0], text))
        case "call", name if len(node.parts) == 1:
            inside = _read(node.parts[0], text)
            return power(inside, Exponent(ROOTS[name])) if name in ROOTS else call(name, inside)
        case "^", _:
            return _power(node.parts[0], node.parts[1], text)
        case "call", name:
            raise GSRError(f"{name} has more than one argument in {text!r}")
    left, right = (_read(part, text) for part in node.parts)
    if node.kind in ("+", "-"):
        return add([left, right if node.kind == "+" else multiply(MINUS, right)])
    return multiply(left, right if node.kind == "*" else power(right, INVERSE))


def is_constant(name: str) -> bool:
    """Tell whether a name is that of a constant: c and a number."""
    return name[0] == "c" and name[1:].isdecimal()


def _power(left: Node, right: Node, text: str) -> Sum:
    """Return a power if the exponent is constant, an exponential if it varies."""
    base, exponent = _read(left, text), _read(right, text)
    if exponent.varying:
        shown = text[slice(*left.span)]
        logarithm = call("ln", base) if base.varying else number(f"ln({shown})")
        return call("exp", multiply(logarithm, exponent))
    scale = exponent.terms[0].scale
    if isinstance(scale, Fraction) and len(exponent.terms) == 1:
        return power(base, Exponent(scale))
    sign, rest = (-1, right.parts[0]) if right.kind == "neg" else (1, right)
    return power(base, Exponent(Fraction(sign), text[slice(*rest.span)]))


if __name__ == "__main__":
    COUNTS.write_text(counts_text(), "utf-8")
