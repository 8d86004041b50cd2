"""The guided search: laws drawn from the encoding come back, at any scale, among other features."""

import warnings

import numpy as np
import pytest
import sympy

from drawn_laws import drawn_laws
from gsr import GSRRegressor


def regressor(**changes):
    return GSRRegressor(**({"random_state": 0, "n_jobs": 1, "max_time": 20.0} | changes))


def positive(n, d, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 3.0, (n, d))


def misses(model, X, y):
    """Return why a law did not come back, nothing if it did; X and y are fresh rows."""
    if model.status_ != "exact" or model.level_ != "rounding":
        return f"{model.status_}: {model.equation_}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = np.abs(model.predict(X) - y).max() / y.std()
    return "" if error < 1e-6 else f"off by {error:.1e}: {model.equation_}"


def variables(model):
    return {s.name for s in model.sympy().free_symbols}


# ---- laws drawn at random --------------------------------------------------------------------

N_DRAWN = 36


@pytest.mark.slow
def test_drawn_laws_come_back():
    missed, wrong = [], []
    for i, law in enumerate(drawn_laws(N_DRAWN, seed=0)):
        X, fresh = law.rows(law.n_rows, i), law.rows(300, 1000 + i)
        model = regressor().fit(X, law.values(X))
        why = misses(model, fresh, law.values(fresh))
        if why:
            (wrong if model.status_ == "exact" else missed).append(f"{law}  ->  {why}")
    assert not wrong, "\n".join(wrong)
    # All come back; the slowest needs seconds, which a busy machine may not have.
    assert len(missed) <= 1, "\n".join(missed)


def test_the_generator_draws_the_same_laws_again():
    first, second = (list(map(str, drawn_laws(N_DRAWN, seed=0))) for _ in range(2))
    assert first == second
    assert len(set(first)) == N_DRAWN
    assert {law.n_features for law in drawn_laws(N_DRAWN, seed=0)} == {1, 2, 3, 4, 5}


# ---- scales ----------------------------------------------------------------------------------

LAWS = {
    "product": (2, lambda x: 2.5 * x[0] * x[1]),
    "quotient": (3, lambda x: x[0] * x[1] / x[2] ** 2),
    "Kepler": (2, lambda x: np.sqrt(x[0] ** 3 / x[1])),
    "parallel": (2, lambda x: x[0] * x[1] / (x[0] + x[1])),
    "hypotenuse": (2, lambda x: np.sqrt(x[0] ** 2 + x[1] ** 2)),
    "sum": (2, lambda x: 3 * x[0] + 0.5 * x[1] ** 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("name", LAWS)
def test_scales_do_not_matter(name, scale):
    d, law = LAWS[name]
    X, fresh = positive(70, d), positive(100, d, seed=1)
    for of_x, of_y in ((scale, 1.0), (1.0, scale), (scale, scale), (scale, 1.0 / scale)):
        model = regressor().fit(of_x * X, of_y * law(X.T))
        assert not misses(model, of_x * fresh, of_y * law(fresh.T))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("name", LAWS)
def test_units_of_one_feature_do_not_matter(name, scale):
    """The law is that of the features in other units: it has a constant more."""
    d, law = LAWS[name]
    X, fresh = positive(70, d), positive(100, d, seed=1)
    units = np.ones(d)
    units[0] = scale
    assert not misses(regressor().fit(units * X, law(X.T)), units * fresh, law(fresh.T))


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_a_large_offset_is_no_reason_to_transform_the_target(offset):
    X = positive(60, 2)
    model = regressor().fit(X, offset + X[:, 0] * X[:, 1])
    assert model.status_ == "exact"
    assert model.sympy().lhs == sympy.Symbol("y", real=True)
    assert str(model.equation_).startswith("y = x1 x2 + ")


# ---- features --------------------------------------------------------------------------------

AMONG_OTHERS = {
    "product": lambda a, b, c: 2 * a * b / c,
    "sum": lambda a, b, c: 2 * a * b + c**2,
    "quotient": lambda a, b, c: a / (b + c),
    "exponential": lambda a, b, c: c * np.exp(-a / b),
    "sine": lambda a, b, c: np.sin(a) + b * c,
}


@pytest.mark.parametrize(("d", "used"), [(8, (6, 1, 4)), (23, (20, 2, 11))])
@pytest.mark.parametrize("name", AMONG_OTHERS)
def test_features_that_play_no_part_are_left_out(name, d, used):
    law = AMONG_OTHERS[name]
    X, fresh = positive(100, d, seed=4), positive(200, d, seed=5)
    chosen = list(used)
    model = regressor().fit(X, law(*X[:, chosen].T))
    assert not misses(model, fresh, law(*fresh[:, chosen].T))
    assert variables(model) == {"y", *(f"x{j + 1}" for j in used)}


def test_twenty_of_twenty_two_features_play_no_part():
    X = positive(100, 22, seed=6)
    model = regressor().fit(X, X[:, 12] * np.sqrt(X[:, 3]))
    assert model.status_ == "exact"
    assert variables(model) == {"y", "x4", "x13"}


CORRELATED = {
    "product": lambda a, b: a * b,
    "difference": lambda a, b: a - b,
    "sum": lambda a, b: 3 * a + b**2,
    "parallel": lambda a, b: a * b / (a + b),
    "sine": lambda a, b: a * np.sin(b),
}


@pytest.mark.parametrize("apart", [1e-1, 1e-2, 1e-4])
@pytest.mark.parametrize("name", CORRELATED)
def test_strongly_correlated_features_are_told_apart(name, apart):
    law = CORRELATED[name]
    X, fresh = positive(80, 2), positive(80, 2, seed=1)
    X[:, 1] = X[:, 0] + apart * np.random.default_rng(2).normal(size=80)
    model = regressor().fit(X, law(*X.T))
    # Fresh rows are not correlated: a law that mixes the two up would be far off.
    assert not misses(model, fresh, law(*fresh.T))
