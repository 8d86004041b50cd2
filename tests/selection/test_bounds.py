"""How far predictions leave the range of y."""

import numpy as np
import pytest

from fitted_laws import plain_law
from gsr.library import PRESETS
from gsr.selection.fitted import FittedLaw
from gsr.selection.poles import enlarged, excursion

ALL = PRESETS["all"]


def how_far(texts, X, y, **options):
    found, _ = plain_law(texts, X, y)
    return excursion(found, ALL, ALL, X, y, **options)


LINE = np.linspace(0, 10, 50)[:, None]
DECADES = np.geomspace(0.01, 10, 30)[:, None]
SYMMETRIC = np.linspace(-1, 1, 40)[:, None]


@pytest.mark.parametrize(
    ("text", "X", "truth"),
    [
        ("exp(x1)", LINE, np.exp),
        ("1/x1", DECADES, lambda x: 1 / x),
        ("log(x1)", DECADES, np.log),
        ("x1**3", SYMMETRIC, lambda x: x**3),
        ("sqrt(x1)", LINE, np.sqrt),
        ("sqrt(1-x1**2)", SYMMETRIC, lambda x: np.sqrt(1 - x**2)),
    ],
)
def test_steep_laws_stay_near(text, X, truth):
    assert how_far([text], X, truth(X[:, 0])) <= 1.01


def test_units_of_the_range_of_y():
    assert how_far(["x1"], LINE, 7 * LINE[:, 0], margin=0.1) == pytest.approx(0.1)
    assert how_far(["x1"], LINE - 5, LINE[:, 0], margin=0.1) == pytest.approx(0.1)
    assert how_far(["x1"], LINE, LINE[:, 0], margin=0.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("text", "X"), [("1/x1", SYMMETRIC), ("tan(x1)", LINE)])
def test_poles_are_infinite(text, X):
    assert how_far([text], X, np.sin(X[:, 0])) == np.inf


def test_a_narrow_pole_between_the_rows():
    x = np.linspace(0.501, 1.501, 20)[:, None]
    found, _ = plain_law(["1/(x1-x1**2)", "x1"], x, x[:, 0])
    pole = FittedLaw.of(found, alpha=np.array([1e-9, 1.0, 0.0]))
    assert excursion(pole, ALL, ALL, x, x[:, 0]) == np.inf


def test_terms_that_explode_between_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 9))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    assert how_far(["x1", "x2*x3"], X, y) < 3
    assert how_far(["x1", "exp(x1*x2*x3*x4)"], X, y) > 1e3


def test_steep_inverses():
    """tanh(y) = 1.01 x has no solution for the largest x."""
    x = np.linspace(0.01, 1, 30)[:, None]
    found, _ = plain_law(["x1"], x, x[:, 0])
    inverse = FittedLaw.of(found, psi=([[9]],), alpha=np.array([1.01, 0.0]))
    y = np.arctanh(np.minimum(x[:, 0], 0.9))
    assert excursion(inverse, ALL, ALL, x, y) == np.inf


def test_empty_corners_of_correlated_features_do_not_count():
    rng = np.random.default_rng(1)
    z = rng.uniform(1, 2, 300)
    X = np.column_stack([z, z + 1 + 0.02 * rng.normal(size=300)])
    y = 1 / (X[:, 1] - X[:, 0] + 0.2)
    assert how_far(["1/(x2-x1)"], X, y) < 10
    assert how_far(["1/(x2-x1)"], rng.uniform(1, 3, (300, 2)), y) == np.inf


def test_features_keep_their_sign_and_their_two_values():
    X = np.array(
        [[0.1, -3.0, 0, 5, 1e-6], [9, -0.5, 1, 6, 1], [4, -2, 0, 7, 0.5], [1, -1, 1, 5, 0.2]]
    )
    low, high = enlarged(X, 0.1)
    np.testing.assert_allclose(low, [0.05, -3.25, 0, 4.8, 5e-7])
    np.testing.assert_allclose(high, [9.89, -0.25, 1, 7.2, 1.1], rtol=1e-5)


def test_a_law_without_features():
    assert how_far([], LINE, np.sin(LINE[:, 0])) == 0.0
