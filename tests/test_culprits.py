"""Mistakes that show only when a configuration is used: which key is told."""

from __future__ import annotations

import pytest

from gsr.exceptions import GSRError
from gsr.runs.config import Config, parse
from gsr.runs.culprits import Culprits

FILE = """\
[search]
n_phi = 9
n_psi = 2
[run]
max_evals = 5
seed = 3
"""


def refuse(**wrong: object) -> object:
    """Return a function that refuses keys of `[search]` and `[run]` with certain values."""

    def use(config: Config) -> str:
        for name, value in wrong.items():
            for section in ("search", "run"):
                if config.values.get(section, {}).get(name) == value:
                    raise GSRError(f"{name}={value} will not do")
        return "used"

    return use


def test_what_is_right_is_used() -> None:
    culprits = Culprits(parse(FILE))
    assert culprits.attempt(refuse(), ("search", "run")) == "used"  # type: ignore[arg-type]
    culprits.raise_told("c.toml")


def test_every_mistake_has_its_key_and_line() -> None:
    culprits = Culprits(parse(FILE, ["run.seed=4"]))
    use = refuse(seed=4, n_psi=2)
    assert culprits.attempt(use, ("search", "run")) == "used"  # type: ignore[arg-type]
    with pytest.raises(GSRError) as error:
        culprits.raise_told("c.toml")
    assert str(error.value).splitlines() == [
        "c.toml: 2 mistakes",
        "  --set: run.seed: seed=4 will not do",
        "  line 3: search.n_psi: n_psi=2 will not do",
    ]


def test_what_no_key_is_to_blame_for_is_told_as_it_is() -> None:
    culprits = Culprits(parse(FILE))

    def use(config: Config) -> None:
        raise GSRError("the disk is full")

    assert culprits.attempt(use, ("search", "run")) is None
    assert culprits.attempt(use, (), ("run", "output")) is None
    assert culprits.told == ["the disk is full", "line 4: run.output: the disk is full"]


def test_a_key_that_a_message_does_not_name_is_not_to_blame_for_another_message() -> None:
    culprits = Culprits(parse(FILE))

    def use(config: Config) -> None:
        raise GSRError(f"{len(config.values['search'])} keys, and a missing value")

    assert culprits.attempt(use, ("search",)) is None
    assert culprits.told == ["2 keys, and a missing value"]
