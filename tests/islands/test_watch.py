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
from gsr.islands.archipelago import Archipelago, Limits, RunState
from gsr.islands.checkpoints import BackgroundWriter, Checkpoints
from gsr.islands.journal import read_status
from gsr.islands.migration import LocalIsland, make_local_islands, make_migration
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


def at_rest(**options: Any) -> Archipelago:
    """Return two islands in lock-step that do not run yet."""
    islands = make_local_islands(lambda k: posed().island(k, 2), 0, 2)
    migration = make_migration(2, 0, {"interval": INTERVAL})
    limits = Limits(max_evals=2000)
    return Archipelago(islands, migration, Alone(), limits, deterministic=True, **options)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Gated:
    return Gated(tmp_path / "checkpoints")


@pytest.fixture
def watcher(tmp_path: Path, checkpoints: Gated) -> Iterator[Callable[..., RunWatcher]]:
    """Return a function that makes a watcher of two islands."""
    made: list[RunWatcher] = []

    def make(**options: Any) -> RunWatcher:
        made.append(RunWatcher(tmp_path, 0, checkpoints, 0.0, 0, **options))
        return made[-1]

    yield make
    checkpoints.gate.set()
    for each in made:
        each.close()


def turn(local: LocalIsland) -> None:
    """Let an island take its turn."""
    local.turn(make_migration(2, 0, {"interval": INTERVAL}), local.island.work + INTERVAL)
    local.keep()


def sequences(checkpoints: Checkpoints) -> list[list[int]]:
    return [checkpoints.sequences(number) for number in range(2)]


def test_a_snapshot_that_has_not_changed_keeps_its_number(
    watcher: Callable[..., RunWatcher], checkpoints: Gated
) -> None:
    checkpoints.gate.set()
    mine, run = watcher(), at_rest()
    for _ in range(3):
        mine.save(run, None)
    assert mine.flush()
    assert sequences(checkpoints) == [[1], [1]]
    turn(run.islands[1])
    mine.save(run, None)
    assert mine.flush()
    assert sequences(checkpoints) == [[1], [1, 4]]


def test_in_lock_step_two_epochs_can_wait_for_the_disk(
    watcher: Callable[..., RunWatcher], checkpoints: Gated
) -> None:
    mine, run = watcher(lock_step=True), at_rest()
    for _ in range(3):
        for each in run.islands:
            turn(each)
    mine.save_both(run)
    mine.save(run, 3)  # as at the end
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

    mine = watcher(lock_step=True)
    run = at_rest(watcher=mine)
    with monkeypatch.context() as patch:
        patch.setattr(BackgroundWriter, "flush", refuse)
        run.run()
    assert run.islands[0].epoch > 3
    checkpoints.gate.set()
    assert mine.flush()
    first, second = sequences(checkpoints)
    assert first == second
    assert len(first) == 1  # none was begun while that one was not written


def test_a_checkpoint_is_told_when_it_is_on_disk(
    watcher: Callable[..., RunWatcher], checkpoints: Gated, tmp_path: Path
) -> None:
    mine, run = watcher(), at_rest()

    def told() -> tuple[object, int]:
        mine.on_poll(run)
        mine.write_status(RunState(), "running")
        mine.metrics.flush()
        lines = map(json.loads, mine.metrics.path.read_text().splitlines())
        status = read_status(tmp_path)
        assert status is not None
        return status["checkpoint"], sum(each.get("event") == "checkpoint" for each in lines)

    mine.metrics.event("start")
    mine.save(run, None)
    assert told() == (None, 0)
    checkpoints.gate.set()
    assert mine.flush()
    when, events = told()
    assert isinstance(when, float)
    assert events == 1
