"""Which law of the front to present."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import attrgetter
from typing import Literal

import numpy as np

from gsr.deadline import in_time
from gsr.exceptions import GSRError
from gsr.selection.criteria import BITS_OF_POLE, EQUAL_BITS, Criterion, ranking, rough_digits
from gsr.selection.entry import AS_GOOD, FrontEntry
from gsr.selection.simplify import duplicates
from gsr.threads import one_thread
from gsr.transformation import Array

#: Laws of a rough ranking whose description lengths are compared.
FEW = 6
#: Laws that are looked at for poles however little time is left.
LEAST_LOOKED_AT = 30
#: A law that is beaten in complexity and error is given up for one that takes so many bits more.
BITS_OF_DOMINATION = 3.0
#: Laws whose predictions differ by less than this part of the error are one law in other words.
SAME_WORDS = 1e-3
#: Bits that a better law must save the residuals, beyond its constants, so that those of another
#: are not noise.
OUTDONE_BITS = 12.0
PolePolicy = Literal["avoid", "forbid", "allow"]


def best(
    entries: Sequence[FrontEntry],
    n_rows: int,
    criterion: Criterion = "mdl",
    poles: PolePolicy = "avoid",
    until: float | None = None,
) -> FrontEntry:
    """Return the law to present: unless the criterion is a callable, an exact one if there is one.

    Laws with poles or undefined points between the samples, exact laws apart, are passed over if
    `poles` is ``"forbid"``, and if it is ``"avoid"`` too unless they make the description much
    shorter. Fewer laws are looked at closely after `until`, on the clock of `time.perf_counter`.
    """
    if not entries:
        raise GSRError(
            "no law with a finite error was found; allow more time, add 'identity' to "
            "target_library, or check that units and other constraints leave room for one"
        )
    exact = [entry for entry in entries if entry.exact]
    if exact and not callable(criterion):
        return min(exact, key=lambda entry: (entry.bits, entry.transformed))
    with one_thread():
        ranked = ranking(entries, n_rows, criterion, until)
        if poles == "allow":
            return ranked[0]
        return _safest(ranked, poles, criterion == "mdl", until)


def _safest(
    ranked: Sequence[FrontEntry], policy: str, by_length: bool, until: float | None
) -> FrontEntry:
    """Return the best law that is tame, or a wild one that describes the data much better.

    A term that lives on one or two rows is fitted to their noise, and the error of a law with
    several solutions for y is that of the nearest one, which new rows do not tell: such laws are
    chosen only if there is no other.
    """
    if policy not in ("avoid", "forbid"):
        raise GSRError(f"poles must be 'avoid', 'forbid' or 'allow', got {policy!r}")
    lasting = (entry for entry in ranked if entry.length < math.inf and entry.is_sound)
    first = next(lasting, ranked[0])
    candidates = in_time(chain([first], lasting), until, LEAST_LOOKED_AT)
    tame = list(islice((entry for entry in candidates if entry.is_tame), FEW)) or [first]
    chosen = tame[0]
    if by_length:
        # The ranking may be rough for lack of time.
        shortest = min(tame, key=attrgetter("length"))
        chosen = shortest if shortest.length < chosen.length - EQUAL_BITS else chosen
        chosen = _plainest(ranked, _undominated(tame, chosen))
    if policy == "forbid" or chosen is first:
        return chosen
    return first if first.length + BITS_OF_POLE < chosen.length else chosen


def _undominated(among: Sequence[FrontEntry], chosen: FrontEntry) -> FrontEntry:
    """Return the chosen law, or one about as short that is simpler and has a smaller error."""
    better = (
        entry
        for entry in among
        if entry.complexity < chosen.complexity
        and entry.n_constants <= chosen.n_constants
        and _error(entry) < _error(chosen) * (1.0 - AS_GOOD)
        and entry.length <= chosen.length + BITS_OF_DOMINATION
    )
    return min(better, key=attrgetter("length"), default=chosen)


def _plainest(ranked: Sequence[FrontEntry], chosen: FrontEntry) -> FrontEntry:
    """Return the chosen law in its plainest words: y = 475 x, not y^3 = 1.07e8 x^3."""
    if chosen.data is None:
        return chosen
    near = ranked[:LEAST_LOOKED_AT]
    plain = (entry for entry in near if entry.left_nodes <= chosen.left_nodes)
    return _first_that_says_the_same(plain, chosen) or chosen


def with_least_complexity(chosen: FrontEntry, entries: Sequence[FrontEntry]) -> FrontEntry:
    """Return an entry with the complexity of the simplest law that is the same in other words."""
    if chosen.data is None:
        return chosen
    by_size = sorted(entries, key=attrgetter("complexity"))
    simplest = _first_that_says_the_same(by_size, chosen)
    return replace(chosen, complexity=simplest.complexity) if simplest else chosen


def _first_that_says_the_same(
    entries: Iterable[FrontEntry], chosen: FrontEntry
) -> FrontEntry | None:
    """Return the first simpler law whose predictions differ by less than the error could show."""
    error = _error(chosen)
    for entry in entries:
        simpler = entry.complexity < chosen.complexity
        if simpler and abs(_error(entry) - error) <= AS_GOOD * error:
            assert chosen.data is not None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values = [each.equation.predict(chosen.data.X) for each in (entry, chosen)]
            difference = np.abs(values[0] - values[1])
            if np.isfinite(difference).all() and difference.max() <= SAME_WORDS * chosen.rmse:
                return entry
    return None


def pareto(entries: Sequence[FrontEntry], chosen: FrontEntry) -> list[FrontEntry]:
    """Return the chosen entry, and those that no other beats in both complexity and error.

    Laws that would beat the chosen one by a little, with a longer description, are left out.
    """
    others = [each for each in entries if each is not chosen and math.isfinite(each.rmse)]
    kept: list[FrontEntry] = []
    for entry in sorted(others, key=lambda each: (each.complexity, _error(each))):
        if (not kept or _error(entry) < _error(kept[-1])) and not _dominates(entry, chosen):
            kept.append(entry)
    kept = [each for each in kept if not _dominates(chosen, each)]
    return sorted([*kept, chosen], key=attrgetter("complexity"))


def _dominates(one: FrontEntry, other: FrontEntry) -> bool:
    """Tell whether a law is no more complex than another, and has no larger error."""
    return one.complexity <= other.complexity and _error(one) <= _error(other)


def marked(entry: FrontEntry, chosen: FrontEntry) -> FrontEntry:
    """Return an entry that knows whether the chosen law outdoes it."""
    if entry is chosen or entry.exact or entry.data is None or not entry.rmse > chosen.rmse:
        return entry
    n_rows = len(entry.data.y)
    price = rough_digits(n_rows) * max(chosen.n_constants - entry.n_constants, 0)
    saved = n_rows * math.log2(entry.rmse / max(chosen.rmse, 1e-300))
    return replace(entry, outdone=saved > OUTDONE_BITS + price)


def without_copies(entries: Sequence[FrontEntry], chosen: FrontEntry, X: Array) -> list[FrontEntry]:
    """Leave out laws that are another one in other words; the chosen one stays."""
    same = duplicates([entry.equation for entry in entries], X)
    return [entry for k, entry in enumerate(entries) if k not in same or entry is chosen]


def _error(entry: FrontEntry) -> float:
    return 0.0 if entry.exact else entry.rmse
