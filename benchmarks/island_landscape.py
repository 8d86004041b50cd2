"""A landscape that stands for the search of a law, and islands that walk on it.

Nothing is fitted here. A law is a set of terms under one left side. An island keeps ten survivors,
each a left side with some of its terms, and now and then a generation finds a term by chance.
Under the other left sides, the rivals, terms are found more easily, but all of them together
explain only a part: an approximation. A newcomer is joined with the best survivor of its left
side, and the worst survivor makes room. So migrants bring terms together, and they bring rivals
that push the law out. Every island has its own clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gsr.islands.topology import Star, Ways

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Lefts = npt.NDArray[np.int8]
Terms = npt.NDArray[np.uint8]

SURVIVORS = 10
#: What an island takes of the messages of one step; the rest is dropped.
TAKEN = 4
#: Spread of the speeds of islands; each step has a noise of its own beside.
SPREAD = 0.2
#: Drawn ways before they repeat.
DRAWN = 1_000


@dataclass(frozen=True)
class Landscape:
    """What is searched."""

    #: How it is called.
    name: str
    #: Left sides beside that of the law.
    rivals: int = 0
    #: What all terms of a rival explain; the law explains 1.
    ceiling: float = 0.0
    #: How many times as easily terms of rivals are found.
    ease: float = 1.0
    #: Terms of a law, at most 8.
    terms: int = 8
    #: Terms that an island finds in a generation.
    finds: float = 0.003


class Clocks:
    """Clocks of islands: who migrates when, and to whom."""

    def __init__(self, topology: Ways | Star, n: int, runs: int, rng: np.random.Generator) -> None:
        self._topology, self._n, self._rng = topology, n, rng
        self.speed = np.exp(SPREAD * rng.standard_normal(runs * n))
        self._waited = rng.random(runs * n)
        self._epoch = np.repeat(rng.integers(0, DRAWN, runs), n)  # draws of its own for each run
        self._ways = np.array([_taken(topology, epoch) for epoch in range(DRAWN)], dtype=np.int64)

    def flights(self, part: float) -> tuple[Integers, Integers]:
        """Go on by a part of an interval; return sources and destinations of what is sent."""
        self._waited += part * self.speed * (0.5 + self._rng.random(len(self.speed)))
        due = np.flatnonzero(self._waited >= 1)
        self._waited[due] -= 1
        ways = self._ways[self._epoch[due] % DRAWN]
        self._epoch[due] += 1
        island = np.broadcast_to((due % self._n)[:, None], ways.shape)
        to = _led(self._topology, island, ways)
        there = (to < self._n) & (to != island)
        sources = np.broadcast_to(due[:, None], ways.shape)[there]
        return sources, sources - island[there] + to[there]


def _taken(topology: Ways | Star, epoch: int) -> Sequence[int]:
    return topology.destinations(0, epoch) if isinstance(topology, Star) else topology.taken(epoch)


def _led(topology: Ways | Star, island: Integers, ways: Integers) -> Integers:
    if isinstance(topology, Star):
        return np.where(island == 0, ways, 0)
    return topology.forward(island, ways)


class Survivors:
    """Survivors of many islands: left side (0 is the law's), terms as bits, what they explain."""

    def __init__(self, landscape: Landscape, islands: int, rng: np.random.Generator) -> None:
        self._landscape, self._rng = landscape, rng
        part = np.array([bits.bit_count() for bits in range(2**landscape.terms)]) / landscape.terms
        self._worth = np.stack([part] + [part * landscape.ceiling] * landscape.rivals).astype("f4")
        self.left = rng.integers(0, 1 + landscape.rivals, (islands, SURVIVORS), dtype=np.int8)
        self.terms = np.zeros((islands, SURVIVORS), dtype=np.uint8)
        self.worth = np.zeros((islands, SURVIVORS), dtype=np.float32)

    def solved(self, runs: int) -> npt.NDArray[np.bool_]:
        """Tell which of the runs have the law."""
        return np.asarray(self.worth.reshape(runs, -1).max(axis=1) >= 1)

    def holding(self, runs: int) -> Floats:
        """Return in which share of its islands each run has a survivor with the law's left side."""
        return np.asarray((self.left == 0).any(axis=1).reshape(runs, -1).mean(axis=1))

    def search(self, generations: Floats) -> None:
        """Find terms by chance: a survivor with one more."""
        rate = 1 - np.exp(-self._landscape.finds * generations)
        islands = np.flatnonzero(self._rng.random(len(rate)) < rate)
        parents = self._rng.integers(0, SURVIVORS, len(islands))
        left = self.left[islands, parents]
        found = (left > 0) | (self._rng.random(len(islands)) * self._landscape.ease < 1)
        islands, parents, left = islands[found], parents[found], left[found]
        term = self._rng.integers(0, self._landscape.terms, len(islands), dtype=np.uint8)
        self.add(islands, left, self.terms[islands, parents] | (np.uint8(1) << term))

    def receive(self, sources: Integers, destinations: Integers) -> int:
        """Take the best of islands to others; return how many messages were dropped."""
        best = self.worth[sources].argmax(axis=1)
        left, terms = self.left[sources, best], self.terms[sources, best]
        order = self._rng.permutation(len(sources))
        for _ in range(TAKEN):
            if not len(order):
                break
            islands, first = np.unique(destinations[order], return_index=True)
            self.add(islands, left[order[first]], terms[order[first]])
            order = np.delete(order, first)
        return len(order)

    def add(self, islands: Integers, left: Lefts, terms: Terms) -> None:
        """Offer a newcomer to each of some islands, and what it makes with its best relative."""
        worth = np.where(self.left[islands] == left[:, None], self.worth[islands], -1)
        relative = worth.argmax(axis=1)
        related = worth[np.arange(len(islands)), relative] >= 0
        joined = terms | np.where(related, self.terms[islands, relative], 0).astype(np.uint8)
        self._offer(islands, left, terms)
        self._offer(islands, left, joined)

    def _offer(self, islands: Integers, left: Lefts, terms: Terms) -> None:
        worth = self._worth[left, terms]
        worst = self.worth[islands].argmin(axis=1)
        same = (self.left[islands] == left[:, None]) & (self.terms[islands] == terms[:, None])
        taken = (worth > self.worth[islands, worst]) & ~same.any(axis=1)
        place = islands[taken], worst[taken]
        self.left[place] = left[taken]
        self.terms[place] = terms[taken]
        self.worth[place] = worth[taken]
