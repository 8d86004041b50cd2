"""Time of one search with one thread and with several, where the search is most of the time.

    python -m benchmarks.threads
    python -m benchmarks.threads --threads 4 --max-evals 200000 --repeats 3

The machine must have nothing else to do. Laws and work are the same with any number of threads,
which is checked; of several repeats the shortest time counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from benchmarks.searches import DEEP, SUM, HardLaw, blueprint
from gsr.cli.terminal import console

#: The laws, on rows of [0.5, 3]^d; the last with noise.
PROBLEMS = (
    replace(SUM, low=0.5, high=3.0),
    replace(DEEP, low=0.5, high=3.0),
    HardLaw(
        "noisy",
        "x1 exp(-x2) cos(x3) + sqrt(x4 + x5), noisy",
        6,
        lambda a, b, c, d, e, *_: a * np.exp(-b) * np.cos(c) + np.sqrt(d + e),
        low=0.5,
        high=3.0,
        noise=0.05,
    ),
)


@dataclass(frozen=True)
class Times:
    """Seconds of one search."""

    #: The law.
    name: str
    #: Why the search ended.
    status: str
    #: Seconds with one thread and with several.
    one: float
    several: float
    #: Both found the same laws.
    same: bool

    @property
    def ratio(self) -> float:
        """Of the time of one thread, what several need."""
        return self.several / self.one


def measure(problem: HardLaw, threads: int, max_evals: int, repeats: int = 1) -> Times:
    """Search with one thread and with several, by turns."""
    plan = blueprint(*problem.data())
    seconds: dict[int, list[float]] = {1: [], threads: []}
    found: set[bytes] = set()
    status = ""
    for _ in range(repeats):
        for n in (1, threads):
            settings = {**plan.settings, "n_threads": n, "max_evaluations": max_evals}
            island = replace(plan, settings=settings).island()
            start = time.perf_counter()
            status = _run(island)
            seconds[n].append(time.perf_counter() - start)
            found.add(island.laws())
    return Times(problem.law, status, min(seconds[1]), min(seconds[threads]), len(found) == 1)


def _run(island: Any) -> str:
    status = "running"
    while status == "running":
        status = island.run(float("inf"))
    return status


def table(measured: Sequence[Times], threads: int) -> Table:
    """Return a line for each law."""
    out = Table(title="Seconds of one search", box=box.SIMPLE_HEAD)
    out.add_column("law")
    for title in ("1 thread", f"{threads} threads", "ratio", "laws", "ended by"):
        out.add_column(title, justify="right")
    for each in measured:
        same = "same" if each.same else "differ"
        times = [f"{each.one:.2f}", f"{each.several:.2f}", f"{each.ratio:.2f}"]
        out.add_row(each.name, *times, same, each.status)
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-evals", type=int, default=200_000, help="of one search")
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args(argv)
    measured = [measure(each, asked.threads, asked.max_evals, asked.repeats) for each in PROBLEMS]
    console().print(table(measured, asked.threads))
    return 0 if all(each.same for each in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
