"""Noise of every kind: how it is judged, and what weights and intervals make of it."""

import numpy as np
import pytest

from gsr import GSRRegressor, fit_formula, load
from gsr.exceptions import GSRError
from gsr.selection.noise import Noise, given, of_kind

S = np.geomspace(0.1, 50, 30)
T = np.linspace(280, 360, 25)
LAWS = {
    "saturation": (S, 12.3 * S / (4.2 + S)),
    "arrhenius": (T, 2.5e11 * np.exp(-75000 / 8.314 / T)),
}


def fitted(x, y, seed=0, **options):
    sigma = options.pop("sigma", None)
    model = GSRRegressor(random_state=seed, n_jobs=1, max_evals=6000, max_time=60, **options)
    return model.fit(x[:, None], y, sigma=sigma)


@pytest.mark.parametrize("name", LAWS)
def test_relative_noise_is_recognised_and_the_law_found(name):
    x, law = LAWS[name]
    share = 0.05 if name == "saturation" else 0.03
    found = 0
    for seed in range(4):
        y = law * (1 + share * np.random.default_rng(seed).standard_normal(len(x)))
        model = fitted(x, y)
        assert model.get_best().data.noise.kind == "relative"
        assert "grows with y" in model.noise_
        found += np.allclose(model.predict(x[:, None]), law, rtol=3 * share)
        found -= model.get_best().n_constants > 3
    assert found >= 3


def test_constant_noise_stays_constant():
    x, law = LAWS["saturation"]
    y = law + 0.1 * np.random.default_rng(0).standard_normal(len(x))
    model = fitted(x, y)
    assert model.get_best().data.noise.kind == "constant"
    assert model.get_best().data.weights is None
    assert "same everywhere" in model.noise_


def test_the_kind_of_errors_may_be_given():
    x, law = LAWS["saturation"]
    y = law * (1 + 0.05 * np.random.default_rng(0).standard_normal(len(x)))
    for errors in ("constant", "relative", "poisson"):
        assert fitted(x, y, errors=errors).get_best().data.noise.kind == errors
    with pytest.raises(GSRError, match="errors must be"):
        fitted(x, y, errors="gaussian")


def coverage(model, draw, sigma=None):
    x, y, s = draw(4000, np.random.default_rng(99))
    errors = s if sigma else None
    low, high = model.predict_interval(x[:, None], 0.95, sigma=errors).T
    inside = (low <= y) & (y <= high)
    return [float(part.mean()) for part in np.array_split(inside[np.argsort(x)], 4)]


SCATTER = {
    "constant": lambda x: 0.5 + 0 * x,
    "relative": lambda x: 0.15 * x,
    "power": lambda x: 0.02 * x**2,
    "sigma": lambda x: 0.02 * x**2,
}


@pytest.mark.parametrize("kind", SCATTER)
def test_intervals_cover_everywhere(kind):
    def draw(n, rng):
        x = rng.uniform(1, 10, n)
        s = SCATTER[kind](x)
        return x, 3 * x + s * rng.standard_normal(n), s

    x, y, s = draw(400, np.random.default_rng(1))
    model = fitted(x, y, sigma=s if kind == "sigma" else None)
    assert model.equation_.phi and model.get_best().n_constants <= 2
    assert model.get_best().data.noise.kind == ("given" if kind == "sigma" else kind)
    np.testing.assert_allclose(coverage(model, draw, kind == "sigma"), 0.95, atol=0.035)


def test_a_power_of_y_is_saved(tmp_path):
    x = np.random.default_rng(0).uniform(1, 10, 200)
    y = 3 * x + 0.02 * x**2 * np.random.default_rng(1).standard_normal(200)
    model = fitted(x, y)
    assert "grows with a power of y" in model.noise_
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.noise_ == model.noise_
    np.testing.assert_allclose(
        again.predict_interval(x[:, None]), model.predict_interval(x[:, None])
    )


WIDE = {
    "power": (np.geomspace(1e-10, 1e10, 60), lambda x: 3.2 * x**0.97),
    "arrhenius": (np.linspace(120, 600, 60), lambda x: 2.5e11 * np.exp(-75000 / 8.314 / x)),
}


@pytest.mark.parametrize("errors", ["auto", "relative"])
@pytest.mark.parametrize("name", WIDE)
def test_relative_noise_over_twenty_decades(name, errors):
    x, law = WIDE[name]

    def draw(n, rng):
        chosen = x if n == len(x) else rng.choice(x, n)
        return chosen, law(chosen) * (1 + 0.05 * rng.standard_normal(n)), None

    model = fitted(*draw(len(x), np.random.default_rng(0))[:2], errors=errors)
    np.testing.assert_allclose(coverage(model, draw), 0.95, atol=0.04)
    prediction, std = model.predict(x[:, None], return_std=True)
    np.testing.assert_allclose(std / prediction, 0.05, rtol=0.25)


def test_weights_that_stand_for_precision_widen_intervals():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 10, 400)
    s = 0.02 * x**2
    y = 3 * x + s * rng.standard_normal(400)
    model = GSRRegressor(random_state=0, n_jobs=1, max_evals=3000, max_time=60)
    model.fit(x[:, None], y, sample_weight=1 / s**2)
    ends = model.predict_interval([[1.5], [9.5]])
    assert np.diff(ends[1]) > 10 * np.diff(ends[0])


def test_copies_of_rows_do_not_widen_intervals():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 10, 200)
    y = 3 * x + rng.standard_normal(200)
    counts = rng.integers(1, 4, 200)
    model = GSRRegressor(random_state=0, n_jobs=1, max_evals=3000, max_time=60)
    model.fit(x[:, None], y, sample_weight=counts)
    assert model.get_best().uncertainty.noise.kind == "constant"


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        (np.ones(3), "shape"),
        (np.zeros(30), "positive"),
        (np.full(30, np.nan), "positive"),
        (["a"] * 30, "numbers"),
        (np.full(30, 1e200), r"from 1e-150 to 1e\+150.*got 1e\+200 in row 0"),
        (1e-200, r"from 1e-150 to 1e\+150.*got 1e-200;"),
    ],
)
def test_bad_standard_deviations_are_refused(sigma, message):
    x, law = LAWS["saturation"]
    with pytest.raises(GSRError, match=f"sigma must be.*{message}"):
        fitted(x, law, sigma=sigma)
    with pytest.raises(GSRError, match=f"sigma must be.*{message}"):
        fit_formula("y = a*x1/(b + x1)", x[:, None], law, sigma=sigma)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_errors_of_features_that_cannot_be_squared_are_refused(size):
    x, law = LAWS["saturation"]
    with pytest.raises(GSRError, match=r"x_sigma must be 0 or from 1e-150 to 1e\+150"):
        fit_formula("y = a*x1/(b + x1)", x[:, None], law, x_sigma=size)


@pytest.mark.parametrize("size", [1e140, 1e-140])
def test_large_and_small_units_change_nothing_else(size):
    x = np.linspace(1, 5, 40)
    sigma = 0.05 * x
    y = 2 * x**2 + sigma * np.random.default_rng(0).standard_normal(40)
    plain, scaled = (
        fit_formula("y = a*x1^2", x[:, None], y * unit, sigma=sigma * unit) for unit in (1, size)
    )
    expected = np.array(plain.intervals()["a"]) * size
    np.testing.assert_allclose(scaled.intervals()["a"], expected, rtol=1e-9)


@pytest.mark.parametrize("size", [1e305, 1e-305])
def test_weights_of_any_size(size):
    x = np.linspace(1, 5, 40)
    y = 2 * x**2 + 0.05 * np.random.default_rng(0).standard_normal(40)
    plain, scaled = (
        fit_formula("y = a*x1^2", x[:, None], y, sample_weight=x * unit) for unit in (1, size)
    )
    np.testing.assert_allclose(scaled.intervals()["a"], plain.intervals()["a"], rtol=1e-9)


def test_a_target_that_cannot_be_squared_is_named():
    x = np.linspace(1, 5, 40)[:, None]
    with pytest.raises(GSRError, match="y, the target y, goes up to 5e\\+200, too far to square"):
        fit_formula("y = a*x1", x, 1e200 * x[:, 0])


def test_weights_and_standard_deviations_exclude_each_other():
    x, law = LAWS["saturation"]
    with pytest.raises(GSRError, match="not both"):
        GSRRegressor().fit(x[:, None], law, sample_weight=x, sigma=x)


def test_variance_functions():
    y = np.array([-2.0, 0.5, 4.0])
    np.testing.assert_allclose(Noise().variance(y), 1)
    np.testing.assert_allclose(Noise("relative").variance(y), y**2)
    np.testing.assert_allclose(Noise("poisson").variance(y), np.abs(y))
    np.testing.assert_allclose(Noise("power", power=1.5).variance(y), np.abs(y) ** 3)
    np.testing.assert_allclose(Noise("mixed", 2.0).variance(y), 4 + y**2)
    known = given(np.array([1.0, 2.0, 3.0]), y)
    np.testing.assert_allclose(known.variance(y), [1, 4, 9])
    np.testing.assert_allclose(known.variance(y, np.full(3, 5.0)), 25)


@pytest.mark.parametrize("kind", ["relative", "poisson", "power", "mixed"])
def test_weights_undo_the_variance(kind):
    y = np.linspace(1, 9, 50)
    noise = of_kind(kind, y)
    weights, known = noise.weights(y)
    assert weights.mean() == pytest.approx(1)
    deviation = known.deviation(y, 2.0)
    np.testing.assert_allclose(deviation * np.sqrt(weights), 2.0)


def test_a_value_near_zero_has_no_infinite_weight():
    y = np.concatenate([[1e-9], np.linspace(1, 9, 50)])
    weights, _ = of_kind("relative", y).weights(y)
    assert weights.max() < 50


def test_small_values_that_belong_to_the_others_have_their_weights():
    for y in (np.geomspace(1e-10, 1e10, 60), WIDE["arrhenius"][1](WIDE["arrhenius"][0])):
        weights, _ = of_kind("relative", y).weights(y)
        np.testing.assert_allclose(weights * y**2, weights[0] * y[0] ** 2)
