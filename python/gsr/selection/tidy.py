"""Exact laws in fewer nodes: sums that stand in brackets are multiplied out where that is shorter.

A search that looks for what explains most may put `-1.5 (1 - x^2) + 1` where `1.5 x^2 - 0.5` says
the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gsr.encoding.rows import Row, factors
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.selection.choice import FrontEntry
from gsr.selection.fitted import FittedLaw, Training, constants
from gsr.selection.refit import refit


def tidied(entry: FrontEntry, data: Training) -> FrontEntry:
    """Return an exact law multiplied out, if it is then shorter and still exact on the data."""
    if not entry.exact or not _has_brackets(entry.equation):
        return entry
    try:
        law = _multiplied_out(entry)
    except GSRError:
        return entry  # the encoding has no room for a term
    fitted = refit(law, data)
    made = entry.make(fitted)
    if not fitted.exact or made.complexity >= entry.complexity:
        return entry
    shorter = FittedLaw.of(fitted, complexity=made.complexity)
    return replace(
        entry,
        law=shorter,
        complexity=made.complexity,
        rmse=fitted.rmse,
        n_constants=len(constants(shorter)),
    )


def _has_brackets(equation: Equation) -> bool:
    return any(
        _is_sum(row, equation.library)
        for matrix in equation.phi
        for row in factors(matrix, equation.library)
    )


def _is_sum(row: Row, library: Library) -> bool:
    plain = library.names[row.code] == "identity" and not row.reciprocal
    return plain and not row.argument.is_product and len(row.argument.parts) > 1


def _multiplied_out(entry: FrontEntry) -> FittedLaw:
    import sympy

    from gsr.prior.written_formula import parse

    equation = entry.equation
    sides: Any = equation.sympy()
    whole = sympy.Eq(sides.lhs, sympy.expand(sides.rhs), evaluate=False)
    names = (equation.feature_names, equation.target_name)
    found = parse(whole, *names, equation.library, equation.target_library)[0]
    return FittedLaw.of(
        entry.law,
        phi=tuple(found.phi),
        alpha=found.alpha,
    )
