"""The front keeps what was found: more work never makes it worse."""

import time
from dataclasses import replace

import numpy as np
import pytest

from gsr import GSRRegressor
from gsr.selection.criteria import EQUAL_BITS
from gsr.selection.fitted import constants
from gsr.selection.target_scale import refine

ISOTHERM = np.array(
    [
        (0.5306, 0.8446, 0.126), (0.9233, 1.6212, 0.152), (2.0251, 3.0927, 0.199),
        (2.9489, 4.6628, 0.243), (4.9321, 7.5014, 0.320), (7.9483, 10.4886, 0.418),
        (11.2728, 14.5248, 0.521), (17.8748, 17.7733, 0.637), (24.3511, 21.1943, 0.735),
        (38.4891, 25.7552, 0.834), (50.3387, 28.1997, 0.931), (69.2595, 29.8507, 1.011),
    ]
)  # fmt: skip


def fitted(X, y, evaluations, **options):
    sigma = options.pop("sigma", None)
    options = {"errors": "constant", "random_state": 0, **options}
    model = GSRRegressor(n_jobs=1, max_evals=evaluations, max_time=None, **options)
    return model.fit(X, y, sigma=sigma)


def drawn(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(12, 60)), int(rng.integers(1, 4))
    X = rng.uniform(0.5, 3, (n, d))
    shapes = [
        lambda x: 2 * x[:, 0] / (1.3 + x[:, 0]),
        lambda x: np.exp(-0.7 * x[:, 0]) + 0.3 * x[:, -1],
        lambda x: x[:, 0] ** 1.4 * x[:, -1],
        lambda x: np.sin(1.7 * x[:, 0]) + x[:, -1],
    ]
    y = shapes[seed % len(shapes)](X)
    noise = rng.standard_normal(n)
    return X, y + 0.03 * np.std(y) * noise if seed < len(shapes) else y * (1 + 0.05 * noise)


@pytest.mark.parametrize("seed", range(8))
def test_more_work_dominates_less(seed):
    """By the measure of the longer search: it may have judged the noise otherwise."""
    X, y = drawn(seed)
    errors = "auto" if seed > 2 else "constant"
    less, more = (
        fitted(X, y, evaluations, random_state=seed, errors=errors) for evaluations in (2600, 7000)
    )
    if any(entry.exact for entry in more.front_):
        return
    best = more.get_best()
    for entry in less.front_:
        error = refine(entry.law, best.data).rmse
        near = [e.rmse for e in more.front_ if e.complexity <= entry.complexity]
        assert min(near, default=np.inf) <= error * slack(entry, y, errors), str(entry.equation)
    assert best.length <= by_measure_of(best, less.get_best()).length + EQUAL_BITS


def by_measure_of(other, entry):
    """Return an entry fitted to the rows, weights and noise of another."""
    law = refine(entry.law, other.data)
    return replace(entry, law=law, rmse=law.rmse, data=other.data)


def slack(entry, y, errors):
    """Parts that say less than their standard errors are left out of a law; so are two of them.

    Weights that follow the law of each checkpoint change the order of long laws in the archive.
    """
    least = 0.08 if errors == "auto" else 0.0
    return 1.0 + max(1.0 / max(len(y) - entry.n_constants, 1), least)


@pytest.mark.parametrize("known", ["sigma", "weights"])
def test_a_law_of_twelve_rows_stays_chosen(known):
    c, q, sy = ISOTHERM.T
    for evaluations in (20_000, 40_000):
        model = GSRRegressor(random_state=0, n_jobs=1, max_evals=evaluations, max_time=120)
        given = {"sigma": sy} if known == "sigma" else {"sample_weight": 1 / sy**2}
        model.fit(c[:, None], q, **given)
        best = model.get_best()
        np.testing.assert_allclose(model.predict(c[:, None]), 1 / (0.5519 / c + 0.0247), rtol=0.01)
        assert best.n_constants == 2
        complexities = [entry.complexity for entry in model.front_]
        assert max(np.diff(complexities)) < 15


def test_counted_work_gives_the_same_constants_on_a_slow_machine(monkeypatch):
    X, y = drawn(1)
    quick = fitted(X, y, 600)
    clock = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: 50.0 * clock())
    for max_time in (None, 1e5):
        slow = GSRRegressor(
            n_jobs=1, max_evals=600, max_time=max_time, errors="constant", random_state=0
        ).fit(X, y)
        assert [str(e.equation) for e in slow.front_] == [str(e.equation) for e in quick.front_]
        for one, other in zip(slow.front_, quick.front_, strict=True):
            np.testing.assert_array_equal(constants(one.law), constants(other.law))


def test_all_constants_on_the_front_have_converged():
    X, y = drawn(3)
    model = fitted(X, y, 4000)
    for entry in model.front_:
        again = refine(entry.law, entry.data)
        assert again.rmse >= entry.rmse * (1 - 1e-3), str(entry.equation)


def test_a_law_that_is_nearly_exact_becomes_exact():
    t = np.linspace(0, 10, 100)
    model = GSRRegressor(random_state=0, n_jobs=1, max_time=20)
    model.fit(t[:, None], 3 * np.exp(-0.3 * t) * np.cos(2 * t))
    assert model.level_ == "rounding"
    found = np.sort(np.abs(constants(model.get_best().law)))
    assert found[0] == pytest.approx(0.3, rel=1e-9)
    assert found[-1] == pytest.approx(3.0, rel=1e-9)


def test_the_chosen_law_is_not_dominated():
    x = np.linspace(1, 11, 100)
    y = 1.7 * x**0.73 * (1 + 0.05 * np.random.default_rng(0).standard_normal(100))
    model = GSRRegressor(random_state=0, n_jobs=1, max_evals=8000, max_time=60).fit(x[:, None], y)
    best = model.get_best()
    others = [entry for entry in model.front_ if entry is not best]
    assert not any(e.complexity <= best.complexity and e.rmse <= best.rmse for e in others)
    assert model.front_[model.best_index_] is best


def test_errors_of_a_table_are_on_the_same_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, (3000, 2))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(3000)
    model = GSRRegressor(random_state=0, n_jobs=1, max_rows=200, max_evals=2000, max_time=60)
    model.fit(X, y)
    for row in model.equations_:
        error = np.sqrt(np.mean((y - row.predict(X)) ** 2))
        assert row.rmse == pytest.approx(error, rel=1e-6)


def test_terms_that_live_on_one_row_are_never_chosen():
    rng = np.random.default_rng(0)
    speed, load = rng.uniform(1, 5, 200), rng.uniform(1, 3, 200)
    power = speed**2 * load / (1 + load) + 0.1 * rng.standard_normal(200)
    model = GSRRegressor(random_state=0, n_jobs=1, max_evals=15_000, max_time=60)
    model.fit(np.column_stack([speed, load]), power)
    assert not model.get_best().lives_on_few_rows
