"""Runs of the estimator on the suites of known laws, and their tables beside published figures."""

from __future__ import annotations

import math
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table

from gsr.benchmarks import measured, runner
from gsr.benchmarks.suites import ALL_PROBLEMS, ALL_SUITES, SUITES, Problem
from gsr.benchmarks.suites.problem import DATA, Array

if TYPE_CHECKING or sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Figure = float | None
Runs = list["Run"]
#: A printed table: suite, metric, methods, and for each problem a figure of each method.
Published = dict[str, Any]


@cache
def published() -> dict[str, Published]:
    """Return the tables that the paper prints for its own method and for others, by name."""
    return tomllib.loads((DATA / "published.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Run:
    """The outcome of one run."""

    suite: str
    problem: str
    seed: int
    #: The law is proved to be the truth; judged without noise only.
    recovered: bool = False
    #: Against the noise-free y, on its scale; NaN if the run failed.
    rmse_train: float = math.nan
    rmse_test: float = math.nan
    #: Time of ``fit`` alone; NaN if it raised.
    seconds: float = math.nan
    equation: str = ""
    #: See `recovery.Recovery`, under noise `structure.Comparison`; empty if the run failed.
    verdict: str = ""
    #: What a failed run raised.
    error: str = ""
    #: Not proved, but within 1e-6 of the spread of y on the test rows.
    approximation: bool = False
    #: Within 1e-10 of the spread of y on the test rows, proved or not.
    exact: bool = False
    #: Noise in y, as a fraction of its root mean square.
    noise: float = 0.0
    #: Under noise: the law has the structure of the truth.
    structure: bool = False

    @property
    def found(self) -> bool:
        """Whether the law was found, proved or, under noise, by its structure."""
        return self.recovered or self.structure


def tables(rows: Iterable[Run]) -> RenderableType:
    """Return the tables of each suite, and a summary of all."""
    everything = list(rows)
    clean = [row for row in everything if row.noise == 0]
    noisy = [row for row in everything if row.noise != 0]
    parts: list[RenderableType] = []
    for suite in ALL_SUITES:
        if chosen := [row for row in clean if row.suite == suite]:
            parts += _suite_tables(suite, chosen)
        if chosen := [row for row in noisy if row.suite == suite]:
            title = f"{_family(chosen)} with noise, structure found"
            parts.append(_by_problem(title, _noise_columns(chosen), chosen))
    if clean:
        runs = _Column("runs", lambda group: float(len(group)), "{:.0f}", style="")
        parts.append(_by_suite("Summary", [runs, *_our_shares(), *_our_times()], clean))
    if noisy:
        parts.append(_by_suite("Structure found under noise", _noise_columns(noisy), noisy))
    return Group(*parts)


@dataclass(frozen=True)
class _Column:
    """A column of figures; the last line is that of all runs if `pooled`, else an average."""

    title: str
    figure: Callable[[Runs], Figure]
    form: str = "{:.3g}"
    style: str = "bold"
    pooled: bool = False

    def cell(self, value: Figure) -> str:
        if value is None:
            return "-"
        return self.form.format(value) if value else "0"


@dataclass(frozen=True)
class _Fitting:
    """One wide table, or the same figures in several narrow ones if it does not fit."""

    wide: Table
    narrow: Sequence[Table]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        unbounded = options.update(width=10_000)
        fits = console.measure(self.wide, options=unbounded).maximum <= options.max_width
        yield from [self.wide] if fits else self.narrow


def _family(rows: Runs) -> str:
    return rows[0].problem.partition("-")[0]


def _suite_tables(suite: str, rows: Runs) -> list[RenderableType]:
    printed = [table for table in published().values() if table["suite"] == suite]
    results = _published_columns([each for each in printed if each["metric"] != "seconds"])
    times = _published_columns([each for each in printed if each["metric"] == "seconds"])
    word, middle = ("median", statistics.median) if suite == "neat" else ("mean", statistics.fmean)
    ours = [
        *_our_shares(),
        _Column("train\nRMSE", _over("rmse_train", middle), "{:.1e}"),
        _Column("test\nRMSE", _over("rmse_test", middle), "{:.1e}"),
    ]
    title = f"{_family(rows)}, {word} RMSE"
    narrow = [_by_problem(title, [*ours, *results[:1]], rows)]
    if results[1:]:
        narrow.append(_by_problem(f"{_family(rows)}, other methods", results[1:], rows))
    return [
        _Fitting(_by_problem(title, [*ours, *results], rows), narrow),
        _by_problem(f"{_family(rows)}, seconds", [*_our_times(), *times], rows),
    ]


# ---- columns -----------------------------------------------------------------------------------


def _our_shares() -> list[_Column]:
    fields = {"proved": "recovered", "exact": "exact", "approx.": "approximation"}
    return [_Column(f"{title}\n%", _share(field), "{:.4g}") for title, field in fields.items()]


def _our_times() -> list[_Column]:
    """Return the times to the law, over the runs that found it, and the mean over all runs."""
    parts = {"median": 0.5, "95 %": 0.95, "max": 1.0}
    to_the_law = [_Column(f"{k}\ns", _to_the_law(v), pooled=True) for k, v in parts.items()]
    return [*to_the_law, _Column("mean of\nall runs", _over("seconds", statistics.fmean))]


def _noise_columns(rows: Runs) -> list[_Column]:
    columns: list[_Column] = []
    for level in sorted({row.noise for row in rows}):
        share, median = _at(level, _share("structure")), _at(level, _to_the_law(0.5))
        columns.append(_Column(f"{100 * level:g} %\nfound %", share, "{:.4g}"))
        columns.append(_Column(f"{100 * level:g} %\nmedian s", median, style="", pooled=True))
    return columns


def _published_columns(printed: Sequence[Published]) -> list[_Column]:
    """Return one column per method; where two tables have a method, the first table counts."""
    columns: dict[str, _Column] = {}
    for table in printed:
        unit = {"recovery %": "%", "seconds": "s"}.get(table["metric"], "RMSE")
        form = "{:.1e}" if unit == "RMSE" else "{:.4g}"
        for place, method in enumerate(table["methods"]):
            figure = _published_figure(table, place)
            columns.setdefault(method, _Column(f"{method}\n{unit}", figure, form, style=""))
    return list(columns.values())


def _published_figure(table: Published, place: int) -> Callable[[Runs], Figure]:
    def figure(runs: Runs) -> Figure:
        row = table["rows"].get(runs[0].problem)
        return None if row is None or math.isnan(row[place]) else row[place]

    return figure


def _to_the_law(part: float) -> Callable[[Runs], Figure]:
    """Return the time that `part` of the runs which found the law do not exceed."""

    def figure(runs: Runs) -> Figure:
        seconds = [row.seconds for row in runs if row.found]
        if part == 0.5 and seconds:
            return statistics.median(seconds)
        return float(np.quantile(seconds, part, method="inverted_cdf")) if seconds else None

    return figure


def _share(field: str) -> Callable[[Runs], Figure]:
    return lambda runs: 100 * statistics.fmean(getattr(row, field) for row in runs)


def _over(field: str, middle: Callable[[list[float]], float]) -> Callable[[Runs], Figure]:
    def figure(runs: Runs) -> Figure:
        values = [getattr(row, field) for row in runs]
        if field == "seconds":  # a run that raised took no time worth a mean
            values = [value for value in values if math.isfinite(value)]
        else:  # failed predictions must not improve the mean
            values = [value if math.isfinite(value) else math.inf for value in values]
        return middle(values) if values else None

    return figure


def _at(level: float, figure: Callable[[Runs], Figure]) -> Callable[[Runs], Figure]:
    def chosen(rows: Runs) -> Figure:
        there = [row for row in rows if row.noise == level]
        return figure(there) if there else None

    return chosen


# ---- lines -------------------------------------------------------------------------------------


def _by_problem(title: str, columns: list[_Column], rows: Runs) -> Table:
    lost = sum(not math.isfinite(row.rmse_test) for row in rows)
    caption = f"Bold: ours, {len(rows)} runs. Times to the law: of the runs that found it."
    if rows[0].suite in SUITES and rows[0].noise == 0:
        caption += " Others: as printed in the paper."
    caption += f" {lost} runs failed: no finite RMSE." if lost else ""
    return _table(title, columns, _groups(rows, "problem"), caption, pooled=False)


def _by_suite(title: str, columns: list[_Column], rows: Runs) -> Table:
    found = _groups(rows, "suite")
    groups = {suite: found[suite] for suite in ALL_SUITES if suite in found}
    caption = "Times to the law: of the runs that found it."
    return _table(title, columns, groups, caption, pooled=True)


def _groups(rows: Runs, field: str) -> dict[str, Runs]:
    groups: dict[str, Runs] = {}
    for row in rows:
        groups.setdefault(getattr(row, field), []).append(row)
    return groups


def _table(
    title: str, columns: list[_Column], groups: dict[str, Runs], caption: str, *, pooled: bool
) -> Table:
    """Return a table with a line for each group, and one of all runs, or of averages."""
    table = Table(title=title, box=box.SIMPLE_HEAD, caption=caption, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(column.title, justify="right", overflow="fold", style=column.style)
    for name, runs in groups.items():
        table.add_row(name, *(c.cell(c.figure(runs)) for c in columns))
    table.add_section()
    everything = [row for runs in groups.values() for row in runs]
    totals = (
        c.figure(everything) if pooled or c.pooled else _average(map(c.figure, groups.values()))
        for c in columns
    )
    word = "All" if pooled or any(c.pooled for c in columns) else "Average"
    table.add_row(word, *(c.cell(v) for c, v in zip(columns, totals, strict=True)))
    return table


def _average(values: Iterable[Figure]) -> Figure:
    given = [value for value in values if value is not None]
    return statistics.fmean(given) if given else None


# ---- what there is ---------------------------------------------------------------------------


def list_problems(problems: Iterable[Problem] = ALL_PROBLEMS) -> Table:
    """Return a table of the problems: expression, data and library."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in ("problem", "y", "train", "test", "library"):
        table.add_column(title, no_wrap=title in ("problem", "train"))
    for each in problems:
        test = "" if each.test_sampling is None else str(each.test_sampling)
        library = ", ".join(each.library[2:])
        table.add_row(each.name, _readable(each.expression), str(each.sampling), test, library)
    return table


def _readable(expression: str) -> str:
    plain = re.sub(r"Rational\((-?\d+),(\d+)\)", r"(\1/\2)", expression)
    return plain.replace("**", "^").replace("*", " ").replace("log", "ln")


# ---- runs ----------------------------------------------------------------------------------------

#: Test RMSE, relative to the spread of y, below which a law counts as exact, and below which an
#: unproved law counts as an approximation.
EXACT_AT, APPROXIMATE_AT = 1e-10, 1e-6
#: The same below which a law counts as found where constants are decimal numbers.
LISTED_AT = 1e-9


def run(
    problems: Sequence[Problem],
    *,
    preset: str,
    runs: int,
    max_time: float | None,
    noise: Sequence[float] = (0.0,),
    estimator_options: Mapping[str, Any] | None = None,
    **how: Any,
) -> list[Run]:
    """Fit every problem `runs` times, with the seeds 0..runs-1."""
    if runs < 1 or how.get("jobs", 1) < 1:
        raise ValueError(f"runs and jobs must be at least 1, got runs={runs} and {how}")
    options = {"preset": preset, "max_time": max_time, **(estimator_options or {})}
    tasks = [
        measured.Task(Run(each.suite, each.name, seed, noise=level), options, _fit, each)
        for level in noise
        for each in problems
        for seed in range(runs)
    ]
    return measured.run(tasks, **how)


def estimator(problem: Problem, seed: int, options: Mapping[str, Any]) -> Any:
    """Return the estimator for one run on one thread.

    The preset ``paper`` knows the problem's library, as the paper did. Others do not get what a
    user would not know.
    """
    from gsr import GSRRegressor

    chosen: dict[str, Any] = {"random_state": seed, "n_jobs": 1}
    if options.get("preset") == "paper":
        chosen |= {
            "library": problem.library or None,
            "target_library": problem.target_library or None,
            "hyperparameters": {"n_psi": problem.n_psi},
        }
    return GSRRegressor(**{**chosen, **runner.with_cpu_limit(options)})


def _fit(task: measured.Task) -> Run:
    problem, seed, noise = task.subject, task.blank.seed, task.blank.noise
    X, y = problem.train(seed, noise)
    model = estimator(problem, seed, task.options)
    start = time.perf_counter()
    model.fit(X, y)
    row = _with_errors(task.blank, problem, model, time.perf_counter() - start)
    if not problem.provable:
        return replace(row, recovered=row.rmse_test < LISTED_AT * spread(y))
    return _proved(row, problem, model) if noise == 0 else _compared(row, problem, model)


def _with_errors(blank: Run, problem: Problem, model: Any, seconds: float) -> Run:
    X, y = problem.train(blank.seed)
    X_test, y_test = problem.test(blank.seed)
    rmse_test = rmse(model.predict(X_test), y_test)
    return replace(
        blank,
        seconds=seconds,
        equation=str(model.equation_),
        rmse_train=rmse(model.predict(X), y),
        rmse_test=rmse_test,
        exact=rmse_test < EXACT_AT * spread(y_test),
        approximation=rmse_test < APPROXIMATE_AT * spread(y_test),
    )


def _proved(row: Run, problem: Problem, model: Any) -> Run:
    from gsr.benchmarks import recovery

    found = recovery.check(model.equation_, problem, row.seed)
    approximation = row.approximation and not found.recovered
    return replace(
        row, recovered=found.recovered, verdict=found.verdict, approximation=approximation
    )


def _compared(row: Run, problem: Problem, model: Any) -> Run:
    from gsr.benchmarks import structure

    found = structure.compare(model.equation_, problem, row.seed)
    return replace(row, structure=found.same, verdict=found.verdict)


def rmse(prediction: Any, truth: Array) -> float:
    """Return the root mean square error; NaN if a prediction is."""
    with np.errstate(all="ignore"):
        return _root_mean_square(np.asarray(prediction, dtype=float) - truth)


def spread(values: Array) -> float:
    """Return the standard deviation."""
    return _root_mean_square(values - np.mean(values))


def _root_mean_square(values: Array) -> float:
    """Return the root mean square of values that may be too large to square."""
    largest = float(np.max(np.abs(values)))
    if not 0.0 < largest < np.inf:
        return largest
    return largest * float(np.sqrt(np.mean((values / largest) ** 2)))
