"""The runs of a benchmark as tables in the shape of the paper's."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table

from gsr.suites import published
from gsr.suites.problem import Problem
from gsr.suites.problems import PROBLEMS, SUITES

Figure = float | None


@dataclass(frozen=True)
class Row:
    """The outcome of one run.

    Parameters
    ----------
    suite, problem, seed
        Which run it was.
    recovered : bool
        The law is proved to be the truth.
    rmse_train, rmse_test : float
        On the scale of y; NaN if the run failed.
    seconds : float
        Time of ``fit`` alone; NaN if it raised.
    equation : str
        The law as text.
    verdict : str
        See `gsr.recovery.Recovery`; empty if the run failed.
    error : str
        What a failed run raised.
    approximation : bool
        Not the truth, but within 1e-6 of the spread of y on the test rows.
    """

    suite: str
    problem: str
    seed: int
    recovered: bool = False
    rmse_train: float = math.nan
    rmse_test: float = math.nan
    seconds: float = math.nan
    equation: str = ""
    verdict: str = ""
    error: str = ""
    approximation: bool = False


def tables(rows: Iterable[Row]) -> RenderableType:
    """Return one table per suite, ours beside the paper's, and one of the times it gives."""
    by_problem: dict[str, list[Row]] = {}
    for row in rows:
        by_problem.setdefault(row.problem, []).append(row)
    parts: list[RenderableType] = []
    for suite in SUITES:
        chosen = {name: runs for name, runs in by_problem.items() if runs[0].suite == suite}
        if chosen:
            parts += _suite_tables(suite, chosen)
    return Group(*parts)


@dataclass(frozen=True)
class _Column:
    title: str
    figure: Callable[[str, list[Row]], Figure]
    form: str = "{:.3g}"
    style: str = ""

    def cell(self, value: Figure) -> str:
        if value is None:
            return "-"
        return self.form.format(value) if value else "0"


@dataclass(frozen=True)
class _Fitting:
    """One wide table, or the same figures in several narrow ones if it does not fit."""

    wide: Table
    narrow: tuple[Table, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        unbounded = options.update(width=10_000)
        fits = console.measure(self.wide, options=unbounded).maximum <= options.max_width
        yield from [self.wide] if fits else self.narrow


def _suite_tables(suite: str, chosen: dict[str, list[Row]]) -> list[RenderableType]:
    printed = published.BY_SUITE[suite]
    results = _published_columns([each for each in printed if each.metric != "seconds"])
    times = _published_columns([each for each in printed if each.metric == "seconds"])
    title = next(iter(chosen)).partition("-")[0]
    word = "median" if suite == "neat" else "mean"
    ours = _our_results(statistics.median if suite == "neat" else statistics.fmean)
    wide = _table(f"{title}, {word} RMSE", [*ours, *results], chosen)
    narrow = (
        _table(f"{title}, {word} RMSE", [*ours, results[0]], chosen),
        _table(f"{title}, other methods", results[1:], chosen),
    )
    found: list[RenderableType] = [_Fitting(wide, narrow)]
    if times:
        found.append(_table(f"{title}, seconds per run", [_our_times()[0], *times], chosen))
    return found


def _our_results(middle: Callable[[list[float]], float]) -> list[_Column]:
    return [
        _Column("recovered\n%", _share("recovered"), "{:.4g}", "bold"),
        _Column("approx.\n%", _share("approximation"), "{:.4g}", "bold"),
        _Column("train\nRMSE", _over("rmse_train", middle), "{:.1e}", "bold"),
        _Column("test\nRMSE", _over("rmse_test", middle), "{:.1e}", "bold"),
        *_our_times(),
    ]


def _our_times() -> list[_Column]:
    return [
        _Column("mean\ns", _over("seconds", statistics.fmean), style="bold"),
        _Column("median\ns", _over("seconds", statistics.median), style="bold"),
    ]


def _share(field: str) -> Callable[[str, list[Row]], Figure]:
    return lambda _, runs: 100 * statistics.fmean(getattr(row, field) for row in runs)


def _over(field: str, middle: Callable[[list[float]], float]) -> Callable[[str, list[Row]], Figure]:
    def figure(_: str, runs: list[Row]) -> Figure:
        values = [getattr(row, field) for row in runs]
        if field == "seconds":  # a run that raised took no time worth a mean
            values = [value for value in values if math.isfinite(value)]
        else:  # a prediction that failed is no prediction, and must not improve the mean
            values = [value if math.isfinite(value) else math.inf for value in values]
        return middle(values) if values else None

    return figure


def _published_columns(printed: Sequence[published.Table]) -> list[_Column]:
    """One column per method; where two tables have a method, the first table counts."""
    columns: dict[str, _Column] = {}
    for table in printed:
        unit = {"recovery %": "%", "seconds": "s"}.get(table.metric, "RMSE")
        form = "{:.1e}" if unit == "RMSE" else "{:.4g}"
        for method in table.methods:
            look_up = _published_figure(table, method)
            columns.setdefault(method, _Column(f"{method}\n{unit}", look_up, form))
    return list(columns.values())


def _published_figure(table: published.Table, method: str) -> Callable[[str, list[Row]], Figure]:
    return lambda name, _: table.figure(name, method)


def _table(title: str, columns: list[_Column], chosen: dict[str, list[Row]]) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, caption=_caption(chosen), padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(column.title, justify="right", overflow="fold", style=column.style)
    figures = {name: [c.figure(name, runs) for c in columns] for name, runs in chosen.items()}
    for name, values in figures.items():
        cells = (c.cell(v) for c, v in zip(columns, values, strict=True))
        table.add_row(name, *cells)
    table.add_section()
    averages = (_average(values) for values in zip(*figures.values(), strict=True))
    table.add_row("Average", *(c.cell(v) for c, v in zip(columns, averages, strict=True)))
    return table


def _average(values: Iterable[Figure]) -> Figure:
    given = [value for value in values if value is not None]
    return statistics.fmean(given) if given else None


def _caption(chosen: dict[str, list[Row]]) -> str:
    rows = [row for runs in chosen.values() for row in runs]
    lost = sum(not math.isfinite(row.rmse_test) for row in rows)
    text = f"Bold: ours, {len(rows)} runs. Others: as printed in the paper."
    return text + (f" {lost} runs failed: no finite RMSE." if lost else "")


def list_problems(problems: Iterable[Problem] = PROBLEMS) -> Table:
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
