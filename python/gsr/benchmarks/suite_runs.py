"""Runs of the estimator on the suites of known laws."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gsr.benchmarks import measured, runner
from gsr.benchmarks.report import Row
from gsr.benchmarks.suites import Problem
from gsr.benchmarks.suites.sampling import Array

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
) -> list[Row]:
    """Fit every problem `runs` times, with the seeds 0..runs-1."""
    if runs < 1 or how.get("jobs", 1) < 1:
        raise ValueError(f"runs and jobs must be at least 1, got runs={runs} and {how}")
    options = {"preset": preset, "max_time": max_time, **(estimator_options or {})}
    tasks = [
        _SuiteTask(each, seed, level, options)
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


@dataclass(frozen=True)
class _SuiteTask:
    problem: Problem
    seed: int
    noise: float
    options: Mapping[str, Any]

    def blank(self) -> Row:
        return Row(self.problem.suite, self.problem.name, self.seed, noise=self.noise)

    def run(self) -> Row:
        X, y = self.problem.train(self.seed, self.noise)
        model = estimator(self.problem, self.seed, self.options)
        start = time.perf_counter()
        model.fit(X, y)
        row = self.measured(model, time.perf_counter() - start)
        if not self.problem.provable:
            return replace(row, recovered=row.rmse_test < LISTED_AT * spread(y))
        return self.judged(row, model) if self.noise == 0 else self.compared(row, model)

    def measured(self, model: Any, seconds: float) -> Row:
        X, y = self.problem.train(self.seed)
        X_test, y_test = self.problem.test(self.seed)
        rmse_test = rmse(model.predict(X_test), y_test)
        return replace(
            self.blank(),
            seconds=seconds,
            equation=str(model.equation_),
            rmse_train=rmse(model.predict(X), y),
            rmse_test=rmse_test,
            exact=rmse_test < EXACT_AT * spread(y_test),
            approximation=rmse_test < APPROXIMATE_AT * spread(y_test),
        )

    def judged(self, row: Row, model: Any) -> Row:
        from gsr.benchmarks import recovery

        found = recovery.check(model.equation_, self.problem, self.seed)
        approximation = row.approximation and not found.recovered
        return replace(
            row, recovered=found.recovered, verdict=found.verdict, approximation=approximation
        )

    def compared(self, row: Row, model: Any) -> Row:
        from gsr.benchmarks import structure

        found = structure.compare(model.equation_, self.problem, self.seed)
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
