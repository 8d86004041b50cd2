"""An island of this process, with its inbox."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gsr.islands.migration import Message, Migration


@dataclass
class Counts:
    """What migration did on this rank, and how long it took."""

    sent: int = 0
    received: int = 0
    dropped: int = 0
    accepted: int = 0
    bytes_sent: int = 0
    #: Seconds of the islands' threads, apart from evolving.
    migration_seconds: float = 0.0


@dataclass(eq=False)
class LocalIsland:
    """An island of this process.

    Only one thread at a time uses the core: what others may ask for is copied after each turn.
    """

    #: Its number in the whole run, and the search itself (`_core.Island`).
    number: int
    island: Any
    #: The number of migrations so far.
    epoch: int = 0
    #: The island after its last turn, and the epoch of that.
    snapshot: bytes = field(default=b"", repr=False)
    snapshot_epoch: int = 0
    #: Epoch, snapshot and facts of the turn before.
    earlier: tuple[int, bytes, dict[str, Any]] = field(default=(0, b"", {}), repr=False)
    #: Facts about the snapshot: epoch, evaluations, generation, best error, what was absorbed.
    about: dict[str, Any] = field(default_factory=dict, repr=False)
    #: The state of the island; may be newer than the snapshot.
    status: str = "running"
    generation: int = -1
    evaluations: int = 0
    rmse: float = float("inf")
    front: list[Any] = field(default_factory=list, repr=False)
    #: Evaluations of absorbed islands that have no checkpoints any more.
    absorbed: int = 0
    #: Absorbed islands that still have checkpoints: number of the checkpoint, and evaluations.
    surplus: dict[int, tuple[int, int]] = field(default_factory=dict)
    emigrants: bytes = field(default=b"", repr=False)
    counts: Counts = field(default_factory=Counts)
    _inbox: list[Message] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.keep()

    @property
    def absorbed_evaluations(self) -> int:
        """Evaluations of all islands that this one has absorbed."""
        return self.absorbed + sum(evaluations for _, evaluations in self.surplus.values())

    def put(self, message: Message) -> None:
        """Put a message into the inbox; the island's own thread reads it."""
        with self._lock:
            if self.status == "running":  # otherwise nobody will read it
                self._inbox.append(message)

    def let_in(self, migration: Migration) -> None:
        """Accept the migrants that have arrived, in a fixed order."""
        with self._lock:
            messages, self._inbox = sorted(self._inbox), []
        for message in messages:
            self.counts.received += 1
            self.counts.accepted += migration.accept(self.island, message)

    def keep(self) -> None:
        """Take a snapshot of the island, for checkpoints."""
        self.earlier = (self.snapshot_epoch, self.snapshot, self.about)
        self.snapshot = self.island.save()
        self.snapshot_epoch = self.epoch
        self._copy_state()
        self.about = {
            "epoch": self.epoch,
            "evaluations": self.evaluations,
            "generation": self.generation,
            "rmse": self.rmse,
        }
        if self.absorbed or self.surplus:
            self.about |= {"absorbed": self.absorbed, "surplus": dict(self.surplus)}

    def _copy_state(self) -> None:
        self.status = self.island.status
        self.generation = self.island.generation
        self.evaluations = self.island.evaluations
        self.rmse = self.island.best_rmse
        self.front = self.island.front()

    def turn(self, migration: Migration, goal: float, seconds: float = float("inf")) -> str:
        """Let migrants in, evolve up to so much work or for so long, and choose emigrants."""
        start = time.perf_counter()
        self.let_in(migration)
        busy = time.perf_counter() - start
        status = str(self.island.run(seconds, goal))
        start = time.perf_counter()
        self._copy_state()
        self.epoch += 1
        self.emigrants = migration.emigrants(self.island, self.epoch)
        self.counts.migration_seconds += busy + time.perf_counter() - start
        return status


def make_local_islands(
    make_island: Callable[[int], Any], rank: int, per_rank: int
) -> list[LocalIsland]:
    """Make the islands of a rank, given how to make an island of a number."""
    numbers = range(rank * per_rank, (rank + 1) * per_rank)
    return [LocalIsland(number, make_island(number)) for number in numbers]
