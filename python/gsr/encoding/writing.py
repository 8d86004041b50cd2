"""Formulas as readable text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import starmap
from typing import TypeVar

from gsr.encoding.fold import Algebra, fold
from gsr.encoding.rows import ONE, Argument, Matrix, Part, Row, applies, factors, name_of
from gsr.library import Library
from gsr.transformation import BUILTINS, EXPONENTIALS, POWERS

QUOTED = re.compile(r"`[^`]*`")
BARRED = re.compile(r"\w+\|[^|]*\|")
ROOT = re.compile(r"sqrt\((.*)\)")
SIZE = re.compile(r"\|[^|]*\|")
DIGITS = 6
TOKEN = re.compile(
    r"`(?P<quoted>[^`]*)`|(?P<call>[^\W\d]\w*(?=\()|ln(?=\|))|(?P<name>[^\W\d]\w*)"
    r"|(?P<number>\d+\.?\d*)(?:e(?P<ten>-?\d+))?|\^(?P<power>\([^()]*\)|[\d.]+)|(?P<other>.)"
)
T = TypeVar("T")
#: Text, exponent, and whether it is the call of a function.
Power = tuple[str, float, bool]


def text(
    matrix: Matrix,
    library: Library,
    names: Sequence[str] | None = None,
    *,
    absolute: bool | Collection[int] = False,
    coefficient: str = "",
) -> str:
    """Return a basis function as text, such as ``x2 cos(x1^2 x2) ln(x1 + x3)``.

    Arguments are as for `gsr.encoding.decode`, and a number to write in front. Names that could be
    misread are put between backticks.
    """
    writer = Writer(library, lambda v: str(name_of(matrix, names, v)), absolute)
    return writer.basis_function(factors(matrix, library), coefficient)


@dataclass(frozen=True)
class Written:
    """A part of a formula as text: as a product, given the exponent, and as a sum if it is one."""

    powers: Callable[[int], list[Power]]
    #: Without brackets.
    sum: str | None = None
    #: A variable or 1.
    is_name: bool = False
    #: Needs no brackets after a minus.
    is_term: bool = True

    @property
    def text(self) -> str:
        """The text of the part alone."""
        return _joined(self.powers(1)) if self.sum is None else self.sum


class Writer(Algebra[Written]):
    """Writes rows: ln has bars in the rows `absolute`, and exp(p ln(u)) is written u^p."""

    def __init__(
        self, library: Library, name: Callable[[int], str], absolute: bool | Collection[int]
    ) -> None:
        self.library, self.name, self.absolute = library, name, absolute

    def basis_function(self, rows: Sequence[Row], coefficient: str = "") -> str:
        """Return a product of rows, with a number in front."""
        return _joined((p for row in rows for p in fold(row, self).powers(1)), coefficient)

    def operand(self, base: int | Row) -> str:
        """Return an operand of a sum or a product."""
        return _joined(fold(base, self).powers(1))

    def variable(self, v: int) -> Written:
        shown = shown_name(self.name(v))
        return Written(lambda n: [(shown, n, False)], is_name=True)

    def one(self) -> Written:
        return Written(lambda n: [], sum="1", is_name=True)

    def total(self, argument: Argument, parts: Sequence[Written]) -> Written:
        if argument.lone is not None:
            return parts[0]
        shown = dict(zip((base for base, _ in argument.parts), parts, strict=True))
        terms = [
            (times, partial(_joined, shown[base].powers(1)))
            for base, times in _ordered(argument.parts)
        ]
        joined = weighted_sum(terms)
        is_term = len(argument.parts) == 1 and argument.parts[0].times > 0
        return Written(lambda n: [(f"({joined})", n, False)], joined, is_term=is_term)

    def product(self, argument: Argument, parts: Sequence[Written]) -> Written:
        if argument.lone is not None:
            return parts[0]
        pairs = [(part, int(times)) for part, (_, times) in zip(parts, argument.parts, strict=True)]
        return Written(lambda n: [p for part, times in pairs for p in part.powers(n * times)])

    def call(self, row: Row, argument: Written) -> Written:
        sign, traits = -1 if row.reciprocal else 1, self.library.traits[row.code]
        power = POWERS.get(self.library.names[row.code])
        if power is not None and power.denominator == 1:
            if power == sign == 1:
                return argument
            return Written(lambda n: argument.powers(n * sign * int(power)))
        raised, rest = self._split_exponential(row, traits.exponent)
        if raised:
            inside = fold(rest, self) if rest.parts else None
            return Written(
                lambda n: [
                    *((base, n * sign * p, is_call) for base, p, is_call in raised),
                    *(self._call(row, inside, n * sign) if inside else ()),
                ]
            )
        return Written(lambda n: self._call(row, argument, n * sign))

    def _split_exponential(self, row: Row, rate: float) -> tuple[list[Power], Argument]:
        """Return u and p for the parts p ln(u) of an exponential, which is u^p, and the rest."""
        if not rate or row.argument.is_product:
            return [], row.argument
        logarithms = {
            base: rate * times
            for base, times in row.argument.parts
            if isinstance(base, Row) and self._is_real_logarithm(base, times)
        }
        rest = tuple(part for part in row.argument.parts if part.base not in logarithms)
        raised = [
            (self._raised(base), p, isinstance(base.argument.lone, Row))
            for base, p in logarithms.items()
        ]
        return raised, Argument(False, rest)

    def _is_real_logarithm(self, base: Row, times: float) -> bool:
        is_real = isinstance(times, float) and times != 1.0
        return is_real and not base.reciprocal and self.library.traits[base.code].of_magnitude

    def _raised(self, logarithm: Row) -> str:
        """Return the u of ln(u) or ln|u|, to be raised to a power."""
        inside = fold(logarithm.argument, self)
        if not applies(self.absolute, logarithm.number):
            return inside.text if inside.sum is None else f"({inside.sum})"
        return f"abs({inside.text})" if "|" in inside.text else f"|{inside.text}|"

    def _call(self, row: Row, argument: Written, exponent: int) -> list[Power]:
        """Return a power of a call; below the line exp is written with the other sign."""
        traits = self.library.traits[row.code]
        opposite = EXPONENTIALS.get(-traits.exponent) if exponent < 0 else None
        template = str(BUILTINS[opposite].text if opposite else self.library.table[row.code].text)
        if traits.of_magnitude and applies(self.absolute, row.number):
            template = template.replace("({})", "|{}|")
        return [(_filled(template, argument), abs(exponent) if opposite else exponent, True)]


def _filled(template: str, argument: Written) -> str:
    """Fill a template, with brackets around the argument only where it needs them."""
    for outside, bracketed in (
        ("({})", False),
        ("|{}|", False),
        ("(-{})", not argument.is_term),
        ("{}", not argument.is_name),
    ):
        if outside in template:
            return template.replace("{}", f"({argument.text})" if bracketed else argument.text)
    return template


def _ordered(parts: Sequence[Part]) -> list[Part]:
    """Return the terms of a sum with 1 first and -1 last, and a positive one first if any is."""
    ones = [part for part in parts if part.base == ONE]
    others = [part for part in parts if part.base != ONE]
    listed = [p for p in ones if p.times > 0] + others + [p for p in ones if p.times < 0]
    return positive_first(listed, [part.times for part in listed])


def positive_first(terms: Sequence[T], coefficients: Sequence[float]) -> list[T]:
    """Return terms with the first of those that have a positive coefficient in front."""
    first = next((k for k, value in enumerate(coefficients) if value > 0), 0)
    return [*terms[first : first + 1], *terms[:first], *terms[first + 1 :]]


def _joined(powers: Iterable[Power], coefficient: str = "") -> str:
    """Return a product as a fraction; single variables and sums come before calls."""
    exponents: dict[tuple[bool, str], float] = {}
    for shown, exponent, call in powers:
        exponents[call, shown] = exponents.get((call, shown), 0) + exponent
    _join_roots(exponents)
    ordered = sorted(exponents.items(), key=lambda item: item[0][0])
    numerator, denominator = (
        [(base, sign * n) for (_, base), n in ordered if sign * n > 0] for sign in (1, -1)
    )
    above = [coefficient, *starmap(_power, numerator)]
    return fraction(above, [*starmap(_power, denominator)], any(n != 1 for _, n in denominator))


def _join_roots(exponents: dict[tuple[bool, str], float]) -> None:
    """Make x sqrt(x) a power of x, and sqrt(x)/x the root alone."""
    for call, shown in list(exponents):
        found = ROOT.fullmatch(shown) if call and is_closed(shown) else None
        base = found and next(
            (key for key in ((False, found[1]), (False, f"({found[1]})")) if key in exponents), None
        )
        if base is not None:
            power = exponents[base] + 0.5 * exponents[call, shown]
            is_root = abs(power) == 0.5
            exponents[call, shown] = 2 * power if is_root else 0
            exponents[base] = 0 if is_root else power


def fraction(above: Iterable[str], below: Sequence[str], raised: bool) -> str:
    """Return a product over another, in brackets unless that is a number, a call or `raised`."""
    top, bottom = " ".join(filter(None, above)) or "1", " ".join(below)
    closed = raised or is_number(bottom) or is_closed(bottom) or BARRED.fullmatch(bottom)
    if len(below) == 1 and closed:
        return f"{top}/{bottom}"
    return f"{top}/({bottom})" if below else top


def is_number(shown: str) -> bool:
    """Return whether a text is a number without sign and exponent."""
    return shown.replace(".", "", 1).isdigit()


def _power(base: str, n: float) -> str:
    exponent = number(n)
    if exponent == "1":
        return base
    exponent = exponent if is_number(exponent) else f"({exponent})"
    closed = is_closed(base) or SIZE.fullmatch(base)
    return f"{base}^{exponent}" if closed else f"({base})^{exponent}"


def is_closed(shown: str) -> bool:
    """Return whether the text is a name, a call, or in brackets as a whole."""
    shown = QUOTED.sub("q", shown)
    name, bracket, _ = shown.partition("(")
    if name and not name.isidentifier():
        return False
    depth = 0
    for k, letter in enumerate(shown if bracket else ""):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            return k == len(shown) - 1
    return not bracket


def shown_name(name: str) -> str:
    """Return a variable's name, between backticks if it could be misread in a formula."""
    functions = (t.text.partition("(")[0] for t in BUILTINS.values())
    plain = name.rstrip("'").isidentifier() and name not in functions
    return name if plain else f"`{name}`"


def number(value: float, digits: int = DIGITS) -> str:
    """Return so many significant digits at most, without trailing zeros."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def weighted_sum(
    terms: Sequence[tuple[float, Callable[[str], str]]],
    digits: int = DIGITS,
    bare: Callable[[str], str] | None = None,
) -> str:
    """Join coefficients and what they multiply."""
    joined = ""
    for value, write in terms:
        size = number(abs(value), digits)
        if size == "0":
            continue
        sign = " - " if value < 0 else " + "
        term = write("" if size == "1" else size)
        if size == "1" and value > 0:
            term = (bare or without_brackets)(term)
            if joined and term.startswith("-"):
                sign, term = " - ", term[1:]
        joined += (sign if joined else sign.strip(" +")) + term
    return joined or "0"


def without_brackets(shown: str) -> str:
    """Return a text that is in brackets as a whole without them."""
    whole = shown.startswith("(") and is_closed(shown)
    return shown[1:-1] if whole else shown


# ---- HTML --------------------------------------------------------------------------------------


def html(shown: str) -> str:
    """Return a formula as HTML: slanted names, raised exponents, lowered indices.

    Only tags that every page and notebook renders, with or without MathJax or MathML.
    """
    return "".join(_tagged(found) for found in TOKEN.finditer(shown))


def _tagged(found: re.Match[str]) -> str:
    kind, token = found.lastgroup, found[0]
    if kind == "quoted":
        return f"<i>{escape(found['quoted'])}</i>"
    if kind == "name":
        stem, index = re.fullmatch(r"(.*?)_?(\d*)", token).groups()  # type: ignore[union-attr]
        return f"<i>{stem}</i>" + (f"<sub>{index}</sub>" if index else "")
    if kind == "ten":
        return f"{found['number']}\u00b710<sup>{_signed(found['ten'])}</sup>"
    if kind == "power":
        return f"<sup>{html(without_brackets(found['power']))}</sup>"
    return _signed(escape(token)) if kind == "other" else token


def _signed(shown: str) -> str:
    return shown.replace("-", "\u2212")
