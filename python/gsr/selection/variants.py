"""Variants of laws: with a part removed, simplified, or with one more constant inside.

Negligible parts are dropped, sqrt(exp(u)) becomes exp(u/2), sin(u)/tan(u) becomes cos(u), sin(u)
becomes u for small u, and |u| becomes u where u is positive.

A search that finds the shape of a law often has it with round numbers inside: exp(-x) for
exp(-k x), 1/(1 + x) for 1/(k + x), x^2 for x^k. Each place that could hold a constant is freed in
turn, and all constants are refined from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from gsr.deadline import in_time, is_late
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
from gsr.selection.criteria import rough_length
from gsr.selection.fitted import (
    AnyMatrix,
    FittedLaw,
    LawLike,
    Training,
    constants,
    recounted,
    with_constants,
)
from gsr.selection.target_scale import attempted, linearise
from gsr.transformation import POWERS, Array

# ---- simplification ------------------------------------------------------------------------------

#: A part of a sum below this share of the largest sum of all rows is nothing.
IDLE = 1e-12
#: Parts are tried to be dropped whose constant is so many standard errors from 0, were the law
#: linear.
NEARLY_SLIGHT = 2.0
#: Stands for a constant of 0, which would not count as a constant.
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
OPERANDS = 8


def without_idle_terms(law: FittedLaw, data: Training) -> FittedLaw:
    """Return a law without the terms that are negligible in every row."""
    if len(law.phi) < 2:
        return law
    sizes = np.abs(data.features(law, data.X) * law.alpha).max(axis=0)
    kept = [j for j, size in enumerate(sizes) if size > IDLE * data.spread]
    if len(kept) == len(law.phi) or not kept:
        return law
    shorter = FittedLaw.of(law, phi=tuple(law.phi[j] for j in kept), alpha=law.alpha[kept])
    return recounted(shorter, data)


def with_a_part_less(law: LawLike, data: Training) -> Iterator[FittedLaw]:
    """Yield the law without one of its terms, or one factor of a term; these are not fitted yet."""
    for k, matrix in enumerate(law.phi):
        before, after = tuple(law.phi[:k]), tuple(law.phi[k + 1 :])
        if before or after:
            yield _without_term(law, k, data)
        product = factors(matrix, data.library)
        for i in range(len(product) if len(product) > 1 else 0):
            less = _matrix([*product[:i], *product[i + 1 :]])
            if less is not None and less not in law.phi:
                yield recounted(FittedLaw.of(law, phi=(*before, less, *after)), data)


def without_slight_parts(law: LawLike, data: Training, until: float | None = None) -> LawLike:
    """Return an inexact law without the parts that the data do not support.

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
    """Yield the law without each part whose constant may be 0, the least significant first."""
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
    """Return a law with each term simplified, and without negligible terms."""
    law = _without_small_arguments(without_idle_terms(law, data), data)
    phi = tuple(_plainer_term(matrix, data) for matrix in law.phi)
    if all(new is old for new, old in zip(phi, law.phi, strict=True)):
        return law
    return recounted(FittedLaw.of(law, phi=phi), data)


def _without_small_arguments(law: FittedLaw, data: Training) -> FittedLaw:
    """Return a law with c sin(w u) as c w u where w u is small; a frequency has run away there."""
    phi, alpha = list(law.phi), law.alpha.copy()
    for k, matrix in enumerate(law.phi):
        product = factors(matrix, data.library)
        linear = [_linear(row, data) for row in product]
        if any(linear) and not is_constant(matrix, data.library):
            changed = [each[0] if each else row for each, row in zip(linear, product, strict=True)]
            if (new := _matrix(changed)) is not None:
                phi[k] = new
                alpha[k] *= np.prod([each[1] for each in linear if each])
    if all(new is old for new, old in zip(phi, law.phi, strict=True)):
        return law
    return recounted(FittedLaw.of(law, phi=tuple(phi), alpha=alpha), data)


def _linear(row: Row, data: Training) -> tuple[Row, float] | None:
    """Return the argument of a row and its factor, if that is all that the row is."""
    library = data.library
    if not library.traits[row.code].linear_at_zero or len(row.argument.parts) != 1:
        return None
    base, times = row.argument.parts[0]
    if row.argument.is_product or not (_sizes(row.argument, data) < SMALL).all():
        return None
    if isinstance(base, int) and "identity" not in library:
        return None
    plain = base if isinstance(base, Row) else Row(library.code("identity"), variable(base))
    if not row.reciprocal:
        return plain, float(times)
    return replace(plain, reciprocal=not plain.reciprocal), 1.0 / float(times)


def _sizes(argument: Argument, data: Training) -> Array:
    return np.abs(values_of(argument, data.X, data.library))


def _plainer_term(matrix: AnyMatrix, data: Training) -> AnyMatrix:
    if is_constant(matrix, data.library):
        return matrix
    product, traits = factors(matrix, data.library), data.library.traits
    # Without rows that are 1 in every row of the data, as exp(c u) with a c of nothing.
    kept = [
        row
        for row in product
        if not (traits[row.code].one_at_zero and (_sizes(row.argument, data) < IDLE).all())
    ]
    kept = kept or product[:1]
    changed = _without_quotients([_plainer_row(row, data) for row in kept], data.library)
    return matrix if changed == product else _matrix(changed) or matrix


def _matrix(product: Sequence[Row]) -> AnyMatrix | None:
    """Return the matrix of a product; None if a row has no operand, or no room for all."""
    try:
        return matrix_of(product, OPERANDS)
    except GSRError:
        return None


def _without_quotients(product: list[Row], library: Library) -> list[Row]:
    """Return factors with cos(u) for sin(u)/tan(u), and the like."""
    for a, b in combinations(product, 2):
        pair = frozenset(f"{'-' * each.reciprocal}{library.names[each.code]}" for each in (a, b))
        name = QUOTIENTS.get(pair)
        if name is not None and a.argument == b.argument and name.strip("-") in library:
            merged = Row(library.code(name.strip("-")), a.argument, name.startswith("-"))
            rest = [row for row in product if row is not a and row is not b]
            return _without_quotients([*rest, merged], library)
    return product


def _plainer_row(row: Row, data: Training) -> Row:
    library = data.library
    parts = tuple(
        Part(_plainer_row(base, data), times) if isinstance(base, Row) else Part(base, times)
        for base, times in row.argument.parts
    )
    argument = _flattened(Argument(row.argument.is_product, parts), library)
    argument = _without_idle_parts(argument, data)
    row = merged_exponential(replace(row, argument=argument), library)
    if library.names[row.code] != "abs" or "identity" not in library:
        return row
    has_idle_bars = (values_of(row.argument, data.X, library) >= 0).all()
    return replace(row, code=library.code("identity")) if has_idle_bars else row


def _flattened(argument: Argument, library: Library) -> Argument:
    """Return an argument with u for each inner row that equals u."""
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
        least = IDLE * float(_sizes(argument, data).max())
        sizes = [float(_sizes(Argument(False, (part,)), data).max()) for part in argument.parts]
    kept = tuple(p for p, size in zip(argument.parts, sizes, strict=True) if not size <= least)
    if not kept or all(part.base == ONE for part in kept):
        return argument
    return Argument(False, kept)


def merged_exponential(row: Row, library: Library) -> Row:
    """Return sqrt(exp(u)) as exp(u/2), and the like; other rows as they are."""
    inner, name = row.argument.lone, library.names[row.code]
    if not isinstance(inner, Row) or name not in POWERS or "exp" not in library:
        return row
    sign = library.traits[inner.code].exponent
    if not sign or not _can_be_scaled(inner.argument, library):
        return row
    power = sign * float(POWERS[name])
    power *= (-1.0 if row.reciprocal else 1.0) * (-1.0 if inner.reciprocal else 1.0)
    return Row(library.code("exp"), scaled(inner.argument, power, library))


def _can_be_scaled(argument: Argument, library: Library) -> bool:
    """Tell whether `scaled` can write an argument times a factor: products need the identity."""
    return not argument.is_product or "identity" in library


def scaled(argument: Argument, factor: float, library: Library) -> Argument:
    """Return an argument times a real factor."""
    if argument.is_product:
        return Argument(False, (Part(Row(library.code("identity"), argument), factor),))
    parts = tuple(Part(base, float(times) * factor) for base, times in argument.parts)
    return Argument(False, parts)


# ---- freed constants -----------------------------------------------------------------------------

#: A constant is freed a little away from its neutral value, where it would be none.
NUDGE = 1.0 + 1e-6
#: Where a shift starts, in units of the median of the feature.
SHIFTS = (0.3, -0.3)
#: Laws that are expanded at a time, rounds, and bits that a freed constant must save the data.
WIDTH = 12
ROUNDS = 2
LEAST_GAIN = 1.5


def with_freed_constants(
    laws: Sequence[LawLike],
    data: Training,
    admits: Callable[[LawLike], bool] = lambda _: True,
    *,
    shifts: bool = True,
    nested: bool = True,
    until: float | None = None,
) -> list[LawLike]:
    """Return variants of the best laws with more constants, where the data gain by them.

    `shifts` and `nested` tell whether constants may be added inside functions, and functions stand
    inside each other.
    """

    def first(laws: Sequence[LawLike]) -> list[LawLike]:
        return sorted(laws, key=lambda law: rough_length(law, data))[:WIDTH]

    found: list[LawLike] = []
    places = Places(data, shifts, nested)
    best = first(laws)
    if not data.loss.is_squared:  # errors of the search are those of squares
        best = [attempted(law, data) for law in in_time(best, until, 0)]
    for _ in range(ROUNDS):
        variants = ((law, variant) for law in best for variant in _variants(law, places))
        improved = (_improved(*pair, data) for pair in in_time(variants, until, 0))
        fresh = [law for law in improved if law is not None and admits(law)]
        found += fresh
        best = first(fresh)
    return found


class Places(NamedTuple):
    """Where constants may be freed."""

    data: Training
    shifts: bool
    nested: bool


def _improved(law: LawLike, variant: FittedLaw, data: Training) -> FittedLaw | None:
    """Return a variant of a law with its constants fitted, if it is better by enough."""
    fitted = attempted(variant, data)
    if not 0.0 < fitted.rmse < math.inf or not law.rmse > 0.0:
        return None
    return fitted if len(data.y) * math.log2(law.rmse / fitted.rmse) > LEAST_GAIN else None


def _variants(law: LawLike, places: Places) -> Iterator[FittedLaw]:
    data = places.data
    for k, matrix in enumerate(law.phi):
        if is_constant(matrix, data.library):
            continue
        product = factors(matrix, data.library)
        changed = [
            [*product[:i], freed, *product[i + 1 :]]
            for i, row in enumerate(product)
            for freed in _freed(row, places)
        ]
        if places.nested:
            changed += _real_powers(product, data)
        for new in changed:
            phi: list[AnyMatrix] = list(law.phi)
            try:
                phi[k] = matrix_of(new, OPERANDS)
                yield recounted(FittedLaw.of(law, phi=tuple(phi), exact=False), data)
            except ValueError:  # more rows, operands or constants than a matrix holds
                continue


def _freed(row: Row, places: Places) -> Iterator[Row]:
    """Yield the row with one more constant in it."""
    data, library = places.data, places.data.library
    traits, argument = library.traits[row.code], row.argument
    fixed = not any(isinstance(part.times, float) for part in argument.parts)
    is_lone = not argument.is_product and len(argument.parts) == 1
    may_scale = is_lone or (
        argument.is_product and places.nested and _can_be_scaled(argument, library)
    )
    if traits.scales and fixed and may_scale:
        yield replace(row, argument=scaled(argument, NUDGE, library))
    if not argument.is_product and len(argument.parts) > 1:
        yield from (replace(row, argument=each) for each in _weighted(argument))
    shifts = traits.shifts or (row.reciprocal and library.names[row.code] in POWERS)
    if places.shifts and shifts and is_lone and argument.parts[0].base != ONE:
        yield from (replace(row, argument=each) for each in _shifted(argument, data))
    for j, part in enumerate(argument.parts):
        if isinstance(part.base, Row):
            for inner in _freed(part.base, places):
                parts = (*argument.parts[:j], Part(inner, part.times), *argument.parts[j + 1 :])
                yield replace(row, argument=Argument(argument.is_product, parts))


def _weighted(argument: Argument) -> Iterator[Argument]:
    """Yield a sum with the multiple of one part freed, those of 1 first."""
    for j, part in sorted(enumerate(argument.parts), key=lambda item: item[1].base != ONE):
        if isinstance(part.times, int):
            freed = Part(part.base, float(part.times) * NUDGE)
            yield Argument(False, (*argument.parts[:j], freed, *argument.parts[j + 1 :]))


def _shifted(argument: Argument, data: Training) -> Iterator[Argument]:
    (part,) = argument.parts
    size = 1.0
    if isinstance(part.base, int):
        size = float(np.median(np.abs(data.X[:, part.base - 1]))) or 1.0
    for shift in SHIFTS:
        yield Argument(False, (part, Part(ONE, shift * size * abs(float(part.times)))))


def _real_powers(product: list[Row], data: Training) -> Iterator[list[Row]]:
    """Yield the product with the power of one positive feature freed: x^p is exp(p ln x)."""
    library = data.library
    if "exp" not in library or "ln" not in library:
        return
    powers: dict[int, float] = {}
    others = []
    for row in product:
        found = _monomial(row, library)
        if found is None:
            others.append(row)
            continue
        for base, power in found.items():
            powers[base] = powers.get(base, 0.0) + power
    for base, power in powers.items():
        whole = all(float(n).is_integer() for v, n in powers.items() if v != base)
        if power == 0.0 or not whole or not (data.X[:, base - 1] > 0).all():
            continue
        if len(powers) > 1 and "identity" not in library:
            continue
        logarithm = Row(library.code("ln"), variable(base))
        freed = Row(library.code("exp"), Argument(False, (Part(logarithm, power * NUDGE),)))
        rest = tuple(Part(v, int(n)) for v, n in powers.items() if v != base and n)
        left = [Row(library.code("identity"), Argument(True, rest))] if rest else []
        yield [*others, *left, freed]


def _monomial(row: Row, library: Library) -> dict[int, float] | None:
    """Return the powers of the features in a factor that is nothing else."""
    name, argument = library.names[row.code], row.argument
    bases = [part.base for part in argument.parts]
    if name not in POWERS or any(isinstance(base, Row) or base == ONE for base in bases):
        return None
    if not argument.is_product and (len(argument.parts) > 1 or argument.parts[0].times != 1):
        return None
    power = float(POWERS[name]) * (-1.0 if row.reciprocal else 1.0)
    return {base: power * float(times) for base, times in argument.parts if isinstance(base, int)}
