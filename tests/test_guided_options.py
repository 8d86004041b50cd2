"""The guided search: options of the encoding, reproducibility, interrupts, many rows."""

import threading
import warnings

import numpy as np
import pytest

from gsr import GSRRegressor, InterruptedWarning, _core
from gsr.library import resolve

ONE = _core.ONE
IDENTITY = resolve("all").code("identity")


def regressor(**changes):
    return GSRRegressor(**({"random_state": 0, "n_jobs": 1, "max_time": 20.0} | changes))


def repeatable(generations, **changes):
    return regressor(max_time=None, max_generations=generations, **changes)


def positive(n, d, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 3.0, (n, d))


def wavy(n=60, d=2, seed=0):
    """Return data with much to find and no exact law."""
    X = positive(n, d, seed)
    noise = np.random.default_rng(seed + 1).normal(size=n)
    y = X[:, 0] * np.sin(2.3 * X[:, -1]) / (1 + X[:, 0]) + np.exp(np.cos(X[:, 0])) + 0.05 * noise
    return X, y


# ---- options of the encoding -----------------------------------------------------------------


def operands(row):
    entries = row[2:]
    return [o for o in (entries[: len(entries) // 2] if row[1] == 3 else entries) if o]


def features_of_row(row):
    """Return which options of the encoding a row needs."""
    found = {"division"} if row[0] < 0 else set()
    if len(row) < 3:
        return found
    names = operands(row)
    negative = any(o < 0 for o in names)
    found |= {"constants"} if row[1] == 3 else set()
    found |= {"differences"} if row[1] == 1 and negative else set()
    found |= {"division"} if row[1] == 2 and negative else set()
    found |= {"one"} if any(abs(o) == ONE for o in names) else set()
    found |= {"depth"} if any(abs(o) > ONE for o in names) else set()
    return found


def used(model):
    """Return which options of the encoding the front needs, on either side."""
    matrices = [m for e in model.front_ for side in (e.law.phi, e.law.psi) for m in side]
    return set().union(*(features_of_row(row) for matrix in matrices for row in matrix))


NEEDS = {
    "division": (False, lambda a, b: a / b + b / (a + b)),
    "differences": (False, lambda a, b: np.tanh(a - b)),
    "one": (False, lambda a, b: np.sqrt(1 + a**2) * b),
    "constants": (False, lambda a, b: np.sin(2.3 * a) * b),
    "depth": (1, lambda a, b: np.exp(np.cos(a)) * b),
}


@pytest.mark.parametrize("option", NEEDS)
def test_an_option_is_used_where_it_helps(option):
    X = positive(80, 2)
    model = regressor(transform_target=False).fit(X, NEEDS[option][1](*X.T))
    assert model.status_ == "exact"
    assert option in features_of_law(model.front_[model.best_index_].law)


def features_of_law(law):
    return set().union(*(features_of_row(row) for matrix in law.phi for row in matrix))


@pytest.mark.parametrize("option", NEEDS)
def test_an_option_that_is_off_is_not_used(option):
    off, law = NEEDS[option]
    X = positive(80, 2)
    for y in (law(*X.T), wavy(80)[1]):
        model = repeatable(150, **{option: off}).fit(X, y)
        assert option not in used(model)
        assert len(model.front_) > 1


def depth_of(matrix, i):
    """Return how many transformations are inside each other; sums and products are none."""
    inner = [abs(o) - ONE for o in operands(matrix[i]) if abs(o) > ONE]
    own = abs(matrix[i][0]) != IDENTITY
    return own + max((depth_of(matrix, k - 1) for k in inner), default=0)


def test_two_levels_of_transformations_are_no_three():
    model = repeatable(150, depth=2).fit(*wavy())
    for entry in model.front_:
        for matrix in entry.law.phi:
            assert all(depth_of(matrix, i) <= 2 for i in range(len(matrix)))


def test_without_a_transformed_target_every_law_is_for_y():
    model = repeatable(150, transform_target=False).fit(*wavy())
    assert len(model.front_) > 1
    assert all(str(entry.equation).startswith("y = ") for entry in model.front_)
    assert not any(entry.transformed for entry in model.front_)


def test_everything_off_is_the_papers_encoding():
    off = {"division": False, "differences": False, "one": False, "constants": False, "depth": 1}
    for guided in (True, False):
        assert used(repeatable(60, guided=guided, **off).fit(*wavy())) == set()


def test_unguided_search_of_the_wider_encoding_runs():
    model = repeatable(60, guided=False).fit(*wavy())
    assert used(model)
    assert np.isfinite(model.front_[-1].rmse)


# ---- reproducibility -------------------------------------------------------------------------


def laws(model):
    return [
        (str(e.equation), e.rmse, e.equation.alpha.tolist(), e.law.phi, e.law.psi)
        for e in model.front_
    ]


@pytest.mark.parametrize(("n", "d", "generations"), [(40, 2, 100), (60, 1, 60), (2500, 3, 6)])
def test_same_seed_same_laws_with_any_number_of_threads(n, d, generations):
    X, y = wavy(n, d)
    first = laws(repeatable(generations).fit(X, y))
    assert len(first) > 1
    for n_jobs in (1, 2):
        assert laws(repeatable(generations, n_jobs=n_jobs).fit(X, y)) == first


def test_exact_laws_do_not_depend_on_the_seed():
    X = positive(60, 2)
    found = {
        str(regressor(random_state=seed).fit(X, X[:, 0] / X[:, 1]).equation_) for seed in (0, 1, 2)
    }
    assert found == {"y = x1/x2"}


# ---- interrupts ------------------------------------------------------------------------------


def test_callback_sees_the_guided_search():
    seen = []
    model = regressor(max_time=0.4, callback=seen.append).fit(*wavy())
    assert len(seen) >= 2
    assert [p.evaluations for p in seen] == sorted(p.evaluations for p in seen)
    assert seen[-1].generation + 1 == model.n_generations_
    assert seen[-1].status == "running"


@pytest.mark.parametrize("after", [1, 4])
def test_interrupt_of_the_guided_search_keeps_its_laws(after):
    calls = []

    def interrupt(progress):
        calls.append(progress)
        if len(calls) == after:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning, match="best laws so far are kept"):
        model = regressor(max_time=None, callback=interrupt).fit(*wavy())
    assert model.status_ == "interrupted"
    assert len(calls) == after
    assert np.isfinite(model.predict(wavy()[0])).any()


def test_the_guided_search_releases_the_interpreter():
    done = threading.Event()
    ticks = []

    def tick():
        while not done.wait(0.005):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        regressor(max_time=0.6).fit(*wavy())
    finally:
        done.set()
        thread.join()
    assert len(ticks) > 10


# ---- many rows -------------------------------------------------------------------------------


def parallel(X):
    return X[:, 0] * X[:, 1] / (X[:, 0] + X[:, 2])


@pytest.fixture(scope="module")
def many():
    X = positive(200_000, 3)
    return X, parallel(X)


@pytest.mark.parametrize("max_rows", [100, 2000])
def test_an_exact_law_is_confirmed_on_all_rows(many, max_rows):
    X, y = many
    model = regressor(max_rows=max_rows).fit(X, y)
    entry = model.front_[model.best_index_]
    assert (model.status_, model.level_, entry.exact) == ("exact", "rounding", True)
    assert str(model.equation_) == "y = x1 x2/(x1 + x3)"
    np.testing.assert_allclose(model.predict(X[:1000]), y[:1000], rtol=1e-12)


def test_a_law_that_holds_on_the_rows_of_the_search_alone_is_demoted(many):
    X, y = many
    order = np.argsort(X[:, 0])
    bent = y.copy()
    # Neither the extremes, which the search always sees, nor many rows.
    elsewhere = order[100_000:100_020]
    bent[elsewhere] += 0.05
    model = regressor(max_rows=100, max_time=5.0).fit(X, bent)
    entry = model.front_[model.best_index_]
    assert not entry.exact
    assert model.level_ != "rounding"
    assert not any(each.exact for each in model.front_)
    assert entry.rmse == pytest.approx(np.sqrt(np.mean((bent - y) ** 2)), rel=0.01)


def test_constants_are_fitted_on_all_rows():
    X = positive(20_000, 1)
    noise = 0.1 * np.random.default_rng(1).normal(size=20_000)
    model = regressor(max_rows=200, max_time=1.0).fit(X, 3 * X[:, 0] + 2 + noise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = model.predict(X) - (3 * X[:, 0] + 2)
    # The standard error of a line fitted to 200 rows would be ten times larger.
    assert np.sqrt(np.mean(error**2)) < 0.003
