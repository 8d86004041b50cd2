"""Speed of the core's inner steps, each beside something else that does the same in the same run.

Machines are noisy, so absolute figures mean little: the two sides take turns, the best turn of
each counts, and the ratio is what to read.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Group
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks import operon_evaluator
from benchmarks.command import console, parse_arguments, parser_of
from gsr import _core
from gsr.benchmarks.runner import write_json
from gsr.benchmarks.suites import get
from gsr.library import TABLE_13, Library
from tests import reference

Array = npt.NDArray[np.float64]
Timing = Callable[[], float]

N_PHI, N_FEATURES = 15, 10
PROBLEM = "Nguyen-9"
PRINTED_ITERATIONS = 200  # Algorithm 1 as printed would run into its limit of 5000


@dataclass(frozen=True)
class Row:
    """One measurement."""

    #: A key of `SECTIONS`.
    section: str
    #: What was measured.
    name: str
    #: Rows of data.
    n: int
    #: Figures of the core and of what it is held against; NaN where that is not installed.
    value: float
    #: Of both; in ``ns`` less is better, otherwise more.
    unit: str
    reference: float
    #: How many times as fast as the reference the core is.
    ratio: float


@dataclass(frozen=True)
class Section:
    """How a group of measurements is shown."""

    title: str
    against: str
    caption: str


SECTIONS = {
    "transformations": Section("Transformations", "NumPy", "NumPy's ufuncs write to out=."),
    "admm": Section(
        f"ADMM, {N_PHI} phi + 1 psi",
        "NumPy",
        f"The same iterations in NumPy; as printed, {PRINTED_ITERATIONS} of them.",
    ),
    "individuals": Section(
        f"Random individuals, {N_PHI} phi + 1 psi, {PROBLEM}",
        "NumPy",
        "Made, evaluated and solved.",
    ),
    "nodes": Section(
        f"Function nodes x rows, {N_FEATURES} features",
        "pyoperon",
        "The functions of Table 13. Here in double precision, and rows that recur are kept; "
        "pyoperon in single precision, on trees of up to 50 nodes.",
    ),
}


def run(repeats: int = 7, effort: float = 1.0) -> list[Row]:
    """Measure everything on one thread.

    Parameters
    ----------
    repeats : int
        Turns that each side takes.
    effort : float
        Scales the work of a turn.

    Returns
    -------
    list of Row
    """
    with threadpool_limits(1):
        return [row for measure in MEASUREMENTS for row in measure(repeats, effort)]


def best_of(repeats: int, *timings: Timing) -> list[float]:
    """Return the smallest of several timings of each, taken in turns."""
    best = [math.inf] * len(timings)
    for _ in range(repeats):
        best = [min(least, timing()) for least, timing in zip(best, timings, strict=True)]
    return best


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _rate(section: str, name: str, n: int, unit: str, ours: float, other: float) -> Row:
    return Row(section, name, n, ours, unit, other, ours / other)


# ---- measurements --------------------------------------------------------------------------------


def _transformations(repeats: int, effort: float) -> Iterator[Row]:
    for n in (20, 1_000, 100_000):
        x = np.random.default_rng(n).uniform(0.5, 2.0, n)
        out = np.empty(n)
        for each in _core.builtin_transformations():
            calls = max(1, int(effort * (100_000 if n < 100 else 200_000) / n))
            function = reference.FUNCTIONS[each.name]
            ours, other = best_of(
                repeats,
                partial(_core.time_transformation, each, x, calls),
                partial(seconds, partial(_call, function, x, out, calls)),
            )
            scale = 1e9 / (calls * n)
            yield Row(
                "transformations", each.name, n, ours * scale, "ns", other * scale, other / ours
            )


def _call(function: Callable[[Array, Array], object], x: Array, out: Array, calls: int) -> None:
    for _ in range(calls):
        function(x, out)


def _admm(repeats: int, effort: float) -> Iterator[Row]:
    printed = _core.AdmmSettings.printed()
    printed.max_iterations = PRINTED_ITERATIONS
    well_posed = _core.AdmmSettings.well_posed()
    for n in (20, 1_000):
        X, Y = _problems(n, max(1, int(40 * effort)))
        tables = [np.ascontiguousarray(x.T) for x in X]
        targets = [np.ascontiguousarray(y.T) for y in Y]
        signed = [np.hstack([x, -y]) for x, y in zip(tables, targets, strict=True)]

        def as_printed(signed: list[Array] = signed) -> None:
            for a in signed:
                reference.admm_printed(a, printed)

        def as_well_posed(tables: list[Array] = tables, targets: list[Array] = targets) -> None:
            for x, y in zip(tables, targets, strict=True):
                reference.admm_well_posed(x, y, well_posed)

        for name, core, settings, plain in (
            ("as printed", _core.admm_printed, printed, as_printed),
            ("well-posed", _core.admm_well_posed, well_posed, as_well_posed),
        ):
            ours, other = best_of(
                repeats, partial(seconds, partial(core, X, Y, settings)), partial(seconds, plain)
            )
            yield _rate("admm", name, n, "solves/s", len(X) / ours, len(X) / other)


def _problems(n: int, count: int) -> tuple[Array, Array]:
    """Return columns of powers, and a noisy target made of three of them."""
    rng = np.random.default_rng(n)
    X = rng.uniform(0.5, 2.0, (count, N_PHI, n)) ** rng.integers(-2, 4, (count, N_PHI, 1))
    Y = X[:, :3].sum(axis=1, keepdims=True) + 0.1 * rng.normal(size=(count, 1, n))
    return X, Y


def _individuals(repeats: int, effort: float) -> Iterator[Row]:
    problem = get(PROBLEM)
    X, y = problem.train(0)
    library, target_library = Library(problem.library), Library(problem.target_library)
    ours_count, other_count = max(1, int(2_000 * effort)), max(1, int(40 * effort))

    def plain() -> None:
        rng = random.Random(0)
        for _ in range(other_count):
            reference.random_individual(rng, library, target_library, X, y)

    table = np.asfortranarray(X)
    tables = (library.table, target_library.table)
    ours, other = best_of(
        repeats,
        partial(_core.time_individuals, table, y, *tables, _core.Settings(), ours_count),
        partial(seconds, plain),
    )
    yield _rate("individuals", "solved", len(y), "per s", ours_count / ours, other_count / other)


def _nodes(repeats: int, effort: float) -> Iterator[Row]:
    for n in (20, 100, 1_000, 10_000):
        count = max(10, int(effort * min(2_000, 2_000_000 / n)))
        X = np.asfortranarray(np.random.default_rng(n).uniform(0.5, 2.0, (n, N_FEATURES)))
        timings = [partial(_seconds_per_node, X, count)]
        if operon_evaluator.installed():
            trees = operon_evaluator.random_trees(X, count)
            timings.append(partial(_seconds_per_tree_node, trees))
        ours, other = (*best_of(repeats, *timings), math.nan)[:2]
        yield _rate("nodes", "evaluated", n, "M/s", n / ours / 1e6, n / other / 1e6)


def _seconds_per_node(X: Array, count: int) -> float:
    total, nodes, _ = _core.time_bases(X, TABLE_13.table, count, 0)
    return total / nodes


def _seconds_per_tree_node(trees: operon_evaluator.Trees) -> float:
    return seconds(trees.evaluate) / trees.function_nodes


MEASUREMENTS = (_transformations, _admm, _individuals, _nodes)


# ---- showing -------------------------------------------------------------------------------------


def tables(rows: Sequence[Row]) -> Group:
    """Return one table per section."""
    found = dict.fromkeys(row.section for row in rows)
    return Group(*(_table(key, [row for row in rows if row.section == key]) for key in found))


def _table(key: str, rows: Sequence[Row]) -> Table:
    section = SECTIONS[key]
    missing = any(math.isnan(row.reference) for row in rows)
    caption = f"{section.against} is not installed." if missing else section.caption
    table = Table(title=section.title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("")
    for title in ("rows", "unit", "gsr", section.against, "times as fast"):
        table.add_column(title, justify="right", style="bold" if title == "times as fast" else "")
    grouped = len({row.name for row in rows}) > 1
    for row in rows:
        if grouped and row.name == rows[0].name:
            table.add_section()
        figures = (row.value, row.reference, row.ratio)
        table.add_row(row.name, f"{row.n:,}", row.unit, *map(_figure, figures))
    return table


def _figure(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    asked = parse_arguments(parser_of("micro", __doc__), argv)
    print("measuring for about ten seconds ...", file=sys.stderr)
    rows = run()
    console().print(tables(rows))
    if asked.json is not None:
        write_json(rows, asked.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
