"""How far a law's predictions leave the range of y, on and a little beyond the training data.

A law may fit every row and still predict anything between them: poles, terms that explode, inverses
of g that are steep near the edge of its range. Poles are looked for by interval arithmetic, the
rest at points where new data may be: in the box of the training data, a little outside of it, and,
since a box of many or correlated features is mostly empty, on mixtures of training rows.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import numpy.typing as npt

from gsr.encoding import evaluate
from gsr.equation import Equation
from gsr.library import Library
from gsr.selection.fitted import LawLike
from gsr.selection.poles import GuardedLaw, Search
from gsr.transformation import Array

#: Part of each feature's range by which the box is enlarged on both sides.
MARGIN = 0.05
#: A feature that has one sign keeps it: it comes no nearer to 0 than this part of its least value.
NEAREST_ZERO = 0.5
#: Points of each kind that are looked at, and boxes of the search for poles.
POINTS = 512
BUDGET = 1500
#: Features whose corners are looked at.
MOST_CORNERS = 6
#: A point is likely if a training row is this near, in units of the features' ranges, or as near
#: as this many times the usual distance between training rows.
NEAR = 0.1
NEAR_ROWS = 3.0
#: Training rows that count for distances.
MOST_ROWS = 2000

Mask = npt.NDArray[np.bool_]


class Region:
    """Where new data may be."""

    def __init__(self, X: Array, used: list[int], margin: float) -> None:
        from scipy.spatial import cKDTree

        self.rng = np.random.default_rng(0)
        keep = self.rng.permutation(len(X))[:MOST_ROWS] if len(X) > MOST_ROWS else slice(None)
        self.X, self.used = X[keep], used
        self.low, self.high = X.min(axis=0), X.max(axis=0)
        self.range = np.where(self.high > self.low, self.high - self.low, 1.0)
        self.wide_low, self.wide_high = enlarged(X, margin)
        self.tree = cKDTree(self._scaled(self.X))
        distances = self.tree.query(self._scaled(self.X), k=2)[0][:, -1]
        usual = float(np.quantile(distances[np.isfinite(distances)], 0.9)) if len(X) > 1 else 0.0
        self.near = max(NEAR, 2.0 * margin, NEAR_ROWS * usual)

    def _scaled(self, points: Array) -> Array:
        return np.asarray((points[:, self.used] - self.low[self.used]) / self.range[self.used])

    def likely(self, points: Array) -> Mask:
        """Tell which points are near training rows."""
        return np.asarray(self.tree.query(self._scaled(points))[0] <= self.near)

    def inside(self, points: Array) -> Mask:
        """Tell which points are in the box of the training data."""
        return np.asarray(((points >= self.low) & (points <= self.high)).all(axis=1))

    def points(self) -> Array:
        """Return points where new data may be; the training rows come first."""
        made = np.concatenate([self._box(), self._corners(), self._edges(), self._exchanged()])
        # Between two or three training rows.
        shares = self.rng.dirichlet(np.ones(3), POINTS)
        shares[::2, 2] = 0.0
        shares /= shares.sum(axis=1, keepdims=True)
        mixtures = sum(shares[:, [k]] * self._rows(POINTS) for k in range(3))
        return np.concatenate([self.X, mixtures, made[self.likely(made)]])

    def _rows(self, n: int) -> Array:
        return self.X[self.rng.integers(len(self.X), size=n)]

    def _box(self) -> Array:
        """Return points all over the enlarged box."""
        from scipy.stats import qmc

        points = self._rows(POINTS)
        unit = qmc.Halton(len(self.used), seed=0).random(POINTS)
        low, high = self.wide_low[self.used], self.wide_high[self.used]
        points[:, self.used] = low + unit * (high - low)
        return points

    def _corners(self) -> Array:
        used = self.used[:MOST_CORNERS]
        ends = np.stack([self.wide_low[used], self.wide_high[used]])
        grid = np.stack(np.meshgrid(*([[0, 1]] * len(used)), indexing="ij"), axis=-1)
        choice = grid.reshape(-1, len(used))
        points = self._rows(len(choice))
        points[:, used] = ends[choice, np.arange(len(used))]
        return points

    def _edges(self) -> Array:
        """Return training rows with one feature at an end of its enlarged range."""
        points = self._rows(POINTS)
        chosen = self.rng.choice(self.used, POINTS)
        is_low = self.rng.random(POINTS) < 0.5
        ends = np.where(is_low, self.wide_low[chosen], self.wide_high[chosen])
        points[np.arange(POINTS), chosen] = ends
        return points

    def _exchanged(self) -> Array:
        """Return training rows with one or two features of other rows."""
        points = self._rows(POINTS)
        for _ in range(2):
            chosen = self.rng.choice(self.used, POINTS)
            points[np.arange(POINTS), chosen] = self._rows(POINTS)[np.arange(POINTS), chosen]
        return points


def enlarged(X: Array, margin: float) -> tuple[Array, Array]:
    """Return the box of the data, a little larger, in which no feature changes its sign.

    `margin` is the part of each range that is added; features with two values keep these.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    more = margin * (high - low)
    more = np.where([len(np.unique(column[:MOST_ROWS])) > 2 for column in X.T], more, 0.0)
    wide_low = np.where(low >= 0, np.maximum(low - more, NEAREST_ZERO * low), low - more)
    wide_high = np.where(high <= 0, np.minimum(high + more, NEAREST_ZERO * high), high + more)
    return wide_low, wide_high


def excursion(
    law: LawLike,
    library: Library,
    target_library: Library,
    X: Array,
    y: Array,
    margin: float = MARGIN,
) -> float:
    """Return how far the law's predictions leave the range of y, where new data may be.

    In units of that range; infinite if there is a pole or an overflow, or an undefined point among
    the training data; undefined points beyond them are passed over.
    """
    length = float(np.ptp(y))
    read = GuardedLaw(law, library, target_library)
    used = [v - 1 for v in read.variables]
    if not used or length == 0.0:
        return 0.0
    region = Region(X, used, margin)
    points = region.points()
    if not read.unknown and _has_pole(read, region, points):
        return math.inf
    sides = (law.psi, law.beta, law.phi, law.alpha)
    equation = Equation.from_data(library, target_library, *sides, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = np.asarray(equation.predict(points))
    undefined = ~np.isfinite(predicted)
    if undefined[region.inside(points)].any() or _overflows(equation, points[undefined]):
        return math.inf
    known = predicted[~undefined]
    beyond = max(float(y.min() - known.min()), float(known.max() - y.max()), 0.0)
    return beyond / length


def _has_pole(law: GuardedLaw, region: Region, points: Array) -> bool:
    """Look for a pole in the training box, and between the points."""
    search = Search(law, region.X)
    found = search.run(BUDGET)
    if found.verdict != "unsafe" or found.where is None:
        inside = points[region.inside(points)]
        return search.look_at(inside[:, region.used]) is not None
    return bool(region.likely(found.where[None])[0])


def _overflows(equation: Equation, points: Array) -> bool:
    if not len(points) or not len(equation.phi):
        return False
    with np.errstate(all="ignore"):
        f = evaluate(equation.phi, equation.library, points) @ equation.alpha
    return bool(np.isinf(f).any())
