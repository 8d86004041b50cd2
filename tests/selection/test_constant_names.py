"""Names of constants that say where they stand."""

import numpy as np
import pytest

from fitted_laws import LIBRARY, ONE, law
from gsr.equation import Equation
from gsr.selection.entry import constant_names
from gsr.selection.fitted import constants

X = np.random.default_rng(0).uniform(0.5, 2, (20, 2))
Y = np.linspace(1, 2, 20)
SINE = [[7, 3, 1, 30000, 9.8, -0.3]]
POWER = [[10, 3, 30002, 0.7], [11, 0, 1]]


def named(phi, psi=([[1]],), names=("x1", "x2")):
    found = law(phi, np.arange(2.0, 2.0 + len(phi)), psi, np.arange(1.0, 1.0 + len(psi)))
    sides = found.psi, found.beta, found.phi, found.alpha
    equation = Equation.from_data(LIBRARY, LIBRARY, *sides, X, Y, feature_names=names)
    values = constants(found)
    return {each.name: values[each.place] + each.shift for each in constant_names(found, equation)}


@pytest.mark.parametrize(
    ("phi", "shown"),
    [
        ([ONE, [[1, 0, 1]]], {"coefficient of x1": 3.0, "constant": 2.0}),
        ([[[1, 1, 1, -2]]], {"coefficient of (x1 - x2)": 2.0}),
        ([SINE], {"coefficient of sin(c1 + c2 x1)": 2.0, "c1": -0.3, "c2": 9.8}),
        ([POWER], {"coefficient of x1^c1": 2.0, "c1": 0.7}),
        ([[[1, 0, 1], [10, 3, 30003, 0.7], [11, 0, 1]]],
         {"coefficient of x1^c1": 2.0, "c1": 1.7}),
        ([[[-10, 3, 30002, 0.7], [11, 0, 1]]], {"coefficient of 1/x1^c1": 2.0, "c1": 0.7}),
        ([ONE, SINE, POWER],
         {"coefficient of sin(c1 + c2 x1)": 3.0, "c1": -0.3, "c2": 9.8,
          "coefficient of x1^c3": 4.0, "c3": 0.7, "constant": 2.0}),
    ],
)  # fmt: skip
def test_constants_are_named_by_where_they_stand(phi, shown):
    found = named(phi)
    assert found == pytest.approx(shown)
    assert list(found) == list(shown)


def test_the_left_side():
    psi = ([[10, 3, 1, 1.5]], [[1]])
    found = named([[[1, 0, 1]]], psi)
    expected = {"c1 in exp(c1 y)": 1.5, "coefficient of y": 2.0, "coefficient of x1": 2.0}
    assert found == expected


def test_exponents_that_are_added_up():
    twice = [[10, 3, 30002, 0.7], [11, 0, 1], [10, 3, 30004, 0.25], [11, 0, 1]]
    found = named([twice])
    assert found == {
        "coefficient of x1^0.95": 2.0, "c1 in x1^0.95": 0.7, "c2 in x1^0.95": 0.25
    }  # fmt: skip


def test_names_of_variables():
    assert set(named([SINE], names=("c1", "x2"))) == {"coefficient of sin(k1 + k2 c1)", "k1", "k2"}
    assert set(named([SINE], names=("`200000 kg".strip("`"), "x2"))) == {
        "coefficient of sin(c1 + c2 `200000 kg`)", "c1", "c2"
    }  # fmt: skip
