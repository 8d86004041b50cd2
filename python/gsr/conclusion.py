"""From the laws that a search leaves to a front with one of them chosen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gsr import selection
from gsr.deadline import in_time, is_late
from gsr.problem import Problem
from gsr.rows import Rows
from gsr.selection import FrontEntry, PolePolicy
from gsr.selection.criteria import Criterion, priced_length
from gsr.selection.fitted import LawLike, Training, without_repeats
from gsr.selection.front_entries import tidied, with_simple_exponents
from gsr.selection.kinds import beside_front
from gsr.selection.noise_choice import choose_noise, promising
from gsr.selection.variants import with_a_part_less, without_slight_parts
from gsr.threads import one_thread

#: Laws beside the front that are fitted to all rows of a long table.
RUNNERS_UP = 10
#: Laws, the best by description length, whose exponents are looked at.
SOLVED = 3
#: Beside an exact law only those are shown that are simpler, and no other beats in error; one whose
#: error is larger by no more than this factor may still become so when it is refined.
NEAR_FRONT = 3.0
#: Laws whose error is below this part of the spread of y may turn out exact.
MAY_BE_EXACT = 1e-4
#: When the steps must be done, in parts of the time that is left after the search.
NOISE, FREED, FITTED, CHOSEN = 0.15, 0.25, 0.4, 0.5
REFITTED, SHORTENED, PRESENTED = 0.65, 0.72, 0.75
SPARE = 0.25


@dataclass(frozen=True)
class Conclusion:
    """What a search has found."""

    front: list[FrontEntry]  # simplest first
    best_index: int
    others: list[FrontEntry]  # beside the front, shortest description first


def conclude(
    problem: Problem,
    laws: Sequence[LawLike],
    held: Rows | None = None,
    criterion: Criterion = "mdl",
    poles: PolePolicy = "avoid",
    until: float | None = None,
) -> Conclusion:
    """Refine all laws, compare them and choose one; `held` are rows held out of the search.

    Laws that are not refined by `until`, on the clock of `time.perf_counter`, keep the constants
    that the search gave them.
    """
    parts = _schedule(until, problem.is_counted)

    def choose(until: float | None) -> FrontEntry:
        n_rows = len(entries[0].data.y) if entries and entries[0].data is not None else 0
        return selection.best(entries, n_rows, criterion, poles, until)

    with one_thread():
        if not any(law.exact for law in laws):
            problem = _with_noise_judged(problem, laws, parts(NOISE))
            laws = without_repeats([*laws, *problem.freed(laws, parts(FREED))])
        elif not callable(criterion) and problem.keeps_exact_laws:
            laws = _beside_exact(laws, problem.data.spread)
        entries = problem.entries(laws, held, parts(FITTED))
        again = problem.noise.follows_law or problem.everything is not None
        chosen = choose(parts(CHOSEN if again else PRESENTED))
        if problem.noise.follows_law and not chosen.exact and not is_late(parts(CHOSEN)):
            problem = problem.around(chosen.law)
            entries = problem.entries([entry.law for entry in entries], held, parts(REFITTED))
            chosen = choose(parts(PRESENTED))
        elif problem.data.weights is not None and problem.noise.kind == "constant":
            problem = problem.with_weighted_noise(chosen.law)
            entries = [replace(entry, data=problem.data) for entry in entries]
            chosen = choose(parts(PRESENTED))
        if problem.everything is not None:
            entries = _on_all_rows(entries, chosen, problem, problem.everything, parts(REFITTED))
            chosen = choose(parts(SHORTENED))
        if not chosen.exact:
            entries = _shortened(entries, chosen, problem, parts(SHORTENED))
            chosen = choose(parts(PRESENTED))
        return _presented(entries, chosen, problem, parts(PRESENTED))


def _with_noise_judged(problem: Problem, laws: Sequence[LawLike], until: float | None) -> Problem:
    """Return the problem with the noise that the laws speak for, if that is left open."""
    if problem.errors != "auto":
        return problem
    best = choose_noise(promising(laws, problem.data, until), problem.data, until)
    return problem.weighted(best) if best is not None and problem.differs(best.data) else problem


def _beside_exact(laws: Sequence[LawLike], spread: float) -> list[LawLike]:
    """Return the exact laws, and those that may be shown beside the shortest of them."""
    shortest = min((law for law in laws if law.exact), key=lambda law: law.bits)
    least, kept = math.inf, []
    for law in sorted(laws, key=lambda law: (law.complexity, law.rmse)):
        simpler = law.complexity < shortest.complexity and law.rmse <= NEAR_FRONT * least
        if law.exact or simpler or law.rmse <= MAY_BE_EXACT * spread:
            kept.append(law)
        least = min(least, law.rmse)
    return kept


def _schedule(until: float | None, is_counted: bool) -> Callable[[float], float | None]:
    """Return a function that tells when a part of the time that is left is over.

    If the search ends by counted work, steps may take `SPARE` more, so that the result depends on
    the clock only if time is really short.
    """
    start = time.perf_counter()

    def end(part: float) -> float | None:
        if until is None:
            return None
        return start + (part + SPARE * is_counted) * max(until - start, 0.0)

    return end


def _on_all_rows(
    entries: list[FrontEntry],
    chosen: FrontEntry,
    problem: Problem,
    everything: Training,
    until: float | None,
) -> list[FrontEntry]:
    """Return the laws of the front and the next best, fitted to all rows; the chosen one first."""
    wanted = [chosen, *selection.pareto(entries, chosen), *_next_best(entries, RUNNERS_UP)]
    finished: list[FrontEntry] = []
    for entry in dict.fromkeys(wanted):
        if finished and is_late(until):
            break
        fitted = selection.finish(entry, everything, until)
        finished.append(fitted if problem.admits(fitted.law) else entry)
    return finished


def _shortened(
    entries: list[FrontEntry], chosen: FrontEntry, problem: Problem, until: float | None
) -> list[FrontEntry]:
    """Return the laws without parts that the rows do not call for, and the best with fewer parts.

    Those that may be shown lose what their errors do not depend on.
    """
    data = problem.everything or problem.data
    shown = {chosen, *selection.pareto(entries, chosen), *_next_best(entries, RUNNERS_UP)}
    found = [
        _without_slight_parts(entry, problem, until) if entry in shown else entry
        for entry in entries
    ]
    found += _with_simple_exponents(_next_best(entries, SOLVED), problem, until)
    return [*found, *_with_fewer_parts(found, problem, data, until)]


def _with_simple_exponents(
    entries: list[FrontEntry], problem: Problem, until: float | None
) -> list[FrontEntry]:
    """Return the laws of ln(y) that the data allow to be written as y = C u^p with a simple p."""
    made = (
        with_simple_exponents(entry, entry.data or problem.data)
        for entry in in_time(entries, until, 0)
    )
    return [
        entry
        for entry in made
        if entry is not None
        and problem.admits(entry.law)
        and (entry.accepts is None or entry.accepts(entry.equation))
    ]


def _without_slight_parts(entry: FrontEntry, problem: Problem, until: float | None) -> FrontEntry:
    law = without_slight_parts(entry.law, entry.data or problem.data, until)
    if law is entry.law or not problem.admits(law):
        return entry
    if entry.accepts is not None and not entry.accepts(entry.make(law)):
        return entry
    return entry.with_law(law)


def _with_fewer_parts(
    entries: list[FrontEntry], problem: Problem, everything: Training, until: float | None
) -> list[FrontEntry]:
    """Return the best law with fewer terms and factors, one less at a time, fitted to all rows.

    Some rows may have called for a part that all of them do not.
    """

    def bits(entry: FrontEntry) -> float:  # those of the choice take long
        return priced_length(entry.law, everything)

    found: list[FrontEntry] = []
    best = min(entries, key=bits)
    while not is_late(until):
        fitted = [
            selection.finish(best.with_law(less), everything, until)
            for less in in_time(with_a_part_less(best.law, everything), until, 0)
        ]
        known = (e for e in fitted if math.isfinite(e.rmse) and problem.admits(e.law))
        shortest = min(known, key=bits, default=best)
        if not bits(shortest) < bits(best):
            shortest = tidied(best, everything)  # a bracket may hide a part that is not needed
        if shortest is best:
            break
        found.append(best := shortest)
    return found


def _next_best(entries: Sequence[FrontEntry], count: int) -> list[FrontEntry]:
    known = [entry for entry in entries if "length" in vars(entry)]
    return sorted(known, key=lambda entry: entry.length)[:count]


def _presented(
    entries: list[FrontEntry], chosen: FrontEntry, problem: Problem, until: float | None
) -> Conclusion:
    shown = chosen
    shorter = tidied(shown, problem.everything or problem.data)
    if shorter is not shown and problem.admits(shorter.law):
        shown = shorter
    orthogonal = selection.with_errors_of_features(shown)
    if orthogonal is not shown and problem.admits(orthogonal.law):
        shown = orthogonal
    entries = [shown if entry is chosen else entry for entry in entries]
    simplest = selection.with_least_complexity(shown, entries)
    entries = [simplest if entry is shown else entry for entry in entries]
    chosen = simplest
    front = selection.without_failures(selection.pareto(entries, chosen))
    front = [entry for entry in front if entry is chosen or not entry.leaves_branch_open]
    front = selection.without_copies(front, chosen, problem.data.X)
    best_index = front.index(chosen)
    others = [] if chosen.exact else beside_front(entries, chosen, front, until)
    front, others = (
        [selection.with_squared_error(selection.marked(each, chosen)) for each in part]
        for part in (front, others)
    )
    return Conclusion(front, best_index, others)
