"""Turns the tree of a formula into SymPy expressions, with what its names mean."""

from __future__ import annotations

import cmath
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.prior.formula_text import Node
from gsr.transformation import BUILTINS, Transformation, apply_symbolic

#: Numbers beyond this, or below its reciprocal, are mistakes.
LARGEST = 1e100
#: How like a variable's name a constant's must be to be taken for a mistake; names of few letters
#: differ by much if they differ in one.
LIKE, LIKE_SHORT, SHORT = 0.8, 0.6, 3
#: What a user may call a transformation; some have no place in the library by themselves.
ALIASES = {
    "log": "log",
    "ln": "log",
    "sqrt": "sqrt",
    "exp": "exp",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "tanh": "tanh",
    "abs": "Abs",
    "sinh": "sinh",
    "cosh": "cosh",
    "asin": "asin",
    "arcsin": "asin",
    "acos": "acos",
    "arccos": "acos",
    "atan": "atan",
    "arctan": "atan",
    "atanh": "atanh",
    "arctanh": "atanh",
}
BASES_OF_LOGARITHMS = {"log10": 10, "log2": 2}


@dataclass
class Builder:
    """Knows the names of a formula, and builds expressions.

    Parameters
    ----------
    feature_names : sequence of str
        The features.
    target_name : str
        The target.
    library, target_library : Library
        Whose own transformations may be used.
    strict : bool
        Whether a constant with a name like that of a variable is an error, not only a warning.
    """

    feature_names: Sequence[str]
    target_name: str
    library: Library
    target_library: Library
    starts: dict[Any, float | None] = field(default_factory=dict)
    letters: dict[str, Any] = field(default_factory=dict)
    strict: bool = False

    def __post_init__(self) -> None:
        import sympy

        self.variables = {
            name: sympy.Symbol(f"x{v}", real=True)
            for v, name in enumerate(self.feature_names, start=1)
        }
        self.y = self.variables[self.target_name] = sympy.Symbol("y", real=True)
        entries = (*self.library.entries, *self.target_library.entries)
        self.own = {e.name: e for e in entries if isinstance(e, Transformation)}
        names = {*ALIASES, *BASES_OF_LOGARITHMS, *BUILTINS, *self.own} - {"one"}
        self.functions = frozenset(names)

    def build(self, node: Node, free: bool) -> Any:
        """Return a SymPy expression; numbers with a point are constants to fit if `free`."""
        import sympy

        if node.kind == "number":
            return self._number(node.text, free)
        if node.kind == "name":
            return self.by_name(node.text)
        if node.kind in ("call", "^"):
            self._check_size(node)
        if node.kind == "call":
            return self._call(node.text, self.build(node.parts[0], free))
        if node.kind == "neg":
            return -self.build(node.parts[0], free)
        left = self.build(node.parts[0], free)
        if node.kind == "^":
            return raised(left, self._exponent(node.parts[1]))
        right = self.build(node.parts[1], free)
        if node.kind == "/" and right == 0:
            raise GSRError("the formula divides by 0")
        joined = {
            "+": sympy.Add(left, right),
            "-": sympy.Add(left, -right),
            "*": sympy.Mul(left, right),
        }
        return joined[node.kind] if node.kind in joined else left / right

    def _check_size(self, node: Node) -> None:
        """Refuse constants that are too large, before SymPy works them out to the last digit."""
        value = self._size(node)
        if value is not None and not abs(value) < LARGEST:
            raise GSRError("the formula has a number that is out of range")

    def _size(self, node: Node) -> complex | None:
        """Return about what a constant is, NaN if it overflows, None if it has variables."""
        if node.kind == "number":
            return complex(float(node.text))
        if node.kind == "name":
            return None if node.text in self.variables else 1.5 + 0j
        parts = [self._size(part) for part in node.parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        try:
            return _operated(node, known)
        except (ArithmeticError, ValueError):
            return complex(math.nan)

    def _exponent(self, node: Node) -> Any:
        """Return an exponent; a multiple of one half is no constant to fit."""
        free = any(part.text in self.variables for part in node.walk() if part.kind == "name")
        value = self.build(node, free)
        if value.is_Float:
            return exact(value) or self.constant(float(value))
        return value

    def _number(self, text: str, free: bool) -> Any:
        import sympy

        value = float(text)
        if not (value == 0 or 1 / LARGEST < value < LARGEST):
            raise GSRError(f"the number {text} is out of range")
        if text.isdigit():
            return sympy.Integer(text)
        return self.constant(value) if free and value else sympy.Float(value)

    def by_name(self, name: str) -> Any:
        """Return the variable, or the constant, of a name."""
        import sympy

        if name in self.variables:
            return self.variables[name]
        if name == "pi":
            return sympy.pi
        if name not in self.letters:
            self._check_letter(name)
            self.letters[name] = self.constant(None, name)
        return self.letters[name]

    def constant(self, start: float | None, name: str = "c") -> Any:
        """Return a new constant."""
        import sympy

        symbol = sympy.Dummy(name, real=True)
        self.starts[symbol] = start
        return symbol

    def _check_letter(self, name: str) -> None:
        """Refuse functions, and warn of names that may be those of misspelt variables."""
        if name in self.functions:
            raise GSRError(f"the function {name} needs its argument in brackets: {name}(...)")
        near = nearest_name(name, self.variables)
        if near is None:
            return
        if self.strict:
            raise GSRError(f"{name!r} is no column; did you mean {near!r}?")
        warnings.warn(
            f"{name!r} in the formula is no column, so it is a constant to be fitted;"
            f" did you mean {near!r}?",
            stacklevel=2,
        )

    def _call(self, name: str, argument: Any) -> Any:
        import sympy

        if name in self.own:
            library = self.library if name in self.library else self.target_library
            return library.sympy(library.code(name), argument)
        if name in BASES_OF_LOGARITHMS:
            return sympy.log(argument) / sympy.log(BASES_OF_LOGARITHMS[name])
        if name in ALIASES:
            return getattr(sympy, ALIASES[name])(argument)
        if name == "inverse" and argument == 0:
            raise GSRError("the formula divides by 0")
        return apply_symbolic(BUILTINS[name].sympy, argument)


def nearest_name(name: str, variables: Iterable[str]) -> str | None:
    """Return the variable that a name may be meant to be, if there is one.

    Parameters
    ----------
    name : str
        A name that is no variable. One that ends with 0, as x0, is a usual name of a constant.
    variables : iterable of str
        The variables.
    """
    stem = name.rstrip("0123456789")
    if len(name) == 1 or name.endswith("0"):
        return None
    known = {each.lower(): each for each in variables}
    numbered = [v for v in known if v.rstrip("0123456789") == stem.lower() != v]
    cutoff = LIKE_SHORT if len(name) <= SHORT else LIKE
    near = get_close_matches(
        name.lower(), numbered or known, n=1, cutoff=0.0 if numbered else cutoff
    )
    return known[near[0]] if near and (not numbered or stem != name) else None


def _operated(node: Node, parts: Sequence[complex]) -> complex:
    first, last = parts[0], parts[-1]
    if node.kind == "call":
        growing = {"exp": cmath.exp, "sinh": cmath.sinh, "cosh": cmath.cosh}
        powers = {"square": 2, "cube": 3}
        if node.text == "exp_neg":
            return cmath.exp(-first)
        return growing.get(node.text, lambda t: t ** powers.get(node.text, 1))(first)
    if node.kind == "neg":
        return -first
    if node.kind == "^":
        return first**last if first else complex(first == last)
    if node.kind == "/":
        return first / last if last else 0j
    return {"+": first + last, "-": first - last, "*": first * last}[node.kind]


def exact(value: Any) -> Any:
    """Return a Float that is a multiple of one half as a Rational, else None."""
    import sympy

    twice = 2 * float(value)
    return sympy.Rational(int(twice), 2) if twice.is_integer() else None


def raised(base: Any, exponent: Any) -> Any:
    """Return a power, unless its numbers would be too large to write."""
    import sympy

    if base == 0 and not exponent.is_positive:
        raise GSRError("the formula divides by 0")
    if base.is_number and exponent.is_number and base != 0:
        size = complex(base), complex(exponent)
        if abs(size[1]) * abs(math.log(abs(size[0]) or 1.0)) > math.log(LARGEST):
            raise GSRError(f"the number {base}^{exponent} is out of range")
    return sympy.Pow(base, exponent)
