"""Terms in plainer words: parts that are nothing are dropped, sqrt(exp(u)) is exp(u/2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gsr.encoding.rows import (
    ONE,
    Argument,
    Part,
    Row,
    argument_values,
    factors,
    is_constant,
    matrix_of,
)
from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.selection.fitted import AnyMatrix, FittedLaw, Training, recounted
from gsr.transformation import POWERS, Array

#: A part of a sum below this share of it in every row is nothing.
IDLE = 1e-12
#: Operands of a row at most.
WIDTH = 8
EXPONENTIALS = {"exp": 1.0, "exp_neg": -1.0}


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


def plainer(law: FittedLaw, data: Training) -> FittedLaw:
    """Return a law with each term in plainer words, and without terms that are nothing."""
    law = without_idle_terms(law, data)
    phi = tuple(_plainer_term(matrix, data) for matrix in law.phi)
    if all(new is old for new, old in zip(phi, law.phi, strict=True)):
        return law
    return recounted(FittedLaw.of(law, phi=phi), data)


def _plainer_term(matrix: AnyMatrix, data: Training) -> AnyMatrix:
    if is_constant(matrix, data.library):
        return matrix
    product = factors(matrix, data.library)
    changed = [_plainer_row(row, data) for row in product]
    if changed == product:
        return matrix
    try:
        return matrix_of(changed, WIDTH)
    except GSRError:  # a row has no room for it
        return matrix


def _plainer_row(row: Row, data: Training) -> Row:
    parts = tuple(
        Part(_plainer_row(base, data), times) if isinstance(base, Row) else Part(base, times)
        for base, times in row.argument.parts
    )
    argument = _without_idle_parts(Argument(row.argument.is_product, parts), data)
    return merged_exponential(replace(row, argument=argument), data.library)


def _without_idle_parts(argument: Argument, data: Training) -> Argument:
    if argument.is_product or len(argument.parts) < 2:
        return argument
    with np.errstate(all="ignore"):
        total = np.abs(argument_values(argument, data.X, data.library))
        kept = tuple(part for part in argument.parts if _matters(part, total, data))
    if not kept or all(part.base == ONE for part in kept):
        return argument
    return Argument(False, kept)


def _matters(part: Part, total: Array, data: Training) -> bool:
    alone = np.abs(argument_values(Argument(False, (part,)), data.X, data.library))
    return not bool((alone <= IDLE * total).all())


def merged_exponential(row: Row, library: Library) -> Row:
    """Return sqrt(exp(u)) as exp(u/2), and the like; other rows as they are."""
    inner, name = row.argument.lone, library.names[row.code]
    if not isinstance(inner, Row) or name not in POWERS or "exp" not in library:
        return row
    sign = EXPONENTIALS.get(library.names[inner.code])
    if sign is None:
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
