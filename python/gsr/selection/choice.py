"""Which law of the front to present, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import attrgetter
from typing import Literal

import numpy as np

from gsr.deadline import in_time
from gsr.equation import listed
from gsr.exceptions import GSRError
from gsr.selection.criteria import (
    BITS_OF_POLE,
    EQUAL_BITS,
    Criterion,
    criterion_value,
    is_known,
    priced_length,
    ranking,
    rough_digits,
    rough_length,
)
from gsr.selection.entry import AS_GOOD, FrontEntry
from gsr.selection.expressions import variables_of
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.grammar import basis_function
from gsr.selection.kinds import bits_above, has_length, of_different_kinds, shortest_first
from gsr.selection.noise import OF_MEDIAN, Loss, Noise, neighbour_values, robust_scale
from gsr.selection.simplify import duplicates
from gsr.selection.target_scale import attempted, residuals
from gsr.threads import one_thread
from gsr.traits import DIVISION, LOGARITHM, TANGENT
from gsr.transformation import Array, Indices

#: Laws of a rough ranking whose description lengths are compared.
FEW = 6
#: Laws that are looked at for poles however little time is left.
LEAST_LOOKED_AT = 30
#: A law that is beaten in complexity and error is given up for one that takes so many bits more.
BITS_OF_DOMINATION = 3.0
#: Laws whose predictions differ by less than this part of the error are the same law.
SAME_PREDICTIONS = 1e-3
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
    """Return the best law that is well behaved, or one that describes the data much better.

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
    """Return the simplest law with the same predictions: y = 475 x, not y^3 = 1.07e8 x^3."""
    if chosen.data is None:
        return chosen
    near = ranked[:LEAST_LOOKED_AT]
    plain = (entry for entry in near if entry.left_nodes <= chosen.left_nodes)
    return _first_with_same_predictions(plain, chosen) or chosen


def with_least_complexity(chosen: FrontEntry, entries: Sequence[FrontEntry]) -> FrontEntry:
    """Return an entry with the complexity of the simplest law that predicts the same."""
    if chosen.data is None:
        return chosen
    by_size = sorted(entries, key=attrgetter("complexity"))
    simplest = _first_with_same_predictions(by_size, chosen)
    return replace(chosen, complexity=simplest.complexity) if simplest else chosen


def _first_with_same_predictions(
    entries: Iterable[FrontEntry], chosen: FrontEntry
) -> FrontEntry | None:
    """Return the first simpler law whose predictions differ by less than the error could show."""
    error = _error(chosen)
    for entry in entries:
        simpler = entry.complexity < chosen.complexity
        if simpler and abs(_error(entry) - error) <= AS_GOOD * error:
            assert chosen.data is not None
            mine, other = (e.equation.solution(chosen.data.X).values for e in (entry, chosen))
            difference = np.abs(mine - other)
            if np.isfinite(difference).all() and difference.max() <= SAME_PREDICTIONS * chosen.rmse:
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
    """Return whether a law is no more complex than another, and has no larger error."""
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
    """Return the laws without those that predict what an earlier one does; the chosen one stays."""
    same = duplicates([entry.equation for entry in entries], X)
    return [entry for k, entry in enumerate(entries) if k not in same or entry is chosen]


def _error(entry: FrontEntry) -> float:
    return 0.0 if entry.exact else entry.rmse


# ---- outliers ------------------------------------------------------------------------------------

#: Fewer rows do not show which of them are far from the others.
LEAST_ROWS = 15
#: Outliers are at least so many standard deviations away, and at most this part of the rows.
FAR, MOST = 10.0, 0.1
#: The same in units of the range of their neighbours.
BEYOND = 2.0
#: Rows, next in size, by which the standard deviation near a row is estimated.
NEAR = 15
#: Laws that are fitted again.
LAWS = 20


def note(chosen: FrontEntry, entries: Sequence[FrontEntry]) -> str:
    """Return a remark on rows that dominate a least-squares fit, with the law that fits the others.

    Empty if no row is far from the others, or the law is as good without it.
    """
    data = chosen.data
    if data is None or chosen.exact or not data.loss.is_squared or len(data.y) < LEAST_ROWS:
        return ""
    rows = outlying_rows(data.X, data.y)
    if not 0 < len(rows) <= MOST * len(data.y):
        return ""
    robust = replace(data, loss=Loss("huber"))
    if not data.noise.absolute:  # its kind may have been judged by these rows
        robust = replace(robust, weights=None, noise=Noise())
    best = _best([chosen, *entries], robust)
    if best is None or _is_as_good(chosen, best, robust, rows):
        return ""
    found = np.zeros(len(data.y), dtype=bool)
    found[rows] = True
    return (
        f"the squared error is dominated by {listed(found)}, far from all others: try loss='huber',"
        f" by which {chosen.make(best)} is better"
    )


def outlying_rows(X: Array, y: Array) -> Indices:
    """Return the numbers of the rows that are far from their neighbours.

    The scale is that of rows of similar y, as noise may grow with it. Where y is steep, no row is
    far that differs from its neighbours little more than they do from each other, but for one on
    either side.
    """
    near = neighbour_values(X, y)
    left = y - np.median(near, axis=1)
    low, high = np.sort(near[:, 1:], axis=1)[:, [1, -2]].T
    beyond = np.maximum(low - y, y - high) > BEYOND * (high - low)
    order = np.argsort(y - left, kind="stable")
    sizes = np.abs(left[order])
    starts = np.clip(np.arange(len(y)) - NEAR // 2, 0, max(len(y) - NEAR, 0))
    scale = np.empty(len(y))
    scale[order] = [OF_MEDIAN * np.median(sizes[start : start + NEAR]) for start in starts]
    return np.flatnonzero(beyond & (np.abs(left) > FAR * scale))


def _best(entries: Sequence[FrontEntry], robust: Training) -> FittedLaw | None:
    """Return the law that describes most rows best, fitted to them."""
    known = sorted(entries[1:], key=lambda entry: rough_length(entry.law, robust))[:LAWS]
    fitted = [attempted(entry.law, robust) for entry in [entries[0], *known]]
    return min(
        (law for law in fitted if np.isfinite(law.rmse)),
        key=lambda law: priced_length(law, robust),
        default=None,
    )


def _is_as_good(chosen: FrontEntry, best: FittedLaw, robust: Training, rows: Indices) -> bool:
    """Return whether the chosen law agrees on most rows, or the rows are no outliers."""
    left, here = residuals(best, robust), residuals(chosen.law, robust)
    if not np.isfinite(left).all():
        return True
    scale = robust_scale(left)
    others = np.setdiff1d(np.arange(len(left)), rows)
    same = np.abs(left - here)[others].max() <= scale
    return bool(same or (np.abs(left[rows]) < FAR * scale).any())


# ---- reasons -------------------------------------------------------------------------------------

SHORTEST = "shortest description"
#: Letters of a law.
LONGEST = 60
#: How a choice by the row of the table is called.
BY_INDEX = "index"
#: Chosen among laws for a derivative.
BY_SERIES = "series"
#: Laws of other kinds that are compared with the chosen one.
COMPARED = 3
NAMES = {
    "mdl": "short description",
    "bic": "least BIC",
    "aicc": "least AICc",
    "elbow": "the elbow of the front",
    "held_out": "least error on rows left out",
    "rmse": "least error",
}


def name_of(criterion: Criterion) -> str:
    """Return how a criterion is called."""
    if isinstance(criterion, str):
        return criterion
    name = str(getattr(criterion, "__name__", type(criterion).__name__))
    return name if name.isidentifier() else "a function"


def value_of(
    chosen: FrontEntry, entries: Sequence[FrontEntry], n_rows: int, criterion: Criterion
) -> float:
    """Return the value of a criterion for a law; the description length for ``"mdl"``."""
    if criterion == "mdl":
        return chosen.length
    return criterion_value(chosen, entries, n_rows, criterion)


def why(
    chosen: FrontEntry,
    others: Sequence[FrontEntry],
    n_rows: int,
    criterion: str,
    value: float | None,
) -> str:
    """Return why a law was chosen."""
    if chosen.exact:
        return "exact to rounding"
    if not all(map(has_length, others)):
        return _by_criterion(criterion, value)
    rivals = [each for each in others if each is not chosen]
    passed = None  # the best law that was passed over for its poles
    if is_known(criterion):
        ranked = ranking([*rivals, chosen], n_rows, criterion)
        better = ranked[: ranked.index(chosen)]
        passed = next((each for each in better if each.poles.verdict == "unsafe"), None)
    kinds = of_different_kinds([chosen, *shortest_first(rivals)], COMPARED)[1:]
    if passed is not None:
        kinds = [each for each in kinds if each.poles.verdict != "unsafe"]
    nearest = kinds[:1]
    parts = [_by_criterion(criterion, value)]
    longer = max([bits_above(chosen, each) for each in nearest], default=0.0)
    if criterion == "mdl" and longer <= 0.0:
        parts = [SHORTEST if passed is None else f"{SHORTEST} without a pole"]
    elif criterion == "mdl" and longer <= EQUAL_BITS:
        parts = [f"as short a description as any, {longer:.1f} bits above the shortest"]
    if passed is not None:
        shorter = f"{bits_above(chosen, passed):.1f} bits shorter"
        how = shorter if criterion == "mdl" else "better"
        parts.append(f"{written(passed)} is {how} but {pole(passed)}")
    parts += [_compared(chosen, each) for each in nearest]
    if chosen.poles.verdict == "unsafe":
        parts.append(f"it {pole(chosen)}")
    parts.append(note(chosen, rivals))
    return "; ".join(filter(None, parts))


def _compared(chosen: FrontEntry, rival: FrontEntry) -> str:
    more = bits_above(rival, chosen)
    if not math.isfinite(more):
        return f"the next of another kind is {written(rival)}"
    if more < -EQUAL_BITS:
        return f"the shortest description, {written(rival)}, takes {-more:.1f} bits less"
    bits = f"{more:.1f} bits more" if more > EQUAL_BITS else "as many bits"
    return f"the next best of another kind, {written(rival)}, takes {bits}"


def _by_criterion(criterion: str, value: float | None) -> str:
    if criterion == BY_INDEX:
        return "chosen by its number in the table"
    if criterion == BY_SERIES:
        return "its integral describes the measured series in the fewest bits"
    if criterion.startswith("simplest within"):
        return f"the simplest law with an error within {criterion.split()[-1]} of the least"
    name = NAMES.get(criterion, f"least value of {criterion}")
    return name if value is None or criterion in ("elbow", "mdl") else f"{name}: {value:.4g}"


def written(entry: FrontEntry) -> str:
    """Return a law as the table shows it, cut if it is long."""
    text = str(entry.equation)
    return text if len(text) <= LONGEST else text[: LONGEST - 3].rstrip(" .") + "..."


def pole(entry: FrontEntry) -> str:
    """Return what is wrong with a law between the rows, and where."""
    found = entry.poles
    what = "has a pole" if found.reason in (DIVISION, LOGARITHM, TANGENT) else "is undefined"
    if found.where is None:
        return what
    names = entry.equation.feature_names
    library = entry.libraries[0]
    used = {name for m in entry.law.phi for name in variables_of(basis_function(m, library))}
    places = (
        f"{name} = {value:.3g}"
        for j, (name, value) in enumerate(zip(names, found.where, strict=True))
        if f"x{j + 1}" in used
    )
    return f"{what} at {', '.join(places)}"
