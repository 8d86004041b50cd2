"""Formulas that a user writes: as structures, and fitted to data."""

import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn_laws import drawn_laws
from gsr.encoding import encode, evaluate, text
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import PRESETS, TABLE_2, Library, Transformation
from gsr.prior.written_formula import Structure, fit_formula, parse, parse_terms
from gsr.selection.fitted import Training, weights

ALL = PRESETS["all"]
NAMES = ["x1", "x2"]


def read(formula, names=NAMES, target="y", library=ALL):
    (found,) = parse(formula, names, target, library, library)
    return found


def shown(found, names=NAMES, target="y", library=ALL):
    psi = [text(m, library, [target]) for m in found.psi]
    return psi, [text(m, library, names) for m in found.phi]


@pytest.mark.parametrize(
    ("formula", "psi", "phi", "alpha"),
    [
        ("x1*sin(x2)", ["y"], ["x1 sin(x2)"], [1]),
        ("y = 3*x1**2 - x2/2 + 4", ["y"], ["x1^2", "x2", "1"], [3, -0.5, 4]),
        ("y = a*x1^2 + b*sin(2.5*x2) + c", ["y"], ["x1^2", "sin(2.5 x2)", "1"], [1, 1, 1]),
        ("2 y^2 + y = 4 x1^3", ["y^2", "y"], ["x1^3"], [2]),
        ("log(y) = 2 ln|x1| + 1", ["ln(y)"], ["ln(x1)", "1"], [2, 1]),
        ("0 = y - x1", ["y"], ["x1"], [1]),
        ("x1 = y", ["y"], ["x1"], [1]),
        ("y = 2 (x1 + x2)", ["y"], ["(x1 + x2)"], [2]),
        ("y = x1 + x1", ["y"], ["x1"], [2]),
        ("y = log10(x1)", ["y"], ["ln(x1)"], [1 / np.log(10)]),
        ("y = sqrt(2 x1)", ["y"], ["sqrt(x1)"], [np.sqrt(2)]),
        ("y = x1^1.7", ["y"], ["x1^1.7"], [1]),
        ("y = x1^-0.5", ["y"], ["1/sqrt(x1)"], [1]),
        ("y = 2^x1", ["y"], ["exp(0.693147 x1)"], [1]),
        ("y = 1/2 x1 x2", ["y"], ["x1 x2"], [0.5]),
        ("y = -x1^2", ["y"], ["x1^2"], [-1]),
        ("y = sin(pi x1)", ["y"], ["sin(3.14159 x1)"], [1]),
        ("y = 7", ["y"], ["1"], [7]),
        ("y = |x1 - x2|", ["y"], ["abs(x1 - x2)"], [1]),
        ("y = 2 cbrt(x1) + abs(x2)", ["y"], ["cbrt(x1)", "abs(x2)"], [2, 1]),
        ("y = cbrt(8 x1)", ["y"], ["cbrt(x1)"], [2]),
        ("y = x1^(1/3)", ["y"], ["cbrt(x1)"], [1]),
        ("y = (1 - x1)^(-5/3)", ["y"], ["1/((1 - x1) cbrt(1 - x1)^2)"], [1]),
        ("y = |x1|^(1/3)", ["y"], ["cbrt(abs(x1))"], [1]),
        ("y = atan(x1) + arctan(2.5 x2)", ["y"], ["arctan(x1)", "arctan(2.5 x2)"], [1, 1]),
        ("cbrt(y) = x1", ["cbrt(y)"], ["x1"], [1]),
    ],
)
def test_structures(formula, psi, phi, alpha):
    found = read(formula)
    assert shown(found) == (psi, phi)
    np.testing.assert_allclose(found.alpha, alpha)
    assert found.beta[0] == 1


def test_names_of_any_kind():
    names, target = ["wave length", "sin", "größe"], "T °C"
    found = read("`T °C` = k `wave length`^2 sin(sin) + größe", names, target)
    assert found.phi == [encode("x1**2*sin(x2)", ALL, 3), encode("x3", ALL, 3)]


def test_each_letter_inside_is_a_free_weight():
    found = read("y = a sin(w x1 + p) + b cos(w x2)")
    assert len(weights(found)) == 3


def test_own_transformations():
    own = Transformation("arcsinh", np.arcsinh, "asinh({})")
    library = Library(["identity", own])
    found = read("y = 2 arcsinh(x1)", library=library)
    assert shown(found, library=library) == (["y"], ["arcsinh(x1)"])


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y = sinh(x1)", r"term 'sinh\(x1\)'.*sinh\(x1\) cannot be encoded"),
        ("y = x1^x2", "variables in a base and in its exponent"),
        ("x1 y = 2", "mixes the target y with features"),
        ("y = y", "leaves nothing of the target"),
        ("y = |y|", "leaves nothing beside the target"),
        ("y = `length`", "`length` is no feature and not the target; there are x1, x2, y"),
        ("y = sin x1", "needs its argument in brackets"),
        ("y = foo(x1)", "'foo' is no function"),
        ("y = x1/x2 x1", "either way"),
        ("y = (x1", r"a \) is missing"),
        ("y = x1 +", "ends too early"),
        ("y = x1 = x2", "'=' has no meaning"),
        ("y = x1 @ x2", "'@' has no meaning"),
        ("y = x1/0", "divides by 0"),
        ("y = sqrt(-1) x1", "no real finite value"),
        ("y = 9^9^9^9 x1", "out of range"),
        ("y = 1e3^(1e3^(1e3 + a)) x1", "out of range"),
        ("y = exp(exp(exp(9))) x1", "out of range"),
        ("y = (x1 + x2)^99", "power above 64"),
        ("y = " + "(" * 99 + "x1" + ")" * 99, "nested more than"),
        ("y = " + " + ".join(["x1"] * 999), "at most 300"),
        ("y = __import__('os')", "'__import__' is no function|has no meaning"),
        (3, "a formula is text, an Equation or a SymPy"),
    ],
)
def test_what_cannot_be_written(formula, message):
    with pytest.raises(GSRError, match=message):
        read(formula)


def test_messages_use_the_names_of_the_user():
    with pytest.raises(GSRError, match=r"sinh\(height\)"):
        read("y = sinh(height)", ["width", "height"])


@pytest.mark.parametrize(
    ("name", "columns", "meant"),
    [
        ("hieght", ["width", "height"], "height"),
        ("Height", ["width", "height"], "height"),
        ("x3", ["x1", "x2"], "x2"),
        ("zz", ["x", "z"], "z"),
        ("tmp", ["temp", "time"], "temp"),
    ],
)
def test_a_constant_that_may_be_a_misspelt_column_is_named(name, columns, meant):
    message = f"'{name}' in the formula is no column, so it is a constant .*did you mean '{meant}'"
    with pytest.warns(UserWarning, match=message):
        read(f"y = a*{columns[0]} + b*{name}", columns)


@pytest.mark.parametrize(
    ("name", "columns"),
    [("t0", ["t"]), ("x0", ["x1", "x2"]), ("temp_0", ["temp"]), ("tau", ["t"]), ("T", ["t"]),
     ("k", ["x"]), ("amplitude", ["angle", "time"])],
)  # fmt: skip
def test_usual_names_of_constants_are_not(name, columns):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(f"y = {name}*{columns[0]}", columns)


def test_library_that_is_too_small():
    with pytest.raises(GSRError, match=r"term 'tanh\(x1\)'.*one, identity, cos, sin, exp, ln"):
        read("y = tanh(x1)", library=TABLE_2)


@given(st.text("xy12.5^*/+-()|`= abesinqrtlog", max_size=24))
@settings(max_examples=150)
def test_any_text_is_a_formula_or_an_error(formula):
    with contextlib.suppress(GSRError):
        assert isinstance(read(formula), Structure)


leaves = st.sampled_from(["x1", "x2", "y", "a", "b", "2", "0", "0.5", "2.5", "1e3", "pi"])
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " - ", "*", "/", "^", " "]), inner).map(
            lambda t: f"({''.join(t)})"
        ),
        st.tuples(st.sampled_from(["sin", "exp", "log", "sqrt", "abs"]), inner).map(
            lambda t: f"{t[0]}({t[1]})"
        ),
    ),
    max_leaves=8,
)


@given(trees)
@settings(max_examples=150)
def test_any_expression_is_a_formula_or_an_error(tree):
    with contextlib.suppress(GSRError):
        assert isinstance(read(f"y = {tree}"), Structure)


def test_what_an_equation_prints_is_read_again():
    rng = np.random.default_rng(0)
    for law in drawn_laws(40, seed=5):
        X, y = law.rows(20, 0), rng.uniform(1, 2, 20)
        names = [f"x{v + 1}" for v in range(law.n_features)]
        width = max(len(row) for matrix in law.phi for row in matrix)
        phi = [[r if r[1] == 3 else r + [0] * (width - len(r)) for r in m] for m in law.phi]
        printed = str(Equation.from_data(ALL, ALL, [[[1]]], [1.0], phi, law.alpha, X, y))
        found = read(printed, names)
        values = evaluate(found.phi, ALL, X) @ found.alpha
        np.testing.assert_allclose(values, np.sum(law.terms(X), axis=0), rtol=1e-4, err_msg=printed)


def test_equations_and_sympy():
    X = np.random.default_rng(0).uniform(1, 2, (20, 2))
    law = fit_formula("y = 2 x1 sin(2.5 x2) + 1", X, 3 * X[:, 0] * np.sin(2.4 * X[:, 1]) - 1)
    direct = read(law)
    assert direct.phi == [[list(r) for r in m] for m in law.phi]
    np.testing.assert_allclose(direct.alpha, law.alpha)
    other = read(law, library=Library(["identity", "sin", "exp"]))
    np.testing.assert_allclose(sorted(other.alpha), sorted(law.alpha))
    x1, x2, y, k = sympy.symbols("x1 x2 y k")
    assert read(sympy.Eq(y**2, k * x1 * sympy.sin(x2))) == read("y^2 = k x1 sin(x2)")
    assert read(x1**2 + 3 * x2).alpha == [1, 3]
    assert read(x1**2 + 3 * x2, target="T").alpha == [1, 3]
    assert len(parse(["x1", "x2"], NAMES, "y", ALL, ALL)) == 2


def test_terms():
    assert parse_terms(["x1*sin(x2)", "3 x2"], NAMES, ALL) == [
        encode("x1*sin(x2)", ALL, 2),
        encode("x2", ALL, 2),
    ]
    for bad, message in (("x1 + x2", "2 terms"), ("y x1", "mixes"), ("x1 = y", "features alone")):
        with pytest.raises(GSRError, match=message):
            parse_terms([bad], NAMES, ALL)


# ---- refit -----------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 5, (120, 2))
A, B = X.T


@pytest.mark.parametrize(
    ("formula", "y", "law"),
    [
        ("y = a x1^2 + b sin(w x2) + c", 2 * A**2 + 3 * np.sin(9.8 * B) - 1, "9.8 x2"),
        ("y = a x1^n", 2.5 * A**1.3, "y = 2.5 x1^1.3"),
        ("y^2 = k x1^3", np.sqrt(2 * A**3), "y^2 = 2 x1^3"),
        ("y = v x1/(K + x1)", 3 * A / (1.7 + A), "y = 3 x1/(1.7 + x1)"),
        ("y = (a + b x1)/(c + d x2)", (1 + 2 * A) / (3 + B / 2), "4 (0.5 + x1)/(6 + x2)"),
        ("exp(k y) = x1 + c", np.log(A + 2) / 1.5, "exp(1.5 y) = x1 + 2"),
        ("y^2 + b y = x1", np.sqrt(1 + A) - 1, "y^2 + 2 y = x1"),
        ("y = a sin(w x1) + b cos(w x1)", 2 * np.sin(3.3 * A) + np.cos(3.3 * A), "3.3 x1"),
        ("y = a x1 + a x2 + c", 2 * A + 2 * B + 3, "y = 2 x1 + 2 x2 + 3"),
        ("y = a exp(-a x1)", 1.4 * np.exp(-1.4 * A), "1.4 exp(-1.4 x1)"),
        ("y = 1.5 sin(9.5 x1)", 2 * np.sin(9.8 * A), "2 sin(9.8 x1)"),
        ("y = b sin(x1/2)", 3 * np.sin(A / 2), "3 sin(0.5 x1)"),
        ("y = a cbrt(x1) + b abs(x1 - c)", 2 * np.cbrt(A) + abs(A - 1.4) / 2, "abs(x1 - 1.4)"),
        ("y = a cbrt(x1 - c)", 3 * np.cbrt(A - 1.4), "y = 3 cbrt(x1 - 1.4)"),
        ("y = a arctan(w x1) + b x2", 2 * np.arctan(1.7 * A) - B, "arctan(1.7 x1)"),
        ("cbrt(y) = a x1 + b", (2 * A - 3) ** 3, "cbrt(y) = 2 x1 - 3"),
        ("arctan(y) = a x1", np.tan(0.2 * A), "arctan(y) = 0.2 x1"),
    ],
)
def test_exact_laws_are_fitted_to_rounding(formula, y, law):
    found = fit_formula(formula, X, y)
    assert law in str(found)
    assert found.level == "rounding"
    np.testing.assert_allclose(found.predict(X), y, rtol=1e-12, atol=1e-12 * np.ptp(y))


def test_noise():
    y = 3 * np.exp(-A / 2) + 1 + 0.05 * np.random.default_rng(1).normal(size=len(A))
    found = fit_formula("y = a*exp(-x1/tau) + b", X, y)
    from scipy.optimize import curve_fit

    best, _ = curve_fit(lambda x, a, t, b: a * np.exp(-x / t) + b, A, y, p0=[3, 2, 1])
    assert found.alpha == pytest.approx(best[[0, 2]], rel=1e-4)
    assert found.level == "noise"


def test_a_letter_in_two_places_is_one_constant_in_spite_of_noise():
    y = 2 * np.sin(3.3 * A) + np.cos(3.3 * A) + 0.1 * np.random.default_rng(1).normal(size=len(A))
    found = fit_formula("y = a sin(w x1) + b cos(w x1)", X, y)
    inside = [row[-1] for matrix in found.phi for row in matrix]
    assert inside[0] == inside[1] == pytest.approx(3.3, abs=0.02)


def test_numbers_that_are_no_constants_stay_in_spite_of_noise():
    y = 3 * np.sin(A / 2) * np.exp(-0.7 * B) + 0.1 * np.random.default_rng(1).normal(size=len(A))
    found = fit_formula("y = b sin(x1/2) exp(-k x2)", X, y)
    inside = sorted(row[-1] for matrix in found.phi for row in matrix if row[1] == 3)
    assert inside[0] == 0.5
    assert inside[1] == pytest.approx(0.7, abs=0.1)


def test_names_come_with_the_data():
    frame = pd.DataFrame(X, columns=["distance", "mass (kg)"])
    y = pd.Series(2 * A**1.5 / B, name="period")
    found = fit_formula("period = k distance^1.5/`mass (kg)`", frame, y)
    assert str(found) == "period = 2 distance^1.5/`mass (kg)`"


@pytest.mark.parametrize(
    ("formula", "y", "message"),
    [
        ("y = a exp(b x1)", A[:1], "do not fit"),
        ("y = a exp(b x1)", np.where(A > 4, np.nan, A), "not finite, first in row"),
        ("y = sqrt(-x1) a", A, "no constants were found|no real"),
        ("y = sinh(x1)", A, "cannot be encoded"),
    ],
)
def test_refit_says_what_is_wrong(formula, y, message):
    with pytest.raises(GSRError, match=message):
        fit_formula(formula, X, y)


def test_too_few_rows():
    with pytest.raises(GSRError, match="2 rows are too few for 3 constants"):
        fit_formula("y = a x1 + b x2 + c", X[:2], A[:2])


def test_weights_of_rows():
    y = 3 * np.exp(-A / 2) + 1 + 0.05 * np.random.default_rng(1).normal(size=len(A))
    copies = np.random.default_rng(2).integers(0, 4, len(A))
    formula = "y = a*exp(-x1/tau) + b"
    weighted = fit_formula(formula, X, y, sample_weight=copies)
    copied = fit_formula(formula, np.repeat(X, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(weighted.alpha, copied.alpha, rtol=1e-4)
    with pytest.raises(GSRError, match="sample_weight"):
        fit_formula(formula, X, y, sample_weight=np.zeros(len(y)))


def test_structures_with_fitted_constants():
    y = 2 * np.sin(9.8 * A) + 1
    found, given = (
        parse("y = a sin(w x1) + c", NAMES, "y", ALL, ALL, data)[0]
        for data in (Training(ALL, ALL, X, y), None)
    )
    assert found.phi[0][0][-1] == pytest.approx(9.8)
    assert found.alpha == pytest.approx([2, 1])
    assert given.phi[0][0][-1] != pytest.approx(9.8)
