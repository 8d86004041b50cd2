"""An island of this process, with its post."""

from __future__ import annotations

import threading
import time
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
class Resident:
    """An island of this process.

    The core is used by one thread at a time: what others may want to know is noted after each turn.

    Parameters
    ----------
    number : int
        Of the whole run.
    island : _core.Island
        The search itself.
    epoch : int
        Migrations so far.

    Attributes
    ----------
    snapshot : bytes
        The island after its last turn, of the epoch `snapshot_epoch`.
    earlier : tuple
        Epoch, snapshot and facts of the turn before.
    about : dict
        Epoch, evaluations, generation and best error of the snapshot, and what was absorbed.
    absorbed : int
        Evaluations of islands that this one has absorbed and that are gone.
    surplus : dict
        Those that it has absorbed and whose checkpoints are still there: the number of the
        checkpoint, and evaluations.
    status, generation, evaluations, rmse, front
        Of the island; newer than the snapshot for a moment.
    """

    number: int
    island: Any
    epoch: int = 0
    snapshot: bytes = field(default=b"", repr=False)
    snapshot_epoch: int = 0
    earlier: tuple[int, bytes, dict[str, Any]] = field(default=(0, b"", {}), repr=False)
    about: dict[str, Any] = field(default_factory=dict, repr=False)
    status: str = "running"
    generation: int = -1
    evaluations: int = 0
    rmse: float = float("inf")
    front: list[Any] = field(default_factory=list, repr=False)
    absorbed: int = 0
    surplus: dict[int, tuple[int, int]] = field(default_factory=dict)
    emigrants: bytes = field(default=b"", repr=False)
    counts: Counts = field(default_factory=Counts)
    _post: list[Message] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.keep()

    @property
    def absorbed_evaluations(self) -> int:
        """Of all islands that this one has absorbed."""
        return self.absorbed + sum(evaluations for _, evaluations in self.surplus.values())

    def put(self, message: Message) -> None:
        """Leave a message for the island; its own thread reads it."""
        with self._lock:
            if self.status == "running":  # else nobody will read it
                self._post.append(message)

    def let_in(self, migration: Migration) -> None:
        """Accept the migrants that have arrived, in a fixed order."""
        with self._lock:
            post, self._post = sorted(self._post), []
        for message in post:
            self.counts.received += 1
            self.counts.accepted += migration.accept(self.island, message)

    def keep(self) -> None:
        """Remember the island as it is now: what a checkpoint is made of."""
        self.earlier = (self.snapshot_epoch, self.snapshot, self.about)
        self.snapshot = self.island.save()
        self.snapshot_epoch = self.epoch
        self._note()
        self.about = {
            "epoch": self.epoch,
            "evaluations": self.evaluations,
            "generation": self.generation,
            "rmse": self.rmse,
        }
        if self.absorbed or self.surplus:
            self.about |= {"absorbed": self.absorbed, "surplus": dict(self.surplus)}

    def _note(self) -> None:
        self.status = self.island.status
        self.generation = self.island.generation
        self.evaluations = self.island.evaluations
        self.rmse = self.island.best_rmse
        self.front = self.island.front()

    def turn(self, migration: Migration, goal: float, seconds: float = float("inf")) -> str:
        """Let migrants in, evolve up to so much work or for so long, and choose emigrants.

        Returns
        -------
        str
            The island's status.
        """
        start = time.perf_counter()
        self.let_in(migration)
        busy = time.perf_counter() - start
        status = str(self.island.run(seconds, goal))
        start = time.perf_counter()
        self._note()
        self.epoch += 1
        self.emigrants = migration.emigrants(self.island, self.epoch)
        self.counts.migration_seconds += busy + time.perf_counter() - start
        return status
