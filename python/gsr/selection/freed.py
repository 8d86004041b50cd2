"""Laws with one more constant inside: exp(-x) as exp(-k x), 1/(1 + x) as 1/(k + x), x^2 as x^k.

A search that finds the shape of a law often has it with round numbers inside. Each place that could
hold a constant is freed in turn, and all constants are refined from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gsr.deadline import in_time
from gsr.encoding.rows import ONE, Argument, Part, Row, factors, is_constant, matrix_of, variable
from gsr.library import Library
from gsr.selection.criteria import rough_length
from gsr.selection.fitted import AnyMatrix, FittedLaw, LawLike, Training, recounted
from gsr.selection.plainer import WIDTH as OPERANDS
from gsr.selection.plainer import scaled
from gsr.selection.refine import attempted
from gsr.transformation import POWERS

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
    """Return variants of the best laws with more constants, where the data gain by them."""
    found: list[LawLike] = []
    places = Places(data, shifts, nested)
    best = _best(laws, data)
    if not data.loss.is_squared:  # errors of the search are those of squares
        best = [attempted(law, data) for law in in_time(best, until, 0)]
    for _ in range(ROUNDS):
        variants = ((law, variant) for law in best for variant in _variants(law, places))
        improved = (_improved(*pair, data) for pair in in_time(variants, until, 0))
        fresh = [law for law in improved if law is not None and admits(law)]
        found += fresh
        best = _best(fresh, data)
    return found


def _best(laws: Iterable[LawLike], data: Training) -> list[LawLike]:
    return sorted(laws, key=lambda law: rough_length(law, data))[:WIDTH]


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
        for product in _products(factors(matrix, data.library), places):
            phi: list[AnyMatrix] = list(law.phi)
            try:
                phi[k] = matrix_of(product, OPERANDS)
                yield recounted(FittedLaw.of(law, phi=tuple(phi), exact=False), data)
            except ValueError:  # more rows, operands or constants than a matrix holds
                continue


def _products(product: list[Row], places: Places) -> Iterator[list[Row]]:
    for i, row in enumerate(product):
        for changed in _freed(row, places):
            yield [*product[:i], changed, *product[i + 1 :]]
    if places.nested:
        yield from _real_powers(product, places.data)


# ---- inside a factor ---------------------------------------------------------------------------


def _freed(row: Row, places: Places) -> Iterator[Row]:
    """Yield the row with one more constant in it."""
    data, library = places.data, places.data.library
    traits, argument = library.traits[row.code], row.argument
    fixed = not any(isinstance(part.times, float) for part in argument.parts)
    lone = len(argument.parts) == 1 or (argument.is_product and places.nested)
    if traits.scales and fixed and lone and (places.nested or not argument.is_product):
        yield replace(row, argument=scaled(argument, NUDGE, library))
    if not argument.is_product and len(argument.parts) > 1:
        yield from (replace(row, argument=each) for each in _weighted(argument))
    if (
        places.shifts
        and _is_lone(argument)
        and (traits.shifts or (row.reciprocal and library.names[row.code] in POWERS))
    ):
        yield from (replace(row, argument=each) for each in _shifted(argument, data))
    for j, part in enumerate(argument.parts):
        if isinstance(part.base, Row):
            for inner in _freed(part.base, places):
                parts = (*argument.parts[:j], Part(inner, part.times), *argument.parts[j + 1 :])
                yield replace(row, argument=Argument(argument.is_product, parts))


def _is_lone(argument: Argument) -> bool:
    return not argument.is_product and len(argument.parts) == 1 and argument.parts[0].base != ONE


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


# ---- powers of a feature -----------------------------------------------------------------------


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
