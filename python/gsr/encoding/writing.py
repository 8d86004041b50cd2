"""Formulas as readable text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import escape

from gsr.encoding.rows import ONE, Argument, Matrix, Part, Row, applies, factors, name_of
from gsr.library import Library
from gsr.transformation import BUILTINS, EXPONENTIALS, POWERS

QUOTED = re.compile(r"`[^`]*`")
BARRED = re.compile(r"\w+\|[^|]*\|")
SIZE = re.compile(r"\|[^|]*\|")
DIGITS = 6
TOKEN = re.compile(
    r"`(?P<quoted>[^`]*)`|(?P<call>[^\W\d]\w*(?=\()|ln(?=\|))|(?P<name>[^\W\d]\w*)"
    r"|(?P<number>\d+\.?\d*)(?:e(?P<ten>-?\d+))?|\^(?P<power>\([^()]*\)|[\d.]+)|(?P<other>.)"
)
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

    Parameters
    ----------
    matrix, library, names, absolute
        As for `gsr.encoding.decode`. Names that could be misread are put between backticks.
    coefficient : str
        A number to write in front.

    Returns
    -------
    str
    """
    writer = Writer(library, lambda v: str(name_of(matrix, names, v)), absolute)
    return writer.product(factors(matrix, library), coefficient)


class Writer:
    """Writes rows.

    Parameters
    ----------
    library : Library
        Their mapping table.
    name : callable
        Gives the name of a variable.
    absolute : bool or collection of int
        Which rows of ln have bars.
    """

    def __init__(
        self, library: Library, name: Callable[[int], str], absolute: bool | Collection[int]
    ) -> None:
        self.library, self.name, self.absolute = library, name, absolute

    def product(self, product: Sequence[Row], coefficient: str = "") -> str:
        """Return a product of rows, with a number in front."""
        return _joined((power for row in product for power in self._powers(row, 1)), coefficient)

    def _powers(self, row: Row, exponent: int) -> Iterator[Power]:
        """Return what a power of the row is a product of."""
        exponent = -exponent if row.reciprocal else exponent
        logarithms, rest = self._split_exponential(row)
        for base, times in logarithms:
            yield self._raised(base), exponent * times, isinstance(base.argument.lone, Row)
        if rest is None:
            return
        row = replace(row, argument=rest)
        power = POWERS.get(self.library.names[row.code])
        if power is not None and power.denominator == 1:
            yield from self._argument(row.argument, exponent * int(power))
        else:
            rate = self.library.traits[row.code].exponent
            opposite = EXPONENTIALS.get(-rate) if rate and exponent < 0 else None
            yield self._call(row, opposite), -exponent if opposite else exponent, True

    def _split_exponential(self, row: Row) -> tuple[list[tuple[Row, float]], Argument | None]:
        """Return ln(u) and p for the parts p ln(u) of an exponential, which is u^p, and the rest.

        Of other rows all is rest; of exp(p ln(u)) nothing.
        """
        sign, argument = self.library.traits[row.code].exponent, row.argument
        if not sign or argument.is_product:
            return [], argument
        found = [
            (base, sign * times)
            for base, times in argument.parts
            if isinstance(base, Row) and self._is_real_logarithm(base, times)
        ]
        bases = [base for base, _ in found]
        rest = tuple(part for part in argument.parts if part.base not in bases)
        return found, Argument(False, rest) if rest else None

    def _is_real_logarithm(self, base: Row, times: float) -> bool:
        is_real = isinstance(times, float) and times != 1.0
        return is_real and not base.reciprocal and self.library.traits[base.code].of_magnitude

    def _raised(self, logarithm: Row) -> str:
        """Return the u of ln(u) or ln|u|, to be raised to a power."""
        argument = self._passed_on(logarithm.argument)
        is_sum = _is_sum(argument)
        shown = self._sum(argument) if is_sum else _joined(self._argument(argument, 1))
        if not applies(self.absolute, logarithm.number):
            return f"({shown})" if is_sum else shown
        return f"abs({shown})" if "|" in shown else f"|{shown}|"

    def _argument(self, argument: Argument, exponent: int) -> Iterator[Power]:
        if argument.lone == ONE:
            return
        if _is_sum(argument):
            yield f"({self._sum(argument)})", exponent, False
            return
        for base, times in argument.parts:
            if isinstance(base, Row):
                yield from self._powers(base, exponent * int(times))
            else:
                yield shown_name(self.name(base)), exponent * int(times), False

    def _sum(self, argument: Argument) -> str:
        terms = _ordered(argument.parts)
        return weighted_sum([(times, partial(self._term, base)) for base, times in terms])

    def _term(self, base: int | Row, size: str) -> str:
        if base == ONE:
            return size or "1"
        if isinstance(base, Row):
            return self.product([base], size)
        return f"{size} {shown_name(self.name(base))}".strip()

    def _call(self, row: Row, name: str | None = None) -> str:
        """Fill a template, with brackets around the argument only where it needs them."""
        template = str(BUILTINS[name].text if name else self.library.table[row.code].text)
        if self.library.traits[row.code].of_magnitude and applies(self.absolute, row.number):
            template = template.replace("({})", "|{}|")
        argument = self._passed_on(row.argument)
        is_sum = _is_sum(argument)
        shown = self._sum(argument) if is_sum else _joined(self._argument(argument, 1))
        for outside, bracketed in (
            ("({})", False),
            ("|{}|", False),
            ("(-{})", is_sum and (len(argument.parts) != 1 or argument.parts[0].times < 0)),
            ("{}", not isinstance(argument.lone, int)),
        ):
            if outside in template:
                return template.replace("{}", f"({shown})" if bracketed else shown)
        return template

    def _passed_on(self, argument: Argument) -> Argument:
        """Return the argument of an inner row that does nothing else than hold it."""
        inner = argument.lone
        if not isinstance(inner, Row) or inner.reciprocal:
            return argument
        held = self.library.names[inner.code] == "identity"
        return self._passed_on(inner.argument) if held else argument


def _is_sum(argument: Argument) -> bool:
    return not argument.is_product and argument.lone in (None, ONE)


def _ordered(parts: Sequence[Part]) -> list[Part]:
    """Return the terms of a sum with 1 first and -1 last, and a positive one first if any is."""
    ones = [part for part in parts if part.base == ONE]
    others = [part for part in parts if part.base != ONE]
    listed = [p for p in ones if p.times > 0] + others + [p for p in ones if p.times < 0]
    first = next((k for k, part in enumerate(listed) if part.times > 0), 0)
    return [*listed[first : first + 1], *listed[:first], *listed[first + 1 :]]


def _joined(powers: Iterable[Power], coefficient: str = "") -> str:
    """Return a product as a fraction; single variables and sums come before calls."""
    exponents: dict[tuple[bool, str], float] = {}
    for shown, exponent, call in powers:
        exponents[call, shown] = exponents.get((call, shown), 0) + exponent
    ordered = sorted(exponents.items(), key=lambda item: item[0][0])
    numerator, denominator = (
        [(base, sign * n) for (_, base), n in ordered if sign * n > 0] for sign in (1, -1)
    )
    top = " ".join(filter(None, [coefficient, *(_power(*p) for p in numerator)])) or "1"
    bottom = " ".join(_power(*p) for p in denominator)
    if len(denominator) == 1:
        ((base, n),) = denominator
        closed = n != 1 or is_closed(base) or BARRED.fullmatch(base)
        return f"{top}/{bottom}" if closed else f"{top}/({bottom})"
    return f"{top}/({bottom})" if denominator else top


def _power(base: str, n: float) -> str:
    exponent = number(n)
    if exponent == "1":
        return base
    exponent = exponent if exponent.replace(".", "", 1).isdigit() else f"({exponent})"
    closed = is_closed(base) or SIZE.fullmatch(base)
    return f"{base}^{exponent}" if closed else f"({base})^{exponent}"


def is_closed(shown: str) -> bool:
    """Tell whether the text is a name, a call, or in brackets as a whole."""
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
    return name if name.isidentifier() and name not in functions else f"`{name}`"


def number(value: float, digits: int = DIGITS) -> str:
    """Return so many significant digits at most, without trailing zeros."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def weighted_sum(
    terms: Sequence[tuple[float, Callable[[str], str]]],
    digits: int = DIGITS,
    bare: Callable[[str], str] | None = None,
) -> str:
    """Join coefficients and what they multiply.

    Parameters
    ----------
    terms : sequence of (float, callable)
        Each callable is given its coefficient without sign, "" for 1.
    digits : int
        Of the coefficients.
    bare : callable, optional
        Takes the outer brackets from a term that nothing multiplies.

    Returns
    -------
    str
    """
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
