"""What the benchmarks on measured data share: fits, their outcomes and tables of them."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from rich import box
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gsr.benchmarks import runner
from gsr.benchmarks.family import judge
from gsr.benchmarks.suites.curves import Curve
from gsr.benchmarks.suites.sampling import Array

#: Verdicts of the estimator that claim that the residuals have no structure.
CLAIMS = ("rounding", "noise", "exact", "within noise")
WARM_UP_SECONDS = 0.2


@dataclass(frozen=True)
class Fit:
    """A fitted estimator and the time of `fit`."""

    model: Any
    seconds: float
    cpu_seconds: float

    @property
    def chosen(self) -> Any:
        """The entry of the chosen law on the front."""
        return self.model.front_[self.model.best_index_]

    @property
    def level(self) -> str:
        """The estimator's own verdict about the chosen law."""
        names = ("level_", "verdict_")
        return str(next((getattr(self.model, n) for n in names if hasattr(self.model, n)), ""))

    def noted(self) -> dict[str, Any]:
        """Return the fields of an `Outcome` that every fit has."""
        return {
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "equation": str(self.model.equation_),
            "n_constants": int(self.chosen.n_constants),
            "complexity": int(self.chosen.complexity),
            "level": self.level,
            "ended_early": str(self.model.status_) not in ("max_time", "stopped"),
        }


@dataclass(frozen=True)
class Outcome:
    """The outcome of one fit; suites add fields of their own."""

    suite: str
    problem: str
    #: Kind of measurement error, where there are several.
    errors: str = ""
    seed: int = 0
    #: The fit passes the suite's test.
    found: bool = False
    #: Time of ``fit`` alone, by the clock and of the processor; NaN if it raised.
    seconds: float = math.nan
    cpu_seconds: float = math.nan
    equation: str = ""
    #: Free constants and nodes of the law.
    n_constants: int = 0
    complexity: int = 0
    #: The estimator's own verdict.
    level: str = ""
    #: Whether the search ended before its time was over.
    ended_early: bool = False
    #: What a failed fit raised.
    error: str = ""


@dataclass(frozen=True)
class StructureOutcome(Outcome):
    """The outcome of a fit to rows whose true law is known."""

    #: Verdict of `family.Judgement` about the chosen law.
    structure: str = ""
    #: Error of y, relative to its standard deviation, with the best constants for exact rows.
    structure_error: float = math.nan
    #: Some law of the front has the right structure.
    on_front: bool = False
    #: The estimator's verdict claims that no structure is left, and the structure is wrong.
    false_verdict: bool = False
    #: Of the predictions, on test rows where the suite has them.
    r2: float = -math.inf


AnyOutcome = TypeVar("AnyOutcome", bound=StructureOutcome)


def fit(
    X: Array, y: Array, options: Mapping[str, Any], *, seed: int = 0, sigma: Array | None = None
) -> Fit:
    """Fit the estimator on one thread."""
    from gsr import GSRRegressor

    model = GSRRegressor(**{"random_state": seed, "n_jobs": 1, **runner.with_cpu_limit(options)})
    known = {} if sigma is None else {"sigma": sigma}
    start = time.perf_counter(), time.process_time()
    model.fit(X, y, **known)
    return Fit(model, time.perf_counter() - start[0], time.process_time() - start[1])


class Task(Protocol):
    """One fit of a suite, picklable. Its outcome is a dataclass with a field `error`."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Parameters of the estimator."""
        ...

    def blank(self) -> Any:
        """Return the outcome before anything is known."""
        ...

    def run(self) -> Any:
        """Fit, judge and return the outcome."""
        ...


def run(
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    json_path: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> list[Any]:
    """Return the outcomes of the tasks; a fit that raises is an outcome with its error.

    See `gsr.benchmarks.runner.run` for the parameters.
    """
    work = runner.Work[Any, Any](_do, _failed, _warm_up)
    return runner.run(tasks, work, jobs=jobs, json_path=json_path, progress=progress)


def _do(task: Task) -> Any:
    with warnings.catch_warnings():  # the outcome says what matters
        warnings.simplefilter("ignore")
        return task.run()


def _failed(task: Task, error: str) -> Any:
    return replace(task.blank(), error=error)


def _warm_up(task: Task) -> None:
    warm_up(task.options)


def warm_up(options: Mapping[str, Any]) -> None:
    """Fit once for a moment, so that code and caches are loaded."""
    x = np.linspace(1.0, 2.0, 20)
    fit(x[:, None], x**2, {**options, "max_time": WARM_UP_SECONDS})


def judged(blank: AnyOutcome, fitted: Fit, curve: Curve, X: Array, y: Array) -> AnyOutcome:
    """Return the outcome of a fit whose true law is a curve; `X` and `y` are rows for `r2`."""
    rows, n_constants = curve.family(), curve.n_constants
    model, simple = fitted.model, sum(text is not None for text in fitted.chosen.rounded.texts)
    verdict = judge(model.equation_, *rows, n_constants, simple)
    others = (
        entry
        for k, entry in enumerate(model.front_)
        if k != model.best_index_ and entry.n_constants <= n_constants + 1
    )
    on_front = verdict.found or any(judge(e.equation, *rows, n_constants).found for e in others)
    return replace(
        blank,
        **fitted.noted(),
        found=verdict.found,
        structure=verdict.verdict,
        structure_error=verdict.error,
        on_front=on_front,
        false_verdict=fitted.level in CLAIMS and not verdict.found,
        r2=r2(model.predict(X), y),
    )


def r2(prediction: Any, truth: Array) -> float:
    """Return the coefficient of determination, minus infinity if a prediction is not finite."""
    found = np.asarray(prediction, dtype=float)
    if not np.isfinite(found).all():
        return -math.inf
    with np.errstate(all="ignore"):
        total = float(np.sum((truth - truth.mean()) ** 2))
        return 1.0 - float(np.sum((found - truth) ** 2)) / total if total > 0 else math.nan


def median(values: Iterable[float]) -> float:
    """Return the median; infinities count, NaN do not."""
    known = sorted(value for value in values if not math.isnan(value))
    return float(np.median(known)) if known else math.nan


# ---- tables --------------------------------------------------------------------------------------

#: From the title of a column to its cell of an outcome.
Columns = Mapping[str, Callable[[Any], str]]

#: Columns of a `StructureOutcome`, and the caption for the mark in them.
STRUCTURE: Columns = {
    "structure": lambda each: each.structure or "failed",
    "front": lambda each: "yes" if each.on_front else "",
    "verdict": lambda each: f"{each.level}{' !' if each.false_verdict else ''}",
    "R2>": lambda each: f"{each.r2:.5f}",
    "s>": lambda each: f"{each.seconds:.1f}",
    "found law": lambda each: each.error or each.equation,
}
MARK = "!: a claim that no structure is left, with the wrong structure."


def outcome_table(
    title: str, columns: Columns, outcomes: Iterable[Any], caption: str = ""
) -> Table:
    """Return a table with a line for each outcome."""
    rows = [[cell(each) for cell in columns.values()] for each in outcomes]
    return table(title, list(columns), rows, caption)


def table(
    title: str, titles: Sequence[str], rows: Iterable[Sequence[str]], caption: str = ""
) -> Table:
    """Return a table; columns whose title ends in > are aligned to the right.

    Where there is little room the last column, usually a law, is cut.
    """
    made = Table(title=title, box=box.SIMPLE_HEAD, caption=caption, padding=(0, 1, 0, 0))
    for k, each in enumerate(titles):
        made.add_column(
            each.removesuffix(">"),
            justify="right" if each.endswith(">") else "left",
            no_wrap=k < len(titles) - 1 or each.endswith(">"),
        )
    for *row, last in rows:
        made.add_row(*map(escape, row), Text(last, no_wrap=True, overflow="ellipsis"))
    return made
