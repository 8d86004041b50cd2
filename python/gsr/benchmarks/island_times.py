"""Time to the law, by the number of islands: alone, with shared work, and with migration.

    python -m gsr.benchmarks.island_times --seeds 10 --islands 1,2,4,8

Islands run one after the other in one process, in lock-step, and each has its own clock of
processor time. An epoch takes as long as its slowest island: that is the time on as many cores as
islands, whatever else the machine does, without what it costs to send messages.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gsr.blueprint import Blueprint
from gsr.estimator import GSRRegressor
from gsr.islands.archipelago import Archipelago, Limits, Watcher
from gsr.islands.migration import DEFAULTS, Migration, make_migration
from gsr.islands.resident import Resident
from gsr.islands.transport import Alone
from gsr.rows import Rows

Array = Any


@dataclass(frozen=True)
class Problem:
    """A law that takes a search its time.

    Parameters
    ----------
    name, law : str
        How it is called, and how it reads.
    n_features : int
        x1, x2, ...
    function : callable
        Of the columns.
    """

    name: str
    law: str
    n_features: int
    function: Callable[..., Array]

    def rows(self, seed: int, n: int = 400) -> Rows:
        """Draw rows."""
        X = np.random.default_rng(seed).uniform(1.0, 4.0, (n, self.n_features))
        return Rows(X, self.function(*X.T))


#: Sums of a product of three functions, or of compositions, with features that play no part.
PROBLEMS = (
    Problem(
        "product",
        "sin(x1) cos(x2) ln(x3 + x4) + x2/x4, 7 features",
        7,
        lambda a, b, c, d, *_: np.sin(a) * np.cos(b) * np.log(c + d) + b / d,
    ),
    Problem(
        "sum",
        "sqrt(x1 + x2 x3) + ln(x4 + x5), 8 features",
        8,
        lambda a, b, c, d, e, *_: np.sqrt(a + b * c) + np.log(d + e),
    ),
)

#: Ways to use several islands.
WAYS = ("independent", "shared", "migrating")


@dataclass(frozen=True)
class Run:
    """One search.

    Parameters
    ----------
    problem, way : str
        What was searched, and how.
    islands, seed : int
        How many, and which.
    found : bool
        Whether an exact law was found.
    seconds : float
        Of processor time on the slowest island, epoch by epoch.
    evaluations : int
        Of all islands.
    """

    problem: str
    way: str
    islands: int
    seed: int
    found: bool
    seconds: float
    evaluations: int


class TimedResident(Resident):
    """A resident that knows how long its last turn took."""

    last: float = 0.0

    def turn(self, migration: Migration, goal: float, seconds: float = float("inf")) -> str:
        """Take a turn, and note the processor time."""
        start = time.thread_time()
        status = super().turn(migration, goal, seconds)
        self.last = time.thread_time() - start
        return status


class _Clock(Watcher):
    """Adds up the epochs, and stops when the time is used up."""

    def __init__(self, max_seconds: float) -> None:
        self.max_seconds = max_seconds
        self.seconds = 0.0
        self.archipelago: Archipelago | None = None

    def epoch(self, residents: Sequence[TimedResident]) -> None:
        self.seconds += max(each.last for each in residents)
        if self.seconds >= self.max_seconds and self.archipelago is not None:
            self.archipelago.wishes.stop("stopped")


def blueprint(problem: Problem, seed: int, rows: int = 400) -> Blueprint:
    """Return what the islands of a search are made of, with the default settings."""
    model = GSRRegressor(random_state=seed, n_jobs=1)
    data = problem.rows(seed, rows)
    posed, _ = model._pose(model._validate(data.X, data.y, None))
    return posed.blueprint


def residents(plan: Blueprint, n_islands: int, way: str) -> list[TimedResident]:
    """Make the islands; independent ones share nothing, not even the guide's work."""
    if way != "independent":
        return [TimedResident(k, plan.island(k, n_islands)) for k in range(n_islands)]
    seed = int(plan.settings["seed"])
    alone = [replace(plan, settings={**plan.settings, "seed": seed + k}) for k in range(n_islands)]
    return [TimedResident(k, each.island()) for k, each in enumerate(alone)]


def search(problem: Problem, n_islands: int, way: str, seed: int, max_seconds: float,
           interval: float | None = None) -> Run:  # fmt: skip
    """Search until there is an exact law, or the slowest island has used its time."""
    plan = blueprint(problem, seed)
    islands = residents(plan, n_islands, way)
    asked: dict[str, Any] = {"topology": "unconnected", "knowledge": False}
    asked = (DEFAULTS if way == "migrating" else asked) | {"interval": interval}
    migration = make_migration(n_islands, seed, asked)
    clock = _Clock(max_seconds)
    archipelago = Archipelago(
        islands, migration, Alone(), Limits(), deterministic=True, n_threads=1, watcher=clock
    )
    clock.archipelago = archipelago
    epoch = 0
    for _ in archipelago.steps():
        if islands[0].snapshot_epoch > epoch:
            epoch = islands[0].snapshot_epoch
            clock.epoch(islands)
    if islands[0].snapshot_epoch > epoch:
        clock.epoch(islands)
    clock.archipelago = None  # a circle would keep the islands' pools
    found = any(each.status == "exact" for each in islands)
    evaluations = sum(each.evaluations for each in islands)
    return Run(problem.name, way, n_islands, seed, found, clock.seconds, evaluations)


def table(runs: Sequence[Run], max_seconds: float) -> str:
    """Return medians over the seeds; a search that failed counts as one that takes for ever."""
    lines = [f"{'problem':10} {'way':12} {'islands':>7} {'found':>7} {'median s':>9} "
             f"{'quartiles':>15} {'median evaluations':>19}"]  # fmt: skip
    for problem, way, n in dict.fromkeys((r.problem, r.way, r.islands) for r in runs):
        mine = [r for r in runs if (r.problem, r.way, r.islands) == (problem, way, n)]
        seconds = [r.seconds if r.found else np.inf for r in mine]
        low, middle, high = (_shown(q, max_seconds) for q in _quartiles(seconds))
        evaluations = int(np.median([r.evaluations for r in mine]))
        found = f"{sum(r.found for r in mine)}/{len(mine)}"
        lines.append(
            f"{problem:10} {way:12} {n:7d} {found:>7} {middle:>9} {low + ' - ' + high:>15} "
            f"{evaluations:19,}"
        )
    return "\n".join(lines)


def _quartiles(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered[round(q * (len(ordered) - 1))] for q in (0.25, 0.5, 0.75)]


def _shown(seconds: float, most: float) -> str:
    return f"> {most:.0f}" if np.isinf(seconds) else f"{seconds:.1f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m gsr.benchmarks.island_times")
    parser.add_argument("--problems", default=",".join(p.name for p in PROBLEMS))
    parser.add_argument("--islands", default="1,2,4,8")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--max-seconds", type=float, default=300.0, help="of an island")
    parser.add_argument("--interval", type=float, help="of migration, in individuals of work")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(argv)
    names = asked.problems.split(",")
    runs: list[Run] = []
    for problem in [each for each in PROBLEMS if each.name in names]:
        for n in map(int, asked.islands.split(",")):
            for way in asked.ways.split(",") if n > 1 else ["independent"]:
                for seed in range(asked.seeds):
                    runs.append(search(problem, n, way, seed, asked.max_seconds, asked.interval))
                    print(json.dumps(asdict(runs[-1])), file=sys.stderr, flush=True)
    print(table(runs, asked.max_seconds))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(run) for run in runs]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
