"""Compare `gsr` with other programs: the same data, the same time, one thread each, in one run.

    python -m benchmarks.against jin --peers pyoperon,gplearn

The others get a common operator set (+ - * / sin cos exp log square sqrt, constants) as far as
they have one, and an oracle that stops them when the test rows are met. `gsr` has its own defaults
and no oracle.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import statistics
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.command import console, parse_arguments, parser_of
from benchmarks.peers.oracle import EXACT_AT, RECOVERED_AT, Oracle, clock
from gsr.benchmarks import measured, runner, suite_runs
from gsr.benchmarks.suites import ALL_SUITES, Problem, select
from gsr.cli.terminal import at_least

OURS = "gsr"
#: Names of their packages, and of our modules in `benchmarks.peers`.
PEERS = ("pyoperon", "gplearn", "bingo", "ffx", "pysindy")
#: What to install, where that is not the name of the package; FFX needs six and does not say so.
PACKAGES = {"bingo": "bingo-nasa", "ffx": "ffx six"}
#: Test RMSE, relative to the spread of y, at which R2 is 0.999.
CLOSE_AT = math.sqrt(1e-3)
TIMES = ("both", f"{OURS} s", "its s", "ratio")
Rows = list["Attempt"]


@dataclass(frozen=True)
class Attempt:
    """What one program reached in one run."""

    #: ``gsr`` or a peer.
    method: str
    #: Which run it was.
    suite: str
    problem: str
    seed: int
    #: Test RMSE below 1e-6 and 1e-10 of the spread of y.
    recovered: bool = False
    exact: bool = False
    #: That RMSE, relative to the spread; NaN if the run failed.
    error: float = math.nan
    #: Processor time until the law was recovered, or of the whole run.
    seconds: float = math.nan
    #: Likewise until it was exact.
    seconds_exact: float = math.nan
    #: The law as text.
    equation: str = ""
    #: What a failed run raised.
    failure: str = ""

    @property
    def found(self) -> bool:
        """Whether the law was recovered."""
        return self.recovered


@dataclass(frozen=True)
class _Task:
    method: str
    problem: Problem
    seed: int
    options: Mapping[str, Any]
    peers: tuple[str, ...]


def installed(peers: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split the peers into those that are installed and those that are not."""
    named = list(dict.fromkeys(peers))
    there = [peer for peer in named if _is_installed(peer)]
    return there, [peer for peer in named if peer not in there]


def _is_installed(peer: str) -> bool:
    return importlib.util.find_spec(peer) is not None


def run(
    problems: Sequence[Problem],
    peers: Sequence[str],
    *,
    preset: str,
    runs: int,
    max_time: float,
    jobs: int = 1,
    json_path: Path | None = None,
    progress: bool = True,
) -> list[Attempt]:
    """Let `gsr` and then each peer work on every problem.

    Parameters
    ----------
    problems : sequence of Problem
        See `gsr.benchmarks.suites.select`.
    peers : sequence of str
        Installed peers, see `installed`.
    preset : str
        Preset of our estimator.
    runs : int
        Independent runs per problem and program, with the seeds 0..runs-1.
    max_time : float
        Seconds of processor time allowed to one run.
    jobs : int
        Processes; every run uses one thread.
    json_path : path-like, optional
        Where the attempts are written as a JSON list.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    list of Attempt
        After Ctrl-C only the finished ones.
    """
    options = {"preset": preset, "max_time": max_time}
    tasks = [
        _Task(method, problem, seed, options, tuple(peers))
        for problem in problems
        for seed in range(runs)
        for method in (OURS, *peers)
    ]
    work = runner.Work(_attempt, _failed, _start)
    return runner.run(tasks, work, jobs=jobs, json_path=json_path, progress=progress)


def _start(task: _Task) -> None:
    """Load code outside the timing; the tasks of all programs are alike."""
    measured.warm_up(task.options)
    for peer in task.peers:
        with suppress(Exception):  # it will show again in the runs
            oracle = Oracle(*task.problem.test(0), max_time=0.0)
            _search(peer)(*task.problem.train(0), 0, oracle)


def _attempt(task: _Task) -> Attempt:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _ours(task) if task.method == OURS else _theirs(task)


def _ours(task: _Task) -> Attempt:
    X_test, y_test = task.problem.test(task.seed)
    data = task.problem.train(task.seed)
    start, allowed = clock(), float(task.options["max_time"])

    def is_over(_: Any) -> bool:
        return clock() - start > allowed

    options = {**task.options, "max_time": None, "callback": is_over}
    model = suite_runs.estimator(task.problem, task.seed, options)
    model.fit(*data)
    seconds = clock() - start
    error = suite_runs.rmse(model.predict(X_test), y_test) / float(np.std(y_test))
    return replace(
        _blank(task),
        recovered=error < RECOVERED_AT,
        exact=error < EXACT_AT,
        error=error,
        seconds=seconds,
        seconds_exact=seconds,
        equation=str(model.equation_),
    )


def _theirs(task: _Task) -> Attempt:
    data = task.problem.train(task.seed)
    search = _search(task.method)
    with threadpool_limits(1):
        oracle = Oracle(*task.problem.test(task.seed), max_time=task.options["max_time"])
        search(*data, task.seed, oracle)
    return replace(
        _blank(task),
        recovered=oracle.error < RECOVERED_AT,
        exact=oracle.error < EXACT_AT,
        error=oracle.error,
        seconds=_first(oracle.recovered_at, oracle.seconds),
        seconds_exact=_first(oracle.exact_at, oracle.seconds),
        equation=oracle.equation,
    )


def _first(reached: float, otherwise: float) -> float:
    return otherwise if math.isnan(reached) else reached


def _search(peer: str) -> Callable[..., None]:
    search: Callable[..., None] = importlib.import_module(f"benchmarks.peers.{peer}").search
    return search


def _blank(task: _Task) -> Attempt:
    return Attempt(task.method, task.problem.suite, task.problem.name, task.seed)


def _failed(task: _Task, error: str) -> Attempt:
    return replace(_blank(task), failure=error)


# ---- tables ----------------------------------------------------------------------------------


def tables(attempts: Iterable[Attempt]) -> RenderableType:
    """Return what each program reached, and the times where it and `gsr` found the same law."""
    rows = list(attempts)
    methods = list(dict.fromkeys(row.method for row in rows))
    reached = _table(
        ["runs", "recovered %", "exact %", "median s", "R2 > .999 %", "failed"],
        "Recovered: test RMSE below 1e-6 of the spread of y. Exact: below 1e-10.\n"
        "R2 > .999: an approximation, on the test rows.",
    )
    _fill(reached, rows, methods, _shares)
    if methods == [OURS]:
        return reached
    titles = [f"{word}\n{what}" for word in ("recov.", "exact") for what in TIMES]
    caption = "Median seconds to the law in the runs in which both found it, and their ratio."
    times = _table(titles, caption)
    _fill(times, rows, [m for m in methods if m != OURS], _common)
    return Group(reached, times)


def _table(titles: Sequence[str], caption: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, caption=caption, padding=(0, 1, 0, 0))
    for title in ("", "program"):
        table.add_column(title, no_wrap=True)
    for title in titles:
        table.add_column(title, justify="right", overflow="fold")
    return table


def _fill(
    table: Table, rows: Rows, methods: list[str], cells: Callable[[Rows, str], list[str]]
) -> None:
    suites = [s for s in ALL_SUITES if any(row.suite == s for row in rows)]
    groups = {suite: [row for row in rows if row.suite == suite] for suite in suites}
    for name, group in {**groups, "all": rows}.items():
        for method in methods:
            table.add_row(name if method == methods[0] else "", method, *cells(group, method))
        table.add_section()


def _shares(group: Rows, method: str) -> list[str]:
    rows = [row for row in group if row.method == method]
    if not rows:
        return ["0", "-", "-", "-", "-", "-"]
    found = [row.seconds for row in rows if row.recovered]
    return [
        str(len(rows)),
        f"{100 * statistics.fmean(row.recovered for row in rows):.4g}",
        f"{100 * statistics.fmean(row.exact for row in rows):.4g}",
        f"{statistics.median(found):.3g}" if found else "-",
        f"{100 * statistics.fmean(row.error < CLOSE_AT for row in rows):.4g}",
        str(sum(bool(row.failure) for row in rows)),
    ]


def _common(group: Rows, peer: str) -> list[str]:
    recovered = _both(group, peer, "recovered", "seconds")
    return recovered + _both(group, peer, "exact", "seconds_exact")


def _both(rows: Rows, peer: str, what: str, when: str) -> list[str]:
    times = {
        method: {
            (row.problem, row.seed): getattr(row, when)
            for row in rows
            if row.method == method and getattr(row, what)
        }
        for method in (OURS, peer)
    }
    common = times[OURS].keys() & times[peer].keys()
    if not common:
        return ["0", "-", "-", "-"]
    ours, theirs = (statistics.median(times[m][key] for key in common) for m in (OURS, peer))
    return [str(len(common)), f"{ours:.2g}", f"{theirs:.2g}", f"{theirs / ours:.3g}"]


# ---- command -----------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 1 after Ctrl-C."""
    parser = parser_of("against", __doc__)
    parser.add_argument("names", nargs="+", metavar="SUITE", help="suites or problems of gsr bench")
    parser.add_argument("--peers", type=_peers, default=PEERS, metavar="PEER,...",
                        help=f"default: {','.join(PEERS)}")  # fmt: skip
    parser.add_argument("--preset", choices=("default", "paper"), default="default")
    parser.add_argument("--runs", type=at_least(int, 1), default=25, metavar="N")
    parser.add_argument("--max-time", type=at_least(float, 0), default=10.0, metavar="S",
                        help="seconds of processor time of one run; default: 10")  # fmt: skip
    parser.add_argument("--jobs", type=at_least(int, 1), default=1, metavar="N")
    asked = parse_arguments(parser, argv)
    try:
        problems = select(asked.names)
    except ValueError as error:
        parser.error(str(error))
    peers, missing = installed(asked.peers)
    for peer in missing:
        package = PACKAGES.get(peer, peer)
        print(f"{peer} is not installed and left out; pip install {package}", file=sys.stderr)
    rows = run(problems, peers, preset=asked.preset, runs=asked.runs, max_time=asked.max_time,
               jobs=asked.jobs, json_path=asked.json)  # fmt: skip
    if rows:
        console().print(tables(rows))
    return 0 if len(rows) == len(problems) * asked.runs * (1 + len(peers)) else 1


def _peers(text: str) -> list[str]:
    named = [part.strip().lower() for part in text.split(",")]
    unknown = [name for name in named if name not in PEERS]
    if unknown:
        raise argparse.ArgumentTypeError(f"must be among {', '.join(PEERS)}, got {unknown[0]!r}")
    return named


if __name__ == "__main__":
    sys.exit(main())
