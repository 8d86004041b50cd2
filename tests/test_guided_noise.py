"""The guided search: noise is no law, a law is seen through noise, approximations say so."""

import warnings

import numpy as np
import pytest
import sympy

from gsr import GSRRegressor


def regressor(**changes):
    return GSRRegressor(**({"random_state": 0, "n_jobs": 1, "max_time": 2.0} | changes))


def positive(n, d, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 3.0, (n, d))


def chosen(model):
    return model.front_[model.best_index_]


# ---- data without a law ----------------------------------------------------------------------

SIZES = [(40, 2), (80, 1), (100, 3), (60, 5), (20, 1)]


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_noise_gets_the_constant(n, d):
    X, y = positive(n, d, seed=n), np.random.default_rng(n + d).normal(size=n)
    model = regressor().fit(X, y)
    assert not chosen(model).uses_features, model.equation_
    assert model.level_ == "noise"
    assert not any(entry.exact for entry in model.front_)
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-6)


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_a_shuffled_target_gets_the_constant(n, d):
    X = positive(n, d, seed=n + 1)
    law = X[:, 0] ** 2 * (X[:, -1] + 1)
    y = np.random.default_rng(n + d).permutation(law)
    model = regressor().fit(X, y)
    assert not chosen(model).uses_features, model.equation_
    assert model.level_ == "noise"


def test_the_target_that_was_shuffled_has_a_law():
    X = positive(100, 3, seed=101)
    model = regressor(max_time=20.0).fit(X, X[:, 0] ** 2 * (X[:, -1] + 1))
    assert (model.status_, model.level_) == ("exact", "rounding")


@pytest.mark.parametrize("spread", [1e-3, 30.0])
def test_the_spread_of_noise_makes_no_law(spread):
    """A periodic g has a solution near every y; that explains nothing."""
    X = positive(60, 2)
    y = 5.0 + spread * np.random.default_rng(1).normal(size=60)
    model = regressor(max_time=1.0).fit(X, y)
    assert not chosen(model).uses_features, model.equation_


@pytest.mark.parametrize(("n", "d"), [(60, 2), (80, 1)])
def test_errors_are_those_of_the_predictions(n, d):
    """An error to first order, or to whichever solution is nearest to the data, is too small."""
    X = positive(n, d, seed=n)
    y = np.random.default_rng(n + d).normal(size=n)
    model = regressor(max_time=None, max_generations=300).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in model.front_:
            found = np.sqrt(np.mean((entry.equation.predict(X) - y) ** 2))
            assert found <= 1.05 * entry.rmse, entry.equation


FEW = {
    "five": ([[1], [5], [5], [3], [5]], [3, 0, 4, 4, 4]),
    "other five": ([[5], [2], [1], [2], [2]], [4, 3, 1, 0, 0]),
    "six": (
        [[5, 1, 4], [4, 3, 4], [5, 1, 2], [2, 3, 1], [1, 5, 5], [4, 1, 5]],
        [0, 4, 2, 4, 1, 4],
    ),
    "other six": (
        [[3, 3, 1], [5, 5, 1], [3, 2, 4], [4, 3, 3], [1, 4, 5], [1, 3, 1]],
        [0, 4, 4, 4, 4, 3],
    ),
}


@pytest.mark.parametrize("name", FEW)
def test_few_whole_numbers_do_not_break_the_choice(name):
    """Some law goes through all of the points to the last digit."""
    model = regressor(max_time=None, max_generations=150).fit(*FEW[name])
    assert np.isfinite(chosen(model).rmse)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("n", [8, 12])
def test_whole_numbers_without_a_law_get_no_exact_one(n, d):
    rng = np.random.default_rng(n + d)
    X, y = rng.integers(1, 6, (n, d)), rng.integers(0, 5, n)
    model = regressor(max_time=None, max_generations=150).fit(X, y)
    assert model.status_ in ("max_generations", "settled")
    assert model.level_ != "rounding"


# ---- a law under noise -----------------------------------------------------------------------

x1, x2, x3 = sympy.symbols("x1 x2 x3", positive=True)
NOISY = {
    "product": (lambda a, b: a * b, x1 * x2),
    "quotient": (lambda a, b: a / b, x1 / x2),
    "sum": (lambda a, b: 3 * a + b**2, 3 * x1 + x2**2),
    "parallel": (lambda a, b: a * b / (a + b), x1 * x2 / (x1 + x2)),
    "root": (lambda a, b: np.sqrt(a + b), sympy.sqrt(x1 + x2)),
    "Kepler": (lambda a, b: np.sqrt(a**3 / b), sympy.sqrt(x1**3 / x2)),
    "gravity": (lambda a, b, c: a * b / c**2, x1 * x2 / x3**2),
    "exponential": (lambda a: np.exp(-a), sympy.exp(-x1)),
    "wave": (lambda a: a + np.sin(a), x1 + sympy.sin(x1)),
    "cubic": (lambda a: a**3 + a**2 + a, x1**3 + x1**2 + x1),
}


def closed_form(equation):
    """Return y as an expression of positive features."""
    positive_names = {sympy.Symbol(str(s), real=True): s for s in (x1, x2, x3)}
    return [form.subs(positive_names) for form in equation.explicit()]


@pytest.mark.parametrize("name", NOISY)
def test_the_law_is_seen_through_one_percent_of_noise(name):
    law, expected = NOISY[name]
    X = positive(100, len(expected.free_symbols), seed=7)
    truth = law(*X.T)
    noise = np.random.default_rng(8).normal(size=100)
    model = regressor().fit(X, truth + 0.01 * np.sqrt(np.mean(truth**2)) * noise)
    assert chosen(model).level == "noise"
    # The offered simple constants are the true ones, so the structure is.
    forms = closed_form(chosen(model).rounded_equation)
    assert any(sympy.simplify(form - expected) == 0 for form in forms), model.equation_
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.01 * np.sqrt(np.mean(truth**2))


@pytest.fixture(scope="module")
def line():
    X = positive(100, 2)
    noise = 0.02 * np.random.default_rng(1).normal(size=100)
    return regressor(max_time=1.0).fit(X, 3 * X[:, 0] + X[:, 1] ** 2 + noise)


def test_constants_come_with_intervals(line):
    intervals = line.intervals()
    assert len(intervals) == 2
    for (value, low, high), truth in zip(intervals.values(), (3.0, 1.0), strict=True):
        assert low < value < high
        assert abs(value - truth) < high - low < 0.1
    wider = line.intervals(0.999)
    assert all(wider[name][1] < low for name, (_, low, _) in intervals.items())


def test_simple_constants_are_offered(line):
    assert str(line.rounded_equation_) == "y = 3 x1 + x2^2"
    assert str(line.equation_) != str(line.rounded_equation_)


def test_the_equation_carries_its_level(line):
    assert line.equation_.level == line.level_ == "noise"


# ---- approximations --------------------------------------------------------------------------

POLYNOMIALS = {
    "library": ["identity"], "transform_target": False, "division": False, "constants": False,
    "one": False, "depth": 1,
}  # fmt: skip


@pytest.mark.parametrize("function", [np.exp, np.sqrt, lambda t: np.sin(3 * t)])
def test_an_approximation_is_said_to_be_one(function):
    X = np.linspace(0.1, 4, 80)[:, None]
    model = regressor(max_generations=150, max_time=None, **POLYNOMIALS).fit(X, function(X[:, 0]))
    assert model.status_ == "max_generations"
    assert model.level_ == "above"
    assert not chosen(model).exact


def test_the_same_function_is_a_law_where_the_library_has_it():
    X = np.linspace(0.1, 4, 80)[:, None]
    model = regressor(max_time=20.0).fit(X, np.sin(3 * X[:, 0]))
    assert (model.status_, model.level_) == ("exact", "rounding")
