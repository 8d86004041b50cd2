"""What the benchmarks on measured data share: how a law is fitted and what is noted of it."""

from __future__ import annotations

import inspect
import math
import os
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
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
from gsr.exceptions import GSRError

#: Verdicts of the estimator that claim that nothing is left to find.
CLAIMS = ("rounding", "noise", "exact", "within noise")
WARM_UP_SECONDS = 0.2
#: Explains the mark of `verdict`.
MARK = "!: a claim that nothing is left to find, with the wrong structure."


@dataclass(frozen=True)
class Fit:
    """A fitted estimator, and what `fit` was like."""

    model: Any
    seconds: float
    cpu_seconds: float

    @property
    def equation(self) -> Any:
        """The chosen law."""
        return self.model.equation_

    @property
    def chosen(self) -> Any:
        """The entry of the chosen law on the front."""
        return self.model.front_[self.model.best_index_]

    @property
    def level(self) -> str:
        """The estimator's own verdict about the chosen law."""
        names = ("level_", "verdict_")
        return str(next((getattr(self.model, n) for n in names if hasattr(self.model, n)), ""))

    @property
    def ended_early(self) -> bool:
        """Whether the search ended before its time was over."""
        return str(self.model.status_) not in ("max_time", "stopped")


@dataclass(frozen=True)
class Outcome:
    """What became of one fit; suites add fields of their own.

    Parameters
    ----------
    suite, problem, errors, seed
        Which fit it was; `errors` is the kind of measurement error, where there are several.
    found : bool
        The fit passes the suite's test.
    seconds, cpu_seconds : float
        Time of ``fit`` alone, by the clock and of the processor; NaN if it raised.
    equation : str
        The law as text.
    n_constants, complexity : int
        Free constants and nodes of the law.
    level : str
        The estimator's own verdict.
    ended_early : bool
        Whether the search ended before its time was over.
    error : str
        What a failed fit raised.
    """

    suite: str
    problem: str
    errors: str = ""
    seed: int = 0
    found: bool = False
    seconds: float = math.nan
    cpu_seconds: float = math.nan
    equation: str = ""
    n_constants: int = 0
    complexity: int = 0
    level: str = ""
    ended_early: bool = False
    error: str = ""

    @property
    def claims(self) -> bool:
        """Whether the estimator claims that nothing is left to find."""
        return self.level in CLAIMS


@dataclass(frozen=True)
class StructureOutcome(Outcome):
    """What became of a fit to rows whose true law is known.

    Parameters
    ----------
    structure : str
        Verdict of `gsr.benchmarks.family.Judgement` about the chosen law.
    structure_error : float
        Its error of y, relative to the standard deviation of y, with the best constants for
        noise-free rows.
    on_front : bool
        Some law of the front has the right structure.
    false_verdict : bool
        The estimator claims that nothing is left to find, and the structure is wrong.
    r2 : float
        Of the predictions, on the rows that the suite tells.
    """

    structure: str = ""
    structure_error: float = math.nan
    on_front: bool = False
    false_verdict: bool = False
    r2: float = -math.inf


AnyOutcome = TypeVar("AnyOutcome", bound=StructureOutcome)


def fit(
    X: Array, y: Array, options: Mapping[str, Any], *, seed: int = 0, sigma: Array | None = None
) -> Fit:
    """Fit the estimator on one thread.

    Parameters
    ----------
    X, y : array
        Training rows.
    options : mapping
        Parameters of the estimator, and `cpu_time`; see `gsr.benchmarks.runner.with_cpu_limit`.
    seed : int
        Its random state.
    sigma : array, optional
        Standard deviations of y.
    """
    from gsr import GSRRegressor

    model = GSRRegressor(**{"random_state": seed, "n_jobs": 1, **runner.with_cpu_limit(options)})
    known: dict[str, Any] = {}
    if sigma is not None:
        with_sigma = "sigma" in inspect.signature(model.fit).parameters
        known = {"sigma": sigma} if with_sigma else {"sample_weight": 1.0 / sigma**2}
    start = time.perf_counter(), time.process_time()
    model.fit(X, y, **known)
    return Fit(model, time.perf_counter() - start[0], time.process_time() - start[1])


def noted(fitted: Fit) -> dict[str, Any]:
    """Return the fields of an `Outcome` that every fit has."""
    return {
        "seconds": fitted.seconds,
        "cpu_seconds": fitted.cpu_seconds,
        "equation": str(fitted.equation),
        "n_constants": int(fitted.chosen.n_constants),
        "complexity": int(fitted.chosen.complexity),
        "level": fitted.level,
        "ended_early": fitted.ended_early,
    }


def warm_up(options: Mapping[str, Any]) -> None:
    """Fit once for a moment, so that code and caches are loaded."""
    x = np.linspace(1.0, 2.0, 20)
    fit(x[:, None], x**2, {**options, "max_time": WARM_UP_SECONDS})


class Task(Protocol):
    """One fit of a suite. Tasks are picklable, so that processes can share them."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Parameters of the estimator."""
        ...

    def blank(self) -> Outcome:
        """Return the outcome before anything is known."""
        ...

    def run(self) -> Outcome:
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

    Parameters
    ----------
    tasks : sequence of Task
        What to fit.
    jobs : int
        Processes; every fit uses one thread.
    json_path : path-like, optional
        Where the outcomes are written as a JSON list, also after an interruption.
    progress : bool
        Show a progress bar on standard error.
    """
    work = runner.Work[Any, Any](_do, _failed, _start)
    return runner.run(tasks, work, jobs=jobs, json_path=json_path, progress=progress)


def _do(task: Task) -> Outcome:
    with warnings.catch_warnings():  # the outcome says what matters
        warnings.simplefilter("ignore")
        try:
            return task.run()
        except Exception as error:
            return _failed(task, runner.message(error))


def _failed(task: Task, error: str) -> Outcome:
    return replace(task.blank(), error=error)


def _start(task: Task) -> None:
    warm_up(task.options)


def judged(blank: AnyOutcome, fitted: Fit, curve: Curve, X: Array, y: Array) -> AnyOutcome:
    """Return the outcome of a fit whose true law is known.

    Parameters
    ----------
    blank : StructureOutcome
        The outcome before anything is known.
    fitted : Fit
        The fit.
    curve : Curve
        The truth.
    X, y : array
        Rows for `r2`.
    """
    rows, n_constants = curve.family(), curve.n_constants
    simple = sum(text is not None for text in fitted.chosen.rounded.texts)
    verdict = judge(fitted.equation, *rows, n_constants, simple)
    others = (
        entry
        for k, entry in enumerate(fitted.model.front_)
        if k != fitted.model.best_index_ and entry.n_constants <= n_constants + 1
    )
    on_front = verdict.found or any(judge(e.equation, *rows, n_constants).found for e in others)
    outcome = replace(
        blank,
        **noted(fitted),
        found=verdict.found,
        structure=verdict.verdict,
        structure_error=verdict.error,
        on_front=on_front,
        r2=r2(fitted.model.predict(X), y),
    )
    return replace(outcome, false_verdict=outcome.claims and not outcome.found)


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


def verdict(outcome: Any) -> str:
    """Return the estimator's verdict for a table, marked if it is false."""
    return f"{outcome.level}{' !' if outcome.false_verdict else ''}"


def files(folder: str | os.PathLike[str], pattern: str) -> list[Path]:
    """Return the files of a folder by a pattern.

    Raises
    ------
    GSRError
        If there are none.
    """
    found = sorted(Path(folder).glob(pattern))
    if not found:
        raise GSRError(f"{os.fspath(folder)}: there is no file {pattern}")
    return found


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
