"""The loop of a rank: migration, agreement and lock-step."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import island_problems
import pytest
from wires import Wired, on_ranks

from gsr.blueprint import Blueprint, Variant
from gsr.exceptions import GSRError
from gsr.islands import archipelago as archipelago_module
from gsr.islands.archipelago import Archipelago, Limits, RunState, Watcher
from gsr.islands.checkpoints import Checkpoints
from gsr.islands.migration import Message, Migration, make_local_islands, make_migration
from gsr.islands.rank_run import resume
from gsr.islands.transport import Alone, Transport

INTERVAL = 400
MAX_EVALS = 2500


@cache
def posed(kind: str = "noisy") -> Blueprint:
    return island_problems.blueprint(*getattr(island_problems, kind)())


def archipelago(
    of: Blueprint,
    n_islands: int,
    transport: Transport | None = None,
    *,
    asked: dict[str, Any] | None = None,
    limits: Limits | None = None,
    **options: Any,
) -> Archipelago:
    transport = transport or Alone()
    islands = make_local_islands(
        lambda k: of.island(k, n_islands), transport.rank, n_islands // transport.size
    )
    migration = make_migration(n_islands, 0, {"interval": INTERVAL, **(asked or {})})
    limits = limits or Limits(max_evals=MAX_EVALS)
    return Archipelago(islands, migration, transport, limits, **options)


def in_step(of: Blueprint, n_islands: int, **options: Any) -> Archipelago:
    return archipelago(of, n_islands, deterministic=True, **options)


def saved(archipelago: Archipelago) -> list[bytes]:
    return [bytes(each.island.save()) for each in archipelago.islands]


def state_of(archipelago: Archipelago) -> RunState:
    """Run to the end, and return the state."""
    archipelago.run()
    return archipelago.state


@cache
def uncut() -> tuple[list[bytes], RunState]:
    whole = in_step(posed(), 4)
    state = state_of(whole)
    return saved(whole), state


# ---- the same laws -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [2, 4])
def test_lock_step_gives_the_same_with_any_number_of_threads(n_threads: int) -> None:
    islands, state = uncut()
    other = in_step(posed(), 4, n_threads=n_threads)
    assert replace(state_of(other), seconds=0) == replace(state, seconds=0)
    assert saved(other) == islands
    assert other.counts.received > 0


@pytest.mark.parametrize("loses", [lambda _: False, lambda number: number % 3 != 0])
def test_lock_step_gives_the_same_on_ranks_that_drop_messages_or_not(loses: Any) -> None:
    """Two ranks of two islands are four islands; what finds no room is sent again."""

    def program(rank: Wired) -> tuple[list[bytes], RunState]:
        mine = in_step(posed(), 4, transport=rank)
        return state_of(mine), saved(mine)

    found = on_ranks(2, program, loses=loses)
    islands, state = uncut()
    assert [each for _, part in found for each in part] == islands
    assert {replace(each, seconds=0) for each, _ in found} == {replace(state, seconds=0)}


@dataclass
class Stopper(Watcher):
    """Saves at every epoch, and asks for the end at one of them."""

    checkpoints: Checkpoints
    last: int
    requests: Any = None

    def save_is_due(self) -> bool:
        return True

    def save(self, run: Archipelago, sequence: int | None) -> None:
        assert sequence is not None
        for each in run.islands:
            about = {"epoch": each.snapshot_epoch}
            self.checkpoints.write(each.number, sequence, each.snapshot, about)
        if sequence >= self.last:
            self.requests.stop("terminated")


@pytest.mark.parametrize("last", [1, 3])
def test_lock_step_gives_the_same_after_a_cut(tmp_path: Path, last: int) -> None:
    checkpoints = Checkpoints(tmp_path)
    watcher = Stopper(checkpoints, last)
    first = in_step(posed(), 4, watcher=watcher)
    watcher.requests = first.requests
    assert first.run() == "terminated"
    assert checkpoints.sequences(0)[-1] == last

    islands = make_local_islands(lambda k: posed().island(k, 4), 0, 4)
    before = resume(islands, checkpoints, 4, Alone(), deterministic=True)
    assert [each.epoch for each in islands] == [last] * 4
    second = Archipelago(
        islands, first.migration, Alone(), first.limits, deterministic=True,
        before=RunState(evaluations=before.evaluations),
    )  # fmt: skip
    islands, state = uncut()
    assert replace(state_of(second), seconds=0) == replace(state, seconds=0)
    assert saved(second) == islands


# ---- the end -----------------------------------------------------------------------------------


def one_of_two_finds_it() -> Blueprint:
    """Return islands of two kinds; one of them cannot use a feature of the law."""
    of = posed("exact")
    blind = {"x2": list(of.library.names)}
    return replace(of, variants=[Variant({}, blind), Variant()])


@pytest.mark.parametrize("deterministic", [False, True])
def test_an_exact_law_on_one_rank_stops_all(deterministic: bool) -> None:
    def program(rank: Wired) -> tuple[str, str]:
        asked = {"topology": "unconnected"}
        mine = archipelago(
            one_of_two_finds_it(), 2, rank, asked=asked, limits=Limits(),
            deterministic=deterministic,
        )  # fmt: skip
        return mine.run(), mine.islands[0].island.status

    assert on_ranks(2, program) == [("exact", "running"), ("exact", "exact")]


@pytest.mark.parametrize("deterministic", [False, True])
def test_max_evals_counts_all_islands(deterministic: bool) -> None:
    def program(rank: Wired) -> tuple[RunState, int]:
        mine = archipelago(posed(), 4, rank, deterministic=deterministic)
        return state_of(mine), sum(each.evaluations for each in mine.islands)

    (first, n_first), (second, n_second) = on_ranks(2, program)
    assert first.status == second.status == "max_evals"
    assert first.evaluations == second.evaluations >= MAX_EVALS
    assert n_first + n_second >= MAX_EVALS
    if deterministic:  # otherwise islands go on until they hear of it
        assert max(n_first, n_second) < MAX_EVALS


def test_lock_step_does_not_go_far_beyond_max_evals() -> None:
    _, state = uncut()
    # Evaluations of a search inside the search are counted when it has ended.
    assert MAX_EVALS <= state.evaluations < 2 * MAX_EVALS


def test_generations_of_all_must_end() -> None:
    of = posed()
    of = replace(of, settings={**of.settings, "max_generations": 3})
    assert archipelago(of, 2, limits=Limits()).run() == "max_generations"


@pytest.mark.parametrize("deterministic", [False, True])
def test_time_before_a_resumption_counts(deterministic: bool) -> None:
    late = archipelago(
        posed(), 2, limits=Limits(max_time=100.0), before=RunState(seconds=99.9),
        deterministic=deterministic,
    )  # fmt: skip
    assert late.run() == "max_time"
    assert late.state.seconds >= 100


def test_the_strongest_reason_counts_on_all_ranks() -> None:
    def program(rank: Wired) -> str:
        mine = archipelago(posed(), 2, rank, limits=Limits())
        mine.requests.stop("stopped" if rank.rank == 0 else "terminated")
        mine.requests.stop("threshold")
        return mine.run()

    assert on_ranks(2, program) == ["terminated"] * 2


def test_a_run_that_has_ended_can_go_on() -> None:
    again = archipelago(posed(), 2)
    first = state_of(again)
    again.resume(Limits(max_evals=2 * MAX_EVALS))
    second = state_of(again)
    assert second.evaluations >= 2 * MAX_EVALS
    assert second.rmse <= first.rmse


# ---- migration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("migration", ["p2p", "broadcast"])
@pytest.mark.parametrize("topology", ["ring", "star", "unconnected", "hypercube"])
@pytest.mark.parametrize("deterministic", [False, True])
def test_migrants_go_along_the_topology(
    topology: str, migration: str, deterministic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = []
    accept = Migration.accept

    def record(self: Migration, island: Any, message: Message) -> int:
        messages.append((message.epoch, message.source, message.destination))
        return accept(self, island, message)

    monkeypatch.setattr(Migration, "accept", record)
    asked = {"topology": topology, "migration": migration}
    mine = archipelago(posed(), 4, asked=asked, deterministic=deterministic)
    mine.run()
    of = mine.migration.topology
    assert all(to in of.destinations(source, epoch) for epoch, source, to in messages)
    if topology == "unconnected":
        assert mine.counts.sent == mine.counts.received == len(messages) == 0
    else:
        assert mine.counts.sent >= mine.counts.received == len(messages) > 0
    if deterministic:
        epochs = range(1, mine.islands[0].epoch + 1)
        due = {(e, i, j) for e, i in itertools.product(epochs, range(4))
               for j in of.destinations(i, e)}  # fmt: skip
        assert sorted(messages) == sorted(due)


def test_migrants_bring_their_laws() -> None:
    """The island that cannot find the law by itself has it from its neighbour."""
    mine = archipelago(one_of_two_finds_it(), 2, asked={"interval": 100}, limits=Limits())
    mine.run()
    mine.merge_laws()
    assert min(law.rmse for law in mine.islands[0].island.front()) < 1e-9


def test_dropped_messages_are_counted_and_harmless() -> None:
    def program(rank: Wired) -> Archipelago:
        mine = archipelago(posed(), 2, rank)
        mine.run()
        return mine

    for each in on_ranks(2, program, loses=lambda _: True):
        assert each.state.status == "max_evals"
        assert each.counts.dropped > 0
        assert each.counts.sent == each.counts.received == each.counts.bytes_sent == 0


def test_messages_travel_whole() -> None:
    message = Message(7, 1, 2**20, b"migrants\0")
    assert Message.from_bytes(message.to_bytes()) == message


def test_messages_of_another_version_are_refused() -> None:
    class Foreign(Alone):
        def receive(self) -> list[tuple[int, bytes]]:
            return [(0, b"\x09" + Message(1, 0, 1, b"").to_bytes()[1:])]

    with pytest.raises(GSRError, match=r"version 9 .* all ranks must run the same gsr"):
        archipelago(posed(), 2, Foreign()).run()


# ---- checkpoints -------------------------------------------------------------------------------


def test_a_request_to_save_reaches_all_ranks() -> None:
    class Counter(Watcher):
        n_saved = 0

        def save(self, run: Archipelago, sequence: int | None) -> None:
            self.n_saved += 1

    def program(rank: Wired) -> tuple[int, bool]:
        watcher = Counter()
        mine = archipelago(posed(), 2, rank, watcher=watcher, limits=Limits())
        mine.requests.save_now = rank.rank == 1
        for _ in mine.steps():
            if watcher.n_saved:
                mine.requests.stop("stopped")
        return mine.state.status == "stopped" and watcher.n_saved > 0

    assert on_ranks(2, program) == [True, True]


def test_one_checkpoint_will_do_for_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rank that was asked has saved at once, before all have agreed to."""
    monkeypatch.setattr(archipelago_module, "SOON", float("inf"))
    n_saved = [0, 0]

    class Counter(Watcher):
        def save(self, run: Archipelago, sequence: int | None) -> None:
            n_saved[run.islands[0].number] += 1

    def program(rank: Wired) -> None:
        mine = archipelago(posed(), 2, rank, watcher=Counter(), limits=Limits())
        mine.requests.save_now = rank.rank == 1
        for _ in mine.steps():
            if rank.rank == 0 and n_saved[0] and not mine.state.save:
                mine.requests.stop("stopped")

    on_ranks(2, program)
    assert n_saved == [1, 1]


def test_in_lock_step_nobody_saves_while_one_rank_cannot() -> None:
    saved_at: list[list[int]] = [[], []]

    class Busy(Watcher):
        def __init__(self, rank: int) -> None:
            self.rank = rank

        def save_is_due(self) -> bool:
            return True

        def can_save(self) -> bool:
            return self.rank == 0 or not saved_at[1]

        def save(self, run: Archipelago, sequence: int | None) -> None:
            assert sequence is not None
            saved_at[self.rank].append(sequence)

    def program(rank: Wired) -> int:
        mine = in_step(posed(), 2, transport=rank, watcher=Busy(rank.rank))
        mine.run()
        return mine.islands[0].epoch

    assert min(on_ranks(2, program)) > 2
    assert saved_at == [[1], [1]]


def test_snapshots_are_whole_islands_at_any_look() -> None:
    mine = archipelago(posed(), 2, asked={"interval": 50}, n_threads=2)
    for _ in mine.steps():
        for each in mine.islands:
            copy = posed().island(each.number, 2)
            copy.load(each.snapshot)
            assert copy.save() == each.snapshot
            facts = (copy.evaluations, copy.generation, copy.best_rmse)
            assert facts == tuple(each.about[k] for k in ("evaluations", "generation", "rmse"))
