"""Laws as LaTeX."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gsr.encoding.sympy_forms import with_cube_roots
from gsr.encoding.writing import DIGITS, weighted_sum
from gsr.encoding.writing import number as shortened
from gsr.lazy import sympy

SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "%&#_${}"}
    | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
)
GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau"
    "|upsilon|phi|chi|psi|omega"
)
#: What SymPy sets well: letters and Greek letters, with indices.
INDEXED = re.compile(r"([A-Za-z]+?)\d*(_[A-Za-z]?\d*)?")
OPEN, CLOSE = r"\left(", r"\right)"


def side(terms: Sequence[tuple[float, Any]], digits: int = DIGITS) -> str:
    """Return a sum of (coefficient, SymPy expression) as LaTeX, with so many digits."""
    parts: list[tuple[float, Callable[[str], str]]] = [
        (c, partial(_term, e, digits=digits)) for c, e in terms
    ]
    return weighted_sum(parts, digits, _bare)


def escaped(text: str) -> str:
    """Return any text so that LaTeX sets it as it is."""
    return text.translate(SPECIAL)


def quantity(value: float, digits: int = DIGITS) -> str:
    """Return a number in mathematical mode; a dash if it is not known."""
    if math.isnan(value):
        return "--"
    if math.isinf(value):
        return r"$\infty$" if value > 0 else r"$-\infty$"
    return f"${_power_of_ten(shortened(value, digits))}$"


def _power_of_ten(number: str) -> str:
    return re.sub(r"e(-?\d+)$", r" \\cdot 10^{\1}", number)


def _term(expression: Any, size: str, digits: int) -> str:
    number = _power_of_ten(size)
    if expression == 1:
        return number or "1"
    short = {f: sympy.Float(shortened(float(f), digits)) for f in expression.atoms(sympy.Float)}
    expression = with_cube_roots(expression.xreplace(short))
    above, below = sympy.fraction(expression, exact=True)
    if number and below != 1 and above.as_coeff_Mul()[0] == 1:
        top = number if above == 1 else _times(number, above)
        return rf"\frac{{{top}}}{{{_written(below)}}}"
    return _times(number, expression)


def _times(number: str, expression: Any) -> str:
    written = _written(expression)
    if expression.is_Add or (number and written.startswith("-")):
        written = OPEN + written + CLOSE
    return rf"{number} \, {written}" if number else written


def _written(expression: Any) -> str:
    names = {s: _name(s.name) for s in expression.free_symbols if not _is_set_well(s.name)}
    style = {"ln_notation": True, "inv_trig_style": "full"}
    return str(sympy.latex(expression, symbol_names=names, **style))


def _bare(written: str) -> str:
    """Return a sum without the brackets that `_term` puts around it."""
    inside = written[len(OPEN) : -len(CLOSE)]
    if not (written.startswith(OPEN) and written.endswith(CLOSE)):
        return written
    depth = 0
    for bracket in re.findall(r"\\left\b|\\right\b", inside):
        depth += 1 if bracket == r"\left" else -1
        if depth < 0:
            return written
    return inside


def _is_set_well(name: str) -> bool:
    found = INDEXED.fullmatch(name)
    return found is not None and (
        len(found[1]) == 1 or GREEK.fullmatch(found[1].lower()) is not None
    )


def _name(name: str) -> str:
    if len(name) == 1 and (greek := _greek(name)):
        return greek
    kind = "mathrm" if name.isidentifier() else "text"
    return rf"\{kind}{{{escaped(name)}}}"


def _greek(letter: str) -> str:
    """Return the command for a Greek letter, empty for others."""
    words = unicodedata.name(letter, "").lower().replace("lamda", "lambda").split()
    if words[:1] != ["greek"] or not GREEK.fullmatch(words[-1]) or len(words) != 4:
        return ""
    # Capitals that look like Latin ones have no command.
    return rf"\{words[-1]}" if words[1] == "small" else letter
