"""Rows: missing values, weights, copies, rows held out, several targets, rows to search on."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from gsr import GSRError, GSRRegressor
from gsr.exceptions import MissingWarning
from gsr.rows import Rows, choose_subset, merged, split

RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 2.0, (50, 2))
Y = 2.0 * X[:, 0] ** 2 / X[:, 1]
NOISY = Y * (1 + 0.05 * RNG.normal(size=50))


def regressor(**options):
    known = {"random_state": 0, "n_jobs": 1, "max_time": None, "max_evals": 1500}
    return GSRRegressor(**known | options)


# ---- weights ---------------------------------------------------------------------------------


def test_weights_are_copies():
    weights = np.random.default_rng(1).integers(0, 4, 50)
    weighted = regressor().fit(X, NOISY, sample_weight=weights)
    copied = regressor().fit(np.repeat(X, weights, axis=0), np.repeat(NOISY, weights))
    assert str(weighted.equation_) == str(copied.equation_)
    np.testing.assert_array_equal(weighted.predict(X), copied.predict(X))


def test_coefficients_are_those_of_weighted_least_squares():
    weights = np.random.default_rng(2).uniform(0.1, 3.0, 50)
    given = "y = a*x1^2/x2 + b"
    model = regressor(start=given, max_evals=1, max_terms=1).fit(X, NOISY, weights)
    columns = np.column_stack([X[:, 0] ** 2 / X[:, 1], np.ones(50)])
    root = np.sqrt(weights)
    expected = np.linalg.lstsq(columns * root[:, None], NOISY * root, rcond=None)[0]
    known = next(e for e in model.front_ if str(e.equation).count("x1^2/x2") and len(e.law.phi) > 1)
    np.testing.assert_allclose(sorted(known.equation.alpha), sorted(expected), rtol=1e-6)


def test_rows_of_little_weight_do_not_mislead_the_search():
    y = Y.copy()
    y[:15] += np.random.default_rng(3).normal(0, 20, 15)
    weights = np.where(np.arange(50) < 15, 1e-10, 1.0)
    model = regressor(max_evals=4000).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(X), Y, rtol=1e-3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(50, -1.0), "sample_weight must not be negative"),
        (np.zeros(50), "non-zero|every row"),
        (np.ones(49), "sample_weight"),
        (np.full(50, np.nan), "NaN"),
    ],
)
def test_bad_weights_are_named(weights, message):
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, Y, weights)


def test_merged_rows_keep_the_sum_of_weights():
    table = np.array([[1.0], [2.0], [1.0], [3.0], [4.0], [5.0], [6.0], [2.0]])
    rows = merged(Rows(table, table[:, 0] ** 2, np.array([1.0, 2, 3, 1, 1, 1, 0, 5])))
    assert rows.X[:, 0].tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(rows.weights, np.array([4, 7, 1, 1, 1]) / 14 * 5)


# ---- missing values --------------------------------------------------------------------------


def test_rows_with_missing_values_are_left_out_if_asked():
    table, y = X.copy(), Y.copy()
    table[3, 1] = y[7] = np.nan
    with pytest.raises(GSRError, match="x2, contains NaN"):
        regressor().fit(table, Y)
    with pytest.warns(MissingWarning, match=r"2 of 50 rows .*x2"):
        model = regressor(missing="drop").fit(table, y)
    found = model.predict(table)
    assert np.isnan(found[3])
    np.testing.assert_allclose(np.delete(found, 3), np.delete(Y, 3), rtol=1e-9)
    with pytest.raises(GSRError, match="every row has a missing value"):
        regressor(missing="drop").fit(np.full((8, 2), np.nan), np.arange(8.0))
    table[3, 1] = np.inf
    with pytest.raises(GSRError, match="infinity"):
        regressor(missing="drop").fit(table, Y)


# ---- rows held out ---------------------------------------------------------------------------


def test_held_out_rows_judge_the_laws():
    model = regressor(validation_fraction=0.3).fit(X, NOISY)
    known, held = split(Rows(X, NOISY), 0.3, _seed(0))
    assert (len(known), len(held)) == (35, 15)
    assert len(model.get_best().data.y) == 35
    for k, entry in enumerate(model.front_):
        error = np.sqrt(np.mean((held.y - model.predict(held.X, index=k)) ** 2))
        assert entry.held_out == pytest.approx(error, rel=1e-9)
    with pytest.raises(GSRError, match="validation_fraction must be"):
        regressor(validation_fraction=1.5).fit(X, Y)
    with pytest.raises(GSRError, match="4 are held out"):
        regressor(validation_fraction=0.5).fit(X[:8], Y[:8])


def _seed(random_state):
    return int(np.random.RandomState(random_state).randint(2**31 - 1))


# ---- several targets -------------------------------------------------------------------------


def test_several_targets_have_a_law_each():
    pandas = pytest.importorskip("pandas")
    both = np.column_stack([Y, X.sum(axis=1)])
    model = regressor().fit(X, both)
    assert list(model.models_) == ["y1", "y2"]
    np.testing.assert_allclose(model.predict(X), both, rtol=1e-9)
    assert model.score(X, both) == pytest.approx(1.0)
    with pytest.raises(GSRError, match=r"several targets: choose one of models_.*'y1', 'y2'"):
        model.sympy()
    named = regressor().fit(X, pandas.DataFrame(both, columns=["area", "whole sum"]))
    assert str(named.models_["whole sum"].equation_) == "`whole sum` = x1 + x2"
    values, deviations = named.predict(X, return_std=True)
    assert values.shape == deviations.shape == both.shape
    single = named.fit(X, Y)  # a later fit of one target forgets the others
    assert not hasattr(single, "models_")
    np.testing.assert_allclose(single.predict(X), Y, rtol=1e-9)


def test_models_of_several_targets_behave_like_objects():
    both = np.column_stack([Y, X.sum(axis=1)])
    model = regressor().fit(X, Y).fit(X, both)
    assert not hasattr(model, "equations_")
    assert not hasattr(model, "status_")
    assert "models_" in dir(model)
    polars = pytest.importorskip("polars")
    named = regressor().fit(X, polars.DataFrame({"q": Y, "r": X.sum(axis=1)}))
    assert list(named.models_) == ["q", "r"]


def test_columns_without_numbers_are_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": ["1.5", *["foo"] * 49]})
    with pytest.raises(GSRError, match="column b, must be numbers, but row 1 has 'foo'"):
        regressor().fit(frame, Y)
    frame["b"] = pandas.date_range("2026-01-01", periods=50)
    with pytest.raises(GSRError, match="column b, holds dates"):
        regressor().fit(frame, Y)


def test_few_different_rows_are_told():
    with pytest.warns(UserWarning, match="only 3 of 60 rows differ"):
        regressor(max_evals=60).fit(np.repeat(X[:3], 20, axis=0), np.repeat(Y[:3], 20))


# ---- a search that goes on -------------------------------------------------------------------


def test_a_warm_start_goes_on():
    noise = np.random.default_rng(5).normal(size=50)
    once = regressor(max_evals=900).fit(X, noise)
    model = regressor(max_evals=450, warm_start=True).fit(X, noise)
    first = model.n_evaluations_
    model.fit(X, noise)
    assert 2 * 450 <= model.n_evaluations_ < 2 * 450 + 450
    assert model.n_evaluations_ > first
    assert abs(once.n_evaluations_ - model.n_evaluations_) < 450
    cold = regressor(max_evals=450).fit(X, noise)
    cold.fit(X, noise)
    assert cold.n_evaluations_ == first


def test_a_warm_start_on_other_data_begins_with_the_laws_found():
    model = regressor(warm_start=True, max_evals=8000).fit(X, Y)
    assert model.status_ == "exact"
    model.set_params(max_evals=1)
    new = np.random.default_rng(6).uniform(0.5, 2.0, (30, 2))
    model.fit(new, 5.0 * new[:, 0] ** 2 / new[:, 1])
    np.testing.assert_allclose(model.predict(X), 2.5 * Y, rtol=1e-9)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


# ---- scikit-learn's tools --------------------------------------------------------------------


def test_pipelines_grids_and_cross_validation():
    pipeline = make_pipeline(FunctionTransformer(np.sqrt), regressor(max_evals=300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert cross_val_score(pipeline, X, Y, cv=3).min() > 0.99
        grid = GridSearchCV(regressor(), {"depth": [1, 2], "max_evals": [100, 300]}, cv=2)
        grid.fit(X, Y)
    assert grid.best_score_ == pytest.approx(1.0)
    assert set(grid.best_params_) == {"depth", "max_evals"}


def test_a_callback_may_end_the_search():
    seen = []

    def stop(progress):
        seen.append(progress.law)
        return len(seen) == 2

    model = regressor(callback=stop, max_time=30, max_evals=None).fit(X, NOISY)
    assert model.status_ == "stopped"
    assert len(seen) == 2
    assert all(" = " in law for law in seen)


def test_odd_names_are_safe():
    pandas = pytest.importorskip("pandas")
    names = ["wave length [nm]", "100 %"]
    frame = pandas.DataFrame(X, columns=names)
    model = regressor().fit(frame, pandas.Series(Y, name="λ"))
    assert model.status_ == "exact"
    assert {s.name for s in model.sympy().free_symbols} == {*names, "λ"}
    assert "λ" in str(model.equation_)
    reserved = pandas.DataFrame(X, columns=["lambda", "S"])
    model = regressor().fit(reserved, pandas.Series(Y, name="class"))
    np.testing.assert_allclose(model.predict(reserved), Y, rtol=1e-9)
    for text in (model.latex(), str(model.equations_), model.export("python")):
        assert text
    with pytest.raises(GSRError, match="'a' is there twice"):
        regressor().fit(pandas.DataFrame(X, columns=["a", "a"]), Y)


# ---- rows to search on ------------------------------------------------------------------------


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.standard_normal((5000, 4)), rng.standard_normal(5000)


def test_small_tables_are_taken_whole(table):
    X, y = table
    assert np.array_equal(choose_subset(X[:100], y[:100], 100), np.arange(100))


def test_rows_are_distinct_sorted_and_as_many_as_asked(table):
    rows = choose_subset(*table, max_rows=300)
    assert len(rows) == 300
    assert (np.diff(rows) > 0).all()


def test_the_chosen_rows_span_the_box(table):
    X, y = table
    rows = choose_subset(X, y, max_rows=20)
    for column in (y, *X.T):
        assert column[rows].min() == column.min()
        assert column[rows].max() == column.max()


def test_the_seed_decides(table):
    first, second = (choose_subset(*table, max_rows=300, seed=seed) for seed in (1, 1))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, choose_subset(*table, max_rows=300, seed=2))


def test_the_others_are_spread_over_the_table(table):
    rows = choose_subset(*table, max_rows=1000, seed=0)
    counts, _ = np.histogram(rows, bins=10, range=(0, 5000))
    assert counts.min() > 60


def test_fewer_rows_than_extremes(table):
    assert len(choose_subset(*table, max_rows=3)) == 3


def test_no_rows_are_refused(table):
    with pytest.raises(GSRError, match="max_rows must be at least 1, got 0"):
        choose_subset(*table, max_rows=0)
