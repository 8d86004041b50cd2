"""Time to the law, by the number of islands: alone, unconnected, and migrating.

    python -m benchmarks.island_times --seeds 10 --islands 1,2,4,8 --jobs 2

Islands run one after the other in one process, as they would in the mode `throughput` on as many
cores: each has its own clock of processor time, the one that is furthest behind takes the next
turn, and a message can be read from the moment on at which it was sent. What else the machine does
hardly matters. What a network costs is not in it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.command import parse_arguments, parser_of
from benchmarks.searches import DEEP, PRODUCT, SUM, blueprint
from gsr.benchmarks import runner
from gsr.blueprint import Blueprint
from gsr.islands.migration import DEFAULTS, LocalIsland, Message, Migration, make_migration

PROBLEMS = (PRODUCT, SUM, DEEP)

#: Ways to use several islands: each by itself with a seed of its own; with the guide's scans
#: divided among them and nothing else; and exchanging what they have found, which is the default.
WAYS = ("independent", "unconnected", "migrating")


@dataclass(frozen=True)
class Task:
    """One search."""

    #: What is searched, and how.
    problem: str
    way: str
    #: How many, and which.
    islands: int
    seed: int
    #: Of each island.
    max_seconds: float
    #: Of migration.
    interval: float | None = None


@dataclass(frozen=True)
class Run:
    """How a search ended."""

    #: What was searched, and how.
    problem: str
    way: str
    #: How many, and which.
    islands: int
    seed: int
    #: Whether an exact law was found.
    found: bool
    #: Of processor time on the island that found it, or on each.
    seconds: float
    #: Of all islands.
    evaluations: int
    #: What was raised.
    error: str | None = None


@dataclass
class Timed:
    """An island with a clock, and the messages that are on their way to it."""

    resident: LocalIsland
    seconds: float = 0.0
    post: list[tuple[float, Message]] = field(default_factory=list)

    def turn(self, migration: Migration) -> bool:
        """Read what has arrived and work for an interval; True: with an exact law."""
        for _, message in (each for each in self.post if each[0] <= self.seconds):
            self.resident.put(message)
        self.post = [each for each in self.post if each[0] > self.seconds]
        start = time.thread_time()
        goal = self.resident.island.work + migration.interval
        status = self.resident.turn(migration, goal)
        self.seconds += time.thread_time() - start
        return status == "exact"


def make_islands(plan: Blueprint, n_islands: int, way: str) -> list[Timed]:
    """Make the islands; independent ones share nothing, not even the guide's work."""
    if way != "independent":
        return [Timed(LocalIsland(k, plan.island(k, n_islands))) for k in range(n_islands)]
    seed = int(plan.settings["seed"])
    alone = [replace(plan, settings={**plan.settings, "seed": seed + k}) for k in range(n_islands)]
    return [Timed(LocalIsland(k, each.island())) for k, each in enumerate(alone)]


def sail(islands: Sequence[Timed], migration: Migration, max_seconds: float) -> float:
    """Let islands search until nobody can be the first any more; return when that one was."""
    first = np.inf
    while True:
        furthest_behind = min(islands, key=lambda each: each.seconds)
        if furthest_behind.seconds >= min(first, max_seconds):
            return float(first)
        if furthest_behind.turn(migration):
            first = min(first, furthest_behind.seconds)
            furthest_behind.seconds = np.inf
            continue
        resident = furthest_behind.resident
        for each in migration.topology.destinations(resident.number, resident.epoch):
            message = Message(resident.epoch, resident.number, each, resident.emigrants)
            islands[each].post.append((furthest_behind.seconds, message))


def search(task: Task) -> Run:
    """Search until there is an exact law, or every island has used its time."""
    problem = next(each for each in PROBLEMS if each.name == task.problem)
    plan = blueprint(*problem.data(task.seed), random_state=task.seed)
    islands = make_islands(plan, task.islands, task.way)
    asked: dict[str, Any] = DEFAULTS
    if task.way != "migrating":
        asked = {"topology": "unconnected", "knowledge": False}
    migration = make_migration(task.islands, task.seed, asked | {"interval": task.interval})
    seconds = sail(islands, migration, task.max_seconds)
    found = bool(np.isfinite(seconds))
    evaluations = sum(each.resident.evaluations for each in islands)
    return _run(task, found, seconds if found else task.max_seconds, evaluations)


def _run(
    task: Task, found: bool, seconds: float, evaluations: int, error: str | None = None
) -> Run:
    return Run(
        task.problem, task.way, task.islands, task.seed, found, seconds, evaluations, error
    )  # fmt: skip


def _failed(task: Task, error: str) -> Run:
    return _run(task, False, task.max_seconds, 0, error)


def _start(_: Task) -> None:
    """Nothing: a search does not count what it takes to load code."""


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
    """Return quartiles and median; of an even number the mean of the two in the middle."""
    ordered = sorted(values)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    low, high = (ordered[round(q * (len(ordered) - 1))] for q in (0.25, 0.75))
    return [low, middle, high]


def _shown(seconds: float, most: float) -> str:
    return f"> {most:.0f}" if np.isinf(seconds) else f"{seconds:.1f}"


def tasks(asked: argparse.Namespace) -> list[Task]:
    """Return the searches that are asked for."""
    return [
        Task(problem, way, n, seed, asked.max_seconds, asked.interval)
        for problem in asked.problems.split(",")
        for n in map(int, asked.islands.split(","))
        for way in (asked.ways.split(",") if n > 1 else WAYS[:1])
        for seed in range(asked.seeds)
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = parser_of("island_times", __doc__)
    parser.add_argument("--problems", default=",".join(p.name for p in PROBLEMS))
    parser.add_argument("--islands", default="1,2,4,8")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--max-seconds", type=float, default=300.0, help="of an island")
    parser.add_argument("--interval", type=float, help="of migration, in individuals of work")
    parser.add_argument("--jobs", type=int, default=1, help="searches at a time")
    asked = parse_arguments(parser, argv)
    runs = runner.run(
        tasks(asked), runner.Work(search, _failed, _start), jobs=asked.jobs, json_path=asked.json
    )
    print(table(runs, asked.max_seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
