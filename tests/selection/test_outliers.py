"""Rows far from all others, which rule a fit of least squares."""

import numpy as np
import pytest

from fitted_laws import ONE, front, sample
from gsr import GSRRegressor
from gsr.selection import choice

X1, SQUARE = [[1, 0, 1]], [[3, 0, 1]]


def with_outliers(noise=0.02):
    data = sample(lambda x: 2.0 * x, n=40, low=0.5, high=3.0, noise=noise)
    y = data.y.copy()
    y[[7, 30]] += (80.0, -55.0)
    return data.X, y


def test_outliers_are_named_with_the_law_of_the_other_rows():
    X, y = with_outliers()
    data = sample(lambda x: x, n=40)
    entries = front([[ONE], [X1], [SQUARE]], type(data)(data.library, data.target_library, X, y))
    chosen = min(entries, key=lambda entry: entry.rmse if entry.complexity != 5 else np.inf)
    said = choice.note(chosen, [entry for entry in entries if entry is not chosen])
    assert "dominated by 2 rows (7, 30)" in said
    assert "loss='huber'" in said and "x1 is better" in said


def test_without_outliers_nothing_is_said():
    data = sample(lambda x: 2.0 * x, n=40, low=0.5, high=3.0, noise=0.02)
    entries = front([[ONE], [X1]], data)
    assert choice.note(entries[0], entries[1:]) == ""


@pytest.mark.parametrize("relative", [0.05, 0.2])
def test_noise_that_grows_over_decades_has_no_outliers(relative):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 12, 60))
    y = np.exp(x) * (1 + relative * rng.standard_normal(60))
    assert len(choice.outlying_rows(x[:, None], y)) <= 1


def test_a_fit_says_so():
    X, y = with_outliers()
    model = GSRRegressor(random_state=0, n_jobs=1, max_evals=600, max_time=None).fit(X, y)
    assert "try loss='huber'" in model.why_
