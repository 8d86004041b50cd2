"""An exact law is so in every row, and more than an interpolation."""

import numpy as np
import pytest

from fitted_laws import LIBRARY, law, training
from gsr import GSRRegressor
from gsr.encoding import encode
from gsr.selection.fitted import FittedLaw
from gsr.selection.refit import RowWise, confirm, exact_in_every_row, refit


def formula(terms, data, alpha=None):
    """Return an exact-looking law with the given terms, fitted by least squares unless told."""
    d = data.X.shape[1]
    phi = [[[0] * (d + 2)] if text == "1" else encode(text, LIBRARY, d) for text in terms]
    found = law(phi, np.ones(len(phi)) if alpha is None else alpha)
    return found if alpha is not None else refit(FittedLaw.of(found, exact=False), data)


def claimed(found):
    return FittedLaw.of(found, exact=True)


def test_rows_with_a_small_y_count():
    x = np.geomspace(1e-10, 1e8, 200)[:, None]
    data = training(x, x[:, 0] ** 2 + 3e-6 * x[:, 0])
    square = formula(["x1**2"], data, [1.0])
    assert not confirm(claimed(square), data).exact
    whole = formula(["x1**2", "x1"], data, [1.0, 3e-6])
    assert confirm(claimed(whole), data).exact


def test_coefficients_are_corrected_for_small_rows():
    x = np.geomspace(1e-10, 1e3, 200)[:, None]
    data = training(x, x[:, 0] ** 2 + 3e-6 * x[:, 0])
    off = claimed(formula(["x1**2", "x1"], data, [1.0, 3e-6 * (1 + 1e-9)]))
    assert not RowWise.of(off, data).hold()
    found = exact_in_every_row(off, data)
    assert found is not None
    np.testing.assert_allclose(found.alpha, [1.0, 3e-6], rtol=1e-14)


def test_zeros_of_an_oscillation_do_not_count_as_errors():
    """Where sin(w x) is near 0, rounding of w x is large beside it."""
    x = np.linspace(0, 50, 1000)[:, None]
    data = training(x, 2 * np.sin(9.8 * x[:, 0]))
    near = law([[[7, 3, 1, np.nextafter(9.8, 10)]]], [2.0])
    assert exact_in_every_row(near, data) is not None


@pytest.mark.parametrize("n_terms", [5, 6, 7])
def test_a_series_is_not_a_law(n_terms):
    """cos(x) by even powers: at rounding level on a short interval, and wrong beyond."""
    x = np.linspace(-1, 1, 1000)[:, None] * 0.04 * 4 ** (n_terms - 4)
    data = training(x, np.cos(x[:, 0]))
    texts = ["1", *(f"x1**{2 * k}" for k in range(1, n_terms))]
    found = claimed(formula(texts, data))
    assert exact_in_every_row(found, data) is None


def test_five_terms_with_arbitrary_constants_may_be_a_law():
    x = np.linspace(-1, 1, 1000)
    texts = ["x1", "x1**2", "x1**3", "cos(x1)", "exp(x1)"]
    alpha = [1.23456, 2.71828, -1.91234, -0.77712, 0.12356]
    columns = [x, x**2, x**3, np.cos(x), np.exp(x)]
    data = training(x[:, None], sum(a * c for a, c in zip(alpha, columns, strict=True)))
    assert exact_in_every_row(claimed(formula(texts, data)), data) is not None


def test_the_search_does_not_call_interpolations_exact():
    from scipy.special import j0

    x = np.linspace(-1, 1, 300)[:, None]
    found = GSRRegressor(max_evals=20_000, random_state=0, n_jobs=1).fit(x, j0(x[:, 0]))
    assert found.level_ != "rounding"


def test_the_search_does_not_call_the_large_rows_exact():
    rng = np.random.default_rng(0)
    X = 10 ** rng.uniform(-10, 3, (200, 3))
    y = X[:, 0] * X[:, 1] ** 2 / X[:, 2] + 1e-5 * X[:, 0]
    found = GSRRegressor(max_evals=20_000, random_state=0, n_jobs=1).fit(X, y)
    off = np.abs(found.predict(X) - y) > 1e-9 * np.abs(y)
    assert found.level_ != "rounding" or off.mean() < 0.02
