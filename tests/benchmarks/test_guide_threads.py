"""The guide on several threads: the same laws, bit for bit, with any number of them."""

import threading

import numpy as np
import pytest

from benchmarks import threads
from benchmarks.searches import blueprint
from gsr import GSRRegressor, Transformation

EXACT, _, NOISY = threads.PROBLEMS


def laws(problem, n_threads, max_evals=4000, slices=float("inf")):
    """Return the laws of a search as bytes, with the work that it took."""
    plan = blueprint(*problem.data())
    plan.settings.update({"n_threads": n_threads, "max_evaluations": max_evals})
    island = plan.island()
    while island.run(slices) == "running":
        pass
    return island.laws(), island.evaluations, island.work


@pytest.mark.slow
@pytest.mark.parametrize("problem", [EXACT, NOISY], ids=["exact", "noisy"])
def test_laws_do_not_depend_on_the_number_of_threads(problem):
    one = laws(problem, 1)
    assert one[1] >= 4000
    assert laws(problem, 2) == one
    assert laws(problem, 3) == one


@pytest.mark.slow
def test_nor_on_slices_of_time():
    assert laws(NOISY, 2, slices=0.0) == laws(NOISY, 1)


@pytest.mark.slow
def test_the_front_of_a_fit_is_the_same():
    X, y = NOISY.data()
    fits = [
        GSRRegressor(random_state=0, n_jobs=n, max_evals=1000, max_time=None).fit(X, y)
        for n in (1, 3)
    ]
    first, second = ([str(each.equation) for each in fit.front_] for fit in fits)
    assert first == second


def test_laws_of_scans_that_are_not_all_done_are_shown():
    X, y = NOISY.data()
    model = GSRRegressor(random_state=0, n_jobs=2, max_time=0.5).fit(X, y)
    assert len(model.front_) > 1


@pytest.mark.slow
def test_own_transformations_do_not_block_threads():
    seen = set()

    def value(t):
        seen.add(threading.get_ident())
        with np.errstate(over="ignore"):
            return np.sinh(t)

    own = Transformation("sinh", value, "sinh({})")
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2.0, (80, 2))
    y = np.sinh(X[:, 0]) + X[:, 1] + 0.02 * rng.normal(size=80)
    model = GSRRegressor(
        library=["identity", "square", "exp", own],
        random_state=0,
        n_jobs=3,
        max_evals=2000,
        max_time=60.0,
    ).fit(X, y)
    assert model.status_ in {"max_evals", "exact"}
    assert len(seen) > 1


def test_the_script_prints_the_ratio(capsys, monkeypatch):
    monkeypatch.setattr(threads, "PROBLEMS", (NOISY,))
    assert threads.main(["--max-evals", "300"]) == 0
    assert "ratio" in capsys.readouterr().out
