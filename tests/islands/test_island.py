"""Islands of the core: saved, sent, joined, interrupted."""

from __future__ import annotations

import random
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import inf
from typing import Any

import island_problems
import numpy as np
import pytest

from gsr._core import DamagedBytes, EmigrantSelection, Replacement
from gsr.blueprint import Blueprint, columns_of, padded_block

BEST, RANDOM = EmigrantSelection.best, EmigrantSelection.random
X, Y = island_problems.noisy()
WEIGHTS = np.linspace(0.5, 2, len(Y))
UNITS = {"x1": "m", "x2": "1", "y": "m"}
#: Generations so large that they are cut into pieces.
LARGE = {"population_size": 700, "n_survivors": 40}
KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "weights": {"weights": WEIGHTS},
    "units": {"units": UNITS},
    "rules": {"forbid": {"x1": ["exp"]}, "required_terms": ["x1*x2"], "max_terms": 4},
    "shapes": {"constraints": {"x1": "increasing"}},
    "paper": {"preset": "paper"},
    "printed": {"preset": "paper", "hyperparameters": {"solver": "printed"}},
    "unguided": {"guided": False, "transform_target": False},
    "large": {"preset": "paper", "hyperparameters": LARGE},
    "threads": {"n_jobs": 2},
    "few generations": {"preset": "paper", "hyperparameters": LARGE, "max_generations": 3},
}


@cache
def posed(kind: str) -> Blueprint:
    return island_problems.blueprint(X, Y, **KINDS[kind])


def evolved(of: Blueprint, work: float, number: int = 0, n_islands: int = 1) -> Any:
    island = of.island(number, n_islands)
    island.run(inf, work)
    return island


def loaded(of: Blueprint, saved: bytes) -> Any:
    island = of.island()
    island.load(saved)
    return island


def step(island: Any) -> None:
    """Do one piece of work: of the guide, or some births."""
    island.run(0.0)


def seen(island: Any) -> tuple[Any, ...]:
    """Return what can be seen of an island."""
    laws = [(law.complexity, law.rmse, law.alpha) for law in island.front()]
    counts = (island.generation, island.evaluations, island.work, island.n_unconverged)
    return laws, *counts, island.status, island.best_rmse


# ---- saved and loaded --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_island_goes_on_bit_for_bit_from_any_piece_of_work(kind: str) -> None:
    of = posed(kind)
    island, copies = of.island(), []
    for moment in range(40):
        if moment % 8 == 0:
            copies.append(loaded(of, island.save()))
        step(island)
        for copy in copies:
            step(copy)
    saved = island.save()
    assert [copy.save() == saved for copy in copies] == [True] * len(copies)
    assert {repr(seen(copy)) for copy in copies} == {repr(seen(island))}


def test_pieces_of_a_large_generation_are_moments_too() -> None:
    """Without them the test above would never look into a generation."""
    island, generations = posed("large").island(), []
    for _ in range(6):
        step(island)
        generations.append(island.generation)
    assert generations[0] == generations[1]


def test_an_island_goes_on_bit_for_bit_through_all_stages_of_the_guide() -> None:
    of = island_problems.blueprint(X[:, :1], Y, library=["identity", "sin"])
    island, saved = of.island(), []
    for goal in range(500, 20001, 500):
        saved.append(island.save())
        island.run(inf, goal)
    for early in saved[:: len(saved) // 5]:
        copy = loaded(of, early)
        copy.run(inf, 20000)
        assert copy.save() == island.save()


def test_an_exact_law_is_still_the_end_after_loading() -> None:
    of = island_problems.blueprint(*island_problems.exact())
    island = evolved(of, inf)
    assert island.status == "exact"
    assert seen(loaded(of, island.save())) == seen(island)


def test_refused_laws_are_refused_after_loading_too() -> None:
    """A rule may depend on coefficients, and is asked once for each set of terms."""
    of = replace(posed("default"), shapes=lambda equation: abs(equation.alpha[0] % 0.2) < 0.1)
    island = evolved(of, 500)
    copy = loaded(of, island.save())
    for each in (island, copy):
        each.run(inf, 3000)
    assert copy.save() == island.save()


def test_a_search_at_its_limit_of_evaluations_has_ended_after_loading_too() -> None:
    of = posed("default")
    island = of.island()
    island.extend(0, 500)
    island.run(inf)
    assert island.status == "max_evals"
    copy = of.island()
    copy.extend(0, 500)
    copy.load(island.save())
    assert copy.status == "max_evals"


# ---- migrants ----------------------------------------------------------------------------------


def best(island: Any) -> bytes:
    """Return the best individual; nothing else is in it, since there is no guide."""
    return bytes(island.emigrants(1, BEST, 0))


@pytest.mark.parametrize("replacement", ["fair", "worst", "random"])
@pytest.mark.parametrize("selection", ["best", "random"])
def test_migrants_stay_and_are_let_in_once(selection: str, replacement: str) -> None:
    of = posed("unguided")
    source, island = evolved(of, 2000, 1, 2), evolved(of, 200)
    policy = getattr(Replacement, replacement)
    migrants = source.emigrants(4, getattr(EmigrantSelection, selection), 3)
    error = island.best_rmse
    assert 1 <= island.accept(migrants, policy, 3) <= 4
    assert island.best_rmse <= error
    if selection == "best":
        assert best(island) == best(source)
        assert island.accept(source.emigrants(1, BEST, 3), policy, 4) == 0


@pytest.mark.parametrize("replacement, stay", [("fair", False), ("worst", True), ("random", True)])
def test_only_who_is_better_stays_if_that_is_fair(replacement: str, stay: bool) -> None:
    of = posed("unguided")
    worse, island = evolved(of, 100, 1, 2), evolved(of, 4000)
    before = best(island)
    migrants = worse.emigrants(3, RANDOM, 0)
    assert (island.accept(migrants, getattr(Replacement, replacement), 1) > 0) == stay
    assert best(island) == before


def test_an_epoch_always_draws_the_same() -> None:
    island = evolved(posed("unguided"), 500)
    drawn = [island.emigrants(3, RANDOM, epoch) for epoch in (1, 2, 3, 1, 2, 3)]
    assert drawn[:3] == drawn[3:]
    assert len(set(drawn)) > 1
    assert len({island.emigrants(3, BEST, epoch) for epoch in (1, 2, 3)}) == 1


def test_there_may_be_fewer_migrants_than_asked_for_and_none() -> None:
    of = posed("unguided")
    none, island = of.island(1, 2).emigrants(5, RANDOM, 0), evolved(of, 300)
    assert island.accept(none, Replacement.worst, 0) == 0
    assert island.emigrants(10**6, RANDOM, 0) != none
    everyone = island.emigrants(10**6, BEST, 0)
    assert len(everyone) > 2 * len(island.emigrants(3, BEST, 0))
    assert of.island(1, 2).accept(everyone, Replacement.random, 0) > 3


def test_knowledge_is_taken_only_if_asked_for() -> None:
    of = posed("default")
    migrants = evolved(of, 3000, 1, 2).emigrants(0, BEST, 0)
    ignorant, told = evolved(of, 300, 0, 2), evolved(of, 300, 0, 2)
    before = ignorant.save()
    ignorant.accept(migrants, Replacement.fair, 0, knowledge=False)
    told.accept(migrants, Replacement.fair, 0, knowledge=True)
    assert ignorant.save() == before
    assert told.save() != before


def test_laws_travel_with_the_migrants() -> None:
    of = posed("default")
    ahead, behind = evolved(of, 4000, 0, 2), evolved(of, 300, 1, 2)
    assert ahead.best_rmse < behind.best_rmse
    assert behind.accept(ahead.emigrants(0, BEST, 0), Replacement.fair, 0) == 0
    assert behind.best_rmse == ahead.best_rmse
    kept = [(law.complexity, law.rmse) for law in behind.front()]
    for sent in ahead.front():
        assert any(nodes <= sent.complexity and error <= sent.rmse for nodes, error in kept)


def test_an_island_keeps_only_laws_that_it_may_have() -> None:
    of = posed("default")
    narrow = replace(of, settings={**of.settings, "max_terms": 1})
    ahead, behind = evolved(of, 4000, 1, 2), evolved(narrow, 300, 0, 2)
    behind.accept(ahead.emigrants(0, BEST, 0), Replacement.fair, 0)
    assert ahead.best_rmse < behind.best_rmse
    assert max(len(law.phi) for law in behind.front()) <= 2


def test_connected_islands_look_at_different_neighbours() -> None:
    """What one has looked at is not looked at again by those that hear of it."""
    of = island_problems.blueprint(X[:, :1], Y, library=["identity", "sin"])
    alone = evolved(of, 8000, 0, 2)
    told = of.island(0, 2)
    told.accept(evolved(of, 8000, 1, 2).emigrants(0, BEST, 0), Replacement.fair, 0)
    told.run(inf, 8000)
    assert told.save() != alone.save()
    assert told.best_rmse <= alone.best_rmse


@pytest.mark.parametrize("replacement", ["fair", "worst", "random"])
def test_an_island_with_immigrants_goes_on_bit_for_bit(replacement: str) -> None:
    of = posed("default")
    migrants = evolved(of, 1500, 1, 2).emigrants(5, BEST, 0)
    island = evolved(of, 500)
    for epoch in range(2):
        island.accept(migrants, getattr(Replacement, replacement), epoch)
    copy = loaded(of, island.save())
    for each in (island, copy):
        each.run(inf, 2000)
    assert copy.save() == island.save()


# ---- absorbed and merged -----------------------------------------------------------------------


def test_what_is_absorbed_is_kept() -> None:
    of = posed("default")
    large, small = evolved(of, 4000, 1, 2), evolved(of, 200)
    assert large.best_rmse < small.best_rmse
    evaluations = small.evaluations
    small.absorb(large.save())
    assert small.best_rmse == large.best_rmse
    assert small.evaluations == evaluations
    copy = loaded(of, small.save())
    for each in (small, copy):
        each.run(inf, 1000)
    assert copy.save() == small.save()
    assert small.best_rmse <= large.best_rmse


def test_an_island_may_absorb_a_worse_one() -> None:
    of = posed("default")
    island = evolved(of, 3000)
    error = island.best_rmse
    island.absorb(evolved(of, 100, 1, 2).save())
    assert island.best_rmse == error


def test_laws_of_all_are_merged_in_any_order() -> None:
    of = posed("default")
    islands = [evolved(of, 1500, k, 3) for k in range(3)]
    fronts = []
    for order in ([0, 1, 2], [2, 1, 0], [1, 1, 2, 0]):
        merged = of.island()
        for k in order:
            merged.add_laws(islands[k].laws())
        # One law in two forms may differ in the last digit of its error.
        fronts.append([(law.complexity, float(f"{law.rmse:.12e}")) for law in merged.front()])
    assert fronts[0] == fronts[1] == fronts[2]
    best = min(each.best_rmse for each in islands)
    assert min(error for _, error in fronts[0]) == pytest.approx(best, rel=1e-11)


# ---- damage ------------------------------------------------------------------------------------


def damaged(content: bytes) -> Iterator[bytes]:
    """Yield what may become of bytes: cut off, lengthened, bits or bytes changed."""
    draw = random.Random(0)
    for size in sorted({0, 1, 2, *draw.sample(range(len(content)), 15)}):
        yield content[:size]
    yield content + b"\0"
    for _ in range(60):
        changed = bytearray(content)
        for _ in range(draw.choice((1, 2, 8))):
            changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        yield bytes(changed)
    for _ in range(20):
        start = draw.randrange(min(len(content), 60))
        yield content[:start] + draw.randbytes(20) + content[start:]


def bytes_of(island: Any, kind: str) -> bytes:
    return bytes(island.emigrants(5, BEST, 0) if kind == "accept" else getattr(island, kind)())


TAKERS = {"load": "save", "absorb": "save", "accept": "accept", "add_laws": "laws"}


def take(island: Any, taker: str, content: bytes) -> None:
    more = (Replacement.worst, 0) if taker == "accept" else ()
    getattr(island, taker)(content, *more)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("kind", ["default", "large"])
def test_damaged_bytes_are_refused_or_harmless(kind: str, taker: str) -> None:
    of = posed(kind)
    source = evolved(of, 1000)
    step(source)
    before = of.island().save()
    n_refused = 0
    for content in damaged(bytes_of(source, TAKERS[taker])):
        island = of.island()
        try:
            take(island, taker, content)
        except DamagedBytes:
            n_refused += 1
            assert island.save() == before
        else:
            step(island)
            loaded(of, island.save())
    assert n_refused > 30


def crafted(of: Blueprint, *operands: int) -> bytes:
    """Return a migrant with a term T(row 2), and a constant in row 2 that has operands."""

    def number(value: int) -> bytes:
        value, out = (value << 1) if value >= 0 else ~(value << 1), bytearray()
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes([*out, value])

    def row(code: int, *variables: int) -> bytes:
        shape = bytes([4 * len(variables) + 2])  # a product
        return number(code) + shape + b"".join(map(number, variables))

    header = bytes(of.island().emigrants(0, BEST, 0))[:9]
    sine, one = (of.library.names.index(name) for name in ("sin", "one"))
    psi = b"\x01\x01" + row(of.target_library.names.index("identity"), 1)
    phi = b"\x01\x02" + row(sine, 30002) + row(one, *operands)
    return header + b"\x01" + psi + phi + struct.pack("<d", 1.0) + b"\x00"


def test_crafted_references_are_refused() -> None:
    of = posed("default")
    of.island().accept(crafted(of, 1), Replacement.fair, 0)  # the shape of it is right
    for operands in [(30002,), (30001,), (32767,), (-30002,), (1, 29000)]:
        with pytest.raises(DamagedBytes, match=r"out of range|refer"):
            of.island().accept(crafted(of, *operands), Replacement.fair, 0)


@pytest.mark.parametrize("wrong", [float("nan"), -1.0, inf])
def test_impossible_amounts_of_work_are_refused(wrong: float) -> None:
    of = posed("default")
    island = evolved(of, 1000)
    saved, work = island.save(), struct.pack("<d", island.work)
    assert saved.count(work) >= 1
    with pytest.raises(DamagedBytes, match="out of range"):
        of.island().load(saved.replace(work, struct.pack("<d", wrong)))


@pytest.mark.parametrize("taker", TAKERS)
def test_bytes_of_other_transformations_are_refused(taker: str) -> None:
    of, other = (
        island_problems.blueprint(X, Y, library=["identity", name]) for name in ("sin", "cos")
    )
    with pytest.raises(DamagedBytes, match="other features or transformations"):
        take(of.island(), taker, bytes_of(evolved(other, 300), TAKERS[taker]))


@pytest.mark.parametrize("taker", TAKERS)
def test_bytes_of_another_kind_or_problem_are_refused(taker: str) -> None:
    of = posed("unguided")
    other = island_problems.blueprint(np.c_[X, X[:, 0] ** 2, X[:, 1] ** 2], Y, guided=False)
    island = of.island()
    for kind in {"save", "laws", "accept"} - {TAKERS[taker]}:
        with pytest.raises(DamagedBytes, match="another format"):
            take(island, taker, bytes_of(evolved(of, 200), kind))
    with pytest.raises(DamagedBytes):
        take(island, taker, bytes_of(evolved(other, 500), TAKERS[taker]))


# ---- interrupted -------------------------------------------------------------------------------


def test_an_interrupted_island_returns_and_loses_nothing() -> None:
    of = posed("default")
    island, draw = of.island(), random.Random(0)
    best, evaluations = inf, 0
    for _ in range(12):
        thread = threading.Thread(target=island.run, args=(inf, 6000.0))
        thread.start()
        thread.join(draw.uniform(0, 0.02))
        island.interrupt()
        thread.join(30)
        assert not thread.is_alive()
        assert island.best_rmse <= best
        assert island.evaluations >= evaluations
        best, evaluations = island.best_rmse, island.evaluations
    for _ in range(2):  # the last interruption may come too late for its run, and end the first
        island.run(inf, 6000)
    assert island.work >= 6000
    assert island.best_rmse <= best
    assert seen(loaded(of, island.save())) == seen(island)


def test_an_interruption_ends_one_run_only() -> None:
    island = posed("default").island()
    island.interrupt()
    assert island.run(inf) == "running"
    assert island.work == 0
    island.run(inf, 100)
    assert island.work >= 100


def test_a_second_thread_is_told() -> None:
    island = posed("default").island()
    thread = threading.Thread(target=island.run, args=(inf, 1e9))
    thread.start()
    try:
        while island.work == 0.0:
            time.sleep(0.001)
        for use in (island.save, island.laws, lambda: island.run(0.0)):
            with pytest.raises(RuntimeError, match="another thread"):
                use()
    finally:
        island.interrupt()
        thread.join(30)
    assert island.save()


# ---- many islands ------------------------------------------------------------------------------


def n_guided_pieces(island: Any) -> int:
    """Return how many pieces of work the guide has, from its first to its last."""
    count = 0
    while True:
        generation, work = island.generation, island.work
        step(island)
        if island.generation == generation:
            if island.work == work:
                return count
            count += 1


def test_islands_share_the_scans_of_one() -> None:
    """All have some pieces in common; of the others an island has its part."""
    of = island_problems.blueprint(X[:, :1], Y, library=["identity", "sin"], constants=False)
    pieces = {n: [n_guided_pieces(of.island(k, n)) for k in range(n)] for n in (2, 4)}
    total = {n: sum(each) for n, each in pieces.items()}
    assert total[4] < 2 * total[2]  # an island alone may look at the neighbours of more laws


def test_islands_have_seeds_of_their_own() -> None:
    of = posed("unguided")
    assert len({evolved(of, 200, k, 3).save() for k in range(3)}) == 3


# ---- rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [37, 40])
@pytest.mark.parametrize("kind", ["default", "weights", "paper"])
def test_rows_that_are_used_as_they_are_give_the_same(kind: str, n_rows: int) -> None:
    weights = WEIGHTS[:n_rows] if kind == "weights" else None
    of = posed(kind).with_rows(np.asfortranarray(X[:n_rows]), Y[:n_rows], weights)
    shared = of.with_rows(columns_of(padded_block(X[:n_rows]), n_rows), Y[:n_rows], weights)
    assert evolved(shared, 1000).save() == evolved(of, 1000).save()


def test_rows_that_can_be_written_to_are_copied() -> None:
    rows, target = np.asfortranarray(X), Y.copy()
    of = posed("default").with_rows(rows, target, None)
    island, expected = of.island(), evolved(of, 500).save()
    rows[:], target[:] = 0.0, 0.0
    island.run(inf, 500)
    assert island.save() == expected
