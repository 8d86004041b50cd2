"""The model of islands, and the figures for many ranks."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from benchmarks import island_landscape, island_model, island_scale
from benchmarks.island_landscape import Clocks, Landscape, Survivors
from benchmarks.island_model import Case, simulate, takeover
from gsr.islands.topology import Star, Ways, make_topology

OPEN, RIVALS = island_model.LANDSCAPES[:2]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"
PEER_TO_PEER = [name for name, migration in island_model.KINDS if migration == "p2p"]


@pytest.fixture(autouse=True)
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(island_model, "MOST_RUNS", 12)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def clocks(name: str, n: int, runs: int = 1, migration: str = "p2p") -> Clocks:
    topology = make_topology(name, n, migration=migration)
    assert isinstance(topology, Ways | Star)
    return Clocks(topology, n, runs, rng())


def text_of(renderable: Any) -> list[str]:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(renderable)
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


# ---- clocks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("migration", ["p2p", "broadcast"])
@pytest.mark.parametrize("name", ["ring", "torus", "hypercube", "random_pairs", "star"])
def test_flights_are_those_of_the_topology(name: str, migration: str) -> None:
    n, runs = 13, 3
    topology = make_topology(name, n, migration=migration)
    allowed = {
        (i, j)
        for epoch in range(island_landscape.DRAWN)
        for i in range(n)
        for j in topology.destinations(i, epoch)
    }
    moving = clocks(name, n, runs, migration)
    seen = set()
    for _ in range(100):
        sources, destinations = moving.flights(0.7)
        assert (sources // n == destinations // n).all()  # runs are apart
        seen |= set(zip((sources % n).tolist(), (destinations % n).tolist(), strict=True))
    assert seen
    assert seen <= allowed


def test_islands_migrate_once_in_an_interval_on_the_mean_and_not_together() -> None:
    moving = clocks("ring", 500)
    counts = [len(moving.flights(0.1)[0]) for _ in range(200)]
    assert sum(counts) / (500 * 20) == pytest.approx(1, abs=0.1)
    assert 0 < min(counts) < max(counts) < 120


# ---- survivors -------------------------------------------------------------------------------


def one_island(landscape: Landscape = RIVALS) -> Survivors:
    island = Survivors(landscape, 1, rng())
    island.left[:] = 1
    return island


def offer(island: Survivors, left: int, terms: int) -> None:
    island.add(np.array([0]), np.array([left], np.int8), np.array([terms], np.uint8))


def known(island: Survivors) -> set[tuple[int, int]]:
    return set(zip(island.left[0].tolist(), island.terms[0].tolist(), strict=True))


def test_a_newcomer_is_joined_with_its_relative_only() -> None:
    island = one_island()
    offer(island, 0, 0b0011)
    offer(island, 0, 0b0110)
    offer(island, 2, 0b1000)
    assert known(island) >= {(0, 0b0011), (0, 0b0110), (0, 0b0111), (2, 0b1000)}
    assert (2, 0b1111) not in known(island)
    assert (0, 0b1111) not in known(island)


def test_the_worst_makes_room_and_nobody_is_there_twice() -> None:
    island = one_island()
    for _ in range(30):
        offer(island, 1, 0b1)
    assert (island.terms[0] == 0b1).sum() == 1
    for term in range(8):
        offer(island, 1, 1 << term)
    assert island.worth[0].min() > 0
    before = known(island)
    offer(island, 0, 0)
    assert known(island) == before


def test_only_the_law_is_the_law() -> None:
    island = one_island()
    offer(island, 1, 0xFF)
    assert island.worth.max() == pytest.approx(RIVALS.ceiling)
    assert not island.solved(1)[0]
    offer(island, 0, 0xFF)
    assert island.solved(1)[0]
    assert island.holding(1)[0] == 1


def test_messages_beyond_what_an_island_takes_are_dropped() -> None:
    islands = Survivors(OPEN, 10, rng())
    dropped = islands.receive(np.arange(1, 10), np.zeros(9, np.int64))
    assert dropped == 9 - island_landscape.TAKEN


# ---- runs ------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_case() -> None:
    assert simulate(RIVALS, "torus", "p2p", 16, 100) == simulate(RIVALS, "torus", "p2p", 16, 100)
    others = [simulate(OPEN, "torus", "p2p", 16, 100, seed) for seed in (1, 2, 3)]
    assert len({case.median for case in others}) > 1


def test_migration_brings_terms_together() -> None:
    alone = simulate(OPEN, "unconnected", "p2p", 64, 100)
    together = simulate(OPEN, "fully_connected", "p2p", 64, 100)
    assert alone.messages == 0
    assert together.found == 1
    assert together.late < alone.soon / 2


def test_rivals_push_the_law_out() -> None:
    together = simulate(RIVALS, "fully_connected", "p2p", 16, 30)
    assert together.kept < 1
    assert simulate(OPEN, "fully_connected", "p2p", 16, 30).kept == 1


@pytest.mark.parametrize("name", PEER_TO_PEER)
def test_messages_are_one_in_an_interval(name: str) -> None:
    case = simulate(OPEN, name, "p2p", 64, 100)
    expected = 0 if name == "unconnected" else 10
    assert case.messages == pytest.approx(expected, rel=0.25)


def test_one_individual_spreads_as_far_as_the_topology_reaches() -> None:
    spread = {name: takeover(name, "p2p", 256) for name in PEER_TO_PEER}
    assert math.isinf(spread["unconnected"])
    assert spread["fully_connected"] < spread["torus"] < spread["ring"]
    assert spread["fully_connected"] >= math.log2(256) / 2


def test_the_command_prints_tables_and_writes_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cases.json"
    asked = ["--islands", "8", "--intervals", "300", "--json", str(file)]
    assert island_model.main(asked) == 0
    printed = capsys.readouterr().out
    assert "strong rivals, 8 islands" in printed
    cases = json.loads(file.read_text())
    assert len(cases) == len(island_model.KINDS) * len(island_model.LANDSCAPES)
    assert set(cases[0]) == set(asdict(simulate(OPEN, "ring", "p2p", 8, 300)))


def test_wrong_numbers_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        island_model.main(["--islands", "8,0"])
    assert "at least 1" in capsys.readouterr().err


def test_a_table_shows_median_share_and_quartiles() -> None:
    case = Case("open", "ring", "p2p", 64, 100, 10, 0.8, 150.0, 225.0, math.inf, 1, 1, 0, 40.0)
    lines = text_of(island_model.tables([case]))
    assert "ring 225 80%" in lines
    assert "150 to -" in lines
    assert "ring 40" in lines


# ---- scale -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [16, 64, 70])
@pytest.mark.parametrize("kind", island_scale.DEGREES)
def test_degrees_are_those_of_the_topology(kind: tuple[str, str], n: int) -> None:
    name, migration = kind
    topology = make_topology(name, n, migration=migration)
    epochs = range(12)
    sent = [[len(topology.destinations(i, epoch)) for i in range(n)] for epoch in epochs]
    received = [[len(topology.sources(i, epoch)) for i in range(n)] for epoch in epochs]
    degree = island_scale.DEGREES[kind](n)
    assert max(map(max, sent)) == degree.sent
    assert max(map(max, received)) == degree.received
    total = max(map(sum, sent))
    assert total == degree.total or (n == 70 and name == "hypercube" and total < degree.total)
    partners = {j for epoch in range(4000) for j in topology.destinations(0, epoch)}
    assert len(partners) <= degree.partners


def test_figures_follow_from_the_parts() -> None:
    parts = dict.fromkeys(island_scale.PARTS, 0.0) | {
        "message_bytes": 2000.0,
        "message_seconds": 0.001,
        "interval_seconds": 0.1,
        "join_seconds": 0.5,
        "bytes_per_second": 1e9,
        "checkpoint_bytes": 1e6,
        "checkpoints_kept": 3,
        "checkpoint_interval_seconds": 10.0,
    }
    scale = island_scale.scale_table(parts, [1000])
    ring = next(line for line in scale.traffic if line.topology == "ring")
    assert (ring.sent, ring.received, ring.messages) == (1, 1, 1000)
    assert ring.bytes_of_rank == 4000
    assert ring.bytes_of_all == 2e6
    assert ring.share == pytest.approx(0.02)
    (fixed,) = scale.fixed
    assert fixed.merge_steps == 10
    assert fixed.merge_seconds == pytest.approx(5)
    assert fixed.checkpoint_files == 3000
    assert fixed.checkpoint_bytes == 3e9
    assert fixed.checkpoint_rate == 1e8


def test_nothing_is_guessed() -> None:
    scale = island_scale.scale_table({"message_bytes": 100.0, "join_seconds": None}, [64])
    assert scale.traffic[0].bytes_of_rank == 200
    assert math.isnan(scale.traffic[0].share)
    assert math.isnan(scale.fixed[0].merge_seconds)
    lines = text_of(island_scale.tables(scale))
    assert "ring 64 1 1 2 64 200 B 6.4 kB -" in lines
    with pytest.raises(ValueError, match="not a part: size"):
        island_scale.scale_table({"size": 1.0})


def test_only_linear_topologies_are_linear_on_a_rank() -> None:
    scale = island_scale.scale_table(dict.fromkeys(island_scale.PARTS, 1.0))
    work: dict[tuple[str, str], list[int]] = {}
    for line in scale.traffic:
        work.setdefault((line.topology, line.migration), []).append(line.sent + line.received)
    linear = {kind for kind, (small, _, large) in work.items() if large > 10 * small}
    assert linear == {("fully_connected", "broadcast"), ("star", "p2p"), ("star", "broadcast")}


def test_parts_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "measured.json"
    file.write_text('{"message_bytes": 3000}')
    assert island_scale.main([str(file)]) == 0
    assert "6 kB" in capsys.readouterr().out


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not here")
def test_the_page_names_every_part() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("\n| part |")[2].partition("\n\n")[0]
    named = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", table, re.MULTILINE))
    assert named == island_scale.PARTS
