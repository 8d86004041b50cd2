import collections
import dataclasses
import pickle
import random

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq

from drawn_laws import wider_matrix
from gsr.encoding import encode, encode_target, evaluate
from gsr.encoding.fold import values_of
from gsr.encoding.rows import combined, factors, variable
from gsr.library import PRESETS, Library, Transformation
from gsr.prediction.inversion import (
    Branches,
    Inversion,
    Neighbours,
    SignRule,
    closed_form,
    eliminated_rule,
    parity_rule,
)
from gsr.prediction.roots import Function, Scan, bracketed_roots

ALL = PRESETS["all"]
RNG = np.random.default_rng(0)
X1_PLUS_X2 = combined(False, [(1, 1), (2, 1)])


def learned(terms, y, X=None, logarithms=()):
    """Inversion of g = sum of (coefficient, formula), from training data."""
    psi = [encode_target(formula, ALL) for _, formula in terms]
    beta = np.array([c for c, _ in terms])
    X = np.zeros((len(y), 1)) if X is None else X
    return Inversion.learn(ALL, psi, beta, X, y, logarithms)


def solved(inversion, v, X=None):
    v = np.asarray(v, dtype=float)
    return inversion.solve(v, np.zeros((len(v), 1)) if X is None else X)


# ---- one transformation ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "low", "high"),
    [
        ("y", -3, 5),
        ("1/y", 0.5, 4),
        ("1/y", -4, -0.5),
        ("y^2", 0.5, 4),
        ("y^2", -4, -0.5),
        ("y^3", -2, 2),
        ("sqrt(y)", 0, 9),
        ("cos(y)", 0.1, 3.1),
        ("cos(y)", 3.2, 6.2),
        ("cos(y)", -9.4, -6.3),
        ("sin(y)", -1.5, 1.5),
        ("sin(y)", 1.6, 4.7),
        ("sin(y)", 14.2, 17.2),
        ("tan(y)", 2, 4),
        ("tanh(y)", -3, 3),
        ("exp(y)", -3, 3),
        ("exp(-y)", -3, 3),
        ("ln(y)", 0.01, 40),
        ("ln(y)", -40, -0.01),
        ("y^3 sqrt(y)", 0.5, 2),
        ("y^2/y^3", 0.5, 2),
    ],
)
def test_one_branch_is_inverted_exactly(formula, low, high):
    y = np.linspace(low, high, 101)
    inversion = learned([(1.0, formula)], y)
    values, all_solved, guessed = solved(inversion, inversion.function(y))
    assert all_solved.all()
    assert not guessed.any()
    np.testing.assert_allclose(values, y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("formula", "low", "high", "outside"),
    [
        ("y^2", 1, 2, [0.1, 1e3]),
        ("y^2", -2, -1, [-0.1, -1e3]),
        ("ln(y)", 1, 2, [1e-30, 1e30]),
        ("cos(y)", 3.5, 6, [3.2, 6.2]),
        ("exp(y)", 0, 1, [-500, 600]),
    ],
)
def test_the_branch_is_kept_outside_the_training_range(formula, low, high, outside):
    inversion = learned([(1.0, formula)], np.linspace(low, high, 30))
    outside = np.array(outside, dtype=float)
    values, *_ = solved(inversion, inversion.function(outside))
    np.testing.assert_allclose(values, outside, rtol=1e-9)


def test_all_branches_of_a_periodic_function_are_candidates():
    closed = closed_form(ALL, encode_target("cos(y)", ALL))
    found = closed.candidates(np.array([0.5]), 0.0, 12.0)[:, 0]
    truth = [s * np.pi / 3 + 2 * np.pi * k for s in (1, -1) for k in range(3)]
    truth = [t for t in truth if 0 <= t <= 12]
    assert len(truth) == 4
    for t in truth:
        assert np.abs(found - t).min() < 1e-12


def test_powers_of_several_rows_have_a_closed_form():
    odd = closed_form(ALL, encode_target("y^3 y^2", ALL))
    np.testing.assert_allclose(odd.candidates(np.array([-32.0, 32.0]), 0, 1), [[-2.0, 2.0]])
    even = closed_form(ALL, [[1], [4]])
    np.testing.assert_allclose(even.candidates(np.array([16.0]), 0, 1), [[2.0], [-2.0]])
    assert np.isnan(even.candidates(np.array([-16.0]), 0, 1)).all()
    assert closed_form(ALL, [[1], [2]]) is None


def test_own_transformation_with_and_without_inverse():
    y = np.linspace(-2, 2, 41)
    for inverse in (np.sinh, None):
        own = Transformation("arsinh", np.arcsinh, "asinh({})", inverse=inverse)
        library = Library(["identity", own])
        inversion = Inversion.learn(library, [[[2]]], np.ones(1), y[:, None], y)
        assert (inversion.closed is None) == (inverse is None)
        values, *_ = inversion.solve(np.arcsinh(y), y[:, None])
        np.testing.assert_allclose(values, y, rtol=1e-10, atol=1e-12)


def test_a_wrong_inverse_is_not_believed():
    y = np.linspace(1, 2, 41)
    own = Transformation("arsinh", np.arcsinh, "asinh({})", inverse=np.cosh)
    inversion = Inversion.learn(Library([own]), [[[1]]], np.ones(1), y[:, None], y)
    values, *_ = inversion.solve(np.arcsinh(y), y[:, None])
    np.testing.assert_allclose(values, y, rtol=1e-10)


# ---- chains ----------------------------------------------------------------------------------

# Formula, range of y, steps of the closed form.
CHAINS = [
    ("log(1 + 1/y)", 0.1, 5, 3),
    ("log(1 + 1/y)", -0.9, -0.1, 3),
    ("1/(y - 1)", 1.2, 4, 2),
    ("1/(y - 1)", -4, 0.9, 2),
    ("log(y^2 - 1)", 1.1, 4, 3),
    ("log(y^2 - 1)", -0.9, -0.1, 3),
    ("log(sin(y))", 0.1, 1.5, 2),
    ("log(sin(y))", 8, 9.3, 2),
    ("exp(y) - 1", -2, 2, 2),
    ("sqrt(1 + y^2)", -3, -0.2, 3),
    ("1/cos(y)", 3.3, 4.6, 2),
    ("exp(-y^2)", 0.1, 1.5, 2),
    ("sin(1/y)", 0.3, 0.6, 2),
    ("tanh(0.5*y - 1)", 0, 4, 2),
    ("(2*y - 3)^3", -1, 4, 2),
    ("y/(1 + y)", 0.1, 5, 1),
    ("exp(y)/(1 + exp(y))", -2, 2, 2),
    ("(y - 1)^2/(1 + y)^2", 1.1, 5, 2),
    ("abs(y)", -3, -1, 1),
    ("sqrt(abs(y - 1))", -3, -1, 3),
    ("cbrt(y)", -3, 1, 1),
    ("cbrt(y)^2", -3, -1, 1),
    ("y cbrt(y)^2", -3, 1, 1),
    ("1/cbrt(1 + y^2)", 0.1, 3, 3),
    ("arctan(2*y + 1)", -3, 1, 2),
    ("cos(sin(y))", 0.1, 1.5, 2),
]


@pytest.mark.parametrize(("formula", "low", "high", "steps"), CHAINS)
def test_chains_have_a_closed_inverse(formula, low, high, steps):
    y = np.linspace(low, high, 41)
    inversion = learned([(3.0, formula)], y)
    assert len(inversion.closed.steps) == steps
    inversion.scan = None  # the closed form alone must do
    values, all_solved, guessed = solved(inversion, inversion.function(y))
    assert all_solved.all()
    assert not guessed.any()
    np.testing.assert_allclose(values, y, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("formula", ["y + exp(y)", "y sin(y)", "cos(y + y^2)", "y^2/(1 + y)"])
def test_what_is_no_chain_is_scanned(formula):
    y = np.linspace(0.1, 0.7, 41)
    inversion = learned([(1.0, formula)], y)
    assert inversion.closed is None
    values, all_solved, _ = solved(inversion, inversion.function(y))
    assert all_solved.all()
    np.testing.assert_allclose(values, y, rtol=1e-9)


def test_every_branch_of_a_chain_is_a_candidate():
    closed = closed_form(ALL, encode_target("log(sin(y)^2)", ALL))
    found = closed.candidates(np.array([np.log(0.25)]), 0.0, 7.0)[:, 0]
    for truth in (k * np.pi + s * np.pi / 6 for k in (0, 1, 2) for s in (1, -1)):
        assert np.nanmin(np.abs(found - truth)) < 1e-9


def test_random_chains_give_back_every_y():
    rng = random.Random(3)
    steps = collections.Counter()
    for _ in range(400):
        matrix = wider_matrix(rng, ALL, d=1)
        y = np.array([rng.uniform(-2, 2) for _ in range(30)])
        g = evaluate([matrix], ALL, y[:, None])[:, 0]
        fine = np.isfinite(g) & (np.abs(g) < 1e6) & (np.abs(g) > 1e-6)
        closed = closed_form(ALL, matrix)
        if closed is None or not fine.any() or np.ptp(g[fine]) == 0:
            continue
        candidates = closed.candidates(g[fine], -2.0, 2.0)
        if np.isnan(candidates).all():  # too many branches to list
            continue
        steps[len(closed.steps)] += 1
        candidates[~np.isfinite(candidates)] = np.inf
        off = np.abs(candidates - y[fine]).min(axis=0)
        assert (off < 1e-4).all(), matrix
    assert steps[2] > 20
    assert steps[3] > 5


@pytest.mark.parametrize("formula", ["1/ln(y)", "ln(y)^2", "y + 1", "y ln(y)", "ln(y) + 1"])
def test_what_is_no_lone_logarithm(formula):
    assert learned([(2.0, formula)], np.linspace(1.5, 2, 20)).logarithm is None


@pytest.mark.parametrize("formula", ["ln(y)", "ln(1 + 1/y)", "ln(2.5*y)", "ln(y^2 - 1)"])
def test_lone_logarithms_know_their_argument(formula):
    y = np.linspace(-3, 3, 20)
    inversion = learned([(2.0, formula)], y)
    known = np.isfinite(inversion.function(y))
    inside = values_of(inversion.logarithm, y[known, None], ALL)
    np.testing.assert_allclose(2 * np.log(np.abs(inside)), inversion.function(y[known]))
    # Only then the sign of the argument is the sign that is lost.
    assert inversion.is_logarithm == (formula != "ln(y^2 - 1)")


def test_the_sign_of_what_the_logarithm_holds_is_known():
    X = RNG.uniform(-2, 2, (60, 2))
    y = 1 / (X[:, 0] / X[:, 1] - 1)
    terms = [(1.0, variable(1)), (-1.0, variable(2))]
    inversion = learned([(1.0, "ln(1 + 1/y)")], y, X, terms)
    assert inversion.branches.sign == SignRule(1, (variable(1), variable(2)))
    new = RNG.uniform(-5, 5, (40, 2))
    truth = 1 / (new[:, 0] / new[:, 1] - 1)
    values, _, guessed = inversion.solve(np.log(np.abs(new[:, 0] / new[:, 1])), new)
    np.testing.assert_allclose(values, truth, rtol=1e-8)
    assert not guessed.any()


def test_solutions_that_no_training_row_has_come_last():
    X = RNG.uniform(-2, 2, (80, 2))
    y = np.sign(X[:, 1]) * np.sqrt(1 + np.exp(X[:, 0]))  # never between -1 and 1
    inversion = learned([(1.0, "ln(y^2 - 1)")], y, X)
    assert inversion.branches.sign == SignRule(1, (variable(2),))
    values, _, guessed = inversion.solve(X[:, 0], X)
    np.testing.assert_allclose(values, y, rtol=1e-12)
    assert not guessed.any()


def test_signs_of_composite_arguments():
    X = RNG.uniform(-2, 2, (60, 2))
    matrix = encode("ln(x1^2 - sin(x2))", ALL, 2)
    argument = factors(matrix, ALL)[0].argument
    inside = X[:, 0] ** 2 - np.sin(X[:, 1])
    assert (inside > 0).any()
    assert (inside < 0).any()
    rule = parity_rule(X, -(inside**3), [(3.0, argument)], 1.0, ALL)
    assert rule == SignRule(-1, (argument,))
    np.testing.assert_array_equal(rule(X), -np.sign(inside))
    assert parity_rule(X, np.abs(inside), [(3.0, argument)], 1.0, ALL) is None
    y = np.sign(inside * X[:, 0])
    assert set(eliminated_rule(X, y, [argument], ALL).arguments) == {argument, variable(1)}


# ---- root finding ----------------------------------------------------------------------------


def test_y_exp_y_is_the_lambert_function():
    inversion = learned([(1.0, "y exp(y)")], np.linspace(0.1, 2, 50))
    v = np.array([1e-8, 0.01, 0.5, 3.0, 50.0, 1e6, -0.2, -0.36])
    values, all_solved, _ = solved(inversion, v)
    assert all_solved.all()
    truth = [float(mpmath.lambertw(x).real) for x in v]
    np.testing.assert_allclose(values, truth, rtol=1e-10)


def test_the_lower_branch_is_learned_too():
    inversion = learned([(1.0, "y exp(y)")], np.linspace(-4, -1.2, 50))
    v = np.array([-0.36, -0.2, -0.01])
    values, *_ = solved(inversion, v)
    truth = [float(mpmath.lambertw(x, -1).real) for x in v]
    np.testing.assert_allclose(values, truth, rtol=1e-8)


@pytest.mark.parametrize(
    ("terms", "low", "high"),
    [
        ([(1.0, "y^2"), (-8.0, "y")], 4.5, 9),
        ([(1.0, "y^2"), (-8.0, "y")], -3, 3.5),
        ([(1.0, "y"), (0.5, "sin(y)")], -20, 20),
        ([(1.0, "ln(y)"), (1.0, "y")], 1e-3, 10),
        ([(1.0, "exp(y)"), (-1.0, "exp(-y)")], -5, 5),
        ([(1.0, "y cos(y)")], 1, 3.1),
        ([(1.0, "1/y"), (-1.0, "y^3")], 0.2, 3),
    ],
)
def test_roots_agree_with_brentq(terms, low, high):
    inversion = learned(terms, np.linspace(low, high, 60))
    targets = RNG.uniform(low, high, 40)
    v = inversion.function(targets)
    values, all_solved, _ = solved(inversion, v)
    assert all_solved.all()

    def residual(y, goal):
        return float(inversion.function(np.array([y]))[0]) - goal

    truth = [brentq(residual, low, high, args=(goal,), xtol=1e-14, rtol=1e-14) for goal in v]
    np.testing.assert_allclose(values, truth, rtol=1e-9, atol=1e-10)


def test_roots_far_outside_the_range():
    inversion = learned([(1.0, "y^2"), (-8.0, "y")], np.linspace(5, 6, 20))
    y = np.array([4.01, 20.0, 1e4, 1e8])
    values, *_ = solved(inversion, y**2 - 8 * y)
    np.testing.assert_allclose(values, y, rtol=1e-8)


def test_a_pole_is_not_a_root():
    function = Function(lambda y: (1 / y)[:, None])
    scan = Scan(function, -1.0, 2.0)
    found = scan.solve(np.array([0.0, 4.0, -2.0]))
    assert not np.isfinite(found[:, 0]).any()
    np.testing.assert_allclose(np.nanmax(found[:, 1:], axis=0), [0.25, -0.5], rtol=1e-12)


@pytest.mark.parametrize(
    ("terms", "low", "high", "y"),
    [
        ([(1.0, "cos(y)")], 0.1, 3, np.pi / 2),
        ([(1.0, "sin(y)")], 2, 4, np.pi),
        ([(1.0, "tan(y)")], 2, 4, np.pi),
        ([(1.0, "y cos(y)")], 1, 3, np.pi / 2),
        ([(1.0, "cos(y)"), (1.0, "sin(y)")], 1, 3, 3 * np.pi / 4),
        ([(1.0, "ln(y)")], 0.5, 3, 1.0),
    ],
)
def test_roots_where_g_passes_through_zero(terms, low, high, y):
    values, _, guessed = solved(learned(terms, np.linspace(low, high, 20)), [0.0])
    assert values[0] == pytest.approx(y, rel=1e-12)
    assert not guessed[0]


def test_rivals_where_g_passes_through_zero():
    values, _, guessed = solved(learned([(1.0, "sin(y)")], np.linspace(-1, 4, 20)), [0.0])
    assert guessed[0]  # 0 and pi
    assert min(abs(values[0]), abs(values[0] - np.pi)) < 1e-12


@pytest.mark.parametrize("off", [0.3, 0.01, 1e-4, 1e-9])
@pytest.mark.parametrize(
    ("terms", "low", "high", "pole", "side"),
    [
        ([(1.0, "ln(1 + y)"), (0.5, "sqrt(1 + y^2)")], 0.2, 3, -1.0, 1),
        ([(1.0, "1/(1 + y)"), (-1.0, "y")], 0.2, 3, -1.0, 1),
        ([(1.0, "1/(1 + y)"), (-1.0, "y")], 200, 300, -1.0, 1),
        ([(1.0, "tan(y)"), (1.0, "y")], 0.1, 1, np.pi / 2, -1),
        ([(1.0, "1/sin(y)"), (1.0, "ln(y)")], 5.2, 6, 2 * np.pi, -1),
        ([(1.0, "1/(y - 1)^2"), (-0.5, "y")], 1.5, 4, 1.0, 1),
    ],
)
def test_roots_up_to_a_pole(terms, low, high, pole, side, off):
    inversion = learned(terms, np.linspace(low, high, 40))
    assert inversion.closed is None
    y = np.array([pole + side * off])
    values, _, guessed = solved(inversion, inversion.function(y))
    np.testing.assert_allclose(values, y, rtol=1e-12)
    assert not guessed[0]


def test_a_solution_beyond_a_pole_is_not_on_the_monotone_piece():
    inversion = learned([(1.0, "1/tan(y)")], np.linspace(0.1, 2, 40))
    y = np.array([np.pi - 5e-7])  # as far from the pole at pi as -5e-7 is from that at 0
    values, *_ = solved(inversion, inversion.function(y))
    np.testing.assert_allclose(values, y, rtol=1e-9)


@pytest.mark.parametrize("formula", ["tanh(1/y)", "tanh(1/y + y)"])
def test_where_g_has_levelled_out_the_solution_is_in_the_range(formula):
    y = np.linspace(0.03, 2, 40)
    inversion = learned([(1.0, formula)], y)
    values, all_solved, _ = solved(inversion, inversion.function(y[:1]))
    assert all_solved[0]
    assert 0.03 <= values[0] <= 0.06


@pytest.mark.parametrize("formula", ["1/y^2", "exp(1/y)", "exp(tan(y))"])
def test_huge_values_pass_in_silence(formula):
    inversion = learned([(-1.5, formula)], np.linspace(0.4, 1.9, 40))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        solved(inversion, [1e308, -1e308])


@pytest.mark.parametrize("formula", ["sin(y)", "cos(y)", "tan(y)", "sin(y)^2", "exp(sin(y))"])
@pytest.mark.parametrize(
    "ends", [(1e41, 1e92), (1e92, 1e92), (-1e56, 1e16), (1e15, 1e17), (-1e308, 1.7e308)]
)
def test_targets_beyond_the_resolution_of_a_period_have_a_prediction_or_none(formula, ends):
    inversion = learned([(1.0, formula)], np.array([*ends, ends[0]]))
    v = np.array([-2.0, 0.0, 0.5, 1.0, 1e300])
    solution = solved(inversion, v)
    np.testing.assert_array_equal(solution.solved, np.isfinite(solution.values))
    y = solution.values[solution.solved]
    np.testing.assert_allclose(inversion.function(y), v[solution.solved], rtol=1e-4, atol=1e-4)


def test_no_branch_is_known_where_rounding_exceeds_the_period():
    closed = closed_form(ALL, encode_target("sin(y)", ALL))
    np.testing.assert_array_equal(closed.sides(np.array([1.0, 1e92])), [0, -1])
    assert closed.branches(np.array([1e56, 1e92])) == []


def test_bracketed_roots_reach_full_precision():
    v = np.array([1e-12, 0.3, 2.0, 900.0])
    found = bracketed_roots(lambda y: y**3, v, np.full(4, -1.0), np.full(4, 10.0))
    np.testing.assert_allclose(found, np.cbrt(v), rtol=1e-14)


# ---- values without a solution ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "low", "high", "v"),
    [
        ("cos(y)", 0.1, 3, 1.1),
        ("y^2", 1, 2, -0.5),
        ("exp(y)", 0, 1, -0.1),
        ("exp(y)", 0, 1, 0.0),
        ("tanh(y)", -1, 1, 1.5),
        ("sqrt(y)", 1, 2, -1.0),
        ("1/y", 1, 2, 0.0),
        ("y exp(y)", 0, 1, -0.5),
        ("1/sin(y)", -1.79, 1.81, 0.05),
        ("exp(1/y)", -2, 2, -0.7),
        ("exp(y)", 0, 700, -0.7),
        ("exp(y)/sin(y)", 0.3, 1.2, 0.0),
        ("y", 0, 1, np.nan),
        ("y", 0, 1, np.inf),
    ],
)
def test_unattainable_values_are_marked(formula, low, high, v):
    inversion = learned([(1.0, formula)], np.linspace(low, high, 20))
    values, all_solved, guessed = solved(inversion, [v])
    assert not all_solved[0]
    assert not guessed[0]
    assert np.isnan(values[0])


@pytest.mark.parametrize(
    ("terms", "low", "high", "v", "nearest"),
    [
        ([(1.0, "cos(y)")], 0.0, 3.0, 1 + 1e-12, 0.0),
        ([(1.0, "sin(y)")], -1.0, 1.5, 1 + 1e-13, np.pi / 2),
        ([(1.0, "y^2")], 0.0, 3.0, -1e-13, 0.0),
        ([(1.0, "y^2"), (-8.0, "y")], 4.0, 9.0, -16 - 1e-12, 4.0),
        ([(1.0, "sqrt(y)")], 0.0, 4.0, -1e-14, 0.0),
    ],
)
def test_rounding_beyond_an_extreme_gives_the_extreme(terms, low, high, v, nearest):
    inversion = learned(terms, np.linspace(low, high, 20))
    values, all_solved, _ = solved(inversion, [v])
    assert all_solved[0]
    assert values[0] == pytest.approx(nearest, abs=1e-6)


@pytest.mark.parametrize(
    ("formula", "low", "high", "nearest", "guess"),
    [
        ("cos(y)", 4.0, 9.5, 2 * np.pi, False),  # 0 is as near to the start as 4 pi to the end
        ("cos(y)", 4.0, 6.5, 2 * np.pi, False),
        ("cos(y)", -1.0, 7.0, 0.0, True),  # 2 pi is in the range too
    ],
)
def test_of_several_extremes_one_in_the_range_is_taken(formula, low, high, nearest, guess):
    inversion = learned([(1.0, formula)], np.linspace(low, high, 20))
    values, _, guessed = solved(inversion, [1 + 1e-13])
    assert values[0] == pytest.approx(nearest, abs=1e-6)
    assert guessed[0] == guess


# ---- which branch ----------------------------------------------------------------------------


def test_the_solution_in_the_training_range_is_taken():
    inversion = learned([(1.0, "y^2"), (-8.0, "y")], np.linspace(3, 9, 60))
    values, _, guessed = solved(inversion, [0.0, -15.75])
    assert values[0] == pytest.approx(8.0)  # 0 is outside
    assert not guessed[0]
    assert guessed[1]  # 3.5 and 4.5 are both inside


def test_the_monotone_piece_of_the_training_data_counts_more_than_distance():
    branches = Branches(-4.0, -1.2, home=(-np.inf, -1.0))
    values, guessed = branches.choose(np.array([[-0.1], [-11.0]]), np.zeros((1, 1)))
    assert values.tolist() == [-11.0]
    assert not guessed[0]


def test_several_solutions_in_range_are_told_apart_by_training_rows():
    y = RNG.uniform(0.2, 6.0, 300)
    X = np.c_[np.cos(y), np.sin(y)]
    inversion = learned([(1.0, "cos(y)")], y, X)
    new = RNG.uniform(0.3, 5.9, 50)
    values, _, guessed = inversion.solve(np.cos(new), np.c_[np.cos(new), np.sin(new)])
    far = np.abs(new - np.pi) > 0.1
    np.testing.assert_allclose(values[far], new[far], rtol=1e-9)
    assert guessed[far].all()


def test_parity_gives_the_sign_exactly():
    X = RNG.uniform(-2, 2, (40, 2))
    y = -(X[:, 0] ** 5) / X[:, 1] ** 2
    terms = [(5.0, variable(1)), (-2.0, variable(2))]
    assert parity_rule(X, y, terms, 1.0) == SignRule(-1, (variable(1),))
    inversion = learned([(1.0, "ln(y)")], y, X, terms)
    new = RNG.uniform(-9, 9, (30, 2))
    truth = -(new[:, 0] ** 5) / new[:, 1] ** 2
    values, _, guessed = inversion.solve(np.log(np.abs(truth)), new)
    np.testing.assert_allclose(values, truth, rtol=1e-12)
    assert not guessed.any()


def test_parity_is_checked_on_the_data():
    X = RNG.uniform(-2, 2, (40, 2))
    terms = [(3.0, variable(1))]
    assert parity_rule(X, np.abs(X[:, 0]) ** 3, terms, 1.0) is None
    assert parity_rule(X, X[:, 0] ** 3, [(3.1, variable(1))], 1.0) is None
    assert parity_rule(X, X[:, 0] ** 3, [(6.0, variable(1))], 2.0) is not None


def test_elimination_finds_the_signs_that_matter():
    X = RNG.uniform(-2, 2, (60, 3))
    total = X[:, 0] + X[:, 1]
    y = -np.sign(total * X[:, 2]) * RNG.uniform(1, 2, 60)
    rule = eliminated_rule(X, y, [X1_PLUS_X2])
    assert rule.constant == -1
    assert set(rule.arguments) == {X1_PLUS_X2, variable(3)}
    np.testing.assert_array_equal(rule(X), np.sign(y))
    assert eliminated_rule(X, np.sign(X[:, 0] + X[:, 2] - 0.3), []) is None


def test_even_targets_use_the_signs_of_features():
    X = RNG.uniform(-2, 2, (50, 2))
    y = X[:, 0] * (1 + X[:, 1] ** 2)
    inversion = learned([(1.0, "y^2")], y, X)
    assert inversion.branches.sign == SignRule(1, (variable(1),))
    values, _, guessed = inversion.solve(y**2, X)
    np.testing.assert_allclose(values, y, rtol=1e-12)
    assert not guessed.any()


def test_otherwise_the_nearest_row_gives_the_sign_and_it_is_called_a_guess():
    X = RNG.uniform(-2, 2, (400, 2))
    y = np.where(X.sum(axis=1) > 0.5, 1, -1) * (1 + X[:, 0] ** 2)
    inversion = learned([(1.0, "ln(y)")], y, X)
    assert inversion.branches.sign is None
    new = X[::7] + 1e-9
    values, all_solved, guessed = inversion.solve(np.log(np.abs(y[::7])), new)
    np.testing.assert_allclose(values, y[::7], rtol=1e-12)
    assert all_solved.all()
    both_in_range = np.abs(y[::7]) < min(-y.min(), y.max())
    assert guessed[both_in_range].all()


def test_features_are_scaled_before_neighbours_are_sought():
    X = np.array([[0.0, 0.0], [1.0, 1000.0]])
    near = Neighbours.of(X, np.array([5.0, 7.0]))
    np.testing.assert_array_equal(near(np.array([[0.9, 400.0], [0.1, 600.0]])), [7.0, 5.0])


@pytest.mark.parametrize(
    ("row", "y"),
    [
        ([1e200, 1.0], 7.0),
        ([-1e308, 1.0], 5.0),
        ([0.0, -1.7e308], 7.0),
        ([np.nan, 900.0], 7.0),
        ([np.inf, -np.inf], 7.0),  # as far to the first as to the second
    ],
)
def test_rows_far_away_have_a_nearest_row(row, y):
    X = np.array([[0.0, 0.0], [1.0, 1000.0], [-2.0, 1.0], [1.5, -3.0]])
    near = Neighbours.of(X, np.array([5.0, 7.0, 5.0, 7.0]))
    np.testing.assert_array_equal(near(np.array([row])), [y])


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200, 1e305])
def test_neighbours_do_not_depend_on_the_unit_of_features(unit):
    X = np.column_stack([unit * np.linspace(-2, 2, 20), np.full(20, 0.1)])
    near = Neighbours.of(X, np.arange(20.0))
    np.testing.assert_array_equal(near(X + np.array([0.0, 3.0])), np.arange(20.0))


def test_branch_information_is_plain_data_and_rebuilds_the_inversion():
    X = RNG.uniform(-2, 2, (30, 1))
    y = X[:, 0] ** 3
    inversion = learned([(1.0, "ln(y)")], y, X, [(3.0, variable(1))])
    plain = dataclasses.asdict(inversion.branches)
    sign = SignRule(plain["sign"]["constant"], plain["sign"]["arguments"])
    again = Inversion(
        ALL, inversion.psi, inversion.beta, Branches(plain["low"], plain["high"], None, sign)
    )
    pickled = pickle.loads(pickle.dumps(inversion))
    for other in (again, pickled):
        values, *_ = other.solve(3 * np.log(np.abs(X[:, 0])), X)
        np.testing.assert_allclose(values, y, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_branches_do_not_depend_on_the_unit_of_y(scale):
    y = scale * np.linspace(-1, 4, 200)
    X = np.sign(y)[:, None] * np.linspace(1, 2, 200)[:, None]
    inversion = learned([(1.0, "y^2")], y, X)
    values, *_ = inversion.solve(y**2, X)
    np.testing.assert_allclose(values, y, rtol=1e-9)


@pytest.mark.parametrize("column", [[5e-324, 0.0], [1e-310, 2e-310], [-1.7e308, 1.7e308]])
def test_neighbours_of_features_at_the_ends_of_floating_point(column):
    X = np.array(column)[:, None]
    np.testing.assert_array_equal(Neighbours.of(X, np.array([3.0, 4.0]))(X), [3.0, 4.0])
