"""Exact laws are multiplied out where that is shorter."""

from dataclasses import replace

import numpy as np
import pytest

from gsr import Equation, GSRRegressor
from gsr.library import PRESETS
from gsr.prior.written_formula import parse
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.front_entries import front, tidied, with_simple_exponents
from gsr.selection.variants import plainer

LIBRARY = PRESETS["all"]
RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 2.0, (40, 2))


def entry(formula, y, exact=True):
    known = parse(formula, ["x1", "x2"], "y", LIBRARY, LIBRARY)[0]
    data = Training(LIBRARY, LIBRARY, np.asfortranarray(X), y)

    def equation(law):
        return Equation.from_data(
            LIBRARY, LIBRARY, law.psi, law.beta, law.phi, law.alpha, data.X, data.y
        )

    law = FittedLaw(
        tuple(known.phi), tuple(known.psi), np.array(known.alpha), np.array(known.beta), 0,
        0.0, 0.0, exact, 50.0,
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


def test_laws_that_are_not_exact_keep_their_error():
    y = 3 * X[:, 0] + 0.01 * RNG.normal(size=40)
    found, data = entry("y = 3*(x1 - 1) + 3", y)
    noisy = replace(
        found, exact=False, law=FittedLaw.of(found.law, exact=False, rmse=1.0), rmse=1.0
    )
    after = tidied(noisy, data)
    assert str(after.equation) == "y = 3 x1"
    assert after.rmse == pytest.approx(np.sqrt(np.mean((y - 3 * X[:, 0]) ** 2)))


def test_powers_are_merged_so_that_a_law_has_values_where_it_reads_so():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        table = rng.uniform(0.5, 3, (60, 2))
        model = GSRRegressor(random_state=0, max_time=None, max_evals=4000, n_jobs=1)
        model.fit(table, 2 * table[:, 0] ** 2 / table[:, 1] + 1)
        assert str(model.equation_) == "y = 2 x1^2/x2 + 1"
        assert model.predict([[0.0, 1.0]])[0] == pytest.approx(1.0)


def test_functions_that_do_nothing_are_left_out():
    table = 1e-12 * X
    y = 2e32 * table[:, 0] ** 2 / table[:, 1] + 1e20
    model = GSRRegressor(random_state=0, max_time=None, max_evals=4000, n_jobs=1).fit(table, y)
    assert str(model.equation_) == "y = 2e32 x1^2/x2 + 1e20"


@pytest.mark.parametrize(
    ("base", "power", "is_solved"),
    [("0.4 + x1", -1.0, True), ("0.4 + x1", 0.5, True), ("0.4 + x1", 0.83, False)],
)
def test_simple_exponents_of_laws_of_the_logarithm_are_written_as_such(base, power, is_solved):
    noise = 1.0 + 0.001 * np.random.default_rng(1).normal(size=len(X))
    before, data = entry(
        f"ln(y) = {power}*ln({base}) + 1.1", 3.0 * (0.4 + X[:, 0]) ** power * noise, exact=False
    )
    solved = with_simple_exponents(before, data)
    assert (solved is not None) == is_solved
    if solved is not None:
        assert str(solved.equation).startswith("y = ")
        assert solved.n_constants < before.n_constants
        assert solved.rmse <= 1.05 * before.rmse


def test_laws_of_the_logarithm_without_powers_stay():
    before, data = entry("ln(y) = -1*x1 + 1.1", 3.0 * np.exp(-X[:, 0]), exact=False)
    assert with_simple_exponents(before, data) is None


def test_terms_whose_operands_cancel_each_other_stay():
    data = Training(LIBRARY, LIBRARY, np.asfortranarray(X), X[:, 1] * np.exp(1.0))
    exp, identity = LIBRARY.code("exp"), LIBRARY.code("identity")
    matrix = [[identity, 2, 2, 30003, 0], [identity, 1, 30003, 0, 0], [exp, 2, 1, -1, 0]]
    law = FittedLaw(
        (matrix,), ([[identity]],), np.ones(1), np.ones(1), 9, 0.0, 0.0, False, 50.0
    )  # fmt: skip
    assert plainer(law, data).phi == (matrix,)
