"""A transformation enters by one entry of the table, and everything else follows from it."""

import ast
from pathlib import Path

import numpy as np
import pytest
import sympy

import gsr
from gsr import Transformation, intervals
from gsr.encoding import decode, encode, evaluate, latex, text
from gsr.encoding.fold import values_of
from gsr.encoding.rows import factors
from gsr.equation import Equation
from gsr.export import LANGUAGES, source
from gsr.library import Library, resolve
from gsr.prior import units
from gsr.prior.constraints import Checker, Jets
from gsr.report import mathml
from gsr.selection import variants
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.poles import poles
from gsr.traits import TRAITS, Limit, Traits
from gsr.transformation import BUILTINS


def one_over_root(t):
    """Return 1/sqrt(1 + t^2), the slope of arcsinh."""
    below = intervals.add(intervals.constant(1.0, len(t.low)), intervals.power(t, 2))
    return intervals.reciprocal(intervals.sqrt(below))


#: The entries.
ARCSINH = Transformation(
    "arcsinh",
    np.arcsinh,
    "asinh({})",
    inverse=np.sinh,
    inverse_sympy="sinh({})",
    derivative=lambda t: 1 / np.sqrt(1 + t * t),
    traits=Traits(
        image=intervals.monotone(np.arcsinh),
        slope=one_over_root,
        bend=lambda t: intervals.scale(
            intervals.multiply(t, intervals.power(one_over_root(t), 3)), -1.0
        ),
        rises=1,
        parity=-1,
        vanishes_at_zero=True,
        linear_at_zero=True,
        scales=True,
    ),
)
LOG1P = Transformation(
    "log1p",
    np.log1p,
    "log(1 + {})",
    inverse=np.expm1,
    inverse_sympy="exp({}) - 1",
    traits=Traits(
        image=lambda t: intervals.ln(intervals.add(intervals.constant(1.0, len(t.low)), t)),
        limit=Limit(
            "logarithm of a negative number",
            is_root=True,
            of=lambda t: intervals.add(intervals.constant(1.0, len(t.low)), t),
        ),
        rises=1,
    ),
)
LIBRARY = Library([*resolve("all").entries, ARCSINH, LOG1P])
CODE, IDENTITY = LIBRARY.code("arcsinh"), LIBRARY.code("identity")
#: arcsinh(x1 x2)/x2
MATRIX = [[CODE, 2, 1, 2], [-IDENTITY, 0, 2, 0]]
X = np.random.default_rng(0).uniform(0.5, 2, (40, 2))


def law(phi, psi=None, alpha=None):
    psi = [[[IDENTITY]]] if psi is None else psi
    alpha = [1.0] * len(phi) if alpha is None else alpha
    return FittedLaw(tuple(phi), tuple(psi), np.array(alpha), np.ones(1), 5, 0.1, 0.1, False, 50.0)


def equation(phi, y, psi=None):
    psi = [[[IDENTITY]]] if psi is None else psi
    return Equation.from_data(LIBRARY, LIBRARY, psi, [1.0], phi, [2.0] * len(phi), X, y)


def test_text_and_symbols():
    x1, x2 = sympy.symbols("x1 x2", real=True)
    assert text(MATRIX, LIBRARY) == "arcsinh(x1 x2)/x2"
    assert decode(MATRIX, LIBRARY) == sympy.asinh(x1 * x2) / x2
    assert decode(encode(decode(MATRIX, LIBRARY), LIBRARY, 2), LIBRARY) == decode(MATRIX, LIBRARY)
    assert "arsinh" in latex.side([(1.0, decode(MATRIX, LIBRARY))])
    assert "arsinh" in mathml.term(decode(MATRIX, LIBRARY))


def test_values_and_predictions():
    expected = np.arcsinh(X[:, 0] * X[:, 1]) / X[:, 1]
    np.testing.assert_allclose(evaluate([MATRIX], LIBRARY, X)[:, 0], expected, rtol=1e-15)
    np.testing.assert_array_equal(
        values_of(factors(MATRIX, LIBRARY)[0], X, LIBRARY), np.arcsinh(X[:, 0] * X[:, 1])
    )
    solved = equation([MATRIX], np.sinh(2 * expected), [[[CODE]]])
    np.testing.assert_allclose(solved.predict(X), np.sinh(2 * expected), rtol=1e-12)
    assert solved.explicit() == [sympy.sinh(solved.sympy().rhs)]


def test_poles():
    whole = np.array([[-1.0, -2.0], [1.0, 3.0], [0.5, 1.0]])
    assert poles(law([[[CODE, 0, 1]]]), LIBRARY, LIBRARY, whole).verdict == "safe"
    found = poles(law([[[-CODE, 0, 1]]]), LIBRARY, LIBRARY, whole)
    assert (found.verdict, found.reason) == ("unsafe", "division by 0")
    log1p = [[LIBRARY.code("log1p"), 0, 2]]
    assert poles(law([log1p]), LIBRARY, LIBRARY, np.abs(whole)).verdict == "safe"
    found = poles(law([log1p]), LIBRARY, LIBRARY, whole)
    assert (found.verdict, found.reason) == ("unsafe", "logarithm of a negative number")


def test_derivatives_and_proofs():
    points = np.array([[-1.5], [0.2], [3.0]])
    jet = Jets(LIBRARY, points, points, 0).basis_function(factors([[CODE, 0, 1]], LIBRARY))
    t = sympy.Symbol("t", real=True)
    for order, found in enumerate(jet):
        exact = [float(sympy.asinh(t).diff(t, order).subs(t, p)) for p in points[:, 0]]
        assert (found.low <= exact).all() and (exact <= found.high).all()
        np.testing.assert_allclose(found.low, exact, rtol=1e-12)
    y = 2 * np.arcsinh(X[:, 0])
    checker = Checker({"x1": ["increasing", "concave"]}, X, y, ["x1", "x2"], "y")
    assert checker.verdict(equation([[[CODE, 0, 1]]], y)) == "proved"
    target = equation([[[IDENTITY, 0, 1]]], np.sinh(2 * X[:, 0]), [[[CODE]]])
    checker = Checker(
        {"x1": "increasing", "y": "positive"}, X, np.sinh(2 * X[:, 0]), ["x1", "x2"], "y"
    )
    assert checker.verdict(target) == "proved"


def test_units():
    y = 2 * np.arcsinh(X[:, 0] * X[:, 1]) / X[:, 1]
    fine = {"x1": "1/m", "x2": "m", "y": "1/m"}
    assert units.check(equation([MATRIX], y), fine) == []
    broken = units.check(equation([MATRIX], y), {"x1": "m", "x2": "m", "y": "m"})
    assert broken == ["arcsinh(x1 x2): the argument has the unit m^2"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_export(language):
    y = 2 * np.arcsinh(X[:, 0] * X[:, 1]) / X[:, 1]
    written = source(equation([MATRIX], y), language)
    assert "asinh(" in written or "arcsinh(" in written
    if language in ("python", "numpy"):
        found: dict = {}
        exec(written, found)
        values = [found["law"](*row) for row in X.tolist()]
        np.testing.assert_allclose(np.array(values, dtype=float), y, rtol=1e-14)


def test_variants_and_simplification():
    data = Training(LIBRARY, LIBRARY, X, X[:, 0])
    row = [CODE, 0, 1]
    found = [v.phi for v in variants._variants(law([[row]]), variants.Places(data, False, True))]
    assert ([[CODE, 3, 1, variants.NUDGE]],) in found
    small = variants.plainer(law([[[CODE, 3, 1, 1e-7]]]), data)
    assert small.phi == ([[IDENTITY, 0, 1]],)
    assert small.alpha[0] == pytest.approx(1e-7)


def test_without_traits_nothing_is_claimed():
    plain = Library(["identity", Transformation("arcsinh", np.arcsinh, "asinh({})")])
    found = poles(law([[[2, 0, 1]]], [[[1]]]), plain, plain, X)
    assert (found.verdict, "arcsinh" in found.reason) == ("unknown", True)


# ---- the built-in ones -----------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in TRAITS if name != "one"])
def test_entries_are_complete_and_right(name):
    traits, t = TRAITS[name], BUILTINS[name]
    assert traits.has_derivatives
    x = np.linspace(0.1, 1.4, 14)
    if traits.parity:
        np.testing.assert_array_equal(t.value(-x), traits.parity * t.value(x))
    steps = np.diff(t.value(x if name == "sqrt" else np.concatenate([-x[::-1], x])))
    if traits.rises and name != "inverse":
        assert (np.sign(steps) == traits.rises).all()
    at_zero = t.value([0.0])[0]
    assert not traits.vanishes_at_zero or at_zero == 0.0
    assert traits.one_at_zero == (at_zero == 1.0)
    assert traits.linear_at_zero == (at_zero == 0.0 and t.derivative([0.0])[0] == 1.0 != t.power)
    assert bool(traits.exponent) == np.allclose(t.value(x), np.exp(traits.exponent * x))
    values = t.value(np.linspace(-50, 50, 1001))
    values = values[np.isfinite(values)]
    assert (values >= traits.low).all() and (values <= traits.high).all()


#: Lists that are about something else: the paper's tables, functions of formulas, of other
#: languages and of SymPy, and examples in the documentation of options.
OTHER_LISTS = {"formula.py", "library.py", "export/syntax.py", "report/mathml.py", "options.py"}
#: Rules that the user writes down.
OTHER_PACKAGES = ("benchmarks/", "prior/")


def test_no_other_list_names_transformations():
    """A list of three names or more is a rule that a new transformation would have to enter."""
    package, found = Path(gsr.__file__).parent, []
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        if name in OTHER_LISTS | {"traits.py"} or name.startswith(OTHER_PACKAGES):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
            names = {p.value for p in parts if isinstance(p, ast.Constant)} & set(BUILTINS)
            if len(names) >= 3:
                found.append((name, node.lineno, sorted(names)))
    assert found == []
