"""The suite `curves`: laws with constants inside, from few rows with errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

    Parameters
    ----------
    curves : iterable of Curve
        See `gsr.benchmarks.suites.curves.select_curves`.
    options : mapping
        Parameters of the estimator.
    errors : sequence of str
        Kinds of measurement error, see `Curve.train`.
    runs : int
        Fits per curve and kind.
    **how
        See `gsr.benchmarks.measured.run`.
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
    return Group(_single(outcomes), _summary(outcomes))


def _single(outcomes: Sequence[StructureOutcome]) -> Table:
    rows = [
        (
            each.problem if len(each.problem) <= NAME else each.problem[: NAME - 1] + "…",
            each.errors,
            each.structure or "failed",
            "yes" if each.on_front else "",
            measured.verdict(each),
            f"{each.r2:.5f}",
            f"{each.seconds:.1f}",
            each.error or each.equation,
        )
        for each in outcomes
    ]
    titles = ("curve", "errors", "structure", "front", "verdict", "R2>", "s>", "law")
    return measured.table("Curves", titles, rows, measured.MARK)


def _summary(outcomes: Sequence[StructureOutcome]) -> Table:
    kinds = dict.fromkeys(each.errors for each in outcomes)
    rows = [(k, *_figures([each for each in outcomes if each.errors == k])) for k in kinds]
    titles = (
        "errors", "fits>", "found>", "spare>", "on\nfront>", "false\nverdicts>",
        "median\nR2>", "worst\nR2>", "median\ns>", "ended\nearly>",
    )  # fmt: skip
    caption = "Spare: those of the found laws that have one constant more than the truth."
    return measured.table("By kind of error", titles, rows, caption)


def _figures(group: Sequence[StructureOutcome]) -> list[str]:
    return [
        str(len(group)),
        str(sum(each.found for each in group)),
        str(sum(each.structure == "spare" for each in group)),
        str(sum(each.on_front for each in group)),
        str(sum(each.false_verdict for each in group)),
        f"{median(each.r2 for each in group):.5f}",
        f"{min(each.r2 for each in group):.4g}",
        f"{median(each.seconds for each in group):.2f}",
        f"{100 * sum(each.ended_early for each in group) / len(group):.0f} %",
    ]


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
