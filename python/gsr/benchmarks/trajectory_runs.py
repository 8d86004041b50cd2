"""The suite `trajectories`: systems of ODEBench from their series, without derivatives."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

from gsr.benchmarks import measured, runner
from gsr.benchmarks.measured import Task
from gsr.benchmarks.suites import system
from gsr.benchmarks.suites.problem import Array, Trajectory, rows_of, stream

#: R2 above which a simulation counts as right.
RIGHT = 0.9
#: Largest error of a derivative, in parts of its spread, of an exact right-hand side.
EXACT = 1e-5
#: Part of the rows that is kept where there is noise.
KEPT = 0.5
#: Seconds for a system, unless given.
SECONDS = 20.0


@dataclass(frozen=True)
class SystemOutcome:
    """The outcome of one system."""

    suite: str
    problem: str
    noise: float
    seed: int
    #: R2 of simulations from the initial state of the data, and from another one.
    r2: float = -math.inf
    r2_elsewhere: float = -math.inf
    #: Right-hand sides that are exact, and all.
    n_exact: int = 0
    n_states: int = 0
    seconds: float = math.nan
    equation: str = ""
    error: str = ""

    @property
    def found(self) -> bool:
        """Whether both simulations are right."""
        return min(self.r2, self.r2_elsewhere) > RIGHT


def data(here: Trajectory, name: str, noise: float, seed: int) -> tuple[Array, Array]:
    """Return times and states; with noise only half of the rows."""
    t, x = here.rows[:, 0], here.rows[:, 1:]
    if not noise:
        return t, x
    rng = stream(name, f"noise {noise}", seed)
    kept = np.sort(rng.choice(len(t), int(KEPT * len(t)), replace=False))
    noisy = x + noise * x.std(axis=0) * rng.standard_normal(x.shape)
    return t[kept], noisy[kept]


def _fit_system(task: Task) -> SystemOutcome:
    from gsr import GSRDynamics, GSRRegressor

    blank: SystemOutcome = task.blank
    here, elsewhere = task.subject
    t, x = data(here, blank.problem, blank.noise, blank.seed)
    given = runner.with_cpu_limit(task.options)
    max_time = given.pop("max_time", None)
    regressor = GSRRegressor(**{"n_jobs": 1, **given})
    model = GSRDynamics(regressor=regressor, max_time=max_time, random_state=blank.seed)
    start = time.perf_counter()
    model.fit(x, t)
    return replace(
        blank,
        seconds=time.perf_counter() - start,
        equation="; ".join(model.equations()),
        r2=_simulated(model, here),
        r2_elsewhere=_simulated(model, elsewhere),
        n_exact=_exact_sides(model, here, np.concatenate([here.rows, elsewhere.rows])[:, 1:]),
    )


def _simulated(model: Any, truth: Trajectory) -> float:
    return measured.r2(model.simulate(truth.start, truth.rows[:, 0]), truth.rows[:, 1:])


def _exact_sides(model: Any, truth: Trajectory, states: Array) -> int:
    derivatives = truth.derivatives()
    expected = np.array([derivatives(0.0, state) for state in states])
    with np.errstate(all="ignore"):
        error = np.abs(model.predict(states) - expected).max(axis=0)
    return int((error <= EXACT * np.ptp(expected, axis=0)).sum())


def run(
    *,
    options: Mapping[str, Any],
    noises: Sequence[float] = (0.0,),
    runs: int = 1,
    **how: Any,
) -> list[SystemOutcome]:
    """Fit every system with the seeds 0..runs-1.

    `noises` are in parts of the standard deviation of each state.
    """
    tasks = [
        Task(_blank(row["name"], both[0], noise, seed), options, _fit_system, both)
        for noise in noises
        for row, both in ((row, system(row)) for row in rows_of("odebench"))
        for seed in range(runs)
    ]
    return measured.run(tasks, **how)


def _blank(name: str, here: Trajectory, noise: float, seed: int) -> SystemOutcome:
    return SystemOutcome("trajectories", name, noise, seed, n_states=len(here.states))


def tables(outcomes: Sequence[SystemOutcome]) -> Table:
    """Return one line for each system, then one for each size of noise."""
    rows = [
        (
            f"{each.problem}, {100 * each.noise:g} %",
            f"{each.r2:.4f}",
            f"{each.r2_elsewhere:.4f}",
            f"{each.n_exact} of {each.n_states}",
            f"{each.seconds:.1f}",
            each.error or each.equation,
        )
        for each in outcomes
    ]
    for noise in dict.fromkeys(each.noise for each in outcomes):
        group = [each for each in outcomes if each.noise == noise]
        right = [
            f"{100 * sum(getattr(each, name) > RIGHT for each in group) / len(group):.1f} %"
            for name in ("r2", "r2_elsewhere")
        ]
        sides = f"{sum(e.n_exact for e in group)} of {sum(e.n_states for e in group)}"
        seconds = f"{runner.median(each.seconds for each in group):.1f}"
        rows.append((f"all, {100 * noise:g} %", right[0], right[1], sides, seconds, ""))
    titles = ("system, noise", "R2 here>", "R2 elsewhere>", "exact>", "s>", "equations")
    caption = f"Last lines: systems with R2 above {RIGHT} from the start of the data, and another."
    return runner.table("Equations of motion from series", titles, rows, caption)
