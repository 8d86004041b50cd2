"""What a rank does beside the search: what is saved, under which number, and what is told of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import island_problems
import pytest

from gsr.blueprint import Blueprint
from gsr.islands.archipelago import Archipelago, Limits, State, make_residents
from gsr.islands.background_writer import BackgroundWriter
from gsr.islands.checkpoints import Checkpoints
from gsr.islands.journal import read_status
from gsr.islands.migration import make_migration
from gsr.islands.resident import Resident
from gsr.islands.transport import Alone
from gsr.islands.watch import RunWatcher

INTERVAL = 200


class Gated(Checkpoints):
    """Writes when it is let."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.gate = threading.Event()

    def write(
        self, island: int, sequence: int, payload: bytes, about: Mapping[str, Any] | None = None
    ) -> None:
        assert self.gate.wait(30)
        super().write(island, sequence, payload, about)


@cache
def posed() -> Blueprint:
    return island_problems.blueprint(*island_problems.noisy())


def islands() -> list[Resident]:
    return make_residents(lambda k: posed().island(k, 2), 0, 2)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Gated:
    return Gated(tmp_path / "checkpoints")


@pytest.fixture
def watcher(tmp_path: Path, checkpoints: Gated) -> Iterator[Callable[..., RunWatcher]]:
    """Return a function that makes a watcher of two islands."""
    made: list[RunWatcher] = []

    def make(**options: Any) -> RunWatcher:
        made.append(RunWatcher(tmp_path, 0, checkpoints, 0.0, 0, print, **options))
        return made[-1]

    yield make
    checkpoints.gate.set()
    for each in made:
        each.close()


def turn(resident: Resident) -> None:
    """Let an island take its turn."""
    resident.turn(make_migration(2, 0, {"interval": INTERVAL}), resident.island.work + INTERVAL)
    resident.keep()


def sequences(checkpoints: Checkpoints) -> list[list[int]]:
    return [checkpoints.sequences(number) for number in range(2)]


def test_a_snapshot_that_has_not_changed_keeps_its_number(
    watcher: Callable[..., RunWatcher], checkpoints: Gated
) -> None:
    checkpoints.gate.set()
    mine, residents = watcher(), islands()
    for _ in range(3):
        mine.save(residents, None)
    assert mine.flush()
    assert sequences(checkpoints) == [[1], [1]]
    turn(residents[1])
    mine.save(residents, None)
    assert mine.flush()
    assert sequences(checkpoints) == [[1], [1, 4]]


def test_in_lock_step_two_epochs_can_wait_for_the_disk(
    watcher: Callable[..., RunWatcher], checkpoints: Gated
) -> None:
    mine, residents = watcher(lock_step=True), islands()
    for _ in range(3):
        for each in residents:
            turn(each)
    mine.save_both(residents)
    mine.save(residents, 3)  # as at the end
    checkpoints.gate.set()
    assert mine.flush()
    assert sequences(checkpoints) == [[2, 3], [2, 3]]
    epochs = [checkpoints.at(0, k) for k in (2, 3)]
    assert [each.about["epoch"] for each in epochs if each is not None] == [2, 3]


def test_a_search_in_lock_step_waits_for_no_disk(
    watcher: Callable[..., RunWatcher], checkpoints: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> bool:
        raise AssertionError("the search waits")

    mine, residents = watcher(lock_step=True), islands()
    migration = make_migration(2, 0, {"interval": INTERVAL})
    mine.archipelago = Archipelago(
        residents, migration, Alone(), Limits(max_evals=2000), deterministic=True, watcher=mine
    )
    with monkeypatch.context() as patch:
        patch.setattr(BackgroundWriter, "flush", refuse)
        mine.archipelago.run()
    assert residents[0].epoch > 3
    checkpoints.gate.set()
    assert mine.flush()
    first, second = sequences(checkpoints)
    assert first == second
    assert len(first) == 1  # none was begun while that one was not written


def test_a_checkpoint_is_told_when_it_is_on_disk(
    watcher: Callable[..., RunWatcher], checkpoints: Gated, tmp_path: Path
) -> None:
    mine = watcher()

    def told() -> tuple[object, int]:
        mine.look(State())
        mine.tell_state(State(), "running")
        mine.metrics.flush()
        lines = map(json.loads, mine.metrics.path.read_text().splitlines())
        status = read_status(tmp_path)
        assert status is not None
        return status["checkpoint"], sum(each.get("event") == "checkpoint" for each in lines)

    mine.metrics.event("start")
    mine.save(islands(), None)
    assert told() == (None, 0)
    checkpoints.gate.set()
    assert mine.flush()
    when, events = told()
    assert isinstance(when, float)
    assert events == 1
