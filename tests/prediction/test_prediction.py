"""Predictions of drawn laws g(y) = f(x), on data that the laws themselves have made."""

import itertools
import re
import warnings
from functools import cache

import numpy as np
import pytest

from gsr.encoding import encode, encode_target, evaluate
from gsr.equation import Equation
from gsr.exceptions import PredictionWarning
from gsr.library import PRESETS

ALL = PRESETS["all"]
FORMULAS = [
    "y", "1/y", "y^2", "1/y^2", "y^3", "1/y^3", "sqrt(y)", "1/sqrt(y)", "cos(y)", "1/cos(y)",
    "sin(y)", "1/sin(y)", "tan(y)", "1/tan(y)", "tanh(y)", "1/tanh(y)", "exp(y)", "exp(-y)",
    "ln(y)", "1/ln(y)", "ln(1 + 1/y)", "exp(1/y)", "ln(1 + y)", "sqrt(1 + y^2)", "1/(1 + y^2)",
    "y/(1 + y)", "ln(y^2 - 1)", "ln(sin(y))", "exp(-y^2)", "sin(1/y)", "tanh(1/y)", "y exp(y)",
    "y sin(y)", "y^2/(1 + y)", "exp(tan(y))", "tan(y)/y", "1/(exp(y) - 1)",
]  # fmt: skip
PAIRS = list(itertools.combinations(FORMULAS, 2))
RANGES = [(0.2, 3), (-3, -0.2), (-2, 2), (0.01, 0.5), (5, 9), (-0.9, 4), (100, 300), (1e-8, 1e-3)]
SEEDS = range(2)


@cache
def basis(formula):
    return encode_target(formula, ALL)


def drawn_law(formulas, seed):
    """Return a law g(y) = x1 with its training data, None if g says nothing about y there."""
    rng = np.random.default_rng([seed, *map(ord, "".join(formulas))])
    psi, beta = [basis(f) for f in formulas], np.round(rng.uniform(0.1, 3, len(formulas)), 2)
    y = rng.uniform(*RANGES[rng.integers(len(RANGES))], 40)
    with np.errstate(all="ignore"):
        g = evaluate(psi, ALL, y[:, None]) @ beta
    y, g = (each[np.isfinite(g) & (np.abs(g) < 1e12)] for each in (y, g))
    if len(y) < 12 or np.ptp(g) < 1e-6 * np.abs(g).max():
        return None
    X = np.column_stack([g, rng.uniform(-2, 2, len(y))])
    return Equation.from_data(ALL, ALL, psi, beta, [encode("x1", ALL, 2)], [1.0], X, y), X, y


def predicted(law, X):
    """Return predictions and where they are guesses; all warnings must be about them, and true."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        values = law.predict(X)
    assert all(issubclass(w.category, PredictionWarning) for w in told), told[0].message
    text = " ".join(str(w.message) for w in told)
    guessed = law.inversion.solve(X[:, 0], X).guessed
    for named, rows in ((r"(\d+) of \d+ predictions are NaN", np.isnan(values)),
                        (r"several values of y .* in (\d+) row", guessed)):  # fmt: skip
        count = re.search(named, text)
        assert int(count[1] if count else 0) == rows.sum(), text
    return values, guessed


def assert_solved(law, values, v):
    """Check g(y) = v as far as rounding of y, of terms and at extreme values lets it be."""
    g = law.inversion.function
    y, v = values[np.isfinite(values)], v[np.isfinite(values)]
    with np.errstate(all="ignore"):
        ulp = np.abs(g(y + 2 * np.spacing(y)) - g(y - 2 * np.spacing(y)))
    slack = 2e-6 * (np.abs(v) + g.size(y)) + np.nan_to_num(ulp, posinf=0.0)
    slack += 2e-9 * g.rise(y, 0.1 * law.inversion.branches.width)
    off = np.abs(g(y) - v) > slack
    assert not off.any(), (str(law), y[off], v[off], g(y[off]))


def told_apart(law, y):
    """Tell where g changes enough around y to say which y is meant."""
    g, step = law.inversion.function, 1e-7 * (np.abs(y) + 1e-3 * law.inversion.branches.width)
    with np.errstate(all="ignore"):
        change = np.fmin(np.abs(g(y + step) - g(y)), np.abs(g(y - step) - g(y)))
    return change > 1e-12 * g.size(y)


def check(law, X, y):
    """Check predictions for rows whose y is known and in the range."""
    values, guessed = predicted(law, X)
    assert np.isfinite(values).all(), (str(law), y[np.isnan(values)])
    assert_solved(law, values, X[:, 0])
    if law.inversion.branches.home is not None:
        assert not guessed.any(), str(law)
    sure = ~guessed & told_apart(law, y)
    near = np.abs(values - y) <= 1e-5 * (np.abs(y) + law.inversion.branches.width)
    assert near[sure].all(), (str(law), y[sure & ~near], values[sure & ~near])
    return sure.sum()


def check_anywhere(law, rng):
    """Check rows that may have no solution, or one far away."""
    edges = [0.0, 1.0, -1.0, 1e-12, -1e-12, 1e6, -1e6, 1e300, -1e300, np.nan]
    X = np.zeros((16, 2))
    X[:, 0] = np.concatenate([edges, rng.normal(scale=5.0, size=6)])
    values, _ = predicted(law, X)
    assert_solved(law, values, X[:, 0])


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_laws_are_solved(seed):
    rng = np.random.default_rng(seed)
    chosen = [(f,) for f in FORMULAS[seed::2]] + [
        PAIRS[k] for k in rng.permutation(len(PAIRS))[:12]
    ]
    laws = sure = 0
    for formulas in chosen:
        drawn = drawn_law(formulas, seed)
        if drawn is None:
            continue
        law, X, y = drawn
        laws += 1
        sure += check(law, X, y) > 0
        between = rng.uniform(y.min(), y.max(), 30)
        g = law.inversion.function(between)
        fine = np.isfinite(g) & (np.abs(g) < 1e12)
        check(law, np.column_stack([g[fine], np.zeros(fine.sum())]), between[fine])
        check_anywhere(law, rng)
    assert laws > 20
    assert sure > 15
