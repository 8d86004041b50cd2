"""The benchmark problems, their data and the published figures."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import sympy

from gsr.benchmarks import suite_runs
from gsr.benchmarks.suite_runs import published
from gsr.benchmarks.suites import (
    ALL_PROBLEMS,
    ALL_SUITES,
    PROBLEMS,
    SUITES,
    Problem,
    get,
    select,
)
from gsr.benchmarks.suites.problem import Box, Grid, Lattice, Uniform
from gsr.library import PRESETS

every_problem = pytest.mark.parametrize("problem", ALL_PROBLEMS, ids=lambda each: each.name)
provable_problem = pytest.mark.parametrize(
    "problem", [each for each in ALL_PROBLEMS if each.provable], ids=lambda each: each.name
)
paper_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda each: each.name)


def test_there_are_67_problems_in_five_suites() -> None:
    counts = Counter(each.suite for each in PROBLEMS)
    assert counts == {"nguyen": 13, "jin": 6, "neat": 9, "livermore": 22, "symset": 17}
    assert tuple(counts) == SUITES
    assert len({each.name for each in PROBLEMS}) == 67


def test_there_are_seven_suites_beside_them() -> None:
    counts = Counter(each.suite for each in ALL_PROBLEMS if each.suite not in SUITES)
    listed = {"lsr-synth": 65, "lsr-transform": 56, "srsd": 60, "odebench": 59}
    assert counts == {"feynman": 120, "strogatz": 14, **listed, "two-terms": 50}
    assert (*SUITES, *counts) == ALL_SUITES
    assert len({each.name for each in ALL_PROBLEMS}) == len(ALL_PROBLEMS)


def test_a_law_solved_for_another_variable_has_its_output_as_a_feature() -> None:
    X, v = get("LSR-Transform-I.10.7_1_0").train(0)  # m = m_0/sqrt(1 - v^2/c^2) for v
    m_0, c, m = X.T
    np.testing.assert_allclose(m, m_0 / np.sqrt(1 - v**2 / c**2))


def test_equations_of_motion_are_tested_beyond_the_trajectory() -> None:
    problem = get("LSR-Synth-BPG0")
    train, test = problem.train(0)[0], problem.test(0)[0]
    assert train[0, 0] == 0
    assert (np.diff(train[:, 0]) > 0).all()
    assert (test.max(axis=0) > train.max(axis=0)).all()


def test_realistic_ranges_span_decades_and_both_signs() -> None:
    X, _ = get("SRSD-III.7.38").train(0)
    sizes = np.abs(X)
    assert (sizes.max(axis=0) / sizes.min(axis=0) > 50).all()
    assert (X < 0).any()
    assert (X > 0).any()


@every_problem
def test_data_has_the_promised_shape_and_is_finite(problem: Problem) -> None:
    for X, y in (problem.train(3), problem.test(3)):
        assert X.shape == (len(y), len(problem.variables))
        assert np.isfinite(X).all()
        assert np.isfinite(y).all()
        assert np.ptp(y) > 0


@provable_problem
def test_numeric_truth_is_the_symbolic_one(problem: Problem) -> None:
    X, y = problem.train(0)
    truth = problem.truth(real=True)
    symbols = [sympy.Symbol(name, real=True) for name in problem.variables]
    unused = {"Strogatz-vdp2": 1}.get(problem.name, 0)
    used = set(symbols[: len(symbols) - unused])
    may_lack_some = problem.suite == "two-terms" and truth.free_symbols < used
    assert truth.free_symbols == used or may_lack_some
    for i in (0, len(y) // 3, len(y) - 1):
        point = {s: sympy.Float(float(v), 40) for s, v in zip(symbols, X[i], strict=True)}
        assert float(truth.evalf(30, subs=point)) == pytest.approx(y[i], rel=1e-9, abs=1e-9)


@provable_problem
def test_expressions_are_exact(problem: Problem) -> None:
    assert not problem.truth().atoms(sympy.Float)


@every_problem
def test_data_is_reproducible_and_free_of_the_process(problem: Problem) -> None:
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(problem.train(5)[0], again.train(5)[0])
    np.testing.assert_array_equal(problem.test(5)[1], again.test(5)[1])


@pytest.mark.parametrize("name", ["Nguyen-1", "Jin-6", "SymSet-8"])
def test_train_test_and_seeds_are_independent_draws(name: str) -> None:
    problem = get(name)
    draws = [problem.train(0)[0], problem.test(0)[0], problem.train(1)[0], problem.test(1)[0]]
    values = np.concatenate([each.ravel() for each in draws])
    assert len(np.unique(values)) == len(values)


def test_problems_with_the_same_expression_have_their_own_data() -> None:
    assert not np.array_equal(get("Nguyen-5").train(0)[0], get("Neat-3").train(0)[0])


def test_known_value_of_a_draw_stays() -> None:
    """A changed seed derivation would make old results incomparable."""
    X, _ = get("Nguyen-1").train(0)
    assert X[:2, 0] == pytest.approx([-0.28608273013359575, -0.8326654523876438], abs=1e-15)


def test_libraries_follow_the_rule() -> None:
    assert get("Nguyen-1").library == ("one", "identity", "cos", "sin", "exp", "ln")
    assert get("Nguyen-1").target_library == ("one", "identity", "exp", "ln")
    assert "ln" not in get("Jin-1").library
    assert {"square", "cube"} <= set(get("Jin-1").library)
    assert get("Neat-6").library == ("one", "identity", "inverse", "sqrt")
    assert get("Neat-8").library == ("one", "identity", "square", "exp", "exp_neg")
    assert "exp" in get("Livermore-1").library
    assert "exp_neg" in get("SymSet-1").library
    assert {"tan", "tanh", "sqrt"} <= set(get("Neat-7").library)


@paper_problem
def test_libraries_use_the_vocabulary(problem: Problem) -> None:
    assert set(problem.library) <= set(PRESETS["all"])
    assert set(problem.library) - set(problem.target_library) <= {"cos", "sin", "tan"}
    assert not set(problem.target_library) & {"cos", "sin", "tan"}
    assert problem.n_psi == (2 if problem.name == "SymSet-11" else 1)


def test_uniform_rows_lie_in_the_interval() -> None:
    X, _ = get("Livermore-1").train(0)
    assert X.shape == (1000, 1)
    assert -10 <= X.min() < -9
    assert 9 < X.max() <= 10
    assert get("Jin-1").test(0)[0].shape == (30, 2)


def test_grids_are_full_and_the_same_for_test() -> None:
    X, y = get("Neat-9").train(0)
    assert X.shape == (441, 2)
    assert len({tuple(row) for row in X}) == 441
    np.testing.assert_array_equal(X, get("Neat-9").test(1)[0])
    assert y[np.all(X == 0, axis=1)] == [0.0]


def test_harmonic_numbers() -> None:
    _, y = get("Neat-6").train(0)
    assert y[:4] == pytest.approx([1, 3 / 2, 11 / 6, 25 / 12])
    X, y = get("Neat-6").test(0)
    assert (X[-1, 0], len(y)) == (120, 120)


def test_lattice_takes_every_value_once_and_is_not_collinear() -> None:
    X, _ = get("Neat-7").train(0)
    axis = np.linspace(-50, 50, 100_000)
    assert X.shape == (100_000, 2)
    for column in X.T:
        np.testing.assert_array_equal(np.sort(column), axis)
    assert abs(np.mean(X[:, 0] * X[:, 1])) / np.var(axis) < 0.01
    boxes, _, _ = np.histogram2d(X[:, 0], X[:, 1], bins=20)
    assert boxes.min() > 0.8 * boxes.mean()


def test_rows_without_a_truth_are_drawn_again() -> None:
    problem = get("SymSet-8")
    for seed in range(200):
        X, _ = problem.train(seed)
        assert (5 * X[:, 0] ** 5 + 14 * X[:, 0] ** 3 * X[:, 1] ** 4 - 2 * X[:, 1] + 7 >= 0).all()
    rngs = (np.random.default_rng(seed) for seed in range(50))
    plain = (problem.values(Uniform(-1, 1, 20).points(2, rng)) for rng in rngs)
    assert any(np.isnan(y).any() for y in plain)


def test_a_grid_where_the_truth_is_undefined_is_refused() -> None:
    broken = Problem("x", "x", "1/x1", ("x1",), Grid(-1, 1, 3))
    with pytest.raises(ValueError, match="undefined"):
        broken.train(0)


def test_sampling_reads_like_the_paper() -> None:
    assert str(Uniform(0.3, 4, 100)) == "U(0.3, 4, 100)"
    assert str(Lattice(-50, 50, 100_000)) == "E(-50, 50, 100,000)"


def test_a_box_has_a_range_for_every_variable() -> None:
    box = Box(((1, 2), (30, 40), (1, 2)), 50)
    X = box.points(3, np.random.default_rng(0))
    assert X.shape == (50, 3)
    assert ((X > [1, 30, 1]) & (X < [2, 40, 2])).all()
    assert str(box) == "U (1, 2) x (30, 40), 50"
    with pytest.raises(ValueError, match="2 variables, but 3 ranges"):
        box.points(2, np.random.default_rng(0))


def test_physical_names_are_kept_in_a_note() -> None:
    law = get("Feynman-I.8.14")
    assert law.expression == "sqrt((x2 - x1)**2 + (x4 - x3)**2)"
    assert law.note.endswith("x1 = x1, x2 = x2, x3 = y1, x4 = y2")
    assert get("Feynman-II.13.17").expression == "2*x3/(4*pi*x1*x2**2*x4)"


@pytest.mark.parametrize("suite", ["feynman", "strogatz"])
def test_suites_beside_the_paper_leave_the_library_open(suite: str) -> None:
    assert all(not each.library and not each.target_library for each in select([suite]))


def test_select_takes_suites_and_names_once_each_in_order() -> None:
    chosen = select(["Jin-2", "jin", "nguyen-12*"])
    assert [each.name for each in chosen][:3] == ["Jin-2", "Jin-1", "Jin-3"]
    assert chosen[-1] is get("Nguyen-12*")
    assert len(chosen) == 7
    assert select("paper") == list(PROBLEMS)
    assert select("all") == list(ALL_PROBLEMS)


@pytest.mark.parametrize(
    ("wrong", "near"), [("Nguyen12", "Nguyen-12"), ("nguyn", "nguyen"), ("simset", "symset")]
)
def test_unknown_name_is_named_with_near_matches(wrong: str, near: str) -> None:
    with pytest.raises(ValueError, match="unknown") as error:
        select(["jin", wrong])
    assert repr(wrong) in str(error.value)
    assert near in str(error.value)


def test_get_refuses_a_suite() -> None:
    with pytest.raises(ValueError, match="Neat-9"):
        get("neat")


def test_import_does_not_load_sympy() -> None:
    modules = "gsr.benchmarks.suite_runs"
    code = f"import sys, {modules}; sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


TABLES = published()


@pytest.mark.parametrize("name", TABLES)
def test_published_rows_are_problems_and_complete(name: str) -> None:
    table = TABLES[name]
    assert {get(problem).suite for problem in table["rows"]} == {table["suite"]}
    lengths = {len(row) for row in (*table["rows"].values(), table["average"])}
    assert lengths == {len(table["methods"])}


@pytest.mark.parametrize("name", TABLES)
def test_published_averages_are_those_of_the_rows(name: str) -> None:
    table = TABLES[name]
    means = np.nanmean(list(table["rows"].values()), axis=0)
    assert means == pytest.approx(table["average"], rel=0.02, abs=1e-12)


def test_published_figures_look_up() -> None:
    def figure(table: str, problem: str, method: str) -> float:
        return TABLES[table]["rows"][problem][TABLES[table]["methods"].index(method)]

    assert figure("LIVERMORE_RECOVERY", "Livermore-21", "GSR") == 76
    assert np.isnan(figure("SYMSET_RMSE", "SymSet-16", "PySR"))
    assert "Nguyen-12*" not in TABLES["NGUYEN_SECONDS"]["rows"]
    assert figure("NEAT_RMSE", "Neat-9", "GSR") == 8.1e-9


def test_errors_of_values_that_are_too_large_to_square() -> None:
    values = np.array([3e200, -4e200])
    assert suite_runs.rmse(values, np.zeros(2)) == pytest.approx(5e200 / np.sqrt(2.0))
    assert suite_runs.spread(values) == pytest.approx(3.5e200)
    assert suite_runs.rmse(np.ones(2), np.ones(2)) == 0.0
    assert np.isnan(suite_runs.rmse(np.array([1.0, np.nan]), np.ones(2)))
