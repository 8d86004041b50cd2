"""Ranks in the threads of one process, so that many of them can be tested without a launcher."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gsr.islands.transport import Alone, counted

Result = TypeVar("Result")


@dataclass
class Wires:
    """What the ranks have in common: post, and the numbers that they agree on."""

    size: int
    lock: Any = field(default_factory=threading.Lock)
    post: dict[int, list[tuple[int, bytes]]] = field(default_factory=lambda: defaultdict(list))
    given: dict[int, dict[int, Any]] = field(default_factory=lambda: defaultdict(dict))


class Wired(Alone):
    """One of several ranks.

    Parameters
    ----------
    wires : Wires
        Their connection.
    rank : int
        Which it is.
    loses : callable
        Tells whether the message with this number finds no room.
    """

    def __init__(
        self, wires: Wires, rank: int, loses: Callable[[int], bool] = lambda _: False
    ) -> None:
        super().__init__()
        self.rank, self.size = rank, wires.size
        self._wires, self._loses = wires, loses
        self._n_sent = self._n_agreed = 0

    def send(self, destination: int, payload: bytes) -> bool:
        self._n_sent += 1
        if self._loses(self._n_sent):
            return False
        with self._wires.lock:
            self._wires.post[destination].append((self.rank, payload))
        return True

    def receive(self) -> list[tuple[int, bytes]]:
        with self._wires.lock:
            return self._wires.post.pop(self.rank, [])

    def agree(self, maxima: Sequence[float], sums: Sequence[float]) -> Any:
        number, self._n_agreed = self._n_agreed, self._n_agreed + 1
        with self._wires.lock:
            self._wires.given[number][self.rank] = (counted(maxima), list(sums))
        return _Round(self._wires, number)


@dataclass
class _Round:
    wires: Wires
    number: int

    def result(self) -> tuple[list[float], list[float]] | None:
        with self.wires.lock:
            given = dict(self.wires.given[self.number])
        if len(given) < self.wires.size:
            return None
        maxima, sums = zip(*(given[rank] for rank in sorted(given)), strict=True)
        highest = [max(each) for each in zip(*maxima, strict=True)]
        return highest, [sum(each) for each in zip(*sums, strict=True)]


def on_ranks(size: int, program: Callable[[Wired], Result], **options: Any) -> list[Result]:
    """Run a program on so many ranks, and return what each returns."""
    wires = Wires(size)
    with ThreadPoolExecutor(size) as pool:
        ranks = [Wired(wires, rank, **options) for rank in range(size)]
        return [each.result(120) for each in [pool.submit(program, rank) for rank in ranks]]
