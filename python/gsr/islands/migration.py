"""Migration: how much, how often and to whom; the islands of a process, and how migrants travel."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gsr import _core, options
from gsr.exceptions import GSRError
from gsr.islands.topology import Topology, make_topology
from gsr.islands.transport import Transport

#: Version of the format, source, destination, epoch; the migrants follow.
_HEAD = struct.Struct("<BIIQ")
VERSION = 1


@dataclass(frozen=True)
class Migration:
    """What islands exchange."""

    topology: Topology
    #: Work between two migrations, in individuals.
    interval: float
    #: Individuals in a message, and which of them: ``"best"`` or ``"random"``.
    migrants: int = 3
    selection: str = "best"
    #: Whose place they take: of anyone worse (``"fair"``), of the ``"worst"``, of anyone
    #: (``"random"``).
    replacement: str = "fair"
    #: Whether islands also exchange laws, and which left sides are promising.
    knowledge: bool = True

    def emigrants(self, island: Any, epoch: int) -> bytes:
        """Return copies of some individuals of an island."""
        kind = getattr(_core.EmigrantSelection, self.selection)
        return bytes(island.emigrants(self.migrants, kind, epoch))

    def accept(self, island: Any, message: Message) -> int:
        """Accept migrants into an island; return how many stay."""
        policy = getattr(_core.Replacement, self.replacement)
        return int(island.accept(message.migrants, policy, message.epoch, self.knowledge))


#: What islands do unless they are told otherwise; see docs/scale.md.
DEFAULTS = {each.name: each.default for each in options.ISLANDS}


def default_migration(n_islands: int, seed: int) -> Migration:
    """Return what so many islands exchange by default."""
    return make_migration(n_islands, seed, DEFAULTS)


def make_migration(n_islands: int, seed: int, changes: Mapping[str, Any]) -> Migration:
    """Return what islands exchange, by the keys of the section ``[islands]``."""
    asked = {**DEFAULTS, **{key: value for key, value in changes.items() if value is not None}}
    topology = make_topology(
        asked["topology"],
        n_islands,
        edges=asked.get("edges"),
        migration=asked["migration"],
        seed=seed,
    )
    names = ("interval", "migrants", "selection", "replacement", "knowledge")
    return Migration(topology, **{name: asked[name] for name in names})


@dataclass(frozen=True, order=True)
class Message:
    """Migrants on their way from island to island, as bytes of the core."""

    epoch: int
    source: int
    destination: int
    migrants: bytes

    def to_bytes(self) -> bytes:
        """Return the message as it travels."""
        return _HEAD.pack(VERSION, self.source, self.destination, self.epoch) + self.migrants

    @staticmethod
    def from_bytes(content: bytes) -> Message:
        """Read a message."""
        version, source, destination, epoch = _HEAD.unpack_from(content)
        if version != VERSION:
            raise GSRError(
                f"a message of version {version} arrived; all ranks must run the same gsr"
            )
        return Message(epoch, source, destination, content[_HEAD.size :])


# ---- the islands of a process --------------------------------------------------------------------


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


# ---- transport of migrants -----------------------------------------------------------------------


class Exchange:
    """Sends and receives migrants of the islands of this process, which are given by number.

    Each rank has `per_rank` islands: island i is on rank i // per_rank.
    """

    def __init__(
        self,
        islands: Mapping[int, LocalIsland],
        migration: Migration,
        transport: Transport,
        per_rank: int,
    ) -> None:
        self._islands = islands
        self._topology = migration.topology
        self._transport = transport
        self._per_rank = per_rank
        self._early: list[Message] = []

    def send(self, local: LocalIsland) -> None:
        """Send an island's emigrants; messages that find no room are dropped."""
        for message in self._messages(local):
            self._count(local.counts, message, self._put(message))

    def receive(self) -> None:
        """Deliver the messages that have arrived."""
        for message in self._arrived():
            self._islands[message.destination].put(message)

    # ---- in lock-step ------------------------------------------------------------------------

    def try_to_send(self, waiting: list[tuple[LocalIsland, Message]]) -> None:
        """Send the messages that there is room for, and remove them from the list."""
        for local, message in list(waiting):
            if self._put(message):
                self._count(local.counts, message, True)
                waiting.remove((local, message))

    def due_messages(self, islands: list[LocalIsland]) -> list[tuple[LocalIsland, Message]]:
        """Return what the islands send in this epoch."""
        return [(each, message) for each in islands for message in self._messages(each)]

    def expected(self, islands: list[LocalIsland]) -> set[tuple[int, int, int]]:
        """Return what the islands receive in this epoch: epoch, source, destination."""
        return {
            (each.epoch, source, each.number)
            for each in islands
            for source in self._topology.sources(each.number, each.epoch)
        }

    def take(self, expected: set[tuple[int, int, int]]) -> None:
        """Deliver the messages of this epoch, and keep those of the next."""
        early = []
        for message in self._arrived():
            key = (message.epoch, message.source, message.destination)
            if key in expected:
                expected.remove(key)
                self._islands[message.destination].put(message)
            else:
                early.append(message)
        self._early = early

    # ---- both --------------------------------------------------------------------------------

    def _messages(self, local: LocalIsland) -> list[Message]:
        number, epoch = local.number, local.epoch
        destinations = self._topology.destinations(number, epoch)
        return [Message(epoch, number, each, local.emigrants) for each in destinations]

    def _put(self, message: Message) -> bool:
        rank = message.destination // self._per_rank
        if rank == self._transport.rank:
            self._early.append(message)
            return True
        return self._transport.send(rank, message.to_bytes())

    def _arrived(self) -> list[Message]:
        local, self._early = self._early, []
        return local + [Message.from_bytes(each) for _, each in self._transport.receive()]

    def _count(self, counts: Counts, message: Message, taken: bool) -> None:
        counts.sent += taken
        counts.dropped += not taken
        counts.bytes_sent += taken * len(message.migrants)
