"""Laws as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gsr._text import number as shortened
from gsr._text import weighted_sum

SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "%&#_${}"} | {"\\": r"\backslash{}", "^": r"\^{}", "~": r"\~{}"}
)


def side(terms: Sequence[tuple[float, Any]]) -> str:
    """Return a sum of (coefficient, SymPy expression) as LaTeX."""
    parts: list[tuple[float, Callable[[str], str]]] = [(c, partial(_term, e)) for c, e in terms]
    return weighted_sum(parts)


def _term(expression: Any, size: str) -> str:
    import sympy

    number = re.sub(r"e(-?\d+)$", r" \\cdot 10^{\1}", size)
    if expression == 1:
        return number or "1"
    short = {f: sympy.Float(shortened(float(f))) for f in expression.atoms(sympy.Float)}
    expression = expression.xreplace(short)
    names = {s: _name(s) for s in expression.free_symbols if not s.name.isidentifier()}
    written = sympy.latex(expression, ln_notation=True, symbol_names=names)
    if expression.is_Add:
        written = rf"\left({written}\right)"
    return rf"{number} \, {written}" if number else written


def _name(symbol: Any) -> str:
    return rf"\text{{{symbol.name.translate(SPECIAL)}}}"
