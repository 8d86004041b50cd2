"""How time and memory of one fit grow with rows and features.

Every cell is a process of its own, so that its peak memory is its own. The law is the same
everywhere; features beyond the first two play no part in it.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from benchmarks.command import console, parse_arguments, parser_of
from gsr import GSRRegressor
from gsr.benchmarks.runner import write_json

ROOT = Path(__file__).resolve().parents[1]
Array = npt.NDArray[np.float64]

ROWS = (20, 100, 1_000, 10_000, 100_000, 1_000_000)
FEATURES = (1, 2, 3, 5, 10, 20, 50)
FEW_ROWS, FEW_FEATURES = 200, 3
#: Fits of a cell, with other data each; large cells have one.
FITS, LARGE = 3, 10_000
TEST_ROWS = 1_000
EXACT_AT = 1e-10
MEGABYTE = 2**20
#: Seconds that a cell may take beyond the time of its fits.
PATIENCE = 300.0


@dataclass(frozen=True)
class Cell:
    """Time and memory of fits of one size."""

    #: ``rows`` or ``features``: what grows from cell to cell.
    axis: str
    #: Size of the data.
    rows: int
    features: int
    #: Median time of a fit; NaN if it failed.
    seconds: float = math.nan
    #: Peak memory of the process, and its memory before the first fit with the data in place, in
    #: MB.
    peak: float = math.nan
    before: float = math.nan
    #: Every fit gave the law.
    found: bool = False
    #: What a failed cell said.
    error: str = ""


def cells(rows: Sequence[int] = ROWS, features: Sequence[int] = FEATURES) -> list[Cell]:
    """Return the cells to measure, still empty."""
    down = [Cell("rows", each, FEW_FEATURES) for each in rows]
    return down + [Cell("features", FEW_ROWS, each) for each in features]


def run(
    wanted: Sequence[Cell],
    *,
    preset: str = "default",
    max_time: float = 10.0,
    report: Callable[[Cell], None] = lambda cell: None,
) -> list[Cell]:
    """Measure the cells one after the other.

    Parameters
    ----------
    wanted : sequence of Cell
        See `cells`.
    preset : str
        Preset of the estimator.
    max_time : float
        Seconds allowed to one fit, which has one thread.
    report : callable
        Called with each cell when it is measured.

    Returns
    -------
    list of Cell
    """
    measured = []
    for cell in wanted:
        measured.append(_in_a_process(cell, preset, max_time))
        report(measured[-1])
    return measured


def _in_a_process(cell: Cell, preset: str, max_time: float) -> Cell:
    wanted = ["--cell", json.dumps(asdict(cell)), "--preset", preset, "--max-time", str(max_time)]
    limit = PATIENCE + FITS * 2 * max_time
    try:
        child = subprocess.run(
            [sys.executable, "-m", "benchmarks.scaling", *wanted],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return replace(cell, error=f"no end within {limit:.0f} s")
    if child.returncode:
        lines = child.stderr.strip().splitlines() or [f"ended with {child.returncode}"]
        return replace(cell, error=lines[-1])
    return Cell(**json.loads(child.stdout.splitlines()[-1]))


# ---- one cell, in its own process ------------------------------------------------------------


def data(rows: int, features: int, seed: int = 0) -> tuple[Array, Array]:
    """Return X and y = 1.5 x1^2 + 2 sin(x2) - 0.5; with one feature x2 is x1."""
    rng = np.random.default_rng([seed, rows, features])
    X = rng.uniform(-2, 2, (rows, features))
    y = 1.5 * X[:, 0] ** 2 + 2 * np.sin(X[:, min(1, features - 1)]) - 0.5
    return X, y


def measure(cell: Cell, preset: str, max_time: float) -> Cell:
    """Measure a cell in this process."""

    def fit(X: Array, y: Array, seed: int, limit: float) -> tuple[Any, float]:
        model = GSRRegressor(preset=preset, max_time=limit, n_jobs=1, random_state=seed)
        start = time.perf_counter()
        model.fit(X, y)
        return model, time.perf_counter() - start

    fit(*data(20, 1), 0, 0.2)  # loads code
    fits = 1 if cell.rows > LARGE else FITS
    tables = [data(cell.rows, cell.features, seed) for seed in range(fits)]
    before = _memory("VmRSS")
    outcomes = [fit(*table, seed, max_time) for seed, table in enumerate(tables)]
    peak = _memory("VmHWM")
    test, truth = data(TEST_ROWS, cell.features, fits)
    errors = [np.sqrt(np.mean((model.predict(test) - truth) ** 2)) for model, _ in outcomes]
    return replace(
        cell,
        seconds=statistics.median(seconds for _, seconds in outcomes),
        peak=peak,
        before=before,
        found=bool(max(errors) < EXACT_AT * np.std(truth)),
    )


def _memory(field: str) -> float:
    """Return a figure of Linux about this process, in MB; elsewhere the peak."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = (line.split() for line in status.read_text().splitlines())
        return next(float(words[1]) for words in lines if words[0] == f"{field}:") / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (MEGABYTE if sys.platform == "darwin" else 1024)


# ---- tables ----------------------------------------------------------------------------------


def tables(measured: Iterable[Cell]) -> RenderableType:
    """Return a table for each axis, with the growth from line to line."""
    groups: dict[str, list[Cell]] = {}
    for cell in measured:
        groups.setdefault(cell.axis, []).append(cell)
    return Group(*(_table(axis, group) for axis, group in groups.items()))


def _table(axis: str, group: list[Cell]) -> Table:
    other = f"{FEW_FEATURES} features" if axis == "rows" else f"{FEW_ROWS} rows"
    table = Table(title=f"One fit, {other}, one thread", box=box.SIMPLE_HEAD)
    for title in (axis, "times\nas many", "seconds", "times\nas long", "peak\nMB",
                  "of fit\nMB", "law"):  # fmt: skip
        table.add_column(title, justify="right")
    for before, cell in zip([None, *group], group, strict=False):
        table.add_row(*_line(axis, before, cell))
    return table


def _line(axis: str, before: Cell | None, cell: Cell) -> list[str]:
    size = getattr(cell, axis)
    if cell.error:
        return [f"{size:,}", "", cell.error, "", "", "", ""]
    more = f"{size / getattr(before, axis):.3g}" if before else ""
    longer = f"{cell.seconds / before.seconds:.3g}" if before and before.seconds > 0 else ""
    memory = [f"{cell.peak:.0f}", f"{cell.peak - cell.before:.0f}"]
    law = "found" if cell.found else "not found"
    return [f"{size:,}", more, f"{cell.seconds:.3g}", longer, *memory, law]


# ---- command ---------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; with ``--cell`` measure one cell in this process."""
    parser = parser_of("scaling", __doc__)
    parser.add_argument("--preset", choices=("default", "paper"), default="default")
    parser.add_argument("--max-time", type=float, default=10.0, metavar="S", help="of one fit")
    parser.add_argument("--cell", type=json.loads, help=argparse.SUPPRESS)
    asked = parse_arguments(parser, argv)
    if asked.cell is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(json.dumps(asdict(measure(Cell(**asked.cell), asked.preset, asked.max_time))))
        return 0
    measured = run(cells(), preset=asked.preset, max_time=asked.max_time, report=_report)
    console().print(tables(measured))
    if asked.json is not None:
        write_json(measured, asked.json)
    return 0


def _report(cell: Cell) -> None:
    outcome = cell.error or f"{cell.seconds:.3g} s"
    print(f"rows {cell.rows:,}, features {cell.features}: {outcome}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
