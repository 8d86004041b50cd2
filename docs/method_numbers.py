"""Print every measured figure that docs/method.md quotes.

Run from the root of the project:  PYTHONPATH=tests python docs/method_numbers.py
"""

from __future__ import annotations

import itertools
import random
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sympy
from sklearn.linear_model import lasso_path

import reference
from gsr import GSRRegressor, _core
from gsr.benchmarks import recovery, structure
from gsr.benchmarks.suites import PROBLEMS, Problem, get
from gsr.encoding import canonical, evaluate
from gsr.library import TABLE_2, Library
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.refit import refit
from gsr.selection.target_scale import refine

ROOT = Path(__file__).resolve().parents[1]
PER_PROBLEM = 3
TIGHT = {"delta": 1e-13, "max_iterations": 200_000}


class Individual(NamedTuple):
    """Values of 15 random phi and one random psi, on training and on test rows."""

    X: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray


# ---- individuals ---------------------------------------------------------------------------------


def individuals(noise: float = 0.0) -> Iterator[Individual]:
    """Yield random individuals by the paper's rules, a few for each problem of the suites.

    Functions that are undefined or constant on the data are drawn again; equal ones are not.
    Neat-7 is left out for its 100,000 rows.
    """
    for number, problem in enumerate(p for p in PROBLEMS if p.name != "Neat-7"):
        library, target = Library(problem.library), Library(problem.target_library)
        for seed in range(PER_PROBLEM):
            rng = random.Random(1000 * number + seed)
            (x, y), (x_test, y_test) = problem.train(seed), problem.test(seed)
            y = y + noise * y.std() * np.random.default_rng(seed).normal(size=len(y))
            X, X_test = _columns(
                lambda r=rng, d=x.shape[1], lib=library: reference.random_matrix(r, lib, d),
                library,
                x,
                x_test,
                _core.Settings().n_phi,
            )
            Y, Y_test = _columns(
                lambda r=rng, lib=target: [[r.randrange(1, len(lib)), 0, 1]],
                target,
                y[:, None],
                y_test[:, None],
                1,
            )
            yield Individual(X, Y, X_test, Y_test)


def _columns(
    draw: Callable[[], list[list[int]]], library: Library, x: np.ndarray, test: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray]:
    train_columns: list[np.ndarray] = []
    test_columns: list[np.ndarray] = []
    while len(train_columns) < m:
        matrix = draw()
        width = max(map(len, matrix))
        matrix = [row + [0] * (width - len(row)) for row in matrix]
        with np.errstate(all="ignore"):
            a, b = (evaluate([matrix], library, rows)[:, 0] for rows in (x, test))
            fine = np.isfinite(np.linalg.norm(a)) and np.isfinite(np.linalg.norm(b))
        if fine and np.ptp(a) > 1e-12 * np.abs(a).max():
            train_columns.append(a)
            test_columns.append(b)
    return np.column_stack(train_columns), np.column_stack(test_columns)


def printed(one: Individual, **changes: float) -> dict:
    """Solve one individual by Algorithm 1 as printed."""
    return _solve(_core.admm_printed, _core.AdmmSettings.printed(), one, changes)


def well_posed(one: Individual, start: np.ndarray | None = None, **changes: float) -> dict:
    """Solve one individual by the well-posed form, from z and u of an earlier solve if given."""
    settings = _core.AdmmSettings.well_posed()
    return _solve(_core.admm_well_posed, settings, one, changes, start)


def _solve(
    solver: Callable,
    settings: object,
    one: Individual,
    changes: dict,
    start: np.ndarray | None = None,
) -> dict:
    for name, value in changes.items():
        setattr(settings, name, value)
    found = solver(
        np.ascontiguousarray(one.X.T)[None], np.ascontiguousarray(one.Y.T)[None], settings, start
    )
    return {key: value[0] for key, value in found.items()}


def say(text: str, *values: object) -> None:
    """Print one figure."""
    print(f"  {text:<74}", *(f"{v:.3g}" if isinstance(v, float) else v for v in values))


def share(hits: list) -> str:
    """Return how many are true, and in percent."""
    return f"{sum(map(bool, hits))} of {len(hits)} ({100 * np.mean(np.asarray(hits, bool)):.0f} %)"


def quantiles(values: list) -> str:
    """Return median, 90 % quantile and largest value."""
    low, high = np.quantile(values, 0.5), np.quantile(values, 0.9)
    return f"median {low:.3g}, 90 % {high:.3g}, largest {max(values):.3g}"


# ---- encoding and evaluation ---------------------------------------------------------------------


def encoding() -> None:
    """Count how often random basis matrices mean the same function."""
    print("encoding: 10,000 random basis matrices, Table 2, d = 2")
    rng, matrices, width = random.Random(0), [], _core.Settings().max_multiplicity + 2
    for _ in range(10_000):
        rows = reference.random_matrix(rng, TABLE_2, 2)
        matrices.append([row + [0] * (width - len(row)) for row in rows])
    forms = {repr(canonical(m, TABLE_2, 2)) for m in matrices}
    raw = {repr(m) for m in matrices}
    x = np.random.default_rng(0).uniform(0.5, 1.5, (50, 2))
    weights = np.random.default_rng(1).normal(size=50)
    prints = set()
    for column in evaluate(matrices, TABLE_2, x).T:
        if 0 < np.linalg.norm(column) < np.inf:
            prints.add(f"{abs(column @ weights) / np.linalg.norm(column):.10e}")
    say("distinct matrices", len(raw))
    say("distinct canonical forms", len(forms))
    say("distinct functions up to a factor (by their values)", len(prints))
    rows = [repr(canonical([row], TABLE_2, 2)) for m in matrices for row in m if row[0]]
    say("rows that are not T = 1, and distinct ones among them", len(rows), len(set(rows)))


# ---- Algorithm 1 as printed ----------------------------------------------------------------------


def as_printed(batch: list[Individual]) -> None:
    """Show what Algorithm 1 does with the printed hyper-parameters."""
    s = _core.AdmmSettings.printed()
    print(f"Algorithm 1 as printed, {len(batch)} random individuals")
    say("lambda, rho, threshold lambda / rho", s.lam, s.rho, s.lam / s.rho)
    first = [printed(one, max_iterations=1) for one in batch]
    broken = [r["status"] == "degenerate" for r in first]
    say("degenerate: the inverse breaks down in doubles, left out below", share(broken))
    sizes = [float(np.linalg.norm(_signed(one), axis=0).max()) for one in batch]
    say("    largest column of those", *(v for v, b in zip(sizes, broken, strict=True) if b))
    batch = [one for one, b in zip(batch, broken, strict=True) if not b]
    first = [r for r, b in zip(first, broken, strict=True) if not b]
    say("z = 0 after the first iteration", share([not r["z"].any() for r in first]))
    for limit in (2000, 5000):
        found = [printed(one, max_iterations=limit) for one in batch]
        done = [r["status"] == "converged" for r in found]
        say(f"converged within {limit} iterations", share(done))
    say("z = 0 at the end", share([not r["z"].any() for r in found]))
    say("||w_k - w_(k-1)|| at the end:", quantiles([r["change"] for r in found]))
    before = [printed(one, max_iterations=4999) for one in batch]
    cosines = [float(a["w"] @ b["w"]) for a, b in zip(found, before, strict=True)]
    say("cosine of w_5000 and w_4999, largest", max(cosines))
    left = [np.linalg.norm(_signed(one) @ r["w"]) for one, r in zip(batch, found, strict=True)]
    least = [np.linalg.svd(_signed(one))[1][-1] for one in batch]
    say(
        "||A w|| at the end, smallest singular value of A (medians)",
        float(np.median(left)),
        float(np.median(least)),
    )
    say("|beta| < 1e-3 at the end", share([abs(r["w"][-1]) < 1e-3 for r in found]))
    plain = [reference.admm_printed(_signed(one)).status == "converged" for one in batch[::5]]
    say("converged, the NumPy form of the same, every fifth individual", share(plain))


def _signed(one: Individual) -> np.ndarray:
    return np.hstack([one.X, -one.Y])


def _unit(columns: np.ndarray) -> np.ndarray:
    return columns / np.linalg.norm(columns, axis=0)


def _smallest(A: np.ndarray) -> np.ndarray:
    return np.linalg.svd(A)[2][-1]


def active_threshold(batch: list[Individual]) -> None:
    """Show Algorithm 1 with thresholds that a unit vector can reach."""
    print("Algorithm 1 with a smaller lambda, rho = 0.1, at most 5000 iterations")
    for lam in (0.01, 0.002, 0.0005):
        found = [printed(one, lam=lam) for one in batch]
        done = [r for r in found if r["status"] == "converged"]
        say(f"lambda = {lam}: converged", share([r["status"] == "converged" for r in found]))
        say("    iterations:", quantiles([r["iterations"] for r in done]))
        say("    |beta| < 1e-3 among those", share([abs(r["w"][-1]) < 1e-3 for r in done]))


def trivial(batch: list[Individual]) -> None:
    """Show how often ||A w|| = 0 is reached without y."""
    print("the trivial solution")
    ranks = [np.linalg.matrix_rank(_unit(one.X), tol=1e-9) for one in batch]
    say("X rank deficient (unit columns, 1e-9)", share([r < 15 for r in ranks]))
    say("rank of X, median", int(np.median(ranks)))
    unit = [_unit(_signed(one)) for one in batch]
    raw = [abs(_smallest(_signed(one))[-1]) for one in batch]
    scaled_beta = [abs(_smallest(A)[-1]) for A in unit]
    say("smallest singular vector of A: |beta| < 1e-3", share([b < 1e-3 for b in raw]))
    say("the same with columns of unit norm", share([b < 1e-3 for b in scaled_beta]))
    say(
        "||A w|| of that vector, unit columns, median",
        float(np.median([np.linalg.norm(A @ _smallest(A)) for A in unit])),
    )


def sphere_step(batch: list[Individual]) -> None:
    """Hold "solve, then normalise" against the minimiser on the unit sphere."""
    print("the w step of the first iteration: L_rho on the unit sphere (unit columns)")
    excess, cosine = [], []
    for one in batch:
        A, rho = _unit(_signed(one)), 0.1
        target = np.ones(A.shape[1])  # z_0 - u_0
        H = 2 * A.T @ A + rho * np.eye(len(target))
        w = np.linalg.solve(H, rho * target)
        w /= np.linalg.norm(w)
        values, modes = np.linalg.eigh(H)
        best = modes @ reference._on_unit_sphere(values, modes.T @ (rho * target))
        cost = [np.sum((A @ v) ** 2) + rho / 2 * np.sum((v - target) ** 2) for v in (w, best)]
        excess.append(cost[0] / cost[1] - 1)
        cosine.append(float(w @ best))
    say("relative excess of the printed step:", quantiles(excess))
    say("excess above 1 %", share([e > 0.01 for e in excess]))
    say("cosine between the two, smallest", min(cosine))


# ---- the well-posed form -------------------------------------------------------------------------


def default_solver(batch: list[Individual]) -> None:
    """Show convergence of the default, and hold it against independent solvers."""
    s = _core.AdmmSettings.well_posed()
    print("the well-posed form")
    say("lambda, rho, relaxation", s.lam, s.rho, s.relaxation)
    say("delta, max_iterations", s.delta, s.max_iterations)
    found = [well_posed(one) for one in batch]
    say("converged", share([r["status"] == "converged" for r in found]))
    say("iterations:", quantiles([r["iterations"] for r in found]))
    again = [_warm(one, r) for one, r in zip(batch, found, strict=True)]
    done = [r["status"] == "converged" for r in found]
    say(
        "warm start from z and u of the converged, iterations:",
        quantiles([k for k, d in zip(again, done, strict=True) if d]),
    )
    plain = [well_posed(one, relaxation=1.0) for one in batch]
    say("iterations without over-relaxation:", quantiles([r["iterations"] for r in plain]))
    norms = [
        np.linalg.norm((one.Y - one.Y.mean()) @ r["beta"])
        for one, r in zip(batch, found, strict=True)
    ]
    say("largest difference of ||Y_c beta|| from 1", max(abs(n - 1) for n in norms))


def _warm(one: Individual, end: dict) -> int:
    start = np.stack([end["z"], end["u"]])[None]
    return well_posed(one, start=start)["iterations"]


def against_others(batch: list[Individual]) -> None:
    """Hold the default against scikit-learn's lasso and the NumPy form, independent columns."""
    s = _core.AdmmSettings.well_posed()
    apart, gaps, same, plain = [], [], [], []
    for raw in batch:
        kept = reference.independent_columns(raw.X)
        one = raw._replace(X=_unit(raw.X[:, kept] - raw.X[:, kept].mean(axis=0)))
        y = _unit(one.Y - one.Y.mean())[:, 0]
        other = _sklearn(one.X, y, s.lam)
        loose, tight = well_posed(one), well_posed(one, **TIGHT)
        apart.append(np.abs(tight["z"] - other).max())
        costs = [_objective(one.X, y, a, s.lam) for a in (loose["z"], other)]
        gaps.append(costs[0] / costs[1] - 1)
        same.append(set(np.flatnonzero(loose["z"])) == set(np.flatnonzero(other)))
        plain.append(abs(reference.admm_well_posed(one.X, one.Y).error - loose["error"]))
    say("coefficients at delta = 1e-13 against scikit-learn:", quantiles(apart))
    say("objective of the default above scikit-learn's, relative:", quantiles(gaps))
    say("support of the default equal to scikit-learn's", share(same))
    say("error, core against the NumPy form:", quantiles(plain))


def _sklearn(X: np.ndarray, y: np.ndarray, lam: float) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lasso_path(X, y, alphas=[lam / len(X)], tol=1e-14, max_iter=300_000)[1][:, 0]


def _objective(X: np.ndarray, y: np.ndarray, a: np.ndarray, lam: float) -> float:
    return float(0.5 * np.sum((X @ a - y) ** 2) + lam * np.abs(a).sum())


def two_targets() -> None:
    """Solve SymSet-11 with its own basis functions among others."""
    print("two psi: SymSet-11 with y^2 and y, and exp(x2), cos(x1), sin(x1), x1, x2, x1 x2")
    x, y = get("SymSet-11").train(0)
    X = np.column_stack([np.exp(x[:, 1]), np.cos(x[:, 0]), np.sin(x[:, 0]), x, x[:, 0] * x[:, 1]])
    one = Individual(X, np.column_stack([y**2, y]), X, X)
    say("status, iterations", *(well_posed(one)[key] for key in ("status", "iterations")))
    found = well_posed(one, lam=0.0)  # all columns, as the search fits them first
    say("beta_2 / beta_1 (the law has -8)", f"{found['beta'][1] / found['beta'][0]:.12g}")
    say(
        "alpha / beta_1",
        np.array2string(
            found["alpha"] / found["beta"][0], precision=6, suppress_small=True, max_line_width=200
        ),
    )
    say("error", float(found["error"]))


# ---- what the selection buys ---------------------------------------------------------------------


def selection(noise: float) -> None:
    """Hold the support of the lasso against least squares on all columns."""
    batch = list(individuals(noise))
    print(f"lasso support against all columns, {100 * noise:g} % noise, errors relative to g(y)")
    lam = _core.AdmmSettings.well_posed().lam
    figures: dict[float, list[tuple[int, float, float]]] = {}
    for value in (0.0, lam):
        figures[value] = [_errors(one, value) for one in batch]
    for value, rows in figures.items():
        terms, train, test = (np.median([r[k] for r in rows]) for k in range(3))
        label = "all columns" if value == 0.0 else f"lambda = {value}"
        say(
            f"{label}: terms, error on training rows, on test rows (medians)",
            int(terms),
            float(train),
            float(test),
        )
        say(
            "    error on test rows above 1 (worse than a constant)",
            share([r[2] > 1 for r in rows]),
        )
    better = [b[2] < a[2] for a, b in zip(figures[0.0], figures[lam], strict=True)]
    say("smaller error on test rows with the lasso", share(better))


def _errors(one: Individual, lam: float) -> tuple[int, float, float]:
    found = well_posed(one, lam=lam)
    f = found["alpha"][0] + one.X_test @ found["alpha"][1:]
    g = one.Y_test @ found["beta"]
    spread = np.std(one.Y_test @ found["beta"]) or 1.0
    test = float(np.sqrt(np.mean((f - g) ** 2)) / spread)
    return int(np.count_nonzero(found["alpha"][1:])), float(found["error"]), test


SEARCHED = (
    "Nguyen-2",
    "Nguyen-5",
    "Nguyen-7",
    "Nguyen-9",
    "Nguyen-12",
    "Jin-1",
    "Jin-4",
    "Livermore-3",
    "Livermore-14",
    "SymSet-4",
    "SymSet-12",
    "SymSet-17",
)


def search(noise: float, generations: int) -> None:
    """Run whole searches with and without the penalty."""
    print(
        f"searches with and without the lasso: {len(SEARCHED)} problems, seeds 0 to 4, "
        f"{100 * noise:g} % noise, at most {generations} generations"
    )
    errors = []
    for lam in (None, 0.0):
        rows = [_search(n, k, noise, generations, lam) for n in SEARCHED for k in range(5)]
        label = "all columns" if lam == 0.0 else "default"
        if noise == 0.0:
            say(f"{label}: proved to be the truth", share([r[0] for r in rows]))
        say(f"{label}: generations:", quantiles([r[1] for r in rows]))
        terms, error = (float(np.median([r[k] for r in rows])) for k in (2, 3))
        say("    terms, test RMSE relative to the spread of y (medians)", int(terms), error)
        errors.append([r[3] for r in rows])
    pairs = list(zip(*errors, strict=True))
    say(
        "test RMSE smaller with the default, and equal",
        share([a < b for a, b in pairs]),
        sum(a == b for a, b in pairs),
    )


def _search(
    name: str, seed: int, noise: float, generations: int, lam: float | None
) -> tuple[bool, int, int, float]:
    problem = get(name)
    (x, y), (x_test, y_test) = problem.train(seed), problem.test(seed)
    y = y + noise * y.std() * np.random.default_rng(seed).normal(size=len(y))
    model = GSRRegressor(
        preset="paper",
        library=problem.library,
        target_library=problem.target_library,
        lam=lam,
        max_time=None,
        max_generations=generations,
        random_state=seed,
        n_jobs=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, y)
        error = np.sqrt(np.nanmean((model.predict(x_test) - y_test) ** 2)) / y_test.std()
    proved = noise == 0.0 and recovery.check(model.equation_, problem, seed).recovered
    return proved, model.n_generations_, len(model.equation_.alpha), float(error)


# ---- what it buys in the guided search -----------------------------------------------------------

Powers = tuple[int, ...]
#: As in cpp/src/guide/tuning.hpp: columns of a sublibrary that is solved whole.
MOST_COLUMNS, MOST_DEGREE = 28, 9


def whole_sublibraries(noise: float) -> None:
    """Solve the polynomial sublibrary whole, and tell if the true set is met on the way down.

    Terms go one at a time, the one whose removal costs least first: from all columns (plain least
    squares), and from the support of the lasso.
    """
    met: dict[str, list[bool]] = {"all columns": [], "lasso": []}
    sizes = []
    problems = [(p, *found) for p in PROBLEMS if (found := _polynomial(p)) is not None]
    for problem, truth, powers in problems:
        for seed in range(5):
            x, y = problem.train(seed, noise)
            X = _unit(np.stack([np.prod(x ** np.array(p), axis=1) for p in powers], axis=1))
            one = Individual(X, y[:, None], X, y[:, None])
            picked = np.flatnonzero(well_posed(one)["alpha"][1:])
            sizes.append(len(picked))
            met["all columns"].append(truth in _path(X, y, range(len(powers))))
            met["lasso"].append(truth in _path(X, y, picked))
    print(
        f"polynomial sublibrary solved whole, {len(problems)} polynomial problems, seeds 0 to 4, "
        f"{100 * noise:g} % noise"
    )
    columns = [len(powers) for *_, powers in problems]
    say(
        "columns, and those that the lasso keeps (medians)",
        int(np.median(columns)),
        int(np.median(sizes)),
    )
    for start, hits in met.items():
        say(f"{start}: the true set is met on the way down", share(hits))


def _polynomial(problem: Problem) -> tuple[frozenset[int], list[Powers]] | None:
    """Return the true terms and the sublibrary, None if the one is not in the other."""
    symbols = [sympy.Symbol(name) for name in problem.variables]
    truth = sympy.sympify(problem.expression)
    if not truth.is_polynomial(*symbols):
        return None
    terms = [p for p in sympy.Poly(truth, *symbols).monoms() if any(p)]
    most = min(MOST_COLUMNS, 3 * len(problem.train(0)[1]) // 5)
    powers: list[Powers] = []
    for degree in range(1, MOST_DEGREE + 1):
        every = itertools.product(range(degree + 1), repeat=len(symbols))
        more = [p for p in every if 0 < sum(p) <= degree]
        powers = more if len(more) <= most else powers
    if not set(terms) <= set(powers):
        return None
    return frozenset(powers.index(p) for p in terms), powers


def _path(X: np.ndarray, y: np.ndarray, columns: Iterator[int] | range | np.ndarray) -> set:
    """Return the sets that backward elimination goes through."""
    kept, sets = [int(j) for j in columns], set()
    while kept:
        sets.add(frozenset(kept))
        inverse = np.linalg.pinv(np.column_stack([np.ones(len(y)), X[:, kept]]))
        cost = np.abs(inverse @ y) / np.linalg.norm(inverse, axis=1)
        kept.pop(int(np.argmin(cost[1:])))
    return sets


def guided_search(noise: float, generations: int) -> None:
    """Run the default search with and without the penalty."""
    print(
        f"the default search with and without the lasso: {len(SEARCHED)} problems, seeds 0 to 2, "
        f"{100 * noise:g} % noise, at most {generations} generations"
    )
    for lam in (None, 0.0):
        rows = [_guided(n, k, noise, generations, lam) for n in SEARCHED for k in range(3)]
        label = "all columns" if lam == 0.0 else "default"
        say(f"{label}: law found (under noise its structure)", share([r[0] for r in rows]))
        say("    individuals solved:", quantiles([r[1] for r in rows]))


def _guided(
    name: str, seed: int, noise: float, generations: int, lam: float | None
) -> tuple[bool, int]:
    problem = get(name)
    model = GSRRegressor(
        lam=lam, max_time=None, max_generations=generations, random_state=seed, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*problem.train(seed, noise))
    if noise:
        found = structure.compare(model.equation_, problem, seed).same
    else:
        found = recovery.check(model.equation_, problem, seed).recovered
    return found, model.n_evaluations_


# ---- noise ---------------------------------------------------------------------------------------


def refinement() -> None:
    """Fit y^2 = 1 + 2 x under noise in y: on the scale of y^2, and refined on that of y."""
    print("y^2 = 1 + 2 x1 on 100 rows, 10 % noise in y, 200 data sets: mean and standard deviation")
    library, target = Library(["one", "identity"]), Library(["one", "identity", "square"])
    law = FittedLaw(
        ([[0, 0, 0]], [[1, 0, 1]]), ([[2]],), np.array([1.0, 2.0]), np.ones(1), 9, 1.0, 1.0,
        exact=False, bits=0.0,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    found: dict[str, list[np.ndarray]] = {"on the scale of y^2": [], "on the scale of y": []}
    for _ in range(200):
        x = rng.uniform(0, 2, (100, 1))
        y = np.sqrt(1 + 2 * x[:, 0])
        noisy = y + 0.1 * np.sqrt(np.mean(y**2)) * rng.normal(size=len(y))
        data = Training(library, target, x, noisy)
        linear = refit(law, data)
        found["on the scale of y^2"].append(linear.alpha)
        found["on the scale of y"].append(refine(linear, data).alpha)
    for scale, alpha in found.items():
        mean, spread = np.mean(alpha, axis=0), np.std(alpha, axis=0)
        for name, m, s in zip(("constant", "slope"), mean, spread, strict=True):
            say(f"{scale}: {name}", f"{m:.3f}", f"{s:.3f}")


# ---- exactness -----------------------------------------------------------------------------------


def accidents() -> None:
    """Count fits below the printed threshold that are no law."""
    print("accidents: least squares on 15 random phi, psi = y, 500 individuals of generation 0")
    for name in ("Nguyen-5", "Nguyen-6", "Livermore-8", "Nguyen-9"):
        problem, rng = get(name), random.Random(0)
        x, y = problem.train(0)
        library = Library(problem.library)
        errors = []
        for _ in range(500):
            X, _ = _columns(
                lambda lib=library, r=rng, d=x.shape[1]: reference.random_matrix(r, lib, d),
                library,
                x,
                x,
                15,
            )
            kept = reference.independent_columns(X)
            basis = np.column_stack([np.ones(len(x)), X[:, kept]])
            rest = y - basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
            errors.append(np.sqrt(np.mean(rest**2)))
        say(f"{name}: RMSE below 1e-6", share([e < 1e-6 for e in errors]))
        say("    smallest RMSE", float(min(errors)))


def constants() -> None:
    """List the constants of the core by name."""
    print("constants of the core")
    pattern = re.compile(r"constexpr (?:double|int|Index) (k\w+) = ([^;]+);")
    for path in sorted((ROOT / "cpp").glob("*/**/*.?pp")):
        for name, value in pattern.findall(path.read_text(encoding="utf-8")):
            say(f"{path.relative_to(ROOT).as_posix()}: {name}", value)


def main() -> None:
    """Print everything."""
    batch = list(individuals())
    encoding()
    as_printed(batch)
    active_threshold(batch)
    trivial(batch)
    sphere_step(batch)
    default_solver(batch)
    against_others(batch)
    two_targets()
    for noise in (0.0, 0.05):
        selection(noise)
    search(0.0, 1000)
    search(0.05, 200)
    for noise in (0.0, 0.01, 0.05, 0.1):
        whole_sublibraries(noise)
    guided_search(0.0, 400)
    guided_search(0.01, 150)
    refinement()
    accidents()
    constants()


if __name__ == "__main__":
    main()
