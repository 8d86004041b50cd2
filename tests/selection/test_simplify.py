"""Readable forms of laws, and laws that say the same."""

import time

import numpy as np
import pytest
import sympy

from gsr.encoding.sympy_forms import with_cube_roots, without_cube_roots, written
from gsr.encoding.writing import html, text, weighted_sum
from gsr.library import PRESETS
from gsr.selection import simplify
from gsr.selection.simplify import duplicates, explicit, implicit, simplified
from sympy_values import parsed_text, values
from test_equation import law

ALL = PRESETS["all"]
X = np.random.default_rng(0).uniform(0.5, 2, (50, 3))
A, B, C = X.T
Y = [(1, "y")]


@pytest.mark.parametrize(
    ("right", "y", "shown"),
    [
        ([(1, "x1 - x2")], A - B, "y = x1 - x2"),
        ([(0.97, "x1 - x2")], A - B, "y = 0.97 (x1 - x2)"),
        ([(1, "x3"), (1, "x1 - x2")], A - B + C, "y = x3 + x1 - x2"),
        ([(1, "x3"), (-1, "x1 - x2")], C - A + B, "y = x2 + x3 - x1"),
        ([(2, "1 + x1*x3 - x2"), (-1.5, "1")], A * C - B, "y = 2 x1 x3 - 2 x2 + 0.5"),
        ([(0.5, "1 + x1*x3 - x2"), (-1.5, "1")], A * C - B, "y = 0.5 (x1 x3 - x2) - 1"),
        ([(0.9, "x1 - x2"), (-0.25, "x2")], A - B, "y = 0.9 x1 - 1.15 x2"),
        ([(1, "sqrt(exp(x3) + 1/exp(x3))")], C, "y = sqrt(exp(x3) + exp(-x3))"),
        ([(2.5, "x1^2/(1 + x2)")], A, "y = 2.5 x1^2/(1 + x2)"),
    ],
)
def test_implicit(right, y, shown):
    assert implicit(law(Y, right, X, y), X) == shown


@pytest.mark.parametrize(
    ("left", "right", "y", "shown"),
    [
        ("y", [(1, "x1 - x2")], A - B, "y = x1 - x2"),
        ("ln(y)", [(2.0, "ln(x1)"), (np.log(162.43), "1")], A**2, "y = 162.43 x1^2"),
        ("y^2", [(0.97, "x1"), (0.97, "x2")], A, "y = sqrt(0.97 (x1 + x2))"),
        ("y^2", [(0.9999999999999999, "x1"), (2, "x2")], A, "y = sqrt(x1 + 2 x2)"),
        ("1/y", [(0.5, "x1*x2/x3")], A, "y = 2 x3/(x1 x2)"),
        ("sqrt(y)", [(0.5, "x1"), (3, "1")], A, "y = (0.5 x1 + 3)^2"),
        ("exp(y)", [(1, "exp(x1)")], A, "y = x1"),
        ("y", [(1, "ln(2 + x1)")], A, "y = ln(2 + x1)"),
        ("y^2", [(1, "x1")], A * np.where(B > 1, 1, -1), "y = sqrt(x1) or y = -sqrt(x1)"),
        ("y + exp(y)", [(1, "x1")], A, ""),
    ],
)
def test_explicit(left, right, y, shown):
    terms = [(1, each) for each in left.split(" + ")]
    found = law(terms, right, X, y)
    assert explicit(found, X) == shown
    assert explicit(law(terms, right, X, y)) == shown  # without training rows


def test_any_names_are_safe():
    names = ["a = b", "exp", "c"]
    found = law([(1, "y^2")], [(1, "x1*x2")], X, A, feature_names=names, target_name="y = z")
    assert implicit(found, X) == "`y = z`^2 = `a = b` `exp`"
    assert explicit(found, X) == "`y = z` = sqrt(`a = b` `exp`)"


x1, x2 = sympy.symbols("x1 x2", real=True)


@pytest.mark.parametrize("form", [x1, x1 * x2 + 1e-6, sympy.sqrt(x1 * x2 - 1.4)])
def test_forms_with_other_values_are_dropped(monkeypatch, form):
    monkeypatch.setattr(simplify, "_forms", lambda *_: iter([form]))
    expression = x1 * x2 + x1**2 - x1 * (x1 + 0)
    long = sympy.Add(x1 * x2, sympy.Mul(x1, x1 - x1, evaluate=False), evaluate=False)
    for law_itself in (expression, long):
        assert simplified(law_itself, ["x1", "x2"], X[:, :2]) is law_itself


def test_longer_forms_are_dropped(monkeypatch):
    monkeypatch.setattr(simplify, "_forms", lambda *_: iter([sympy.exp(sympy.log(x1 * 2) + 0)]))
    assert simplified(2 * x1, ["x1"], X[:, :1]) == 2 * x1
    longer = sympy.sin(x1) ** 2 + sympy.cos(x1) ** 2 + x1
    monkeypatch.setattr(simplify, "_forms", lambda *_: iter([longer]))
    assert simplified(x1 + 1, ["x1"], X[:, :1]) == x1 + 1


def test_shorter_forms_are_found():
    expression = sympy.sin(x1 * x2) ** 2 + sympy.cos(x1 * x2) ** 2 + x1 / x2
    found = simplified(expression, ["x1", "x2"], X[:, :2], 60)
    assert not found.has(sympy.sin)
    assert sympy.simplify(found - x1 / x2) == 1


def test_time_is_limited(monkeypatch):
    def endless(expression):
        while True:
            time.sleep(0.001)

    for name in ("powsimp", "factor_terms", "cancel", "simplify"):
        monkeypatch.setattr(sympy, name, endless)
    expression = sympy.sin(x1 * x2) ** 2 + sympy.cos(x1 * x2) ** 2 + x1 / x2
    assert simplified(expression, ["x1", "x2"], X[:, :2], 0.01) == expression


def test_duplicates():
    laws = [
        law(Y, [(2, "x1^2*x2")], X, A),
        law([(1, "ln(y)")], [(2, "ln(x1)"), (1, "ln(x2)"), (np.log(2), "1")], X, A),
        law(Y, [(2.000001, "x1^2*x2")], X, A),
        law([(1, "1/y")], [(0.5, "1/(x1^2*x2)")], X, A),
        law([(1, "y^2")], [(-1, "x1")], X, A),
        law([(1, "y^2")], [(-1, "x1")], X, A),
    ]
    assert duplicates(laws, X) == {1: 0, 3: 0}


# ---- text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "shown"),
    [
        ([[1, 2, 1, 1, 1, 1], [-1, 0, 1, 0, 0, 0]], "x1^3"),
        ([[1, 0, 1], [-1, 0, 1]], "1"),
        ([[3, 1, 1, -2], [-1, 1, 1, -2]], "(x1 - x2)"),
        ([[6, 0, 1], [-6, 0, 1], [1, 0, 2]], "x2"),
        ([[11, 0, 1], [-11, 0, 2], [1, 0, 1]], "x1 ln(x1)/ln(x2)"),
        ([[1, 0, 2], [-10, 0, 1]], "x2 exp(-x1)"),
        ([[1, 0, 2], [-12, 1, 1, -2]], "x2 exp(x1 - x2)"),
    ],
)
def test_powers_cancel(matrix, shown):
    assert text(matrix, ALL) == shown
    assert text(matrix, ALL, coefficient="2.5") == ("2.5" if shown == "1" else f"2.5 {shown}")


def test_brackets_stay_where_something_multiplies_them():
    terms = [(-1, "(a - b)"), (1, "(-c - d)"), (1, "(a) (b)"), (2, "(e + f)"), (1, "(`)` + g)")]
    shown = weighted_sum([(c, lambda n, t=t: f"{n} {t}".strip()) for c, t in terms])
    assert shown == "-(a - b) - c - d + (a) (b) + 2 (e + f) + `)` + g"


@pytest.mark.parametrize(
    "formula",
    [
        "x1**2.25*exp(-0.5*x1)/(x2**1.2*x3)",
        "x1**(2/3)/(3*x2)",
        "2/3*x1 - x2/7",
        "(x1 + x2)**(-0.5) - sqrt(x3)",
        "1/(1 + exp(-x1*x2))",
        "-x1**-2/sin(x3)**3",
        "2**x1 + x2**x3 + x1**(-x2)",
        "0.25*x1 - 0.25*sin(x2)*x3 - 0.25*x3 + 1.5",
        "-1e-7*x1*exp(2.5e8*x2 - 2.5e8*x2) + 1e12*x3",
        "pi*x1/4 + tanh(x2)**2/(x1 + 1)**2",
        "(x1 - x2)*(x1 + x3)/((x2 + x3)*x1)",
        "-x1 - 3",
    ],
)
def test_written_forms_mean_what_they_say(formula):
    expression = sympy.sympify(formula)
    expression = expression.xreplace(
        {s: sympy.Symbol(s.name, real=True) for s in expression.atoms(sympy.Symbol)}
    )
    again = parsed_text(written(expression))
    np.testing.assert_allclose(values(again, X), values(expression, X), rtol=2e-6)


def test_a_number_below_needs_no_brackets():
    x1, x2 = sympy.symbols("x1 x2")
    assert written(1.5 * sympy.exp(-x1 / 3)) == "1.5 exp(-x1/3)"
    assert written(x1 / (3 * x2)) == "x1/(3 x2)"


def test_bars_are_written():
    size = sympy.Abs(x1 - x2)
    assert written(2 * sympy.log(size) + size**1.5 / x1) == "2 ln|x1 - x2| + |x1 - x2|^1.5/x1"
    assert written(sympy.log(sympy.Abs(size - 2))) == "ln(abs(|x1 - x2| - 2))"


def root(t):
    return sympy.sign(t) * sympy.Abs(t) ** sympy.Rational(1, 3)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (root(x1), "cbrt(x1)"),
        (2.5 * root(x1**2 * x2) / x1, "2.5 cbrt(x2 x1^2)/x1"),
        (1 / root(x1 - 2), "1/cbrt(x1 - 2)"),
        (root(x1) ** 2 - sympy.Abs(x1) ** sympy.Rational(2, 3), "cbrt(x1)^2 - |x1|^(2/3)"),
        (root(root(x1) + 1), "cbrt(cbrt(x1) + 1)"),
        (sympy.sqrt(root(x1)) * sympy.Abs(root(x2)), "sqrt(cbrt(x1)) |cbrt(x2)|"),
        (sympy.sign(x1) * x2, "x2 sign(x1)"),
        (sympy.sign(x1) * sympy.sqrt(sympy.Abs(x1)), "sqrt(|x1|) sign(x1)"),
        (sympy.atan(2.5 * x1), "arctan(2.5 x1)"),
    ],
)
def test_cube_roots_are_written_as_such(expression, shown):
    assert written(expression) == shown
    assert without_cube_roots(with_cube_roots(expression)) == expression


def test_html():
    shown = html("`a<b`^2 = -1.5e-7 x12 ln|x_1|/(1 + mass) + x3^(2/3)")
    assert shown == (
        "<i>a&lt;b</i><sup>2</sup> = −1.5·10<sup>−7</sup> <i>x</i><sub>12</sub>"
        " ln|<i>x</i><sub>1</sub>|/(1 + <i>mass</i>) + <i>x</i><sub>3</sub><sup>2/3</sup>"
    )


def test_forms_with_cases_are_passed_over(monkeypatch):
    """SymPy writes some powers of |x| as a case for each sign, which no law has."""
    x = sympy.Symbol("x", real=True)
    law = sympy.sin(x) * sympy.Abs(x) ** 2.5 / (1 + x**2) + sympy.exp(x)
    cases = sympy.Piecewise((x, x > 0), (-x, True))
    monkeypatch.setattr(sympy, "simplify", lambda form: cases)
    rows = np.linspace(0.1, 2.0, 20)[:, None]
    assert simplify.simplified(law, ["x"], rows, seconds=5.0).has(sympy.Piecewise) is False
