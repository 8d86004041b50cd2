import ast
import ctypes
import random
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest

from drawn_laws import wider_matrix
from gsr import GSRError, Transformation, export
from gsr.encoding import encode, encode_target, evaluate
from gsr.equation import Equation
from gsr.export.syntax import identifiers
from gsr.library import PRESETS, Library

ALL = PRESETS["all"]
RNG = np.random.default_rng(0)
WIDE = RNG.uniform(-2, 2, (60, 2))
POSITIVE = RNG.uniform(0.3, 2, (60, 2))
COIN = np.where(RNG.uniform(size=60) < 0.5, -1.0, 1.0)
ARCSINH = Transformation(
    "arcsinh", np.arcsinh, "asinh({})", inverse=np.sinh, inverse_sympy="sinh({})"
)
RAMP = Transformation("ramp", lambda t: np.maximum(t, t / 2), "Max({}, {}/2)")
STEP = Transformation(
    "step", lambda t: np.where(t < 0, -1.0, t**2 / 3), "Piecewise((-1, {} < 0), ({}**2/3, True))"
)
OWN = Library(["identity", "sin", "square", ARCSINH, RAMP, STEP])


def matrix(formula, library, d):
    return encode(formula, library, d) if isinstance(formula, str) else formula


def law(target, features, X, y, library=ALL, names=None):
    """The law whose sides are sums of (coefficient, formula); y is a function of X's columns."""
    return Equation.from_data(
        library, library,
        [encode_target(formula, library) for _, formula in target], [c for c, _ in target],
        [matrix(formula, library, X.shape[1]) for _, formula in features],
        [c for c, _ in features], X, y(*X.T), feature_names=names,
    )  # fmt: skip


def size(a, b):
    return np.sqrt(a**2 + 1)


LAWS = {
    "products": lambda: law(
        [(1.0, "y")], [(0.1, "x1*x2**3"), (-1 / 3, "x1"), (-1.0, "x2"), (-2.5, "1")], WIDE,
        lambda a, b: a,
    ),
    "quotients": lambda: law(
        [(1.0, "y")], [(-2.0, "x1/(1 + x2)"), (1.0, "1/(x1*x2)"), (1.0, "1/x2**2")], WIDE,
        lambda a, b: a,
    ),
    "nested": lambda: law(
        [(1.0, "y")], [(1.0, "exp(cos(x1 - x2))"), (2.0, "sin(9.8*x1 + x2)*tanh(x2)")], WIDE,
        lambda a, b: a,
    ),
    "every function": lambda: law(
        [(1.0, "y")],
        [(1.0, "exp(-x1)"), (2.0, "log(x1 + x2)"), (3.0, "sqrt(x1*x2)"), (1.0, "tan(x1)"),
         (1.0, "cbrt(x1 - x2)"), (1.0, "abs(x1 - 1)"), (1.0, "arctan(x1*x2)"),
         (1.0, "(x1 + x2)**3"), (1.0, "1/(x1 + x2)"), (1.0, "(x1 - x2)**2*sqrt(x2)")],
        WIDE, lambda a, b: a,
    ),
    "a constant": lambda: law([(1.0, "y")], [(-1.5, "1")], WIDE, lambda a, b: a),
    "1/y": lambda: law([(1.0, "1/y")], [(1.0, "x1"), (2.0, "x2")], WIDE, lambda a, b: a),
    "exp(y)": lambda: law([(2.0, "exp(y)")], [(1.0, "x1*x2")], WIDE, lambda a, b: a),
    "sqrt(y)": lambda: law([(1.0, "sqrt(y)")], [(1.0, "x1")], POSITIVE, lambda a, b: a**2),
    "y**2 above 0": lambda: law([(1.0, "y**2")], [(1.0, "x1")], POSITIVE, lambda a, b: a),
    "y**2 below 0": lambda: law([(3.0, "y**2")], [(1.0, "x1")], POSITIVE, lambda a, b: -a),
    "y**3": lambda: law([(1.0, "y**3")], [(1.0, "x1"), (1.0, "x2")], WIDE, lambda a, b: a),
    "cbrt(y)": lambda: law([(2.0, "cbrt(y)")], [(1.0, "x1"), (1.0, "x2")], WIDE, lambda a, b: a),
    "cbrt(y)**2": lambda: law(
        [(1.0, "cbrt(y)**2")], [(1.0, "x1**2")], WIDE, lambda a, b: np.sign(b) * np.abs(a) ** 3
    ),
    "abs(y)": lambda: law([(1.0, "abs(y)")], [(1.0, "x1")], POSITIVE, lambda a, b: -a),
    "arctan(y)": lambda: law([(1.0, "arctan(y)")], [(0.7, "x1")], WIDE, lambda a, b: np.tan(a / 2)),
    "1/(1 + y)": lambda: law([(1.0, "1/(1 + y)")], [(1.0, "x1")], POSITIVE, lambda a, b: a),
    "y/(1 + y)": lambda: law([(1.0, "y/(1 + y)")], [(1.0, "x1")], POSITIVE, lambda a, b: a),
    "sign of features": lambda: law(
        [(1.0, "y**2")], [(1.0, "x1**2"), (1.0, "1")], WIDE,
        lambda a, b: np.sign(a * b) * size(a, b),
    ),
    "sign in ln": lambda: law(
        [(0.5, "log(y)")], [(0.5, "log(x1 + sin(x2))"), (1.0, "log(x2)")], WIDE,
        lambda a, b: -(a + np.sin(b)) * b**2,
    ),
    "ln below 0": lambda: law(
        [(1.0, "log(y)")], [(1.0, "x1"), (0.3, "x2")], WIDE, lambda a, b: -np.exp(a)
    ),
    "no sign": lambda: law(
        [(1.0, "y**2")], [(1.0, "x1**2"), (1.0, "1")], WIDE, lambda a, b: COIN * size(a, b)
    ),
    "one side in range": lambda: law(
        [(1.0, "y**2")], [(4.0, "x1"), (4.0, "x2")], POSITIVE,
        lambda a, b: np.where(a < 0.6, -0.5, np.sqrt(4 * a + 4 * b)),
    ),
    "tanh(y)": lambda: law([(1.0, "tanh(y)")], [(0.6, "x1")], WIDE, lambda a, b: a),
    "second turn of cos": lambda: law(
        [(1.0, "cos(y)")], [(0.5, "x1")], WIDE, lambda a, b: 2 * np.pi - np.arccos(a / 2)
    ),
    "turns of sin": lambda: law(
        [(1.0, "sin(y)")], [(0.5, "x1"), (0.05, "1")], WIDE, lambda a, b: np.linspace(-1, 4, len(a))
    ),
    "quadratic": lambda: law(
        [(1.0, "y**2"), (3.0, "y")], [(1.0, "x1"), (1.0, "x2")], POSITIVE, lambda a, b: a
    ),
    "quadratic below": lambda: law(
        [(1.0, "y**2"), (3.0, "y")], [(1.0, "x1"), (1.0, "x2")], POSITIVE, lambda a, b: -3 - a
    ),
    "no closed form": lambda: law(
        [(1.0, "y"), (0.25, "y**3")], [(2.0, "x1"), (1.0, "x2")], WIDE, lambda a, b: a
    ),
    "no closed form, falling, up to a pole": lambda: law(
        [(1.0, "1/y"), (-1.0, "log(y)")], [(1.0, "x1"), (-1.0, "x2")], WIDE, lambda a, b: np.exp(a)
    ),
    "no closed form, two pieces": lambda: law(
        [(1.0, "y**2"), (0.5, "y**3")], [(0.1, "x1"), (0.2, "x2")], POSITIVE,
        lambda a, b: np.linspace(-1, 2, len(a)),
    ),
    "no closed form, sign": lambda: law(
        [(1.0, "y**2"), (1.0, "cos(y)")], [(1.0, "x1**2"), (2.0, "1")], WIDE,
        lambda a, b: np.sign(b) * size(a, b),
    ),
    "own": lambda: law(
        [(1.0, "y")], [(3.0, "asinh(x1*x2)"), (-1.0, "x2")], WIDE, lambda a, b: a, OWN
    ),
    "own, in pieces": lambda: law(
        [(1.0, "y")], [(1.0, [[4, 1, 1, 2], [6, 0, 2, 0]]), (2.0, [[-6, 2, 1, 2]])], WIDE,
        lambda a, b: a, OWN,
    ),
    "own target": lambda: law(
        [(1.0, "asinh(y)")], [(1.0, "x1")], WIDE, lambda a, b: np.sinh(a * 0.7), OWN
    ),
    "odd names": lambda: law(
        [(1.0, "y")], [(1.0, "x1*x2")], WIDE, lambda a, b: a, ALL, ["double", "\\ \n*/ 3 % of λ??/"]
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=LAWS)
def equation(request):
    return LAWS[request.param]()


def rows():
    X = np.vstack([WIDE, POSITIVE, np.random.default_rng(1).uniform(-4, 4, (100, 2))])
    edges = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [-1.0, 1.0], [1e120, 2.0], [800.0, -800.0]]
    return np.vstack([X, edges, [[np.nan, 1.0]]])


def expected(equation, X):
    """Predictions, and where gsr had to ask the nearest training row."""
    with np.errstate(all="ignore"):
        v = evaluate(equation.phi, equation.library, X) @ equation.alpha
    solution = equation.inversion.solve(v, X)
    return solution.values, solution.guessed


def check(equation, values, X, rtol=1e-9):
    wanted, guessed = expected(equation, X)
    assert values.shape == wanted.shape
    known = ~guessed & np.isfinite(wanted)
    assert known.sum() >= 5, "the rows test something"
    np.testing.assert_allclose(values[known], wanted[known], rtol=rtol, atol=1e-12)
    # Elsewhere there is NaN or a solution, never another number.
    others = ~known & np.isfinite(values)
    v = evaluate(equation.phi, equation.library, X[others]) @ equation.alpha
    g = equation.inversion.function(values[others])
    np.testing.assert_allclose(g, v, rtol=1e-9, atol=1e-9)


def imported(text):
    """What a Python source imports."""
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert all(isinstance(n, ast.Import) for n in nodes)
    return {alias.name.partition(".")[0] for n in nodes for alias in n.names}


def run(text, name="law"):
    namespace = {}
    exec(compile(text, name, "exec"), namespace)
    return namespace[name]


def compiled(text, folder, name="law", is_new=True):
    compiler = shutil.which("gcc") or pytest.skip("there is no gcc")
    if is_new:
        _compile(compiler, text, folder)
    function = getattr(ctypes.CDLL(str(folder / "law.so")), name)
    function.restype = ctypes.c_double
    return lambda *row: function(*map(ctypes.c_double, row))


def _compile(compiler, text, folder):
    (folder / "law.c").write_text(text, encoding="utf-8")
    flags = ["-Wall", "-Wextra", "-Werror", "-std=c99", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "law.c", "-o", "law.so", "-lm"], cwd=folder, check=True)


# ---- every language says what predict says -----------------------------------------------------


def test_python(equation):
    text = export.source(equation, "python")
    assert imported(text) == {"math"}
    function = run(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(equation, np.array([function(*row) for row in rows().tolist()]), rows())


def test_numpy(equation):
    text = export.source(equation, "numpy")
    assert imported(text) <= {"math", "numpy"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(equation, run(text)(*rows().T), rows())
        assert np.shape(run(text)(1, 2)) == () and run(text)([[1.0]], [1.0, 2.0]).shape == (1, 2)


def test_c(equation, tmp_path):
    function = compiled(export.source(equation, "c"), tmp_path)
    check(equation, np.array([function(*row) for row in rows().tolist()]), rows())


def test_torch(equation):
    torch = pytest.importorskip("torch")
    text = export.source(equation, "torch")
    assert imported(text) <= {"math", "torch"}
    function = run(text)
    columns = [torch.tensor(c, dtype=torch.float64) for c in rows().T]
    check(equation, function(*columns).numpy(), rows())
    assert function(*(c.float() for c in columns)).dtype == torch.float32
    assert function(1, 2).shape == ()


def test_jax(equation):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    text = export.source(equation, "jax")
    assert imported(text) <= {"math", "jax"}
    function = run(text)
    check(equation, np.asarray(function(*rows().T)), rows())
    check(equation, np.asarray(jax.jit(function)(*rows().T)), rows())


@pytest.fixture(scope="module")
def drawn():
    """Laws for y itself with random terms, of all shapes that the encoding has."""
    rng, laws = random.Random(1), []
    while len(laws) < 60:
        terms = [(rng.uniform(-2, 2), wider_matrix(rng, ALL, 2)) for _ in range(2)]
        equation = law([(1.0, "y")], terms, WIDE, lambda a, b: a)
        if np.isfinite(expected(equation, rows())[0]).sum() > 20:
            laws.append(equation)
    return laws


@pytest.mark.parametrize("language", ["python", "numpy", "c"])
def test_random_terms(drawn, language, tmp_path):
    texts = [export.source(law, language, f"law{k}") for k, law in enumerate(drawn)]
    X = rows()[::3]
    for k, equation in enumerate(drawn):
        if language == "numpy":
            values = run(texts[k], f"law{k}")(*X.T)
        elif language == "python":
            values = np.array([run(texts[k], f"law{k}")(*row) for row in X.tolist()])
        else:
            # All in one file: helpers must not get in each other's way.
            function = compiled("\n".join(texts), tmp_path, f"law{k}", k == 0)
            values = np.array([function(*row) for row in X.tolist()])
        wanted, _ = expected(equation, X)
        beside, _ = expected(equation, np.nextafter(X, np.inf))
        tame = np.isfinite(wanted) & (np.abs(wanted) < 1e8)
        tame &= np.isclose(beside, wanted, rtol=1e-9, atol=1e-9)  # rounding says nothing
        np.testing.assert_allclose(values[tame], wanted[tame], rtol=1e-6, atol=1e-8)
        # Operands that cancel, as in x1/x1, are not written, so it may be defined more often.
        assert np.isfinite(values[np.isfinite(wanted)]).all()


# ---- derivatives -------------------------------------------------------------------------------


SMOOTH = ("nested", "y**2 below 0", "sign in ln", "second turn of cos", "quadratic",
          "no closed form", "cbrt(y)", "arctan(y)", "own target")  # fmt: skip


def slopes(equation, X):
    """dy/dx1 by differences of the predictions."""
    step = np.array([1e-5, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (equation.predict(X + step) - equation.predict(X - step)) / 2e-5


@pytest.mark.parametrize("name", SMOOTH)
def test_torch_has_derivatives(name):
    torch = pytest.importorskip("torch")
    equation = LAWS[name]()
    X = POSITIVE[:20] * 0.5
    columns = [torch.tensor(c, dtype=torch.float64, requires_grad=True) for c in X.T]
    run(export.source(equation, "torch"))(*columns).sum().backward()
    np.testing.assert_allclose(columns[0].grad.numpy(), slopes(equation, X), rtol=1e-5)


@pytest.mark.parametrize("name", SMOOTH)
def test_jax_has_derivatives(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    equation = LAWS[name]()
    X = POSITIVE[:20] * 0.5
    function = run(export.source(equation, "jax"))
    found = jax.vmap(jax.grad(lambda row: function(row[0], row[1])))(X)[:, 0]
    np.testing.assert_allclose(np.asarray(found), slopes(equation, X), rtol=1e-5)


# ---- the source --------------------------------------------------------------------------------


def test_python_source_needs_nothing_at_all(tmp_path):
    text = export.source(LAWS["no closed form"](), "python", "f")
    (tmp_path / "f.py").write_text(text + "\nprint(f(1.0, 0.5).hex())\n")
    told = subprocess.run(
        [sys.executable, "-I", "-S", "f.py"], cwd=tmp_path, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert float.fromhex(told) == pytest.approx(LAWS["no closed form"]().predict([[1.0, 0.5]])[0])


@pytest.mark.parametrize("language", export.LANGUAGES)
def test_the_header_tells_the_law_and_the_arguments(language):
    equation = LAWS["odd names"]()
    text = export.source(equation, language, name="speed")
    assert "speed" in text and "by gsr 0." in text
    argument = identifiers(["double"], {"double"})[0] if language == "c" else "double"
    assert f" {argument}: 'double'" in text and "x3_percent_of_lamda: '" in text
    start = "double speed(double " if language == "c" else "def speed("
    assert start + argument in text
    law_line = next(line for line in text.splitlines() if "`double`" in line or "double `" in line)
    assert law_line.startswith("//" if language == "c" else "#")


def test_constants_have_all_their_digits():
    text = export.source(LAWS["products"](), "c")
    assert repr(1 / 3) in text and "0.1 *" in text


@pytest.mark.parametrize(
    ("names", "taken", "wanted"),
    [
        (["x 1", "x_1", "x-1"], (), ["x_1", "x_1_2", "x_1_3"]),
        (["class", "x1"], ("class",), ["class_2", "x1"]),
        (["2nd", "αβ", "Δt", "é", "°C"], (), ["x2nd", "alphabeta", "Deltat", "e", "deg_C"]),
        (["", "日本", "_", "%"], (), ["x1", "x2", "x3", "percent"]),
        (["a", "a_2", "a"], (), ["a", "a_2", "a_3"]),
    ],
)
def test_identifiers(names, taken, wanted):
    assert identifiers(names, taken) == wanted


def test_names_of_the_source_itself_may_be_features(tmp_path):
    names = [
        "v",
        "y_2",
        "t",
        "size",
        "law",
        "np",
        "math",
        "sin",
        "law_g",
        "_law_choose",
        "x0",
        "j1",
    ]
    X = RNG.uniform(0.5, 2, (40, len(names)))
    features = ("(x1 + x2)**2", "(x3 + x4)**3", "sin(x8)", "x5*x6*x7", "x9*x10", "x11*x12")
    equation = law(
        [(1.0, "y**2")], [(1.0, formula) for formula in features], X, lambda *x: x[0], ALL, names
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = equation.predict(X)
    np.testing.assert_allclose(run(export.source(equation, "numpy"))(*X.T), wanted)
    np.testing.assert_allclose([run(export.source(equation, "python"))(*X[0])], wanted[:1])
    function = compiled(export.source(equation, "c"), tmp_path)
    np.testing.assert_allclose([function(*row) for row in X], wanted)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fortran",), "language must be one of python, numpy, c, torch, jax, got 'fortran'"),
        (("c", "2x"), "letter first, got '2x'"),
        (("c", "double"), "must not be a word of the language, got 'double'"),
        (("python", "lambda"), "must not be a word of the language, got 'lambda'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(GSRError, match=message):
        export.source(LAWS["products"](), *arguments)


def test_a_function_that_a_language_does_not_have():
    error = Transformation("bessel", np.abs, "besselj(0, {})")
    library = Library(["identity", error])
    equation = law([(1.0, "y")], [(1.0, "besselj(0, x1)")], WIDE, lambda a, b: a, library)
    with pytest.raises(GSRError, match="c has no function 'besselj', which the law needs"):
        export.source(equation, "c")


def test_many_features_fit_on_the_lines():
    X = RNG.uniform(1, 2, (30, 60))
    equation = law([(1.0, "y")], [(1.0, "x1*x60")], X, lambda *x: x[0])
    text = export.source(equation, "numpy")
    np.testing.assert_allclose(run(text)(*X.T), X[:, 0] * X[:, 59])
