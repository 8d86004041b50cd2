"""The search for one structure in all groups.

A group has few rows, and pooled rows follow one law only up to the constants of their groups. So
structures are proposed by several searches: on the pooled target, on the target minus an offset and
divided by a scale for each group, and in the largest groups alone. The scales and offsets are those
with which a smooth curve in the features fits all groups best. Every structure is then fitted to
all groups, with each constant shared or not, and the shortest description is chosen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gsr.deadline import in_time, is_late
from gsr.exceptions import GSRError
from gsr.groups.fitting import GroupedFit, GroupedRows, best_sharing
from gsr.groups.law import can_be_local, entry_of
from gsr.options import MIN_ROWS
from gsr.problem import Problem, make_evolution, make_problem
from gsr.rows import Rows
from gsr.search import Progress, SearchResult
from gsr.selection import FrontEntry
from gsr.selection.criteria import BITS_PER_NODE
from gsr.selection.fitted import (
    FAILURES,
    FittedLaw,
    LawLike,
    constants,
    norms,
    without_repeats,
)
from gsr.selection.target_scale import FLATTEST, TargetScale
from gsr.session import Session
from gsr.threads import one_thread
from gsr.transformation import Array

#: Parts of the time after which searches, and a rough comparison of their laws, must have ended.
SEARCHES, COMPARISON = 0.6, 0.75
#: Number of structures that are fitted with all ways to share constants even after the time limit.
ALWAYS = 2
#: Number of groups that are searched alone.
ALONE = 3
#: Number of structures fitted with all ways to share constants, and of entries made from them.
COMPARED, SHOWN = 16, 12
#: Rows and rounds of the smooth fit.
SMOOTH_ROWS, ROUNDS = 400, 12
#: Relative difference of errors below which two fits are the same law.
ALIKE = 1e-7
#: Steps of the fit of a structure to one group.
ALONE_STEPS = 30
RIDGES = (1e-6, 1e-4, 1e-2, 1.0)


class View(NamedTuple):
    """The rows of one of the searches."""

    rows: Rows
    #: Whether laws may transform the target; not allowed if the offsets were subtracted.
    transforms: bool


@dataclass(frozen=True, eq=False)
class Asked:
    """Specification of a search in groups."""

    parameters: Mapping[str, Any]
    settings: Mapping[str, Any]
    rows: Rows
    codes: npt.NDArray[np.intp]
    names: Sequence[str]
    target_name: str
    column: str
    labels: Sequence[str]
    #: Whether all constants differ between groups.
    all_local: bool


@dataclass(frozen=True, eq=False)
class Found:
    """Result of a search in groups: entries with the shortest description first."""

    entries: list[FrontEntry]
    result: SearchResult
    problem: Problem
    rows: GroupedRows


def search(asked: Asked, report: Callable[[Progress], object]) -> Found:
    """Search for structures, and fit them to the groups."""
    started = time.perf_counter()
    max_time: float | None = asked.parameters["max_time"]
    ends = [None if max_time is None else started + part * max_time for part in (COMPARISON, 1.0)]
    views = list(_views(asked))
    problem = _problem(asked, View(asked.rows, True), 1)
    groups = GroupedRows(problem.everything or problem.data, asked.codes)
    laws: list[LawLike] = []
    results = []
    for view in views:
        session, status = _searched(_problem(asked, view, len(views)), report)
        laws += session.laws()
        results.append((session, status))
        if status in ("interrupted", "stopped"):
            break
    with one_thread(), np.errstate(all="ignore"):
        fits = _compared(laws, groups, asked.all_local, *ends)
        entries = _entries(fits, asked)
    if not entries:
        raise GSRError("no law was found that is defined in all groups; allow more time")
    return Found(entries, _result(results, laws, started), problem, groups)


# ---- searches ------------------------------------------------------------------------------------


def _problem(asked: Asked, view: View, n_views: int) -> Problem:
    """Return the problem of a view, with its share of time and evaluations."""
    parameters, settings = dict(asked.parameters), dict(asked.settings)
    for name, setting in (("max_evals", "max_evaluations"), ("max_generations",) * 2):
        if parameters[name] is not None:
            parameters[name] = settings[setting] = max(parameters[name] // n_views, 1)
    if parameters["max_time"] is not None:
        parameters["max_time"] *= SEARCHES / n_views
    if not view.transforms:
        parameters["transform_target"], parameters["target_library"] = False, ["identity"]
        settings["transform_target"] = False
    return make_problem(parameters, view.rows, asked.names, asked.target_name, settings)


def _searched(problem: Problem, report: Callable[[Progress], object]) -> tuple[Session, str]:
    session = Session(problem, make_evolution(problem), problem.parameters["max_time"], report)
    return session, session.run()


def _result(
    results: Sequence[tuple[Session, str]],
    laws: Sequence[LawLike],
    started: float,
) -> SearchResult:
    """Return the work of all searches together, without their errors: their targets differ."""
    seconds = time.perf_counter() - started
    each = [
        SearchResult.of(s.evolution, status, seconds, [], laws, s.work_before)
        for s, status in results
    ]
    return replace(
        each[-1],
        generations=sum(r.generations for r in each),
        evaluations=sum(r.evaluations for r in each),
        n_unconverged=sum(r.n_unconverged for r in each),
        scanned_features=each[0].scanned_features,
    )


def _views(asked: Asked) -> Iterator[View]:
    """Yield the views on which searches run."""
    rows, codes = asked.rows, asked.codes
    yield View(rows, True)
    for with_offset in (False, True):
        scale, offset = _scales(rows, codes, with_offset)
        if np.ptp(scale) or np.ptp(offset):
            weights = scale[codes] ** 2 * (1.0 if rows.weights is None else rows.weights)
            y = (rows.y - offset[codes]) / scale[codes]
            view = Rows(rows.X, y, weights, x_sigma=rows.x_sigma).normalised()
            yield View(view, not with_offset)
    counts = np.bincount(codes)
    for group in np.argsort(-counts, kind="stable")[:ALONE]:
        alone = rows.take(np.flatnonzero(codes == group))
        if len(alone) >= MIN_ROWS and np.ptp(alone.y) > 0.0:
            yield View(alone, True)


def _scales(rows: Rows, codes: npt.NDArray[np.intp], with_offset: bool) -> tuple[Array, Array]:
    """Return the scale and the offset of each group around a smooth curve through all rows.

    Curve, scales and offsets are fitted in turn; the curve by kernel ridge regression.
    """
    n_groups = int(codes.max()) + 1
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), SMOOTH_ROWS)).astype(int))
    order = np.argsort(codes, kind="stable")[chosen]
    X, y, group = rows.X[order], rows.y[order], codes[order]
    kernel = _kernel(X)
    parts = [np.flatnonzero(group == k) for k in range(n_groups)]
    size = float(np.std(y)) or 1.0
    spread = [float(np.std(y[p]) if with_offset else np.sqrt(np.mean(y[p] ** 2))) for p in parts]
    scale = np.maximum(np.nan_to_num(spread), 1e-3 * size)
    offset = np.array([float(y[p].mean()) if with_offset else 0.0 for p in parts])
    for _ in range(ROUNDS):
        curve = _smooth(kernel, (y - offset[group]) / scale[group], scale[group] ** 2)
        for k, part in enumerate(parts):
            columns = np.column_stack([curve[part], np.ones(len(part))])[:, : 1 + with_offset]
            found = np.linalg.lstsq(columns, y[part], rcond=1e-6)[0]
            if abs(found[0]) > 1e-3 * size:
                scale[k], offset[k] = found[0], found[1] if with_offset else 0.0
        scale /= np.exp(np.mean(np.log(np.abs(scale))))
    return scale, offset


def _kernel(X: Array) -> Array:
    """Return a Gaussian kernel of the standardised features."""
    spread = X.std(axis=0)
    scaled = X / np.where(spread > 0.0, spread, 1.0)
    squares = ((scaled[:, None, :] - scaled[None, :, :]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-0.5 * squares / X.shape[1]))


def _smooth(kernel: Array, y: Array, weights: Array) -> Array:
    """Return a smooth curve at the rows; its ridge has the least leave-one-out error."""
    mean = float(np.average(y, weights=weights))
    noise = np.diag(weights.mean() / weights)
    best, curve = math.inf, np.full(len(y), mean)
    for ridge in RIDGES:
        inverse = np.linalg.inv(kernel + ridge * noise)
        dual = inverse @ (y - mean)
        left = dual / np.diag(inverse)
        error = float(np.average(left**2, weights=weights))
        if error < best:
            # Leave-one-out values: the scale of a group must not be affected by its own row.
            best, curve = error, y - left
    return curve


# ---- structures ----------------------------------------------------------------------------------


def _compared(
    laws: Sequence[LawLike],
    rows: GroupedRows,
    all_local: bool,
    rough_until: float | None,
    until: float | None,
) -> list[GroupedFit]:
    """Return the structures fitted to all groups, shortest description first."""
    found_laws = sorted(map(FittedLaw.of, without_repeats(laws)), key=lambda law: law.complexity)
    structures = [law for law in found_laws if can_be_local(law, rows.data.library)]
    rough = [(_rough(law, rows), law) for law in in_time(structures, rough_until, COMPARED)]
    order = sorted((each for each in rough if math.isfinite(each[0])), key=itemgetter(0))
    found = []
    for k, (_, law) in enumerate(order[:COMPARED]):
        if k >= ALWAYS and is_late(until):
            break
        end = None if k < ALWAYS else until
        try:
            best = best_sharing(law, rows, end, all_local=all_local)
        except FAILURES:
            continue
        if best is not None and math.isfinite(best.bits):
            found.append(best)
    found.sort(key=lambda each: each.bits)
    return [
        each
        for k, each in enumerate(found)
        if not any(_are_alike(each, shorter) for shorter in found[:k])
    ]


def _are_alike(one: GroupedFit, other: GroupedFit) -> bool:
    """Whether two fits are two ways to write one law."""
    return one.n_constants == other.n_constants and math.isclose(
        one.rmse, other.rmse, rel_tol=ALIKE
    )


def _rough(law: FittedLaw, rows: GroupedRows) -> float:
    """Return an estimate of the description length, with coefficients or all constants per group.

    Inner constants are fitted to each group only if the target is y itself.
    """
    n_inner = len(constants(law)) - len(law.alpha)
    squares = [(_squares_of_coefficients(law, rows), n_inner, len(law.alpha))]
    if n_inner and all(part.fitter is not None for part in rows.parts):
        squares.append((_squares_alone(law, rows), 0, len(constants(law))))
    known = (rows.bits(each, shared + own * rows.n_groups) for each, shared, own in squares)
    return min(known) + BITS_PER_NODE * law.complexity


def _squares_of_coefficients(law: FittedLaw, rows: GroupedRows) -> float:
    """Return the sum of squares with coefficients per group, to first order in the errors."""
    data = rows.data
    scale = TargetScale(law, data)
    size = np.abs(scale.slope(data.y))
    roots = 1.0 if data.weights is None else np.sqrt(data.weights)
    weigh = roots / np.maximum(size, FLATTEST * float(np.median(size)))
    columns = data.features(law, data.X) * weigh[:, None]
    target = scale.g(data.y) * weigh
    if not (np.isfinite(columns).all() and np.isfinite(target).all()):
        return math.inf
    columns /= norms(columns)
    total = 0.0
    for code in range(rows.n_groups):
        part = rows.codes == code
        found = np.linalg.lstsq(columns[part], target[part], rcond=1e-10)[0]
        total += float(((target[part] - columns[part] @ found) ** 2).sum())
    return total


def _squares_alone(law: FittedLaw, rows: GroupedRows) -> float:
    """Return the sum of squares with all constants fitted to each group separately."""
    total, free = 0.0, [True] * len(constants(law))
    for part in rows.parts:
        found = part.fitter.refine(law.psi, law.phi, law.alpha, ALONE_STEPS, free)
        if found is None or not math.isfinite(found[1]):
            return math.inf
        total += len(part.y) * found[1] ** 2
    return total


def _entries(fits: Sequence[GroupedFit], asked: Asked) -> list[FrontEntry]:
    made = (
        entry_of(each, asked.names, asked.target_name, asked.column, asked.labels)
        for each in fits[:SHOWN]
    )
    return [each for each in made if each is not None]
