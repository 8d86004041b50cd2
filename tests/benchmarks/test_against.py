"""The comparison with other programs; the programs themselves only where they are installed."""

from __future__ import annotations

import io
import math
import sys
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from benchmarks import against
from benchmarks.peers.formula import Formula
from benchmarks.peers.oracle import Oracle
from gsr.benchmarks.suites import get, select

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (40, 2))


# ---- oracle and formula --------------------------------------------------------------------------


def test_the_oracle_remembers_the_best_law_and_when_it_came() -> None:
    y = X[:, 0]
    oracle = Oracle(X, y, max_time=1e6)
    oracle.judge(y + 0.1, "rough")
    assert (oracle.equation, oracle.done) == ("rough", False)
    assert math.isnan(oracle.recovered_at)
    oracle.judge(y + 1e-8, "close")
    oracle.judge(y + 0.1, "rough again")
    assert (oracle.equation, oracle.done) == ("close", False)
    assert oracle.recovered_at >= 0 and math.isnan(oracle.exact_at)
    oracle.judge(y, "exact")
    assert oracle.done
    assert oracle.exact_at >= oracle.recovered_at


def test_the_oracle_has_enough_when_the_time_is_up() -> None:
    assert Oracle(X, X[:, 0], max_time=0.0).done


def test_a_prediction_that_failed_is_no_law() -> None:
    oracle = Oracle(X, X[:, 0], max_time=1e6)
    oracle.judge(np.full(len(X), np.nan), "nothing")
    assert (oracle.error, oracle.equation) == (math.inf, "")


def test_the_clock_stands_still_while_the_oracle_looks() -> None:
    oracle = Oracle(X, X[:, 0], max_time=1e6)
    with oracle.looking():
        before = oracle.seconds
        np.sort(RNG.uniform(size=10_000))
        assert oracle.seconds == before
    assert oracle.seconds >= before


def test_a_formula_is_evaluated() -> None:
    formula = Formula("((2.5 * X1) + (sin(X2) ^ 2)) / exp((-0.5))")
    expected = (2.5 * X[:, 0] + np.sin(X[:, 1]) ** 2) / np.exp(-0.5)
    np.testing.assert_allclose(formula(X), expected)
    assert formula.parameters.tolist() == [2.5, 0.5]
    np.testing.assert_array_equal(Formula("3.0")(X), np.full(40, 3.0))


def test_constants_of_a_formula_are_fitted_to_rounding() -> None:
    y = 3 * np.sin(1.3 * X[:, 0]) / (X[:, 1] + 0.7) - 2
    fitted = Formula("sin((1.25 * X1)) / (X2 + 0.8)").fitted(X, y)
    fresh = RNG.uniform(1, 2, (30, 2))
    truth = 3 * np.sin(1.3 * fresh[:, 0]) / (fresh[:, 1] + 0.7) - 2
    np.testing.assert_allclose(fitted(fresh), truth, rtol=1e-9)


# ---- runs ----------------------------------------------------------------------------------------


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pyoperon a program that knows Nguyen-8, and gplearn one that fails."""

    def search(name: str) -> Any:
        def known(X: Any, y: Any, seed: int, oracle: Oracle) -> None:
            oracle.judge(np.sqrt(oracle.X[:, 0]), "sqrt(X1)")

        def broken(X: Any, y: Any, seed: int, oracle: Oracle) -> None:
            raise RuntimeError("no luck")

        return known if name == "pyoperon" else broken

    monkeypatch.setattr(against, "_search", search)


@pytest.mark.slow
def test_all_programs_get_the_same_problems_ours_first(peer: None) -> None:
    rows = against.run(
        select(["Nguyen-8", "Nguyen-1"]),
        ["pyoperon", "gplearn"],
        preset="default",
        runs=1,
        max_time=5.0,
        progress=False,
    )
    order = [(row.problem, row.method) for row in rows]
    methods = ("gsr", "pyoperon", "gplearn")
    assert order == [(name, method) for name in ("Nguyen-8", "Nguyen-1") for method in methods]
    ours, known, broken, *_ = rows
    assert ours.recovered and known.recovered and known.exact
    assert not rows[4].recovered
    assert broken.failure == "RuntimeError: no luck"


def test_missing_programs_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(against, "_is_installed", lambda name: name == "gplearn")
    assert against.installed(["pyoperon", "gplearn", "gplearn"]) == (["gplearn"], ["pyoperon"])


def attempt(method: str, seed: int, **values: Any) -> against.Attempt:
    return against.Attempt(method, "jin", "Jin-1", seed, **values)


def text_of(renderable: Any) -> list[str]:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(renderable)
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_tables_compare_times_where_both_found_the_law() -> None:
    found = {"recovered": True, "exact": True}
    rows = [
        attempt("gsr", 0, **found, seconds=0.5, seconds_exact=0.5),
        attempt("gsr", 1, **found, seconds=1.0, seconds_exact=1.0),
        attempt("gsr", 2, seconds=9.0, error=0.03),
        attempt("pyoperon", 0, **found, seconds=5.0, seconds_exact=6.0),
        attempt("pyoperon", 1, recovered=True, seconds=9.0, seconds_exact=20.0),
        attempt("pyoperon", 2, **found, seconds=1.0, seconds_exact=1.0),
    ]
    lines = text_of(against.tables(rows))
    assert "jin gsr 3 66.67 66.67 0.75 33.33 0" in lines
    assert "pyoperon 3 100 66.67 5 0 0" in lines
    assert "all pyoperon 2 0.75 7 9.33 1 0.5 6 12" in lines


def test_tables_of_our_runs_alone() -> None:
    lines = text_of(against.tables([attempt("gsr", 0, failure="boom")]))
    assert "all gsr 1 0 0 - 0 1" in lines


# ---- the programs --------------------------------------------------------------------------------

#: An easy law for each, seconds, and the error that it reaches. FFX stops at approximations.
EASY = {
    "pyoperon": ("Nguyen-8", 60.0, 1e-10),
    "gplearn": ("Nguyen-8", 60.0, 1e-10),
    "bingo": ("Nguyen-8", 60.0, 1e-10),
    "ffx": ("Nguyen-1", 0.0, 0.2),
    "pysindy": ("Jin-3", 60.0, 1e-10),
}


def peer_search(name: str) -> Any:
    pytest.importorskip(name)
    return against._search(name)


@pytest.mark.parametrize("name", against.PEERS)
def test_a_program_finds_an_easy_law(name: str) -> None:
    law, seconds, error = EASY[name]
    problem = get(law)
    oracle = Oracle(*problem.test(0), max_time=seconds)
    peer_search(name)(*problem.train(0), 0, oracle)
    assert oracle.error < error
    assert oracle.equation


@pytest.mark.parametrize("name", against.PEERS)
def test_a_program_ends_when_the_time_is_up(name: str) -> None:
    problem = get("SymSet-8")
    oracle = Oracle(*problem.test(0), max_time=0.0)
    peer_search(name)(*problem.train(0), 0, oracle)
    assert not oracle.error < 1e-10


def test_bingo_is_loaded_without_mpi() -> None:
    search = peer_search("bingo")
    problem = get("Nguyen-8")
    mpi = sys.modules.get("mpi4py")
    search(*problem.train(0), 0, Oracle(*problem.test(0), max_time=0.0))
    assert sys.modules.get("mpi4py") is mpi
    assert not sys.modules["bingo.util.log"].USING_MPI


def test_what_ffx_gives_up_is_a_failed_run(monkeypatch: pytest.MonkeyPatch) -> None:
    search = peer_search("ffx")
    from ffx.core import model_factories

    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError

    monkeypatch.setattr(model_factories.ElasticNetWithTimeout, "fit", refuse)
    problem = get("Nguyen-1")
    with pytest.raises(RuntimeError, match="FFX gave up"):
        search(*problem.train(0), 0, Oracle(*problem.test(0), max_time=60.0))


# ---- command -----------------------------------------------------------------------------------


def test_the_command_leaves_out_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[list[str], list[str]]] = []

    def run(problems: Any, peers: Any, **options: Any) -> list[against.Attempt]:
        asked.append(([each.name for each in problems], list(peers)))
        return [
            against.Attempt(method, each.suite, each.name, seed, recovered=True, seconds=1.0)
            for each in problems
            for seed in range(options["runs"])
            for method in ("gsr", *peers)
        ]

    monkeypatch.setattr(against, "run", run)
    monkeypatch.setattr(against, "_is_installed", lambda peer: peer == "gplearn")
    assert against.main(["Jin-1", "--peers", "pyoperon,gplearn", "--runs", "2"]) == 0
    assert asked == [(["Jin-1"], ["gplearn"])]
    shown = capsys.readouterr()
    assert shown.err == "pyoperon is not installed and left out; pip install pyoperon\n"
    assert "gplearn" in shown.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jin", "--peers", "pysr"], "must be among pyoperon, gplearn"),
        (["jinn"], "did you mean"),
        (["jin", "--runs", "0"], "at least 1"),
    ],
)
def test_wrong_arguments_are_errors(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        against.main(arguments)
    assert message in capsys.readouterr().err
