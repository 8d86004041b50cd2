"""Time to the law: islands on clocks of their own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import island_times
from benchmarks.island_times import Task, Timed, sail, search
from benchmarks.searches import HardLaw
from gsr.islands.migration import make_migration


class Stub:
    """An island whose turns take so many seconds, and which has a law after some of them."""

    def __init__(self, number: int, turns: int) -> None:
        self.number, self.epoch, self.turns = number, 0, turns
        self.island = SimpleNamespace(work=0.0)
        self.emigrants = b""
        self.read: list[tuple[int, int]] = []

    def put(self, message: Any) -> None:
        self.read.append((message.source, message.epoch))

    def turn(self, *_: Any) -> str:
        self.epoch += 1
        return "exact" if self.epoch == self.turns else "running"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock on which a turn takes the seconds in front of the list, which then goes round."""
    seconds: list[float] = []
    now = [0.0, 0]

    def thread_time() -> float:
        now[1] += 1
        if now[1] % 2 == 0:
            seconds.append(seconds.pop(0))
            now[0] += seconds[-1]
        return now[0]

    monkeypatch.setattr(island_times.time, "thread_time", thread_time)
    return seconds


def sailed(turns: list[int], max_seconds: float = 100.0) -> tuple[float, list[Stub]]:
    stubs = [Stub(k, n) for k, n in enumerate(turns)]
    islands: list[Any] = [Timed(stub) for stub in stubs]  # type: ignore[arg-type]
    migration = make_migration(len(turns), 0, {"topology": "ring", "interval": 1})
    return sail(islands, migration, max_seconds), stubs


def test_the_first_law_counts_and_the_others_get_their_chance(clock: list[float]) -> None:
    clock[:] = [1.0, 3.0]  # the first island is slow once, the second always
    seconds, stubs = sailed([9, 2])
    assert np.isfinite(seconds)
    assert sum(stub.epoch == stub.turns for stub in stubs) == 1


def test_all_are_given_up_after_the_same_time(clock: list[float]) -> None:
    clock[:] = [1.0]
    seconds, stubs = sailed([100, 100, 100], max_seconds=5.0)
    assert seconds == float("inf")
    assert [stub.epoch for stub in stubs] == [5, 5, 5]


def test_a_message_is_not_read_before_it_is_sent(clock: list[float]) -> None:
    clock[:] = [5.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    _, (slow, quick) = sailed([100, 100], max_seconds=5.0)
    assert slow.epoch == 1
    assert quick.epoch == 5
    assert not slow.read  # it was busy all the time
    assert not quick.read  # nothing was sent before 5 s


@pytest.mark.slow
def test_real_islands_find_a_law_and_give_up_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    easy = HardLaw("easy", "x1 x2", 2, lambda a, b: a * b)
    none = HardLaw("none", "noise", 2, lambda a, b: a * b + draw.normal(size=len(a)))
    monkeypatch.setattr(island_times, "PROBLEMS", (easy, none))
    for way in island_times.WAYS:
        run = search(Task("easy", way, 2, 0, 60.0))
        assert run.found and 0 < run.seconds < 60 and run.evaluations > 0
    lost = search(Task("none", "migrating", 2, 0, 0.2))
    assert not lost.found and lost.seconds == 0.2
    text = island_times.table([run, lost], 0.2)
    assert "1/1" in text and "0/1" in text and "> 0" in text
