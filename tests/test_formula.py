"""Formulas as text: what is read, where an error is, and the limits that are checked first."""

import sys
import time

import numpy as np
import pytest
import sympy

from gsr.encoding import encode
from gsr.exceptions import GSRError
from gsr.formula import expression
from gsr.library import PRESETS, Library, Transformation
from gsr.prior.units import parse as parse_unit
from gsr.prior.written_formula import fit_formula, parse

ALL = PRESETS["all"]
X1, X2 = sympy.symbols("x1 x2", real=True)
SYMBOLS = {"x1": X1, "x2": X2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x1*sin(x2) + 1", X1 * sympy.sin(X2) + 1),
        ("2 x1^2 x2", 2 * X1**2 * X2),
        ("x1**Rational(1, 3)", X1 ** sympy.Rational(1, 3)),
        ("atan2(x1, x2)", sympy.atan2(X1, X2)),
        ("Max(x1, x2/2, 0)", sympy.Max(X1, X2 / 2, 0)),
        ("log(x1, 10)", sympy.log(X1, 10)),
        ("ln|x1 - x2|", sympy.log(sympy.Abs(X1 - X2))),
        ("2^-x1^2", 2 ** (-(X1**2))),
        ("-x1^2", -(X1**2)),
        ("1.5e-3*pi", sympy.Float("1.5e-3") * sympy.pi),
        ("exp(2 ln(3 x1))", 9 * X1**2),
    ],
)
def test_text_becomes_an_expression(text, expected):
    assert expression(text, SYMBOLS) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x1 @ x2", "column 4: '@' has no meaning"),
        ("x1 + (x2", r"column 9: a \) is missing"),
        ("x1 + ", "column 6: it ends too early"),
        ("x1 + foo(x2)", "column 6: 'foo' is no function"),
        ("x1 + 9e999", "column 6: the number 9e999 is out of range"),
        ("x1, x2", "column 3: ',' has no meaning"),
        ("x1 + x3", "'x3' is not one of the variables x1, x2"),
        ("x1 = x2", "without '='"),
        ("1 + x2 (x1 + 2)^99", r"the part '\(x1 \+ 2\)\^99' of the formula has a power above 64"),
        ("x1 + x2/(1 - 1)", r"the part 'x2/\(1 - 1\)' of the formula divides by 0"),
        ("sin + x1", "needs its argument in brackets"),
        ("sin(x1, x2)", r"takes 1 argument\(s\), not 2"),
        ("x1.__class__", "column 3: '.' has no meaning"),
        ("[x1 for x1 in (1,)]", "column 1"),
        ("lambda: x1", "column 7: ':' has no meaning"),
        ("__import__('os').getcwd()", "column 1: '__import__' is no function|column 12"),
        ("x1 if x1 else x2", "is not one of the variables"),
    ],
)
def test_errors_name_the_column(text, message):
    with pytest.raises(GSRError, match=message):
        expression(text, SYMBOLS)


HOSTILE = [
    "(3 x1)^99999999",
    "(3 x1)^-99999999",
    "(x1 + 3)^1e9",
    "((((((3 x1)^60)^60)^60)^60)^60)^60",
    "(x1 x2 7)^(2^30)",
    "9^9^9^9^9 x1",
    "x1/9^9^9^9",
    "1e99^1e99 x1",
    "exp(99999999 ln(3 x1))",
    "exp(x2 + 99999999 ln(3 x1))",
    "3^(99999999 ln(3 x1)/ln(3))",
    "10^(99999999 log10(3 x1))",
    "exp(exp(exp(99))) x1",
    "9" * 5000 + " x1",
    "x1" * 500_000,
    "x1 + " * 500_000,
    "(" * 4000 + "x1",
    "-" * 4000 + "x1",
    "2^" * 2000 + "x1",
    "sin(" * 1000 + "x1",
    "|" * 4000,
    " " * 1_000_000,
    "x1" + "!" * 4000,
    "1" + " " * 4990 + "@",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_formulas_are_refused_at_once(text):
    before = time.process_time()
    with pytest.raises(GSRError) as caught:
        expression(text, SYMBOLS)
    with pytest.raises(GSRError):
        encode(text, ALL, 2)
    with pytest.raises(GSRError):
        parse(f"y = {text}", ["x1", "x2"], "y", ALL, ALL)
    assert time.process_time() - before < 2.0
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["square", "cube"])
def test_nested_powers_do_not_grow_without_end(name):
    text = f"{name}(" * 30 + "3 x1" + ")" * 30
    with pytest.raises(GSRError, match=r"power above 64|out of range"):
        parse(text, ["x1"], "y", ALL, ALL)
    own = Transformation("fourth", lambda t: t**4, "{}**4")
    with pytest.raises(GSRError, match=r"power above 64|out of range"):
        parse(text.replace(name, "fourth"), ["x1"], "y", Library(["identity", own]), ALL)


@pytest.mark.parametrize("text", ["factorial(99999999) x1", "gamma(1e9) x1", "harmonic(9^9) x1"])
def test_functions_that_are_written_out_have_small_arguments(text):
    with pytest.raises(GSRError, match="out of range"):
        expression(text, SYMBOLS)


def test_terms_of_a_search_have_the_same_limits():
    X = np.ones((5, 1))
    for text in ("y = (3 x1)^99999999", "y = a (b x1)^99999999"):
        with pytest.raises(GSRError, match="power above 64"):
            fit_formula(text, X, X[:, 0])


def test_templates_evaluate_no_python():
    for template in ("__import__('os').getcwd() + {}", "{}.__class__", "[{}][0]"):
        own = Transformation("own", lambda t: t, template)
        with pytest.raises(GSRError, match="cannot be read"):
            Library(["identity", own]).sympy(2, X1)


@pytest.mark.parametrize(
    "unit",
    [
        "1e99999999",
        "m^1e99999999",
        "m^99999999^99999999",
        "10^10^10^10 m",
        "m^" + "9" * 900,
        "(" * 900 + "m",
        "m" * 1_000_000,
        {"m": "1e99999999"},
        {"m": "9" * 5000},
        {"m": 10**400},
        {"m": float("inf")},
        {"m": "1/0"},
    ],
    ids=range(12),
)
def test_hostile_units_are_refused_at_once(unit):
    before = time.process_time()
    with pytest.raises(GSRError) as caught:
        parse_unit(unit)
    assert time.process_time() - before < 1.0
    assert len(str(caught.value)) < 500


def test_deep_formulas_do_not_depend_on_the_stack():
    text = "sin(" * 39 + "x1" + ")" * 39
    left = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(900)
        assert expression(text, SYMBOLS).count_ops() == 39
    finally:
        sys.setrecursionlimit(left)
