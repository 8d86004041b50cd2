"""Smoothing splines: derivatives, noise and their standard deviations."""

import numpy as np
import pytest

from gsr.dynamics.smoothing import WINDOW, smooth


def test_clean_series_are_interpolated():
    t = np.linspace(0, 10, 150)
    found = smooth(t, np.sin(t))
    assert np.abs(found.values - np.sin(t)).max() < 1e-9
    assert np.abs(found.slopes - np.cos(t)).max() < 1e-6
    assert found.noise < 1e-9


@pytest.mark.parametrize("size", [0.01, 0.1])
def test_noise_and_errors_of_derivatives_are_found(size):
    t = np.sort(np.random.default_rng(0).uniform(0, 10, 200))
    ratios, noises = [], []
    for seed in range(5):
        y = np.sin(t) + size * np.random.default_rng(seed).normal(size=len(t))
        found = smooth(t, y)
        noises.append(found.noise / size)
        ratios.append(np.sqrt(np.mean(((found.slopes - np.cos(t)) / found.slope_std) ** 2)))
    assert 0.9 < np.mean(noises) < 1.1
    assert 0.5 < np.mean(ratios) < 1.6


@pytest.mark.parametrize("n", [100, 200, 400])
def test_an_oscillation_with_noise_is_never_interpolated(n):
    t = np.linspace(0, n / 10, n)
    for seed in range(4):
        y = np.cos(2.8 * t) + 0.01 * np.random.default_rng(seed).normal(size=n)
        assert 0.007 < smooth(t, y).noise < 0.013


def test_long_series_are_smoothed_in_windows_that_fit_together():
    t = np.linspace(0, 60, 4 * WINDOW + 17)
    rng = np.random.default_rng(1)
    found = smooth(t, np.sin(t) + 0.02 * rng.normal(size=len(t)))
    assert len(found.values) == len(found.slopes) == len(t)
    assert np.sqrt(np.mean((found.values - np.sin(t)) ** 2)) < 0.01
    assert 0.018 < found.noise < 0.022
    assert found.freedom > 20


def test_scale_of_time_and_values_does_not_matter():
    t = np.linspace(0, 5, 80)
    y = np.exp(-t)
    plain, scaled = smooth(t, y), smooth(1e6 * t, 1e-9 * y)
    np.testing.assert_allclose(scaled.slopes * 1e15, plain.slopes, rtol=1e-6, atol=1e-9)


def test_a_constant_series_has_no_slope():
    found = smooth(np.arange(20.0), np.full(20, 3.0))
    assert (found.slopes == 0.0).all()
    assert found.noise == 0.0
