"""Formulas as readable text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from gsr._rows import ONE, Argument, Matrix, Part, Row, applies, factors, name_of
from gsr.library import Library
from gsr.transformation import BUILTINS, POWERS

QUOTED = re.compile(r"`[^`]*`")
BARRED = re.compile(r"\w+\|[^|]*\|")
#: Text, exponent, and whether it is the call of a function.
Power = tuple[str, int, bool]


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
        power = POWERS.get(self.library.names[row.code], 0.5)
        if power.is_integer():
            yield from self._argument(row.argument, exponent * int(power))
        else:
            yield self._call(row), exponent, True

    def _argument(self, argument: Argument, exponent: int) -> Iterator[Power]:
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

    def _call(self, row: Row) -> str:
        """Fill a template, with brackets around the argument only where it needs them."""
        template = str(self.library.table[row.code].text)
        if self.library.names[row.code] == "ln" and applies(self.absolute, row.number):
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
    above, below = Counter[tuple[bool, str]](), Counter[tuple[bool, str]]()
    for shown, exponent, call in powers:
        side = above if exponent > 0 else below
        side[call, shown] += abs(exponent)
    numerator, denominator = (
        [(base, n) for last in (False, True) for (call, base), n in side.items() if call == last]
        for side in (above, below)
    )
    top = " ".join(filter(None, [coefficient, *(_power(*p) for p in numerator)])) or "1"
    bottom = " ".join(_power(*p) for p in denominator)
    if len(denominator) == 1:
        ((base, n),) = denominator
        closed = n > 1 or _is_closed(base) or BARRED.fullmatch(base)
        return f"{top}/{bottom}" if closed else f"{top}/({bottom})"
    return f"{top}/({bottom})" if denominator else top


def _power(base: str, n: int) -> str:
    if n == 1:
        return base
    return f"{base}^{n}" if _is_closed(base) else f"({base})^{n}"


def _is_closed(shown: str) -> bool:
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


def number(value: float) -> str:
    """Return six significant digits at most, without trailing zeros."""
    mantissa, _, exponent = f"{value:.6g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def weighted_sum(terms: Sequence[tuple[float, Callable[[str], str]]]) -> str:
    """Join coefficients and what they multiply; each is given its coefficient, "" for 1."""
    joined = ""
    for value, write in terms:
        size = number(abs(value))
        if size == "0":
            continue
        sign = " - " if value < 0 else " + "
        joined += (sign if joined else sign.strip(" +")) + write("" if size == "1" else size)
    return joined or "0"
