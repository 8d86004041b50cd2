"""Constraints on a law's shape: what holds, what is proved, and what is said when not."""

import warnings

import numpy as np
import pytest
import sympy

from drawn_laws import ALL, drawn_laws
from gsr.encoding import decode, encode, encode_target
from gsr.encoding.rows import factors
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library, Transformation
from gsr.prior.constraints import Checker, Constraint, Jets, Prover

X = np.random.default_rng(0).uniform(0.5, 3, (60, 2))
NAMES = ["x1", "x2"]


def law(phi, psi="y", y=None, table=X, library=ALL):
    """The law psi = sum of phi; the target of the training data is made with it unless given."""
    terms = [encode(term, library, table.shape[1]) for term in phi.split(" + ")]
    y = np.full(len(table), 2.0) + table[:, 0] if y is None else y
    left = [encode_target(psi, ALL)]
    made = Equation.from_data(library, ALL, left, [1.0], terms, np.ones(len(terms)), table, y)
    return made


def checker(constraints, table=X):
    names = [f"x{v + 1}" for v in range(table.shape[1])]
    return Checker(constraints, table, np.ones(len(table)), names, "y")


@pytest.mark.parametrize(
    ("phi", "psi", "constraints", "expected"),
    [
        ("x1**2", "y", {"x1": "increasing", "y": "positive"}, "proved"),
        ("x1**2", "y", {"x1": "decreasing"}, "violated: y is not decreasing in x1: it goes from"),
        ("x1**2", "y", {"x1": ["increasing", "convex"]}, "proved"),
        ("x1**2", "y", {"x1": "concave"}, "violated: y is not concave in x1"),
        ("x1**2", "y", {"x2": "increasing"}, "proved"),
        ("x1*x2", "y", {"x2": ["increasing", "convex", "concave"]}, "proved"),
        ("x1/(1+x2)", "y", {"x2": ["decreasing", "convex"]}, "proved"),
        ("sqrt(x1)", "y", {"x1": ["increasing", "concave"]}, "proved"),
        ("exp(-x1) + x2", "y", {"x1": ["decreasing", "convex"], "y": "positive"}, "proved"),
        ("tanh(x1*x2)", "y", {"x1": "increasing"}, "proved"),
        ("cbrt(x1)", "y", {"x1": ["increasing", "concave"], "y": "positive"}, "proved"),
        ("arctan(x1*x2)", "y", {"x1": "increasing", "y": "positive"}, "proved"),
        ("abs(x1)", "y", {"x1": ["increasing", "convex"], "y": "positive"}, "proved"),
        ("abs(x1 - x2)", "y", {"x1": "convex"}, "proved"),
        ("abs(x1 - x2)", "y", {"x1": "increasing"}, "violated"),
        ("x1 + x2", "cbrt(y)", {"x1": "increasing", "y": "positive"}, "proved"),
        ("x1 + x2", "abs(y)", {"x1": "increasing", "y": "positive"}, "proved"),
        ("tanh(x1)", "arctan(y)", {"x1": "increasing", "y": "positive"}, "proved"),
        ("x1 - x2", "y", {"y": "positive"}, "violated: y is not positive: it is -2.4"),
        ("x1 - x2", "y", {"y": "nonnegative"}, "violated: y is not nonnegative"),
        ("x1 + x2", "1/y", {"x1": "decreasing", "y": "positive"}, "proved"),
        ("x1 + x2", "y**2", {"x1": "increasing", "y": "positive"}, "proved"),
        ("log(x1) + x2", "log(y)", {"x1": "increasing", "y": ["positive"]}, "proved"),
        ("x1 + x2", "exp(-y)", {"x1": "decreasing"}, "proved"),
        ("x1 + x2", "y**2", {"x1": "concave"}, "held at 624 points"),
        ("x1 + x2", "y + y**3", {"x1": "increasing"}, "held at 624 points"),
        ("1/(x1 - x2)", "y", {"x1": "decreasing"}, "violated: y is not decreasing in x1"),
        ("sin(x1)", "y", {"x1": "increasing"}, "violated"),
        # Its slope is negative in a corner only, less than a step wide.
        (
            "exp(-0.8*x1) + x1*x2",
            "y",
            {"x1": "increasing"},
            "violated: y is not increasing in x1 near",
        ),
    ],
)
def test_verdicts(phi, psi, constraints, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, equation = checker(constraints), law(phi, psi)
        assert found.verdict(equation).startswith(expected)
        assert found.holds(equation) == ("violated" not in expected or " near" in expected)
        assert bool(found.why_not(equation)) != found.holds(equation)


def test_what_is_said():
    table = np.linspace(-1, 2, 13)[:, None]
    found = Checker({"wave length": "increasing"}, table, table[:, 0], ["wave length"], "T")
    equation = law("x1**2", table=table)
    reason = found.why_not(equation)
    assert reason == (
        "T is not increasing in `wave length`: it goes from 1 to 0.5625 where `wave length` goes"
        " from -1 to -0.75"
    )
    assert checker({"x1": "decreasing"}).why_not(law("x1*x2")).endswith(f"x2 = {X[:, 1].max():.6g}")


def test_a_lone_feature_is_looked_at_closely():
    """The law rises in a hundredth of the range only."""
    table = np.linspace(0, 1, 13)[:, None]
    narrow = law("abs(x1 - 0.45) + -abs(x1 - 0.46) + -x1", table=table)
    assert "not decreasing" in checker({"x1": "decreasing"}, table).why_not(narrow)


def test_predictions_that_are_missing_violate():
    equation = law("x1 - x2", "sqrt(y)", y=np.abs(X[:, 0] - X[:, 1]) + 0.1)
    with pytest.warns(UserWarning, match="NaN"):
        missing = np.isnan(equation.predict(X))
    assert missing.any()
    assert "y is undefined at x1 = " in checker({"y": "nonnegative"}).why_not(equation)


def test_predictions_are_those_of_the_equation():
    for psi in ("y", "y**2", "log(y)", "y + y**3"):
        equation = law("x1 + x2", psi)
        np.testing.assert_array_equal(equation.solution(X).values, equation.predict(X))


def test_own_transformations_are_looked_at_only():
    library = Library(["identity", Transformation("arcsinh", np.arcsinh, "asinh({})")])
    equation = law("asinh(x1)", library=library)
    assert checker({"x1": "increasing"}).verdict(equation) == "held at 624 points"


def test_rules_of_the_user():
    def short(equation):
        return equation.complexity < 6

    equation = law("x1**2 + x1*x2")
    for given in (short, [short], {"short": short}, {"x1": [short]}):
        assert checker(given).why_not(equation) == "short does not hold"
        assert checker(given).verdict(law("x1")) == "proved"
    assert checker([short, {"x1": "decreasing"}]).why_not(law("x1")).startswith("y is not decr")
    with pytest.raises(GSRError, match="<lambda> fails on y = x1: ZeroDivisionError"):
        checker(lambda equation: 1 / 0).holds(law("x1"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x3": "increasing"}, "'x3', which is no feature and not the target; there are x1, x2, y"),
        ({"x1": "incresing"}, "did you mean 'increasing'"),
        ({"x1": "positive"}, "is for a feature and must be 'increasing' or"),
        ({"y": "increasing"}, "is for the target and must be 'positive' or"),
        ({"x1": 3}, r"constraints\['x1'\] must be text"),
        ("increasing", "constraints are a mapping"),
        (None, "constraints are a mapping"),
    ],
)
def test_bad_constraints(given, message):
    with pytest.raises(GSRError, match=message):
        checker(given)


def test_many_features_and_few_rows():
    table = np.random.default_rng(0).uniform(1, 2, (3, 12))
    found = checker({"x12": "increasing", "y": "positive"}, table)
    assert found.verdict(law("x12 + x1", table=table)) == "proved"


# ---- proofs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ALL if name != "one"])
def test_derivatives(name):
    t = sympy.Symbol("t", real=True)
    form = ALL.sympy(ALL.code(name), t)
    points = np.array([0.3, 0.9, 1.7])
    phi = [[ALL.code(name), 0, 1]]
    jets = Jets(ALL, points[:, None], points[:, None], 0)
    jet = jets.basis_function(factors(phi, ALL))
    assert ALL.traits[ALL.code(name)].has_derivatives
    for order, found in enumerate(jet):
        true = np.array([float(form.diff(t, order).subs(t, p)) for p in points])
        assert (found.low <= true).all() and (true <= found.high).all()
        np.testing.assert_allclose(found.low, true, rtol=1e-12, atol=1e-14)


def test_jets_hold_the_derivatives_of_drawn_laws():
    rng = np.random.default_rng(0)
    for drawn in drawn_laws(40, seed=9):
        feature = int(rng.integers(drawn.n_features))
        names = [f"x{v + 1}" for v in range(drawn.n_features)]
        symbols = [sympy.Symbol(name, real=True) for name in names]
        f = sum(a * decode(m, ALL) for a, m in zip(drawn.alpha, drawn.phi, strict=True))
        low = rng.uniform(0.6, 2, (5, drawn.n_features))
        high = low + rng.choice([0, 0.01, 0.5], (5, 1))
        inside = low + (high - low) * rng.random(low.shape)
        jet = Jets(ALL, low, high, feature).law(drawn)
        for order, found in enumerate(jet):
            exact = sympy.lambdify(symbols, f.diff(symbols[feature], order))
            true = np.array([float(exact(*row)) for row in inside])
            slack = 1e-12 * (1 + np.abs(true))
            assert (found.low <= true + slack).all() and (true - slack <= found.high).all(), f


def test_proofs_and_refutations_are_right():
    rng = np.random.default_rng(0)
    counts = {True: 0, False: 0, None: 0}
    for drawn in drawn_laws(60, seed=4):
        table = drawn.rows(40, 0)
        width = max(len(row) for matrix in drawn.phi for row in matrix)
        phi = [[r if r[1] == 3 else r + [0] * (width - len(r)) for r in m] for m in drawn.phi]
        y = np.sum(drawn.terms(table), axis=0)
        equation = Equation.from_data(ALL, ALL, [[[1]]], [1.0], phi, drawn.alpha, table, y)
        feature = int(rng.integers(drawn.n_features))
        low, high = table.min(axis=0), table.max(axis=0)
        points = rng.uniform(low, high, (400, drawn.n_features))
        step = np.zeros(drawn.n_features)
        step[feature] = 1e-5
        slopes = (
            equation.solution(points + step).values - equation.solution(points - step).values
        ) / 2e-5
        for kind, sign in (("increasing", 1), ("decreasing", -1)):
            found = Prover(equation, table).look_at(Constraint(kind, feature))
            counts[found.holds] += 1
            if found.holds:
                assert (sign * slopes >= -1e-6 * np.abs(y).max()).all(), str(equation)
            if found.holds is False:
                ends = equation.solution(np.array([found.where + step, found.where - step])).values
                assert sign * (ends[0] - ends[1]) < 0, str(equation)
    assert counts[True] > 20 and counts[False] > 20
