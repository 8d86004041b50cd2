"""The schema of options: what is added there in one place is known everywhere."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gsr import GSRError, GSRRegressor, options
from gsr.cli import main
from gsr.core_settings import settings_of, to_core
from gsr.options import Flag, Option, stores_parameters
from gsr.runs.config import default_toml, parse
from gsr.value_types import (
    BOOLEAN,
    COUNT,
    TEXT,
    AnyOf,
    Choice,
    ListOf,
    Number,
    Pair,
    Record,
    TableOf,
    ValueType,
)

PAGES = Path(__file__).resolve().parents[1] / "docs" / "run_pages.py"
X = np.linspace(1.0, 4.0, 20)[:, None]
#: A setting of the core that is no option.
MEMORY = Option(
    "search.max_bytes",
    Number(int, 1000, 10**9),
    "bytes of the values that are kept",
    parameter="max_bytes",
    core="settings",
    varies=True,
    flag=Flag("search", "BYTES", ("--memory",)),
)


@pytest.fixture
def memory() -> Iterator[None]:
    """Add an option."""
    options.OPTIONS.append(MEMORY)
    yield
    options.OPTIONS.remove(MEMORY)


def with_parameter(name: str) -> type[GSRRegressor]:
    """Return an estimator with one more parameter."""
    signature = inspect.signature(GSRRegressor.__init__)
    more = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)

    def init(self: Any, **parameters: Any) -> None: ...

    init.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), more]
    )
    return type("Extended", (GSRRegressor,), {"__init__": stores_parameters(init)})


@pytest.mark.usefixtures("memory")
def test_a_new_option_is_checked_by_the_estimator_and_reaches_the_core() -> None:
    extended = with_parameter("max_bytes")
    with pytest.raises(GSRError, match="max_bytes must be a whole number from 1000") as error:
        extended(max_bytes=5).fit(X, X[:, 0])
    assert error.value.options == ("max_bytes",)
    model = extended(max_bytes=np.int64(10**6), random_state=0, max_evals=50, verbose=False)
    problem, _ = model._pose(model._validate(X, X[:, 0], None))
    assert json.loads(problem.blueprint.to_json())["settings"]["max_bytes"] == 10**6
    assert to_core(problem.blueprint.settings).max_bytes == 10**6


@pytest.mark.usefixtures("memory")
def test_a_new_option_is_a_key_of_configuration_files() -> None:
    default = settings_of({"preset": "default"})["max_bytes"]
    text = f"# bytes of the values that are kept\n#max_bytes = {default}\n"
    assert text in default_toml()
    assert parse("[search]\nmax_bytes = 5000").estimator_options() == {"max_bytes": 5000}
    message = r"line 2: search\.max_bytes must be a whole number from 1000 to 1e\+09, got 5"
    with pytest.raises(GSRError, match=message):
        parse("[search]\nmax_bytes = 5")


@pytest.mark.usefixtures("memory")
def test_a_new_option_is_a_flag_of_gsr_fit(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    assert "--memory BYTES        bytes of the values that are kept" in capsys.readouterr().out
    assert main(["fit", "table.csv", "--memory", "5"]) == 2
    assert "--memory must be a whole number from 1000 to 1e+09, got 5" in capsys.readouterr().err


@pytest.mark.usefixtures("memory")
@pytest.mark.skipif(not PAGES.is_file(), reason="the documentation is not here")
def test_a_new_option_is_in_the_table_of_the_documentation() -> None:
    spec = importlib.util.spec_from_file_location("run_pages", PAGES)
    assert spec is not None and spec.loader is not None
    sys.modules[spec.name] = pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    row = "| `search.max_bytes` | a whole number from 1000 to 1e+09 |  | bytes of the values that"
    assert row in pages.settings_table()


def test_a_flag_stands_for_one_option() -> None:
    flags = [each.flag.names or (each.name,) for each in options.OPTIONS if each.flag]
    assert len(set(flags)) == len(flags)
    assert len({each.key for each in options.OPTIONS}) == len(options.OPTIONS)


# ---- types of values -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "accepted", "refused", "message"),
    [
        (COUNT, [1, np.int64(3)], [0, 1.0, True, "1"], "must be a whole number of at least 1"),
        (Number(float, 0.0, 1.0), [0, 0.5, np.float32(1)], [1.1, "0", False, float("nan")],
         "must be a number from 0 to 1"),
        (Choice(("worst", "best")), ["best"], ["bets", None, 1], "must be 'worst' or 'best'"),
        (BOOLEAN, [True, False], [0, "true", None], "must be true or false"),
        (TEXT, ["a"], ["", " ", 1], "must be text"),
        (ListOf(TEXT, "names"), [[], ["a"]], ["a", [1], ("a",)], "must be a list of names"),
        (ListOf(Pair(), "pairs"), [[[0, 1]]], [[[0]], [[0, -1]], [0, 1]], "a list of pairs"),
        (TableOf(COUNT), [{}, {"a": 1}], [{"a": 0}, [1]], "must be a table from names to a whole"),
        (Record({"n": COUNT}, "counts"), [{}, {"n": 1}], [{"m": 1}, {"n": 0}], "a table of counts"),
        (AnyOf((TEXT, COUNT)), ["a", 1], [0, ""], "must be text or a whole number of at least 1"),
    ],
)  # fmt: skip
def test_types_accept_and_refuse(
    kind: ValueType, accepted: list[Any], refused: list[Any], message: str
) -> None:
    for value in accepted:
        assert kind.mismatch(value) is None
    for value in refused:
        assert message in str(kind.mismatch(value))


def test_messages_show_values_as_they_are_written() -> None:
    assert BOOLEAN.mismatch(1) == "must be true or false, got 1"
    assert BOOLEAN.mismatch(1, python=True) == "must be True or False, got 1"
    assert str(COUNT.mismatch(True)).endswith("got true")
    assert str(COUNT.mismatch(True, python=True)).endswith("got True")
    assert str(Choice(("best",)).mismatch("bets")).endswith("got 'bets'; did you mean 'best'?")
    assert str(COUNT.mismatch(2**40)).endswith("; at most 2147483647 is allowed")
    assert str(TEXT.mismatch(["a" * 99])).endswith("...")
