"""Topologies: who sends to whom, seen from both ends."""

from __future__ import annotations

from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsr.exceptions import GSRError
from gsr.islands.topology import MIGRATIONS, TOPOLOGIES, Topology, make_topology

NAMED = [name for name in TOPOLOGIES if name != "edges"]
CONNECTED = [name for name in NAMED if name != "unconnected"]
SIZES = range(1, 71)
#: Enough for all islands to be reached.
MANY_EPOCHS = 600


def flights(topology: Topology, n: int, epoch: int) -> set[tuple[int, int]]:
    """Return who sends to whom, and check that nobody is named twice."""
    pairs = [(i, j) for i in range(n) for j in topology.destinations(i, epoch)]
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def arrivals(topology: Topology, n: int, epoch: int) -> set[tuple[int, int]]:
    return {(i, j) for j in range(n) for i in topology.sources(j, epoch)}


def reached(pairs: set[tuple[int, int]], start: int) -> set[int]:
    """Return the islands that can be reached along the pairs."""
    seen, fresh = {start}, {start}
    while fresh:
        fresh = {j for i, j in pairs if i in fresh} - seen
        seen |= fresh
    return seen


def over_epochs(topology: Topology, n: int, epochs: int = MANY_EPOCHS) -> set[tuple[int, int]]:
    return set().union(*(flights(topology, n, epoch) for epoch in range(epochs)))


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    n = draw(st.integers(2, 12))
    island = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(island, island), max_size=40))
    return n, [(i, j) for i, j in pairs if i != j]


# ---- properties of all -----------------------------------------------------------------------


@pytest.mark.parametrize("migration", MIGRATIONS)
@pytest.mark.parametrize("name", NAMED)
def test_both_ends_agree_and_nobody_sends_to_itself(name: str, migration: str) -> None:
    for n in SIZES:
        topology = make_topology(name, n, migration=migration, seed=n)
        for epoch in (0, 1, 2, 1000 + n):
            sent = flights(topology, n, epoch)
            assert sent == arrivals(topology, n, epoch)
            assert all(i != j and 0 <= j < n for i, j in sent)


@given(edge_lists(), st.sampled_from(MIGRATIONS), st.integers(0, 2**64), st.integers(0, 10**9))
def test_both_ends_agree_about_own_edges(
    given_edges: tuple[int, list[tuple[int, int]]], migration: str, seed: int, epoch: int
) -> None:
    n, edges = given_edges
    topology = make_topology("edges", n, edges=edges, migration=migration, seed=seed)
    sent = flights(topology, n, epoch)
    assert sent == arrivals(topology, n, epoch)
    if migration == "broadcast":
        assert sent == set(edges)
    else:
        assert sent <= set(edges)
        assert sorted(i for i, _ in sent) == sorted({i for i, _ in edges})


@pytest.mark.parametrize("name", CONNECTED)
def test_every_island_is_reached_over_the_epochs(name: str) -> None:
    for n in (1, 2, 3, 8, 13, 70):
        topology = make_topology(name, n, seed=3)
        pairs = over_epochs(topology, n)
        assert reached(pairs, 0) == set(range(n))
        assert reached({(j, i) for i, j in pairs}, 0) == set(range(n))


@pytest.mark.parametrize("name", [name for name in CONNECTED if name != "random_pairs"])
def test_broadcasts_reach_every_island(name: str) -> None:
    for n in SIZES:
        pairs = flights(make_topology(name, n, migration="broadcast"), n, 0)
        assert reached(pairs, n - 1) == set(range(n))


@pytest.mark.parametrize("name", [name for name in CONNECTED if name != "random_pairs"])
def test_peer_to_peer_goes_in_time_where_a_broadcast_goes_at_once(name: str) -> None:
    n = 21
    one, every = (make_topology(name, n, migration=migration) for migration in MIGRATIONS)
    assert over_epochs(one, n) == flights(every, n, 0)


@pytest.mark.parametrize("name", NAMED)
def test_the_seed_decides(name: str) -> None:
    def drawn(seed: int) -> list[set[tuple[int, int]]]:
        topology = make_topology(name, 24, seed=seed)
        return [flights(topology, 24, epoch) for epoch in range(30)]

    assert drawn(1) == drawn(1)
    assert (drawn(1) == drawn(2)) == (name == "unconnected")


@pytest.mark.parametrize("name", ["ring", "torus", "fully_connected", "hypercube", "star"])
def test_few_neighbours_take_turns(name: str) -> None:
    one, every = (make_topology(name, 16, migration=migration) for migration in MIGRATIONS)
    neighbours = sorted(every.destinations(0, 0))
    rounds = [
        [one.destinations(0, epoch)[0] for epoch in range(start, start + len(neighbours))]
        for start in range(0, 20 * len(neighbours), len(neighbours))
    ]
    assert all(sorted(each) == neighbours for each in rounds)
    assert any(each != rounds[0] for each in rounds)


def test_own_edges_take_turns() -> None:
    topology = make_topology("edges", 4, edges=[(0, 1), (0, 2), (0, 3), (2, 0)])
    assert sorted(topology.destinations(0, epoch)[0] for epoch in range(3)) == [1, 2, 3]
    assert {topology.destinations(2, epoch) for epoch in range(3)} == {(0,)}


def test_of_many_neighbours_one_is_drawn() -> None:
    topology = make_topology("fully_connected", 101, seed=5)
    counts = [0] * 101
    for epoch in range(20_000):
        counts[topology.destinations(0, epoch)[0]] += 1
    assert counts[0] == 0
    assert all(abs(count - 200) < 75 for count in counts[1:])  # five standard deviations


# ---- degrees ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ring", "torus", "fully_connected"])
def test_everyone_sends_once_and_receives_once_peer_to_peer(name: str) -> None:
    for n in SIZES[1:]:
        sent = flights(make_topology(name, n), n, epoch=n)
        assert sorted(i for i, _ in sent) == sorted(j for _, j in sent) == list(range(n))


@pytest.mark.parametrize(
    ("name", "degree"), [("ring", 2), ("torus", 4), ("fully_connected", 69), ("hypercube", 7)]
)
def test_degrees_of_broadcasts(name: str, degree: int) -> None:
    topology = make_topology(name, 70, migration="broadcast")
    degrees = [len(topology.destinations(island, 0)) for island in range(70)]
    assert max(degrees) == degree
    assert name == "hypercube" or min(degrees) == degree


def test_a_torus_is_square() -> None:
    topology = make_topology("torus", 10_000, migration="broadcast")
    assert sorted(topology.destinations(5050, 0)) == [4950, 5049, 5051, 5150]


def test_a_hypercube_of_any_size_is_short() -> None:
    for n in (5, 8, 33, 70):
        topology = make_topology("hypercube", n, migration="broadcast")
        seen = {0}
        for _ in range(ceil(log2(n))):
            seen |= {j for i in seen for j in topology.destinations(i, 0)}
        assert seen == set(range(n))


def test_pairs_are_pairs() -> None:
    for n in SIZES:
        topology = make_topology("random_pairs", n, seed=9)
        for epoch in range(20):
            sent = flights(topology, n, epoch)
            assert sent == {(j, i) for i, j in sent}
            assert n - 2 <= len(sent) <= n


def test_the_hub_of_a_star_sends_once_peer_to_peer_and_receives_from_all() -> None:
    topology = make_topology("star", 9)
    assert len(topology.destinations(0, 3)) == 1
    assert topology.sources(0, 3) == tuple(range(1, 9))
    assert all(topology.destinations(leaf, 3) == (0,) for leaf in range(1, 9))


@pytest.mark.parametrize("name", ["ring", "torus", "fully_connected", "random_pairs", "hypercube"])
def test_a_trillion_islands_cost_no_more_than_ten(name: str) -> None:
    topology = make_topology(name, 10**12)
    (other,) = topology.destinations(10**11, 7)
    assert topology.sources(other, 7) == (10**11,)


# ---- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rings", {}, "did you mean 'ring'"),
        ("lattice", {}, "there are ring, torus"),
        ("ring", {"migration": "broadcasts"}, "did you mean 'broadcast'"),
        ("ring", {"edges": [(0, 1)]}, "'edges' only"),
        ("edges", {}, "needs edges"),
        ("edges", {"edges": [(0, 1, 2)]}, "pair of islands"),
        ("edges", {"edges": [("0", "1")]}, "pair of islands"),
        ("edges", {"edges": [(0, True)]}, "pair of islands"),
        ("edges", {"edges": [7]}, "pair of islands"),
        ("edges", {"edges": [(0, 4)]}, r"\[0, 4\].*0 to 3"),
        ("edges", {"edges": [(-1, 2)]}, r"\[-1, 2\]"),
        ("edges", {"edges": [(2, 2)]}, "to itself"),
    ],
)
def test_mistakes_are_told(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(GSRError, match=message):
        make_topology(name, 4, **options)  # type: ignore[arg-type]


def test_there_is_at_least_one_island() -> None:
    with pytest.raises(GSRError, match="at least 1"):
        make_topology("ring", 0)


def test_an_edge_that_is_given_twice_counts_once() -> None:
    topology = make_topology("edges", 3, edges=[(0, 1), (0, 1), (2, 1)], migration="broadcast")
    assert topology.destinations(0, 0) == (1,)
    assert topology.sources(1, 0) == (0, 2)
