"""Which law of the front to present."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice
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
) -> int:
    """Return the index of the law to present.

    Parameters
    ----------
    entries : sequence of FrontEntry
        The front, simplest first.
    n_rows : int
        Training rows.
    criterion : str or callable
        ``"mdl"``: the shortest description of law and data together. ``"bic"``, ``"aicc"``:
        the information criteria. ``"held_out"``: the least error on held-out rows, or leaving
        out one row at a time. ``"elbow"``: the law farthest below the line from the simplest to
        the most accurate, in the logarithm of the error. ``"rmse"``: the least error.
        ``"simplest within 0.1"``: the simplest law whose error is at most 10 % above the least.
        A callable takes an entry and returns what is to be least.
    poles : {"avoid", "forbid", "allow"}
        What happens to laws with poles or undefined points between the samples, exact laws
        apart: ``"forbid"`` passes over them, ``"avoid"`` too unless they make the description
        much shorter (by `BITS_OF_POLE`).
    until : float, optional
        When to end, on the clock of `time.perf_counter`; fewer laws are looked at closely then.

    Returns
    -------
    int
        The exact law of the fewest bits if there is one, unless the criterion is a callable.
    """
    if not entries:
        raise GSRError(
            "no law with a finite error was found; allow more time, add 'identity' to "
            "target_library, or check that units and other constraints leave room for one"
        )
    exact = [i for i, entry in enumerate(entries) if entry.exact]
    if exact and not callable(criterion):
        return min(exact, key=lambda i: (entries[i].bits, entries[i].transformed))
    with one_thread():
        ranked = ranking(entries, n_rows, criterion, until)
        if poles == "allow":
            return ranked[0]
        return _safest(entries, ranked, poles, criterion == "mdl", until)


def _safest(
    entries: Sequence[FrontEntry],
    ranked: Sequence[int],
    policy: str,
    by_length: bool,
    until: float | None,
) -> int:
    """Return the best law that is tame, or a wild one that describes the data much better.

    A term that lives on one or two rows is fitted to their noise, and the error of a law with
    several solutions for y is that of the nearest one, which new rows do not tell: such laws are
    chosen only if there is no other.
    """
    if policy not in ("avoid", "forbid"):
        raise GSRError(f"poles must be 'avoid', 'forbid' or 'allow', got {policy!r}")
    lasting = (i for i in ranked if entries[i].length < math.inf and entries[i].is_sound)
    first = next(lasting, ranked[0])
    candidates = in_time(chain([first], lasting), until, LEAST_LOOKED_AT)
    tame = list(islice((i for i in candidates if entries[i].is_tame), FEW)) or [first]
    # The ranking may be rough for lack of time.
    shortest = min(tame, key=lambda i: entries[i].length)
    is_shorter = entries[shortest].length < entries[tame[0]].length - EQUAL_BITS
    chosen = shortest if is_shorter and by_length else tame[0]
    if by_length:
        chosen = _plainest(entries, ranked, _undominated(entries, tame, chosen))
    if policy == "forbid" or chosen == first:
        return chosen
    return first if entries[first].length + BITS_OF_POLE < entries[chosen].length else chosen


def _undominated(entries: Sequence[FrontEntry], among: Sequence[int], chosen: int) -> int:
    """Return the chosen law, or one about as short that is simpler and has a smaller error."""
    here = entries[chosen]
    better = (
        i
        for i in among
        if entries[i].complexity < here.complexity
        and entries[i].n_constants <= here.n_constants
        and _error(entries[i]) < _error(here) * (1.0 - AS_GOOD)
        and entries[i].length <= here.length + BITS_OF_DOMINATION
    )
    return min(better, key=lambda i: entries[i].length, default=chosen)


def _plainest(entries: Sequence[FrontEntry], ranked: Sequence[int], chosen: int) -> int:
    """Return the chosen law in its plainest words: y = 475 x, not y^3 = 1.07e8 x^3."""
    here = entries[chosen]
    if here.data is None:
        return chosen
    for i in ranked[:LEAST_LOOKED_AT]:
        entry = entries[i]
        plainer = entry.left_nodes <= here.left_nodes and entry.complexity < here.complexity
        near = abs(_error(entry) - _error(here)) <= AS_GOOD * _error(here)
        if plainer and near and _say_the_same(entry, here):
            return i
    return chosen


def _say_the_same(one: FrontEntry, other: FrontEntry) -> bool:
    """Tell whether the predictions of two laws differ by less than their errors could show."""
    assert other.data is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = [each.equation.predict(other.data.X) for each in (one, other)]
    difference = np.abs(values[0] - values[1])
    return bool(np.isfinite(difference).all() and difference.max() <= SAME_WORDS * other.rmse)


def pareto(entries: Sequence[FrontEntry], chosen: FrontEntry) -> tuple[list[FrontEntry], int]:
    """Return the entries that no other beats in both complexity and error, and the chosen one.

    Laws that would beat the chosen one by a little, with a longer description, are left out.
    """
    others = [each for each in entries if each is not chosen and math.isfinite(each.rmse)]
    kept: list[FrontEntry] = []
    for entry in sorted(others, key=lambda each: (each.complexity, _error(each))):
        if (not kept or _error(entry) < _error(kept[-1])) and not _dominates(entry, chosen):
            kept.append(entry)
    kept = [each for each in kept if not _dominates(chosen, each)]
    table = sorted([*kept, chosen], key=lambda each: each.complexity)
    return table, table.index(chosen)


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


def with_least_complexity(chosen: FrontEntry, entries: Sequence[FrontEntry]) -> FrontEntry:
    """Return an entry with the complexity of the simplest law that is the same in other words."""
    if chosen.data is None:
        return chosen
    near = (
        entry
        for entry in sorted(entries, key=lambda each: each.complexity)
        if entry.complexity < chosen.complexity
        and abs(_error(entry) - _error(chosen)) <= AS_GOOD * _error(chosen)
    )
    for entry in near:
        if _say_the_same(entry, chosen):
            return replace(chosen, complexity=entry.complexity)
    return chosen


def without_copies(entries: Sequence[FrontEntry], chosen: FrontEntry, X: Array) -> list[FrontEntry]:
    """Leave out laws that are another one in other words; the chosen one stays."""
    same = duplicates([entry.equation for entry in entries], X)
    return [entry for k, entry in enumerate(entries) if k not in same or entry is chosen]


def _error(entry: FrontEntry) -> float:
    return 0.0 if entry.exact else entry.rmse
