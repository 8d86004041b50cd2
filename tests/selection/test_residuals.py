import numpy as np
import pytest

from fitted_laws import plain_law
from gsr.encoding import encode, encode_target
from gsr.library import PRESETS
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.residuals import (
    Scores,
    learned,
    quadratic,
    residual_level,
    structure_probability,
)

ALL = PRESETS["all"]


@pytest.mark.parametrize("coefficient", [1e-300, 1e-160, -1e-12])
def test_predictions_with_hardly_any_spread(coefficient):
    X = np.random.default_rng(0).uniform(-2, 2, (40, 2))
    law = FittedLaw(
        (encode("x1**2", ALL, 2),), (encode_target("y", ALL),), np.array([coefficient]),
        np.ones(1), 5, 1.0, 1.0, False, 0.0,
    )  # fmt: skip
    assert residual_level(law, Training(ALL, ALL, X, X[:, 1])) == "above"
    noise = np.random.default_rng(1).normal(size=40)
    assert residual_level(law, Training(ALL, ALL, X, noise)) == "noise"


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e170, 1e300])
@pytest.mark.parametrize("what", range(3))
def test_units_do_not_matter(unit, what):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (60, 2))
    parts = [rng.normal(size=60) + 2.5 * X[:, 0] ** 2, X[:, 0] + 3.0, X]
    wanted = structure_probability(*parts, 1)
    parts[what] = parts[what] * unit
    assert structure_probability(*parts, 1) == pytest.approx(wanted, rel=1e-6)
    assert 0 < wanted < 1


def test_a_few_terms_among_many_columns_are_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 28))
    missing = X[:, 3] * X[:, 4] + X[:, 5] * X[:, 6] + X[:, 7] ** 2 + X[:, 8] + X[:, 9] * X[:, 10]
    y = 2 * X[:, 0] ** 2 + 0.15 * missing + rng.normal(size=20_000)
    assert residual_level(*plain_law(["x1**2"], X, y)) == "above"
    assert residual_level(*plain_law(["x1**2"], X, y - 0.15 * missing)) == "noise"


def test_boosted_trees_see_what_a_quadratic_function_hardly_explains():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (3000, 6))
    inside = np.abs(X[:, 1] - 0.5) < 0.1
    structured = Scores.ranked(inside + rng.normal(size=3000), None, 1)
    noise = Scores.ranked(rng.normal(size=3000), None, 1)
    assert learned(structured, X[:, 0], X) < 1e-3 * quadratic(structured, X[:, 0], X)
    assert learned(noise, X[:, 0], X) > 1e-3


@pytest.mark.parametrize(
    ("truth", "texts"),
    [
        (lambda x: 12 * x / (4 + x), ["log(x1)"]),
        (lambda x: 5 * np.exp(-0.35 * x) + 1, ["sqrt(x1)"]),
        (lambda x: 2 * np.sin(0.7 * x + 0.3), ["x1", "x1**2"]),
        (lambda x: 6 / (1 + np.exp(-1.1 * (x - 5))), ["sin(x1)", "x1"]),
    ],
)
def test_wrong_curves_through_few_rows_are_seen(truth, texts):
    x = np.linspace(0.1, 10, 30)
    noise = 0.01 * np.ptp(truth(x)) * np.random.default_rng(2).normal(size=(20, 30))
    levels = [residual_level(*plain_law(texts, x[:, None], truth(x) + e)) for e in noise]
    assert levels.count("above") >= 18


def test_noise_that_grows_with_y_is_no_structure():
    x = np.geomspace(0.1, 10, 40)
    alarms = 0
    for seed in range(100):
        e = np.random.default_rng(seed).normal(size=40)
        truth = 3 * x**2 + x
        alarms += (
            residual_level(*plain_law(["x1", "x1**2"], x[:, None], truth * (1 + 0.05 * e)))
            == "above"
        )
    assert alarms <= 4


def test_weights_make_the_residuals_alike():
    rng = np.random.default_rng(3)
    X = rng.uniform(1, 10, (400, 2))
    sigma = 0.02 * X[:, 0] ** 2
    y = 3 * X[:, 0] + sigma * rng.normal(size=400)
    weights = sigma**-2 / np.mean(sigma**-2)
    assert residual_level(*plain_law(["x1"], X, y, weights)) == "noise"
    bent = y + 0.05 * X[:, 0] * X[:, 1]
    assert residual_level(*plain_law(["x1"], X, bent, weights)) == "above"


def test_constants_that_are_off_are_structure():
    rng = np.random.default_rng(4)
    X = rng.uniform(1, 2, (50, 1))
    law, data = plain_law(["x1"], X, 2 * X[:, 0] + 0.1 * rng.normal(size=50))
    assert residual_level(law, data) == "noise"
    off = FittedLaw.of(law, alpha=law.alpha * 1.1)
    assert residual_level(off, data) == "above"


def test_a_missing_offset_is_structure():
    rng = np.random.default_rng(0)
    x = np.linspace(360, 374, 17)
    y = 0.94 * x - 320 + 0.2 * rng.standard_normal(17)
    slope = (x @ y) / (x @ x)
    residuals = y - slope * x
    chance = structure_probability(residuals, slope * x, x[:, None], 1, x[:, None])
    assert chance < 1e-6
