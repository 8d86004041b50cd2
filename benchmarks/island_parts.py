"""Parts of which the cost of many ranks is made, measured on this machine.

    python -m benchmarks.island_parts --json measured.json
    python -m benchmarks.island_scale measured.json

The network is that of no machine here: its latency and bandwidth are assumed, and can be given.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.command import parse_arguments, parser_of
from benchmarks.island_costs import write_table
from benchmarks.searches import blueprint
from gsr.blueprint import Blueprint, padded_block
from gsr.islands import archipelago
from gsr.islands.checkpoints import Checkpoints
from gsr.islands.migration import Message, default_migration
from gsr.options import schema
from gsr.tables import read

#: What a rank that is not the first imports.
WORKER = "import gsr.cli.islands, gsr.islands.rank_run, gsr.islands.mpi"
#: Epochs that the island has behind it.
EPOCHS = 20
REPEATS = 20


def measure(latency: float, bandwidth: float) -> dict[str, float]:
    """Return the parts by the names of `island_scale`."""
    with tempfile.TemporaryDirectory(prefix="gsr-parts-") as folder:
        plan = _plan(Path(folder))
        migration = default_migration(2, 0)
        islands = [plan.island(k, 2) for k in range(2)]
        start = time.process_time()
        for island in islands:
            island.run(float("inf"), EPOCHS * migration.interval)
        interval = (time.process_time() - start) / (EPOCHS * len(islands))
        first, second = islands
        message = Message(1, 0, 1, migration.emigrants(first, 1))
        saved = first.save()
        laws = second.laws()
        checkpoints = Checkpoints(Path(folder) / "checkpoints")
        numbers = iter(range(1, 10**6))
        return {
            "message_bytes": len(message.to_bytes()),
            "message_seconds": _seconds(lambda: migration.emigrants(first, 1))
            + _seconds(lambda: migration.accept(second, message)),
            "interval_seconds": interval,
            "checkpoint_bytes": len(saved),
            "checkpoint_seconds": _seconds(lambda: checkpoints.write(0, next(numbers), saved)),
            "checkpoint_interval_seconds": float(schema()["checkpoint"]["interval"].default),
            "checkpoints_kept": int(schema()["checkpoint"]["keep"].default),
            "start_seconds": _seconds(_start, 3),
            "data_bytes": padded_block(plan.X).nbytes + len(plan.to_json()),
            "front_bytes": len(laws),
            "join_seconds": _seconds(lambda: first.add_laws(laws)) + _seconds(first.laws),
            "latency_seconds": latency,
            "bytes_per_second": bandwidth,
            "look_seconds": archipelago.POLL,
        }


def _plan(folder: Path) -> Blueprint:
    write_table(folder)
    values = read(folder / "table.csv").values
    return blueprint(values[:, :-1], values[:, -1])


def _seconds(action: Callable[[], Any], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return median(times)


def _start() -> None:
    subprocess.run([sys.executable, "-c", WORKER], check=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = parser_of("island_parts", __doc__)
    parser.add_argument("--latency", type=float, default=5e-6, help="of the network, seconds")
    parser.add_argument("--bandwidth", type=float, default=1e9, help="bytes per second")
    asked = parse_arguments(parser, argv)
    parts = measure(asked.latency, asked.bandwidth)
    for name, value in parts.items():
        print(f"{name:28} {value:.4g}")
    if asked.json:
        asked.json.write_text(json.dumps(parts, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
