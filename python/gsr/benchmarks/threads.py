"""Time of one search with one thread and with several, where the search is most of the time.

    python -m gsr.benchmarks.threads
    python -m gsr.benchmarks.threads --threads 4 --max-evals 200000 --repeats 3

The machine must have nothing else to do. Laws and work are the same with any number of threads,
which is checked; of several repeats the shortest time counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from rich import box
from rich.table import Table

from gsr.blueprint import Blueprint

Array = npt.NDArray[np.float64]

ROWS = 400
NOISE = 0.05


@dataclass(frozen=True)
class Hard:
    """A law that takes the guide beyond its first stages.

    Parameters
    ----------
    name : str
        How it reads.
    features : int
        Columns; those that the law does not have play no part.
    law : callable
        Values of y.
    noise : float
        Of y, relative to its standard deviation.
    """

    name: str
    features: int
    law: Callable[[Array], Array]
    noise: float = 0.0

    def data(self, seed: int = 0) -> tuple[Array, Array]:
        """Return X and y."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(0.5, 3.0, (ROWS, self.features))
        y = self.law(X)
        return X, y + self.noise * y.std() * rng.normal(size=ROWS)


PROBLEMS = (
    Hard(
        "sqrt(x1 + x2 x3) + ln(x4 + x5)",
        8,
        lambda X: np.sqrt(X[:, 0] + X[:, 1] * X[:, 2]) + np.log(X[:, 3] + X[:, 4]),
    ),
    Hard(
        "x4 sqrt(x1 + x2 x3) + ln(x5)",
        10,
        lambda X: X[:, 3] * np.sqrt(X[:, 0] + X[:, 1] * X[:, 2]) + np.log(X[:, 4]),
    ),
    Hard(
        "x1 exp(-x2) cos(x3) + sqrt(x4 + x5), noisy",
        6,
        lambda X: X[:, 0] * np.exp(-X[:, 1]) * np.cos(X[:, 2]) + np.sqrt(X[:, 3] + X[:, 4]),
        NOISE,
    ),
)


@dataclass(frozen=True)
class Times:
    """Seconds of one search.

    Parameters
    ----------
    name : str
        The law.
    status : str
        Why the search ended.
    one, several : float
        Seconds with one thread and with several.
    same : bool
        Both found the same laws.
    """

    name: str
    status: str
    one: float
    several: float
    same: bool

    @property
    def ratio(self) -> float:
        """Of the time of one thread, what several need."""
        return self.several / self.one


def measure(problem: Hard, threads: int, max_evals: int, repeats: int = 1) -> Times:
    """Search with one thread and with several, by turns."""
    plan = _blueprint(problem)
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
    return Times(problem.name, status, min(seconds[1]), min(seconds[threads]), len(found) == 1)


def _blueprint(problem: Hard) -> Blueprint:
    from gsr import GSRRegressor

    model = GSRRegressor(random_state=0, n_jobs=1)
    posed, _ = model._pose(model._validate(*problem.data(), None))
    return posed.blueprint


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
    from gsr.cli.terminal import console

    parser = argparse.ArgumentParser(prog="python -m gsr.benchmarks.threads")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-evals", type=int, default=200_000, help="of one search")
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args(argv)
    measured = [measure(each, asked.threads, asked.max_evals, asked.repeats) for each in PROBLEMS]
    console().print(table(measured, asked.threads))
    return 0 if all(each.same for each in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
