"""The suites `trajectories` and `motions`: systems from their series, without derivatives."""

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
from gsr.benchmarks.structure import EXACT_AT, judge
from gsr.benchmarks.suites import system
from gsr.benchmarks.suites.problem import Array, Trajectory, rows_of, stream
from gsr.encoding import evaluate

#: R2 above which a simulation counts as right.
RIGHT = 0.9
#: Largest error of a derivative, in parts of its spread, of an exact right-hand side.
EXACT = 1e-5
#: Part of the rows of `trajectories` that is kept where there is noise.
KEPT = 0.5
#: Seconds for a system, unless given.
SECONDS = 20.0
#: The suites, and the files of their systems.
SUITES = {"trajectories": "odebench", "motions": "motions"}
OURS, PEERS = "gsr", ("pysindy",)


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
    method: str = OURS
    #: Right-hand sides of the right structure.
    n_structure: int = 0
    #: True constants within their intervals of 95 %, and all that have one.
    n_covered: int = 0
    n_intervals: int = 0

    @property
    def found(self) -> bool:
        """Whether both simulations are right."""
        return min(self.r2, self.r2_elsewhere) > RIGHT


@dataclass(frozen=True)
class System:
    """A system with its series from two starts."""

    here: Trajectory
    elsewhere: Trajectory
    #: Constants of each right-hand side; none if they are not known.
    constants: tuple[int, ...]

    @classmethod
    def of(cls, row: dict[str, str]) -> System:
        """Return the system of a row of a file."""
        return cls(*system(row), tuple(map(int, row.get("constants", "").split())))

    @property
    def is_driven(self) -> bool:
        """Whether the time is a feature."""
        return any("*t" in side for side in self.here.right_hand_sides)

    def slopes(self) -> tuple[Array, Array]:
        """Return rows of features and the true derivatives there."""
        rows = np.concatenate([self.here.rows, self.elsewhere.rows])
        derivatives = self.here.derivatives()
        slopes = np.array([derivatives(row[0], row[1:]) for row in rows])
        columns = [*rows[:, 1:].T, *([rows[:, 0]] if self.is_driven else [])]
        return np.column_stack(columns), slopes


def data(
    here: Trajectory, name: str, noise: float, seed: int, kept: float = KEPT
) -> tuple[Array, Array]:
    """Return times and states; with noise only part of the rows."""
    t, x = here.rows[:, 0], here.rows[:, 1:]
    if not noise:
        return t, x
    rng = stream(name, f"noise {noise}", seed)
    rows = np.sort(rng.choice(len(t), int(kept * len(t)), replace=False))
    noisy = x + noise * x.std(axis=0) * rng.standard_normal(x.shape)
    return t[rows], noisy[rows]


def _fit_system(task: Task) -> SystemOutcome:
    blank, subject = task.blank, task.subject
    kept = KEPT if blank.suite == "trajectories" else 1.0
    series = data(subject.here, blank.problem, blank.noise, blank.seed, kept)
    start = time.perf_counter()
    model = (Ours if blank.method == OURS else PySINDy)(task, *series)
    seconds = time.perf_counter() - start
    X, slopes = subject.slopes()
    with np.errstate(all="ignore"):
        error = np.abs(model.predict(X) - slopes).max(axis=0)
    n_covered, n_intervals = model.covered(slopes, X)
    outcome: SystemOutcome = replace(
        blank,
        seconds=seconds,
        equation="; ".join(model.equations()),
        r2=_simulated(model, subject.here),
        r2_elsewhere=_simulated(model, subject.elsewhere),
        n_exact=int((error <= EXACT * np.ptp(slopes, axis=0)).sum()),
        n_structure=sum(
            model.has_structure(j, X, slopes[:, j], n) for j, n in enumerate(subject.constants)
        ),
        n_covered=n_covered,
        n_intervals=n_intervals,
    )
    return outcome


class Ours:
    """`GSRDynamics` fitted to a series."""

    def __init__(self, task: Task, t: Array, x: Array) -> None:
        from gsr import GSRDynamics, GSRRegressor

        given = runner.with_cpu_limit(task.options)
        max_time = given.pop("max_time", None)
        regressor = GSRRegressor(**{"n_jobs": 1, **given})
        self.model = GSRDynamics(
            regressor=regressor, max_time=max_time, random_state=task.blank.seed,
            time_feature=task.subject.is_driven,
        ).fit(x, t)  # fmt: skip
        self.equations = self.model.equations

    def predict(self, X: Array) -> Array:
        """Return the derivatives at rows of features."""
        return np.column_stack([m.equation_.predict(X) for m in self.model.models_.values()])

    def simulate(self, start: Sequence[float], t: Array) -> Array:
        """Return the simulated states."""
        found: Array = self.model.simulate(start, t)
        return found

    def has_structure(self, j: int, X: Array, slopes: Array, n_constants: int) -> bool:
        """Whether a law, its constants free, is the true one."""
        law = list(self.model.models_.values())[j].equation_
        return judge(law, X, slopes, n_constants).found

    def covered(self, slopes: Array, X: Array) -> tuple[int, int]:
        """Return how many true constants are within their intervals, of laws of true structure."""
        found = [self._covered(j, X, slopes[:, j]) for j in range(slopes.shape[1])]
        return sum(each[0] for each in found), sum(each[1] for each in found)

    def _covered(self, j: int, X: Array, slopes: Array) -> tuple[int, int]:
        name = self.model.states_[j]
        entry = self.model.models_[name].get_best()
        errors = self.model.standard_errors_.get(name)
        is_sum = len(entry.law.beta) == 1 and entry.n_constants == len(entry.law.alpha)
        if errors is None or not is_sum:
            return 0, 0
        columns = evaluate(entry.equation.phi, entry.equation.library, X)
        true = np.linalg.lstsq(columns, slopes, rcond=None)[0]
        if np.abs(columns @ true - slopes).max() > EXACT * np.ptp(slopes):
            return 0, 0
        inside = np.abs(true - entry.law.alpha) <= 1.96 * errors[: len(true)]
        return int(inside.sum()), len(true)


class PySINDy:
    """PySINDy as it comes, fitted to a series; the time is an input where it drives the system."""

    def __init__(self, task: Task, t: Array, x: Array) -> None:
        from pysindy import SINDy

        self.is_driven, self.n_states = task.subject.is_driven, x.shape[1]
        self.model = SINDy()
        self.model.fit(x, t=t, u=t[:, None] if self.is_driven else None)

    def equations(self) -> list[str]:
        """Return the right-hand sides."""
        return [str(side) for side in self.model.equations(6)]

    def predict(self, X: Array) -> Array:
        """Return the derivatives at rows of features."""
        inputs = X[:, self.n_states :] if self.is_driven else None
        found: Array = self.model.predict(X[:, : self.n_states], u=inputs)
        return found

    def simulate(self, start: Sequence[float], t: Array) -> Array:
        """Return the simulated states."""
        from gsr.dynamics.simulation import integrate

        def motion(now: float, x: Array) -> Array:
            row = np.append(x, now) if self.is_driven else x
            return np.asarray(self.predict(row[None])[0])

        return integrate(motion, np.asarray(start, dtype=float), t, largest=1e6)

    def has_structure(self, j: int, X: Array, slopes: Array, n_constants: int) -> bool:
        """Whether the terms of a law are the true ones, with at most one to spare."""
        used = np.asarray(self.model.coefficients())[j] != 0.0
        columns = np.asarray(self.model.feature_library.transform(X))[:, used]
        true = np.linalg.lstsq(columns, slopes, rcond=None)[0]
        left = np.std(columns @ true - slopes)
        return bool(left <= EXACT_AT * np.std(slopes)) and used.sum() <= n_constants + 1

    def covered(self, slopes: Array, X: Array) -> tuple[int, int]:
        """Return nothing: there are no intervals."""
        return 0, 0


def _simulated(model: Ours | PySINDy, truth: Trajectory) -> float:
    return measured.r2(model.simulate(truth.start, truth.rows[:, 0]), truth.rows[:, 1:])


def select(suite: str, names: Sequence[str]) -> list[dict[str, str]]:
    """Return the systems of a suite, those with some names only; ValueError if there is none."""
    rows = list(rows_of(SUITES[suite]))
    unknown = [name for name in names if name not in {row["name"] for row in rows}]
    if unknown:
        raise ValueError(f"{suite} has no system {unknown[0]!r}")
    return [row for row in rows if not names or row["name"] in names]


def run(
    rows: Sequence[dict[str, str]],
    *,
    suite: str,
    options: Mapping[str, Any],
    noises: Sequence[float] = (0.0,),
    against: Sequence[str] = (),
    runs: int = 1,
    **how: Any,
) -> list[SystemOutcome]:
    """Fit systems with the seeds 0..runs-1, by `gsr` and by others.

    `noises` are in parts of the standard deviation of each state.
    """
    tasks = [
        Task(_blank(suite, row["name"], each, noise, seed, method), options, _fit_system, each)
        for noise in noises
        for row, each in ((row, System.of(row)) for row in rows)
        for seed in range(runs)
        for method in (OURS, *against)
    ]
    return measured.run(tasks, **how)


def _blank(
    suite: str, name: str, each: System, noise: float, seed: int, method: str
) -> SystemOutcome:
    n_states = len(each.here.states)
    return SystemOutcome(suite, name, noise, seed, n_states=n_states, method=method)


def tables(outcomes: Sequence[SystemOutcome]) -> Table:
    """Return one line for each system, then one for each size of noise and program."""
    rows: list[tuple[str, ...]] = [
        (
            f"{each.problem}, {100 * each.noise:g} %",
            each.method,
            f"{each.r2:.4f}",
            f"{each.r2_elsewhere:.4f}",
            f"{each.n_exact} of {each.n_states}",
            f"{each.n_structure} of {each.n_states}" if each.suite == "motions" else "",
            f"{each.seconds:.1f}",
            each.error or each.equation,
        )
        for each in outcomes
    ]
    groups: dict[tuple[float, str], list[SystemOutcome]] = {}
    for each in outcomes:
        groups.setdefault((each.noise, each.method), []).append(each)
    rows += [_summary(noise, method, group) for (noise, method), group in groups.items()]
    titles = (
        "system, noise", "program", "R2 here>", "R2 elsewhere>", "exact>", "structure>", "s>",
        "equations",
    )  # fmt: skip
    caption = f"Last lines: systems with R2 above {RIGHT} from the start of the data, and another."
    return runner.table("Equations of motion from series", titles, rows, caption)


def _summary(noise: float, method: str, group: Sequence[SystemOutcome]) -> tuple[str, ...]:
    def total(name: str) -> int:
        return sum(getattr(each, name) for each in group)

    right = [
        f"{100 * sum(getattr(each, name) > RIGHT for each in group) / len(group):.1f} %"
        for name in ("r2", "r2_elsewhere")
    ]
    covered = f"intervals with the true constant: {total('n_covered')} of {total('n_intervals')}"
    return (
        f"all, {100 * noise:g} %",
        method,
        *right,
        f"{total('n_exact')} of {total('n_states')}",
        f"{total('n_structure')} of {total('n_states')}" if group[0].suite == "motions" else "",
        f"{runner.median(each.seconds for each in group):.1f}",
        covered if total("n_intervals") else "",
    )
