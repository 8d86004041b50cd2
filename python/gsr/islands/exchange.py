"""Brings migrants from island to island, in this process or on another rank."""

from __future__ import annotations

from collections.abc import Mapping

from gsr.islands.local_island import Counts, LocalIsland
from gsr.islands.migration import Message, Migration
from gsr.islands.transport import Transport


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
