import pickle
import warnings

import numpy as np
import pytest
import sympy

from gsr import _core
from gsr.encoding import encode, encode_target, latex
from gsr.equation import Equation
from gsr.exceptions import PredictionWarning
from gsr.library import PRESETS, TABLE_2, Library, Transformation

ALL = PRESETS["all"]
RNG = np.random.default_rng(0)
X1, X2, Y = sympy.symbols("x1 x2 y", real=True)


def law(left, right, X, y, library=ALL, **names):
    """Equation from two lists of (coefficient, formula)."""
    X = np.asarray(X, dtype=float)
    return Equation.from_data(
        library,
        library,
        [encode_target(formula, library) for _, formula in left],
        [c for c, _ in left],
        [encode(formula, library, X.shape[1]) for _, formula in right],
        [c for c, _ in right],
        X,
        y,
        **names,
    )


def column(low, high, n=40):
    return np.linspace(low, high, n)[:, None]


def signed(n=60, d=2):
    return RNG.uniform(-2, 2, (n, d))


POSITIVE = column(0.5, 3)


# ---- text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "written"),
    [
        ([(1, "ln(y)")], [(0.49999999999, "ln(x1)")], "ln(y) = 0.5 ln(x1)"),
        ([(1, "y")], [(1, "x1^3"), (1, "x1^2"), (1, "x1")], "y = x1^3 + x1^2 + x1"),
        ([(1, "y^2"), (-8, "y")], [(1, "x1")], "y^2 - 8 y = x1"),
        ([(1, "y")], [(2.5, "1"), (-1, "x1"), (0.5, "1/x1")], "y = -x1 + 0.5/x1 + 2.5"),
        ([(1, "y")], [(-1, "1"), (2, "2*x1")], "y = 2 (2 x1) - 1"),
        ([(1, "y")], [(1, "1")], "y = 1"),
        ([(1, "y")], [(1e-7, "exp(-x1)"), (0, "x1")], "y = 1e-7 exp(-x1)"),
    ],
)
def test_str(left, right, written):
    assert str(law(left, right, POSITIVE, POSITIVE[:, 0])) == written


def test_bars_only_where_the_training_data_need_them():
    X = np.c_[RNG.uniform(0.1, 2, 30), RNG.uniform(-2, 2, 30)]
    right = [(1, "ln(x1)"), (2, "ln(x2)"), (1, "ln(x1 + x2)")]
    found = law([(1, "ln(y)")], right, X, np.ones(30))
    assert str(found) == "ln(y) = ln(x1) + 2 ln|x2| + ln|x1 + x2|"
    terms = [term for _, term in found.terms()[1]]
    assert terms == [sympy.log(X1), sympy.log(sympy.Abs(X2)), sympy.log(sympy.Abs(X1 + X2))]
    assert str(law([(1, "ln(y)")], [(1, "x1")], X, -np.ones(30))) == "ln|y| = x1"


def test_sympy_and_terms_keep_the_coefficients():
    found = law([(1, "y")], [(1 / 3, "x1"), (0.1, "1")], POSITIVE, POSITIVE[:, 0])
    assert found.terms() == ([(1.0, Y)], [(1 / 3, X1), (0.1, sympy.Integer(1))])
    assert found.sympy() == sympy.Eq(Y, sympy.Float(1 / 3) * X1 + sympy.Float(0.1))


def test_unit_vector_is_the_papers_presentation():
    found = law([(1, "y")], [(1, "sin(x1)"), (1, "sin(x1^2)")], POSITIVE, POSITIVE[:, 0])
    alpha, beta = found.unit_vector()
    np.testing.assert_allclose(np.r_[alpha, beta], 1 / np.sqrt(3))


def test_complexity_counts_nodes():
    X = POSITIVE
    assert law([(1, "y")], [(2, "x1")], X, X[:, 0]).complexity == 5  # y, coefficient, signs, x1
    assert law([(1, "y")], [(2, "x1"), (3, "1")], X, X[:, 0]).complexity == 7
    assert law([(1, "y^2"), (2, "y")], [(2, "ln(x1)")], X, X[:, 0]).complexity == 11


def test_complexity_is_that_of_the_search():
    from gsr import GSRRegressor

    X = RNG.uniform(0.5, 2, (30, 2))
    y = np.sqrt(X[:, 0] + X[:, 1] ** 2)
    for entry in GSRRegressor(max_generations=5, random_state=0).fit(X, y).front_:
        assert entry.equation.complexity == entry.complexity


# ---- beyond the paper's products -------------------------------------------------------------


def michaelis():
    """Return 1/(y - 1) = 2 sin(9.8 x1)/(x1 - x2) + 0.5 sqrt(1 + x1^2), and its data."""
    X = RNG.uniform(1, 2, (40, 2)) * [1, 0.5]
    x1, x2 = X.T
    y = 1 + 1 / (2 * np.sin(9.8 * x1) / (x1 - x2) + 0.5 * np.sqrt(1 + x1**2))
    right = [(2, "sin(9.8*x1)/(x1 - x2)"), (0.5, "sqrt(1 + x1^2)")]
    return law([(1, "1/(y - 1)")], right, X, y), X, y


def test_wider_laws_read_predict_and_pickle():
    found, X, y = michaelis()
    assert str(found) == "1/(y - 1) = 2 sin(9.8 x1)/(x1 - x2) + 0.5 sqrt(1 + x1^2)"
    np.testing.assert_allclose(found.predict(X), y, rtol=1e-9)
    (form,) = found.explicit()
    np.testing.assert_allclose(sympy.lambdify([X1, X2], form, "numpy")(*X.T), y, rtol=1e-9)
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert found.terms()[1][0][1] == sympy.sin(sympy.Float(9.8) * X1) / (X1 - X2)
    assert found.sympy().lhs == 1 / (Y - 1)
    assert r"\sin{\left(9.8 x_{1} \right)}" in found.latex()
    left, first, second = 4, 9, 5
    assert found.complexity == left + 3 + first + 3 + second


def test_weights_are_shortened_in_text_and_latex():
    X = RNG.uniform(1, 2, (20, 1))
    found = law([(1, "y")], [(1, f"cos({np.pi!r}*x1 + {1 / 3!r})")], X, X[:, 0])
    assert str(found) == "y = cos(0.333333 + 3.14159 x1)"
    assert found.latex() == r"y = \cos{\left(3.14159 x_{1} + 0.333333 \right)}"
    assert found.sympy().rhs.atoms(sympy.Float) == {sympy.Float(np.pi), sympy.Float(1 / 3)}


@pytest.mark.parametrize(
    ("left", "right", "y", "truth"),
    [
        ("log(1 + 1/y)", [(1, "x1")], lambda a, b: 1 / np.expm1(a), 1 / (sympy.exp(X1) - 1)),
        ("exp(y) - 1", [(1, "x1 x2")], lambda a, b: np.log1p(a * b), sympy.log(1 + X1 * X2)),
        (
            "log(y^2 - 1)",
            [(1, "x1")],
            lambda a, b: -np.sqrt(1 + np.exp(a)),
            -sympy.sqrt(1 + sympy.exp(X1)),
        ),
        (
            "log(sin(y))",
            [(-1, "x1")],
            lambda a, b: np.pi - np.arcsin(np.exp(-a)),
            sympy.pi - sympy.asin(sympy.exp(-X1)),
        ),
        (
            "log(1 + 1/y)",
            [(2, "log(x1)"), (-1, "log(1 + x2)")],
            lambda a, b: 1 / (-(a**2) / (1 + b) - 1),
            1 / (-(X1**2) / (1 + X2) - 1),
        ),
        ("y/(1 + y)", [(-1, "x1")], lambda a, b: -a / (1 + a), -X1 / (X1 + 1)),
    ],
)
def test_explicit_chains(left, right, y, truth):
    X = RNG.uniform(0.2, 2, (60, 2))
    found = law([(1, left)], right, X, y(*X.T))
    (form,) = found.explicit()
    assert sympy.simplify(form.subs(1.0, 1) - truth) == 0
    np.testing.assert_allclose(found.predict(X), y(*X.T), rtol=1e-9)


def test_explicit_products_of_composite_arguments():
    X = signed(80)
    x1, x2 = X.T
    right = [
        (1, "log(x1^2 - x2^2)"),
        (-2, "log(sin(x1))"),
        (0.5, "log(1 + x1^2)"),
        (1, "x1/(1 + x2^2)"),
    ]
    y = -(x1**2 - x2**2) / np.sin(x1) ** 2 * np.sqrt(1 + x1**2) * np.exp(x1 / (1 + x2**2))
    found = law([(1, "log(y)")], right, X, y)
    assert str(found) == (
        "ln|y| = ln|x1^2 - x2^2| - 2 ln|sin(x1)| + 0.5 ln(1 + x1^2) + x1/(1 + x2^2)"
    )
    (form,) = found.explicit()
    root = sympy.sqrt(1 + X1**2) * sympy.exp(X1 / (1 + X2**2))
    assert sympy.simplify(form + (X1**2 - X2**2) / sympy.sin(X1) ** 2 * root) == 0
    new = signed()
    np.testing.assert_allclose(
        found.predict(new), sympy.lambdify([X1, X2], form, "numpy")(*new.T), rtol=1e-9
    )


def test_bars_go_by_the_values_of_composite_arguments():
    X = np.c_[RNG.uniform(1, 2, 30), RNG.uniform(-2, 2, 30)]
    right = [(1, "log(x1 - 0.5)"), (1, "log(x1 - x2)"), (1, "cos(log(x2))"), (1, "log(1 + x2^2)")]
    found = law([(1, "y")], right, X, X[:, 0])
    assert str(found) == "y = ln(x1 - 0.5) + ln|x1 - x2| + cos(ln|x2|) + ln(1 + x2^2)"


def test_the_inner_row_that_is_undefined_is_named():
    found, X, _ = michaelis()
    new = X[:4].copy()
    new[1] = [1.5, 1.5]
    new[2, 0] = 1e200
    with pytest.warns(PredictionWarning) as caught:
        values = found.predict(new)
    assert np.isnan(values).tolist() == [False, True, True, False]
    message = str(caught[0].message)
    assert "1/(x1 - x2) is undefined in 1 row (1)" in message
    assert "x1^2 is undefined in 1 row (2)" in message


def test_the_core_counts_wider_laws_as_python_does():
    found, *_ = michaelis()
    matrices = [(m, 1) for m in found.psi] + [(m, 2) for m in found.phi]
    nodes = [_core.complexity(ALL.table, m, d) for m, d in matrices]
    assert found.complexity == sum(nodes) + 3 * (len(nodes) - 1)


# ---- names -----------------------------------------------------------------------------------


def test_any_names_are_safe():
    names = ["body mass %", "λ", "class", "__import__('os')"]
    X = RNG.uniform(1, 2, (20, 4))
    right = [(1, "x1"), (2, "ln(x2)"), (3, "x3 x4")]
    found = law([(1, "y")], right, X, X[:, 0], feature_names=names, target_name="y_1 & co")
    assert str(found) == "`y_1 & co` = `body mass %` + 2 ln(λ) + 3 class `__import__('os')`"
    assert {s.name for s in found.sympy().rhs.free_symbols} == set(names)
    assert r"\text{body mass \%}" in found.latex()
    assert r"\text{y\_1 \& co}" in found.latex()
    assert len(found.explicit()) == 1


def test_names_must_fit():
    with pytest.raises(ValueError, match="1 features, but 2 feature names"):
        law([(1, "y")], [(1, "x1")], POSITIVE, POSITIVE[:, 0], feature_names=["a", "b"])
    with pytest.raises(ValueError, match="'y' is there twice"):
        law([(1, "y")], [(1, "x1")], POSITIVE, POSITIVE[:, 0], feature_names=["y"])
    with pytest.raises(ValueError, match="1 phi, but 2 coefficients"):
        Equation.from_data(ALL, ALL, [[[1]]], [1], [[[1, 0, 1]]], [1, 2], POSITIVE, POSITIVE[:, 0])


def test_latex():
    found = law([(1, "ln(y)")], [(0.5, "ln(x1)"), (1e-7, "x1 + x1")], POSITIVE, POSITIVE[:, 0])
    assert found.latex() == (
        r"\ln{\left(y \right)} = 0.5 \, \ln{\left(x_{1} \right)} + 1 \cdot 10^{-7} \, 2 x_{1}"
    )
    assert found._repr_latex_() == f"$\\displaystyle {found.latex()}$"


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("1/T", r"-\frac{5020}{T}"),
        ("a*b/T", r"-\frac{5020 \, a b}{T}"),
        ("(a + b)/T", r"-\frac{5020 \, \left(a + b\right)}{T}"),
        ("1/(a + b)", r"-\frac{5020}{a + b}"),
        ("1/sqrt(T)", r"-\frac{5020}{\sqrt{T}}"),
        ("exp(-T)", r"-5020 \, e^{- T}"),
        ("exp(1/T)", r"-5020 \, e^{\frac{1}{T}}"),
        ("-1/T", r"-5020 \, \left(- \frac{1}{T}\right)"),
        ("0.25/T", r"-5020 \, \frac{0.25}{T}"),
        ("1/abs(T)", r"-\frac{5020}{\left|{T}\right|}"),
        ("atan(T)", r"-5020 \, \arctan{\left(T \right)}"),
        ("sign(T)*abs(T)**Rational(1, 3)", r"-5020 \, \sqrt[3]{T}"),
        ("1/(sign(T)*abs(T)**Rational(1, 3))", r"-\frac{5020}{\sqrt[3]{T}}"),
    ],
)
def test_a_coefficient_goes_into_its_fraction(expression, shown):
    real = {name: sympy.Symbol(name, real=True) for name in "abT"}
    assert latex.side([(-5020.0, sympy.sympify(expression, real))]) == shown


def test_what_nothing_multiplies_is_as_it_was():
    assert latex.side([(1.0, sympy.sympify("a/T")), (-2.0, sympy.Integer(1))]) == r"\frac{a}{T} - 2"


# ---- closed forms ----------------------------------------------------------------------------


def test_explicit_product_of_powers_with_the_exact_sign():
    X = signed()
    y = X[:, 0] ** 5 / X[:, 1] ** 3
    found = law([(1, "ln(y)")], [(5, "ln(x1)"), (-3, "ln(x2)")], X, y)
    assert found.explicit() == [X1**5 / X2**3]
    y = -2 * np.abs(X[:, 0]) ** 1.5 / X[:, 1]
    right = [(1.5, "ln(x1)"), (-1, "ln(x2)"), (np.log(2), "1")]
    (form,) = law([(1, "ln(y)")], right, X, y).explicit()
    assert sympy.simplify(form + 2.0 * sympy.Abs(X1) ** sympy.Rational(3, 2) / X2) == 0


@pytest.mark.parametrize(
    ("left", "low", "high", "truth"),
    [
        ([(1, "y")], -1, 3, [X1]),
        ([(1, "ln(y)")], 1, 2, [sympy.exp(X1)]),
        ([(1, "ln(y)")], -2, -1, [-sympy.exp(X1)]),
        ([(1, "y^2")], 1, 2, [sympy.sqrt(X1)]),
        ([(1, "y^2")], -2, -1, [-sympy.sqrt(X1)]),
        ([(1, "exp(y)")], -1, 2, [sympy.log(X1)]),
        ([(1, "1/y")], 1, 2, [1 / X1]),
        ([(1, "cos(y)")], 0, 3, [sympy.acos(X1)]),
        ([(1, "cos(y)")], 0, 6, [sympy.acos(X1), 2 * sympy.pi - sympy.acos(X1)]),
        ([(1, "sin(y)")], 2, 4, [sympy.pi - sympy.asin(X1)]),
        ([(1, "y^2"), (-8, "y")], 5, 9, [4.0 + sympy.sqrt(X1 + 16.0)]),
        ([(1, "y^2"), (-8, "y")], 0, 3, [4.0 - sympy.sqrt(X1 + 16.0)]),
        ([(1, "y exp(y)")], 1, 2, []),
        ([(1, "y"), (1, "exp(y)")], 1, 2, []),
    ],
)
def test_explicit_branches_of_the_training_range(left, low, high, truth):
    y = np.linspace(low, high, 50)
    X = np.linspace(0.1, 0.9, 50)[:, None]
    assert law(left, [(1, "x1")], X, y).explicit() == truth


def test_explicit_takes_the_sign_from_features():
    X = signed()
    found = law([(1, "y^2")], [(1, "x1^2 x2^4")], X, X[:, 0] * X[:, 1] ** 2)
    assert found.explicit() == [X1 * X2**2]


def test_explicit_names_both_signs_if_no_rule_is_known():
    X = signed(300)
    y = np.where(X.sum(axis=1) > 0.5, 1, -1) * X[:, 0] ** 2
    assert law([(1, "ln(y)")], [(2, "ln(x1)")], X, y).explicit() == [X1**2, -(X1**2)]


@pytest.mark.parametrize(
    ("left", "right", "y"),
    [
        ([(1, "ln(y)")], [(3, "ln(x1)"), (2, "ln(x2)")], lambda x: x[:, 0] ** 3 * x[:, 1] ** 2),
        ([(1, "y^2")], [(1, "x1^2")], lambda x: x[:, 0]),
        ([(1, "y^3")], [(1, "x1"), (1, "x2")], lambda x: np.cbrt(x.sum(axis=1))),
        ([(2, "exp(y)")], [(2, "exp(x1)")], lambda x: x[:, 0]),
    ],
)
def test_explicit_agrees_with_predict(left, right, y):
    X = signed()
    found = law(left, right, X, y(X))
    (form,) = found.explicit()
    new = signed()
    values = sympy.lambdify([X1, X2], form, "numpy")(*new.T)
    np.testing.assert_allclose(found.predict(new), values, rtol=1e-9)
    np.testing.assert_allclose(values, y(new), rtol=1e-9)


# ---- prediction ------------------------------------------------------------------------------


def test_predict_solves_the_law_silently():
    X = RNG.uniform(1, 2, (50, 2))
    y = (2 * X[:, 0] + X[:, 1]) ** (-2 / 3)
    found = law([(1, "ln(y)")], [(-2 / 3, "ln(2*x1 + x2)")], X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(found.predict(X), y, rtol=1e-12)
        assert found.predict(np.empty((0, 2))).shape == (0,)


def test_rows_without_a_value_are_named_with_the_reason():
    X = RNG.uniform(1, 2, (50, 2))
    y = X[:, 0] ** 2 * np.exp(1 / X[:, 1])
    found = law([(1, "ln(y)")], [(2, "ln(x1)"), (1, "1/x2")], X, y)
    rows = [[1, 1], [0, 1], [1, 0], [1, np.nan], [1, 1e-5], [0, 2]]
    with pytest.warns(PredictionWarning) as caught:
        values = found.predict(rows)
    assert np.isnan(values).tolist() == [False, True, True, True, True, True]
    message = str(caught[0].message)
    assert message.startswith("5 of 6 predictions are NaN")
    for part in (
        "ln(x1) is undefined in 2 rows (1, 5)",
        "1/x2 is undefined in 1 row (2)",
        "x2 is not finite in 1 row (3)",
        "y overflows in 1 row (4)",
    ):
        assert part in message


def test_values_outside_the_range_of_g_are_named():
    y = np.linspace(0.1, 3, 30)
    found = law([(1, "cos(y)")], [(1, "x1")], np.cos(y)[:, None], y)
    with pytest.warns(PredictionWarning, match=r"outside the range of cos\(y\) in 2 rows \(1, 2\)"):
        values = found.predict([[0.5], [1.5], [-3.0]])
    np.testing.assert_allclose(values, [np.pi / 3, np.nan, np.nan])


def test_long_lists_of_rows_are_shortened():
    y = np.linspace(0.1, 3, 30)
    found = law([(1, "cos(y)")], [(1, "x1")], np.cos(y)[:, None], y)
    with pytest.warns(PredictionWarning, match=r"in 9 rows \(0, 1, 2, 3, 4, \.\.\.\)"):
        found.predict(np.full((9, 1), 2.0))


def test_a_guessed_sign_is_a_warning():
    X = signed(300)
    y = np.where(X.sum(axis=1) > 0.5, 1, -1) * (1 + X[:, 0] ** 2)
    found = law([(1, "y^2")], [(1, "1"), (2, "x1^2"), (1, "x1^4")], X, y)
    with pytest.warns(PredictionWarning, match="several values of y solve the law"):
        np.testing.assert_allclose(found.predict(X), y, rtol=1e-9)


def test_wrong_shapes_are_refused():
    found = law([(1, "y")], [(1, "x1")], POSITIVE, POSITIVE[:, 0])
    for X in ([[1.0, 2.0]], [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"X must have 1 columns \(x1\)"):
            found.predict(X)


def test_a_law_without_terms_is_constant():
    found = law([(1, "y")], [], POSITIVE, POSITIVE[:, 0])
    assert str(found) == "y = 0"
    assert found.predict(POSITIVE).tolist() == [0.0] * len(POSITIVE)


def test_pickle():
    X = signed()
    y = X[:, 0] ** 3 / X[:, 1]
    found = law([(1, "ln(y)")], [(3, "ln(x1)"), (-1, "ln(x2)")], X, y)
    found.predict(X)
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


def test_own_transformations_in_a_law():
    own = Transformation(
        "logistic", lambda t: 1 / (1 + np.exp(-t)), "1/(1 + exp(-{}))",
        inverse=lambda v: np.log(v / (1 - v)), inverse_sympy="log({}/(1 - {}))",
    )  # fmt: skip
    library = Library(["identity", own])
    X = signed()
    y = 1 / (1 + np.exp(-X[:, 0]))
    left = Equation.from_data(
        library, library, [[[1]]], [1], [[[2, 0, 1]]], [1], X, y, target_name="p"
    )
    assert str(left) == "p = logistic(x1)"
    right = Equation.from_data(library, library, [[[2]]], [1], [[[2, 0, 1]]], [1], X, X[:, 0])
    np.testing.assert_allclose(right.predict(X), X[:, 0], rtol=1e-9)
    v = 1 / (1 + sympy.exp(-X1))
    assert right.explicit() == [sympy.log(v / (1 - v))]


def test_papers_table_1():
    X = RNG.uniform(0.5, 2, (30, 3))
    x1, x2, x3 = X.T
    cases = [
        ([(1, "y")], [(1, "x1")], x1),
        ([(1, "exp(y)")], [(1, "x1^3"), (4, "x1 x2")], np.log(x1**3 + 4 * x1 * x2)),
        ([(1, "ln(y)")], [(1, "x1^3"), (1, "cos(x3)")], np.exp(x1**3 + np.cos(x3))),
    ]
    for left, right, y in cases:
        found = law(left, right, X, y, library=TABLE_2)
        np.testing.assert_allclose(found.predict(X), y, rtol=1e-9)
