"""The neighbours of the regressor in scikit-learn: transformer and classifier."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from gsr import GSRClassifier, GSRError, GSRRegressor, GSRTransformer

FAST = GSRRegressor(max_evals=300, max_time=60, max_complexity=14, random_state=0, n_jobs=1)
#: Without a limit of time, so that the same rows give the same laws.
SMALL = GSRRegressor(
    max_evals=30, max_time=None, max_complexity=8, depth=1, constants=False, library="table2",
    random_state=0, n_jobs=1,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([GSRTransformer(regressor=SMALL), GSRClassifier(SMALL)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_terms_of_a_law_make_other_models_right():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0.5, 3, (80, 3)), columns=["a", "b", "c"])
    y = 3 * X["a"] * X["b"] + 2 / X["c"] + 1
    terms = GSRTransformer(n_components=2, regressor=FAST)
    model = make_pipeline(terms, LinearRegression()).fit(X, y)
    assert model.score(X, y) == pytest.approx(1.0)
    assert set(terms.get_feature_names_out()) == {"a b", "1/c"}
    frame = terms.set_output(transform="pandas").transform(X)
    np.testing.assert_allclose(frame["a b"], X["a"] * X["b"])
    assert list(terms.terms_) == list(frame.columns)


def test_components_are_no_more_than_asked_for_and_differ():
    X = np.random.default_rng(1).uniform(0.5, 3, (60, 2))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * np.random.default_rng(2).normal(size=60)
    values = GSRTransformer(n_components=4, regressor=FAST).fit_transform(X, y)
    assert values.shape == (60, 4)
    assert np.isfinite(values).all()
    assert (np.abs(np.corrcoef(values.T) - np.eye(4)) < 1).all()
    with pytest.raises(GSRError, match="n_components must be at least 1, got 0"):
        GSRTransformer(n_components=0).fit(X, y)


def rings(n, seed):
    """Return points whose odds are known: 2 - x1^2 - x2^2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    p = 1 / (1 + np.exp(X[:, 0] ** 2 + X[:, 1] ** 2 - 2))
    return X, rng.uniform(size=n) < p, p


def test_the_law_of_the_odds_is_found_and_probabilities_are_calibrated():
    X, y, _ = rings(800, 0)
    search = clone(FAST).set_params(library=["identity", "square", "cube"])
    model = GSRClassifier(search).fit(X, np.where(y, "in", "out"))
    assert list(model.classes_) == ["in", "out"]
    law = str(model.equation_)
    assert law.startswith("log_odds = ") and "x1^2" in law and "x2^2" in law
    fresh, inside, p = rings(4000, 1)
    found = model.predict_proba(fresh)[:, 0]
    assert np.sqrt(np.mean((found - p) ** 2)) < 0.06
    for low in np.arange(0.1, 0.8, 0.1):
        rows = (found >= low) & (found < low + 0.1)
        assert inside[rows].mean() == pytest.approx(found[rows].mean(), abs=0.1)


def test_each_of_several_classes_has_a_law():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (300, 1))
    y = np.floor(X[:, 0]).astype(int)
    model = GSRClassifier(SMALL).fit(X, y)
    assert str(model).splitlines() == [str(law) for law in model.equations_]
    assert len(model.equations_) == 3
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.score(X, y) > 0.95
    with pytest.raises(GSRError, match="there is a law for each class; see equations_"):
        _ = model.equation_
