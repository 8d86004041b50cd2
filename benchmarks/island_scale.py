"""What a run over many ranks costs, one island on each, by formulas whose parts are measured.

A part that is missing leaves its figures out; nothing is guessed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table

from benchmarks.island_model import SIZES

#: Characters in a line of the tables.
WIDTH = 110
#: The parts: what each is, and its unit.
PARTS = {
    "message_bytes": "bytes of a message of migrants",
    "message_seconds": "seconds of a rank to send one message, or to receive one and take it in",
    "interval_seconds": "seconds between two migrations of an island",
    "checkpoint_bytes": "bytes of one checkpoint of an island",
    "checkpoint_seconds": "seconds to write one checkpoint, synchronised to the disk",
    "checkpoint_interval_seconds": "seconds between two checkpoints of an island",
    "checkpoints_kept": "checkpoints that are kept of an island",
    "start_seconds": "seconds until a rank alone on a core has its code loaded",
    "data_bytes": "bytes that rank 0 shares at the start",
    "front_bytes": "bytes of the laws of a rank at the end",
    "join_seconds": "seconds to join the laws of two ranks",
    "latency_seconds": "seconds of an empty message between two nodes",
    "bytes_per_second": "of a large message between two nodes",
    "look_seconds": "seconds between two looks of a rank that waits, at most",
}


@dataclass(frozen=True)
class Degree:
    """Messages of one migration of every island."""

    #: By the rank that has most to do, and by all.
    sent: int
    received: int
    total: int
    #: Other ranks with which that rank has to do in the course of time.
    partners: int


def steps(ranks: int) -> int:
    """Return the steps of a binomial tree over the ranks: log2, rounded up."""
    return (ranks - 1).bit_length()


def _one(partners: Callable[[int], int]) -> Callable[[int], Degree]:
    return lambda n: Degree(1, 1, n, partners(n))


def _all(partners: Callable[[int], int]) -> Callable[[int], Degree]:
    return lambda n: Degree(partners(n), partners(n), n * partners(n), partners(n))


#: Upper limits: in random pairs and in a hypercube of any size some islands sit out at times.
DEGREES: dict[tuple[str, str], Callable[[int], Degree]] = {
    ("ring", "p2p"): _one(lambda n: 2),
    ("ring", "broadcast"): _all(lambda n: 2),
    ("torus", "p2p"): _one(lambda n: 4),
    ("torus", "broadcast"): _all(lambda n: 4),
    ("hypercube", "p2p"): _one(steps),
    ("hypercube", "broadcast"): _all(steps),
    ("random_pairs", "p2p"): _one(lambda n: n - 1),
    ("fully_connected", "p2p"): _one(lambda n: n - 1),
    ("fully_connected", "broadcast"): _all(lambda n: n - 1),
    ("star", "p2p"): lambda n: Degree(1, n - 1, n, n - 1),
    ("star", "broadcast"): lambda n: Degree(n - 1, n - 1, 2 * (n - 1), n - 1),
}


@dataclass(frozen=True)
class Traffic:
    """Migration over one topology."""

    #: Who sends to whom.
    topology: str
    migration: str
    #: Number of ranks.
    ranks: int
    #: In one migration of every island: by the rank that has most to do, and by all.
    sent: int
    received: int
    messages: int
    #: Ranks with which that rank has to do in the course of time.
    partners: int
    #: Sent and received by that rank, and sent by all.
    bytes_of_rank: float
    bytes_of_all: float
    #: Of that rank's time; more than 1 cannot be.
    share: float


@dataclass(frozen=True)
class Fixed:
    """What does not depend on the topology."""

    #: Number of ranks.
    ranks: int
    #: Load the code, and pass on the data in a tree; without what the launcher and the file system
    #: add.
    start_seconds: float
    #: From the last rank's word to the answer on all.
    agreement_seconds: float
    #: On rank 0, which has most to do, at the end.
    merge_steps: int
    merge_seconds: float
    #: On the disk, of all ranks and all that are kept.
    checkpoint_bytes: float
    checkpoint_files: float
    #: Bytes that all ranks write in a second.
    checkpoint_rate: float
    #: Of the time of a rank's background thread.
    checkpoint_share: float


class Scale(NamedTuple):
    """All figures."""

    traffic: list[Traffic]
    fixed: list[Fixed]


def scale_table(
    measured: Mapping[str, float | None] | None = None, ranks: Sequence[int] = SIZES
) -> Scale:
    """Return what runs over many ranks cost.

    Parameters
    ----------
    measured : mapping, optional
        Measured parts by their names in `PARTS`. What needs a missing one is NaN.
    ranks : sequence of int
        Numbers of ranks.

    Returns
    -------
    Scale
    """
    unknown = set(measured or {}) - set(PARTS)
    if unknown:
        raise ValueError(f"not a part: {', '.join(sorted(unknown))}")
    given = {name: value for name, value in (measured or {}).items() if value is not None}
    parts = {name: float(given.get(name, math.nan)) for name in PARTS}
    kinds = [(*kind, n) for kind in DEGREES for n in ranks]
    return Scale([_traffic(*kind, parts) for kind in kinds], [_fixed(n, parts) for n in ranks])


def _traffic(topology: str, migration: str, ranks: int, parts: Mapping[str, float]) -> Traffic:
    degree = DEGREES[topology, migration](ranks)
    handled = degree.sent + degree.received
    return Traffic(
        topology=topology,
        migration=migration,
        ranks=ranks,
        sent=degree.sent,
        received=degree.received,
        messages=degree.total,
        partners=degree.partners,
        bytes_of_rank=handled * parts["message_bytes"],
        bytes_of_all=degree.total * parts["message_bytes"],
        share=handled * parts["message_seconds"] / parts["interval_seconds"],
    )


def _fixed(ranks: int, parts: Mapping[str, float]) -> Fixed:
    depth = steps(ranks)

    def hop(size: float) -> float:
        return parts["latency_seconds"] + size / parts["bytes_per_second"]

    look = parts["look_seconds"]
    files = ranks * parts["checkpoints_kept"]
    often = parts["checkpoint_interval_seconds"]
    return Fixed(
        ranks=ranks,
        start_seconds=parts["start_seconds"] + depth * (hop(parts["data_bytes"]) + look),
        agreement_seconds=depth * (hop(0.0) + look),
        merge_steps=depth,
        merge_seconds=depth * (hop(parts["front_bytes"]) + look + parts["join_seconds"]),
        checkpoint_bytes=files * parts["checkpoint_bytes"],
        checkpoint_files=files,
        checkpoint_rate=ranks * parts["checkpoint_bytes"] / often,
        checkpoint_share=parts["checkpoint_seconds"] / often,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables for parts from a JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", nargs="?", type=Path, metavar="FILE", help="parts, as JSON")
    file = parser.parse_args(argv).measured
    measured = json.loads(file.read_text(encoding="utf-8")) if file else {}
    Console(highlight=False, width=WIDTH).print(tables(scale_table(measured)))
    return 0


# ---- tables ----------------------------------------------------------------------------------


def tables(scale: Scale) -> RenderableType:
    """Return the figures as two tables."""
    return Group(_traffic_table(scale.traffic), _fixed_table(scale.fixed))


def _traffic_table(lines: Iterable[Traffic]) -> Table:
    table = _table("One migration of every island, on the busiest rank and on all", "topology",
                   "ranks", "sent", "received", "partners", "messages\nof all", "bytes",
                   "bytes\nof all", "share\nof time")  # fmt: skip
    for line in lines:
        kind = line.topology if line.migration == "p2p" else f"{line.topology}, {line.migration}"
        counts = (line.ranks, line.sent, line.received, line.partners, line.messages)
        sizes = (line.bytes_of_rank, line.bytes_of_all)
        table.add_row(kind, *(f"{count:,}" for count in counts), *map(_size, sizes),
                      _shown(100 * line.share, " %"))  # fmt: skip
    return table


def _fixed_table(lines: Iterable[Fixed]) -> Table:
    table = _table("With any topology", "ranks", "start\ns", "agree\ns", "merge\nsteps",
                   "merge\ns", "kept on\ndisk", "files", "written\na second",
                   "writer\nbusy")  # fmt: skip
    for line in lines:
        table.add_row(
            f"{line.ranks:,}",
            _shown(line.start_seconds),
            _shown(line.agreement_seconds),
            str(line.merge_steps),
            _shown(line.merge_seconds),
            _size(line.checkpoint_bytes),
            "-" if math.isnan(line.checkpoint_files) else f"{line.checkpoint_files:,.0f}",
            _size(line.checkpoint_rate),
            _shown(100 * line.checkpoint_share, " %"),
        )
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


def _shown(value: float, unit: str = "") -> str:
    return "-" if math.isnan(value) else f"{value:.2g}{unit}"


def _size(value: float) -> str:
    if math.isnan(value):
        return "-"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


if __name__ == "__main__":
    sys.exit(main())
