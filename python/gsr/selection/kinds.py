"""Which laws are real alternatives, and which are the same law written differently."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from gsr.deadline import in_time, is_late
from gsr.equation import Equation
from gsr.selection import expressions
from gsr.selection.criteria import rough_length
from gsr.selection.entry import FrontEntry
from gsr.selection.expressions import ONCE, UNIT, Base, Call, Exponent, Sum, Term, Variable
from gsr.selection.fitted import FAILURES
from gsr.selection.grammar import side
from gsr.selection.noise import Loss, Noise
from gsr.selection.simplify import some_rows
from gsr.selection.target_scale import TargetScale, refine, rmse
from gsr.transformation import POWERS, Array

#: Laws of different kinds that are kept beside the front, and candidates looked at for them.
MOST_KINDS = 8
MOST_CANDIDATES = 40
#: Probability of a law among the kinds that were found, below which the rows do not determine it.
LEAST_SUPPORT = 0.95
#: Laws that take so many bits more are not compared.
FAR_BEHIND = 12.0
MOST_ODDS = 100.0
#: Laws are the same kind if one can reproduce the other but for this part of its error.
NESTED = 0.01
#: Laws whose predictions differ by less than this part of the error are the same to the data.
SAME = 0.02
ROUNDING = 1e-9
CONSTANT, LN_TARGET = "1", "ln(1 x1^1)^1"
TARGET_POWERS = tuple(
    Exponent(sign * n) for n in dict.fromkeys(POWERS.values()) for sign in (1, -1)
)
#: A fitted constant in a shape, and what it may be fixed to.
FREE = "#"
FIXED = r"(?:\#|-?\d+(?:/\d+)?)"


class Kind(NamedTuple):
    """The structure of a law without its constants."""

    left: str  # the left side
    terms: frozenset[str]  # shapes of the terms of the right side

    def covers(self, other: Kind) -> bool:
        """Return whether the other kind is this one, maybe with terms added or constants freed."""
        if self.left != other.left or len(self.terms) > len(other.terms):
            return False
        if self.terms == {CONSTANT}:
            return self.terms == other.terms
        return all(any(_frees(term, wider) for wider in other.terms) for term in self.terms)

    def fixes(self, other: Kind) -> bool:
        """Return whether this kind is another one with numbers for some of its constants."""
        return len(self.terms) == len(other.terms) and self.covers(other)


@lru_cache(maxsize=4096)
def _frees(term: str, wider: str) -> bool:
    """Return whether a shape is another one, or that with fitted constants for its numbers."""
    pattern = re.escape(wider).replace(re.escape(FREE), FIXED)
    return term == wider or (FREE in wider and re.fullmatch(pattern, term) is not None)


def spellings(law: Equation) -> frozenset[Kind]:
    """Return the kind of a law, and that of its other spellings.

    Products by brackets may be multiplied out. A law y^p = c f1 f2 ... of one term is
    ln y = c + ln f1 + ln f2 + ..., and can be solved for any power of y.
    """
    left, right = side(law.psi, law.target_library), side(law.phi, law.library)
    own = _kinds("+".join(sorted(map(_shape, left.terms))), right)
    term = _solved(left, right)
    if term is None:
        return frozenset(own)
    logarithm = Kind(LN_TARGET, frozenset({CONSTANT, *_logarithms(term)}))
    powers = (
        kind
        for power in TARGET_POWERS
        for kind in _kinds(f"x1^{power.number}", expressions.power(term, power))
    )
    return frozenset({*own, logarithm, *powers})


def _kinds(left: str, right: Sum) -> set[Kind]:
    """Return the kind of a right side as it is, and multiplied out."""
    sides = (right, expressions.expanded(right))
    return {Kind(left, frozenset(map(_shape, side.terms))) for side in sides}


def _solved(left: Sum, right: Sum) -> Sum | None:
    """Return y as one term, if the left side is ln y, or a power of y with one term beside it."""
    if len(left.terms) != 1 or len(left.terms[0].powers) != 1:
        return None
    base, exponent = left.terms[0].powers[0]
    if isinstance(base, Call) and base.name == "ln" and exponent == ONCE:
        return expressions.call("exp", right) if right.varying else None
    if isinstance(base, Variable) and not exponent.real and len(right.terms) == 1:
        return expressions.power(right, Exponent(1 / exponent.number))
    return None


def _logarithms(product: Sum) -> Iterator[str]:
    """Yield the terms of the logarithm of a product; a coefficient that is fixed is part of it."""
    if len(product.terms) > 1:
        yield _shape(expressions.call("ln", product).terms[0])
        return
    for base, exponent in product.terms[0].powers:
        factor = base if isinstance(base, Sum) else Sum((Term(UNIT, ((base, ONCE),)),))
        for part in expressions.call("ln", factor).terms:
            scale = part.scale if exponent == ONCE else (exponent.real or exponent.number)
            yield f"{FREE if isinstance(scale, str) else scale} {_shape(part)}"


def _shape(term: Term) -> str:
    """Write a term without its coefficient; a fitted constant in it is `FREE`."""
    powers = (f"{_base(base)}^{FREE if e.real else e.number}" for base, e in term.powers)
    return " ".join(sorted(powers)) or CONSTANT


def _base(base: Base) -> str:
    if isinstance(base, Variable):
        return base.name
    name = base.name if isinstance(base, Call) else ""
    total = base.argument if isinstance(base, Call) else base
    terms = (f"{FREE if isinstance(t.scale, str) else t.scale} {_shape(t)}" for t in total.terms)
    return f"{name}({' + '.join(sorted(terms))})"


# ---- alternatives ------------------------------------------------------------------------------


def shortest_first(entries: Iterable[FrontEntry], until: float | None = None) -> list[FrontEntry]:
    """Return laws by their description length, exact ones first.

    When the time is up (`until`, on the clock of `time.perf_counter`), those whose length is not
    known yet come last.
    """

    def key(entry: FrontEntry) -> tuple[bool, float]:
        if entry.exact:
            return False, entry.bits
        return True, _length(entry) if not is_late(until) or is_known(entry) else math.inf

    return sorted(entries, key=key)


def is_known(entry: FrontEntry) -> bool:
    """Return whether the bits of a law have been counted."""
    return entry.exact or "length" in vars(entry)


def bits_above(entry: FrontEntry, best: FrontEntry) -> float:
    """Return by how many bits the description of a law is longer than that of another.

    Beside an exact law the bits of one that is not are infinite.
    """
    if entry.exact and best.exact:
        return entry.bits - best.bits
    if entry.exact != best.exact:
        return -math.inf if entry.exact else math.inf
    difference = _length(entry) - _length(best)
    return difference if math.isfinite(difference) else math.inf


def _length(entry: FrontEntry) -> float:
    return entry.length if has_length(entry) else math.inf


def has_length(entry: FrontEntry) -> bool:
    """Return whether the description length is known; of a law from a file it may not be."""
    return entry.data is not None or "length" in vars(entry)


def of_different_kinds(entries: Iterable[FrontEntry], count: int) -> list[FrontEntry]:
    """Return the first laws that differ in kind, in their order.

    A law is left out if it is an earlier one with terms added, with other constants or more of
    them, or if it predicts the same.
    """
    found: list[FrontEntry] = []
    kinds: set[Kind] = set()
    predictions: list[Array] = []
    for entry in entries:
        if len(found) == count:
            break
        own, values = spellings(entry.equation), _predicted(entry)
        if any(each.covers(kind) or kind.fixes(each) for each in kinds for kind in own):
            continue
        kinds |= own  # of a copy too: its spelling with a term added is the same kind
        if any(map(_same, predictions, [values] * len(found), found)):
            continue
        found.append(entry)
        predictions.append(values)
    return found


def support(chosen: FrontEntry, entries: Iterable[FrontEntry], until: float | None = None) -> float:
    """Return the probability of a law among the kinds of laws that were found; 1 if it is exact.

    It follows from their description lengths: two laws that differ by b bits have odds of 2^b.
    Laws with poles or extreme predictions, or with a term for one or two rows, do not count.
    """
    if chosen.exact:
        return 1.0
    others = [e for e in shortest_first(entries, until) if e is not chosen and is_known(e)]
    rivals = (
        entry
        for entry in in_time(others, until, MOST_KINDS)
        if has_length(entry)
        and bits_above(entry, chosen) < FAR_BEHIND
        and _has_equation(entry)
        and entry.is_sound
        and entry.is_tame
    )
    kinds = of_different_kinds(chain([chosen], rivals), MOST_KINDS)[1:]
    kinds = [
        each
        for each in kinds
        if is_late(until) or not (_reproduces(each, chosen) or _reproduces(chosen, each))
    ]
    return 1.0 / (1.0 + sum(odds(bits_above(each, chosen)) for each in kinds))


def odds(bits: float) -> float:
    """Return the odds of a law that takes so many bits more than another, as a finite number."""
    return math.pow(2.0, min(-bits, MOST_ODDS))


def determined(level: str, support: float) -> str:
    """Return what a law leaves: ``"ambiguous"`` for noise around one of several kinds of laws."""
    return "ambiguous" if level == "noise" and support < LEAST_SUPPORT else level


def _reproduces(entry: FrontEntry, other: FrontEntry) -> bool:
    """Return whether a law becomes another one for some constants."""
    if entry.data is None or other.data is None:
        return False
    try:
        values = TargetScale(other.law, other.data).solve(other.data.X, other.data.y)
        if not np.isfinite(values).all():
            return False
        plain = replace(entry.data, y=values, weights=None, noise=Noise(), loss=Loss())
        own = replace(other.data, weights=None, noise=Noise(), loss=Loss())
        return refine(entry.law, plain).rmse <= NESTED * rmse(other.law, own)
    except FAILURES:
        return False


def _predicted(entry: FrontEntry) -> Array:
    """Return predictions for some training rows; none if they are not known any more."""
    if entry.data is None:
        return np.empty(0)
    return entry.equation.solution(some_rows(entry.data.X)).values


def _same(values: Array, others: Array, entry: FrontEntry) -> bool:
    """Return whether a law's values are those of another, but for what the data cannot tell."""
    known = np.isfinite(values)
    if len(values) != len(others) or not known.any() or entry.data is None:
        return False
    if not np.array_equal(known, np.isfinite(others)):
        return False
    weights = entry.data.weights
    weights = None if weights is None else some_rows(weights)[known]
    size = float(np.median(np.abs(values[known])))
    difference = np.average((values[known] - others[known]) ** 2, weights=weights)
    return math.sqrt(difference) <= max(SAME * entry.rmse, ROUNDING * size)


# ---- what is kept ------------------------------------------------------------------------------


def beside_front(
    entries: Sequence[FrontEntry],
    chosen: FrontEntry,
    front: Sequence[FrontEntry],
    until: float | None = None,
) -> list[FrontEntry]:
    """Return laws beside the front that are worth keeping.

    These are the shortest ones that differ in kind, and those that another criterion would choose.
    """

    def rough(entry: FrontEntry) -> float:
        return math.inf if entry.data is None else rough_length(entry.law, entry.data)

    near = (e for e in sorted(entries, key=rough)[:MOST_CANDIDATES] if e is not chosen)
    near = (e for e in in_time(near, until, MOST_KINDS) if _has_equation(e))
    ranked = shortest_first([e for e in near if _length(e) < math.inf])
    differing = of_different_kinds(chain([chosen], in_time(ranked, until, MOST_KINDS)), MOST_KINDS)
    kept = [*differing, *_by_other_criteria(entries)]
    known = {_outcome(entry): entry for entry in front}
    others = [entry for entry in kept if known.setdefault(_outcome(entry), entry) is entry]
    return shortest_first((e for e in dict.fromkeys(others) if e not in front), until)


def _outcome(entry: FrontEntry) -> tuple[int, int, str]:
    """Return what criteria see of a law; copies have it in common."""
    return entry.complexity, entry.n_constants, f"{entry.rmse:.6g}"


def _has_equation(entry: FrontEntry) -> bool:
    try:
        return entry.equation is not None
    except FAILURES:
        return False


def _by_other_criteria(entries: Sequence[FrontEntry]) -> list[FrontEntry]:
    """Return the laws among which the other criteria choose: with the least error of their size."""
    found: list[FrontEntry] = []
    for size in ("complexity", "n_constants"):
        least = math.inf
        for entry in sorted(entries, key=attrgetter(size, "rmse")):
            if entry.rmse < least and _has_equation(entry):
                found.append(entry)
                least = entry.rmse
    held = [entry for entry in entries if entry.held_out is not None and _has_equation(entry)]
    return [*found, *sorted(held, key=lambda each: each.held_out or 0.0)[:1]]
