"""Tables of many rows: noise makes more of them count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gsr import GSRRegressor
from gsr.problem import make_evolution
from gsr.rows import MAX_ROWS, MORE_ROWS
from gsr.selection.variants import with_a_part_less
from gsr.session import Session

N = 8000


def table(seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(1.0, 3.0, (N, 3))


def noisy(X: Any, part: float = 0.1) -> Any:
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2]
    return y + part * y.std() * np.random.default_rng(1).normal(size=len(y))


def searched(X: Any, y: Any, sample_weight: Any = None, **changes: Any) -> Session:
    """Run a search to its end, and return it."""
    options = {"random_state": 0, "n_jobs": 1, "max_time": None, "max_evals": 4000} | changes
    model = GSRRegressor(**options)
    problem, _ = model._pose(model._validate(X, y, sample_weight))
    session = Session(problem, make_evolution(problem), model.max_time, lambda progress: None)
    session.run()
    return session


def n_rows(session: Session) -> int:
    return len(session.problem.data.y)


def test_noise_makes_the_search_look_at_more_rows():
    X = table()
    session = searched(X, noisy(X))
    assert n_rows(session) == MORE_ROWS
    assert session.problem.everything is not None
    assert session.problem.blueprint.settings["scan_factor"] > 1.0
    # Evaluations of a search inside the search are counted when it has ended.
    assert session.work_before[1] + session.evolution.evaluations <= 4000 + 1000


def test_a_table_that_is_a_little_larger_is_used_whole():
    X = table()[:1200]
    session = searched(X, noisy(X))
    assert n_rows(session) == 1200
    assert session.problem.everything is None


@pytest.mark.parametrize("max_rows", [500, 1000, 2000])
def test_a_given_number_of_rows_is_the_limit(max_rows):
    X = table()
    assert n_rows(searched(X, noisy(X), max_rows=max_rows)) == max_rows


def test_rows_that_noise_does_not_need_are_left_aside():
    X = table()
    for y in (noisy(X, 0.0), noisy(X, 1e-3)):
        assert n_rows(searched(X, y)) == MAX_ROWS


def test_structure_is_explained_before_more_rows_are_looked_at():
    """Without products and powers the best law is no more than an approximation."""
    X = table()
    session = searched(X, X[:, 0] ** X[:, 1], library=["sin"], max_evals=2000, max_terms=1)
    assert n_rows(session) == MAX_ROWS


def test_weights_of_more_rows_are_theirs():
    X = table()
    weights = np.random.default_rng(2).uniform(0.5, 2.0, N)
    data = searched(X, noisy(X), weights).problem.data
    assert len(data.y) == MORE_ROWS
    assert data.weights.mean() == pytest.approx(1.0)
    known = dict(zip(X[:, 0], weights, strict=True))
    ratio = data.weights / [known[x] for x in data.X[:, 0]]
    np.testing.assert_allclose(ratio, ratio[0])


def test_relative_noise_is_weighted_on_more_rows():
    X = table()
    clean = X[:, 0] ** 2 * X[:, 1]
    y = clean * (1 + 0.1 * np.random.default_rng(3).normal(size=N))
    session = searched(X, y)
    assert n_rows(session) == MORE_ROWS
    data = session.problem.data
    assert data.noise.follows_law
    assert np.corrcoef(np.log(data.weights), np.log(data.y))[0, 1] < -0.9


def test_a_fit_is_the_same_again():
    X = table()
    models = [
        GSRRegressor(random_state=0, n_jobs=1, max_time=None, max_evals=1500).fit(X, noisy(X))
        for _ in range(2)
    ]
    first, second = (str(model.equation_) for model in models)
    assert first == second
    assert models[0].n_rows_ == N


def test_parts_of_a_law_are_left_out_one_at_a_time():
    X = table()[:200]
    model = GSRRegressor(random_state=0, n_jobs=1, max_evals=300, start="y = x1*x2 + x3")
    entry = model.fit(X, X[:, 0] * X[:, 1] + X[:, 2]).front_[model.best_index_]
    shorter = [model.front_[0].make(law) for law in with_a_part_less(entry.law, entry.data)]
    terms = {tuple(sorted(str(term) for _, term in each.terms()[1])) for each in shorter}
    assert ("x3",) in terms
    assert ("x1*x2",) in terms
