"""Formulas as text: read into a syntax tree, and from there into SymPy; no Python is evaluated.

Every size has a limit, and expressions are built in steps whose numbers and powers stay small.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from gsr.exceptions import GSRError
from gsr.lazy import sympy

T = TypeVar("T")

#: Limits: characters, tokens, nested brackets and signs, and characters of a number.
LONGEST = 5000
MOST_TOKENS = 300
DEEPEST = 40
MOST_DIGITS = 25
#: Numbers beyond this, or below its reciprocal, are mistakes.
LARGEST = 1e100
#: Characters of a long formula that a message quotes.
QUOTED = 120
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|`(?P<quoted>[^`]*)`"
    r"|(?P<name>[^\W\d]\w*'*)|(?P<sign>\*\*|==|<=|>=|[-+*/^()=|,·⋅×−<>]))"
)
RELATIONS = ("<", "<=", ">", ">=")
SAME_AS = {"**": "^", "·": "*", "⋅": "*", "×": "*", "−": "-", "==": "="}


@dataclass(frozen=True)
class Node:
    """A number, a name, a call, or an operation on nodes."""

    #: ``"number"``, ``"name"``, ``"call"``, ``"case"``, ``"neg"``, or one of ``+ - * / ^``.
    kind: str
    #: The number, the name, the function that is called, or the relation of a case.
    text: str = ""
    parts: tuple[Node, ...] = ()
    #: First and last position in the formula.
    span: tuple[int, int] = (0, 0)

    def walk(self) -> Iterator[Node]:
        """Yield the node and all its descendants."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def names(self) -> set[str]:
        """Return the variables and constants in the node, without functions."""
        return {node.text for node in self.walk() if node.kind == "name"}


@dataclass(frozen=True)
class Token:
    """A piece of text and its position."""

    kind: str
    text: str
    start: int
    end: int


@dataclass
class Grammar:
    """What the names in a text mean."""

    known: Collection[str] = ()
    functions: Collection[str] = ()
    what: str = "formula"
    token: re.Pattern[str] = field(default=TOKEN, repr=False)


def sides(text: str, grammar: Grammar) -> list[Node]:
    """Return the one or two sides of a formula."""
    if len(text) > LONGEST:
        raise GSRError(
            f"a {grammar.what} has at most {LONGEST} characters, got {len(text)}: {text[:40]!r}..."
        )
    return Parser(text, grammar).sides()


def parse(text: str, grammar: Grammar) -> Node:
    """Return the tree of a text without an equals sign."""
    found = sides(text, grammar)
    if len(found) > 1:
        raise GSRError(f"{text!r} must be an expression, without '='")
    return found[0]


class Parser:
    """Recursive descent; a space is a product."""

    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text, self.grammar = text, grammar
        self.at, self.depth, self.bars = 0, 0, 0
        self.tokens = list(self._tokens())
        if len(self.tokens) > MOST_TOKENS:
            raise GSRError(
                f"a {grammar.what} has at most {MOST_TOKENS} numbers, names and signs,"
                f" got {len(self.tokens)}"
            )

    def _tokens(self) -> Iterator[Token]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            match = self.grammar.token.match(self.text, at)
            if match is None:
                at += len(self.text[at:]) - len(self.text[at:].lstrip())
                raise self._bad(f"{self.text[at]!r} has no meaning there", at)
            kind = str(match.lastgroup)
            shown = SAME_AS.get(match[kind], match[kind])
            token = Token(kind, shown, match.start(kind), match.end())
            if kind == "number":
                self._check_number(token)
            yield token
            at = match.end()

    def _check_number(self, token: Token) -> None:
        if len(token.text) > MOST_DIGITS:
            raise self._bad(f"the number {token.text[:MOST_DIGITS]}... is too long", token.start)
        if not (float(token.text) == 0.0 or 1 / LARGEST < float(token.text) < LARGEST):
            raise self._bad(f"the number {token.text} is out of range", token.start)

    # ---- sums and products -------------------------------------------------------------------

    def sides(self) -> list[Node]:
        """Return left and right side, or the only one."""
        found = [self._sum()]
        if self._peek() == "=":
            self.at += 1
            found.append(self._sum())
        if self.at < len(self.tokens):
            raise self._no_meaning(self.tokens[self.at])
        return found

    def _sum(self) -> Node:
        found = self._product()
        while self._peek() in ("+", "-"):
            sign = self._next().text
            found = _joined(sign, found, self._product())
        return found

    def _product(self) -> Node:
        found, divided = self._signed(), False
        while self.at < len(self.tokens):
            sign = self._peek()
            if sign in ("*", "/"):
                self.at += 1
                factor = self._signed()
                divided = sign == "/" and factor.kind != "number"
                found = _joined(sign, found, factor)
            elif self._starts_factor():
                if divided:
                    shown = self.text[found.span[0] : self.tokens[self.at].end]
                    raise self._bad(
                        f"{shown!r} could be meant either way; put the divisor in brackets",
                        found.span[0],
                    )
                found = _joined("*", found, self._power())
            else:
                break
        return found

    def _starts_factor(self) -> bool:
        token = self.tokens[self.at]
        bar = token.text == "|" and self.bars == 0
        return token.kind in ("number", "name", "quoted") or token.text == "(" or bar

    def _signed(self) -> Node:
        if self._peek() not in ("-", "+"):
            return self._power()
        sign = self._next()
        self._deeper(sign)
        inner = self._signed()
        self.depth -= 1
        return Node("neg", "", (inner,), (sign.start, inner.span[1])) if sign.text == "-" else inner

    def _power(self) -> Node:
        base = self._atom()
        if self.at < len(self.tokens) and self.tokens[self.at].kind == "raised":
            return _joined("^", base, _superscript(self._next()))
        if self._peek() != "^":
            return base
        self._deeper(self._next())
        exponent = self._signed()
        self.depth -= 1
        return _joined("^", base, exponent)

    # ---- atoms -------------------------------------------------------------------------------

    def _atom(self) -> Node:
        token = self._next()
        span = (token.start, token.end)
        if token.kind == "number":
            return Node("number", token.text, (), span)
        if token.kind == "quoted":
            if token.text not in self.grammar.known:
                there = ", ".join(sorted(self.grammar.known))
                raise self._bad(
                    f"`{token.text}` is no feature and not the target; there are {there}",
                    token.start,
                )
            return Node("name", token.text, (), (token.start - 1, token.end))
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            return replace(self._inside(token), span=(token.start, self.tokens[self.at - 1].end))
        if token.text == "|" and self.bars == 0:
            return self._barred(token)
        raise self._no_meaning(token)

    def _named(self, token: Token) -> Node:
        following = self.tokens[self.at] if self.at < len(self.tokens) else None
        opening = "" if following is None else following.text
        if token.text in self.grammar.functions and opening == "(":
            return self._cases(token) if token.text == "Piecewise" else self._call(token)
        if token.text == "ln" and opening == "|" and not self.bars:
            inside = self._barred(self._next())
            return Node("call", "ln", (inside,), (token.start, inside.span[1]))
        touches = following is not None and following.start == token.end
        if token.text not in self.grammar.known and opening == "(" and touches:
            raise self._bad(
                f"{token.text!r} is no function that can be used; for a product write"
                f" {token.text}*(...)",
                token.start,
            )
        return Node("name", token.text, (), (token.start, token.end))

    def _call(self, token: Token) -> Node:
        parts = [self._inside(self._next(), ends=(")", ","))]
        while self.tokens[self.at - 1].text == ",":
            parts.append(self._inside(self.tokens[self.at - 1], ends=(")", ",")))
        return Node("call", token.text, tuple(parts), (token.start, self.tokens[self.at - 1].end))

    def _cases(self, token: Token) -> Node:
        """Return a function that is given by cases: Piecewise((value, condition), ...)."""
        cases: list[Node] = []
        while not cases or self._peek() == ",":
            self._next()
            cases.append(self._case())
        self._close((")",))
        return Node("call", token.text, tuple(cases), (token.start, self.tokens[self.at - 1].end))

    def _case(self) -> Node:
        opening = self._next()
        if opening.text != "(":
            raise self._no_meaning(opening)
        parts = [self._inside(opening, ends=(",",))]
        relation = "True"
        if self.at < len(self.tokens) and self.tokens[self.at].text == relation:
            self.at += 1
            self._close((")",))
        else:
            parts.append(self._sum())
            sign = self._next()
            if sign.text not in RELATIONS:
                raise self._no_meaning(sign)
            relation = sign.text
            parts.append(self._inside(sign))
        return Node("case", relation, tuple(parts), (opening.start, self.tokens[self.at - 1].end))

    def _inside(self, opening: Token, ends: tuple[str, ...] = (")",)) -> Node:
        self._deeper(opening)
        bars, self.bars = self.bars, 0
        inner = self._sum()
        self.bars = bars
        self.depth -= 1
        self._close(ends)
        return inner

    def _barred(self, opening: Token) -> Node:
        self.bars += 1
        inner = self._sum()
        self.bars -= 1
        self._close(("|",))
        return Node("call", "abs", (inner,), (opening.start, self.tokens[self.at - 1].end))

    def _close(self, ends: tuple[str, ...]) -> None:
        if self._peek() not in ends:
            raise self._bad(f"a {ends[0]} is missing", self._position())
        self.at += 1

    # ---- tokens ------------------------------------------------------------------------------

    def _deeper(self, token: Token) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._bad(f"it is nested more than {DEEPEST} deep", token.start)

    def _peek(self) -> str:
        if self.at >= len(self.tokens) or self.tokens[self.at].kind != "sign":
            return ""
        return self.tokens[self.at].text

    def _next(self) -> Token:
        if self.at >= len(self.tokens):
            raise self._bad("it ends too early", self._position())
        self.at += 1
        return self.tokens[self.at - 1]

    def _position(self) -> int:
        return self.tokens[self.at].start if self.at < len(self.tokens) else len(self.text)

    def _no_meaning(self, token: Token) -> GSRError:
        return self._bad(f"{token.text!r} has no meaning there", token.start)

    def _bad(self, why: str, at: int) -> GSRError:
        first = max(0, min(at - QUOTED // 2, len(self.text) - QUOTED))
        shown = "..." * (first > 0) + self.text[first : first + QUOTED]
        shown += "..." * (first + QUOTED < len(self.text))
        return GSRError(
            f"the {self.grammar.what} {shown!r} cannot be read at column {at + 1}: {why}"
        )


def _joined(kind: str, left: Node, right: Node) -> Node:
    return Node(kind, "", (left, right), (left.span[0], right.span[1]))


SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")


def _superscript(token: Token) -> Node:
    """Return the exponent that superscript digits are."""
    text, span = token.text.translate(SUPERSCRIPTS), (token.start, token.end)
    number = Node("number", text.lstrip("+-"), (), span)
    return Node("neg", "", (number,), span) if text.startswith("-") else number


# ---- SymPy expressions ---------------------------------------------------------------------------

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
