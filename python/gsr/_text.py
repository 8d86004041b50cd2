"""Formulas as readable text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from gsr._rows import SUM, VARIABLE, Matrix, Row, applies, name_of, rows
from gsr.library import Library
from gsr.transformation import BUILTINS, POWERS


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
    above: Counter[str] = Counter()
    below: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for i, row in enumerate(rows(matrix, library)):
        if row is None:
            continue
        name = library.names[row.code]
        operands = _operands(
            row, [shown_name(str(name_of(matrix, names, v))) for v in row.variables]
        )
        power = POWERS.get(name, 0.5)
        if power.is_integer():
            side = above if power > 0 else below
            side.update({base: int(abs(power)) * n for base, n in operands.items()})
        else:
            barred = name == "ln" and applies(absolute, i)
            calls[_call(library.table[row.code].text, row, _joined(operands), barred)] += 1
    numerator = [*filter(None, [coefficient]), *_raised(above), *_raised(calls)]
    top = " ".join(numerator) or "1"
    if not below:
        return top
    bottom = " ".join(_raised(below))
    return f"{top}/{bottom}" if len(below) == 1 else f"{top}/({bottom})"


def _operands(row: Row, shown: list[str]) -> dict[str, int]:
    """Return the factors of the argument with their multiplicities; a sum is one factor."""
    counts = Counter(shown)
    if row.argument != SUM:
        return dict(counts)
    return {"(" + " + ".join(f"{n} {x}" if n > 1 else x for x, n in counts.items()) + ")": 1}


def _joined(operands: dict[str, int]) -> str:
    return " ".join(_raised(operands))


def _raised(factors: dict[str, int]) -> list[str]:
    return [_power(base, n) for base, n in factors.items()]


def _power(base: str, n: int) -> str:
    if n == 1:
        return base
    closed = base.endswith((")", "`")) or base.isidentifier()
    return f"{base}^{n}" if closed else f"({base})^{n}"


def _call(template: str, row: Row, argument: str, barred: bool) -> str:
    """Fill a template, with brackets around the argument only where it needs them."""
    inner = argument[1:-1] if row.argument == SUM else argument
    if barred:
        template = template.replace("({})", "|{}|")
    simple = row.argument == VARIABLE
    for outside, shown in (
        ("({})", inner),
        ("|{}|", inner),
        ("(-{})", argument),
        ("{}", argument if simple or row.argument == SUM else f"({argument})"),
    ):
        if outside in template:
            return template.replace("{}", shown)
    return template


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
