"""The NumPy references against the core, and the measurements; never how fast anything is."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from rich.console import Console

from benchmarks import micro, operon_evaluator
from gsr import _core, encoding
from gsr.benchmarks.suites import get
from gsr.library import PRESETS, Library
from tests import reference

Array = npt.NDArray[np.float64]
ALL = PRESETS["all"]


def problems(n: int, *, n_psi: int = 1, count: int = 25) -> tuple[Array, Array]:
    rng = np.random.default_rng(n + n_psi)
    X = rng.uniform(0.5, 2.0, (count, 15, n)) ** rng.integers(-2, 4, (count, 15, 1))
    X += 0.1 * rng.normal(size=X.shape)
    y = X[:, :3].sum(axis=1, keepdims=True) + 0.1 * rng.normal(size=(count, 1, n))
    powers = [y**k + 0.1 * rng.normal(size=y.shape) for k in range(2, n_psi + 1)]
    return X, np.concatenate([y, *powers], axis=1)


# ---- references against the core -----------------------------------------------------------------


@pytest.mark.parametrize("name", list(ALL))
def test_functions_are_the_transformations(name: str) -> None:
    x = np.linspace(0.1, 3.0, 101)
    out = np.empty_like(x)
    reference.FUNCTIONS[name](x, out)
    np.testing.assert_allclose(out, ALL.table[ALL.code(name)].value(x), rtol=1e-13, atol=1e-15)


def test_every_transformation_has_a_function() -> None:
    assert set(reference.FUNCTIONS) == {t.name for t in _core.builtin_transformations()}


@pytest.mark.parametrize("n", [20, 200])
@pytest.mark.parametrize("lam", [0.4, 0.01])
def test_printed_admm_agrees_with_the_core(n: int, lam: float) -> None:
    settings = _core.AdmmSettings.printed()
    settings.max_iterations, settings.lam = 200, lam
    X, Y = problems(n)
    core = _core.admm_printed(X, Y, settings)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        plain = reference.admm_printed(np.hstack([x.T, -y.T]), settings)
        assert (plain.status, plain.iterations) == (core["status"][i], core["iterations"][i])
        for ours, theirs in ((plain.w, core["w"]), (plain.z, core["z"]), (plain.u, core["u"])):
            np.testing.assert_allclose(ours, theirs[i], atol=1e-8)


@pytest.mark.parametrize("n_psi", [1, 2, 3])
@pytest.mark.parametrize("n", [12, 20, 200])
def test_well_posed_admm_agrees_with_the_core(n: int, n_psi: int) -> None:
    settings = _core.AdmmSettings.well_posed()
    X, Y = problems(n, n_psi=n_psi)
    core = _core.admm_well_posed(X, Y, settings)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        plain = reference.admm_well_posed(x.T, y.T, settings)
        # With several targets (alpha, beta) and its negative are the same law.
        sign = 1.0 if n_psi == 1 else np.sign(core["beta"][i][0])
        assert plain.status == core["status"][i]
        assert abs(plain.iterations - core["iterations"][i]) <= 1
        np.testing.assert_allclose(plain.alpha, sign * core["alpha"][i], atol=1e-8)
        np.testing.assert_allclose(plain.beta, sign * core["beta"][i], atol=1e-8)
        assert plain.error == pytest.approx(core["error"][i], abs=1e-8)


def test_dependent_columns_get_no_coefficient() -> None:
    X, Y = problems(30)
    X[:, 4] = X[:, 1] + 2.0 * X[:, 2]
    X[:, 9] = 3.0
    core = _core.admm_well_posed(X, Y, _core.AdmmSettings.well_posed())
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        assert not {4, 9} & set(reference.independent_columns(x.T))
        plain = reference.admm_well_posed(x.T, y.T)
        assert plain.alpha[5] == plain.alpha[10] == 0.0
        np.testing.assert_allclose(plain.alpha, core["alpha"][i], atol=1e-8)


def test_more_columns_than_rows() -> None:
    X = problems(10, count=1)[0][0].T
    assert len(reference.independent_columns(X)) == 9


def test_random_matrices_follow_the_rules_and_evaluate_as_in_the_core() -> None:
    rng = random.Random(0)
    X = np.random.default_rng(0).uniform(0.5, 1.5, (20, 3))
    for _ in range(200):
        matrix = reference.random_matrix(rng, ALL, 3)
        assert 1 <= len(matrix) <= 3
        assert all(4 <= len(row) <= 7 and 1 <= row[2] <= 3 for row in matrix)
        width = max(map(len, matrix))
        padded = [row + [0] * (width - len(row)) for row in matrix]
        core = encoding.evaluate([padded], ALL, X)[:, 0]
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(reference.evaluate(matrix, ALL, X), core, rtol=1e-9)


def test_random_individuals_are_solved() -> None:
    problem = get(micro.PROBLEM)
    X, y = problem.train(0)
    libraries = Library(problem.library), Library(problem.target_library)
    for seed in range(10):
        found = reference.random_individual(random.Random(seed), *libraries, X, y)
        assert found.alpha.shape == (_core.Settings().n_phi + 1,)
        assert 0.0 <= found.error <= 1.0 + 1e-9


# ---- the measurements ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows() -> list[micro.Row]:
    return micro.run(repeats=1, effort=0.02)


def test_all_sections_are_measured(rows: list[micro.Row]) -> None:
    assert list(dict.fromkeys(row.section for row in rows)) == list(micro.SECTIONS)
    measured = {(row.section, row.name, row.n) for row in rows}
    assert len(measured) == len(rows)
    for name in ALL:
        assert {n for s, k, n in measured if (s, k) == ("transformations", name)} == {
            20,
            1000,
            10**5,
        }
    assert {n for s, _, n in measured if s == "admm"} == {20, 1000}
    assert {n for s, _, n in measured if s == "nodes"} == {20, 100, 1000, 10_000}
    for row in rows:
        assert row.value > 0.0
        missing = row.section == "nodes" and not operon_evaluator.installed()
        assert math.isnan(row.ratio) if missing else row.reference > 0.0 and row.ratio > 0.0


def test_micro_as_a_command(
    rows: list[micro.Row],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(micro, "run", lambda: rows)
    path = tmp_path / "speed.json"
    assert micro.main(["--json", str(path)]) == 0
    shown = capsys.readouterr().out
    assert all(section.title in shown for section in micro.SECTIONS.values())
    records = json.loads(path.read_text())
    assert len(records) == len(rows)
    keys = ["section", "name", "n", "value", "unit", "reference", "ratio"]
    assert all(list(record) == keys for record in records)


def test_a_missing_peer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(operon_evaluator, "installed", lambda: False)
    monkeypatch.setattr(micro, "MEASUREMENTS", (micro._nodes,))
    alone = micro.run(repeats=1, effort=0.01)
    Console().print(micro.tables(alone))
    assert "pyoperon is not installed" in capsys.readouterr().out
    micro.write_json(alone, tmp_path / "x.json")
    records = json.loads((tmp_path / "x.json").read_text())
    assert {record["reference"] for record in records} == {record["ratio"] for record in records}
    assert records[0]["reference"] is None and records[0]["value"] > 0.0


def test_the_two_sides_take_turns() -> None:
    order: list[str] = []
    figures = {"a": iter([3.0, 1.0, 2.0]), "b": iter([6.0, 5.0, 7.0])}

    def timing(side: str) -> float:
        order.append(side)
        return next(figures[side])

    assert micro.best_of(3, lambda: timing("a"), lambda: timing("b")) == [1.0, 5.0]
    assert order == ["a", "b"] * 3


@pytest.mark.skipif(not operon_evaluator.installed(), reason="pyoperon is not installed")
def test_the_peers_trees_are_evaluated() -> None:
    import pyoperon

    trees = operon_evaluator.random_trees(np.random.default_rng(0).uniform(0.5, 2.0, (30, 4)), 20)
    trees.evaluate()
    each = [pyoperon.Evaluate(t, trees.dataset, pyoperon.Range(0, 30)) for t in trees.trees]
    np.testing.assert_allclose(trees.out, np.array(each), rtol=1e-2, atol=1e-5)
    assert trees.function_nodes == sum(not n.IsLeaf for t in trees.trees for n in t.Nodes) > 0
