"""Terms in plainer words.

Parts that are nothing are dropped, sqrt(exp(u)) is exp(u/2), sin(u)/tan(u) is cos(u), sin(u) is u
for small u, and so is |u| for positive u.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from gsr.deadline import is_late
from gsr.encoding.fold import values_of
from gsr.encoding.rows import (
    ONE,
    Argument,
    Part,
    Row,
    combined,
    factors,
    is_constant,
    matrix_of,
    variable,
)
from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.selection.fitted import (
    AnyMatrix,
    FittedLaw,
    LawLike,
    Training,
    constants,
    recounted,
    with_constants,
)
from gsr.selection.refine import attempted, linearise
from gsr.transformation import POWERS, Array

#: A part of a sum below this share of the largest sum of all rows is nothing.
IDLE = 1e-12
#: Parts are tried to be dropped whose constant is so many standard errors from 0, were the law
#: linear.
NEARLY_SLIGHT = 2.0
#: Stands for a constant of 0, which would be none.
NOTHING = 1e-290
#: Functions that are linear at 0 are their argument where it is this small in every row.
SMALL = 1e-5
#: Products of two functions of one argument that are a third one; a minus is a reciprocal.
QUOTIENTS = {
    frozenset({"sin", "-tan"}): "cos",
    frozenset({"sin", "-cos"}): "tan",
    frozenset({"tan", "cos"}): "sin",
    frozenset({"-sin", "tan"}): "-cos",
    frozenset({"-sin", "cos"}): "-tan",
    frozenset({"-tan", "-cos"}): "-sin",
}
#: Operands of a row at most.
WIDTH = 8


def without_idle_terms(law: FittedLaw, data: Training) -> FittedLaw:
    """Return a law without the terms that are nothing in every row."""
    if len(law.phi) < 2:
        return law
    sizes = np.abs(data.features(law, data.X) * law.alpha).max(axis=0)
    kept = [j for j, size in enumerate(sizes) if size > IDLE * data.spread]
    if len(kept) == len(law.phi) or not kept:
        return law
    shorter = FittedLaw.of(law, phi=tuple(law.phi[j] for j in kept), alpha=law.alpha[kept])
    return recounted(shorter, data)


def with_a_part_less(law: LawLike, data: Training) -> Iterator[FittedLaw]:
    """Yield a law without each of its terms, and each factor of a term; they are to be fitted."""
    for k, matrix in enumerate(law.phi):
        before, after = tuple(law.phi[:k]), tuple(law.phi[k + 1 :])
        if before or after:
            yield _without_term(law, k, data)
        product = factors(matrix, data.library)
        for i in range(len(product) if len(product) > 1 else 0):
            less = matrix_of([*product[:i], *product[i + 1 :]], WIDTH)
            if less not in law.phi:
                yield recounted(FittedLaw.of(law, phi=(*before, less, *after)), data)


def without_slight_parts(law: LawLike, data: Training, until: float | None = None) -> LawLike:
    """Return an inexact law without the parts that the data do not call for.

    These are terms, factors and parts of sums whose constant is less than its standard error,
    one at a time.
    """
    freedom = len(data.y) - len(constants(law))
    if law.exact or freedom < 1 or not 0.0 < law.rmse < math.inf:
        return law
    best, rise = law, math.sqrt(1.0 + 1.0 / freedom)
    while not is_late(until):
        fitted = (attempted(less, data) for less in _without_a_slight_part(best, data))
        found = next((less for less in fitted if less.rmse <= rise * best.rmse), None)
        if found is None:
            break
        best = found
    return best


def _without_a_slight_part(law: LawLike, data: Training) -> Iterator[FittedLaw]:
    """Yield a law without each of the parts whose constant may as well be 0, slightest first."""
    values, around = constants(law), linearise(law, data)
    inverse = np.linalg.pinv(around.jacobian)
    freedom = max(len(data.y) - len(values), 1)
    deviations = np.linalg.norm(inverse, axis=1) * np.linalg.norm(around.residual)
    deviations /= math.sqrt(freedom)
    inside = len(law.phi) + len(law.psi) - 1
    for j in np.argsort(np.abs(values) / np.where(deviations > 0.0, deviations, np.inf)):
        if not abs(values[j]) <= NEARLY_SLIGHT * deviations[j]:
            return
        if j < len(law.phi):
            if len(law.phi) > 1:
                yield _without_term(law, int(j), data)
        elif j >= inside:
            values_without = values.copy()
            values_without[j] = NOTHING
            less = plainer(with_constants(law, values_without), data)
            if less.complexity < law.complexity:
                yield less


def _without_term(law: LawLike, k: int, data: Training) -> FittedLaw:
    phi = (*law.phi[:k], *law.phi[k + 1 :])
    alpha = np.delete(np.asarray(law.alpha, dtype=float), k)
    return recounted(FittedLaw.of(law, phi=phi, alpha=alpha), data)


def plainer(law: FittedLaw, data: Training) -> FittedLaw:
    """Return a law with each term in plainer words, and without terms that are nothing."""
    law = _without_small_arguments(without_idle_terms(law, data), data)
    phi = tuple(_plainer_term(matrix, data) for matrix in law.phi)
    if all(new is old for new, old in zip(phi, law.phi, strict=True)):
        return law
    return recounted(FittedLaw.of(law, phi=phi), data)


def _without_small_arguments(law: FittedLaw, data: Training) -> FittedLaw:
    """Return a law with c sin(w u) as c w u where w u is small; a frequency has run away there."""
    phi, alpha = list(law.phi), law.alpha.copy()
    for k, matrix in enumerate(law.phi):
        if is_constant(matrix, data.library):
            continue
        product = factors(matrix, data.library)
        linear = [_linear(row, data) for row in product]
        if not any(linear):
            continue
        changed = [new[0] if new else row for new, row in zip(linear, product, strict=True)]
        phi[k] = matrix_of(changed, WIDTH)
        alpha[k] *= np.prod([new[1] for new in linear if new])
    if all(new is old for new, old in zip(phi, law.phi, strict=True)):
        return law
    return recounted(FittedLaw.of(law, phi=tuple(phi), alpha=alpha), data)


def _linear(row: Row, data: Training) -> tuple[Row, float] | None:
    """Return the argument of a row and its factor, if that is all that the row is."""
    library = data.library
    if not library.traits[row.code].linear_at_zero or len(row.argument.parts) != 1:
        return None
    base, times = row.argument.parts[0]
    small = np.abs(values_of(row.argument, data.X, library)) < SMALL
    if row.argument.is_product or not small.all():
        return None
    plain = base if isinstance(base, Row) else Row(library.code("identity"), variable(base))
    if not row.reciprocal:
        return plain, float(times)
    return replace(plain, reciprocal=not plain.reciprocal), 1.0 / float(times)


def _plainer_term(matrix: AnyMatrix, data: Training) -> AnyMatrix:
    if is_constant(matrix, data.library):
        return matrix
    product = factors(matrix, data.library)
    kept = [row for row in product if not _is_one(row, data)] or product[:1]
    changed = _without_quotients([_plainer_row(row, data) for row in kept], data.library)
    if changed == product:
        return matrix
    try:
        return matrix_of(changed, WIDTH)
    except GSRError:  # a row has no room for it
        return matrix


def _without_quotients(product: list[Row], library: Library) -> list[Row]:
    """Return factors with cos(u) for sin(u)/tan(u), and the like."""
    for a, b in combinations(product, 2):
        name = QUOTIENTS.get(frozenset({_signed(a, library), _signed(b, library)}))
        if name is not None and a.argument == b.argument and name.strip("-") in library:
            merged = Row(library.code(name.strip("-")), a.argument, name.startswith("-"))
            rest = [row for row in product if row is not a and row is not b]
            return _without_quotients([*rest, merged], library)
    return product


def _signed(row: Row, library: Library) -> str:
    return ("-" if row.reciprocal else "") + library.names[row.code]


def _is_one(row: Row, data: Training) -> bool:
    """Tell whether a row is 1 in every row of the data, as exp(c u) with a c of nothing."""
    if not data.library.traits[row.code].one_at_zero:
        return False
    return bool((np.abs(values_of(row.argument, data.X, data.library)) < IDLE).all())


def _plainer_row(row: Row, data: Training) -> Row:
    parts = tuple(
        Part(_plainer_row(base, data), times) if isinstance(base, Row) else Part(base, times)
        for base, times in row.argument.parts
    )
    argument = _flattened(Argument(row.argument.is_product, parts), data.library)
    argument = _without_idle_parts(argument, data)
    row = merged_exponential(replace(row, argument=argument), data.library)
    return replace(row, code=data.library.code("identity")) if _has_idle_bars(row, data) else row


def _has_idle_bars(row: Row, data: Training) -> bool:
    """Tell whether a row is |u| of a u that is negative in no row of the data."""
    if data.library.names[row.code] != "abs" or "identity" not in data.library:
        return False
    return bool((values_of(row.argument, data.X, data.library) >= 0).all())


def _flattened(argument: Argument, library: Library) -> Argument:
    """Return an argument with u for each inner row that is nothing but u."""
    held: dict[int | Row, int | Row] = {}
    for base, _ in argument.parts:
        if isinstance(base, Row) and library.names[base.code] == "identity" and not base.reciprocal:
            held[base] = base if base.argument.lone is None else base.argument.lone
    if all(base == inner for base, inner in held.items()):
        return argument
    found = combined(argument.is_product, ((held.get(b, b), n) for b, n in argument.parts))
    return found if found.parts else argument


def _without_idle_parts(argument: Argument, data: Training) -> Argument:
    if argument.is_product or len(argument.parts) < 2:
        return argument
    with np.errstate(all="ignore"):
        total = np.abs(values_of(argument, data.X, data.library))
        kept = tuple(part for part in argument.parts if _matters(part, total, data))
    if not kept or all(part.base == ONE for part in kept):
        return argument
    return Argument(False, kept)


def _matters(part: Part, total: Array, data: Training) -> bool:
    alone = np.abs(values_of(Argument(False, (part,)), data.X, data.library))
    return not float(alone.max()) <= IDLE * float(total.max())


def merged_exponential(row: Row, library: Library) -> Row:
    """Return sqrt(exp(u)) as exp(u/2), and the like; other rows as they are."""
    inner, name = row.argument.lone, library.names[row.code]
    if not isinstance(inner, Row) or name not in POWERS or "exp" not in library:
        return row
    sign = library.traits[inner.code].exponent
    if not sign:
        return row
    power = sign * float(POWERS[name])
    power *= (-1.0 if row.reciprocal else 1.0) * (-1.0 if inner.reciprocal else 1.0)
    return Row(library.code("exp"), scaled(inner.argument, power, library))


def scaled(argument: Argument, factor: float, library: Library) -> Argument:
    """Return an argument times a real factor."""
    if argument.is_product:
        return Argument(False, (Part(Row(library.code("identity"), argument), factor),))
    parts = tuple(Part(base, float(times) * factor) for base, times in argument.parts)
    return Argument(False, parts)
