"""What single rows do to a law."""

import numpy as np
import pytest

from fitted_laws import LIBRARY, plain_law
from gsr.encoding import encode
from gsr.selection.fitted import FittedLaw
from gsr.selection.uncertainty import leave_one_out, lives_on_few_rows


def test_a_row_that_determines_a_constant_alone_counts():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(1, 5, 60), np.zeros(60)])
    X[7, 1] = 1e-13
    y = 2 * X[:, 0] + 0.1 * rng.normal(size=60)
    law, data = plain_law(["x1", "x2"], X, y)
    without, rest = plain_law(["x1"], np.delete(X, 7, axis=0), np.delete(y, 7))
    missed = y[7] - without.alpha @ [X[7, 0], 1.0]
    expected = np.sqrt((59 * leave_one_out(without, rest) ** 2 + missed**2) / 60)
    assert leave_one_out(law, data) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-26, 1.0, 1e26])
def test_leverage_does_not_depend_on_units(scale):
    rng = np.random.default_rng(1)
    X = rng.uniform(1, 2, (12, 2))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=12)
    errors = []
    for i in range(12):
        rest = np.arange(12) != i
        law, _ = plain_law(["x1", "x2"], X[rest], y[rest])
        errors.append(y[i] - law.alpha @ [*X[i], 1.0])
    law, data = plain_law(["x1", "x2"], X * [1.0, scale], y)
    assert leave_one_out(law, data) == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-6)


def test_a_term_for_one_row():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.uniform(1, 5, 200), rng.uniform(1.7, 3, 200)])
    X[11, 1] = 1.588  # tan(1.588) = -58: exp(-tan) is 1e25
    y = 2 * X[:, 0] + 0.1 * rng.normal(size=200)
    law, data = plain_law(["x1", "exp(-tan(x2))"], X, y)
    assert lives_on_few_rows(law, data)
    left = y - data.features(law, X) @ law.alpha
    assert leave_one_out(law, data) > 1.001 * np.sqrt(np.mean(left**2))


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("exp(x1)", np.exp),
        ("1/x1", lambda x: 1 / x),
        ("x1**3", lambda x: x**3),
    ],
)
@pytest.mark.parametrize("relative", [False, True])
def test_steep_laws_do_not_live_on_few_rows(text, truth, relative):
    rng = np.random.default_rng(3)
    x = np.geomspace(0.01, 10, 30)
    y = truth(x)
    noise = 0.05 * y if relative else 0.01 * y.std()
    law, data = plain_law([text], x[:, None], y + noise * rng.normal(size=30))
    assert not lives_on_few_rows(law, data)


def test_a_law_without_a_solution_has_no_error_to_speak_of():
    x = np.linspace(0, 1, 20)[:, None]
    law, data = plain_law(["x1"], x, x[:, 0])
    broken = FittedLaw.of(law, phi=(encode("log(x1)", LIBRARY, 1), law.phi[1]))
    assert leave_one_out(broken, data) == np.inf
    assert not lives_on_few_rows(broken, data)
