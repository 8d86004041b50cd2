"""Losses that outliers move little, and quantiles."""

import numpy as np
import pytest

from gsr import GSRError, GSRRegressor, fit_formula
from gsr.selection.noise import Loss

X = np.linspace(0, 6, 60)[:, None]
x = X[:, 0]


def with_outliers(seed):
    rng = np.random.default_rng(seed)
    y = 3 * np.exp(-0.5 * x) + 1 + 0.03 * rng.normal(size=60)
    y[rng.choice(60, 6, replace=False)] += rng.choice([-1, 1], 6) * rng.uniform(2, 6, 6)
    return y


def distance(model):
    """Return how far a model is from the law without outliers."""
    return float(np.max(np.abs(model.predict(X) - (3 * np.exp(-0.5 * x) + 1))))


@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_a_search_finds_the_law_in_spite_of_outliers(loss):
    y = with_outliers(0)
    options = {"max_evals": 6000, "max_time": None, "random_state": 0}
    squared = GSRRegressor(**options).fit(X, y)
    assert distance(squared) > 0.15
    model = GSRRegressor(loss=loss, **options).fit(X, y)
    assert distance(model) < 0.1
    assert model.level_ == "noise"
    residuals = y - model.predict(X)
    assert model.get_best().rmse == pytest.approx(np.sqrt(np.mean(residuals**2)))
    low, high = model.predict_interval([[3.0]])[0]
    assert high - low < 0.3


@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_a_formula_is_fitted_in_spite_of_outliers(loss):
    names = ("a", "c1", "b")
    truth = np.array([3.0, 0.5, 1.0])
    found, errors = [], []
    for seed in range(25):
        law = fit_formula(
            "y = a*exp(-0.6*x1) + b", X, with_outliers(seed), loss=loss, errors="constant"
        )
        found.append([law.constants[name].value for name in names])
        errors.append([law.constants[name].error for name in names])
    spread = np.std(found, axis=0)
    assert (np.abs(np.mean(found, axis=0) - truth) < 4 * spread / 5).all()
    np.testing.assert_allclose(np.median(errors, axis=0), spread, rtol=0.6)
    assert law.rmse > 0.5
    squared = fit_formula("y = a*exp(-0.6*x1) + b", X, with_outliers(24))
    assert distance(squared) > 3 * distance(law)


@pytest.mark.parametrize("quantile", [0.1, 0.9])
def test_a_quantile_lies_above_its_part_of_the_rows(quantile):
    rng = np.random.default_rng(1)
    t = rng.uniform(1, 5, 300)
    y = 2 * t + 1 + 0.5 * t * rng.normal(size=300)
    options = {"loss": "quantile", "quantile": quantile}
    law = fit_formula("y = a*x1 + b", t[:, None], y, errors="constant", **options)
    assert np.mean(y < law.predict(t[:, None])) == pytest.approx(quantile, abs=0.02)
    side = 1.2816 if quantile > 0.5 else -1.2816
    assert law.constants["a"].value == pytest.approx(2 + 0.5 * side, abs=0.25)
    model = GSRRegressor(max_evals=1500, random_state=0, max_terms=1, **options)
    model.fit(t[:, None], y)
    assert np.mean(y < model.predict(t[:, None])) == pytest.approx(quantile, abs=0.03)


def test_errors_of_losses():
    r = np.random.default_rng(0).normal(size=100_000)
    for kind in ("squared", "absolute", "huber"):
        assert Loss(kind).error(2 * r) == pytest.approx(2.0, rel=0.06)
        assert Loss(kind).error(np.append(r, np.inf)) == np.inf
    # What lies above costs nine times what lies below.
    uneven = Loss("quantile", 0.9)
    assert uneven.error(np.ones(5)) == pytest.approx(9 * uneven.error(-np.ones(5)))
    assert Loss("quantile", 0.5).error(r) == pytest.approx(Loss("absolute").error(r))


def test_squares_are_as_before():
    y = 2 * x + np.sin(7 * x)
    plain = fit_formula("y = a*x1 + b", X, y)
    named = fit_formula("y = a*x1 + b", X, y, loss="squared")
    np.testing.assert_array_equal(plain.alpha, named.alpha)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "cubic"}, "loss must be 'squared'"),
        ({"loss": "quantile", "quantile": 1.0}, "quantile must be"),
        ({"quantile": None}, "quantile must be"),
    ],
)
def test_what_is_no_loss(options, message):
    with pytest.raises(GSRError, match=message):
        fit_formula("y = a*x1", X, x, **options)
    with pytest.raises(GSRError, match=message):
        GSRRegressor(**options).fit(X, x)


def test_a_file_can_name_the_loss():
    from gsr.options import schema

    keys = schema()["search"]
    assert keys["loss"].default == "squared"
    assert keys["quantile"].default == 0.5
    with pytest.raises(GSRError):
        GSRRegressor(loss="huber", hyperparameters={"solver": "printed"}, preset="paper").fit(X, x)
