"""The estimator: laws recovered, bad input named before any search, scikit-learn's conventions."""

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from typing import get_args

import numpy as np
import pytest
import sympy
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

from gsr import (
    DomainWarning,
    Equation,
    GSRError,
    GSRRegressor,
    InterruptedWarning,
    Transformation,
    _core,
    core_settings,
    options,
    search,
    session,
)
from gsr.islands import topology
from gsr.selection import PolePolicy
from gsr.selection.noise import LossKind

SOON = 10.0  # seconds: far more than it takes, far less than the search would


def regressor(**changes):
    """Options of the paper's search may be given by name."""
    inner = {k: changes.pop(k) for k in list(changes) if k in options.hyperparameters()}
    changes |= {"hyperparameters": inner} if inner else {}
    return GSRRegressor(**({"random_state": 0, "n_jobs": 1, "max_time": 30.0} | changes))


def positive(n=40, d=2, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 3, (n, d))


def signed(n=40, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 3, (n, d)) * rng.choice([-1, 1], (n, d))


def noise(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 3, (n, 2)), rng.normal(size=n)


# ---- laws ------------------------------------------------------------------------------------

LAWS = {
    "square root": (positive, lambda a, b: np.sqrt(a + b)),
    "product": (signed, lambda a, b: a * b),
    "power of a product": (positive, lambda a, b: 2.5 * a**1.5 / b),
    "sum": (signed, lambda a, b: 3 * a - 0.5 * b**2 + 7),
    "trigonometric": (signed, lambda a, b: np.sin(a) + np.cos(b) * a),
    "quotient with signs": (signed, lambda a, b: a**5 / b**3),
    "exponential": (signed, lambda a, b: np.exp(a - 2 * b)),
    "logarithm": (positive, lambda a, b: np.log(a**2 + b)),
    "inverse": (positive, lambda a, b: 1 / (3 * a + b**3)),
}


@pytest.fixture(scope="module", params=LAWS)
def recovered(request):
    draw, law = LAWS[request.param]
    x = draw()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DomainWarning)
        return request.param, regressor().fit(x, law(*x.T))


def test_law_is_recovered_and_predicts_new_data(recovered):
    name, model = recovered
    draw, law = LAWS[name]
    assert model.status_ == "exact"
    new = draw(n=200, seed=1)
    truth = law(*new.T)
    inside = (truth >= model.predict(draw()).min()) & (truth <= model.predict(draw()).max())
    np.testing.assert_allclose(model.predict(new)[inside], truth[inside], rtol=1e-6)
    assert inside.sum() > 100


def test_score_of_an_exact_law_is_one(recovered):
    name, model = recovered
    draw, law = LAWS[name]
    x = draw()
    assert model.score(x, law(*x.T)) == pytest.approx(1.0, abs=1e-12)


def test_forms_of_the_law(recovered):
    """Both sides of the SymPy equation agree at the data; so does a closed form, if any."""
    name, model = recovered
    draw, law = LAWS[name]
    x = draw()
    y = law(*x.T)
    assert isinstance(model.equation_, Equation)
    equation = model.sympy()
    assert isinstance(equation, sympy.Equality)
    assert {s.name for s in equation.free_symbols} <= {"x1", "x2", "y"}
    symbols = sympy.symbols("x1 x2 y", real=True)
    difference = sympy.lambdify(symbols, equation.lhs - equation.rhs, "numpy")
    scale = np.abs(sympy.lambdify(symbols, equation.lhs, "numpy")(*x.T, y)).max() + 1
    assert np.abs(difference(*x.T, y) / scale).max() < 1e-9
    branches = model.explicit()
    assert isinstance(branches, list)
    if branches:
        values = [
            np.broadcast_to(sympy.lambdify(symbols[:2], b, "numpy")(*x.T), y.shape)
            for b in branches
        ]
        assert np.nanmin([np.abs(v - y) for v in values], axis=0).max() < 1e-6 * np.abs(y).max()
    assert isinstance(model.latex(), str)
    assert "=" in model.latex()
    assert " = " in str(model.equation_)


def test_front_holds_the_law_and_simpler_ones(recovered):
    _, model = recovered
    assert model.front_[model.best_index_].equation is model.equation_
    assert model.front_[model.best_index_].exact
    sizes = [entry.complexity for entry in model.front_]
    errors = [entry.rmse for entry in model.front_]
    assert sizes == sorted(set(sizes))
    assert errors == sorted(errors, reverse=True)
    assert model.n_generations_ >= 1
    assert model.n_evaluations_ >= 30


def test_s_gsr_finds_y_itself():
    x = positive()
    model = regressor(transform_target=False).fit(x, x[:, 0] * x[:, 1] + x[:, 1])
    assert model.status_ == "exact"
    assert model.sympy().lhs == sympy.Symbol("y", real=True)


def test_own_transformation_is_found():
    arcsinh = Transformation("arcsinh", np.arcsinh, "asinh({})", inverse=np.sinh)
    x = positive()
    y = np.arcsinh(x[:, 0] * x[:, 1])
    model = regressor(library=["identity", arcsinh], target_library=["identity"]).fit(x, y)
    assert model.status_ == "exact"
    assert model.sympy().has(sympy.asinh)
    np.testing.assert_allclose(model.predict(x), y, rtol=1e-10)


def test_noise_is_not_taken_for_a_law():
    model = regressor(max_time=None, max_generations=60).fit(*noise())
    assert model.status_ == "max_generations"
    assert not model.front_[model.best_index_].exact
    assert len(model.equation_.alpha) <= 5


@pytest.mark.slow
def test_a_law_is_seen_through_a_little_noise():
    x = positive(n=80)
    truth = x[:, 0] * x[:, 1]
    y = truth * (1 + 0.01 * np.random.default_rng(1).normal(size=80))
    model = regressor(max_time=None, max_generations=100).fit(x, y)
    new = positive(n=100, seed=5)
    error = model.predict(new) - new[:, 0] * new[:, 1]
    assert np.sqrt(np.mean(error**2)) < 0.1


@pytest.mark.parametrize("solver", options.SOLVERS)
def test_solvers_run(solver):
    x = positive()
    model = regressor(solver=solver, max_time=None, max_generations=5).fit(x, x[:, 0] + 1)
    assert np.isfinite(model.front_[model.best_index_].rmse)


def test_target_library_that_leaves_every_sign_open_is_named():
    x, y = noise()
    with pytest.raises(GSRError, match="'identity' to target_library"):
        regressor(target_library=["square"], max_time=0.3).fit(x, y)


@pytest.mark.parametrize("seed", range(4))
def test_no_time_at_all_on_many_rows_still_gives_a_law(seed):
    """There the clock is looked at before the first generation is whole."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(1, 2, (20_500, 3)), rng.normal(size=20_500)
    model = regressor(max_time=0, random_state=seed).fit(x, y)
    assert np.isfinite(model.front_[model.best_index_].rmse)


# ---- reproducibility -------------------------------------------------------------------------


def coefficients(model):
    return [(str(e.equation), e.rmse, e.equation.alpha.tolist()) for e in model.front_]


@pytest.mark.slow
def test_same_seed_same_laws_with_any_number_of_threads():
    x, y = noise()
    changes = {"max_time": None, "max_generations": 20, "random_state": 3}
    first = coefficients(regressor(n_jobs=1, **changes).fit(x, y))
    assert len(first) > 1
    for n_jobs in (1, 2, 3, -1, None):
        assert coefficients(regressor(n_jobs=n_jobs, **changes).fit(x, y)) == first


def test_another_seed_gives_other_laws():
    x, y = noise()
    changes = {"preset": "paper", "max_time": None, "max_generations": 20, "random_state": 3}
    first = coefficients(regressor(n_jobs=1, **changes).fit(x, y))
    changes["random_state"] = 4
    assert coefficients(regressor(n_jobs=1, **changes).fit(x, y)) != first


@pytest.mark.slow
def test_layout_and_type_of_the_data_do_not_matter():
    x, y = noise()
    x = np.round(x, 2)
    changes = {"max_time": None, "max_generations": 10}
    first = coefficients(regressor(**changes).fit(x, y))
    assert coefficients(regressor(**changes).fit(np.asfortranarray(x), y)) == first
    assert coefficients(regressor(**changes).fit(x.tolist(), y.tolist())) == first
    assert coefficients(regressor(**changes).fit(np.repeat(x, 2, axis=0)[::2], y)) == first


@pytest.mark.slow
def test_random_state_may_be_a_generator():
    x, y = noise()
    changes = {"max_time": None, "max_generations": 5}
    a, b = (
        coefficients(regressor(random_state=np.random.RandomState(7), **changes).fit(x, y))
        for _ in range(2)
    )
    assert a == b


def test_refitting_forgets():
    x = positive()
    model = regressor()
    model.fit(x, x[:, 0] * x[:, 1])
    model.fit(x[:, :1], x[:, 0] ** 2)
    assert model.n_features_in_ == 1
    np.testing.assert_allclose(model.predict(x[:, :1]), x[:, 0] ** 2, rtol=1e-9)


# ---- bad input -------------------------------------------------------------------------------


@pytest.fixture
def no_search(monkeypatch):
    """Fails if a search is even set up."""

    def never(*_):
        pytest.fail("the search was started")

    monkeypatch.setattr(_core, "Evolution", never)


X, Y = positive(), positive().sum(axis=1)


def with_value(values, index, value):
    changed = values.copy()
    changed[index] = value
    return changed


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X[:, 0], Y, "Expected 2D array, got 1D"),
        (X[:, :, None], Y, "dim 3"),
        (X, Y[:-1], r"inconsistent numbers of samples: \[40, 39\]"),
        (X, None, "requires y"),
        (X[:0], Y[:0], "0 sample"),
        (X[:, :0], Y, "0 feature"),
        (X[:4], Y[:4], "at least 5 rows, got n_samples=4"),
        (np.ones((6, 32_768)), np.arange(6.0), "at most 29999 features can be searched, got 32768"),
        (with_value(X, (3, 1), np.nan), Y, "x2, contains NaN: 1 of 40 .* row 3"),
        (with_value(X, (7, 0), -np.inf), Y, "x1, contains infinity: 1 of 40 .* row 7"),
        (X, with_value(Y, 5, np.nan), "y.*NaN"),
        (X, with_value(Y, 5, np.inf), "y.*infinity"),
        (X, 1e200 * Y, r"y, the target y, .* square"),
        (X, 1e-200 * Y, r"y, the target y, .* square"),
        (X * [1, 1e200], Y, r"column x2, .* square"),
        (X, np.full(40, 2.5), r"target y is constant \(every value is 2.5\)"),
        (X + 1j, Y, "Complex data not supported"),
        (np.full((40, 2), "a"), Y, "could not convert string to float"),
    ],
)
def test_bad_data_is_named_before_any_search(no_search, x, y, message):
    with pytest.raises((GSRError, ValueError, TypeError), match=message):
        regressor().fit(x, y)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preset": "papers"}, "preset must be .* got 'papers'; did you mean 'paper'"),
        ({"preset": None}, "preset must be"),
        ({"solver": "prnted"}, "solver must be .* got 'prnted'; did you mean 'printed'"),
        ({"max_time": -1}, "max_time must be a number of at least 0, got -1"),
        ({"max_time": "1"}, "max_time must be a number of at least 0, got '1'"),
        ({"max_time": float("nan")}, "max_time must be .* got nan"),
        ({"max_generations": 0}, "max_generations must be a whole number of at least 1, got 0"),
        ({"max_generations": 2.5}, "max_generations must be a whole number"),
        ({"n_jobs": 1.5}, "n_jobs must be a whole number"),
        ({"n_jobs": "all"}, "n_jobs must be a whole number .* got 'all'"),
        ({"random_state": "seed"}, "'seed' cannot be used to seed"),
        ({"n_phi": 0}, "n_phi must be a whole number from 1 to 200, got 0"),
        ({"n_phi": 1.0}, "n_phi must be a whole number"),
        ({"n_phi": True}, "n_phi must be a whole number .* got True"),
        ({"n_psi": 9}, "n_psi must be"),
        ({"min_factors": 0}, "min_factors must be"),
        ({"max_factors": _core.MAX_ROWS + 1}, "max_factors must be a whole number from 1 to 8"),
        ({"n_target_factors": -1}, "n_target_factors must be"),
        ({"min_multiplicity": 0}, "min_multiplicity must be"),
        ({"max_multiplicity": _core.MAX_VARIABLES + 1}, "max_multiplicity must be"),
        ({"min_factors": 5}, "min_factors=5 is larger than max_factors=3"),
        ({"max_multiplicity": 1}, "min_multiplicity=2 is larger than max_multiplicity=1"),
        ({"population_size": 1}, "population_size must be"),
        ({"population_size": 5}, "n_survivors=10 must be smaller than population_size=5"),
        ({"n_survivors": 0}, "n_survivors must be"),
        ({"p_crossover": 1.1}, "p_crossover must be a number from 0 to 1, got 1.1"),
        ({"p_mutation": -0.1}, "p_mutation must be"),
        ({"p_crossover": 0.9}, "p_crossover=0.9 and p_mutation=0.25 add up to more than 1"),
        ({"n_mutated": 0}, "n_mutated must be"),
        ({"sublibraries": 1}, "sublibraries must be True or False, got 1"),
        ({"transform_target": "no"}, "transform_target must be True or False, got 'no'"),
        ({"guided": 1}, "guided must be True or False, got 1"),
        ({"division": "no"}, "division must be True or False, got 'no'"),
        ({"depth": 0}, "depth must be a whole number from 1 to 8, got 0"),
        ({"max_rows": 0}, "max_rows must be.* at least 5, got 0"),
        ({"max_rows": 10.5}, "max_rows must be .* got 10.5"),
        ({"criterion": "smallest"}, "criterion must be .* got 'smallest'"),
        ({"poles": "no"}, "poles must be .* got 'no'"),
        ({"epsilon": -1e-9}, "epsilon must be"),
        ({"relax_factor": 0.5}, "relax_factor must be"),
        ({"relax_interval": -1}, "relax_interval must be"),
        ({"lam": -0.1}, "lam must be"),
        ({"rho": 0.0}, "rho must be"),
        ({"delta": "small"}, "delta must be"),
        ({"max_iterations": 0}, "max_iterations must be"),
        (
            {"library": "table3"},
            "'table3' is not a preset library; did you mean 'table13' or 'table2'",
        ),
        ({"library": ["identity", "coss"]}, "'coss' is not a built-in .* did you mean 'cos'"),
        ({"library": ["sin", "sin"]}, "'sin' is twice"),
        ({"library": ["identity", 3]}, "not 3"),
        ({"target_library": ["lnn"]}, "'lnn' is not a built-in .* did you mean 'ln'"),
        ({"target_library": ["one"]}, "library of 'one' alone"),
        ({"library": ["one"]}, "library of 'one' alone"),
        ({"population_size": 10}, "n_survivors=10 must be smaller than population_size=10"),
    ],
    ids=str,
)
def test_bad_option_is_named_before_any_search(no_search, changes, message):
    with pytest.raises(GSRError if "random_state" not in changes else ValueError, match=message):
        regressor(**changes).fit(X, Y)


def test_unknown_option_is_named():
    with pytest.raises(TypeError, match="n_fi"):
        GSRRegressor(n_fi=3)
    with pytest.raises(ValueError, match="n_fi"):
        GSRRegressor().set_params(n_fi=3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: t[:-1], "'own' must return one value per row of X"),
        (lambda t: np.full_like(t, np.nan), "'own' has no finite value on X"),
        (lambda t: 1 / 0, "'own' fails on X: ZeroDivisionError"),
        (lambda t: t + 1, "'own' and its SymPy form differ"),
    ],
)
def test_own_transformation_that_fails_on_the_data_is_named(no_search, function, message):
    own = Transformation("own", function, "atan({})")
    with pytest.raises(GSRError, match=message):
        regressor(library=["identity", own]).fit(X, Y)


def test_target_transformations_undefined_on_the_data(no_search):
    y = np.linspace(-1, 1, 40)
    with (
        pytest.raises(GSRError, match=r"target_library \('one', 'sqrt'\) is defined on y"),
        pytest.warns(DomainWarning, match="'sqrt' .* undefined on y in row 0"),
    ):
        regressor(target_library=["sqrt"]).fit(X, y)


@pytest.mark.slow
def test_target_transformation_undefined_on_some_rows_is_left_out_with_a_warning():
    y = with_value(Y, 4, 0.0)
    with pytest.warns(
        DomainWarning, match=r"'ln' .* undefined on y in row 4, where the value is 0"
    ):
        model = regressor(target_library=["identity", "ln"], max_generations=3).fit(X, y)
    assert all("ln(y)" not in str(entry.equation).split(" = ")[0] for entry in model.front_)


@pytest.mark.slow
def test_default_target_library_is_cut_to_the_data_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = regressor(max_generations=2, library=["identity", "ln"])
        model.fit(X, with_value(Y, 4, 0.0))
    assert all("ln(y)" not in str(entry.equation).split(" = ")[0] for entry in model.front_)


def test_feature_transformation_undefined_everywhere_is_warned_of():
    with pytest.warns(
        DomainWarning, match="'sqrt' .* undefined on every feature, on x1 first in row 0"
    ):
        regressor(library=["identity", "sqrt"], max_generations=2).fit(-X, Y)


def test_predict_checks_its_data():
    model = regressor().fit(X, Y)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.ones((4, 3)))
    with pytest.raises(ValueError, match="Expected 2D"):
        model.predict(X[0])
    with pytest.raises(GSRError, match=r"x2, contains NaN.* row 1"):
        model.predict([[1, 2], [1, np.nan]])


@pytest.mark.parametrize("method", ["sympy", "explicit", "latex"])
def test_unfitted_estimator_says_so(method):
    with pytest.raises(NotFittedError):
        getattr(GSRRegressor(), method)()
    with pytest.raises(NotFittedError):
        GSRRegressor().predict(X)


# ---- time, progress, Ctrl-C ------------------------------------------------------------------


@pytest.mark.parametrize("max_time", [0, 0.3])
def test_max_time_returns_the_best_so_far(max_time):
    model = regressor(max_time=max_time).fit(*noise())
    assert model.status_ == "max_time"
    assert max_time <= model.fit_time_ < SOON
    assert model.n_evaluations_ >= 1
    assert np.isfinite(model.predict(noise()[0])).any()


def test_max_generations_ends_the_search():
    model = regressor(max_time=None, max_generations=7).fit(*noise())
    assert (model.status_, model.n_generations_) == ("max_generations", 7)


def test_callback_sees_the_progress():
    seen = []
    model = regressor(max_time=1.5, callback=seen.append).fit(*noise())
    assert len(seen) >= 2
    generations = [p.generation for p in seen]
    assert generations == sorted(generations)
    # Between two reports laws are compared, which may take some more evaluations.
    assert generations[-1] + 1 <= model.n_generations_
    assert 0 < seen[-1].evaluations <= model.n_evaluations_ < 1.2 * seen[-1].evaluations
    assert [p.max_time for p in seen] == [1.5] * len(seen)
    errors = [p.rmse for p in seen]
    assert errors == sorted(errors, reverse=True)
    assert np.isfinite(errors[-1])


@pytest.mark.slow
def test_verbose_shows_progress_and_changes_nothing(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    x, y = noise()
    quiet = regressor(max_time=None, max_generations=5).fit(x, y)
    assert capsys.readouterr() == ("", "")
    seen = []
    loud = regressor(max_time=None, max_generations=5, verbose=True, callback=seen.append).fit(x, y)
    assert "searching" in capsys.readouterr().err
    assert seen
    assert coefficients(loud) == coefficients(quiet)


def test_exception_in_a_callback_surfaces():
    def breaks(_):
        raise LookupError("on purpose")

    with pytest.raises(LookupError, match="on purpose"):
        regressor(callback=breaks).fit(*noise())


def test_interrupt_keeps_the_best_so_far():
    def interrupt(progress):
        if progress.generation > 3:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning, match="best laws so far are kept") as caught:
        model = regressor(max_time=SOON, callback=interrupt).fit(*noise())
    assert model.status_ == "interrupted"
    assert model.n_generations_ > 3
    assert np.isfinite(model.front_[-1].rmse)
    assert np.isfinite(model.predict(noise()[0])).any()
    assert caught[0].filename == __file__  # where the user called fit


def test_interrupt_before_the_first_generation_is_an_interrupt():
    class NotYet:
        generation = -1
        evaluations = 0

        def run(self, seconds):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.run(NotYet(), None)


LONG_FIT = """
import sys, warnings
import numpy as np
from gsr import GSRRegressor, InterruptedWarning
rng = np.random.default_rng(0)
told = []
def tell(progress):
    if not told and np.isfinite(progress.rmse):
        told.append(print("searching", flush=True))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = GSRRegressor(max_time=None, random_state=0, n_jobs=2, callback=tell)
    model.fit(rng.uniform(1, 2, (ROWS, 3)), rng.normal(size=ROWS))
assert any(issubclass(w.category, InterruptedWarning) for w in caught), caught
assert np.isfinite(model.front_[0].rmse)
print(model.status_, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent otherwise there")
@pytest.mark.parametrize("rows", [50, 50_000])
def test_ctrl_c_ends_a_long_fit_soon(rows):
    code = LONG_FIT.replace("ROWS", str(rows))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout.readline() == "searching\n"
            start = time.perf_counter()
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=SOON)
            assert time.perf_counter() - start < SOON
        finally:
            child.kill()
    assert child.returncode == 0, err
    assert out == "interrupted\n"


@pytest.mark.slow
@pytest.mark.parametrize("step", ["promising", "choose_noise", "make_evolution"])
def test_ctrl_c_at_a_checkpoint_keeps_what_was_found(monkeypatch, step):
    """Laws are compared between pieces of the search, and Ctrl-C may come then too."""
    rng = np.random.default_rng(0)
    x = np.geomspace(0.1, 50, 40)[:, None]
    y = 12.3 * x[:, 0] / (4.2 + x[:, 0]) * (1 + 0.05 * rng.normal(size=40))
    fitted = GSRRegressor(max_time=None, max_evals=20_000, random_state=0)
    reached = []

    def interrupt(*args, **kwargs):
        reached.append(step)
        raise KeyboardInterrupt

    monkeypatch.setattr(session, step, interrupt)
    with pytest.warns(InterruptedWarning, match="are kept"):
        fitted.fit(x, y)
    assert reached == [step]
    assert fitted.status_ == "interrupted"
    assert fitted.score(x, y) > 0.8


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 1), (1, 1), (5, 5), (-1, "cores"), (-10_000, 1)]
)
def test_n_jobs_means_what_it_does_in_scikit_learn(n_jobs, expected):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert search.n_threads(n_jobs) == (cores if expected == "cores" else expected)


# ---- options ---------------------------------------------------------------------------------

NOT_IN_THE_TABLES = {
    "preset": "default",
    "constants_with_units": True,
    "max_time": 10.0,
    "errors": "auto",
    "loss": "squared",
    "quantile": 0.5,
    "criterion": "mdl",
    "poles": "avoid",
    "missing": "raise",
    "n_jobs": -1,
    "verbose": False,
    "warm_start": False,
    "islands": 1,
}


def test_signature_and_schema_agree():
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(GSRRegressor.__init__).parameters.items()
        if name != "self"
    }
    known = options.by_parameter()
    plain = {name for name, option in known.items() if not option.hyper}
    assert plain == set(defaults) - set(options.NOT_IN_FILES)
    assert not set(options.hyperparameters()) & set(defaults)
    given = {name: value for name, value in defaults.items() if value is not None}
    assert given == NOT_IN_THE_TABLES
    of_schema = {name: known[name].default for name in plain if known[name].default is not None}
    assert of_schema == {name: given[name] for name in of_schema}
    for name in defaults:
        assert re.search(rf"\b{name}\b", GSRRegressor.__doc__), name


def test_defaults_of_the_core_are_values_that_options_may_have():
    for preset in options.PRESETS:
        values = core_settings.settings_of({"preset": preset})
        assert core_settings.settings_of({"preset": preset, **values}) == values
        assert json.loads(json.dumps(values)) == values
    assert set(core_settings.PRESETS) == set(options.PRESETS)
    assert options.MAX_FACTORS == _core.MAX_ROWS
    assert options.MAX_MULTIPLICITY == _core.MAX_VARIABLES


def test_choices_are_those_of_the_code_that_takes_them():
    assert tuple(options.TOPOLOGIES) == topology.TOPOLOGIES
    assert set(options.LOSSES) == set(get_args(LossKind))
    assert set(options.POLE_POLICIES) == set(get_args(PolePolicy))
    assert set(options.SOLVERS) == set(_core.SolverKind.__members__)


def test_core_defaults_are_the_papers_hyperparameters():
    s = _core.Settings()
    table_9 = {
        "population_size": 30,
        "n_survivors": 10,
        "p_crossover": 0.25,
        "p_mutation": 0.25,
        "n_mutated": 3,
        "n_phi": 15,
        "n_psi": 1,
        "min_factors": 1,
        "max_factors": 3,
        "n_target_factors": 1,
        "min_multiplicity": 2,
        "max_multiplicity": 5,
        "epsilon": 1e-6,
        "relax_factor": pytest.approx(10**0.5),
        "relax_interval": 1500,
        "cycle_full": 15,
        "cycle_polynomial": 25,
        "cycle_trigonometric": 35,
        "late_after": 1500,
        "late_stage": 500,
        "target_stage": 10,
        "guided": False,
        "division": False,
        "differences": False,
        "one": False,
        "constants": False,
        "depth": 1,
    }
    assert {name: getattr(s, name) for name in table_9} == table_9


VALUES = {
    "n_phi": 7, "n_psi": 2, "min_factors": 2, "max_factors": 5, "n_target_factors": 2,
    "min_multiplicity": 1, "max_multiplicity": 4, "transform_target": False,
    "population_size": 44, "n_survivors": 9, "p_crossover": 0.5, "p_mutation": 0.125,
    "n_mutated": 2, "sublibraries": False, "epsilon": 0.5, "relax_factor": 2.0,
    "cycle_full": 3, "cycle_polynomial": 4, "cycle_trigonometric": 5, "late_after": 20,
    "late_stage": 6, "target_stage": 7, "relax_interval": 6,
    "guided": False, "division": False, "differences": False, "one": False, "constants": False,
    "depth": 2,
    "lam": 0.25, "rho": 0.75, "delta": 0.125, "max_iterations": 11,
}  # fmt: skip


def test_options_reach_the_core(monkeypatch):
    known = core_settings.core_options()
    limits = {name for name, option in known.items() if option.core == "limits"}
    assert set(VALUES) == set(known) - limits - {"solver"}
    seen = []

    class StoppedError(Exception):
        pass

    def record(x, y, table, target_table, settings, constraints, weights):
        seen.append(settings)
        raise StoppedError

    monkeypatch.setattr(_core, "Island", record)
    model = regressor(**VALUES, solver="printed", max_generations=12, n_jobs=3)
    with pytest.raises(StoppedError):
        model.fit(X, Y)
    settings = seen[0]
    for name, value in VALUES.items():
        owner = settings.admm if known[name].core == "admm" else settings
        assert getattr(owner, name) == value, name
    assert settings.solver == _core.SolverKind.printed
    assert (settings.max_generations, settings.n_threads) == (12, 3)


# ---- scikit-learn ----------------------------------------------------------------------------


def test_clone_and_parameters():
    model = GSRRegressor(depth=2, library=["identity", "sin"], random_state=5)
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert model.get_params()["depth"] == 2
    assert copy.set_params(depth=1, max_time=1).get_params()["depth"] == 1
    assert model.depth == 2


@pytest.mark.parametrize(
    ("name", "suggested"),
    [("max_tme", "max_time"), ("unitz", "units"), ("population_size", "hyperparameters")],
)
def test_a_misspelt_parameter_is_named_with_a_suggestion(name, suggested):
    with pytest.raises(TypeError, match=f"{name!r}.*{suggested}"):
        GSRRegressor(**{name: 1})
    with pytest.raises(GSRError, match=f"{name!r}.*{suggested}"):
        GSRRegressor().set_params(**{name: 1})
    with pytest.raises(GSRError, match=r"no 'n_ph'; did you mean 'n_phi'"):
        GSRRegressor(hyperparameters={"n_ph": 3}).fit(X, Y)


def test_fit_does_not_change_parameters():
    model = regressor(max_generations=2)
    before = dict(model.get_params())
    model.fit(X, Y)
    assert model.get_params() == before
    assert model.fit(X, Y) is model


def test_names_of_a_data_frame_are_used():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["mass", "speed"])
    y = pandas.Series(X[:, 0] * X[:, 1], name="momentum")
    model = regressor().fit(frame, y)
    assert list(model.feature_names_in_) == ["mass", "speed"]
    assert {s.name for s in model.sympy().free_symbols} == {"mass", "speed", "momentum"}
    np.testing.assert_allclose(model.predict(frame), y, rtol=1e-9)
    frame.iloc[2, 1] = np.nan
    with pytest.raises(GSRError, match="column speed, contains NaN"):
        regressor().fit(frame, y)


FAST = GSRRegressor(max_evals=400, max_time=None, random_state=0, n_jobs=1)


def checks():
    """scikit-learn's own; that of array API input needs a setting, and has a test of its own."""
    for estimator, check in estimator_checks_generator(FAST, mark=None):
        name = getattr(check, "func", check).__name__
        if name != "check_array_api_input":
            yield pytest.param(estimator, check, id=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_scikit_learn_check_of_array_api_input():
    pytest.importorskip("array_api_strict")
    code = """
from gsr import GSRRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator
model = GSRRegressor(max_evals=400, max_time=None, random_state=0, n_jobs=1)
for estimator, check in estimator_checks_generator(model, mark=None):
    if getattr(check, "func", check).__name__ == "check_array_api_input":
        check(estimator)
        print("checked")
"""
    assert run_python(code, SCIPY_ARRAY_API="1") == "checked"


# ---- imports ---------------------------------------------------------------------------------


def run_python(code, **environment):
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_import_is_light():
    heavy = ["mpi4py", "matplotlib", "sklearn", "sympy", "pandas", "scipy", "rich"]
    code = f"import sys, gsr; print([m for m in {heavy} if m in sys.modules])"
    assert run_python(code) == "[]"


def test_fitting_imports_neither_mpi_nor_plotting_and_needs_no_pandas():
    code = """
import sys
for absent in ("pandas", "mpi4py", "matplotlib"):
    sys.modules[absent] = None  # importing it now raises
import numpy as np
from gsr import GSRRegressor
x = np.linspace(1, 4, 20)[:, None]
model = GSRRegressor(random_state=0, n_jobs=1).fit(x, np.sqrt(x[:, 0]))
assert np.allclose(model.predict(x), np.sqrt(x[:, 0]))
print(model.status_)
"""
    assert run_python(code) == "exact"


def test_a_fitted_model_shows_its_law_and_a_short_table(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    model = regressor(max_evals=300)
    assert str(model) == repr(model) == model._repr_mimebundle_()["text/plain"]
    X = positive()
    model.fit(X, np.sqrt(X[:, 0] ** 3 + 2 * X[:, 1] + 1))
    shown = str(model)
    assert shown.splitlines()[:2] == ["y^2 = 2 x2 + x1^3 + 1", "y = sqrt(2 x2 + x1^3 + 1)"]
    assert "The law is exact" in shown and ">>>" in shown and model.why_ in shown
    assert "<sup>2</sup> = 2 <i>x</i><sub>2</sub>" in model._repr_mimebundle_()["text/html"]
    assert list(model.to_pandas()["equation"]) == model.equations_["equation"]
