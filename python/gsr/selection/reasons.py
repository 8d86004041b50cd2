"""Why a law was chosen, in one line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gsr.selection import outliers
from gsr.selection.choice import FrontEntry
from gsr.selection.criteria import (
    EQUAL_BITS,
    Criterion,
    criterion_value,
    is_known,
    ranking,
)
from gsr.selection.expressions import variables_of
from gsr.selection.kinds import bits_above, has_length, of_different_kinds, shortest_first
from gsr.selection.structure import basis_function
from gsr.traits import DIVISION, LOGARITHM, TANGENT

SHORTEST = "shortest description"
#: Letters of a law.
LONGEST = 60
#: How a choice by the row of the table is called.
BY_INDEX = "index"
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
    return criterion_value(entries, entries.index(chosen), n_rows, criterion)


def why(
    chosen: FrontEntry,
    others: Sequence[FrontEntry],
    n_rows: int,
    criterion: str,
    value: float | None,
) -> str:
    """Say why a law was chosen."""
    if chosen.exact:
        return "exact to rounding"
    if not all(map(has_length, others)):
        return _by_criterion(criterion, value)
    rivals = [each for each in others if each is not chosen]
    passed = _passed_over(chosen, rivals, n_rows, criterion)
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
        parts.append(f"{written(passed)} {_better(chosen, passed, criterion)} but {pole(passed)}")
    parts += [_compared(chosen, each) for each in nearest]
    if chosen.poles.verdict == "unsafe":
        parts.append(f"it {pole(chosen)}")
    parts.append(outliers.note(chosen, rivals))
    return "; ".join(filter(None, parts))


def _passed_over(
    chosen: FrontEntry, rivals: Sequence[FrontEntry], n_rows: int, criterion: str
) -> FrontEntry | None:
    """Return the best law that was passed over for its poles, if there is one."""
    if not is_known(criterion):
        return None
    entries = [*rivals, chosen]
    ranked = [entries[i] for i in ranking(entries, n_rows, criterion)]
    better = ranked[: ranked.index(chosen)]
    return next((each for each in better if each.poles.verdict == "unsafe"), None)


def _better(chosen: FrontEntry, rival: FrontEntry, criterion: str) -> str:
    if criterion != "mdl":
        return "is better"
    return f"is {bits_above(chosen, rival):.1f} bits shorter"


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
    if criterion.startswith("simplest within"):
        return f"the simplest law with an error within {criterion.split()[-1]} of the least"
    name = NAMES.get(criterion, f"least value of {criterion}")
    return name if value is None or criterion in ("elbow", "mdl") else f"{name}: {value:.4g}"


def written(entry: FrontEntry) -> str:
    """Return a law as the table shows it, cut if it is long."""
    text = str(entry.equation)
    return text if len(text) <= LONGEST else text[: LONGEST - 3].rstrip(" .") + "..."


def pole(entry: FrontEntry) -> str:
    """Say what is wrong with a law between the rows, and where."""
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
