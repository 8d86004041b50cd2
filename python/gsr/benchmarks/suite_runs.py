"""Run the estimator on the benchmark suites and set the result beside the published figures."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gsr.benchmarks import runner
from gsr.benchmarks.runner import write_json
from gsr.benchmarks.suites import PROBLEMS, Problem
from gsr.benchmarks.suites.report import Row, list_problems, tables
from gsr.benchmarks.suites.sampling import Array

__all__ = ["Row", "list_problems", "run", "tables", "write_json"]

#: Test RMSE, relative to the spread of y, below which a law counts as exact, and below which an
#: unproved law counts as an approximation.
EXACT_AT, APPROXIMATE_AT = 1e-10, 1e-6
#: The same below which a law counts as found where constants are decimal numbers.
LISTED_AT = 1e-9
WARM_UP_SECONDS = 0.2


@dataclass(frozen=True)
class _Task:
    problem: Problem
    seed: int
    noise: float
    options: Mapping[str, Any]


def run(
    problems: Sequence[Problem],
    *,
    preset: str,
    runs: int,
    max_time: float | None,
    noise: Sequence[float] = (0.0,),
    jobs: int = 1,
    json_path: str | os.PathLike[str] | None = None,
    estimator_options: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> list[Row]:
    """Fit every problem `runs` times, with the seeds 0..runs-1.

    Parameters
    ----------
    problems : sequence of Problem
        See `gsr.benchmarks.suites.select`.
    preset : str
        Preset of the estimator. ``paper`` is told the problem's library, others are not.
    runs : int
        Independent runs per problem.
    max_time : float or None
        Seconds allowed to one fit.
    noise : sequence of float
        Gaussian noise added to y, in fractions of its root mean square; each value makes runs of
        its own.
    jobs : int
        Processes; every fit uses one thread.
    json_path : path-like, optional
        Where the rows are written as a JSON list, also after an interruption.
    estimator_options : mapping, optional
        Further parameters of the estimator; they win over the problem's own.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    list of Row
        In the order of noise, problems and seeds. A run that raises is a row with its error.
        After Ctrl-C only the finished runs.
    """
    if runs < 1 or jobs < 1:
        raise ValueError(f"runs and jobs must be at least 1, got runs={runs} and jobs={jobs}")
    options = {"preset": preset, "max_time": max_time, **(estimator_options or {})}
    tasks = [
        _Task(each, seed, level, options)
        for level in noise
        for each in problems
        for seed in range(runs)
    ]
    work = runner.Work(_one_run, _failed, _warm_up)
    return runner.run(tasks, work, jobs=jobs, json_path=json_path, progress=progress)


def estimator(problem: Problem, seed: int, options: Mapping[str, Any]) -> Any:
    """Return the estimator for one run on one thread.

    The preset ``paper`` knows the problem's library, as the paper did. Others are not told what
    a user would not know.
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


def warm_up(options: Mapping[str, Any]) -> None:
    """Fit once for a moment, so that code and caches are loaded."""
    short = {**options, "max_time": WARM_UP_SECONDS}
    estimator(PROBLEMS[0], 0, short).fit(*PROBLEMS[0].train(0))


def _warm_up(task: _Task) -> None:
    warm_up(task.options)


def _one_run(task: _Task) -> Row:
    row = _blank(task)
    try:
        with warnings.catch_warnings():  # a row says what is to be said
            warnings.simplefilter("ignore")
            X, y = task.problem.train(task.seed, task.noise)
            model = estimator(task.problem, task.seed, task.options)
            start = time.perf_counter()
            model.fit(X, y)
            row = replace(row, seconds=time.perf_counter() - start)
            row = _measured(row, model, task)
            if not task.problem.provable:
                return replace(row, recovered=row.rmse_test < LISTED_AT * spread(y))
            return _judged(row, model, task) if task.noise == 0 else _compared(row, model, task)
    except Exception as error:
        return replace(row, error=runner.message(error))


def _measured(row: Row, model: Any, task: _Task) -> Row:
    X, y = task.problem.train(task.seed)
    X_test, y_test = task.problem.test(task.seed)
    rmse_test = rmse(model.predict(X_test), y_test)
    return replace(
        row,
        equation=str(model.equation_),
        rmse_train=rmse(model.predict(X), y),
        rmse_test=rmse_test,
        exact=rmse_test < EXACT_AT * spread(y_test),
        approximation=rmse_test < APPROXIMATE_AT * spread(y_test),
    )


def _judged(row: Row, model: Any, task: _Task) -> Row:
    from gsr.benchmarks import recovery

    result = recovery.check(model.equation_, task.problem, task.seed)
    return replace(
        row,
        recovered=result.recovered,
        verdict=result.verdict,
        approximation=row.approximation and not result.recovered,
    )


def _compared(row: Row, model: Any, task: _Task) -> Row:
    from gsr.benchmarks import structure

    result = structure.compare(model.equation_, task.problem, task.seed)
    return replace(row, structure=result.same, verdict=result.verdict)


def _blank(task: _Task) -> Row:
    return Row(task.problem.suite, task.problem.name, task.seed, noise=task.noise)


def _failed(task: _Task, error: str) -> Row:
    return replace(_blank(task), error=error)


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
