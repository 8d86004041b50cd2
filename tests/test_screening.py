"""Many columns: which of them are combined, and what is said about the others."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from gsr import GSRRegressor
from gsr.cli.program import main
from gsr.problem import make_evolution

sin = np.sin


def regressor(**changes: Any) -> GSRRegressor:
    return GSRRegressor(**({"random_state": 0, "n_jobs": 1, "max_time": 60.0} | changes))


def scanned(X: Any, y: Any, **changes: Any) -> list[int]:
    """Return the numbers of the columns that are combined, in the order of the choice."""
    model = regressor(**changes)
    problem, _ = model._pose(model._validate(X, y, None))
    return list(make_evolution(problem).scanned_features)


def normal(n: int, d: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d))


def noise(n: int) -> Any:
    return 0.1 * np.random.default_rng(99).normal(size=n)


LAWS: dict[str, tuple[int, int, Any]] = {
    "a product beside a sine": (30, 3, lambda c: c[1] * c[2] + sin(c[3])),
    "the same among a hundred": (100, 3, lambda c: c[1] * c[2] + sin(c[3])),
    "four products and two alone": (
        20,
        10,
        lambda c: (
            c[1] * c[2] + c[3] * c[4] + c[5] * c[6] + c[7] * c[8] + sin(2 * c[9]) + c[10] ** 2
        ),
    ),
    "a product of three": (30, 3, lambda c: c[1] * c[2] * c[3]),
    "a quotient": (30, 3, lambda c: c[1] / c[2] + c[3]),
    "a function of a difference": (30, 3, lambda c: np.abs(c[1] - c[2]) + c[3]),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("d", "n_relevant", "law"), LAWS.values(), ids=LAWS)
def test_columns_that_matter_are_combined(d, n_relevant, law, seed):
    X = normal(1000, d, seed)
    y = law([None, *X.T]) + noise(1000)
    found = scanned(X, y)
    assert len(found) == len(set(found)) == 10
    assert set(range(1, n_relevant + 1)) <= set(found)
    assert found == scanned(X, y)


def test_positive_columns_of_several_decades_are_seen():
    X = np.exp(2 * normal(400, 25))
    assert set(scanned(X, X[:, 0] * X[:, 1] / np.sqrt(X[:, 2]))[:3]) == {1, 2, 3}


def test_ten_columns_are_all_combined_in_their_order():
    X = normal(50, 10)
    assert scanned(X, X[:, 7]) == list(range(1, 11))


def test_screening_takes_little_time():
    X = normal(1000, 100)
    model = regressor()
    problem, _ = model._pose(model._validate(X, X[:, 0] * X[:, 1] + noise(1000), None))
    start = time.process_time()
    make_evolution(problem)
    assert time.process_time() - start < 1.0  # 0.1 s, on a machine that is not busy


def test_a_product_is_found_among_thirty_columns():
    X = normal(1000, 30)
    model = regressor(max_evals=4000).fit(X, X[:, 0] * X[:, 1] + sin(X[:, 2]) + noise(1000))
    terms = model.equation_.terms()[1]
    assert {str(term) for _, term in terms if term.free_symbols} == {"x1*x2", "sin(x3)"}


# ---- what is said --------------------------------------------------------------------------------


def test_columns_left_out_are_named(capsys):
    X = normal(100, 13)
    model = regressor(max_evals=50, verbose=True).fit(X, X[:, 0] * X[:, 1])
    assert len(model.left_out_) == 3
    assert not {"x1", "x2"} & set(model.left_out_)
    told = capsys.readouterr().err
    assert "3 of 13 columns were not combined in the guided search: x" in told
    assert "; give fewer columns to insist" in told


def test_a_constant_column_is_not_called_left_out():
    X = np.column_stack([normal(60, 3), np.ones(60)])
    assert regressor(max_evals=50).fit(X, X[:, 0]).left_out_ == []
    assert regressor(max_evals=50, guided=False).fit(X, X[:, 0]).left_out_ == []


def test_islands_leave_the_same_columns_out():
    X = normal(100, 12)
    y = X[:, 0] * X[:, 1]
    alone, two = (regressor(max_evals=100, islands=k).fit(X, y).left_out_ for k in (1, 2))
    assert alone == two
    assert len(two) == 2


def test_the_command_names_columns_left_out(tmp_path, capsys):
    table = normal(100, 14)
    table[:, -1] = table[:, 0] * table[:, 1]
    np.savetxt(tmp_path / "many.csv", table, delimiter=",")
    command = ["fit", str(tmp_path / "many.csv"), "--max-evals", "50", "--seed", "0"]
    main(command)
    told = capsys.readouterr().err
    assert "gsr: 3 of 13 columns were not combined in the guided search: " in told
    assert "; choose columns with --features to insist" in told
    main([*command, "--quiet"])
    assert "columns" not in capsys.readouterr().err
