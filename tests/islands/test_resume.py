"""Going on from checkpoints: on more or fewer islands, and past damage."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import island_problems
import pytest
from wires import Wired, on_ranks

from gsr.blueprint import Blueprint
from gsr.exceptions import GSRError
from gsr.islands.checkpoints import Checkpoints
from gsr.islands.migration import LocalIsland, make_local_islands
from gsr.islands.rank_run import ResumedState, RunSpec, have_absorbed, resume, total_evaluations
from gsr.islands.transport import Alone, Transport

Log = pytest.LogCaptureFixture


@cache
def posed() -> Blueprint:
    return island_problems.blueprint(*island_problems.noisy(), random_state=1)


@cache
def evolved(number: int, work: float) -> Any:
    island = posed().island(number, 5)
    island.run(inf, work)
    return island


def write(
    checkpoints: Checkpoints, number: int, sequence: int, work: float = 300, seconds: float = 0
) -> Any:
    """Write a checkpoint of an island that has done so much work, and return it."""
    island = evolved(number, work)
    checkpoints.write(number, sequence, island.save(), {"epoch": sequence, "seconds": seconds})
    return island


def gone_on(
    checkpoints: Checkpoints,
    n_islands: int,
    n_saved: int,
    deterministic: bool = False,
    transport: Transport | None = None,
) -> tuple[ResumedState, list[LocalIsland]]:
    transport = transport or Alone()
    islands = make_local_islands(
        lambda k: posed().island(k, n_islands), transport.rank, n_islands // transport.size
    )
    before = resume(islands, checkpoints, n_saved, transport, deterministic=deterministic)
    return before, islands


def damage(checkpoints: Checkpoints, number: int, sequence: int) -> None:
    path = checkpoints.island_folder(number) / f"{sequence:012d}.gsr"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def errors(islands: list[LocalIsland]) -> list[float]:
    return [each.island.best_rmse for each in islands]


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "checkpoints")


# ---- other numbers of islands ------------------------------------------------------------------


def test_as_many_islands_are_what_they_were(checkpoints: Checkpoints) -> None:
    saved = [write(checkpoints, k, 7 + k, seconds=5 + k) for k in range(3)]
    before, islands = gone_on(checkpoints, 3, 3)
    assert [each.rmse for each in islands] == [each.best_rmse for each in saved]
    assert [each.epoch for each in islands] == [7, 8, 9]
    done = sum(each.evaluations for each in saved)
    best = min(each.best_rmse for each in saved)
    assert before == ResumedState(
        islands=3, seconds=7.0, sequence=9, evaluations=done, rmse=best
    )  # the guide is at work: no generation yet


def test_more_islands_begin_beside_those_that_go_on(checkpoints: Checkpoints) -> None:
    saved = [write(checkpoints, k, 1) for k in range(2)]
    before, islands = gone_on(checkpoints, 4, 2)
    assert before.islands == 2
    assert [each.evaluations for each in islands] == [*(i.evaluations for i in saved), 0, 0]
    assert errors(islands)[:2] == [each.best_rmse for each in saved]
    for each in islands:
        each.island.run(inf, each.island.work + 100)


@pytest.mark.parametrize("best", range(5))
def test_of_fewer_islands_the_best_is_kept(checkpoints: Checkpoints, best: int) -> None:
    saved = [write(checkpoints, k, 1, 9000 if k == best else 100) for k in range(5)]
    bound = min(each.best_rmse for each in saved)
    assert bound == saved[best].best_rmse
    before, islands = gone_on(checkpoints, 2, 5)
    assert before.islands == 5
    assert errors(islands)[best % 2] == bound
    for each in islands:
        each.island.run(inf, each.island.work + 200)
    assert min(errors(islands)) <= bound * (1 + 1e-6)


def test_the_snapshot_after_merging_has_everything(checkpoints: Checkpoints) -> None:
    """A run that is killed before its first checkpoint's time has lost nothing."""
    for k in range(5):
        write(checkpoints, k, 1, 4000 if k == 4 else 100)
    _, islands = gone_on(checkpoints, 1, 5)
    copy = posed().island()
    copy.load(islands[0].snapshot)
    assert copy.best_rmse == islands[0].rmse == evolved(4, 4000).best_rmse


@pytest.mark.parametrize("n_islands", [2, 4, 6])
def test_ranks_agree_on_what_was_before(checkpoints: Checkpoints, n_islands: int) -> None:
    saved = [write(checkpoints, k, 3 + k, seconds=float(k)) for k in range(5)]

    def program(rank: Wired) -> tuple[ResumedState, list[LocalIsland]]:
        return gone_on(Checkpoints(checkpoints.folder), n_islands, 5, transport=rank)

    (first, mine), (second, others) = on_ranks(2, program)
    assert first == second
    assert (first.islands, first.seconds, first.sequence) == (5, 4.0, 7)
    bound = min(each.best_rmse for each in saved)
    assert min(errors([*mine, *others])) <= bound * (1 + 1e-6)


# ---- what was absorbed -------------------------------------------------------------------------


def store(checkpoints: Checkpoints, islands: list[LocalIsland], sequence: int) -> None:
    """Write checkpoints as a run does."""
    for each in islands:
        each.keep()
        checkpoints.write(each.number, sequence, each.snapshot, each.about)


def begun(checkpoints: Checkpoints, n_islands: int) -> int:
    """Write the first checkpoints of some islands, and return their evaluations."""
    islands = [LocalIsland(k, evolved(k, 100)) for k in range(n_islands)]
    store(checkpoints, islands, 1)
    return sum(each.evaluations for each in islands)


@pytest.mark.parametrize("forgotten", [False, True])
def test_the_work_of_absorbed_islands_is_counted_for_good(
    checkpoints: Checkpoints, forgotten: bool
) -> None:
    """Whether their own checkpoints are still there or not."""
    done = begun(checkpoints, 5)
    n_saved = 5
    for sequence, n_islands in ((2, 2), (3, 1), (4, 1), (5, 3), (6, 1)):
        before, islands = gone_on(checkpoints, n_islands, n_saved)
        assert before.evaluations == done
        store(checkpoints, islands, sequence)
        if forgotten:
            for number in range(n_islands, n_saved):
                checkpoints.forget(number)
        n_saved = n_islands if forgotten else max(n_islands, n_saved)
    found = [checkpoints.latest(number) for number in range(n_saved)]
    assert total_evaluations([each for each in found if each is not None]) == done


def test_an_island_absorbs_another_once(checkpoints: Checkpoints) -> None:
    begun(checkpoints, 2)
    _, first = gone_on(checkpoints, 1, 2)
    store(checkpoints, first, 2)
    _, second = gone_on(checkpoints, 1, 2)
    assert second[0].snapshot == first[0].snapshot


def test_absorbed_islands_are_needed_as_long_as_an_older_file_is_there(
    checkpoints: Checkpoints,
) -> None:
    begun(checkpoints, 3)
    _, (first,) = gone_on(checkpoints, 1, 3)
    needed = []
    for sequence in (2, 3, 4):
        store(checkpoints, [first], sequence)
        needed.append(not have_absorbed(first, checkpoints))
    assert needed == [True, True, False]
    begun(checkpoints, 1)  # a file of before
    assert not have_absorbed(first, checkpoints)


# ---- damage ------------------------------------------------------------------------------------


@pytest.mark.parametrize("deterministic", [False, True])
def test_the_one_before_a_damaged_file_is_used_with_a_word(
    checkpoints: Checkpoints, caplog: Log, deterministic: bool
) -> None:
    for sequence in (1, 2):
        for number in range(2):
            write(checkpoints, number, sequence, 100 * sequence)
    damage(checkpoints, 1, 2)
    _, islands = gone_on(checkpoints, 2, 2, deterministic)
    assert len(caplog.messages) == 1
    assert caplog.records[0].levelname == "WARNING"
    assert "000000000002.gsr is not used: it is damaged" in caplog.messages[0]
    # In lock-step the other island goes back to the same moment.
    assert [each.epoch for each in islands] == [1 if deterministic else 2, 1]
    works = (100 if deterministic else 200, 100)
    expected = [evolved(number, work).save() for number, work in enumerate(works)]
    if deterministic:
        copies = [posed().island(k, 2) for k in range(2)]
        for copy, saved in zip(copies, expected, strict=True):
            copy.load(saved)
        assert [each.snapshot for each in islands] == [copy.save() for copy in copies]
    assert errors(islands) == [evolved(k, work).best_rmse for k, work in enumerate(works)]


def test_an_island_without_a_file_that_is_whole_begins_anew(
    checkpoints: Checkpoints, caplog: Log
) -> None:
    for number in range(2):
        write(checkpoints, number, 1)
    damage(checkpoints, 1, 1)
    before, islands = gone_on(checkpoints, 2, 2)
    assert before.islands == 1
    assert islands[1].evaluations == 0
    assert "is not used" in caplog.messages[0]


@pytest.mark.parametrize("n_islands", [1, 2])
def test_a_whole_file_of_which_no_island_can_be_made_is_told(
    checkpoints: Checkpoints, n_islands: int
) -> None:
    write(checkpoints, 0, 1)
    checkpoints.write(1, 1, b"\x7f of another version")
    with pytest.raises(GSRError, match="another version of gsr"):
        gone_on(checkpoints, n_islands, 2)
    assert checkpoints.sequences(1) == [1]


# ---- lock-step ---------------------------------------------------------------------------------


def test_lock_step_finds_a_moment_that_is_not_the_newest_of_any(
    checkpoints: Checkpoints, caplog: Log
) -> None:
    for island, sequences in enumerate(((1, 2, 4), (1, 2, 3))):
        for sequence in sequences:
            write(checkpoints, island, sequence, 100 * sequence)
    _, islands = gone_on(checkpoints, 2, 2, deterministic=True)
    assert caplog.messages == []
    assert [each.epoch for each in islands] == [2, 2]


def test_lock_step_goes_on_from_the_last_common_moment(
    checkpoints: Checkpoints, caplog: Log
) -> None:
    for sequence in (1, 2, 3):
        write(checkpoints, 0, sequence, 100 * sequence)
    for sequence in (1, 2):
        write(checkpoints, 1, sequence, 100 * sequence)
    before, islands = gone_on(checkpoints, 2, 2, deterministic=True)
    assert caplog.messages == []
    assert [each.epoch for each in islands] == [2, 2]
    assert errors(islands) == [evolved(k, 200).best_rmse for k in range(2)]
    assert before.sequence == 3
    write(checkpoints, 0, 3, 250)
    assert checkpoints.sequences(0) == [1, 2, 3]


def test_lock_step_across_ranks_goes_on_from_the_last_common_moment(
    checkpoints: Checkpoints,
) -> None:
    for number, last in enumerate((4, 3, 5, 4)):
        for sequence in range(last - 2, last + 1):
            write(checkpoints, number, sequence, 100)

    def program(rank: Wired) -> list[int]:
        own = Checkpoints(checkpoints.folder)
        _, islands = gone_on(own, 4, 4, deterministic=True, transport=rank)
        return [each.epoch for each in islands]

    assert on_ranks(2, program) == [[3, 3], [3, 3]]


def test_lock_step_keeps_so_many_that_islands_have_one_in_common(tmp_path: Path) -> None:
    kept = {
        mode: RunSpec(
            str(tmp_path), {"mode": mode}, {"keep": 1}, None, None, 1, 0, "", 0
        ).checkpoints.keep
        for mode in ("throughput", "deterministic")
    }
    assert kept == {"throughput": 1, "deterministic": 3}


def test_without_a_common_moment_lock_step_goes_on_with_a_word(
    checkpoints: Checkpoints, caplog: Log
) -> None:
    saved = [write(checkpoints, number, 3 + 4 * number) for number in range(2)]
    _, islands = gone_on(checkpoints, 2, 2, deterministic=True)
    assert "no checkpoint of the same moment" in caplog.messages[0]
    assert errors(islands) == [each.best_rmse for each in saved]
    assert [each.epoch for each in islands] == [7, 7]


def test_more_islands_in_lock_step_lose_nothing(checkpoints: Checkpoints) -> None:
    saved = [write(checkpoints, number, 4) for number in range(2)]
    before, islands = gone_on(checkpoints, 3, 2, deterministic=True)
    assert errors(islands)[:2] == [each.best_rmse for each in saved]
    assert [each.epoch for each in islands] == [4, 4, 4]
    assert before.islands == 2


def test_a_run_that_never_saved_begins(checkpoints: Checkpoints, caplog: Log) -> None:
    for deterministic in (False, True):
        before, islands = gone_on(checkpoints, 2, 2, deterministic)
        assert replace(before, rmse=inf) == ResumedState()
        assert [each.evaluations for each in islands] == [0, 0]
        assert caplog.messages == []
