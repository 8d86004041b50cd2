"""Who sends migrants to whom.

Islands are numbered 0 to n - 1. An epoch is the number of a migration. For every epoch,
`destinations` and `sources` of a topology are inverse to each other, and every island computes them
without communication. So an island in lock-step knows whom to wait for.

Regular topologies are made of *ways*, which lead from every island to another one, such as "one to
the right". Peer to peer, all islands take the same way in an epoch, so that each sends
once and receives once. A few ways take turns, in an order that is drawn for each round; of many,
one is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gsr.exceptions import GSRError, suggestion

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Edge = tuple[int, int]
#: One island, or an array of them: the rules are arithmetic that works for both.
Place = TypeVar("Place", int, "npt.NDArray[np.int64]")

#: Where a way leads: from the island, the way and the number of islands.
Step = Callable[[Any, Any, int], Any]

MIGRATIONS = ("p2p", "broadcast")
#: At most so many neighbours take turns: those of a hypercube of a million islands.
FEW = 20
BITS = 2**64 - 1


class Topology(Protocol):
    """Who sends migrants to whom."""

    def destinations(self, island: int, epoch: int) -> tuple[int, ...]:
        """Return the islands to which an island sends in an epoch."""

    def sources(self, island: int, epoch: int) -> tuple[int, ...]:
        """Return the islands from which an island receives in an epoch."""


def make_topology(
    name: str,
    n_islands: int,
    *,
    edges: Sequence[Edge] | None = None,
    migration: str = "p2p",
    seed: int = 0,
) -> Topology:
    """Return a topology by its name, one of `TOPOLOGIES`.

    Migration ``p2p`` goes to one of the neighbours in an epoch, ``broadcast`` to all of them.
    The cost of a topology's methods does not grow with the number of islands, except for broadcasts
    of ``fully_connected`` and the hub of ``star`` (linear) and ``hypercube`` (log n).
    """
    if n_islands < 1:
        raise GSRError(f"n_islands must be at least 1, got {n_islands}")
    if migration not in MIGRATIONS:
        known = suggestion(migration, MIGRATIONS, otherwise_list=True)
        raise GSRError(f"migration {migration!r} is not known{known}")
    if name not in TOPOLOGIES:
        known = suggestion(name, TOPOLOGIES, otherwise_list=True)
        raise GSRError(f"topology {name!r} is not known{known}")
    broadcast = migration == "broadcast"
    if name == "edges":
        return _from_edges(n_islands, edges, broadcast, seed)
    if edges is not None:
        raise GSRError(f"edges are for the topology 'edges' only, and this is {name!r}")
    if name == "star":
        return Star(n_islands, broadcast, seed)
    step, ways = WAYS[name]
    # Pairs have one way in an epoch, even in a broadcast.
    return Ways(n_islands, ways(n_islands), broadcast and step is not _mirror, seed, step)


@dataclass(frozen=True)
class Ways:
    """A topology of ways that all islands share.

    A way is a number, whose meaning is that of `step`. A broadcast takes all ways in an epoch, not
    one of them.
    """

    n_islands: int
    ways: Sequence[int]
    broadcast: bool
    seed: int
    step: Step

    def forward(self, island: Place, way: Place) -> Place:
        """Return where a way leads; nowhere if that is n or more."""
        led: Place = self.step(island, way, self.n_islands)
        return led

    def taken(self, epoch: int) -> Sequence[int]:
        """Return the ways of an epoch."""
        if self.broadcast or not self.ways:
            return self.ways
        return (self.ways[_turn(len(self.ways), epoch, self.seed)],)

    def destinations(self, island: int, epoch: int) -> tuple[int, ...]:
        return self._others(island, self.taken(epoch))

    def sources(self, island: int, epoch: int) -> tuple[int, ...]:
        # A way back is that of the opposite shift; pairs meet on the same way.
        sign = -1 if self.step is _shift else 1
        return self._others(island, [sign * way for way in self.taken(epoch)])

    def _others(self, island: int, ways: Sequence[int]) -> tuple[int, ...]:
        places = [self.forward(island, way) for way in ways]
        return tuple(place for place in places if place < self.n_islands and place != island)


def _shift(island: Any, way: Any, n: int) -> Any:
    """Return the island at some distance to the right."""
    return (island + way) % n


def _mirror(island: Any, way: Any, n: int) -> Any:
    """Return the mirror image about a point; one or two islands may be their own, and stay."""
    return (way - island) % n


def _digit(island: Any, way: Any, n: int) -> Any:
    """Return the island whose number has another binary digit, which may lead beyond n.

    Clearing a digit never does, so every island is connected to island 0.
    """
    return island ^ way


@dataclass(frozen=True)
class Star:
    """Island 0 is the neighbour of all others, and they are its only ones.

    It sends to one of them in an epoch, or to all in a broadcast; what it receives grows with the
    number of islands.
    """

    n_islands: int
    broadcast: bool
    seed: int

    def destinations(self, island: int, epoch: int) -> tuple[int, ...]:
        if island > 0:
            return (0,)
        if self.broadcast or self.n_islands == 1:
            return tuple(range(1, self.n_islands))
        return (self._chosen(epoch),)

    def sources(self, island: int, epoch: int) -> tuple[int, ...]:
        if island == 0:
            return tuple(range(1, self.n_islands))
        return (0,) if self.broadcast or self._chosen(epoch) == island else ()

    def _chosen(self, epoch: int) -> int:
        return 1 + _turn(self.n_islands - 1, epoch, self.seed)


@dataclass(frozen=True)
class Edges:
    """User-defined edges: the islands that follow an island, and those that lead to it.

    Peer to peer, the edges of every island take turns, in an order of its own.
    """

    broadcast: bool
    seed: int
    following: dict[int, list[int]] = field(default_factory=dict)
    leading: dict[int, list[int]] = field(default_factory=dict)

    def destinations(self, island: int, epoch: int) -> tuple[int, ...]:
        others = self.following.get(island, [])
        if self.broadcast or not others:
            return tuple(others)
        return (others[_turn(len(others), epoch, self.seed, island)],)

    def sources(self, island: int, epoch: int) -> tuple[int, ...]:
        others = self.leading.get(island, [])
        return tuple(each for each in others if island in self.destinations(each, epoch))


def _both(n: int, *distances: int) -> list[int]:
    """Return shifts to the right and to the left, which are the same between two islands."""
    return sorted({sign * distance % n for distance in distances for sign in (1, -1)} - {0})


# The rows of the torus follow each other: the last island of a row is next to the first one of the
# next row, and the last of all to the first. So any number of islands makes a nearly square one.
WAYS: dict[str, tuple[Step, Callable[[int], Sequence[int]]]] = {
    "ring": (_shift, lambda n: _both(n, 1)),
    "torus": (_shift, lambda n: _both(n, 1, round(sqrt(n)))),
    "fully_connected": (_shift, lambda n: range(1, n)),
    "random_pairs": (_mirror, lambda n: range(n)),
    "hypercube": (_digit, lambda n: [1 << digit for digit in range((n - 1).bit_length())]),
    "unconnected": (_shift, lambda n: ()),
}
TOPOLOGIES = (*WAYS, "star", "edges")


def _from_edges(n_islands: int, edges: Sequence[Edge] | None, broadcast: bool, seed: int) -> Edges:
    if edges is None:
        raise GSRError("the topology 'edges' needs edges: pairs of islands, from and to")
    topology = Edges(broadcast, seed)
    for source, destination in sorted({_checked(edge, n_islands) for edge in edges}):
        topology.following.setdefault(source, []).append(destination)
        topology.leading.setdefault(destination, []).append(source)
    return topology


def _checked(edge: Sequence[int], n_islands: int) -> Edge:
    pair = tuple(edge) if isinstance(edge, Sequence) else ()
    if len(pair) != 2 or not all(type(island) is int for island in pair):
        raise GSRError(f"an edge must be a pair of islands, from and to, got {edge!r}")
    if not all(0 <= island < n_islands for island in pair):
        raise GSRError(f"the edge {list(pair)} leaves the islands 0 to {n_islands - 1}")
    if pair[0] == pair[1]:
        raise GSRError(f"the edge {list(pair)} leads from an island to itself")
    return pair[0], pair[1]


def _turn(n: int, epoch: int, *key: int) -> int:
    """Return which one of n is used in an epoch."""
    if n > FEW:
        return _drawn(n, *key, epoch)
    past, place = divmod(epoch, n)
    return sorted(range(n), key=lambda each: _drawn(BITS, *key, past, each))[place]


def _drawn(n: int, *key: int) -> int:
    """Return a pseudo-random number below n for a key."""
    state = 0
    for number in key:
        state = _scrambled((state + number) & BITS)
    return state % n


def _scrambled(state: int) -> int:
    """Return splitmix64's next value after a state."""
    state = (state + 0x9E3779B97F4A7C15) & BITS
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & BITS
    return state ^ (state >> 31)
