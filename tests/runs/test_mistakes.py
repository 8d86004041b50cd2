"""Mistakes that show only when a configuration is used: which key they are about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gsr.exceptions import GSRError, about
from gsr.runs.config import Config, Mistakes, parse, read

FILE = """\
[search]
n_phi = 9
n_psi = 2
[run]
max_evals = 5
seed = 3
"""


def refuse(*sections_and_names: tuple[str, str]) -> Callable[[Config], str]:
    """Return a function that refuses keys that are set, with errors about their parameters."""

    def use(config: Config) -> str:
        for section, name in sections_and_names:
            if config.is_set(section, name):
                parameter = {"seed": "random_state"}.get(name, name)
                raise GSRError(f"{parameter} will not do", parameter)
        return "used"

    return use


def test_what_is_right_is_used() -> None:
    mistakes = Mistakes(parse(FILE))
    assert mistakes.attempt(refuse()) == "used"
    mistakes.raise_found("c.toml")


def test_every_mistake_has_its_key_and_line() -> None:
    mistakes = Mistakes(parse(FILE, ["run.seed=4"]))
    assert mistakes.attempt(refuse(("run", "seed"), ("search", "n_psi"))) == "used"
    with pytest.raises(GSRError) as error:
        mistakes.raise_found("c.toml")
    assert str(error.value).splitlines() == [
        "c.toml: 2 mistakes",
        "  --set: run.seed: random_state will not do",
        "  line 3: search.n_psi: n_psi will not do",
    ]


def test_an_error_about_no_key_stands_alone() -> None:
    mistakes = Mistakes(parse(FILE))

    def use(config: Config) -> None:
        raise GSRError("the disk is full", "max_terms")  # which is not set

    assert mistakes.attempt(use) is None
    assert mistakes.attempt(use, ("run", "output")) is None
    assert mistakes.found == ["the disk is full", "line 4: run.output: the disk is full"]


def test_of_several_options_the_first_that_is_set_is_named() -> None:
    config = parse(FILE)
    assert config.key_of(GSRError("", "min_factors", "n_psi", "n_phi")) == ("search", "n_psi")
    assert config.key_of(GSRError("", "run.max_evals")) == ("run", "max_evals")
    assert config.key_of(GSRError("")) is None


def test_an_error_keeps_the_options_nearest_to_its_cause() -> None:
    with pytest.raises(GSRError) as error, about("start"), about("units"):
        raise GSRError("no")
    assert error.value.options == ("units",)


def test_gsr_fit_names_key_and_line_too(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(FILE)
    message = r"c\.toml: a mistake\n  line 2: search\.n_phi: more required terms than n_phi"
    with pytest.raises(GSRError, match=message), read(path).locating():
        raise GSRError("more required terms than n_phi", "n_phi")
    with pytest.raises(GSRError, match=r"^--set: too many$"), read(path, ["run.seed=4"]).locating():
        raise GSRError("too many", "random_state")
    with pytest.raises(GSRError, match=r"^no law$"), read(path).locating():
        raise GSRError("no law", "max_terms")
