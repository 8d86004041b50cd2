"""Dimensions, and the text of units that they are read from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from numbers import Rational, Real
from typing import Any

import numpy as np

from gsr.exceptions import GSRError
from gsr.prior.unit_names import BASES, LONG, LONG_PREFIXES, PLAIN, PREFIXED, PREFIXES

#: Exponents beyond this are taken for a mistake.
MOST = 100
LONGEST = 1000
DEEPEST = 20
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    r"|(?P<own>\[[^\[\]]*\])|(?P<name>°[CF]?|[%‰]|[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹][^\W⁰¹²³⁴⁵⁶⁷⁸⁹]*)|(?P<sign>\*\*|[-+*/^()·⋅×]))"
)


class Dimension(Mapping[str, Fraction]):
    """Exponents of base dimensions, such as kg m s^-2; immutable.

    Parameters
    ----------
    exponents : mapping of str to number
        Base names (kg, m, s, A, K, mol, cd, or one's own in brackets) and their exponents.

    Examples
    --------
    >>> parse("N") / parse("kg") == parse("m/s^2")
    True
    """

    __slots__ = ("_exponents",)

    def __init__(self, exponents: Mapping[str, Any] | None = None) -> None:
        found = {base: Fraction(n) for base, n in (exponents or {}).items() if n}
        self._exponents = dict(sorted(found.items(), key=lambda item: place(item[0])))

    def __getitem__(self, base: str) -> Fraction:
        return self._exponents[base]

    def __iter__(self) -> Iterator[str]:
        return iter(self._exponents)

    def __len__(self) -> int:
        return len(self._exponents)

    def __hash__(self) -> int:
        return hash(tuple(self._exponents.items()))

    def __mul__(self, other: Dimension) -> Dimension:
        bases = {**self, **other}
        return Dimension({b: self.get(b, 0) + other.get(b, 0) for b in bases})

    def __truediv__(self, other: Dimension) -> Dimension:
        return self * other**-1

    def __pow__(self, power: Any) -> Dimension:
        return Dimension({base: n * Fraction(power) for base, n in self.items()})

    def __str__(self) -> str:
        return " ".join(_raised(base, n) for base, n in self.items()) or "1"

    def __repr__(self) -> str:
        return f"Dimension({str(self)!r})"


NONE = Dimension()


def place(base: str) -> tuple[int, str]:
    """Return what base units are sorted by."""
    return (BASES.index(base) if base in BASES else len(BASES), base)


def _raised(base: str, n: Fraction) -> str:
    if n == 1:
        return base
    return f"{base}^{n}" if n.denominator == 1 else f"{base}^({n})"


# ---- reading ---------------------------------------------------------------------------------


def parse(unit: str | Mapping[str, Any] | Dimension) -> Dimension:
    """Return the dimension of a unit.

    Parameters
    ----------
    unit : str, mapping or Dimension
        Text such as ``"kg*m/s^2"``, ``"m s^-2"``, ``"J/(mol K)"``, ``"km/h"``, ``"m**0.5"``;
        ``""``, ``"1"``, ``"%"`` and ``"deg"`` have no dimension. A name in brackets, ``"[apple]"``,
        is a base unit of one's own. A mapping gives exponents: ``{"kg": 1, "m": -2}``.

    Returns
    -------
    Dimension
        Without factors: ``parse("km") == parse("m")``.

    Raises
    ------
    GSRError
        Names what cannot be read, and suggests the nearest unit.
    """
    if isinstance(unit, Dimension):
        return unit
    if isinstance(unit, Mapping):
        found = NONE
        for name, power in unit.items():
            found = found * parse(name) ** _number(power, unit)
    elif isinstance(unit, str):
        found = _read(unit)
    else:
        raise GSRError(f"a unit is text such as 'kg m/s^2' or a mapping, got {unit!r}")
    large = [base for base, n in found.items() if abs(n) > MOST]
    if large:
        raise GSRError(f"the unit {unit!r} has an exponent above {MOST}, of {large[0]}")
    return found


@lru_cache(maxsize=1024)
def _read(text: str) -> Dimension:
    if len(text) > LONGEST:
        raise GSRError(f"a unit has at most {LONGEST} characters, got {len(text)}")
    if text.strip() == "?":
        raise GSRError("a unit of '?' is not supported: every variable needs a unit")
    return _Parser(text).whole()


def _number(value: Any, unit: object) -> Fraction:
    if isinstance(value, (Rational, str)) and not isinstance(value, bool):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            pass
    elif isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value)):
        return Fraction(float(value)).limit_denominator(1000)
    raise GSRError(f"the exponents of a unit are numbers, got {value!r} in {unit!r}")


class _Parser:
    """Reads a unit from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.tokens = list(self._tokens())

    def _tokens(self) -> Iterator[tuple[str, str]]:
        at = 0
        while self.text[at:].strip():
            match = TOKEN.match(self.text, at)
            if match is None:
                raise self._bad(f"{self.text[at:].strip()[0]!r} has no meaning there")
            yield str(match.lastgroup), match[str(match.lastgroup)]
            at = match.end()

    def whole(self) -> Dimension:
        found = self._product() if self.tokens else NONE
        if self.at < len(self.tokens):
            raise self._bad(f"{self.tokens[self.at][1]!r} has no meaning there")
        return found

    def _product(self) -> Dimension:
        found, divided = self._factor(), False
        while self.at < len(self.tokens):
            kind, token = self.tokens[self.at]
            if token in ("*", "·", "⋅", "×", "/"):
                self.at += 1
                factor = self._factor()
                divided = token == "/"
                found = found / factor if divided else found * factor
            elif kind in ("name", "own", "number") or token == "(":
                if divided:
                    raise self._bad("what follows the / could be meant either way; use brackets")
                found = found * self._factor()
            else:
                break
        return found

    def _factor(self) -> Dimension:
        kind, token = self._next()
        if kind == "name":
            base = _named(token, self.text)
        elif kind == "own":
            base = _own(token, self.text)
        elif kind == "number":
            base = NONE
        elif token == "(" and self.depth < DEEPEST:
            self.depth += 1
            base = self._product()
            self._close()
            self.depth -= 1
        else:
            raise self._bad(f"{token!r} has no meaning there")
        return base ** self._exponent()

    def _exponent(self) -> Fraction:
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind == "raised":
            self.at += 1
            return Fraction(token.translate(SUPERSCRIPTS))
        if token not in ("^", "**"):
            return Fraction(1)
        self.at += 1
        if self._peek() != "(":
            return self._signed()
        self.at += 1
        value = self._signed()
        if self._peek() == "/":
            self.at += 1
            below = self._signed()
            if below == 0:
                raise self._bad("an exponent is divided by 0")
            value /= below
        self._close()
        return value

    def _signed(self) -> Fraction:
        kind, token = self._next()
        sign = 1
        if token in ("-", "+"):
            sign = -1 if token == "-" else 1
            kind, token = self._next()
        if kind != "number" or len(token) > 8 or "e" in token.lower():
            raise self._bad(f"an exponent must be a short number, not {token!r}")
        return sign * Fraction(token)

    def _peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _next(self) -> tuple[str, str]:
        if self.at >= len(self.tokens):
            raise self._bad("it ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def _close(self) -> None:
        if self._peek() != ")":
            raise self._bad("a bracket is not closed")
        self.at += 1

    def _bad(self, what: str) -> GSRError:
        return GSRError(f"the unit {self.text!r} cannot be read: {what}")


def _own(token: str, text: str) -> Dimension:
    name = token[1:-1].strip()
    if not name:
        raise GSRError(f"the unit {text!r} has brackets without a name")
    return Dimension({f"[{name}]": 1})


@lru_cache(maxsize=1024)
def _known(name: str) -> Dimension | None:
    """Return the dimension of a name: as it is, with a prefix, or a long name in the plural."""
    if name in BASES:
        return Dimension({name: 1})
    for table in (PREFIXED, PLAIN, LONG):
        if name in table:
            return _read(table[name])
    for prefixes, table in ((PREFIXES, PREFIXED), (LONG_PREFIXES, LONG)):
        for prefix in prefixes:
            rest = name.removeprefix(prefix)
            if rest != name and rest in table:
                return _known(rest)
    singular = name.removesuffix("s")
    return _known(singular) if singular != name and len(singular) > 2 else None


def _named(name: str, text: str) -> Dimension:
    found = _known(name)
    if found is None:
        raise GSRError(f"{name!r} in the unit {text!r} is not known; {_hint(name)}")
    return found


def _hint(name: str) -> str:
    letters = name.rstrip("0123456789")
    if letters != name and _known(letters) is not None:
        return f"did you mean {letters}^{name[len(letters) :]}?"
    known = [*PREFIXED, *PLAIN, *LONG, "kg", "km", "cm", "mm", "ms", "kHz", "MHz", "kPa", "kJ"]
    near = [each for each in known if each.lower() == name.lower()]
    near = near or get_close_matches(name, known, n=3, cutoff=0.6)
    meant = f"did you mean {' or '.join(map(repr, near))}? A" if near else "a"
    return f"{meant} unit of your own is written [{name}]"
