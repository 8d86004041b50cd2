"""Where migrants go: to islands of this process, or to another rank."""

from __future__ import annotations

from collections.abc import Mapping

from gsr.islands.migration import Message, Migration
from gsr.islands.resident import Counts, Resident
from gsr.islands.transport import Transport


class Exchange:
    """Brings migrants from island to island.

    Parameters
    ----------
    residents : mapping from int to Resident
        The islands of this process.
    migration : Migration
        Who sends to whom.
    transport : Transport
        The way to other ranks.
    per_rank : int
        Islands of each rank; island i is on rank i // per_rank.
    """

    def __init__(
        self,
        residents: Mapping[int, Resident],
        migration: Migration,
        transport: Transport,
        per_rank: int,
    ) -> None:
        self._residents = residents
        self._topology = migration.topology
        self._transport = transport
        self._per_rank = per_rank
        self._early: list[Message] = []

    def send(self, resident: Resident) -> None:
        """Send an island's emigrants; what finds no room is dropped."""
        for message in self._messages(resident):
            self._count(resident.counts, message, self._put(message))

    def receive(self) -> None:
        """Give the islands what has arrived."""
        for message in self._arrived():
            self._residents[message.destination].put(message)

    # ---- in lock-step ------------------------------------------------------------------------

    def try_to_send(self, waiting: list[tuple[Resident, Message]]) -> None:
        """Send what there is room for, and take it from the list."""
        for resident, message in list(waiting):
            if self._put(message):
                self._count(resident.counts, message, True)
                waiting.remove((resident, message))

    def due_messages(self, residents: list[Resident]) -> list[tuple[Resident, Message]]:
        """Return what the islands send in this epoch."""
        return [(each, message) for each in residents for message in self._messages(each)]

    def expected(self, residents: list[Resident]) -> set[tuple[int, int, int]]:
        """Return what the islands are sent in this epoch: epoch, source, destination."""
        return {
            (each.epoch, source, each.number)
            for each in residents
            for source in self._topology.sources(each.number, each.epoch)
        }

    def take(self, expected: set[tuple[int, int, int]]) -> None:
        """Give the islands what belongs to this epoch, and keep what came early."""
        early = []
        for message in self._arrived():
            key = (message.epoch, message.source, message.destination)
            if key in expected:
                expected.remove(key)
                self._residents[message.destination].put(message)
            else:
                early.append(message)
        self._early = early

    # ---- both --------------------------------------------------------------------------------

    def _messages(self, resident: Resident) -> list[Message]:
        number, epoch = resident.number, resident.epoch
        destinations = self._topology.destinations(number, epoch)
        return [Message(epoch, number, each, resident.emigrants) for each in destinations]

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
