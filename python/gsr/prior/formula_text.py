"""Reads a formula that a user writes into a small tree; nothing is evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gsr.exceptions import GSRError

LONGEST = 5000
MOST_TOKENS = 300
DEEPEST = 40
#: Digits of a number.
MOST_DIGITS = 25
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|`(?P<quoted>[^`]*)`"
    r"|(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|==|[-+*/^()=|·⋅×−]))"
)
SAME_AS = {"**": "^", "·": "*", "⋅": "*", "×": "*", "−": "-", "==": "="}


@dataclass(frozen=True)
class Node:
    """A number, a name, a call, or an operation on nodes.

    Parameters
    ----------
    kind : str
        ``"number"``, ``"name"``, ``"call"``, ``"neg"``, or one of ``+ - * / ^``.
    text : str
        The number, the name, or the function that is called.
    parts : tuple of Node
        What it is made of.
    span : tuple of two int
        Where it stands in the formula.
    """

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()
    span: tuple[int, int] = (0, 0)

    def walk(self) -> Iterator[Node]:
        """Yield the node and all in it."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True)
class Token:
    """A piece of text, with where it stands."""

    kind: str
    text: str
    start: int
    end: int


def sides(text: str, known: frozenset[str], functions: frozenset[str]) -> list[Node]:
    """Return the one or two sides of a formula.

    Parameters
    ----------
    text : str
        The formula.
    known : frozenset of str
        Names of features and target, which are no functions.
    functions : frozenset of str
        Names that may stand before a bracket.

    Returns
    -------
    list of Node
    """
    if len(text) > LONGEST:
        raise GSRError(f"a formula has at most {LONGEST} characters, got {len(text)}")
    return Parser(text, known, functions).sides()


class Parser:
    """Recursive descent, with a space as a product.

    Parameters
    ----------
    text, known, functions
        As for `sides`.
    """

    def __init__(self, text: str, known: frozenset[str], functions: frozenset[str]) -> None:
        self.text, self.known, self.functions = text, known, functions
        self.at, self.depth, self.bars = 0, 0, 0
        self.tokens = list(self._tokens())
        if len(self.tokens) > MOST_TOKENS:
            raise GSRError(
                f"a formula has at most {MOST_TOKENS} numbers, names and signs,"
                f" got {len(self.tokens)}"
            )

    def _tokens(self) -> Iterator[Token]:
        at = 0
        while self.text[at:].strip():
            match = TOKEN.match(self.text, at)
            if match is None:
                raise self._bad(f"{self.text[at:].strip()[0]!r} has no meaning there")
            kind = str(match.lastgroup)
            shown = SAME_AS.get(match[kind], match[kind])
            if kind == "number" and len(shown) > MOST_DIGITS:
                raise self._bad(f"the number {shown[:MOST_DIGITS]}... is too long")
            yield Token(kind, shown, match.end() - len(match[0].lstrip()), match.end())
            at = match.end()

    def sides(self) -> list[Node]:
        """Return left and right side, or the only one."""
        found = [self._sum()]
        if self._peek() == "=":
            self.at += 1
            found.append(self._sum())
        if self.at < len(self.tokens):
            raise self._bad(f"{self.tokens[self.at].text!r} has no meaning there")
        return found

    def _sum(self) -> Node:
        found = self._product()
        while self._peek() in ("+", "-"):
            sign = self._next().text
            found = self._joined(sign, found, self._product())
        return found

    def _product(self) -> Node:
        found, divided = self._signed(), False
        while self.at < len(self.tokens):
            sign = self._peek()
            if sign in ("*", "/"):
                self.at += 1
                factor = self._signed()
                divided = sign == "/" and factor.kind != "number"
                found = self._joined(sign, found, factor)
            elif self._starts_factor():
                if divided:
                    raise self._bad(
                        f"{self.text[found.span[0] : self.tokens[self.at].end]!r} could be meant"
                        f" either way; put the divisor in brackets"
                    )
                found = self._joined("*", found, self._power())
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
        self._deeper()
        inner = self._signed()
        self.depth -= 1
        return Node("neg", "", (inner,), (sign.start, inner.span[1])) if sign.text == "-" else inner

    def _power(self) -> Node:
        base = self._atom()
        if self._peek() != "^":
            return base
        self.at += 1
        self._deeper()
        exponent = self._signed()
        self.depth -= 1
        return self._joined("^", base, exponent)

    def _atom(self) -> Node:
        token = self._next()
        span = (token.start, token.end)
        if token.kind == "number":
            return Node("number", token.text, (), span)
        if token.kind == "quoted":
            if token.text not in self.known:
                there = ", ".join(sorted(self.known))
                raise self._bad(
                    f"`{token.text}` is no feature and not the target; there are {there}"
                )
            return Node("name", token.text, (), span)
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            return self._inside(")", token.start)
        if token.text == "|" and self.bars == 0:
            inner = self._barred(token.start)
            return Node("call", "abs", (inner,), inner.span)
        raise self._bad(f"{token.text!r} has no meaning there")

    def _named(self, token: Token) -> Node:
        following = self.tokens[self.at] if self.at < len(self.tokens) else None
        called = following is not None and following.start == token.end
        if token.text in self.functions and following is not None and following.text == "(":
            self.at += 1
            inner = self._inside(")", token.start)
            return Node("call", token.text, (inner,), inner.span)
        if token.text == "ln" and following is not None and following.text == "|" and not self.bars:
            self.at += 1
            inner = self._barred(token.start)
            return Node("call", "ln", (inner,), inner.span)
        if token.text not in self.known and called and following and following.text == "(":
            raise self._bad(
                f"{token.text!r} is no function that can be used; for a product write"
                f" {token.text}*(...)"
            )
        return Node("name", token.text, (), (token.start, token.end))

    def _inside(self, end: str, start: int) -> Node:
        self._deeper()
        bars, self.bars = self.bars, 0
        inner = self._sum()
        self.bars = bars
        self.depth -= 1
        return self._closed(end, inner, start)

    def _barred(self, start: int) -> Node:
        self.bars += 1
        inner = self._sum()
        self.bars -= 1
        return self._closed("|", inner, start)

    def _closed(self, end: str, inner: Node, start: int) -> Node:
        if self._peek() != end:
            raise self._bad(f"a {end} is missing")
        last = self._next()
        return Node(inner.kind, inner.text, inner.parts, (start, last.end))

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._bad(f"it is nested more than {DEEPEST} deep")

    def _joined(self, kind: str, left: Node, right: Node) -> Node:
        return Node(kind, "", (left, right), (left.span[0], right.span[1]))

    def _peek(self) -> str:
        if self.at >= len(self.tokens) or self.tokens[self.at].kind != "sign":
            return ""
        return self.tokens[self.at].text

    def _next(self) -> Token:
        if self.at >= len(self.tokens):
            raise self._bad("it ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def _bad(self, what: str) -> GSRError:
        return GSRError(f"the formula {self.text!r} cannot be read: {what}")
