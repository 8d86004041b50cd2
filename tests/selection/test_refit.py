"""Linear coefficients on all rows, in blocks."""

import numpy as np
import pytest

from fitted_laws import LIBRARY, ONE, law, root_law, training
from gsr.selection import fitted, refit
from gsr.selection.fitted import FittedLaw, Training, constants, weights, with_constants


@pytest.mark.parametrize("n", [20, 1000, 100_000])
def test_exact_laws_stay_exact_however_many_rows(n):
    found, data = root_law(n)
    fitted = refit.refit(found, data)
    assert fitted.exact
    np.testing.assert_allclose(fitted.alpha, [1, 2, 1], rtol=1e-13)
    assert fitted.rmse < 1e-13


def test_blocks_do_not_change_the_fit(monkeypatch):
    found, data = root_law(500)
    noisy = Training(LIBRARY, LIBRARY, data.X, data.y + 0.1 * np.sin(37 * np.arange(500)))
    whole = refit.refit(found, noisy)
    monkeypatch.setattr(fitted.Training.blocks, "__defaults__", (64,))
    blocks = refit.refit(found, noisy)
    np.testing.assert_allclose(blocks.alpha, whole.alpha, rtol=1e-11)
    assert blocks.rmse == pytest.approx(whole.rmse, rel=1e-12)
    direct = np.linalg.lstsq(noisy.features(found, noisy.X), noisy.y**2, rcond=None)[0]
    np.testing.assert_allclose(whole.alpha, direct, rtol=1e-9)


def test_a_law_that_fails_on_other_rows_is_demoted():
    found, data = root_law(2000)
    y = data.y.copy()
    y[1234] += 1e-6
    fitted = refit.refit(found, training(data.X, y))
    assert not fitted.exact
    assert np.isfinite(fitted.rmse)


def test_a_law_that_is_not_exact_does_not_become_so():
    found, data = root_law(50)
    assert not refit.refit(FittedLaw.of(found, exact=False), data).exact


def test_a_row_without_a_solution_makes_the_error_infinite():
    X = np.linspace(-1, 1, 21)[:, None]
    found = law([[[1, 0, 1]]], [1.0], [[[3]]])
    fitted = refit.refit(found, training(X, np.sqrt(np.abs(X[:, 0]))))
    assert fitted.rmse == np.inf
    assert not fitted.exact


def test_an_undefined_basis_function_makes_the_error_infinite():
    X = np.linspace(0, 1, 21)[:, None]
    fitted = refit.refit(law([[[2, 0, 1]]], [1.0]), training(X, X[:, 0]))
    assert fitted.rmse == np.inf


def test_two_target_functions():
    """SymSet-11: y^2 - 8 y = 30 exp(x2) + 2 cos(x1) - 16."""
    X = np.random.default_rng(1).uniform(0, 2, (3000, 2))
    y = 4 + np.sqrt(30 * np.exp(X[:, 1]) + 2 * np.cos(X[:, 0]))
    phi = [[[10, 0, 2]], [[6, 0, 1]], ONE]
    fitted = refit.refit(law(phi, [29, 2.2, -15], [[[3]], [[1]]], [1, -7.5]), training(X, y))
    np.testing.assert_allclose(fitted.alpha, [30, 2, -16], rtol=1e-9)
    np.testing.assert_allclose(fitted.beta, [1, -8], rtol=1e-10)
    assert fitted.exact


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales(scale):
    found, data = root_law(200)
    big = training(data.X, data.y * scale)
    fitted = refit.refit(found, big)
    assert fitted.exact
    np.testing.assert_allclose(fitted.alpha, np.array([1, 2, 1]) * scale**2, rtol=1e-12)


def test_weights_are_part_of_the_constants():
    found = law([[[7, 3, 1, 30000, 9.8, 1.0]], ONE], [2.0, 0.5])
    assert len(weights(found)) == 1  # a weight of exactly 1 is no constant
    assert constants(found).tolist() == [2.0, 0.5, 9.8]
    moved = with_constants(found, np.array([1.0, 2.0, 3.0]))
    assert moved.phi[0] == [[7, 3, 1, 30000, 3.0, 1.0]]
    assert found.phi[0] == [[7, 3, 1, 30000, 9.8, 1.0]]


def test_rounding_of_weights_counts_as_rounding():
    """An exact law with a frequency: over many periods the last digit of w shows."""
    X = np.linspace(0, 50, 4000)[:, None]
    y = 2 * np.sin(9.8 * X[:, 0])
    near = law([[[7, 3, 1, np.nextafter(9.8, 10)]]], [2.0])
    assert refit.refit(near, training(X, y)).exact
    off = law([[[7, 3, 1, 9.8 * (1 + 1e-9)]]], [2.0])
    assert not refit.refit(off, training(X, y)).exact
