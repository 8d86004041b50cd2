"""What happens at checkpoints of a search, and at its end."""

from types import SimpleNamespace

import numpy as np

from gsr.conclusion import _beside_exact
from gsr.session import Session
from gsr.threads import one_thread


def session():
    problem = SimpleNamespace(kind="constant")
    problem.differs = lambda data: data.noise.kind != problem.kind
    return Session(problem, None, None, lambda _: None)


def judged(session, kind):
    """Return whether a checkpoint that speaks for a kind of noise makes the search start anew."""
    restarts = session._is_lasting(SimpleNamespace(noise=SimpleNamespace(kind=kind)))
    if restarts:
        session.problem.kind, session._wanted, session.work_before = kind, None, (1, 100)
    return restarts


def test_noise_that_changes_with_every_law_does_not_restart_the_search():
    search = session()
    kinds = ["relative", "power", "mixed", "power", "relative", "power", "mixed"]
    assert [judged(search, kind) for kind in kinds] == [True] + 6 * [False]


def test_noise_that_lasts_restarts_the_search_and_so_does_constant_noise():
    search = session()
    kinds = ["relative", "mixed", "mixed", "constant", "relative", "relative"]
    assert [judged(search, kind) for kind in kinds] == [True, False, True, True, False, True]


def law(complexity, rmse, bits=np.inf):
    return SimpleNamespace(complexity=complexity, rmse=rmse, bits=bits, exact=bits < np.inf)


def test_beside_an_exact_law_only_what_may_be_shown_is_refined():
    exact = law(10, 1e-16, 80.0)
    shown = [law(3, 1.0), law(5, 0.2), law(6, 0.3)]  # the last may become better than the second
    hopeless = [law(6, 0.9), law(12, 0.01), law(10, 0.1)]
    nearly_exact = law(20, 1e-7)
    found = _beside_exact([*hopeless, exact, *shown, nearly_exact], 1.0)
    assert found == [*shown, exact, nearly_exact]


def test_linear_algebra_runs_on_one_thread_for_a_while():
    from threadpoolctl import threadpool_info

    before = [each["num_threads"] for each in threadpool_info()]
    with one_thread():
        inside = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    assert set(inside) == {1}
    assert [each["num_threads"] for each in threadpool_info()] == before
