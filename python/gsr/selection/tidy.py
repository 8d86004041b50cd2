"""Laws in fewer nodes: sums in brackets are multiplied out, powers merged, where that is shorter.

A search that looks for what explains most may put `-1.5 (1 - x^2) + 1` where `1.5 x^2 - 0.5` says
the same, or `x1^3` times `1/(x1 x2)`, which has no value at 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gsr.encoding.fold import values_of
from gsr.encoding.rows import Row, factors, rows
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.selection.choice import FrontEntry
from gsr.selection.fitted import FittedLaw, LawLike, Training, constants
from gsr.selection.refit import refit
from gsr.selection.target_scale import rmse
from gsr.transformation import POWERS

#: How near to t a function that is linear at 0 must be, to be nothing else.
IDLE = 1e-15
#: Errors that differ by less are the same.
ROUNDING = 1e-9


def tidied(entry: FrontEntry, data: Training) -> FrontEntry:
    """Return a law multiplied out and with its powers merged, if that is shorter and as good."""
    equation = _without_idle(entry, data)
    if equation is entry.equation and not _may_shrink(equation):
        return entry
    try:
        law = _multiplied_out(entry.law, equation)
    except GSRError:
        return entry  # the encoding has no room for a term
    fitted = refit(law, data) if entry.exact else FittedLaw.of(law, rmse=rmse(law, data))
    made = entry.make(fitted)
    as_good = fitted.exact if entry.exact else fitted.rmse <= entry.rmse * (1.0 + ROUNDING)
    if not as_good or made.complexity >= entry.complexity:
        return entry
    shorter = FittedLaw.of(fitted, complexity=made.complexity)
    return replace(
        entry,
        law=shorter,
        complexity=made.complexity,
        rmse=fitted.rmse,
        n_constants=len(constants(shorter)),
    )


def _may_shrink(equation: Equation) -> bool:
    """Tell whether a sum stands in brackets, or a feature in two factors of a term."""
    for matrix in equation.phi:
        product = factors(matrix, equation.library)
        powers = [base for row in product for base in _powers(row, equation.library)]
        if len(set(powers)) < len(powers) or any(_is_sum(row, equation.library) for row in product):
            return True
    return False


def _powers(row: Row, library: Library) -> set[int]:
    """Return the features of which a factor is a power."""
    if library.names[row.code] not in POWERS:
        return set()
    lone = row.argument.is_product or len(row.argument.parts) == 1
    return {part.base for part in row.argument.parts if lone and isinstance(part.base, int)}


def _is_sum(row: Row, library: Library) -> bool:
    plain = library.names[row.code] == "identity" and not row.reciprocal
    return plain and not row.argument.is_product and len(row.argument.parts) > 1


def _without_idle(entry: FrontEntry, data: Training) -> Equation:
    """Return the equation without functions that do nothing: sin(t) is t where t is tiny."""
    library = data.library
    if "identity" not in library:
        return entry.equation
    changed = [[list(row) for row in matrix] for matrix in entry.law.phi]
    found = False
    for matrix, new in zip(entry.law.phi, changed, strict=True):
        for row in rows(matrix, library):
            if row is None or not library.traits[row.code].linear_at_zero:
                continue
            argument = values_of(row.argument, data.X, library)
            plain = Row(row.code, row.argument)
            if np.allclose(values_of(plain, data.X, library), argument, rtol=IDLE, atol=0.0):
                new[row.number][0] = library.code("identity") * (-1 if row.reciprocal else 1)
                found = True
    return entry.make(FittedLaw.of(entry.law, phi=tuple(changed))) if found else entry.equation


def _multiplied_out(law: LawLike, equation: Equation) -> FittedLaw:
    import sympy

    from gsr.prior.written_formula import parse

    sides: Any = equation.sympy()
    whole = sympy.Eq(sides.lhs, sympy.expand(sides.rhs), evaluate=False)
    names = (equation.feature_names, equation.target_name)
    found = parse(whole, *names, equation.library, equation.target_library)[0]
    return FittedLaw.of(
        law,
        phi=tuple(found.phi),
        alpha=found.alpha,
    )
