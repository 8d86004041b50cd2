"""Builds SymPy expressions from syntax trees, in steps whose numbers and powers stay small."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from gsr.exceptions import GSRError
from gsr.formula.parser import LARGEST, QUOTED, Grammar, Node, parse
from gsr.lazy import sympy

T = TypeVar("T")
#: Powers beyond this are no structure that can be encoded, and SymPy writes their numbers out.
MOST_POWER = 64
#: Whole numbers in a result that are larger do not fit into a double.
MOST_INTEGER = 10**300
#: Functions of formulas by their SymPy names.
ELEMENTARY = {
    **{name: name for name in ("log", "sqrt", "exp", "sin", "cos", "tan", "tanh", "sinh", "cosh")},
    **{name: name for name in ("asin", "acos", "atan", "atanh", "Abs", "cbrt")},
    "ln": "log",
    "abs": "Abs",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctanh": "atanh",
}
#: More functions of SymPy, for expressions that need no place in a library.
SPECIAL = (
    "asinh", "acosh", "acot", "acoth", "acsc", "acsch", "asec", "asech", "atan2", "cot", "coth",
    "csc", "csch", "sec", "sech", "sinc", "sign", "floor", "ceiling", "frac", "Mod", "Max", "Min",
    "Rational", "real_root", "root", "re", "im", "arg", "Heaviside", "LambertW", "erf", "erfc",
    "erfi", "erfinv", "gamma", "loggamma", "digamma", "factorial", "harmonic", "zeta", "li", "Ei",
    "Si", "Ci", "Shi", "Chi", "fresnelc", "fresnels", "airyai", "airybi", "besseli", "besselj",
    "besselk", "bessely", "elliptic_e", "elliptic_k", "Piecewise",
)  # fmt: skip
EVERY = {**{name: name for name in SPECIAL}, **ELEMENTARY}
#: Arguments that functions take, if not one.
ARGUMENTS: dict[str, Sequence[int]] = {
    **dict.fromkeys(["Max", "Min", "Piecewise"], range(1, 9)),
    **dict.fromkeys(["Mod", "Rational", "atan2", "real_root", "root"], (2,)),
    **dict.fromkeys(["besseli", "besselj", "besselk", "bessely"], (2,)),
    "log": (1, 2),
    "Heaviside": (1, 2),
}
#: SymPy writes out the values of these functions for whole numbers.
COUNTED = ("factorial", "gamma", "harmonic", "zeta")
#: The sizes of functions that grow beyond their argument.
GROWING: dict[str, Callable[[complex], complex]] = {
    "exp": cmath.exp,
    "sinh": cmath.sinh,
    "cosh": cmath.cosh,
    "exp_neg": lambda t: cmath.exp(-t),
    "square": lambda t: t**2,
    "cube": lambda t: t**3,
    **dict.fromkeys(COUNTED, lambda t: 10.0 ** abs(t)),
}
BASES_OF_LOGARITHMS = {"log10": 10, "log2": 2}
FAILURES = (
    ArithmeticError, AttributeError, NotImplementedError, RecursionError, TypeError, ValueError,
)  # fmt: skip


class LimitError(GSRError):
    """A part of a formula whose value is too large, or has none; the message lacks the part."""


def expression(text: str, symbols: Mapping[str, Any]) -> Any:
    """Return text as a SymPy expression."""
    builder = Builder(symbols)
    builder.text = text
    node = parse(text, Grammar(symbols, builder.functions))
    return guarded(lambda: builder.build(node), text)


def guarded(make: Callable[[], T], text: object) -> T:
    """Return what `make` does; what SymPy raises on expressions without sense is a GSRError."""
    try:
        return make()
    except GSRError:
        raise
    except FAILURES as error:
        raise GSRError(f"{str(text)!r} cannot be used: {type(error).__name__}: {error}") from error


class Builder:
    """Turns syntax trees into SymPy expressions."""

    def __init__(self, variables: Mapping[str, Any], functions: Mapping[str, str] = EVERY) -> None:
        self.variables = variables
        #: What positions of nodes refer to.
        self.text = ""
        self.sympy_names = functions
        self.functions = frozenset({*functions, *BASES_OF_LOGARITHMS})

    def build(self, node: Node, free: bool = False) -> Any:
        """Return a SymPy expression; numbers with a point may be constants to fit if `free`."""
        if node.kind == "number":
            return self.number(node.text, free)
        if node.kind == "name":
            return self.by_name(node.text)
        try:
            return self._operation(node, free)
        except LimitError as error:
            shown = self.text[slice(*node.span)]
            shown = shown if len(shown) <= QUOTED else f"{shown[:QUOTED]}..."
            raise GSRError(f"the part {shown!r} of the formula {error}") from None

    def _operation(self, node: Node, free: bool) -> Any:
        if node.kind in ("call", "^"):
            _check_size(node, self.variables)
        if node.kind == "^":
            return raised(self.build(node.parts[0], free), self.exponent(node.parts[1]))
        parts = [self.build(part, free) for part in node.parts]
        if node.kind == "case":
            value, *sides = parts
            return value, sympy.Rel(*sides, node.text) if sides else sympy.true
        if node.kind == "call":
            return _checked(self.called(node.text, parts))
        if node.kind == "neg":
            return -parts[0]
        left, right = parts
        if node.kind == "/":
            if right == 0:
                raise LimitError("divides by 0")
            return left / right
        if node.kind == "*":
            return sympy.Mul(left, right)
        return sympy.Add(left, right if node.kind == "+" else -right)

    def number(self, text: str, free: bool) -> Any:
        """Return a number: whole, or with a point."""
        return sympy.Integer(text) if text.isdigit() else sympy.Float(text)

    def by_name(self, name: str) -> Any:
        """Return the variable, or the constant, of a name."""
        if name in self.variables:
            return self.variables[name]
        if name in ("pi", "E"):
            return getattr(sympy, name)
        self.check_called(name)
        raise GSRError(f"{name!r} is not one of the variables {', '.join(self.variables)}")

    def check_called(self, name: str) -> None:
        """Refuse the name of a function without an argument."""
        if name in self.functions:
            raise GSRError(f"the function {name} needs its argument in brackets: {name}(...)")

    def exponent(self, node: Node) -> Any:
        """Return an exponent."""
        return self.build(node)

    def called(self, name: str, arguments: Sequence[Any]) -> Any:
        """Return a function of its arguments."""
        allowed = ARGUMENTS.get(name, (1,))
        if len(arguments) not in allowed:
            raise GSRError(
                f"the function {name} takes {allowed[0]} argument(s), not {len(arguments)}"
            )
        if name in BASES_OF_LOGARITHMS:
            return sympy.log(arguments[0]) / sympy.log(BASES_OF_LOGARITHMS[name])
        if name == "cbrt":  # of real numbers; that of SymPy is complex where t < 0
            return sympy.sign(*arguments) * sympy.Abs(*arguments) ** sympy.Rational(1, 3)
        if name == "exp":
            _check_exponent(1.0, arguments[0])
        return getattr(sympy, self.sympy_names[name])(*arguments)


def raised(base: Any, exponent: Any) -> Any:
    """Return a power, unless its numbers would be too large to write."""
    if base == 0 and not exponent.is_positive:
        raise LimitError("divides by 0")
    if base.is_number and base != 0:
        size = abs(math.log(abs(complex(base)) or 1.0))
        if exponent.is_number and abs(complex(exponent)) * size > math.log(LARGEST):
            raise LimitError("is a number out of range")
        _check_exponent(size, exponent)
    elif exponent.is_number:
        for factor in sympy.Mul.make_args(base):
            _check_power(factor.as_base_exp()[1] * exponent)
    return _checked(sympy.Pow(base, exponent))


def _check_exponent(log_of_base: float, exponent: Any) -> None:
    """Refuse exp(n ln(t)), which SymPy takes for t^n, for large n."""
    for term in sympy.Add.make_args(exponent):
        factors = sympy.Mul.make_args(term)
        numbers = [factor for factor in factors if factor.is_number]
        if len(factors) - len(numbers) == 1 and term.has(sympy.log):
            _check_power(sympy.Float(log_of_base) * sympy.Mul(*numbers).evalf())


def _check_power(exponent: Any) -> None:
    if exponent.is_number and not abs(complex(exponent)) <= MOST_POWER:
        raise LimitError(f"has a power above {MOST_POWER}")


def _checked(value: Any) -> Any:
    """Return a product in which no number and no power is too large to go on with."""
    for factor in sympy.Mul.make_args(value):
        base, power = factor.as_base_exp()
        if factor.is_Rational and max(abs(factor.p), factor.q) > MOST_INTEGER:
            raise LimitError("has a number that is out of range")
        if power.is_Rational and not base.is_number:
            _check_power(power)
    return value


def _check_size(node: Node, variables: Mapping[str, Any]) -> None:
    """Refuse constants that are too large, before SymPy works them out to the last digit."""
    value = _size(node, variables)
    if value is not None and not math.hypot(value.real, value.imag) < LARGEST:
        raise LimitError("has a number that is out of range")


def _size(node: Node, variables: Mapping[str, Any]) -> complex | None:
    """Return about what a constant is, NaN if it overflows, None if it has variables."""
    if node.kind == "number":
        return complex(float(node.text))
    if node.kind == "name":
        return None if node.text in variables else 1.5 + 0j
    parts = [_size(part, variables) for part in node.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    try:
        return _operated(node, known)
    except (ArithmeticError, ValueError):
        return complex(math.nan)


def _operated(node: Node, parts: Sequence[complex]) -> complex:
    first, last = parts[0], parts[-1]
    if node.kind == "call":
        return GROWING[node.text](first) if node.text in GROWING else first
    if node.kind == "case":
        return first
    if node.kind == "neg":
        return -first
    if node.kind == "^":
        return first**last if first else complex(first == last)
    if node.kind == "/":
        return first / last if last else 0j
    return {"+": first + last, "-": first - last, "*": first * last}[node.kind]
