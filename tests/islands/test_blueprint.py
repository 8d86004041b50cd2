"""Blueprints: the same island in every process."""

from __future__ import annotations

import json
from math import inf
from typing import Any

import island_problems
import numpy as np
import pytest

from gsr.blueprint import Blueprint, Variant, columns_of, padded_block
from gsr.core_settings import to_core
from gsr.exceptions import GSRError
from gsr.islands.rank_run import share_blueprint
from gsr.islands.transport import Alone

X, Y = island_problems.noisy()
WEIGHTS = np.linspace(0.5, 2, len(Y))
KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "weights": {"weights": WEIGHTS},
    "libraries": {"library": ["identity", "sin", "exp"], "target_library": ["identity", "ln"]},
    "rules": {"forbid": {"x1": ["exp"], "y": ["ln"]}, "allow": {"x2": ["identity", "sin"]}},
    "units": {"units": {"x1": "m", "x2": "1", "y": "m"}, "constants_with_units": False},
    "required": {"required_terms": ["x1*sin(x2)"], "max_terms": 4, "max_complexity": 30},
    "start": {"start": "y = a*x1*sin(x2) + b"},
    "shapes": {"constraints": {"x1": "increasing", "y": "positive"}},
    "paper": {"preset": "paper", "transform_target": False},
    "printed": {"preset": "paper", "hyperparameters": {"solver": "printed", "rho": 0.5}},
    "variants": {
        "variants": [Variant(), Variant({"n_psi": 2}, {"x1": ["sin"]}), Variant({"depth": 1})]
    },
}


def posed(kind: str) -> Blueprint:
    return island_problems.blueprint(X, Y, **KINDS[kind])


def evolved(of: Blueprint, number: int = 0, n_islands: int = 4, work: float = 700) -> bytes:
    island = of.island(number, n_islands)
    island.run(inf, work)
    return bytes(island.save())


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_island_is_made_of_text_and_rows(kind: str) -> None:
    of = posed(kind)
    text = of.to_json()
    copy = Blueprint.from_json(text, of.X.copy(), of.y.copy(), of.weights)
    assert copy.to_json() == text
    for number in range(3):
        assert evolved(copy, number) == evolved(of, number)


@pytest.mark.parametrize("kind", ["units", "required", "shapes"])
def test_the_last_gate_is_the_same(kind: str) -> None:
    of = posed(kind)
    copy = Blueprint.from_json(of.to_json(), of.X, of.y, of.weights)
    laws = [law for each in (of, posed("default")) for law in front(each)]
    admitted = [of.admits(law) for law in laws]
    assert set(admitted) == {True, False}
    assert [copy.admits(law) for law in laws] == admitted
    assert [str(copy.equation(law)) for law in laws] == [str(of.equation(law)) for law in laws]


def front(of: Blueprint) -> list[Any]:
    island = of.island()
    island.run(inf, 3000)
    return list(island.front())


@pytest.mark.parametrize("kind", ["default", "weights"])
def test_a_shared_blueprint_makes_the_same_island(kind: str) -> None:
    of = posed(kind)
    assert evolved(share_blueprint(of, Alone())) == evolved(of)


def test_text_says_all_but_the_rows() -> None:
    of = posed("rules")
    content = json.loads(of.to_json())
    assert content["rules"]["x1"] == ["exp"]
    assert set(content) == set(vars(of)) - {"X", "y", "weights", "constraints", "checker"}
    assert of.with_rows(X[:20], Y[:20], None).to_json() == of.to_json()


def test_islands_take_variants_in_turn_and_share_the_work_of_their_kind() -> None:
    plain = posed("default")
    of = posed("variants")
    # Islands 0 and 3 are the first two of the first kind, as of two islands without kinds.
    assert evolved(of, 0, 6) == evolved(plain, 0, 2)
    assert evolved(of, 1, 6) != evolved(plain, 1, 6)
    settings = to_core({**of.settings, **of.variants[1].settings})
    assert (settings.n_psi, settings.depth) == (2, of.settings["depth"])


def test_formulas_to_start_from_are_given_to_the_first_island() -> None:
    of = posed("start")
    counts = [of.island(k, 3).evaluations for k in range(3)]
    assert counts == [1, 0, 0]
    assert of.island().best_rmse < posed("default").island().best_rmse


def test_what_the_core_refuses_is_told() -> None:
    of = posed("default")
    with pytest.raises(GSRError, match="n_survivors must be smaller"):
        island_problems.blueprint(X, Y, variants=[Variant({"n_survivors": 10**6})]).island()
    with pytest.raises(GSRError):
        of.with_rows(X, Y, WEIGHTS[:5]).island()


def test_columns_are_whole_cache_lines_and_cannot_be_written_to() -> None:
    block = padded_block(X[:37])
    assert block.shape == (2, 40)
    assert (block[:, 37:] == 0).all()
    table = columns_of(block, 37)
    assert np.array_equal(table, X[:37])
    assert np.shares_memory(table, block)
    assert not table.flags.writeable
