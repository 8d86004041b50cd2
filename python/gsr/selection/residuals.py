"""Whether a law's residuals are noise, or have structure that the law leaves out.

Noise is independent of where it was measured. So residuals of rows that are neighbours, in order of
the prediction, of a feature, or in the space of all features, must not resemble each other; slow
waves and quadratic functions must not explain them; and boosted trees must not predict those of
rows that they have not seen. Each test gives the probability that noise alone does as well.

The tests look at scores: normal scores of the residuals' ranks, which hold for noise of any
distribution, or residuals with their tails cut, where the size of the noise varies. Residuals of a
fitted law are orthogonal to its Jacobian; the tests that fit something account for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from gsr.selection.fitted import LawLike, Training, constants
from gsr.selection.target_scale import linear_rows
from gsr.threads import one_thread
from gsr.transformation import Array, Indices

ROUNDING = 1e-12
#: Directions of a tested basis that the law itself absorbs up to this part are left out.
ABSORBED = 1e-2
#: A quadratic function may have one coefficient for this many rows.
ROWS_PER_COLUMN = 4
#: Waves along an ordering: this many more than the law has constants, but no more than MOST_WAVES.
WAVES = 3
MOST_WAVES = 8
ROWS_PER_WAVE = 3
#: Products of pairs are tested among this many features.
MOST_PAIRED = 40
#: Numbers in the matrix of a quadratic function.
MOST_NUMBERS = 4_000_000
#: Rows and features among which nearest neighbours are looked for.
MOST_NEIGHBOURS = 4000
MOST_DIMENSIONS = 10
#: Where tails are cut, in units of the median absolute residual.
TAIL = 5.0
#: The boosted trees need this many rows.
LEAST_LEARNED = 60
FOLDS = 4


def varies(column: Array) -> bool:
    """Return whether there is more than rounding in a column."""
    return bool(np.ptp(column) > ROUNDING * np.abs(column).max())


def standard(columns: Array) -> Array:
    """Return columns that vary with mean 0 and variance 1, whatever their unit."""
    # Squares of the raw numbers could overflow or vanish.
    sized = columns / np.abs(columns).max(axis=0, initial=0.0)
    centred = sized - sized.mean(axis=0)
    centred /= np.abs(centred).max(axis=0, initial=0.0)
    return np.asarray(centred / centred.std(axis=0))


def normalised_ranks(values: Array) -> Array:
    """Return the ranks, spread evenly over (0, 1)."""
    ranks = np.empty(len(values))
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return (ranks + 0.5) / len(values)


@dataclass(frozen=True, eq=False)
class Scores:
    """Residuals without their tails, and without what the law's constants can absorb."""

    values: Array  # the scores, orthogonal to `absorbed`
    absorbed: Array  # orthonormal columns: the constant function and the law's Jacobian
    n_constants: int  # constants of the law

    @classmethod
    def ranked(cls, residuals: Array, jacobian: Array | None, n_constants: int) -> Scores:
        """Make normal scores of the ranks of residuals of one distribution."""
        from scipy.special import ndtri

        return cls._of(np.asarray(ndtri(normalised_ranks(residuals))), jacobian, n_constants)

    @classmethod
    def clipped(cls, residuals: Array, jacobian: Array | None, n_constants: int) -> Scores:
        """Cut the tails only.

        The means are 0 then wherever those of the residuals are, which ranks do not ensure if the
        noise is skewed and its size varies.
        """
        typical = float(np.median(np.abs(residuals)))
        if typical == 0.0:
            return cls.ranked(residuals, jacobian, n_constants)
        values = np.clip(residuals / typical, -TAIL, TAIL)
        return cls._of(values, jacobian, n_constants)

    @classmethod
    def _of(cls, values: Array, jacobian: Array | None, n_constants: int) -> Scores:
        columns = np.ones((len(values), 1))
        if jacobian is not None:
            columns = np.hstack([columns, jacobian])
        absorbed = orthonormal(columns)
        left = values - absorbed @ (absorbed.T @ values)
        return cls(left / left.std(), absorbed, n_constants)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the scores."""
        return len(self.values) - max(int(self.absorbed.shape[1]), self.n_constants)

    def beyond(self, columns: Array) -> Array:
        """Return what the law's constants cannot absorb of columns of unit norm."""
        return np.asarray(columns - self.absorbed @ (self.absorbed.T @ columns))


def orthonormal(columns: Array) -> Array:
    """Return an orthonormal basis of the columns' span, each scaled to unit norm before."""
    peaks = np.abs(columns).max(axis=0, initial=0.0)
    fine = np.isfinite(peaks) & (peaks > 0)
    sized = columns[:, fine] / peaks[fine]
    sized /= np.linalg.norm(sized, axis=0)
    basis, sizes, _ = np.linalg.svd(sized, full_matrices=False)
    return np.asarray(basis[:, sizes > ROUNDING * max(sizes[0], 1e-300)])


# ---- neighbouring rows ---------------------------------------------------------------------------


def serial(scores: Scores, order: Indices) -> float:
    """Test the correlation of successive residuals."""
    ordered = scores.values[order]
    products = ordered[1:] * ordered[:-1]
    return _correlated(products, np.ones(len(products)))


def neighbourly(scores: Scores, X: Array) -> float:
    """Test the correlation of each residual with that of its nearest neighbour."""
    from scipy.spatial import cKDTree

    values, X = scores.values[:MOST_NEIGHBOURS], X[:MOST_NEIGHBOURS]
    scaled = standard(X[:, [varies(column) for column in X.T]])
    _, found = cKDTree(scaled).query(scaled, k=2)
    # Among equal rows the nearest other may be named first.
    here = np.arange(len(values))
    nearest = np.where(found[:, 1] == here, found[:, 0], found[:, 1])
    mutual = nearest[nearest] == here
    # A pair that are each other's nearest count twice.
    return _correlated(values * values[nearest], np.where(mutual, 2.0, 1.0))


def _correlated(products: Array, counts: Array) -> float:
    """Test products of two scores; normalised by themselves, they may differ in size."""
    variance = float(counts @ products**2)
    # Scores that add up to 0 have a sum of products of about -1.
    return _tail((float(products.sum()) + 1.0) / math.sqrt(variance)) if variance > 0 else 1.0


def _by_chance(p: int, explained: float, total: float, freedom: int) -> float:
    """F test: the probability that p columns explain as much of a sum of squares."""
    from scipy.special import fdtrc

    left = max(total - explained, float(np.finfo(float).tiny))
    return float(fdtrc(p, freedom, (explained / p) / (left / freedom)))


def _tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))


# ---- functions fitted to the residuals -----------------------------------------------------------


def smooth(scores: Scores, order: Indices) -> float:
    """F test of the slowest waves along an ordering of the rows."""
    n_waves = min(WAVES + scores.n_constants, MOST_WAVES, scores.freedom // ROWS_PER_WAVE)
    if n_waves < 1:
        return 1.0
    n = len(order)
    position = np.empty(n)
    position[order] = (np.arange(n) + 0.5) / n
    waves = np.cos(math.pi * position[:, None] * np.arange(1, n_waves + 1))
    return _explained(scores, waves)


def quadratic(scores: Scores, prediction: Array, X: Array) -> float:
    """F test of a quadratic function of the features, and of powers of the prediction."""
    terms = _quadratic_terms(prediction, X)
    most = min(scores.freedom // ROWS_PER_COLUMN, MOST_NUMBERS // len(prediction))
    columns = list(islice(terms, most))
    return _explained(scores, np.column_stack(columns)) if columns else 1.0


def single_term(scores: Scores, prediction: Array, X: Array) -> float:
    """Test each term of a quadratic function by itself: a few terms among very many."""
    size = math.sqrt(float(scores.values @ scores.values) / max(scores.freedom, 1))
    largest, count = 0.0, 0
    for column in _quadratic_terms(prediction, X):
        (rest,) = scores.beyond((column / np.linalg.norm(column))[:, None]).T
        left = float(np.linalg.norm(rest))
        if left > ABSORBED:
            largest = max(largest, abs(float(rest @ scores.values)) / (left * size))
            count += 1
    return min(1.0, 2.0 * count * _tail(largest)) if count else 1.0


def _quadratic_terms(prediction: Array, X: Array) -> Iterator[Array]:
    """Yield centred columns one by one: all products of many features may not fit into memory."""
    if varies(prediction):
        f = standard(prediction)
        yield from (c - c.mean() for c in (f**2, f**3))
    scaled = standard(X)
    yield from scaled.T
    for column in scaled.T:
        square = column**2 - 1.0
        if np.ptp(square) > ROUNDING:  # not of a feature with two values
            yield square
    paired = scaled[:, :MOST_PAIRED]
    for i in range(paired.shape[1]):
        for j in range(i):
            product = paired[:, i] * paired[:, j]
            if varies(product):
                yield product - product.mean()


def _explained(scores: Scores, columns: Array) -> float:
    """F test of the part of the scores that the columns explain."""
    norms = np.linalg.norm(columns, axis=0)
    rest = scores.beyond(columns[:, norms > 0] / norms[norms > 0])
    # By the Gram matrix: there may be many more rows than columns.
    sizes, vectors = np.linalg.eigh(rest.T @ rest)
    kept = sizes > ABSORBED**2
    p, freedom = int(kept.sum()), scores.freedom
    if p == 0 or freedom <= p:
        return 1.0
    along = (vectors[:, kept].T @ (rest.T @ scores.values)) / np.sqrt(sizes[kept])
    total = float(scores.values @ scores.values)
    return _by_chance(p, float(along @ along), total, freedom - p)


# ---- structure of any form -----------------------------------------------------------------------


def learned(scores: Scores, prediction: Array, X: Array) -> float:
    """Test whether boosted trees predict residuals of rows that they have not seen."""
    n = len(scores.values)
    if n < LEAST_LEARNED:
        return 1.0
    table = np.column_stack([normalised_ranks(prediction), standard(X)])
    products = _out_of_fold(table, scores.values) * scores.values
    size = math.sqrt(float(products @ products))
    # Each pair of rows in different folds counts in both directions.
    return _tail(float(products.sum()) / (math.sqrt(2.0) * size)) if size > 0 else 1.0


def _out_of_fold(table: Array, values: Array) -> Array:
    """Return what trees that were grown on the other folds predict."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    n = len(values)
    trees = HistGradientBoostingRegressor(
        max_iter=30, max_leaf_nodes=8, min_samples_leaf=min(20, max(5, n // 30)), max_bins=63,
        early_stopping=False, random_state=0,
    )  # fmt: skip
    fold = np.random.default_rng(0).permutation(n) % FOLDS
    predicted = np.empty(n)
    # Limited here: a limit that is set before scikit-learn is imported does not reach it.
    with threadpool_limits(1):
        for k in range(FOLDS):
            here = fold == k
            trees.fit(table[~here], values[~here] - values[~here].mean())
            predicted[here] = trees.predict(table[here])
    return predicted


# ---- all tests together --------------------------------------------------------------------------

Level = Literal["rounding", "noise", "above", "unknown"]

#: Probability of calling noise structure.
FALSE_ALARM = 0.004
#: Rows beyond the constants that the tests need.
LEAST_ROWS = 8
#: A law that has all but this part of a constant has one.
NEGLIGIBLE = 1e-9
#: Rows that the tests look at, unless time is short.
MOST_ROWS = 50_000
#: Probability below which the size of the noise is taken to vary.
VARYING_SIZE = 0.003


def residual_level(law: LawLike, data: Training, most_rows: int = MOST_ROWS) -> Level:
    """Return whether the residual of a law is noise; see `gsr.selection.FrontEntry.level`."""
    if law.exact:
        return "rounding"
    prediction, residuals, jacobian = linear_rows(law, data)
    if not np.isfinite(prediction).all():
        return "above"
    n_constants = len(constants(law))
    if len(prediction) - n_constants < LEAST_ROWS:
        return "unknown"
    residuals = data.loss.clipped(residuals)
    chance = structure_probability(residuals, prediction, data.X, n_constants, jacobian, most_rows)
    return "noise" if chance > FALSE_ALARM else "above"


def structure_probability(
    residuals: Array,
    prediction: Array,
    X: Array,
    n_constants: int,
    jacobian: Array | None = None,
    most_rows: int = MOST_ROWS,
) -> float:
    """Return the probability that noise alone looks as structured as the residuals do.

    It is corrected for the number of tests, and 1 where too few rows are left to tell. A size of
    the residuals that varies with the prediction or with a feature is no structure.
    """
    rows = np.arange(len(residuals))
    if len(rows) > most_rows:
        rows = np.random.default_rng(0).choice(len(rows), most_rows, replace=False)
    r, f, table = residuals[rows], prediction[rows], X[rows]
    if len(r) - n_constants < LEAST_ROWS or not np.isfinite(r).all() or np.ptp(r) == 0.0:
        return 1.0
    r = r / np.abs(r).max()
    slopes = None if jacobian is None else jacobian[rows]
    table = table[:, [varies(column) for column in table.T]]
    with one_thread():
        chances = [] if slopes is None else _linear_tests(r, slopes)
        scores = _scores(r, slopes, f, table, n_constants)
        for order in _orders(f, table):
            chances += [serial(scores, order), smooth(scores, order)]
        if 1 < table.shape[1] <= MOST_DIMENSIONS:
            chances.append(neighbourly(scores, table))
        if table.shape[1] > 1:
            chances.append(single_term(scores, f, table))
        if table.shape[1] > 0:
            chances += [quadratic(scores, f, table), learned(scores, f, table)]
    return min(1.0, len(chances) * min(chances))


def _orders(prediction: Array, X: Array) -> list[Indices]:
    """Return the orders of the prediction and of the features, each once in either direction."""
    found: list[Indices] = []
    for column in (prediction, *X.T):
        order = np.argsort(column, kind="stable")
        seen = any(np.array_equal(order, old) for one in found for old in (one, one[::-1]))
        if varies(column) and not seen:
            found.append(order)
    return found


def _linear_tests(r: Array, jacobian: Array) -> list[float]:
    """F tests of other constants of the same law, and of a constant beside it.

    The first explain nothing once the law is fitted, the second the other tests take for granted.
    """
    basis, chances = orthonormal(jacobian), [1.0, 1.0]
    p, freedom, along = basis.shape[1], len(r) - basis.shape[1], basis.T @ r
    if p > 0 and freedom > 0:
        chances[0] = _by_chance(p, float(along @ along), float(r @ r), freedom)
    constant, left = np.ones(len(r)) - basis @ basis.sum(axis=0), r - basis @ along
    size = float(constant @ constant)
    if freedom > 1 and size > NEGLIGIBLE * len(r):
        explained = float(constant @ left) ** 2 / size
        chances[1] = _by_chance(1, explained, float(left @ left), freedom - 1)
    return chances


def _scores(r: Array, jacobian: Array | None, f: Array, X: Array, n_constants: int) -> Scores:
    """Return the scores; where the size of the noise varies, residuals are divided by it first.

    The constants were fitted to the large residuals then, so they are fitted again to first order:
    otherwise the small ones would show their errors as structure.
    """
    noise = _differences(r, X[:, 0] if X.shape[1] == 1 else f)
    along = _size_varies_with(noise, f, X)
    if along is None:
        return Scores.ranked(r, jacobian, n_constants)
    size = _local_size(noise, along)
    scaled = r / size
    if jacobian is None:
        return Scores.clipped(scaled, None, n_constants)
    slopes = jacobian / size[:, None]
    basis = orthonormal(slopes)
    return Scores.clipped(scaled - basis @ (basis.T @ scaled), slopes, n_constants)


def _differences(r: Array, along: Array) -> Array:
    """Return each residual less the mean of its two neighbours: noise, without slow structure."""
    order = np.argsort(along, kind="stable")
    ordered = r[order]
    padded = np.concatenate([ordered[2:3], ordered, ordered[-3:-2]])
    noise = np.empty(len(r))
    noise[order] = ordered - (padded[2:] + padded[:-2]) / 2.0
    return noise


def _size_varies_with(noise: Array, f: Array, X: Array) -> Array | None:
    """Return the ranks that the size of the noise follows most; None if it follows none."""
    sizes = normalised_ranks(np.abs(noise)) - 0.5
    best, ranks = 0.0, None
    candidates = [normalised_ranks(c) - 0.5 for c in (f, np.abs(f), *X.T) if varies(c)]
    for column in candidates:
        correlation = abs(float(sizes @ column)) / float(sizes @ sizes)
        if correlation > best:
            best, ranks = correlation, column
    z = best * math.sqrt(len(noise) - 1)
    chance = len(candidates) * math.erfc(z / math.sqrt(2.0))
    return ranks if chance < VARYING_SIZE else None


def _local_size(noise: Array, ranks: Array) -> Array:
    """Return the size of the noise as a smooth function of ranks."""
    floor = ROUNDING * np.abs(noise).max()
    size = np.log(np.maximum(np.abs(noise), floor))
    powers = np.vander(2.0 * ranks, 3)
    return np.asarray(np.exp(powers @ np.linalg.lstsq(powers, size, rcond=None)[0]))
