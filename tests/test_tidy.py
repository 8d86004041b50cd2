"""Exact laws are multiplied out where that is shorter."""

import numpy as np
import pytest

from gsr import Equation
from gsr.library import PRESETS
from gsr.prior.written_formula import parse
from gsr.selection.choice import front
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.tidy import tidied

LIBRARY = PRESETS["all"]
RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 2.0, (40, 2))


def entry(formula, y):
    known = parse(formula, ["x1", "x2"], "y", LIBRARY, LIBRARY)[0]
    data = Training(LIBRARY, LIBRARY, np.asfortranarray(X), y)

    def equation(law):
        return Equation.from_data(
            LIBRARY, LIBRARY, law.psi, law.beta, law.phi, law.alpha, data.X, data.y
        )

    law = FittedLaw(
        tuple(known.phi), tuple(known.psi), np.array(known.alpha), np.array(known.beta), 0,
        0.0, 0.0, True, 50.0,
    )  # fmt: skip
    law = FittedLaw.of(law, complexity=equation(law).complexity)
    return front([law], equation, data)[0], data


@pytest.mark.parametrize(
    ("formula", "law", "text"),
    [
        (
            "y = 2*sin(x2) - 1.5*(1 - x1^2) + 1",
            lambda a, b: 2 * np.sin(b) - 1.5 * (1 - a**2) + 1,
            "y = 2 sin(x2) + 1.5 x1^2 - 0.5",
        ),
        ("y = 3*(x1 - 1) + 3", lambda a, b: 3 * a, "y = 3 x1"),
        ("y = 2*x2*(1 + x1)", lambda a, b: 2 * b * (1 + a), None),  # two terms would be longer
        ("y = exp(1 + x1)", lambda a, b: np.exp(1 + a), None),
    ],
)
def test_sums_in_brackets_are_multiplied_out_where_that_is_shorter(formula, law, text):
    before, data = entry(formula, law(*X.T))
    after = tidied(before, data)
    if text is None:
        assert after is before
        return
    assert str(after.equation) == text
    assert after.exact
    assert after.complexity < before.complexity
    np.testing.assert_allclose(after.equation.predict(X), data.y, rtol=1e-12)


def test_laws_that_are_not_exact_stay_as_they_are():
    y = 3 * X[:, 0] + 0.01 * RNG.normal(size=40)
    found, data = entry("y = 3*(x1 - 1) + 3", y)
    object.__setattr__(found, "exact", False)
    assert tidied(found, data) is found
