"""The two solvers: Algorithm 1 as printed, and the well-posed form against other solvers."""

import warnings

import numpy as np
import pytest
import scipy.optimize
from sklearn.linear_model import lasso_path

from gsr import _core

BUILTINS = {t.name: t for t in _core.builtin_transformations()}
NAMES = ("one", "identity", "cos", "sin", "exp", "ln")
TABLE = _core.Table([BUILTINS[n] for n in NAMES])


def batch(*columns):
    """One problem: (rows, columns) tables become (1, columns, rows)."""
    return [np.ascontiguousarray(c.T)[None] for c in columns]


def printed(X, Y, start=None, **changes):
    settings = _core.AdmmSettings.printed()
    for name, value in changes.items():
        setattr(settings, name, value)
    return _core.admm_printed(*batch(X, Y), settings, start)


def well_posed(X, Y, **changes):
    settings = _core.AdmmSettings.well_posed()
    for name, value in changes.items():
        setattr(settings, name, value)
    return _core.admm_well_posed(*batch(X, Y), settings)


def algorithm_1(X, Y, lam=0.4, rho=0.1, delta=1e-5, max_iterations=5000, start=None):
    """Algorithm 1 of the paper, line by line, with its initial guesses."""
    A = np.hstack([X, -Y])
    m = A.shape[1]
    w = np.full(m, 0.5) / np.linalg.norm(np.full(m, 0.5))
    z, u = (np.ones(m), np.zeros(m)) if start is None else (start[0].copy(), start[1].copy())
    M = np.linalg.inv(2 * A.T @ A + rho * np.eye(m))
    for k in range(1, max_iterations + 1):
        before = w
        w = M @ (rho * (z - u))
        w = w / np.linalg.norm(w)
        a = w + u
        z = np.where(np.abs(a) <= lam / rho, 0.0, a - np.sign(a) * lam / rho)
        u = u + w - z
        if np.linalg.norm(w - before) < delta:
            return w, z, u, k, "converged"
    return w, z, u, max_iterations, "max_iterations"


def random_individual(seed, n=20, m=15):
    """Bases and target as a search draws them: products of transformations of sums and products."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 2, (n, 2))
    columns = []
    while len(columns) < m:
        rows = rng.integers(1, 4)
        matrix = rng.integers(0, 3, (rows, 6))
        matrix[:, 0] = rng.integers(0, len(NAMES), rows)
        matrix[:, 2] = rng.integers(1, 3, rows)
        values = _core.evaluate_bases(TABLE, [matrix.tolist()], x)[:, 0]
        if np.isfinite(values).all() and np.abs(values).max() < 1e3:
            columns.append(values)
    return np.stack(columns, axis=1), (x[:, 0] ** 1.3 + np.sin(x[:, 1]))[:, None]


def gaussian(seed, n=30, m=6, p=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)), rng.normal(size=(n, p))


# ---- as printed ------------------------------------------------------------------------------


def test_printed_settings_are_those_of_table_9():
    s = _core.AdmmSettings.printed()
    assert (s.lam, s.rho, s.delta, s.relaxation) == (0.4, 0.1, 1e-5, 1.0)


@pytest.mark.parametrize("lam", [0.4, 0.01, 0.001])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("p", [1, 2])
def test_printed_is_algorithm_1(lam, seed, p):
    X, Y = gaussian(seed, p=p)
    w, z, u, iterations, status = algorithm_1(X, Y, lam=lam, max_iterations=300)
    found = printed(X, Y, lam=lam, max_iterations=300)
    assert found["status"] == [status]
    assert found["iterations"] == [iterations]
    np.testing.assert_allclose(found["w"][0], w, atol=1e-9)
    np.testing.assert_allclose(found["z"][0], z, atol=1e-9)
    np.testing.assert_allclose(found["u"][0], u, atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_printed_takes_the_papers_initial_guesses(k):
    X, Y = gaussian(3)
    w, z, u, *_ = algorithm_1(X, Y, lam=0.02, max_iterations=k)
    found = printed(X, Y, lam=0.02, max_iterations=k)
    for name, expected in (("w", w), ("z", z), ("u", u)):
        np.testing.assert_allclose(found[name][0], expected, rtol=1e-10, atol=1e-13)


def test_first_change_is_measured_from_w0():
    X, Y = gaussian(4)
    m = X.shape[1] + 1
    w, *_ = algorithm_1(X, Y, max_iterations=1)
    found = printed(X, Y, max_iterations=1)
    assert found["change"][0] == pytest.approx(np.linalg.norm(w - np.full(m, m**-0.5)), rel=1e-9)


def test_printed_hyperparameters_never_converge_on_random_individuals():
    """The soft threshold of 4 exceeds every entry of a unit vector: z dies, w alternates."""
    for seed in range(25):
        X, Y = random_individual(seed)
        odd = printed(X, Y, max_iterations=999)
        even = printed(X, Y, max_iterations=1000)
        assert odd["status"] == even["status"] == ["max_iterations"]
        assert not odd["z"].any()
        assert not even["z"].any()
        np.testing.assert_allclose(odd["w"], -even["w"], atol=0.02)
        assert even["change"][0] == pytest.approx(2.0, abs=1e-3)


def test_an_active_threshold_converges():
    """lambda / rho well below 1 / sqrt(m)."""
    results = [printed(*gaussian(seed), lam=0.002, max_iterations=5000) for seed in range(10)]
    assert sum(r["status"] == ["converged"] for r in results) >= 8
    assert all(r["change"][0] < 1e-5 for r in results if r["status"] == ["converged"])


def test_printed_w_is_a_unit_vector():
    for seed in range(5):
        X, Y = random_individual(seed)
        assert np.linalg.norm(printed(X, Y, max_iterations=50)["w"]) == pytest.approx(1, abs=1e-12)


def test_printed_warm_start_goes_on_where_it_was_left():
    X, Y = gaussian(5)
    part = printed(X, Y, lam=0.01, max_iterations=4)
    start = np.stack([part["z"], part["u"]], axis=1)
    rest = printed(X, Y, start, lam=0.01, max_iterations=5)
    whole = printed(X, Y, lam=0.01, max_iterations=9)
    assert whole["iterations"] == [9]
    assert np.abs(part["w"] - whole["w"]).max() > 1e-4
    for name in ("w", "z", "u"):
        np.testing.assert_allclose(rest[name], whole[name], atol=1e-12)
    w, *_ = algorithm_1(X, Y, lam=0.01, max_iterations=5, start=(part["z"][0], part["u"][0]))
    np.testing.assert_allclose(rest["w"][0], w, atol=1e-9)


def test_printed_warm_start_from_the_solution_ends_at_once():
    X, Y = gaussian(6)
    end = printed(X, Y, lam=0.002, max_iterations=20000, delta=1e-9)
    assert end["status"] == ["converged"]
    start = np.stack([end["z"], end["u"]], axis=1)
    again = printed(X, Y, start, lam=0.002, delta=1e-6)
    assert again["iterations"][0] <= 3
    np.testing.assert_allclose(again["w"], end["w"], atol=1e-6)


def test_printed_start_of_the_wrong_shape_is_refused():
    X, Y = gaussian(0)
    for shape in ((1, 2, 6), (2, 2, 7), (1, 1, 7), (2, 7)):
        with pytest.raises(ValueError, match="start must be"):
            printed(X, Y, np.zeros(shape))


def test_degenerate_input_gives_a_status():
    X, Y = gaussian(0)
    stuck = np.zeros((1, 2, 7))  # z = u: there is no direction to normalise
    assert printed(X, Y, stuck)["status"] == ["degenerate"]
    for bad in (np.nan, np.inf):
        X[0, 0] = bad
        result = printed(X, Y)
        assert result["status"] == ["degenerate"]
        assert result["iterations"] == [1]


@pytest.mark.parametrize("solve", [_core.admm_printed, _core.admm_well_posed])
def test_batch_equals_one_by_one(solve):
    settings = _core.AdmmSettings.well_posed()
    problems = [gaussian(seed, p=2) for seed in range(6)]
    problems[3][0][:, 2] = problems[3][0][:, 1]  # a dependent column must not spill over
    xs, ys = (np.concatenate(b) for b in zip(*(batch(*p) for p in problems), strict=True))
    together = solve(xs, ys, settings)
    for i in range(len(problems)):
        alone = solve(xs[i : i + 1], ys[i : i + 1], settings)
        for key, value in alone.items():
            np.testing.assert_array_equal(np.asarray(together[key])[i], np.asarray(value)[0])


@pytest.mark.parametrize("solve", [_core.admm_printed, _core.admm_well_posed])
@pytest.mark.parametrize(
    ("x", "y"), [((2, 3, 9), (1, 1, 9)), ((1, 3, 9), (1, 1, 8)), ((3, 9), (1, 9))]
)
def test_shapes_must_agree(solve, x, y):
    with pytest.raises(ValueError, match="X and Y"):
        solve(np.ones(x), np.ones(y), _core.AdmmSettings.printed())


# ---- well posed, one psi ---------------------------------------------------------------------

TIGHT = {"delta": 1e-13, "max_iterations": 100_000}


def centred(columns):
    return columns - columns.mean(axis=0)


def unit(columns):
    return centred(columns) / np.linalg.norm(centred(columns), axis=0)


def correlated(seed, n=40, m=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) @ rng.normal(size=(m, m)) * 10 ** rng.uniform(-2, 2, m) + 3
    y = X @ np.where(rng.uniform(size=m) < 0.5, 0, rng.normal(size=m)) + rng.normal(size=n)
    return X, y[:, None]


def sklearn_lasso(X, y, lam):
    """min 1/2 ||X a - y||^2 + lam ||a||_1; scikit-learn divides the first term by n."""
    _, coefficients, _ = lasso_path(X, y, alphas=[lam / len(X)], tol=1e-14, max_iter=1_000_000)
    return coefficients[:, 0]


@pytest.mark.parametrize("lam", [0.3, 0.05, 0.005])
@pytest.mark.parametrize("seed", range(6))
def test_one_psi_is_the_lasso(lam, seed):
    X, Y = correlated(seed)
    found = well_posed(X, Y, lam=lam, **TIGHT)
    assert found["status"] == ["converged"]
    expected = sklearn_lasso(unit(X), unit(Y)[:, 0], lam)
    np.testing.assert_allclose(found["z"][0], expected, atol=1e-7)


@pytest.mark.parametrize("relaxation", [1.0, 1.3, 1.8])
def test_relaxation_and_rho_do_not_change_the_solution(relaxation):
    X, Y = correlated(2)
    expected = sklearn_lasso(unit(X), unit(Y)[:, 0], 0.05)
    for rho in (0.03, 0.1, 1.0):
        found = well_posed(X, Y, lam=0.05, rho=rho, relaxation=relaxation, **TIGHT)
        np.testing.assert_allclose(found["z"][0], expected, atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_refit_is_least_squares_on_the_support(seed):
    X, Y = correlated(seed)
    found = well_posed(X, Y, lam=0.1, **TIGHT)
    support = np.flatnonzero(found["z"][0])
    assert 0 < len(support) < X.shape[1]
    beta = found["beta"][0, 0]
    assert beta == pytest.approx(1 / np.linalg.norm(centred(Y)))
    design = np.column_stack([np.ones(len(X)), X[:, support]])
    expected, *_ = np.linalg.lstsq(design, Y[:, 0] * beta, rcond=None)
    alpha = found["alpha"][0]
    np.testing.assert_allclose(alpha[[0, *(support + 1)]], expected, rtol=1e-8)
    assert not np.delete(alpha, [0, *(support + 1)]).any()
    residual = np.linalg.norm(design @ expected - Y[:, 0] * beta)
    assert found["error"][0] == pytest.approx(residual, rel=1e-9)


def test_a_large_penalty_leaves_the_constant():
    X, Y = correlated(1)
    found = well_posed(X, Y, lam=1.01)
    assert not found["z"].any()
    assert found["alpha"][0, 0] == pytest.approx(Y.mean() * found["beta"][0, 0])
    assert found["error"][0] == pytest.approx(1.0)


def test_scaling_and_shifting_columns_changes_nothing_but_their_coefficients():
    X, Y = correlated(3)
    factors = 10.0 ** np.arange(-4, 4)
    a = well_posed(X, Y, lam=0.02, **TIGHT)
    b = well_posed(X * factors + 5 * factors, -7 * Y + 2, lam=0.02, **TIGHT)
    np.testing.assert_allclose(b["z"], -a["z"] * np.sign(b["beta"] * a["beta"]), atol=1e-8)
    np.testing.assert_allclose(
        b["alpha"][0, 1:] / b["beta"][0, 0] * factors, -7 * a["alpha"][0, 1:] / a["beta"][0, 0],
        rtol=1e-6,
    )  # fmt: skip


def test_an_exact_law_is_found_among_many_columns():
    X, _ = correlated(4, n=60, m=12)
    Y = (2.5 * X[:, 3] - 0.75 * X[:, 7] + 4)[:, None]
    found = well_posed(X, Y, lam=1e-4, **TIGHT)
    law = found["alpha"][0] / found["beta"][0, 0]
    assert found["error"][0] < 1e-12
    expected = np.zeros(13)
    expected[[0, 4, 8]] = 4, 2.5, -0.75
    np.testing.assert_allclose(law, expected, atol=1e-9)


# ---- well posed, several psi -----------------------------------------------------------------


def targets_of_rank(seed, n=50, m=4, p=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) + 1
    Y = rng.normal(size=(n, p)) * [1, 20, 0.1][:p] + X[:, :p] * rng.normal(size=p) - 2
    return X, Y


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_beta_is_never_trivial(p, seed):
    X, Y = targets_of_rank(seed, p=p)
    found = well_posed(X, Y)
    assert np.linalg.norm(centred(Y) @ found["beta"][0]) == pytest.approx(1.0, abs=1e-10)


def whitened(Y):
    q, r = np.linalg.qr(centred(Y))
    return q, r


def objective_on_the_circle(X, Y, lam, angles):
    """For each b = (cos, sin) in the whitened basis: the least value over a, by scikit-learn."""
    q, _ = whitened(Y)
    columns = unit(X)
    values = []
    for angle in angles:
        target = q @ [np.cos(angle), np.sin(angle)]
        a = sklearn_lasso(columns, target, lam)
        values.append(0.5 * np.sum((columns @ a - target) ** 2) + lam * np.abs(a).sum())
    return np.array(values)


@pytest.mark.parametrize("seed", range(5))
def test_two_psi_reach_a_minimum_over_all_angles(seed):
    """The problem is not convex in b: any local minimum over the circle is a solution."""
    lam = 0.05
    X, Y = targets_of_rank(seed)
    found = well_posed(X, Y, lam=lam, rho=1.0, relaxation=1.0, **TIGHT)
    assert found["status"] == ["converged"]
    a = found["z"][0]
    q, _ = whitened(Y)
    # The best b for this a: the direction of q'X a (stationary: H a = 0 beyond it).
    pull = q.T @ (unit(X) @ a)
    b = pull / np.linalg.norm(pull)
    reached = 0.5 * np.sum((unit(X) @ a - q @ b) ** 2) + lam * np.abs(a).sum()

    angles = np.linspace(0, np.pi, 61)
    scanned = objective_on_the_circle(X, Y, lam, angles)
    minima = []
    for k in range(60):
        around = scanned[[(k - 1) % 60, k, (k + 1) % 60]]
        if around[1] <= around.min():
            best = scipy.optimize.minimize_scalar(
                lambda t: objective_on_the_circle(X, Y, lam, [t])[0],
                bounds=(angles[k] - 0.06, angles[k] + 0.06),
                method="bounded",
                options={"xatol": 1e-9},
            )
            minima.append(best.fun)
    assert min(abs(reached - m) for m in minima) < 1e-7
    assert reached <= scanned.mean()


@pytest.mark.parametrize("p", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_refit_of_several_psi_is_the_smallest_generalised_eigenvalue(p, seed):
    """min ||R b||^2 with ||Y_c b|| = 1, R what the support leaves of Y."""
    X, Y = targets_of_rank(seed, p=p)
    found = well_posed(X, Y, lam=0.01, **TIGHT)
    support = np.flatnonzero(found["z"][0])
    design = np.column_stack([np.ones(len(X)), X[:, support]])
    rest = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    lowest, vectors = scipy.linalg.eigh(rest.T @ rest, centred(Y).T @ centred(Y))
    assert found["error"][0] == pytest.approx(np.sqrt(lowest[0]), rel=1e-8)
    beta = found["beta"][0]
    cosine = abs(beta @ vectors[:, 0]) / np.linalg.norm(beta) / np.linalg.norm(vectors[:, 0])
    assert cosine == pytest.approx(1.0, abs=1e-9)
    expected, *_ = np.linalg.lstsq(design, Y @ beta, rcond=None)
    np.testing.assert_allclose(found["alpha"][0][[0, *(support + 1)]], expected, atol=1e-9)


def test_two_psi_recover_a_law_that_needs_both():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 3, 40)
    y = 4 + np.sqrt(16 + np.exp(x))  # y^2 - 8 y = exp(x)
    X = np.column_stack([np.exp(x), np.sin(x), x**2])
    found = well_posed(X, np.column_stack([y**2, y]), lam=1e-4, **TIGHT)
    beta = found["beta"][0]
    assert found["error"][0] < 1e-10
    assert beta[1] / beta[0] == pytest.approx(-8, rel=1e-7)
    np.testing.assert_allclose(found["alpha"][0] / beta[0], [0, 1, 0, 0], atol=1e-5)


# ---- dependent columns and the trivial solution ----------------------------------------------


def test_dependent_and_duplicate_columns_are_dropped():
    X, Y = correlated(5, m=4)
    more = np.column_stack([X, X[:, 0], 2 * X[:, 1] - 3, X[:, 2] + X[:, 3], np.full(len(X), 7.0)])
    few, many = well_posed(X, Y, lam=0.01, **TIGHT), well_posed(more, Y, lam=0.01, **TIGHT)
    np.testing.assert_allclose(many["alpha"][0, :5], few["alpha"][0], rtol=1e-7)
    assert not many["alpha"][0, 5:].any()
    assert many["error"] == pytest.approx(few["error"], rel=1e-9)


def test_penalised_coefficients_stand_at_their_columns():
    X, Y = correlated(5, m=4)
    doubled = np.insert(X, 1, X[:, 0], axis=1)
    few, many = well_posed(X, Y, lam=0.01, **TIGHT), well_posed(doubled, Y, lam=0.01, **TIGHT)
    expected = np.insert(few["z"][0], 1, 0.0)
    np.testing.assert_allclose(many["z"][0], expected, atol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_columns_that_are_not_finite_are_dropped(bad):
    X, Y = correlated(6, m=4)
    spoiled = np.insert(X, 2, X[:, 0], axis=1)
    spoiled[7, 2] = bad
    found = well_posed(spoiled, Y, lam=0.01, **TIGHT)
    expected = well_posed(X, Y, lam=0.01, **TIGHT)
    np.testing.assert_allclose(np.delete(found["alpha"][0], 3), expected["alpha"][0], rtol=1e-9)
    assert found["alpha"][0, 3] == 0


@pytest.mark.parametrize("value", [0.0, 1.0, np.nan, np.inf])
@pytest.mark.parametrize("p", [1, 2])
def test_targets_without_spread_are_degenerate(value, p):
    X, _ = correlated(6, m=4)
    found = well_posed(X, np.full((len(X), p), value))
    assert found["status"] == ["degenerate"]
    assert not found["beta"].any()


def test_of_dependent_targets_the_first_ones_are_used():
    """y^3 = y where y is -1 or 1: a law of these alone would say nothing about x."""
    X, Y = correlated(7, m=4)
    y = np.sign(centred(Y))
    alone = well_posed(X, y)
    for dependent in (y**3, -2 * y + 5, np.ones_like(y)):
        found = well_posed(X, np.hstack([y, dependent]))
        assert found["beta"][0, 1] == 0
        np.testing.assert_allclose(found["beta"][0, 0], alone["beta"][0, 0], rtol=1e-12)
        np.testing.assert_allclose(found["alpha"], alone["alpha"], rtol=1e-9)
        assert found["error"][0] > 0.1


def test_more_columns_than_rows():
    X, Y = gaussian(2, n=10, m=30)
    found = well_posed(X, Y, lam=1e-3)
    assert np.isfinite(found["alpha"]).all()
    assert np.count_nonzero(found["alpha"]) <= 10


def test_rank_deficient_bases_have_a_trivial_solution_only_as_printed():
    """||A w|| = 0 with beta = 0 says nothing about y; the well-posed form cannot do that."""
    deficient = 0
    for seed in range(20):
        X, Y = random_individual(seed)
        A = np.hstack([X, -Y])
        scaled = A / np.linalg.norm(A, axis=0)
        if np.linalg.matrix_rank(scaled[:, :-1], tol=1e-9) < X.shape[1]:
            deficient += 1
            smallest = np.linalg.svd(scaled)[2][-1]
            assert abs(smallest[-1]) < 1e-3
        beta = well_posed(X, Y)["beta"][0]
        assert np.linalg.norm(centred(Y) @ beta) == pytest.approx(1.0)
    assert deficient >= 8


def test_printed_with_an_active_threshold_can_end_in_the_trivial_solution():
    X, Y = gaussian(9, m=5)
    X = np.column_stack([X, X[:, 0]])  # w = (1, 0, ..., -1, 0) / sqrt(2) explains nothing
    start = np.zeros((1, 2, 7))
    start[0, 0, [0, 5]] = 1, -1
    found = printed(X, Y, start, lam=0.002)
    assert found["status"] == ["converged"]
    assert abs(found["w"][0, -1]) < 1e-6
    assert np.linalg.norm(np.hstack([X, -Y]) @ found["w"][0]) < 1e-6
    assert well_posed(X, Y)["beta"][0, 0] == pytest.approx(1 / np.linalg.norm(centred(Y)))


def test_not_converged_is_a_status_and_not_an_error():
    X, Y = correlated(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = well_posed(X, Y, max_iterations=2, delta=0.0)
    assert found["status"] == ["max_iterations"]
    assert found["iterations"] == [2]
    assert np.isfinite(found["alpha"]).all()


def test_well_posed_warm_start_goes_on_where_it_was():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(3, 6, 40)), rng.normal(size=(3, 1, 40))
    settings = _core.AdmmSettings.well_posed()
    settings.delta, settings.max_iterations = 1e-10, 10_000
    cold = _core.admm_well_posed(x, y, settings)
    warm = _core.admm_well_posed(x, y, settings, np.stack([cold["z"], cold["u"]], axis=1))
    assert max(warm["iterations"]) < min(cold["iterations"])
    np.testing.assert_allclose(warm["z"], cold["z"], atol=1e-8)
    with pytest.raises(ValueError, match="start"):
        _core.admm_well_posed(x, y, settings, np.zeros((3, 2, 5)))
