"""Islands on threads: what `GSRRegressor(islands=4)` runs."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import Any

import island_problems
import pytest
from sklearn.base import clone

from gsr import GSRRegressor
from gsr.exceptions import GSRError, InterruptedWarning
from gsr.islands.archipelago import LocalIslands
from gsr.islands.migration import make_migration

X, Y = island_problems.noisy()


def model(**parameters: Any) -> GSRRegressor:
    return GSRRegressor(**{"islands": 4, "random_state": 0, "n_jobs": 2, **parameters})


def laws(model: GSRRegressor) -> list[tuple[int, float, str]]:
    return [(each.complexity, each.rmse, str(each.equation)) for each in model.front_]


def best(model: GSRRegressor) -> float:
    return min(float(each.rmse) for each in model.front_)


# ---- the estimator -----------------------------------------------------------------------------


def test_the_number_of_threads_does_not_matter() -> None:
    found = [model(n_jobs=n_jobs, max_time=None, max_evals=3000).fit(X, Y) for n_jobs in (1, 2, 8)]
    assert laws(found[0]) == laws(found[1]) == laws(found[2])
    assert {each.status_ for each in found} == {"max_evals"}
    assert len({each.n_evaluations_ for each in found}) == 1
    assert found[0].n_evaluations_ >= 3000


def test_an_exact_law_is_found() -> None:
    found = model().fit(*island_problems.exact())
    assert found.status_ == "exact"
    assert str(found.equation_) == "y = 2 x1 x2"


def test_seeds_and_islands_matter() -> None:
    limits = {"max_time": None, "max_evals": 300}
    found = [
        laws(model(**limits, **more).fit(X, Y))
        for more in ({}, {"random_state": 1}, {"islands": 3})
    ]
    assert found[0] != found[1]
    assert found[0] != found[2]


def test_weights_reach_the_islands() -> None:
    y, weights = Y.copy(), [1.0] * len(Y)
    y[-1], weights[-1] = 1000.0, 0.0
    found = model(max_time=None, max_evals=300).fit(X, y, sample_weight=weights)
    assert best(found) < Y.std() / 2


@pytest.mark.parametrize("islands", [0, -1, 2000, 2.5, "many", None])
def test_numbers_that_are_none_are_refused(islands: Any) -> None:
    with pytest.raises(GSRError, match="islands must be a whole number from 1 to 1024"):
        model(islands=islands).fit(X, Y)


def test_it_is_a_parameter_as_others() -> None:
    copy = clone(model(islands=3))
    assert copy.get_params()["islands"] == 3
    assert copy.set_params(islands=2).islands == 2
    assert GSRRegressor().islands == 1


def test_time_is_kept() -> None:
    found = model(max_time=0.5).fit(X, Y)
    assert found.status_ == "max_time"
    assert found.n_evaluations_ > 0
    assert found.equation_.predict(X).shape == Y.shape


def test_a_callback_sees_and_stops() -> None:
    seen: list[Any] = []

    def callback(progress: Any) -> bool:
        seen.append(progress)
        assert progress.law
        return progress.evaluations > 500

    found = model(callback=callback, max_time=None).fit(X, Y)
    assert found.status_ == "stopped"
    assert seen[-1].evaluations > 500
    assert [each.rmse for each in seen] == sorted((each.rmse for each in seen), reverse=True)


def test_ctrl_c_keeps_what_was_found() -> None:
    def callback(progress: Any) -> None:
        if progress.evaluations > 200:
            _thread.interrupt_main()

    with pytest.warns(InterruptedWarning):
        found = model(callback=callback, max_time=None).fit(X, Y)
    assert found.status_ == "interrupted"
    assert best(found) < Y.std()
    assert not [each for each in threading.enumerate() if each.name.startswith("island")]


def test_a_search_goes_on_where_it_was() -> None:
    warm = model(warm_start=True, max_time=None, max_evals=1500).fit(X, Y)
    first, error = warm.n_evaluations_, best(warm)
    warm.fit(X, Y)
    assert warm.n_evaluations_ >= first + 1500
    assert best(warm) <= error * (1 + 1e-6)
    again = model(warm_start=True, max_time=None, max_evals=1500)
    assert laws(again.fit(X, Y).fit(X, Y)) == laws(warm)


def test_a_search_goes_on_after_it_was_stopped() -> None:
    warm = model(warm_start=True, max_time=0.3).fit(X, Y)
    first = warm.n_evaluations_
    warm.fit(X, Y)
    assert warm.n_evaluations_ > first


def test_nothing_runs_after_the_end() -> None:
    before = threading.active_count()
    model(max_time=0.3).fit(X, Y)
    assert threading.active_count() == before


# ---- the islands -------------------------------------------------------------------------------


@pytest.fixture
def make() -> Callable[..., LocalIslands]:
    of = island_problems.blueprint(X, Y)

    def make(n_threads: int = 2, max_evals: int | None = 2000) -> LocalIslands:
        migration = make_migration(3, 0, {"interval": 300})
        return LocalIslands(of, 3, n_threads, migration, max_evals)

    return make


def seen(islands: LocalIslands) -> tuple[Any, ...]:
    laws = [(law.complexity, law.rmse) for law in islands.front()]
    return laws, islands.evaluations, islands.generation, islands.status


def test_slices_do_not_matter(make: Callable[..., LocalIslands]) -> None:
    sliced, whole = make(), make()
    while sliced.run(0.0) == "running":
        assert sliced.front()  # looking does not disturb
    while whole.run(60.0) == "running":
        pass
    assert seen(sliced) == seen(whole)
    assert len(sliced.runners_up()) == len(whole.runners_up()) > 0


def test_limits_can_be_extended(make: Callable[..., LocalIslands]) -> None:
    islands = make()
    while islands.run(60.0) == "running":
        pass
    before = islands.evaluations
    islands.extend(0, 1000)
    assert islands.status == "running"
    while islands.run(60.0) == "running":
        pass
    assert (islands.status, islands.evaluations >= before + 1000) == ("max_evals", True)


def test_islands_come_to_rest(make: Callable[..., LocalIslands]) -> None:
    islands = make(max_evals=None)
    islands.run(0.05)
    islands.rest()
    count = islands.evaluations
    # The front has the laws of an unfinished batch of scans too.
    assert islands.best_rmse >= min(law.rmse for law in islands.front())
    assert islands.evaluations == count
    islands.extend(0, 500)
    while islands.run(60.0) == "running":
        pass
    assert islands.evaluations >= count + 500
