"""Constants near simple numbers."""

import math

import numpy as np
import pytest

from fitted_laws import ONE, law, training
from gsr.selection.refit import refit
from gsr.selection.rounding import known_bits, rounded, simplest
from gsr.selection.target_scale import refine


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.49998, 1e-4, "1/2"),
        (-0.3333, 1e-3, "-1/3"),
        (1.02, 0.1, "1"),
        (9.8003, 1e-3, "49/5"),
        (3.14159, 1e-3, "pi"),
        (1.5708, 2e-4, "pi/2"),
        (-2.3562, 2e-4, "-3 pi/4"),
        (0.0010001, 1e-7, "0.001"),
        (6.000001e23, 1e18, "6e+23"),
        (299792458.0, 1e-7, "299792458"),
    ],
)
def test_simple_numbers(value, error, text):
    found = simplest(value, error)
    assert found is not None
    assert found.text == text
    assert abs(found.value - value) <= 2.5 * error
    assert found.bits < known_bits(value, error)


@pytest.mark.parametrize(
    ("value", "error"),
    [(0.1234567, 1e-8), (0.7183, 0.01), (0.5, 1.0), (0.0, 0.1), (1.0, math.inf)],
)
def test_numbers_that_are_not_simple(value, error):
    assert simplest(value, error) is None


@pytest.mark.parametrize("value", [1.0, 0.1, 3.0, 1e12, 0.7183])
@pytest.mark.parametrize("error", [0.0, 1e-17, 1.570092458683775e-17, 1e-300])
def test_errors_below_the_rounding_of_the_value(value, error):
    """The data of an exact law know a constant to more digits than it has."""
    found = simplest(value, error * value)
    assert found is None or found.value == pytest.approx(value, rel=1e-15)


def test_few_numbers_are_simple_by_chance():
    rng = np.random.default_rng(0)
    found = [simplest(value, 1e-5) for value in rng.uniform(1, 2, 300)]
    assert sum(number is not None for number in found) < 60


def cubic(noise, seed=0, n=40):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    y = 0.5 * X[:, 0] ** 3 - 2 * X[:, 0] + 1.2345678 + noise * rng.standard_normal(n)
    return law([[[4, 0, 1]], [[1, 0, 1]], ONE], [1, 1, 1], exact=noise == 0), training(X, y)


def test_constants_of_an_exact_law():
    found, data = cubic(0.0)
    result = rounded(refit(found, data), data)
    assert result.texts[:2] == ("1/2", "-2")
    assert result.law.alpha[:2].tolist() == [0.5, -2.0]
    assert result.law.exact


def test_constants_of_a_noisy_law_and_the_others_fitted_again():
    found, data = cubic(0.001)
    start = refit(found, data)
    result = rounded(start, data)
    assert result.any
    assert result.texts == ("1/2", "-2", None)
    rest = data.y - 0.5 * data.X[:, 0] ** 3 + 2 * data.X[:, 0]
    assert result.law.alpha[2] == pytest.approx(rest.mean())
    assert result.law.rmse == pytest.approx(rest.std())
    assert start.rmse <= result.law.rmse < 1.2 * start.rmse


def test_the_data_may_disagree():
    """0.5 is near 0.52, but not as near as the data are sure."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (200, 1))
    y = 0.52 * X[:, 0] + 0.01 * rng.standard_normal(200)
    data = training(X, y)
    result = rounded(refit(law([[[1, 0, 1]]], [1.0], exact=False), data), data)
    assert result.texts[0] != "1/2"
    assert abs(result.law.alpha[0] - 0.52) < 0.005


def test_constants_are_rounded_together_not_one_by_one():
    """Correlated constants: each could be rounded alone, but not both."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (100, 1))
    columns = np.column_stack([np.exp(X[:, 0]), np.exp(-X[:, 0])])
    y = columns @ [1.04, -1.0] + 0.01 * rng.standard_normal(100)
    data = training(X, y)
    start = refit(law([[[10, 0, 1]], [[12, 0, 1]]], [1, -1], exact=False), data)
    result = rounded(start, data)
    assert len(data.y) * np.log(result.law.rmse**2 / start.rmse**2) < 13
    assert result.texts != ("1", "-1")


def test_weights_are_rounded():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (300, 1))
    y = 2 * np.sin(9.8 * X[:, 0]) + 0.02 * rng.standard_normal(300)
    data = training(X, y)
    start = refine(law([[[7, 3, 1, 9.79]]], [1.9], exact=False), data)
    result = rounded(start, data)
    assert result.texts == ("2", "49/5")
    assert result.law.phi[0] == [[7, 3, 1, 9.8]]


def test_rounding_saves_bits():
    found, data = cubic(0.01)
    start = refit(found, data)
    result = rounded(start, data)
    plain = law(
        [[[4, 0, 1]], [[1, 0, 1]], ONE], start.alpha * [1.0371, 1.0371, 1.0371], exact=False
    )
    shifted = training(data.X, data.y * 1.0371)
    assert result.bits < rounded(plain, shifted).bits
