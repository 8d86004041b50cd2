"""Constants refined on the scale of y."""

import warnings

import numpy as np
import pytest
from scipy.optimize import least_squares

from fitted_laws import LIBRARY, ONE, law, noisy_exponential, training
from gsr.encoding import complexity, encode, text
from gsr.library import resolve
from gsr.selection.fitted import FittedLaw, Training, constants, with_constants
from gsr.selection.noise import of_kind
from gsr.selection.refit import refit
from gsr.selection.target_scale import TargetScale, linearise, refine, rmse
from gsr.selection.variants import plainer, without_slight_parts


def scipy_minimum(found, data):
    def residuals(values):
        moved = with_constants(found, values)
        return data.y - TargetScale(moved, data).solve(data.X, data.y)

    return least_squares(residuals, constants(found), xtol=1e-14, ftol=1e-14, gtol=1e-14)


def test_finds_the_minimum_on_the_scale_of_y():
    found, data = noisy_exponential()
    start = refit(found, data)
    best = refine(start, data)
    other = scipy_minimum(start, data)
    assert best.rmse < start.rmse
    assert best.rmse == pytest.approx(np.sqrt(2 * other.cost / len(data.y)), rel=1e-6)
    np.testing.assert_allclose(best.alpha, other.x, rtol=1e-3)


def test_removes_the_bias_of_the_transformed_fit():
    biased, refined = [], []
    for seed in range(20):
        found, data = noisy_exponential(noise=0.3, seed=seed)
        start = refit(found, data)
        biased.append(start.alpha[1])
        refined.append(refine(start, data).alpha[1])
    assert abs(np.mean(biased) - 2) > 0.05
    assert abs(np.mean(refined) - 2) < 0.03


def test_never_makes_a_law_worse():
    found, data = noisy_exponential()
    best = refine(found, data)
    again = refine(best, data)
    assert again.rmse <= best.rmse
    assert best.rmse == pytest.approx(rmse(best, data))


def test_frequencies_are_refined():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (300, 1))
    y = 2 * np.sin(9.8 * X[:, 0]) + 0.01 * rng.standard_normal(300)
    found = law([[[7, 3, 1, 9.75]]], [1.5], exact=False)
    best = refine(found, training(X, y))
    assert best.phi[0][0][3] == pytest.approx(9.8, abs=1e-3)
    assert best.alpha[0] == pytest.approx(2, abs=0.01)


def test_weights_of_the_target_are_refined():
    """exp(w y) = x."""
    X = np.linspace(1, 4, 50)[:, None]
    found = law([[[1, 0, 1]]], [1.0], [[[10, 3, 1, 1.9]]], exact=False)
    best = refine(found, training(X, np.log(X[:, 0]) / 2))
    assert best.psi[0][0][3] == pytest.approx(2.0, rel=1e-6)
    assert best.rmse < 1e-7


def test_jacobian_is_the_derivative():
    X = np.random.default_rng(3).uniform(0, 2, (40, 2))
    y = 4 + np.sqrt(30 * np.exp(X[:, 1]) + 2 * np.cos(1.5 * X[:, 0]))
    phi = [[[10, 0, 2]], [[6, 3, 1, 1.5]], ONE]
    found = law(phi, [30, 2, -16], [[[3]], [[1]]], [1, -8])
    data = training(X, y)
    slopes = TargetScale(found, data).jacobian(X, y, lambda rows: rows)
    for j, value in enumerate(constants(found)):
        step = np.zeros(5)
        step[j] = 1e-5 * abs(value)
        up, down = (
            TargetScale(with_constants(found, constants(found) + s * step), data).solve(X, y)
            for s in (1, -1)
        )
        np.testing.assert_allclose(slopes[:, j], (up - down) / (2 * step[j]), rtol=1e-5, atol=1e-8)


def test_rows_of_all_sizes_count_alike_under_relative_noise():
    """ln(y) = ln(x) over 20 decades: dy/dc is y, and its weighted size the same in every row."""
    y = np.geomspace(1e-10, 1e10, 60)
    data = training(y[:, None], y).with_noise(of_kind("relative", y), y)
    scale = TargetScale(law([[[11, 0, 1]], ONE], [1.0, 0.0], [[[11]]]), data)
    ((X, _, weigh),) = data.blocks()
    slopes = scale.jacobian(X, y, weigh)
    np.testing.assert_allclose(slopes[:, 1], y * np.sqrt(data.weights))
    np.testing.assert_allclose(slopes[:, 0], np.log(y) * slopes[:, 1], atol=1e-12)


def test_solutions_over_twenty_decades():
    """1/y = 1/x, whose slope is known from differences only."""
    y = np.geomspace(1e-10, 1e10, 60)
    scale = TargetScale(law([[[-1, 0, 1]]], [1.0], [[[-1]]]), training(y[:, None], y))
    np.testing.assert_allclose(scale.slope(y), -1 / y**2, rtol=1e-8)
    np.testing.assert_allclose(scale.solve(y[:, None], 1.05 * y), y, rtol=1e-8)


def test_solutions_without_closed_inverse():
    """y^3 + y has no closed inverse here; Newton's method finds it."""
    y = np.linspace(-2, 3, 60)
    X = (y**3 + y)[:, None]
    found = law([[[1, 0, 1]]], [1.0], [[[4]], [[1]]], [1.0, 1.0])
    solved = TargetScale(found, training(X, y)).solve(X, y + 0.3)
    np.testing.assert_allclose(solved, y, atol=1e-9)


def test_the_nearest_of_several_solutions():
    X = np.linspace(0.1, 3, 30)[:, None]
    y = np.where(np.arange(30) % 2, 1, -1) * np.sqrt(X[:, 0])
    squares = law([[[1, 0, 1]]], [1.0], [[[3]]])
    np.testing.assert_allclose(TargetScale(squares, training(X, y)).solve(X, y), y)
    turns = law([[[7, 0, 1]]], [1.0], [[[7]]])
    np.testing.assert_allclose(
        TargetScale(turns, training(X, y)).solve(X, X[:, 0] + 20), X[:, 0] + 6 * np.pi, atol=np.pi
    )


def test_rows_without_a_solution_do_not_stop_it():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.2, 4, (200, 1))
    y = np.sqrt(np.abs(X[:, 0])) + 0.05 * rng.standard_normal(200)
    found = law([[[1, 0, 1]], ONE], [1.3, 0.0001], [[[3]]], exact=False)
    data = training(X, y)
    lost = int((X[:, 0] < -0.0001 / 1.3).sum())
    assert lost > 0
    assert linearise(found, data).n_rows == len(y) - lost
    best = refine(found, data)
    assert np.isfinite(constants(best)).all()
    assert best.alpha[0] == pytest.approx(1.0, abs=0.2)


def test_fixed_constants_stay():
    found, data = noisy_exponential()
    best = refine(found, data, free=[False, True])
    assert best.alpha[0] == 1.0
    assert best.alpha[1] != 2.0


def test_blocks_do_not_change_the_result(monkeypatch):
    found, data = noisy_exponential()
    whole = refine(found, data)
    monkeypatch.setattr(type(data).blocks, "__defaults__", (32,))
    np.testing.assert_allclose(refine(found, data).alpha, whole.alpha, rtol=1e-3)


def test_attributes_are_those_of_a_law():
    found, data = noisy_exponential()
    best = refine(found, data)
    assert isinstance(best, FittedLaw)
    assert (best.complexity, best.bits) == (found.complexity, found.bits)
    assert LIBRARY is data.library


def test_a_law_without_a_solution_in_any_row_is_silent():
    X, y = np.linspace(1, 2, 20)[:, None], np.linspace(1, 2, 20)
    found = law([[[1, 0, 1]]], [np.nan], [[[1]], [[10]]], [1.0, 1.0], exact=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert linearise(found, training(X, y)).n_rows == 0


# ---- plainer words -------------------------------------------------------------------------------


def test_a_wave_of_no_frequency_is_a_straight_line():
    """c sin(w x) with w near 0 is a line whose two constants stand in for each other."""
    library = resolve(["identity", "sin", "inverse"])
    x = np.linspace(-1.0, 3.0, 40)
    data = Training(library, library, x[:, None], 2.0 * x)
    wave = [[library.code("sin"), 3, 1, 1e-7]]
    found = plainer(fitted_law(wave, 2.0e7, library, data), data)
    assert found.phi[0] == [[library.code("identity"), 0, 1]]
    assert found.alpha[0] == pytest.approx(2.0)
    reciprocal = [[-library.code("sin"), 3, 1, 1e-7]]
    found = plainer(fitted_law(reciprocal, 2.0e-7, library, data), data)
    assert found.alpha[0] == pytest.approx(2.0)
    assert data.features(found, x[1:2, None])[0, 0] == pytest.approx(1.0 / x[1])


@pytest.mark.parametrize("name", ["exp", "exp_neg", "cos"])
def test_a_factor_of_one_goes(name):
    library = resolve(["identity", name])
    x = np.linspace(0.5, 3.0, 40)
    data = Training(library, library, x[:, None], 2.0 * x)
    identity = library.code("identity")
    product = [[identity, 0, 1], [library.code(name), 3, 1, 1e-14]]
    found = plainer(fitted_law(product, 2.0, library, data), data)
    assert found.phi[0] == [[identity, 0, 1]]
    alone = [[library.code(name), 3, 1, 1e-14]]
    assert plainer(fitted_law(alone, 2.0, library, data), data).phi[0] == alone


def test_a_part_that_is_nothing_goes_though_the_rest_crosses_zero():
    library = resolve(["identity", "sin"])
    x = np.linspace(0.0, 3.0, 40)
    data = Training(library, library, x[:, None], 2.0 * np.sin(x))
    shifted = [[library.code("sin"), 3, 1, 30_000, 1.3, -9e-17]]
    found = plainer(fitted_law(shifted, 2.0, library, data), data)
    assert found.phi[0] == [[library.code("sin"), 3, 1, 1.3]]


@pytest.mark.parametrize(
    ("formula", "low", "plain"),
    [
        ("abs(x1)", 0.0, "x1"),
        ("1/abs(x1*x2)", 0.1, "1/(x1 x2)"),
        ("cbrt(2*x1 + abs(x1))", 0.1, "cbrt(3 x1)"),
        ("abs(x1 - 4)*abs(x1)", 0.0, "x1 abs(x1 - 4)"),
        ("abs(x1)", -0.1, "abs(x1)"),
    ],
)
def test_bars_around_what_is_not_negative_go(formula, low, plain):
    library = resolve("all")
    X = np.random.default_rng(0).uniform(low, 3.0, (40, 2))
    data = Training(library, library, X, X[:, 0])
    found = plainer(fitted_law(encode(formula, library, 2), 2.0, library, data), data)
    assert text(found.phi[0], library) == plain


@pytest.mark.parametrize(
    ("formula", "plain"),
    [
        ("sin(x1)/tan(x1)", "cos(x1)"),
        ("x2*sin(x1)/cos(x1)", "x2 tan(x1)"),
        ("tan(x1)*cos(x1)*sqrt(x2)", "sqrt(x2) sin(x1)"),
        ("tan(x1 + x2)/sin(x1 + x2)", "1/cos(x1 + x2)"),
        ("sin(x1)/tan(x2)", "sin(x1)/tan(x2)"),
    ],
)
def test_quotients_of_waves_are_one_wave(formula, plain):
    library = resolve("all")
    X = np.random.default_rng(0).uniform(0.2, 1.3, (40, 2))
    data = Training(library, library, X, X[:, 0])
    found = plainer(fitted_law(encode(formula, library, 2), 2.0, library, data), data)
    assert text(found.phi[0], library) == plain


def test_parts_that_the_data_do_not_call_for_go():
    """A factor x2^p goes if p is 0 but for its error, and stays if the data have x2^0.3."""
    library = resolve("all")
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 3.0, (60, 2))
    identity, ln, exp = map(library.code, ("identity", "ln", "exp"))
    factor = [[identity, 2, 1, 1], [exp, 3, 30003, 0.01], [ln, 0, 2]]
    for power, called_for in ((0.0, False), (0.3, True)):
        y = 2.0 * X[:, 0] ** 2 * X[:, 1] ** power * (1 + 0.002 * rng.standard_normal(60))
        data = Training(library, library, X, y)
        law = refine(fitted_law(factor, 2.0, library, data), data)
        shorter = without_slight_parts(law, data)
        assert (len(constants(shorter)) == 2) == called_for
        assert shorter.rmse <= law.rmse * np.sqrt(1 + 1 / 58)


def fitted_law(matrix, alpha, library, data):
    y = [[library.code("identity"), 0, 1]]
    nodes = complexity(matrix, library, data.X.shape[1]) + 3
    return FittedLaw((matrix,), (y,), np.array([alpha]), np.ones(1), nodes, 0.0, 0.0, False, 0.0)


@pytest.mark.parametrize("weight", [np.inf, np.nan])
def test_a_law_whose_constant_ran_away_has_no_fit(weight):
    """It is left out by its error; it must not end the search with one of the core."""
    library = resolve(["identity", "sin"])
    x = np.linspace(0.0, 3.0, 40)
    data = Training(library, library, x[:, None], 2.0 * np.sin(x))
    found = fitted_law([[library.code("sin"), 3, 1, 1.3]], 2.0, library, data)
    lost = with_constants(found, np.array([2.0, weight]))
    assert refine(lost, data).rmse == np.inf
