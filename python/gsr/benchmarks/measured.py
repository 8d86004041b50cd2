"""Fits of data with errors and their outcomes; the suites `curves` and `nolaw`."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeVar

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table

from gsr.benchmarks import runner
from gsr.benchmarks.structure import judge
from gsr.benchmarks.suites.curves import ERRORS, Curve
from gsr.benchmarks.suites.problem import Array

#: Verdicts of the estimator that claim that the residuals have no structure.
CLAIMS = ("rounding", "noise")
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
        return str(self.model.level_)

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
    start = time.perf_counter(), time.process_time()
    model.fit(X, y, sigma=sigma)
    return Fit(model, time.perf_counter() - start[0], time.process_time() - start[1])


@dataclass(frozen=True)
class Task:
    """One fit of a suite, picklable."""

    #: The outcome before anything is known: a dataclass with a field `error`.
    blank: Any
    #: Parameters of the estimator.
    options: Mapping[str, Any]
    #: Fits, judges and returns the outcome; a function of a module.
    work: Callable[[Task], Any]
    #: What is fitted.
    subject: Any


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
    work = runner.Work(_do, _failed, _warm_up)
    return runner.run(tasks, work, jobs=jobs, json_path=json_path, progress=progress)


def _do(task: Task) -> Any:
    with warnings.catch_warnings():  # the outcome says what matters
        warnings.simplefilter("ignore")
        return task.work(task)


def _failed(task: Task, error: str) -> Any:
    return replace(task.blank, error=error)


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


#: Columns of a `StructureOutcome`, and the caption for the mark in them.
STRUCTURE: runner.Columns = {
    "structure": lambda each: each.structure or "failed",
    "front": lambda each: "yes" if each.on_front else "",
    "verdict": lambda each: f"{each.level}{' !' if each.false_verdict else ''}",
    "R2>": lambda each: f"{each.r2:.5f}",
    "s>": lambda each: f"{each.seconds:.1f}",
    "found law": lambda each: each.error or each.equation,
}
MARK = "!: a claim that no structure is left, with the wrong structure."


# ---- the suite curves: laws with constants inside, from few rows with errors ---------------------

#: Characters of a curve's name in tables.
NAME = 22


def _fit_curve(task: Task) -> Any:
    curve, blank = task.subject, task.blank
    X, y, sigma = curve.train(blank.seed, blank.errors)
    fitted = fit(X, y, task.options, seed=blank.seed, sigma=sigma)
    return judged(blank, fitted, curve, *curve.test(blank.seed))


def run_curves(
    curves: Iterable[Curve],
    *,
    options: Mapping[str, Any],
    errors: Sequence[str] = ERRORS,
    runs: int = 1,
    **how: Any,
) -> list[StructureOutcome]:
    """Fit every curve with every kind of error, with the seeds 0..runs-1.

    `options` are parameters of the estimator; see `run` for `how`.
    """
    chosen = list(curves)
    tasks = [
        Task(StructureOutcome("curves", curve.name, kind, seed), options, _fit_curve, curve)
        for kind in errors
        for curve in chosen
        for seed in range(runs)
    ]
    return run(tasks, **how)


def curve_tables(outcomes: Sequence[StructureOutcome]) -> RenderableType:
    """Return a table of the single curves, and one of the kinds of error."""

    def short_name(each: StructureOutcome) -> str:
        return each.problem if len(each.problem) <= NAME else each.problem[: NAME - 1] + "…"

    columns = {"curve": short_name, "errors": lambda each: each.errors, **STRUCTURE}
    single = runner.outcome_table("Curves", columns, outcomes, MARK)
    kinds = dict.fromkeys(each.errors for each in outcomes)
    groups = [[each for each in outcomes if each.errors == kind] for kind in kinds]
    caption = "Spare: those of the found laws that have one constant more than the truth."
    return Group(single, runner.outcome_table("By kind of error", BY_KIND, groups, caption))


def _sum(field: str) -> Callable[[Sequence[StructureOutcome]], str]:
    return lambda group: str(sum(getattr(each, field) for each in group))


#: Columns of a group of outcomes.
BY_KIND: runner.Columns = {
    "errors": lambda group: group[0].errors,
    "fits>": lambda group: str(len(group)),
    "found>": _sum("found"),
    "spare>": lambda group: str(sum(each.structure == "spare" for each in group)),
    "on\nfront>": _sum("on_front"),
    "false\nverdicts>": _sum("false_verdict"),
    "median\nR2>": lambda group: f"{runner.median(each.r2 for each in group):.5f}",
    "worst\nR2>": lambda group: f"{min(each.r2 for each in group):.4g}",
    "median\ns>": lambda group: f"{runner.median(each.seconds for each in group):.2f}",
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
    return runner.table("Curves", ("curve", "y", "constants", "features", "rows>"), rows)


# ---- the suite nolaw: pure noise, where the only right law is a constant -------------------------

#: Distributions of the target.
TARGETS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: 3.0 + rng.standard_normal(n),
    "uniform": lambda rng, n: rng.uniform(0.0, 10.0, n),
    "lognormal": lambda rng, n: rng.lognormal(1.0, 0.5, n),
    "student": lambda rng, n: rng.standard_t(3, n),
    "counts": lambda rng, n: rng.poisson(6.0, n).astype(float),
}
#: Rows and features of a table.
SIZES = (
    (12, 1), (20, 1), (20, 3), (30, 1), (30, 5), (50, 1), (50, 2), (50, 10), (80, 1), (100, 3),
    (100, 8), (150, 1), (150, 20), (200, 2), (200, 5), (300, 1), (300, 12), (500, 4), (700, 1),
    (1000, 3),
)  # fmt: skip
#: Tables of a run: all sizes of all distributions.
N_TABLES = len(TARGETS) * len(SIZES)


def _noise(target: str, n_rows: int, n_features: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, list(TARGETS).index(target), n_rows, n_features])
    X = rng.uniform(0.5, 5.0, (n_rows, n_features))
    X[:, 1::2] = rng.standard_normal(X[:, 1::2].shape)
    X = np.sort(X, axis=0) if n_features == 1 else X
    return X, TARGETS[target](rng, n_rows)


def _fit_noise(task: Task) -> Any:
    fitted = fit(*_noise(*task.subject), task.options, seed=task.blank.seed)
    found = not fitted.chosen.uses_features
    return replace(task.blank, **fitted.noted(), found=found)


def run_noise(*, options: Mapping[str, Any], runs: int = 1, **how: Any) -> list[Outcome]:
    """Fit 100 tables, with the seeds 0..runs-1, by an estimator with these options."""
    tasks = []
    for target, (rows, features), seed in product(TARGETS, SIZES, range(runs)):
        name = f"{target}, {rows} rows, {features} features"
        blank = Outcome("nolaw", name, errors=target, seed=seed)
        tasks.append(Task(blank, options, _fit_noise, (target, rows, features, seed)))
    return run(tasks, **how)


def noise_tables(outcomes: Sequence[Outcome]) -> Table:
    """Return one line per distribution, and the laws that are more than a constant."""
    wrong = [each for each in outcomes if not each.found]
    rows = []
    for kind in dict.fromkeys(each.errors for each in outcomes):
        group = [each for each in outcomes if each.errors == kind]
        right = sum(each.found for each in group)
        early = sum(each.ended_early for each in group)
        seconds = runner.median(each.seconds for each in group)
        rows.append((kind, f"{right} of {len(group)}", f"{early}", f"{seconds:.1f}", ""))
    rows += [(each.problem, "", "", "", each.error or each.equation) for each in wrong]
    titles = ("noise", "constant law>", "ended early>", "median s>", "law")
    right = len(outcomes) - len(wrong)
    return runner.table("Noise without a law", titles, rows, f"{right} of {len(outcomes)} right.")
