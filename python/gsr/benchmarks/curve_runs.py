"""The suite `curves`: laws with constants inside, from few rows with errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from gsr.benchmarks import measured
from gsr.benchmarks.measured import StructureOutcome, median
from gsr.benchmarks.suites.curves import ERRORS, Curve

#: Characters of a curve's name in tables.
NAME = 22


@dataclass(frozen=True)
class _CurveTask:
    curve: Curve
    errors: str
    seed: int
    options: Mapping[str, Any]

    def blank(self) -> StructureOutcome:
        return StructureOutcome("curves", self.curve.name, self.errors, self.seed)

    def run(self) -> StructureOutcome:
        X, y, sigma = self.curve.train(self.seed, self.errors)
        fitted = measured.fit(X, y, self.options, seed=self.seed, sigma=sigma)
        return measured.judged(self.blank(), fitted, self.curve, *self.curve.test(self.seed))


def run(
    curves: Iterable[Curve],
    *,
    options: Mapping[str, Any],
    errors: Sequence[str] = ERRORS,
    runs: int = 1,
    **how: Any,
) -> list[StructureOutcome]:
    """Fit every curve with every kind of error, with the seeds 0..runs-1.

    `options` are parameters of the estimator; see `gsr.benchmarks.measured.run` for `how`.
    """
    chosen = list(curves)
    tasks = [
        _CurveTask(curve, kind, seed, options)
        for kind in errors
        for curve in chosen
        for seed in range(runs)
    ]
    return measured.run(tasks, **how)


def tables(outcomes: Sequence[StructureOutcome]) -> RenderableType:
    """Return a table of the single curves, and one of the kinds of error."""
    columns = {"curve": _short_name, "errors": lambda each: each.errors, **measured.STRUCTURE}
    single = measured.outcome_table("Curves", columns, outcomes, measured.MARK)
    kinds = dict.fromkeys(each.errors for each in outcomes)
    groups = [[each for each in outcomes if each.errors == kind] for kind in kinds]
    caption = "Spare: those of the found laws that have one constant more than the truth."
    return Group(single, measured.outcome_table("By kind of error", BY_KIND, groups, caption))


def _short_name(outcome: StructureOutcome) -> str:
    name = outcome.problem
    return name if len(name) <= NAME else name[: NAME - 1] + "…"


def _sum(field: str) -> Callable[[Sequence[StructureOutcome]], str]:
    return lambda group: str(sum(getattr(each, field) for each in group))


#: Columns of a group of outcomes.
BY_KIND: measured.Columns = {
    "errors": lambda group: group[0].errors,
    "fits>": lambda group: str(len(group)),
    "found>": _sum("found"),
    "spare>": lambda group: str(sum(each.structure == "spare" for each in group)),
    "on\nfront>": _sum("on_front"),
    "false\nverdicts>": _sum("false_verdict"),
    "median\nR2>": lambda group: f"{median(each.r2 for each in group):.5f}",
    "worst\nR2>": lambda group: f"{min(each.r2 for each in group):.4g}",
    "median\ns>": lambda group: f"{median(each.seconds for each in group):.2f}",
    "ended\nearly>": lambda group: (
        f"{100 * sum(each.ended_early for each in group) / len(group):.0f} %"
    ),
}


def list_curves(curves: Iterable[Curve]) -> Table:
    """Return a table of curves: formula, constants and rows."""
    rows = []
    for each in curves:
        constants = ", ".join(f"{name} = {value:g}" for name, value in each.constants.items())
        ranges = ", ".join(f"{f.rule}({f.low:g}, {f.high:g})" for f in each.features)
        rows.append(
            (each.name, each.formula.replace("**", "^"), constants, ranges, str(each.n_rows))
        )
    return measured.table("Curves", ("curve", "y", "constants", "features", "rows>"), rows)
