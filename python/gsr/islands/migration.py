"""Migration: how much, how often and to whom; and its messages."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gsr import _core, options
from gsr.exceptions import GSRError
from gsr.islands.topology import Topology, make_topology

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
