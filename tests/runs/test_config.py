"""Configuration files: what they hold, and what is said about mistakes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError
from gsr.options import NOT_IN_FILES, OF_ISLANDS, schema
from gsr.runs import config
from gsr.runs.config import Config, default_toml, parse, toml_value
from gsr.value_types import ListOf, Record

FILE = """\
[data]
path = "planets.csv"
target = "period"
[search]
depth = 2
n_phi = 9
poles = "forbid"
[run]
max_time = inf
seed = 3
"""


def test_what_is_set_goes_to_the_estimator() -> None:
    found = parse(FILE)
    assert found.get("data", "target") == "period"
    assert found.get("run", "n_jobs") == -1
    assert (found.is_set("run", "seed"), found.is_set("run", "n_jobs")) == (True, False)
    chosen = found.estimator_options()
    assert chosen.pop("max_time") is None
    assert chosen.pop("random_state") == 3
    assert chosen.pop("poles") == "forbid"
    assert chosen == {"depth": 2, "hyperparameters": {"n_phi": 9}}


def test_every_parameter_of_the_estimator_has_a_place() -> None:
    placed = {key.parameter for keys in schema().values() for key in keys.values()}
    parameters = set(inspect.signature(GSRRegressor.__init__).parameters)
    assert parameters - placed - set(NOT_IN_FILES) == {"self"}


def test_every_key_has_a_line_of_its_own_in_words_of_toml() -> None:
    for section, keys in schema().items():
        lines = [key.help for key in keys.values()]
        assert len(set(lines)) == len(lines), section
        assert all(line and "\n" not in line and len(line) <= 200 for line in lines)
        for line in (*lines, *(str(key.type) for key in keys.values())):
            assert not re.search(r"\b(True|False|None)\b|\*\*|``", line), line


def test_defaults_are_those_of_the_estimator() -> None:
    parameters = inspect.signature(GSRRegressor.__init__).parameters
    keys = [key for section in schema().values() for key in section.values()]
    copied = {key.parameter: key.default for key in keys if key.parameter in parameters}
    told = {name: default for name, default in copied.items() if default is not None}
    assert {"max_time", "n_jobs", "islands"} <= set(told)
    assert told == {name: parameters[name].default for name in told}


def test_the_data_are_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(FILE)
    assert config.read(path).data_path() == str(tmp_path / "planets.csv")
    with pytest.raises(GSRError, match=r"no data: name a table, or set data\.path"):
        Config().data_path()


def test_all_mistakes_are_told_at_once() -> None:
    text = (
        "seed = 1\n"
        "[data]\n"
        'path = ["a"]\n'
        "targt = 1\n"
        "[serch]\n"
        "[search]\n"
        'poles = "forbit"\n'
        "max_time = 3\n"
        "n_phi = 0\n"
        "run.seed = 2\n"
        "[run]\n"
        '"n_jobs" = true\n'
    )
    with pytest.raises(GSRError) as error:
        parse(text, ["run.seed=-1", "nonsense", "log.levl=info", "run.output={"], "c.toml")
    assert str(error.value).splitlines() == [
        "c.toml: 13 mistakes",
        "  line 1: 'seed' stands outside a section; it belongs below [run]",
        "  line 3: data.path must be text, got ['a']",
        "  line 4: [data] has no key 'targt'; did you mean 'target'?",
        "  line 5: there is no section [serch]; did you mean [search]?",
        "  line 7: search.poles must be 'avoid' or 'forbid' or 'allow', got 'forbit'; "
        "did you mean 'forbid'?",
        "  line 8: [search] has no key 'max_time'; it belongs below [run]",
        "  line 9: search.n_phi must be a whole number from 1 to 200, got 0",
        "  line 10: [search] has no key 'run'; there are " + ", ".join(schema()["search"]),
        "  line 12: run.n_jobs must be a whole number of at least -1024, got true",
        "  --set: run.seed must be a whole number of at least 0, got -1",
        "  --set: must be section.key=value, got 'nonsense'",
        "  --set: [log] has no key 'levl'; did you mean 'level'?",
        "  --set run.output: '{' is no TOML value; text with signs in it needs quotes",
    ]


def test_bad_toml_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(GSRError, match=r"configuration: .*line 2"):
        parse("[data]\npath = \n")
    path = tmp_path / "c.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(GSRError, match="not UTF-8"):
        config.read(path)
    with pytest.raises(GSRError, match=r"cannot read the configuration .*: No such file"):
        config.read(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("data.target=y", "y"),
        ("data.target=3", 3),
        ('data.target="3"', "3"),
        ("data.target = flow rate", "flow rate"),
        ('data.features=["a", 2]', ["a", 2]),
        ("data.header=false", False),
    ],
)
def test_overrides_have_toml_values(override: str, value: object) -> None:
    key = override.partition("=")[0].strip().partition(".")[2]
    assert parse(FILE, [override]).get("data", key) == value


def test_the_example_has_every_key_and_is_valid() -> None:
    text = default_toml()
    assert parse(text).values == {"data": {"path": "data.csv", "target": "y"}}
    filled = re.sub(r"^#(?=\w+ = )", "", text, flags=re.M)
    filled = re.sub("^topology = .*", 'topology = "edges"', filled, flags=re.M)
    found = parse(filled).values
    assert {section: set(keys) for section, keys in found.items()} == {
        section: set(keys) for section, keys in schema().items()
    }
    assert max(map(len, text.splitlines())) <= 100


def test_a_cluster_run_must_name_table_and_target() -> None:
    with pytest.raises(GSRError) as error:
        parse("[run]\nsed = 1\n", required=OF_ISLANDS)
    assert [line.split(":")[0] for line in str(error.value).splitlines()[1:]] == [
        "  line 2",
        "  data.path is missing",
        "  data.target is missing",
    ]
    found = parse("[data]\npath = 'a.csv'\n", ["data.target=y"], required=OF_ISLANDS)
    assert (found.get("islands", "per_rank"), found.get("checkpoint", "keep")) == (1, 3)


def test_mistakes_about_islands_are_told_with_their_lines() -> None:
    text = (
        "[islands]\n"
        'topology = "rign"\n'
        "edges = [[0, 1], [1]]\n"
        "interval = 0.5\n"
        "per_rank = 0\n"
        "[[islands.variants]]\n"
        "n_phi = 9\n"
        "[[islands.variants]]\n"
        "depth = 2\n"
        "n_phi = 0\n"
        'criterion = "bic"\n'
        "[checkpoint]\n"
        "interval = 0\n"
        'resume = "yes"\n'
    )
    with pytest.raises(GSRError) as error:
        parse(text, ["islands.variants=[{dpeth = 1}]", "islands.variants=3"])
    told = str(error.value).splitlines()[1:]
    assert told[0].startswith("  line 2: islands.topology must be 'ring' or ")
    assert told[0].endswith(", got 'rign'; did you mean 'ring'?")
    assert told[5].startswith(
        "  line 11: islands.variants, table 2: 'criterion' is none of the options of [search] and "
        "[library] that differ"
    )
    assert [*told[1:5], *told[6:]] == [
        "  line 3: islands.edges must be a list of pairs of islands, from and to, numbered from 0, "
        "got [[0, 1], [1]]",
        "  line 4: islands.interval must be a whole number of at least 1, got 0.5",
        "  line 5: islands.per_rank must be a whole number from 1 to 1024, got 0",
        "  line 10: islands.variants, table 2: n_phi must be a whole number from 1 to 200, got 0",
        "  line 13: checkpoint.interval must be a number of at least 0.1, got 0",
        "  line 14: checkpoint.resume must be true or false, got 'yes'",
        "  --set: islands.variants, table 1: 'dpeth' is none of the options of [search] and "
        "[library] that differ; did you mean 'depth'?",
        "  --set: islands.variants must be a list of tables of options of [search] and [library], "
        "got 3",
    ]


def test_a_mistake_inside_an_inline_table_has_the_line_of_its_key() -> None:
    with pytest.raises(GSRError, match=r"line 3: islands\.variants, table 2: depth must be "):
        parse("[islands]\n\nvariants = [{}, {depth = 0}]\n")


def test_edges_and_the_topology_belong_together() -> None:
    pairs = "edges = [[0, 1], [1, 0]]\n"
    found = parse('[islands]\ntopology = "edges"\n' + pairs)
    assert found.get("islands", "edges") == [[0, 1], [1, 0]]
    for text in (pairs, 'topology = "edges"'):
        with pytest.raises(GSRError, match=r'line 2: .*islands\.topology is "edges"'):
            parse(f"[islands]\n{text}")


def test_a_number_that_is_too_large_is_told_so() -> None:
    with pytest.raises(GSRError, match=r"run\.seed must be .*; at most 2147483647 is allowed"):
        parse(f"[run]\nseed = {2**63 - 1}\n")


def test_a_key_has_a_place() -> None:
    places = parse(FILE, ["run.seed=4"]).places
    assert places.where("search", "depth") == "line 5"
    assert places.where("run", "seed") == "--set"
    assert places.where("run", "output") == "line 8"  # that of the section
    assert Config().places.where("run", "seed") == "run.seed"


def test_options_of_variants_are_options_of_the_search() -> None:
    variants = schema()["islands"]["variants"].type
    assert isinstance(variants, ListOf) and isinstance(variants.type, Record)
    known = {**schema()["search"], **schema()["library"]}
    assert {"depth", "n_phi", "solver", "allow"} <= set(variants.type.fields)
    assert not {"epsilon", "criterion", "preset"} & set(variants.type.fields)
    for name, of_variant in variants.type.fields.items():
        assert of_variant == known[name].type


def test_fit_has_no_use_for_islands() -> None:
    text = "[islands]\nper_rank = 2\n[checkpoint]\nkeep = 1\n[run]\nseed = 1\n"
    assert parse(text).ignored() == ["islands", "checkpoint"]
    assert parse(text).estimator_options() == {"random_state": 1}


def test_settings_are_written_as_they_are_read() -> None:
    variants = '[[islands.variants]]\n[[islands.variants]]\ndepth = 1\nsolver = "printed"\n'
    found = parse(variants)
    assert parse(found.to_toml()).values == found.values
    found = parse(FILE)
    assert parse(found.to_toml()).values == found.values


@settings(max_examples=200)
@given(
    st.recursive(
        st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )
)
def test_any_value_is_written_as_toml(value: object) -> None:
    assert config.tomllib.loads(f"v = {toml_value(value)}")["v"] == value


@settings(max_examples=300)
@given(st.text(max_size=60) | st.text("[]data.run=\"'#{},\n 1e", max_size=60))
def test_any_text_is_read_or_told(text: str) -> None:
    for make in (lambda: parse(text), lambda: parse("", [text])):
        try:
            make()
        except GSRError:
            continue


@pytest.mark.parametrize(
    "text, message",
    [
        ("[run]\nseed = 1" + "0" * 5000, "a whole number has thousands of digits"),
        ("[run]\nseed = 1" + "0" * 4000, r"line 2: run\.seed must be a whole number"),
        ("[run]\nseed = 0x" + "f" * 20_000, r"line 2: run\.seed must be a whole number"),
        ("a." * 50_000 + "b = 1", "line 1: a key has more than 100 parts"),
        ("[run]\nx = {" + "a." * 50_000 + "b = 1}", "line 2: a key has more than 100 parts"),
        ("a = " + "[" * 100_000, "nested too deep"),
        ("#" * 2_000_000, "at most 1,000,000 characters"),
        ("x" * 900_000, "Expected '='"),
    ],
)
def test_every_size_in_a_file_has_a_limit(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(GSRError, match=message) as caught:
        config.read(path)
    assert len(str(caught.value)) < 1000
    if text.startswith("[run]\nseed"):
        with pytest.raises(GSRError, match="seed"):
            config.parse("", [f"run.{text[6:].replace(' ', '')}"])
