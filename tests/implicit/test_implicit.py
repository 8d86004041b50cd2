"""`GSRImplicit`: laws between columns of which none is the target."""

import re

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

import gsr
from gsr import GSRImplicit, GSRRegressor
from gsr.exceptions import GSRError
from gsr.implicit.form import _compiled, column_symbols
from gsr.wording import LEVELS

#: Searches end by counted work.
REGRESSOR = GSRRegressor(max_evals=300, max_time=None, n_jobs=1)
N = 200


def fitted(X, names, **options):
    model = GSRImplicit(regressor=REGRESSOR, max_time=None, random_state=0)
    return model.fit(X, feature_names=list(names), **options)


def circle(rng, *radii):
    angle = rng.uniform(0, 2 * np.pi, N)
    return np.column_stack([radii[0] * np.cos(angle), radii[1] * np.sin(angle)])


def gas(rng):
    n, T, V = rng.uniform(1, 3, N), rng.uniform(250, 400, N), rng.uniform(1, 5, N)
    return np.column_stack([8.314 * n * T / V, V, n, T])


def motion(rates, start, end):
    t = np.linspace(0, end, N)
    return solve_ivp(rates, (0, end), start, t_eval=t, rtol=1e-11, atol=1e-12).y.T


def pendulum():
    return motion(lambda t, x: [x[1], -np.sin(x[0])], [1.5, 0.3], 20)


def foxes_and_hares():
    return motion(
        lambda t, x: [x[0] * (1.1 - 0.4 * x[1]), x[1] * (0.1 * x[0] - 0.4)], [10.0, 5.0], 40
    )


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# ---- exact laws ----------------------------------------------------------------------------------


def test_an_ellipse(rng):
    model = fitted(circle(rng, 2.0, 1.0), "xy")
    assert str(model.equation_) == "y^2 + 0.25 x^2 = 1"
    assert model.level_ == "rounding"
    assert model.score(circle(rng, 2.0, 1.0)) == pytest.approx(1.0)


def test_a_rotated_ellipse(rng):
    X = circle(rng, 2.0, 1.0) @ np.array([[1.0, 0.5], [-0.5, 1.0]])
    assert str(fitted(X, "xy").equation_).replace(" ", "").count("xy") == 1
    assert fitted(X, "xy").level_ == "rounding"


def test_a_hyperbola(rng):
    x = rng.uniform(0.3, 4, N)
    assert str(fitted(np.column_stack([x, 3 / x]), "xy").equation_) == "x y = 3"


def test_a_sphere(rng):
    X = rng.normal(size=(N, 3))
    X *= 3 / np.linalg.norm(X, axis=1)[:, None]
    assert str(fitted(X, "xyz").equation_) == "x^2 + y^2 + z^2 = 9"


@pytest.mark.parametrize(
    ("last", "law"),
    [
        (lambda x, y: np.hypot(x, y), "x^2 + y^2 = z^2"),
        (lambda x, y: 1 / (1 / x + 1 / y), "1/x + 1/y = 1/z"),
        (lambda x, y: 5 * x**-1.4 / y, "y z x^1.4 = 5"),
    ],
)
def test_surfaces(rng, last, law):
    x, y = rng.uniform(0.5, 3, (2, N))
    assert str(fitted(np.column_stack([x, y, last(x, y)]), "xyz").equation_) == law


def test_a_law_among_many_columns():
    rng = np.random.default_rng(1)
    X = rng.uniform(0.5, 3, (100, 12))
    X[:, 11] = 2 / (X[:, 3] * X[:, 7])
    assert str(fitted(X, "abcdefghijkl").equation_) == "d h l = 2"


def test_the_energy_of_a_pendulum():
    law = fitted(pendulum(), "xv").equation_
    assert str(law).startswith("2 cos(x) - v^2 = ")
    assert law.level == "rounding"


def test_the_invariant_of_two_populations():
    law = fitted(foxes_and_hares(), ["hares", "foxes"]).equation_
    assert str(law) == "hares + 4 foxes - 11 ln(foxes) - 4 ln(hares) = 3.08584"


def test_van_der_waals(rng):
    V, T = rng.uniform(0.1, 1, N), rng.uniform(280, 400, N)
    law = fitted(np.column_stack([8.314 * T / (V - 0.04) - 140 / V**2, V, T]), "pVT").equation_
    assert law.level == "rounding"
    V, T = (sympy.Symbol(name, real=True) for name in "VT")
    (pressure,) = law.solve("p")
    truth = 8.314 * T / (V - 0.04) - 140 / V**2
    assert float((pressure - truth).subs({V: 0.3, T: 300})) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.slow
def test_a_law_with_a_constant_inside_comes_from_a_search(rng):
    x, z = rng.uniform(0, 3, N), rng.uniform(1, 2, N)
    law = fitted(np.column_stack([x, z * np.exp(-0.7 * x), z]), "xyz").equation_
    assert law.level == "rounding"
    assert law.columns == ["x", "y", "z"]


# ---- noise in all columns ------------------------------------------------------------------------


@pytest.mark.slow
def test_an_ideal_gas_with_noise_in_every_column(rng):
    X = gas(rng) * (1 + 0.01 * rng.normal(size=(N, 4)))
    model = fitted(X, ["p", "V", "n", "T"])
    assert str(model.equation_).startswith("V p/(T n) = ")
    _, low, high = model.intervals()["right side"]
    assert low < 8.314 < high
    assert high - low < 0.1
    assert model.level_ == "noise"


@pytest.mark.slow
def test_a_noisy_circle_is_fitted_by_orthogonal_distances(rng):
    X = circle(rng, 3.0, 3.0) + rng.normal(scale=0.1, size=(N, 2))
    law = fitted(X, "xy", sigma=0.1).equation_
    assert law.level == "noise"
    assert law.distance(X).std() == pytest.approx(1.0, abs=0.15)
    numbers = law.intervals()
    assert any(low < 9.0 < high for _, low, high in numbers.values())


@pytest.mark.slow
def test_the_energy_of_a_noisy_pendulum(rng):
    X = pendulum() + rng.normal(scale=0.01, size=(N, 2))
    model = fitted(X, "xv")
    low, high = model.intervals()["coefficient of cos(x)"][1:]
    assert low < 2.0 < high
    assert model.level_ == "noise"


# ---- no laws -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_independent_columns_have_no_law(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=80), rng.uniform(1, 2, 80), rng.exponential(size=80)])
    with pytest.warns(UserWarning, match="no law was found"):
        model = fitted(X, "xyz")
    assert model.equation_ is None
    assert model.level_ == "no law"
    assert len(model.to_pandas()) == 0
    with pytest.raises(GSRError, match="no law"):
        model.solve("x")


def test_constant_and_repeated_columns_are_left_out(rng):
    X = circle(rng, 1.0, 1.0)
    wide = np.column_stack([X, np.full(N, 7.0), X[:, 0]])
    with pytest.warns(UserWarning) as warned:
        model = fitted(wide, "xyab")
    told = [str(each.message) for each in warned]
    assert any("'a' is the same in every row" in message for message in told)
    assert any("'b' repeats 'x'" in message for message in told)
    assert str(model.equation_) == "x^2 + y^2 = 1"
    assert model.left_out_ == ["a", "b"]
    assert np.abs(model.residuals(wide)).max() < 1e-12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[:, :1], "at least two columns"),
        (lambda X: X[:5], "at least 10 rows"),
        (lambda X: np.where(X[3, 1] == X, np.nan, X), "column y, contains NaN"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_bad_tables_are_refused(rng, change, message):
    X = change(circle(rng, 1.0, 1.0))
    with pytest.raises(GSRError, match=message):
        fitted(X, "xy"[: X.shape[1]])


def test_names_are_checked(rng):
    with pytest.raises(GSRError, match="2 different names"):
        fitted(circle(rng, 1.0, 1.0), "xx")


def test_a_regressor_without_y_points_to_implicit_laws(rng):
    with pytest.raises(GSRError, match="GSRImplicit"):
        GSRRegressor().fit(circle(rng, 1.0, 1.0))


# ---- what a law does -----------------------------------------------------------------------------


def test_a_law_is_solved_for_each_column(rng):
    law = fitted(gas(rng), ["p", "V", "n", "T"]).equation_
    p, V, n, T = (sympy.Symbol(name, real=True) for name in ["p", "V", "n", "T"])
    assert law.solve("p") == [8.314 * n * T / V]
    assert law.solve("T")[0].subs({p: 8.314, V: 2, n: 1}) == pytest.approx(2.0)
    with pytest.raises(GSRError, match="no column 'y'"):
        law.solve("y")


def test_signs_are_constant_in_derivatives():
    (x,) = column_symbols([False])
    for term in (sympy.sign(1 / x) * sympy.sqrt(sympy.Abs(x)), sympy.Abs(1 + 1 / x)):
        compiled, at = _compiled(term, (x,), 0), np.array([[-2.0], [-0.3], [1.5]])
        step = 1e-6
        low, high = (compiled.value(at + h, np.empty(0)) for h in (-step, step))
        ((_, slope),) = compiled.slopes(at, np.empty(0))
        np.testing.assert_allclose(slope, (high - low) / (2 * step), rtol=1e-6)


def test_only_real_solutions_are_given(rng):
    law = fitted(circle(rng, 2.0, 1.0), "xy").equation_
    roots, y = law.solve("x"), sympy.Symbol("y", real=True)
    assert len(roots) == 2
    assert float(roots[0].subs(y, 0) * roots[1].subs(y, 0)) == pytest.approx(-4.0)


def test_sympy_latex_and_table(rng):
    model = fitted(circle(rng, 2.0, 1.0), ["x", "flow rate"])
    assert model.sympy().rhs == 1
    assert r"\text{flow rate}" in model.latex()
    assert str(model) == f"{model.equation_}\n{LEVELS[model.level_].sentence}"
    table = model.to_pandas()
    assert table.chosen.sum() == 1
    assert table.equation[table.chosen].item() == str(model.equation_)


@pytest.mark.slow
def test_a_saved_model_is_the_same(rng, tmp_path):
    X = foxes_and_hares()
    X += rng.normal(scale=0.02, size=X.shape)
    model = fitted(X, ["hares", "foxes"])
    model.save(tmp_path / "model.json")
    read = gsr.load(tmp_path / "model.json")
    assert str(read.equation_) == str(model.equation_)
    assert read.intervals() == model.intervals()
    np.testing.assert_array_equal(read.distance(X), model.distance(X))
    assert read.score(X) == model.score(X)


def test_a_file_with_a_term_that_is_no_formula_is_refused(rng, tmp_path):
    path = tmp_path / "model.json"
    fitted(circle(rng, 1.0, 1.0), "xy").save(path)
    text = path.read_text().replace('"x0**2"', '"open(x0)"')
    text = re.sub(r'"checksum": "[^"]*"', '"checksum": null', text)
    path.write_text(text)
    with pytest.raises(GSRError, match="open"):
        gsr.load(path)
