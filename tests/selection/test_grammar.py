"""Bits of structure: what science writes is cheaper than what it does not."""

import math

import pytest

from gsr.library import Library, Transformation, resolve
from gsr.prior.written_formula import parse
from gsr.selection.grammar import law_structure_bits

ALL = resolve("all")


def bits(law, n_features=None):
    names = [f"x{k}" for k in range(1, 5)]
    used = max((k for k, name in enumerate(names, 1) if name in law), default=1)
    found = parse(law, names, "y", ALL, ALL)[0]
    return law_structure_bits(found.psi, found.phi, ALL, ALL, n_features or used)


#: A usual law, and an odd one that may well follow the same points.
PAIRS = [
    ("y = a*exp(1.7*x1) + b", "y = a*exp(22*x1)/(1 - sin(x1^2))"),
    ("y = a + b*x1 + c*x1^2", "y = a*sin(sqrt(x1)) + b"),
    ("y = a*x1/(1.7 + x1)", "y = a*exp(-5.5/(1 + x1^2))"),
    ("y = a*x1/(1.7 + x1)", "y = a*tanh(sqrt(x1))"),
    ("y = a*exp(0.37*x1)", "y = a*exp(x1)"),
    ("y = a*exp(0.37*x1)", "y = a*exp(x1^2)"),
    ("y = a*exp(0.37*x1^2)", "y = a*exp(x1^2)"),
    ("y = a*exp(0.37*x1)", "y = a*exp(exp(x1))"),
    ("y = a*exp(0.37*x1)", "y = a*exp(sin(x1))"),
    ("y = a*exp(0.37*x1)", "y = a*exp(sqrt(x1))"),
    ("y = a*sin(1.3*x1)", "y = a*sin(x1^2)"),
    ("y = a*sin(1.3*x1 + 0.4)", "y = a*sin(sqrt(x1))"),
    ("y = a*sin(1.3*x1 + 0.4)", "y = a*sin(exp(x1))"),
    ("y = a*sin(1.3*x1 + 0.4)", "y = a*sin(1/x1)"),
    ("y = a*cos(1.3*x1)", "y = a*cos(cos(x1))"),
    ("y = a*ln(x1) + b", "y = a*ln(ln(x1)) + b"),
    ("y = a*ln(x1) + b", "y = a*ln(1 + sqrt(x1))"),
    ("y = a*ln(x1) + b", "y = a*ln(tan(x1))"),
    ("y = a*sqrt(x1) + b", "y = a*sqrt(sin(x1)) + b"),
    ("y = a*sqrt(x1^2 + 1.7)", "y = a*sqrt(exp(x1) + x1)"),
    ("y = a*x1^3", "y = a*tan(x1)^3"),
    ("y = a*x1 + b", "y = a*tan(x1) + b"),
    ("y = a*tanh(1.3*x1)", "y = a*tan(x1^2)"),
    ("y = a/(1.7 + x1)", "y = a/cos(ln(x1))"),
    ("y = a/(1.7 + x1^2)", "y = a/(1 + sin(x1^2))"),
    ("y = a*exp(0.37*x1)*cos(1.9*x1)", "y = a*exp(cos(x1)^2)*cos(sqrt(x1))"),
    ("y = a*x1*x2", "y = a*x1*sin(x2^2)"),
    ("y = a*x1*x2/x3", "y = a*x1*sin(x2)/tanh(x3)"),
    ("y = a*x1^2*x2/(x3 + x4)", "y = a*x1^2*sin(x2)/exp(x3 + x4^2)"),
    ("y = a*x1*exp(-x2/x3)", "y = a*x1*exp(-x2^3*x3^2)"),
    ("y = a*sqrt(x1/x2)", "y = a*sqrt(x1 + ln(x2))"),
    ("y = a*x1^1.37", "y = a*x1*sin(x1)"),
    ("y = a*ln(x1)", "y = a*arctan(0.37*x1)"),
    ("y = a*exp(0.37*x1)", "y = a*arctan(0.37*x1)"),
    ("y = a*exp(0.37*x1)", "y = a*abs(x1)"),
    ("y = a*x1", "y = a*abs(x1)"),
    ("y = a*sqrt(x1)", "y = a*cbrt(x1)"),
    ("y = a*cbrt(x1)", "y = a*cbrt(exp(x1) + x1)"),
    ("ln(y) = a*x1 + b", "sin(y) = a*x1 + b"),
    ("y = a*x1 + b", "ln(y) = a*ln(x1 + sqrt(x1)) + b"),
    ("1/y = a/x1 + b", "tan(y) = a/x1 + b"),
    ("y^2 = a*x1 + b", "tanh(y) = a*x1 + b"),
]


@pytest.mark.parametrize(("usual", "odd"), PAIRS)
def test_usual_laws_are_cheaper(usual, odd):
    assert bits(usual) < bits(odd)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("y = a*exp(-x1)", "y = a/exp(x1)"),
        ("y = a*exp(-0.5*x1)", "y = a*sqrt(exp(-x1))"),
        ("y = a*exp(-0.7*x1)", "y = a*exp(-0.35*x1)^2"),
        ("y = a*x1*sqrt(x1)", "y = a*x1^(3/2)"),
        ("y = a*x1/(1.7 + x1)", "1/y = a/x1 + b"),
        ("y = a*x1/(1.7 + x1)", "y = a/(1 + 0.3/x1)"),
        ("y = a*x1/(1 + 1.7*x1)", "y = a*x1/(1.7 + x1)"),
        ("y = a*exp(0.7*x1)", "ln(y) = a*x1 + b"),
        ("y = a*x1^1.37", "ln(y) = a*ln(x1) + b"),
        ("y = a*sqrt(x1*x2)", "y = a*sqrt(x1)*sqrt(x2)"),
        ("y = a*cbrt(x1*x2)", "y = a*cbrt(x1)*cbrt(x2)"),
        ("y = a*cbrt(x1)^2", "y = a*x1/cbrt(x1)"),
        ("y = a*cbrt(x1)", "y^3 = a*x1"),
        ("y = a*exp(0.7*x1)*exp(0.3*x2)", "y = a*exp(0.7*x1 + 0.3*x2)"),
        ("y = a*ln(x1)", "y = a*ln(1/x1)"),
    ],
)
def test_spellings_cost_the_same(one, other):
    assert bits(one) == pytest.approx(bits(other))


def test_a_hill_curve_is_a_quotient_with_a_real_power():
    inner = [[ALL.code("exp"), 3, 30_003, -1.37], [ALL.code("ln"), 0, 1]]
    hill = [[[-ALL.code("identity"), 3, 30_000, 30_002, 1.0, 0.3], *inner]]
    y = [[[ALL.code("identity")]]]
    found = law_structure_bits(y, hill, ALL, ALL, 1)
    assert bits("y = a*x1/(1.7 + x1)") < found < bits("y = a*exp(-5.5/(1 + x1^2))") - 5.0


def test_exp_neg_is_an_exponential():
    minus = [[[ALL.code("exp_neg"), 0, 1]]]
    plus = [[[ALL.code("exp"), 0, 1]]]
    y = [[[ALL.code("identity")]]]
    assert law_structure_bits(y, minus, ALL, ALL, 1) == law_structure_bits(y, plus, ALL, ALL, 1)


def test_a_constant_inside_is_cheap():
    for plain, with_constant in [
        ("y = a*exp(x1)", "y = a*exp(0.37*x1)"),
        ("y = a*sin(x1)", "y = a*sin(0.37*x1)"),
        ("y = a*x1/(1 + x1)", "y = a*x1/(1.7 + x1)"),
        ("y = a*sqrt(1 + x1^2)", "y = a*sqrt(1.7 + x1^2)"),
    ]:
        assert bits(with_constant) < bits(plain) + 3.0


#: Terms of a law; the last is multiplied by a factor.
LAWS = [
    ["a*x1"],
    ["a*exp(0.3*x1)"],
    ["a*exp(x1)"],
    ["a*x1/(1.7 + x1)"],
    ["a*sin(x1)"],
    ["a", "b*x1", "c*x1^2"],
]
FACTORS = [
    "x2",
    "sqrt(x2)",
    "x2^1.37",
    "sin(x2)",
    "tan(x2)",
    "ln(x2)",
    "exp(0.3*x2)",
    "1/(1.7 + x2)",
]


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("terms", LAWS)
def test_one_more_factor_or_term_never_costs_less(terms, factor):
    alone = bits("y = " + " + ".join(terms), 2)
    assert bits("y = " + " + ".join([*terms[:-1], f"{terms[-1]}*{factor}"]), 2) > alone
    assert bits("y = " + " + ".join([*terms, f"d*{factor}"]), 2) > alone


def test_each_place_of_a_variable_says_which():
    assert bits("y = a*x1*exp(0.3*x2)", 8) == pytest.approx(
        bits("y = a*x1*exp(0.3*x2)", 2) + 2 * math.log2(4)
    )


def test_an_unusual_power_is_written_out():
    """Otherwise x^(3/4) would be as cheap as any other rare power, and cheaper than x^0.73."""
    three_quarters = bits("y = a*sqrt(x1)*sqrt(sqrt(x1))")
    logarithm = [ALL.code("ln"), 0, 1]
    real = [[[ALL.code("exp"), 3, 30_002, 0.73], logarithm]]
    y = [[[ALL.code("identity")]]]
    assert three_quarters > law_structure_bits(y, real, ALL, ALL, 1) + 2.0
    assert three_quarters > bits("y = a*x1*sqrt(x1)") + 2.0


def test_own_transformations_have_a_price():
    own = Library(["identity", "exp", Transformation("erf", lambda t: t, "erf({})")])
    y = [[[own.code("identity")]]]
    usual = law_structure_bits(y, [[[own.code("exp"), 3, 1, 0.37]]], own, own, 1)
    found = law_structure_bits(y, [[[own.code("erf"), 3, 1, 0.37]]], own, own, 1)
    assert usual < found < usual + 10.0


def test_a_coefficient_of_one_is_not_written():
    found = parse("y = a*x1*x2 + b", ["x1", "x2"], "y", ALL, ALL)[0]
    sides = (found.psi, found.phi, ALL, ALL, 2)
    assert law_structure_bits(*sides, signs={0: 1}) != law_structure_bits(*sides)


def test_minus_one_before_a_logarithm_is_a_quotient():
    found = parse("ln(y) = a*ln(0.3 + 1/x1) + b", ["x1"], "y", ALL, ALL)[0]
    sides = (found.psi, found.phi, ALL, ALL, 1)
    assert law_structure_bits(*sides, signs={0: -1}) == bits("y = a/(0.3 + 1/x1)", 1)
    assert law_structure_bits(*sides, signs={0: 1}) == bits("y = a*(0.3 + 1/x1)", 1)


def test_a_constant_alone_is_cheapest():
    y, constant = [[[ALL.code("identity")]]], [[[0]]]
    assert 0.0 < law_structure_bits(y, constant, ALL, ALL, 1) < bits("y = a*x1")
