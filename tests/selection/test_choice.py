"""Which law is presented, and how far it is trusted."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest

from fitted_laws import (
    CUBE,
    INVERSE,
    LIBRARY,
    ONE,
    SQUARE,
    X1,
    equation_for,
    fitted,
    front,
    law,
    sample,
    training,
)
from gsr import selection
from gsr.encoding import evaluate
from gsr.exceptions import GSRError
from gsr.selection import criteria, residuals
from gsr.selection.criteria import heavy_tailed_bits
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.target_scale import rmse
from gsr.selection.uncertainty import leave_one_out

# ---- the choice ------------------------------------------------------------------------------


def test_outliers_do_not_hide_a_law_behind_the_constant():
    """By the squares both leave as much, and the bits of outliers are not normal ones."""
    x = np.linspace(1.0, 10.0, 40)
    y = 2 * x + 1 + 0.02 * np.random.default_rng(0).standard_normal(40)
    y[[10, 30]] += [300.0, -300.0]
    data = training(x[:, None], y)
    entries = front([[ONE], [X1, ONE]], data)
    straight = FittedLaw.of(entries[1].law, alpha=np.array([2.0, 1.0]))
    entries[1] = replace(entries[1], law=straight, rmse=rmse(straight, data))
    assert criteria.ranking(entries, 40)[0] is entries[1]


def subsets_front(data, library, size, slack=1.1):
    """Return all supports of at most `size` functions, but those that a simpler one beats."""
    laws = [
        fitted([*chosen, ONE][: len(chosen) + constant], data)
        for k in range(size + 1)
        for chosen in itertools.combinations(library, k)
        for constant in (0, 1)
        if k + constant
    ]
    laws.sort(key=lambda found: (found.complexity, found.rmse))
    kept, least = [], np.inf
    for found in laws:
        if found.rmse < slack * least:
            kept.append(found)
        least = min(least, found.rmse)
    return selection.front(kept, equation_for(data), data)


POWERS = [[[1, 2, *[1] * k]] for k in (1, 2, 3, 4)]
WAVES = [[[7, 0, 1]], [[6, 0, 1]], [[10, 0, 1]], [[7, 2, 1, 1]], [[7, 2, 1, 1], [6, 0, 1, 0]]]
ROOTS = [[[code, 0, 1]] for code in (5, 1, 3, 11, 10, 7, 9)]
TRUTHS = {
    "cubic": (lambda x: x**3 + x**2 + x, POWERS + WAVES, POWERS[:3]),
    "waves": (lambda x: np.sin(x**2) * np.cos(x) - 1, POWERS + WAVES, [WAVES[-1], ONE]),
    "root": (np.sqrt, ROOTS, ROOTS[:1]),
}


@pytest.mark.parametrize(
    ("name", "noise", "least"),
    [
        ("cubic", 0.001, 10), ("cubic", 0.01, 9), ("cubic", 0.1, 3),
        ("waves", 0.001, 10), ("waves", 0.01, 3),
        ("root", 0.001, 10), ("root", 0.01, 10), ("root", 0.1, 7),
    ],
)  # fmt: skip
def test_the_true_terms_are_chosen_under_noise(name, noise, least):
    """Of 10 samples of 20 rows; every support of up to three functions is a candidate."""
    truth, library, terms = TRUTHS[name]
    low, high = (0.0, 4.0) if name == "root" else (-1.0, 1.0)
    found = 0
    for seed in range(10):
        data = sample(truth, 20, low, high, noise, seed)
        entries = subsets_front(data, library, 3)
        chosen = selection.best(entries, 20)
        found += {str(m) for m in chosen.law.phi} == {str(m) for m in terms}
    assert found >= least


def greedy(data, pool, values, n_terms=4):
    """Return the laws that forward selection finds in a pool, from the constant on."""
    phis = [[ONE]]
    basis = np.ones((len(data.y), 1)) / np.sqrt(len(data.y))
    left = data.y - data.y.mean()
    for _ in range(n_terms):
        rest = values - basis @ (basis.T @ values)
        norms = np.linalg.norm(rest, axis=0)
        gains = np.abs(left @ rest) / np.where(norms > 1e-6, norms, np.inf)
        best = int(gains.argmax())
        phis.append([*phis[-1], pool[best]])
        basis = np.column_stack([basis, rest[:, best] / norms[best]])
        left = left - basis[:, -1] * (basis[:, -1] @ left)
    return phis


def random_pool(rng, X, size):
    """Return random basis functions with their values as columns of unit norm."""
    n_features = X.shape[1]
    matrices = []
    for _ in range(size):
        rows = []
        for _ in range(rng.integers(1, 4)):
            n = int(rng.integers(1, 4))
            operands = [int(v) for v in rng.integers(1, n_features + 1, n)] + [0] * (3 - n)
            rows.append([int(rng.integers(1, 13)), int(rng.integers(0, 3)), *operands])
        matrices.append(rows)
    values = evaluate(matrices, LIBRARY, X)
    with np.errstate(all="ignore"):
        size_of = np.linalg.norm(values, axis=0)
        fine = np.isfinite(size_of) & (size_of > 0) & (values.std(axis=0) > 1e-6 * size_of)
    kept = [matrix for matrix, good in zip(matrices, fine, strict=True) if good]
    return kept, values[:, fine] / size_of[fine]


@pytest.mark.parametrize(("n", "n_features"), [(20, 1), (20, 4), (100, 2)])
def test_noise_gets_no_law(n, n_features):
    """Forward selection among 5,000 functions always finds something; the constant must win."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 3, (n, n_features))
    pool, values = random_pool(rng, X, 5000)
    for seed in range(30):
        y = np.random.default_rng(seed).standard_normal(n) + 3 * (seed % 2)
        data = training(X, y)
        entries = front(greedy(data, pool, values), data)
        chosen = selection.best(entries, n)
        assert entries[-1].rmse < 0.95 * entries[0].rmse
        assert not chosen.uses_features
        assert chosen.level == "noise"


def entry(complexity=5, rmse=1.0, n_constants=1, exact=False, bits=0.0, **more):
    make = equation_for(sample(lambda x: x))
    return selection.FrontEntry(
        complexity, rmse, exact, n_constants, bits, make, law([X1], [1.0]), **more
    )


def test_the_exact_law_of_the_fewest_bits_comes_first():
    entries = [entry(3, 0.1), entry(9, 1e-15, exact=True, bits=60.0)]
    entries.append(entry(12, 1e-16, exact=True, bits=50.0))
    for criterion in ("mdl", "bic", "aicc", "rmse", "simplest within 10"):
        assert selection.best(entries, 20, criterion) is entries[2]


def test_information_criteria():
    entries = [entry(3, 1.0, 1), entry(8, 0.9, 3), entry(12, 0.85, 8)]
    values = [2 * 20 * np.log(e.rmse) + (e.n_constants + 1) * np.log(20) for e in entries]
    assert criteria.ranking(entries, 20, "bic") == [entries[i] for i in np.argsort(values)]
    assert selection.best(entries, 20, "aicc") is entries[0]
    assert selection.best(entries, 2000, "aicc") is entries[2]


def test_other_criteria():
    entries = [entry(3, 1.0, held_out=1.0), entry(8, 0.5, held_out=0.6), entry(9, 0.48, held_out=2)]
    assert selection.best(entries, 20, "rmse") is entries[2]
    assert selection.best(entries, 20, "held_out") is entries[1]
    assert selection.best(entries, 20, "simplest within 0.1") is entries[1]
    assert selection.best(entries, 20, "simplest within 200 %") is entries[0]
    assert selection.best(entries, 20, lambda e: -e.complexity) is entries[2]


def test_laws_that_are_counted_roughly_do_not_come_first(monkeypatch):
    """The rough count leaves out what all laws that use a feature take."""

    class Entry:
        data, n_constants, transformed, uses_features = None, 1, False, True
        law, left_nodes = None, 1

        def __init__(self, complexity, length):
            self.complexity, self.rmse, self._length = complexity, 1.0, length
            self.structure = length

        @property
        def length(self):
            return self._length

    monkeypatch.setattr(criteria, "data_bits", lambda *_: 0.0)
    entries = [Entry(4, 100.0), Entry(5, 101.0), Entry(40, 150.0)]
    assert criteria.ranking(entries, 30) == entries


def test_outliers_are_not_worth_a_law():
    """A law that follows them gains less under heavy-tailed noise than under normal noise."""
    rng = np.random.default_rng(3)
    noise = rng.standard_normal(100)
    outliers = noise.copy()
    outliers[[10, 60]] = 15.0, -12.0
    assert heavy_tailed_bits(noise) > 100 * np.log2(noise.std())
    followed = 100 * np.log2(noise.std())
    normal = 100 * np.log2(outliers.std()) - followed
    heavy = heavy_tailed_bits(outliers) - followed
    assert 0.0 < heavy < 0.5 * normal
    # The unit of y shifts both counts alike.
    scaled = heavy_tailed_bits(1e-30 * outliers) - heavy_tailed_bits(outliers)
    assert scaled == pytest.approx(100 * np.log2(1e-30))


def test_bad_choices_are_named():
    with pytest.raises(GSRError, match="criterion must be one of"):
        selection.best([entry()], 20, "smallest")
    with pytest.raises(GSRError, match="poles must be 'avoid', 'forbid' or 'allow', got 'no'"):
        selection.best([entry()], 20, poles="no")
    with pytest.raises(GSRError, match="no law with a finite error"):
        selection.best([], 20)


def test_leave_one_out_is_the_error_of_rows_left_out():
    data = sample(lambda x: x**2 + 1, noise=0.1)
    found = fitted([SQUARE, ONE], data)
    missed = []
    for i in range(20):
        rest = np.arange(20) != i
        part = fitted([SQUARE, ONE], training(data.X[rest], data.y[rest]))
        missed.append(data.y[i] - data.features(part, data.X[i : i + 1])[0] @ part.alpha)
    assert leave_one_out(found, data) == pytest.approx(np.sqrt(np.mean(np.square(missed))))


def test_of_equals_the_target_itself_comes_first():
    X = np.linspace(1, 2, 30)[:, None]
    rng = np.random.default_rng(0)
    data = training(X, 2 * X[:, 0] + 0.01 * rng.standard_normal(30))
    plain = FittedLaw.of(fitted([X1], data), complexity=7)
    squares = law([SQUARE], [4.0], [[[3]]], exact=False)
    squares = FittedLaw.of(squares, complexity=6, rmse=plain.rmse)
    entries = selection.front([squares, plain], equation_for(data), data)
    for each in (entries, pickle.loads(pickle.dumps(entries))):
        assert each[0].transformed and not each[1].transformed
    assert selection.best(entries, 30) is entries[1]


# ---- poles -----------------------------------------------------------------------------------


def pole_and_line(noise):
    X = np.concatenate([np.linspace(-1, -0.2, 10), np.linspace(0.2, 1, 10)])[:, None]
    y = 1 / X[:, 0] + noise * np.random.default_rng(0).standard_normal(20)
    data = training(X, y)
    return sorted(front([[X1, ONE], [INVERSE]], data), key=lambda e: e.poles.verdict == "unsafe")


def test_poles_cost_bits_unless_allowed():
    entries = pole_and_line(0.01)
    assert entries[1].poles.verdict == "unsafe"
    assert selection.best(entries, 20, poles="allow") is entries[1]
    assert selection.best(entries, 20, poles="avoid") is entries[1]  # nothing else comes near
    assert selection.best(entries, 20, poles="forbid") is entries[0]


def test_a_pole_that_buys_little_is_avoided():
    entries = pole_and_line(3.0)
    lengths = [criteria.description_length(e, 20) for e in entries]
    assert 0 < lengths[0] - lengths[1] < criteria.BITS_OF_POLE
    assert selection.best(entries, 20, poles="allow") is entries[1]
    assert selection.best(entries, 20, poles="avoid") is entries[0]


# ---- the front -------------------------------------------------------------------------------


def test_laws_are_refined_on_the_scale_of_y():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 20, (100, 1))
    data = training(X, np.log(1 + 2 * X[:, 0]) + 0.2 * rng.standard_normal(100))
    start = law([X1, ONE], [2.3, 1.0], [[[10]]], exact=False)
    (refined,) = selection.front([start], equation_for(data), data)
    assert refined.rmse < 0.21
    assert refined.equation.alpha.tolist() == refined.law.alpha.tolist()


def test_an_exact_law_must_be_exact_on_all_rows():
    X = np.linspace(0, 2, 400)[:, None]
    y = X[:, 0] ** 2
    bent = y + np.where(X[:, 0] > 1.9, 0.01, 0)
    few = training(X[:200], y[:200])
    found = law([SQUARE], [1.0])
    (good,) = selection.front([found], equation_for(few), few, training(X, y))
    assert good.exact and good.level == "rounding"
    (bad,) = selection.front([found], equation_for(few), few, training(X, bent))
    assert not bad.exact
    done = selection.finish(bad, training(X, bent))
    assert done.rmse == pytest.approx(np.std(bent - y), rel=0.2)


def test_weights_gain_digits_on_all_rows():
    X = np.linspace(0, 50, 3000)[:, None]
    everything = training(X, 2 * np.sin(9.8 * X[:, 0]))
    few = training(X[:100], everything.y[:100])
    found = law([[[7, 3, 1, 9.8 * (1 + 1e-11)]]], [2.0])
    (confirmed,) = selection.front([found], equation_for(few), few, everything)
    assert confirmed.exact
    assert confirmed.law.phi[0][0][3] == pytest.approx(9.8, rel=1e-15)


def test_entries_are_pickled_with_what_they_know():
    data = sample(lambda x: x**2 + 1)
    (found,) = front([[SQUARE, ONE]], data)
    copy = pickle.loads(pickle.dumps(found))
    assert str(copy) == str(found)
    assert copy.data is None
    assert (copy.level, copy.poles.verdict) == ("noise", "safe")
    assert copy.rounded.texts == ("1", "1")
    assert str(copy.rounded_equation) == "y = x1^2 + 1"
    assert np.array_equal(copy.uncertainty.errors, found.uncertainty.errors)


def test_without_data_a_front_is_as_it_was():
    found = law([X1], [1.0], exact=False)
    (plain,) = selection.front([found], str)
    assert plain.rmse == found.rmse
    assert plain.level == "unknown"
    with pytest.raises(GSRError, match="without its training data"):
        _ = plain.uncertainty


# ---- the level of the residual ---------------------------------------------------------------


@pytest.mark.parametrize(("n", "n_features"), [(20, 1), (50, 3), (300, 2)])
def test_noise_is_rarely_called_structure(n, n_features):
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, r = rng.uniform(0, 1, (n, n_features)), rng.standard_t(3, n)
        chance = residuals.structure_probability(r, rng.standard_normal(n), X, 1)
        alarms += chance < 0.05
    assert alarms <= 20


@pytest.mark.parametrize(
    ("truth", "phi"),
    [
        (lambda X: np.exp(X[:, 0]), [X1, ONE]),
        (lambda X: np.sin(5 * X[:, 0]), [CUBE, SQUARE, X1, ONE]),
        (lambda X: X[:, 0] * X[:, 1], [X1, [[1, 0, 2]], ONE]),
        (lambda X: np.sin(3 * X[:, 0] + 4 * X[:, 1]), [X1, [[1, 0, 2]], ONE]),
    ],
)
def test_approximations_are_said_to_be_such(truth, phi):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (100, 2))
    y = truth(X)
    data = training(X, y + 0.01 * np.std(y) * rng.standard_normal(100))
    assert residuals.residual_level(fitted(phi, data), data) == "above"


def test_too_few_rows_to_tell():
    data = sample(lambda x: x, n=8)
    assert residuals.residual_level(fitted([X1, ONE], data), data) == "unknown"


def test_rows_without_a_solution_are_above():
    X = np.linspace(-1, 1, 30)[:, None]
    data = Training(LIBRARY, LIBRARY, X, np.abs(X[:, 0]))
    assert residuals.residual_level(law([X1], [1.0], [[[3]]], exact=False), data) == "above"
