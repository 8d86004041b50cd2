"""Parser of forms such as ``sin(f(x1, x2)) + g(x3)**2`` with unknown functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gsr.exceptions import GSRError, suggestion
from gsr.formula import ELEMENTARY, Builder, Grammar, guarded, parse
from gsr.lazy import sympy
from gsr.prior.formula_terms import nearest_name

CALL = re.compile(r"([^\W\d]\w*'*)\(")


@dataclass(frozen=True)
class Part:
    """An unknown function: its symbol in the form, and its columns, counted from 0."""

    name: str
    symbol: Any
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Form:
    """A form as a SymPy expression in x1, x2, ..., symbols of its parts, and its constants."""

    text: str
    expression: Any
    parts: tuple[Part, ...]
    constants: tuple[Any, ...]


def column(k: int) -> Any:
    """Return the symbol of a column, counted from 0."""
    return sympy.Symbol(f"x{k + 1}", real=True)


def read(text: Any, names: Sequence[str], target_name: str) -> Form:
    """Return a form; names that are neither columns nor functions are constants to fit."""
    if not isinstance(text, str):
        raise GSRError(f"form must be text such as 'f(x1) + g(x2)', got {text!r}", "form")
    reader = _Reader(text, names, target_name)
    expression = guarded(reader.expression, text)
    if not reader.parts:
        raise GSRError(
            f"the form {text!r} has no unknown function, such as f({names[0]}); fit it with "
            "gsr.fit_formula",
            "form",
        )
    return Form(text, expression, tuple(reader.parts.values()), tuple(reader.letters.values()))


class _Reader(Builder):
    def __init__(self, text: str, names: Sequence[str], target_name: str) -> None:
        super().__init__({name: column(k) for k, name in enumerate(names)}, ELEMENTARY)
        self.text, self.names, self.target_name = text, list(names), target_name
        called = set(CALL.findall(text))
        for name in sorted(called & set(names)):
            raise GSRError(
                f"{name!r} is a column: give the unknown function another name, or write "
                f"{name}*(...)",
                "form",
            )
        self.unknown = called - self.functions
        self.functions |= self.unknown
        self.parts: dict[str, Part] = {}
        self.letters: dict[str, Any] = {}

    def expression(self) -> Any:
        node = parse(self.text, Grammar(self.variables, self.functions, "form"))
        for name in sorted(self.unknown & node.names()):
            raise GSRError(
                f"{name!r} is both an unknown function and a constant of the form", "form"
            )
        found = self.build(node)
        missing = [part.name for part in self.parts.values() if not found.has(part.symbol)]
        if missing:
            raise GSRError(f"the form does not depend on the function {missing[0]!r}", "form")
        return found

    def by_name(self, name: str) -> Any:
        if name in self.variables or name in ("pi", "E"):
            return super().by_name(name)
        self.check_called(name)
        if name == self.target_name:
            raise GSRError(
                f"the form contains the target {name!r}: give only the right side", "form"
            )
        near = nearest_name(name, self.variables)
        if near is not None:
            raise GSRError(f"{name!r} in the form is not a column; did you mean {near!r}?", "form")
        return self.letters.setdefault(name, sympy.Symbol(name + "_", real=True))

    def called(self, name: str, arguments: Sequence[Any]) -> Any:
        if name not in self.unknown:
            return super().called(name, arguments)
        if name == self.target_name:
            raise GSRError(f"the unknown function {name!r} has the name of the target", "form")
        place = {column(k): k for k in range(len(self.names))}
        for each in arguments:
            if each not in place:
                shown = str(each).rstrip("_")
                hint = suggestion(shown, self.names, otherwise_list=True)
                raise GSRError(
                    f"the arguments of the unknown function {name!r} must be columns, got {shown!r}"
                    f"{hint}",
                    "form",
                )
        part = Part(
            name, sympy.Symbol(f"{name}_part", real=True), tuple(place[a] for a in arguments)
        )
        if len(set(part.columns)) < len(part.columns):
            raise GSRError(f"the unknown function {name!r} has the same column twice", "form")
        if self.parts.setdefault(name, part) != part:
            raise GSRError(f"the unknown function {name!r} is used with different columns", "form")
        return part.symbol


def inverse(form: Form) -> Any:
    """Return the only part of a form as an expression of `y`; None if it cannot be isolated.

    The part must occur once, inside functions with a unique inverse.
    """
    if len(form.parts) > 1 or form.constants:
        return None
    symbol = form.parts[0].symbol
    value, found = sympy.Symbol("y", real=True), form.expression
    while found != symbol:
        holding = [each for each in found.args if each.has(symbol)]
        if len(holding) != 1:
            return None
        (inner,) = holding
        value = _undone(found, inner, value)
        if value is None:
            return None
        found = inner
    return value


def _undone(outer: Any, inner: Any, value: Any) -> Any:
    """Return the value of an argument of a function, given the value of the function."""
    others = [each for each in outer.args if each != inner]
    if outer.is_Add:
        return value - sympy.Add(*others)
    if outer.is_Mul:
        return value / sympy.Mul(*others)
    if isinstance(outer, sympy.exp):
        return sympy.log(value)
    if isinstance(outer, sympy.log):
        return sympy.exp(value)
    if outer.is_Pow and outer.base == inner and outer.exp in (-1, sympy.Rational(1, 2)):
        return value ** (1 / outer.exp)
    return None
