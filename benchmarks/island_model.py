"""Which topology and interval bring a law together soonest, on a model of the search.

The time between two finds of an island is the only unit of time of the model: where finds are ten
times as rare, every figure in generations is ten times as large, the best interval too.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from benchmarks.command import console, parse_arguments, parser_of
from benchmarks.island_landscape import Clocks, Floats, Landscape, Survivors
from gsr.benchmarks.runner import write_json
from gsr.islands.topology import Star, Ways, make_topology

ABOUT = """\
Simulate islands on a landscape that stands for the search of a law, and tell after how many
generations one of them has it, for each topology and interval: the median, the share of runs that
found it, and the quartiles. Takes less than a minute."""

SIZES = (64, 1_024, 10_000)
INTERVALS = (30, 100, 300, 1_000)
#: Topologies and types of migration.
KINDS = (
    ("unconnected", "p2p"),
    ("ring", "p2p"),
    ("torus", "p2p"),
    ("torus", "broadcast"),
    ("hypercube", "p2p"),
    ("random_pairs", "p2p"),
    ("fully_connected", "p2p"),
    ("star", "p2p"),
)
LANDSCAPES = (
    Landscape("open"),
    Landscape("rivals", rivals=3, ceiling=0.5, ease=2.0),
    Landscape("strong rivals", rivals=3, ceiling=0.6, ease=3.0),
)
#: Generations in one step of the model, if the interval is not shorter, and in a run at most.
STEP, HORIZON = 25, 4_000
#: Islands that are simulated side by side, in several runs if one has fewer, within limits.
TOGETHER, FEWEST_RUNS, MOST_RUNS = 8_000, 3, 40
#: Migrations after which the spread of one individual is given up.
PATIENCE = 1_000


@dataclass(frozen=True)
class Case:
    """Runs of one kind."""

    #: What is searched, and who sends to whom.
    landscape: str
    topology: str
    migration: str
    #: Number of islands; generations between two migrations of one.
    islands: int
    interval: int
    #: Number of runs.
    runs: int
    #: Share of runs in which an island had the law within `HORIZON` generations.
    found: float
    #: Generations until then, quartiles of all runs; infinite for a run that did not find it.
    soon: float
    median: float
    late: float
    #: Share of islands that had a survivor with the law's left side at the end.
    kept: float
    #: Sent in 1,000 generations, by one island in the mean.
    messages: float
    #: Share of messages that came to a full island.
    dropped: float
    #: Migrations until all islands have an individual that nothing beats; infinite if they are
    #: more than `PATIENCE`.
    takeover: float = math.nan


def run(
    *,
    sizes: Sequence[int] = SIZES,
    landscapes: Sequence[Landscape] = LANDSCAPES,
    intervals: Sequence[int] = INTERVALS,
    seed: int = 0,
    report: Callable[[Case], None] = lambda case: None,
) -> list[Case]:
    """Simulate all cases, in less than a minute.

    Parameters
    ----------
    sizes, intervals : sequence of int
        Numbers of islands, and generations between two migrations.
    landscapes : sequence of Landscape
        What is searched.
    seed : int
        Of all that is drawn.
    report : callable
        Called with each case when it is done.

    Returns
    -------
    list of Case
    """
    done = []
    for islands in sizes:
        for topology, migration in KINDS:
            spread = takeover(topology, migration, islands, seed)
            used = intervals if topology != "unconnected" else intervals[:1]
            for landscape in landscapes:
                for interval in used:
                    case = simulate(landscape, topology, migration, islands, interval, seed)
                    done.append(replace(case, takeover=spread))
                    report(done[-1])
    return done


def simulate(
    landscape: Landscape, topology: str, migration: str, islands: int, interval: int, seed: int = 0
) -> Case:
    """Return what several runs of one kind give; they are simulated side by side."""
    runs = min(max(TOGETHER // islands, FEWEST_RUNS), MOST_RUNS)
    rng = np.random.default_rng([seed, islands, interval])
    clocks = Clocks(_topology(topology, migration, islands, seed), islands, runs, rng)
    survivors = Survivors(landscape, islands * runs, rng)
    times, kept = np.full(runs, math.inf), np.zeros(runs)
    step, sent, dropped = min(STEP, interval), 0, 0
    for generation in range(step, HORIZON + step, step):
        survivors.search(step * clocks.speed)
        flights = clocks.flights(step / interval)
        sent += len(flights[0])
        dropped += survivors.receive(*flights)
        solved = np.isinf(times) & survivors.solved(runs)
        ended = solved if generation < HORIZON else np.isinf(times)
        if ended.any():
            kept[ended] = survivors.holding(runs)[ended]
        times[solved] = generation
        if np.isfinite(times).all():
            break
    work = generation * runs * islands
    return Case(
        landscape=landscape.name,
        topology=topology,
        migration=migration,
        islands=islands,
        interval=interval,
        runs=runs,
        found=float(np.isfinite(times).mean()),
        soon=_quantile(times, 0.25),
        median=_quantile(times, 0.5),
        late=_quantile(times, 0.75),
        kept=float(kept.mean()),
        messages=1_000 * sent / work,
        dropped=dropped / max(sent, 1),
    )


def takeover(topology: str, migration: str, islands: int, seed: int = 0) -> float:
    """Return after how many migrations all islands have an individual that nothing beats."""
    rng = np.random.default_rng([seed, islands])
    clocks = Clocks(_topology(topology, migration, islands, seed), islands, 1, rng)
    holds = np.arange(islands) == islands // 2
    for steps in range(1, 2 * PATIENCE + 1):
        sources, destinations = clocks.flights(0.5)
        holds[destinations[holds[sources]]] = True
        if holds.all():
            return steps / 2
    return math.inf


def _topology(name: str, migration: str, islands: int, seed: int) -> Ways | Star:
    made = make_topology(name, islands, migration=migration, seed=seed)
    assert isinstance(made, Ways | Star)
    return made


def _quantile(times: Floats, share: float) -> float:
    return float(np.sort(times)[math.ceil(share * len(times)) - 1])


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate and print the tables."""
    parser = parser_of("island_model", ABOUT)
    add = parser.add_argument
    add("--islands", type=_numbers, default=SIZES, metavar="N,...", help="numbers of islands")
    add("--intervals", type=_numbers, default=INTERVALS, metavar="N,...", help="in generations")
    add("--seed", type=int, default=0, metavar="N", help="default: 0")
    asked = parse_arguments(parser, argv)
    cases = run(sizes=asked.islands, intervals=asked.intervals, seed=asked.seed)
    console().print(tables(cases))
    if asked.json is not None:
        write_json(cases, asked.json)
    return 0


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(","))
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {min(numbers)}")
    return numbers


# ---- tables ----------------------------------------------------------------------------------


def tables(cases: Iterable[Case]) -> RenderableType:
    """Return tables: for each landscape and size the generations to the law, and the spreads.

    A cell has the median, the share of runs that found the law, and the quartiles.
    """
    groups: dict[tuple[str, int], list[Case]] = {}
    kinds: dict[tuple[str, str], dict[int, float]] = {}
    for case in cases:
        groups.setdefault((case.landscape, case.islands), []).append(case)
        kinds.setdefault((case.topology, case.migration), {})[case.islands] = case.takeover
    return Group(*(_times(*key, group) for key, group in sorted(groups.items())), _spreads(kinds))


def _times(landscape: str, islands: int, group: Sequence[Case]) -> Table:
    title = f"{landscape}, {islands:,} islands, {group[0].runs} runs"
    intervals = sorted({case.interval for case in group})
    table = Table(title=title, box=box.SIMPLE_HEAD)
    table.add_column("migrate every")
    for interval in intervals:
        table.add_column(f"{interval:,}", justify="right")
    rows: dict[str, dict[int, str]] = {}
    for case in group:
        rows.setdefault(_kind(case.topology, case.migration), {})[case.interval] = _cell(case)
    for kind, cells in rows.items():
        table.add_row(kind, *(cells.get(interval, "") for interval in intervals))
    return table


def _cell(case: Case) -> str:
    quartiles = f"{_number(case.soon)} to {_number(case.late)}"
    return f"{_number(case.median)} {100 * case.found:.0f}%\n{quartiles}"


def _number(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "-"


def _kind(topology: str, migration: str) -> str:
    return topology if migration == "p2p" else f"{topology}, {migration}"


def _spreads(kinds: Mapping[tuple[str, str], Mapping[int, float]]) -> Table:
    sizes = sorted({islands for spreads in kinds.values() for islands in spreads})
    table = Table(title="migrations to spread to all", box=box.SIMPLE_HEAD)
    table.add_column("islands")
    for islands in sizes:
        table.add_column(f"{islands:,}", justify="right")
    for kind, spreads in kinds.items():
        table.add_row(_kind(*kind), *(_number(spreads[islands]) for islands in sizes))
    return table


if __name__ == "__main__":
    sys.exit(main())
