"""What islands cost beside the search: throughput by ranks, bookkeeping, messages, checkpoints.

    python -m benchmarks.island_costs --ranks 1,2,16 --seconds 20 --repeats 3

The real command runs under the ``mpirun`` of this environment, on a problem without an end. The
numbers of ranks take turns, so that whatever else the machine does meets them alike; figures are
medians, throughput is relative to the first number of ranks. Each rank notes how much processor
time its main thread uses (messages, agreement, snapshots, display) and how long islands let
migrants in and out; both together are the bookkeeping.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.command import parse_arguments, parser_of
from gsr.benchmarks.runner import write_json
from gsr.exceptions import GSRError
from gsr.islands import journal

CONFIG = """\
[data]
path = "table.csv"
target = "y"
[search]
{search}
[run]
max_time = {seconds}
seed = {seed}
n_jobs = 1
output = "{output}"
[log]
level = "error"
verbose = false
"""


@dataclass(frozen=True)
class Cost:
    """Figures of one run."""

    #: How many.
    ranks: int
    #: Of all ranks together.
    evaluations_per_second: float
    #: Share of a rank's time, the mean over ranks.
    bookkeeping: float
    #: Sent by a rank in a second; the size of one.
    messages: float
    bytes_per_message: float
    #: Of an island.
    checkpoint_bytes: float
    #: From the command to the first line of the last rank.
    start_seconds: float


def write_table(folder: Path, rows: int = 400) -> None:
    """Write a table whose law is out of reach."""
    X = np.random.default_rng(0).uniform(1.0, 4.0, (rows, 5))
    a, b, c, d, e = X.T
    y = a * np.sin(b * c) / (d + e**2) + np.exp(-a * d) * np.cos(c * e) + np.sqrt(b * e + np.log(d))
    table = np.column_stack([X, y])
    np.savetxt(folder / "table.csv", table, delimiter=",", header="a,b,c,d,e,y", comments="")


def launcher() -> str:
    """Return the mpirun of this environment."""
    beside = Path(sys.executable).with_name("mpirun")
    found = str(beside) if beside.exists() else shutil.which("mpirun")
    if found is None:
        raise GSRError("there is no mpirun; pip install mpich mpi4py")
    return found


def measure(ranks: int, seconds: float, folder: Path, name: str, search: str, seed: int) -> Cost:
    """Run the command once, and read what it notes about itself."""
    config = folder / f"{name}.toml"
    config.write_text(CONFIG.format(seconds=seconds, output=name, search=search, seed=seed))
    command = [launcher(), "-n", str(ranks), sys.executable, "-m", "gsr.islands", config.name]
    start = time.time()
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=dict(os.environ), check=False
    )
    if not (folder / name / "result.json").exists():
        raise GSRError(f"the run failed: {ended.stderr.strip()}")
    run = folder / name
    each = [_rank(journal.metrics_path(run, rank)) for rank in range(ranks)]
    saved = [path.stat().st_size for path in run.glob("checkpoints/island-*/*.gsr")]
    return Cost(
        ranks,
        sum(rank["evaluations"] / rank["seconds"] for rank in each),
        float(np.mean([_bookkeeping(rank) for rank in each])),
        float(np.mean([rank["sent"] / rank["seconds"] for rank in each])),
        sum(rank["bytes_sent"] for rank in each) / max(sum(rank["sent"] for rank in each), 1),
        float(np.mean(saved)),
        max(rank["start"] for rank in each) - start,
    )


def _rank(path: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    figures = [line for line in lines if "evaluations" in line]
    return {**figures[-1], "start": lines[0]["time"]}


def _bookkeeping(rank: dict[str, Any]) -> float:
    return float((rank["main_seconds"] + rank["migration_seconds"]) / rank["seconds"])


def table(costs: Sequence[Cost]) -> str:
    """Return medians by the number of ranks."""
    counts = list(dict.fromkeys(cost.ranks for cost in costs))
    first = median(c.evaluations_per_second for c in costs if c.ranks == counts[0])
    lines = ["ranks  evaluations/s  relative  bookkeeping  messages/s  bytes  checkpoint  start s"]
    for ranks in counts:
        mine = [asdict(cost) for cost in costs if cost.ranks == ranks]
        m = {name: median(each[name] for each in mine) for name in mine[0]}
        lines.append(
            f"{ranks:5d}  {m['evaluations_per_second']:13,.0f}  "
            f"{m['evaluations_per_second'] / first:8.2f}  {m['bookkeeping']:11.2%}  "
            f"{m['messages']:10.2f}  {m['bytes_per_message']:5.0f}  "
            f"{m['checkpoint_bytes']:10,.0f}  {m['start_seconds']:7.1f}"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = parser_of("island_costs", __doc__)
    parser.add_argument("--ranks", default="1,2,16")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--search", default="", help="lines of the section [search]")
    asked = parse_arguments(parser, argv)
    costs: list[Cost] = []
    with tempfile.TemporaryDirectory(prefix="gsr-costs-") as folder:
        write_table(Path(folder))
        for repeat in range(asked.repeats):
            for ranks in map(int, asked.ranks.split(",")):
                name = f"run-{ranks}-{repeat}"
                costs.append(
                    measure(ranks, asked.seconds, Path(folder), name, asked.search, repeat)
                )
                print(json.dumps(asdict(costs[-1])), file=sys.stderr, flush=True)
    print(table(costs))
    if asked.json:
        write_json(costs, asked.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
