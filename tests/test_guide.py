"""The core's guided search: honest errors, canonical matrices, fronts however a run is cut."""

import itertools

import numpy as np
import pytest

import reference
from gsr import _core
from gsr.library import Library

NAMES = [t.name for t in _core.builtin_transformations()]
LIBRARY = Library(NAMES)
CODE = {name: code for code, name in enumerate(LIBRARY)}
LONG = 120.0  # seconds that no test here needs
WIDE = {
    "guided": True, "division": True, "differences": True, "one": True, "constants": True,
    "depth": 3,
}  # fmt: skip


def make(x, y, library=LIBRARY, targets=LIBRARY, **changes):
    settings = _core.Settings()
    for name, value in (WIDE | changes).items():
        setattr(settings, name, value)
    return _core.Island(np.asfortranarray(x), y, library.table, targets.table, settings)


def evolve(x, y, *args, **changes):
    evolution = make(x, y, *args, **changes)
    evolution.run(LONG)
    return evolution


def noisy(n=50, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 2.5, (n, d))
    return x, 5 + x[:, 0] * np.sin(3 * x[:, -1]) + 0.2 * rng.normal(size=n)


def plain(law):
    return (law.phi, law.psi, law.alpha, law.beta, law.complexity, law.rmse, law.exact, law.bits)


def laws(evolution):
    return [[plain(law) for law in each] for each in (evolution.front(), evolution.runners_up())]


# ---- what a law says of itself ---------------------------------------------------------------


def values(matrices, x):
    with np.errstate(all="ignore"):
        return np.column_stack([reference.evaluate(m, LIBRARY, x) for m in matrices])


@pytest.mark.parametrize(("d", "seed"), [(1, 0), (2, 1), (3, 2)])
def test_errors_of_laws_are_what_their_coefficients_give(d, seed):
    """The values are NumPy's, not those that the search has worked with."""
    x, y = noisy(d=d, seed=seed)
    front = evolve(x, y, max_generations=200, seed=seed).front()
    assert len(front) > 5
    for law in front:
        f = values(law.phi, x) @ law.alpha
        g = values([target_rows(m) for m in law.psi], y[:, None]) @ law.beta
        relative = np.linalg.norm(g - f) / np.linalg.norm(g - g.mean())
        assert law.transformed_error == pytest.approx(relative, rel=1e-4, abs=1e-11)
        assert law.beta[0] == 1.0


def target_rows(matrix):
    """Return a function of y as full rows, y being variable 1."""
    return [[*row, 0, 1] if len(row) == 1 else row for row in matrix]


def test_the_error_of_a_law_for_y_is_on_the_scale_of_y():
    x, y = noisy()
    front = evolve(x, y, transform_target=False, max_generations=200).front()
    for law in front:
        assert law.psi == [[[CODE["identity"]]]]
        f = values(law.phi, x) @ law.alpha
        assert law.rmse == pytest.approx(np.sqrt(np.mean((f - y) ** 2)), rel=1e-6)


def test_matrices_of_the_front_are_canonical_and_their_nodes_counted():
    x, y = noisy(d=3)
    for law in evolve(x, y, max_generations=200).front():
        for matrix in law.phi:
            assert _core.canonical(LIBRARY.table, matrix, 3) == matrix
        terms = [_core.complexity(LIBRARY.table, matrix, 3) for matrix in law.phi]
        assert sum(terms) < law.complexity


def test_terms_of_a_law_are_different_functions():
    x, y = noisy(d=2)
    for law in evolve(x, y, max_generations=200).front():
        basis = values(law.phi, x)
        assert np.linalg.matrix_rank(basis / np.linalg.norm(basis, axis=0)) == basis.shape[1]
        assert all(a != 0 for a in law.alpha)


# ---- the front -------------------------------------------------------------------------------


def test_front_is_a_pareto_front():
    x, y = noisy()
    front = evolve(x, y, max_generations=200).front()
    for simple, complex_ in itertools.pairwise(front):
        assert simple.complexity < complex_.complexity
        assert simple.rmse > complex_.rmse


def test_runners_up_are_different_laws_that_the_front_beats_or_holds():
    x, y = noisy()
    evolution = evolve(x, y, max_generations=200)
    runners_up = evolution.runners_up()
    assert runners_up
    assert len({str((law.phi, law.psi)) for law in runners_up}) == len(runners_up)
    front = evolution.front()
    for law in runners_up:
        # The same law with its terms in another order may differ in the last digit.
        beaten = [f.rmse <= law.rmse * (1 + 1e-9) for f in front if f.complexity <= law.complexity]
        assert any(beaten)


def test_front_only_gets_better():
    x, y = noisy()
    evolution = make(x, y, max_generations=60)
    best = np.inf
    while evolution.run(0.0) == "running":
        assert evolution.best_rmse <= best
        best = evolution.best_rmse
    assert np.isfinite(best)


@pytest.mark.parametrize("n", [30, 3000])
def test_front_does_not_depend_on_threads_or_slices(n):
    x, y = noisy(n)
    generations = 80 if n < 100 else 10
    whole = laws(evolve(x, y, max_generations=generations, n_threads=1))
    assert laws(evolve(x, y, max_generations=generations, n_threads=2)) == whole
    sliced = make(x, y, max_generations=generations, n_threads=2)
    while sliced.run(0.001) == "running":
        pass
    assert laws(sliced) == whole


def test_an_exact_law_ends_the_search():
    x, _ = noisy()
    evolution = evolve(x, x[:, 0] / x[:, 1])
    assert evolution.status == "exact"
    assert evolution.front()[-1].exact
    before = laws(evolution)
    assert evolution.run(LONG) == "exact"
    assert laws(evolution) == before


# ---- unusual data and tables -----------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        np.repeat([-1.0, 1.0], 15),
        np.repeat([0.0, 1.0, 2.0], 10),
        np.r_[np.zeros(29), 1.0],
        np.linspace(-1, 1, 30) ** 9,
        1e-9 * np.random.default_rng(0).normal(size=30) + 1e6,
    ],
    ids=["signs", "levels", "spike", "flat", "digits"],
)
def test_unusual_targets_leave_finite_laws(y):
    x = np.random.default_rng(1).uniform(0.5, 3, (30, 2))
    front = evolve(x, y, max_generations=30).front()
    assert front
    assert all(np.isfinite(law.rmse) for law in front)
    assert not any(law.exact for law in front)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((30, 2)),
        np.ones((30, 2)),
        np.column_stack([np.arange(30.0), np.arange(30.0)]),
        np.column_stack([np.zeros(30), -np.arange(30.0)]),
    ],
    ids=["zeros", "ones", "twins", "negative"],
)
def test_unusual_features_leave_finite_laws(x):
    y = np.random.default_rng(1).normal(size=30)
    front = evolve(x, y, max_generations=30).front()
    assert front
    assert all(np.isfinite(law.rmse) for law in front)


@pytest.mark.parametrize("names", [["identity"], ["square"], ["sin"], ["ln", "exp"], ["tanh"]])
def test_small_libraries_are_enough_to_search(names):
    x, y = noisy(30)
    library = Library(names)
    evolution = evolve(x, y, library, Library(["identity"]), max_generations=30)
    assert all(
        abs(row[0]) < len(library) for law in evolution.front() for m in law.phi for row in m
    )


@pytest.mark.parametrize("n", [5, 6, 9])
def test_few_rows_leave_finite_laws(n):
    x, y = noisy(n)
    front = evolve(x, y, max_generations=30).front()
    assert front
    assert all(np.isfinite(law.rmse) for law in front)


@pytest.mark.parametrize("changes", [{"depth": 0}, {"depth": _core.MAX_ROWS + 1}], ids=str)
def test_settings_out_of_range_are_refused(changes):
    with pytest.raises(ValueError):
        make(*noisy(), **changes)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_own_transformation_inside_the_guided_search(n_threads):
    calls = []

    def bump(t):
        calls.append(len(t))
        return 1 / (1 + t**4)

    own = _core.Transformation.custom("bump", "bump({})", "1/(1 + ({})**4)", bump)
    builtins = {t.name: t for t in _core.builtin_transformations()}
    table = _core.Table([builtins["one"], builtins["identity"], own])
    targets = _core.Table([builtins["one"], builtins["identity"]])
    x, _ = noisy()
    settings = _core.Settings()
    for name, value in (WIDE | {"n_threads": n_threads, "max_generations": 400}).items():
        setattr(settings, name, value)
    y = x[:, 0] / (1 + x[:, 1] ** 4)
    evolution = _core.Island(np.asfortranarray(x), y, table, targets, settings)
    assert evolution.run(LONG) == "exact"
    assert calls
