"""Whether a law is defined and bounded between the training rows, and how far from y it goes.

The law is evaluated on boxes by interval arithmetic. What must not happen there (a division by 0,
the logarithm of 0, the root of a negative number) is a *guard*: an interval that must keep away
from 0. Boxes that leave a guard open are split; points show where a guard is broken.

A law may fit every row and still predict anything between them: poles, terms that explode, inverses
of g that are steep near the edge of its range. How far predictions leave the range of y is measured
where new data may be: in the box of the training data, a little outside of it, and, since a box of
many or correlated features is mostly empty, on mixtures of training rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal, NamedTuple

import numpy as np

from gsr import intervals as iv
from gsr.encoding import evaluate
from gsr.encoding.fold import Arithmetic, fold
from gsr.encoding.rows import Row, factors
from gsr.equation import Equation
from gsr.intervals import Interval, Mask, halved
from gsr.library import Library
from gsr.selection.fitted import LawLike, variables
from gsr.traits import DIVISION, TRAITS, UNKNOWN, Limit, Traits
from gsr.transformation import Array

OVERFLOW, RANGE = "overflow", "f(x) outside the range of g"
#: An interval that has infinity and nothing below this is an overflow.
HUGE = 1e200


class Guard(NamedTuple):
    """An interval that must not hold 0 (`sign` 0), or nothing negative (`sign` 1)."""

    value: Interval
    sign: int
    reason: str
    #: Whether the law may be continuous where this part of it is undefined.
    removable: bool = False

    def kept(self, tolerance: float) -> Mask:
        """Return where the guard certainly holds."""
        return ~self.value.has_zero if self.sign == 0 else self.value.low >= -tolerance

    def broken(self, tolerance: float) -> Mask:
        """Return where it certainly does not, for boxes that are points."""
        if self.sign == 1:
            return self.value.high < -tolerance
        exactly = (self.value.low <= 0) & (self.value.high >= 0)
        return exactly & (self.value.size <= np.finfo(float).tiny)


class Guarded(NamedTuple):
    """Values over boxes, and the guards met on the way to them."""

    value: Interval
    guards: tuple[Guard, ...] = ()

    def guarded(self, *guards: Guard) -> Guarded:
        """Return the same values with more guards."""
        return Guarded(self.value, (*self.guards, *guards))


class Boxes(Arithmetic[Guarded]):
    """Evaluates rows over boxes, and collects what must not happen."""

    def __init__(self, library: Library, boxes: Sequence[Interval]) -> None:
        self.library, self.boxes, self.n = library, boxes, len(boxes[0].low)

    def variable(self, v: int) -> Guarded:
        return Guarded(self.boxes[v - 1])

    def one(self) -> Guarded:
        return Guarded(iv.constant(1.0, self.n))

    def scale(self, value: Guarded, factor: float) -> Guarded:
        return Guarded(iv.scale(value.value, float(factor)), value.guards)

    def add(self, terms: Sequence[Guarded]) -> Guarded:
        return self._reduced(iv.add, terms) if terms else Guarded(iv.constant(0.0, self.n))

    def power(self, value: Guarded, n: int) -> Guarded:
        divided = [Guard(value.value, 0, DIVISION, removable=True)] if n < 0 else []
        return Guarded(iv.power(value.value, n), value.guards).guarded(*divided)

    def multiply(self, factors: Sequence[Guarded]) -> Guarded:
        return self._reduced(iv.multiply, factors) if factors else self.one()

    def call(self, row: Row, argument: Guarded, *, limited: bool = True) -> Guarded:
        """Return a transformation, with the limit of its argument if `limited`."""
        traits, t = self.library.traits[row.code], argument.value
        found = argument
        if traits.limit is not None and limited:
            found = found.guarded(_limited(t, traits.limit))
        assert traits.image is not None
        value = traits.image(t)
        if traits.overflows:
            found = found.guarded(_bounded(value))
        if row.reciprocal:
            below = t if traits.vanishes_at_zero else value
            found = found.guarded(Guard(below, 0, DIVISION, removable=True))
            value = iv.reciprocal(value)
        return Guarded(value, found.guards)

    def _reduced(
        self, operation: Callable[[Interval, Interval], Interval], values: Sequence[Guarded]
    ) -> Guarded:
        value = reduce(operation, (each.value for each in values))
        return Guarded(value, tuple(guard for each in values for guard in each.guards))


def inverse_guards(g: Traits, f: Interval, reciprocal: bool = False) -> Iterator[Guard]:
    """Yield the guards of the inverse of g at f(x); of 1/g if `reciprocal`."""
    if reciprocal:
        yield Guard(f, 0, DIVISION)
        f = iv.reciprocal(f)
    if g.inverse_limit is not None:
        yield _limited(f, g.inverse_limit)
    for end, inside in ((g.low, f), (-g.high, iv.scale(f, -1.0))):
        if np.isfinite(end):
            room = iv.add(iv.constant(-end, len(f.low)), inside) if end else inside
            signs = (1, 0) if end else (0, 1)
            yield from (Guard(room, sign, RANGE) for sign in signs if sign or g.is_open)
    # A logarithm that falls to minus infinity is a y of 0.
    yield _bounded(iv.exp(f) if g.of_magnitude else f)


def _limited(t: Interval, limit: Limit) -> Guard:
    value = limit.of(t) if limit.of is not None else t
    return Guard(value, int(limit.is_root), limit.reason, limit.removable)


def _bounded(value: Interval) -> Guard:
    """Guard against overflow: 1 where the value is finite, -1 where it certainly is not."""
    infinite = ~value.is_finite & ((value.low > HUGE) | (value.high < -HUGE))
    low, high = np.where(value.is_finite, 1.0, -1.0), np.where(infinite, -1.0, 1.0)
    return Guard(Interval(low, high), 1, OVERFLOW)


class GuardedLaw:
    """A law's two sides, read once.

    `target` is the transformation that g is, or 1/g if `reciprocal`; empty if g is none.
    """

    def __init__(self, law: LawLike, library: Library, target_library: Library) -> None:
        self.law, self.library = law, library
        self.terms = [
            (float(a), factors(m, library)) for a, m in zip(law.alpha, law.phi, strict=True)
        ]
        psi = [factors(m, target_library) for m in law.psi]
        self.target, self.reciprocal, self.traits = "", False, UNKNOWN
        if len(psi) == 1 and len(psi[0]) == 1 and psi[0][0].argument.lone == 1:
            row = psi[0][0]
            self.target, self.reciprocal = target_library.names[row.code], row.reciprocal
            self.traits = target_library.traits[row.code]
        if self.target == "identity" and self.reciprocal:
            self.target, self.reciprocal, self.traits = "inverse", False, TRAITS["inverse"]
        self.variables = variables(law, library)
        codes = [each.code for _, rows in self.terms for row in rows for each in row.walk()]
        self.unknown = [library.names[c] for c in codes if library.traits[c].image is None]

    def guards(self, low: Array, high: Array, n_features: int) -> list[Guard]:
        """Return the guards over boxes of the variables that the law uses, one per line."""
        boxes = [iv.constant(0.0, len(low))] * n_features
        for k, v in enumerate(self.variables):
            boxes[v - 1] = Interval(low[:, k], high[:, k])
        algebra, f = Boxes(self.library, boxes), Guarded(iv.constant(0.0, len(low)))
        logarithm = self.traits.of_magnitude and not self.reciprocal
        for a, rows in self.terms:
            if logarithm and a > 0 and len(rows) == 1 and not rows[0].reciprocal:
                # The logarithm of a lone term of ln|y| = f(x) may be that of 0: there y is 0.
                (row,) = rows
                limited = not self.library.traits[row.code].of_magnitude
                found = algebra.call(row, fold(row.argument, algebra), limited=limited)
            else:
                found = algebra.basis_function(rows)
            f = algebra.add([f, algebra.scale(found, a)])
        return [*f.guards, *inverse_guards(self.traits, f.value, self.reciprocal)]

    def f(self, X: Array) -> Array:
        """Return f(x) in rows of all features."""
        with np.errstate(all="ignore"):
            return np.asarray(evaluate(self.law.phi, self.library, X) @ np.asarray(self.law.alpha))

    def solves(self, f: float) -> bool:
        """Return whether g(y) = f has a solution, as far as the inverse of g is known."""
        with np.errstate(all="ignore"):
            guards = inverse_guards(self.traits, iv.constant(f, 1), self.reciprocal)
            return not any(guard.broken(0.0)[0] for guard in guards)


# ---- branch and bound ----------------------------------------------------------------------------

#: Steps from a point, in parts of the ranges, and how much of the range of f the law may change
#: over them where it is continuous.
NEAR = (1e-9, 1e-6, 1e-4)
CONTINUOUS = 0.05
#: Points of a guard that are tested for continuity.
TESTED = 8
Verdict = Literal["safe", "unsafe", "unknown"]

#: Boxes looked at before the question is left open.
BUDGET = 6000
BATCH = 128
#: Training rows looked at first.
SAMPLES = 256
#: Below this part of the training box a box is a point.
SMALLEST = 1e-9
#: A guard this small, relative to its size on the training box, is 0 but for rounding.
ROUNDING = 1e-12
TOUCHING = 1e-7
BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class Poles:
    """What is known about a law in the box of the training data.

    Parameters
    ----------
    verdict : {"safe", "unsafe", "unknown"}
        ``"safe"`` is guaranteed, up to rounding: defined and bounded in the whole box.
        ``"unsafe"``: undefined or unbounded at a point. ``"unknown"``: neither was shown, or a
        transformation of the user's own is in it, or g has no closed inverse.
    reason : str
        What goes wrong, or why it is unknown.
    where : array of shape (d,), optional
        A point in the box where it goes wrong, to within rounding.
    """

    verdict: Verdict
    reason: str = ""
    where: Array | None = None


class Search:
    """Branch and bound over the box of the training data."""

    def __init__(self, law: GuardedLaw, X: Array) -> None:
        self.law, self.n_features = law, X.shape[1]
        used = X[:, [v - 1 for v in law.variables]]
        self.low, self.high = used.min(axis=0), used.max(axis=0)
        self.middle = X.mean(axis=0)
        some = np.linspace(0, len(X) - 1, min(len(X), SAMPLES)).astype(int)
        self.samples = used[some]
        f = law.f(X[some])
        f = f[np.isfinite(f)]
        with np.errstate(over="ignore"):
            self.spread = float(np.ptp(f)) if len(f) else 0.0
        self.removable: list[Array] = []
        root = self._guards(self.low[None], self.high[None])
        sizes = [float(guard.value.size[0]) for guard in root]
        self.sizes = [size if np.isfinite(size) else 0.0 for size in sizes]
        self.signs: list[list[Array | None]] = [[None, None] for _ in root]
        self.tested = [0] * len(root)

    def run(self, budget: int) -> Poles:
        """Return what could be shown with so many boxes."""
        found = self.look_at(self.samples)
        low, high = self.low[None], self.high[None]
        while found is None and len(low) and budget > 0:
            budget -= len(low[:BATCH])
            least, open_ = self._open(low[:BATCH], high[:BATCH])
            middle = (low[:BATCH] + high[:BATCH]) / 2
            found = self.look_at(middle) or self._touching(low[:BATCH], high[:BATCH], least)
            open_ &= ~self._at_removable(low[:BATCH], high[:BATCH])
            split = self._split(low[:BATCH][open_], high[:BATCH][open_])
            order = np.argsort(np.repeat(least[open_], 2), kind="stable")
            low = np.concatenate([split[0][order], low[BATCH:]])
            high = np.concatenate([split[1][order], high[BATCH:]])
        if found is not None:
            return found
        if self.removable:
            reason = "a part of the law is undefined at a point where the law is not"
            return Poles("unknown", reason)
        if len(low):
            return Poles("unknown", "too many boxes would be needed")
        return Poles("safe") if self.law.target else Poles("unknown", "g has no closed inverse")

    def look_at(self, points: Array) -> Poles | None:
        """Return a broken guard, seen at a point or by opposite signs at two of them."""
        # The guards of the inverse of g are the last: where they are broken, y is undefined.
        for k, guard in reversed(list(enumerate(self._guards(points, points)))):
            broken = guard.broken(ROUNDING * self.sizes[k])
            places = list(points[broken][:TESTED])
            if guard.sign == 0 and self.tested[k] < TESTED:
                places += self._sign_changes(k, guard, points)
            for place in places:
                if not (guard.removable and self._is_removable(k, place)):
                    return self._unsafe(guard.reason, place)
        return None

    def _is_removable(self, k: int, point: Array) -> bool:
        """Return whether the law is defined and continuous where guard k, a part of it, is broken.

        1/(1 + k/x^n), the curve of Hill, is 0 at x = 0, and so is x^p, which is exp(p ln|x|).
        """
        self.tested[k] += 1
        where = self._whole(point)
        steps = np.concatenate([s * step * np.eye(len(point)) for step in NEAR for s in (1, -1)])
        around = np.clip(point + steps * (self.high - self.low), self.low, self.high)
        at = self.law.f(where[None])
        near = self.law.f(np.array([self._whole(each) for each in around]))
        if not (np.isfinite(at).all() and np.isfinite(near).all()):
            return False
        with np.errstate(over="ignore"):
            continuous = np.abs(near - at).max() <= CONTINUOUS * self.spread
        if not continuous or not self.law.solves(float(at[0])):
            return False
        self.removable.append(point)
        return True

    def _at_removable(self, low: Array, high: Array) -> Mask:
        """Return which boxes are no more than a point where only a part of the law is undefined."""
        small = np.all(self._width(low, high) < SMALLEST, axis=1)
        around = [((low <= point) & (point <= high)).all(axis=1) for point in self.removable]
        return np.asarray(small & np.any(around, axis=0))

    def _guards(self, low: Array, high: Array) -> list[Guard]:
        with np.errstate(all="ignore"):
            return self.law.guards(low, high, self.n_features)

    def _open(self, low: Array, high: Array) -> tuple[Array, Mask]:
        """Return how near each box comes to breaking a guard, and whether one is open."""
        least, open_ = np.full(len(low), np.inf), np.zeros(len(low), bool)
        for size, guard in zip(self.sizes, self._guards(low, high), strict=True):
            mine = ~guard.kept(ROUNDING * size)
            near = np.nan_to_num(guard.value.size / (size or 1.0), nan=np.inf)
            least = np.where(mine, np.minimum(least, near), least)
            open_ |= mine
        return least, open_

    def _split(self, low: Array, high: Array) -> tuple[Array, Array]:
        if not len(low):
            return low, high
        upper, lower = halved(low, high, self._width(low, high))
        halves = [np.stack(pair, axis=1) for pair in ((low, lower), (upper, high))]
        return halves[0].reshape(-1, low.shape[1]), halves[1].reshape(-1, low.shape[1])

    def _touching(self, low: Array, high: Array, least: Array) -> Poles | None:
        """Return a guard that comes to 0 without a change of sign, as 1/(x1^2 + x2^2) has."""
        point = (self._width(low, high) < SMALLEST).all(axis=1) & (least < TOUCHING)
        if not point.any():
            return None
        at = int(np.argmax(point))
        middle = (low[at] + high[at]) / 2
        for k, guard in enumerate(self._guards(low[at : at + 1], high[at : at + 1])):
            small = guard.value.size[0] < TOUCHING * self.sizes[k]
            if not (guard.sign == 0 and guard.value.has_zero[0] and small):
                continue
            if not (guard.removable and self._is_removable(k, middle)):
                return self._unsafe(guard.reason, middle)
        return None

    def _width(self, low: Array, high: Array) -> Array:
        """Return the widths of boxes, in parts of the training box."""
        ranges = np.where(self.high > self.low, self.high - self.low, np.inf)
        return np.asarray((high - low) / ranges)

    def _sign_changes(self, k: int, guard: Guard, points: Array) -> list[Array]:
        """Return where guard k is 0 between two of the points seen so far."""
        for side, certain in enumerate((guard.value.high < 0, guard.value.low > 0)):
            if self.signs[k][side] is None and certain.any():
                nearest = np.argmin(np.where(certain, guard.value.size, np.inf))
                self.signs[k][side] = points[int(nearest)]
        a, b = self.signs[k]
        if a is None or b is None:
            return []
        self.signs[k] = [None, None]
        start = a  # where the guard is negative
        for _ in range(BISECTIONS):
            middle = (a + b) / 2
            a, b = (middle, b) if self._value(k, middle).high[0] < 0 else (a, middle)
        place = (a + b) / 2
        if self._value(k, place).size[0] <= self._value(k, start).size[0]:
            return [place]
        self.tested[k] += 1  # the sign changes at a pole of the guard itself
        return []

    def _value(self, k: int, point: Array) -> Interval:
        return self._guards(point[None], point[None])[k].value

    def _unsafe(self, reason: str, point: Array) -> Poles:
        return Poles("unsafe", reason, self._whole(point))

    def _whole(self, point: Array) -> Array:
        """Return a row of all features; those that the law does not use have their mean."""
        row: Array = self.middle.copy()
        row[[v - 1 for v in self.law.variables]] = point
        return row


def poles(
    law: LawLike, library: Library, target_library: Library, X: Array, budget: int = BUDGET
) -> Poles:
    """Check that a law is defined and bounded in the whole box of the training data.

    In a law for ln|y| a logarithm that goes to minus infinity is no pole: there y is 0.
    """
    read = GuardedLaw(law, library, target_library)
    if read.unknown:
        return Poles("unknown", f"{read.unknown[0]} is a transformation of the user's own")
    if not read.variables:
        return Poles("safe")
    return Search(read, X).run(budget)


# ---- excursions ----------------------------------------------------------------------------------

#: Part of each feature's range by which the box is enlarged on both sides.
MARGIN = 0.05
#: A feature that has one sign keeps it: it comes no nearer to 0 than this part of its least value.
NEAREST_ZERO = 0.5
#: Points of each kind that are looked at, and boxes of the search for poles.
POINTS = 512
LOOK_BUDGET = 1500
#: Features whose corners are looked at.
MOST_CORNERS = 6
#: A point is likely if a training row is this near, in units of the features' ranges, or as near
#: as this many times the usual distance between training rows.
LIKELY = 0.1
NEAR_ROWS = 3.0
#: Training rows that count for distances.
MOST_ROWS = 2000


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
        self.near = max(LIKELY, 2.0 * margin, NEAR_ROWS * usual)

    def _scaled(self, points: Array) -> Array:
        return np.asarray((points[:, self.used] - self.low[self.used]) / self.range[self.used])

    def likely(self, points: Array) -> Mask:
        """Return which points are near training rows."""
        return np.asarray(self.tree.query(self._scaled(points))[0] <= self.near)

    def inside(self, points: Array) -> Mask:
        """Return which points are in the box of the training data."""
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
    predicted = equation.solution(points).values
    undefined = ~np.isfinite(predicted)
    if undefined[region.inside(points)].any() or _overflows(equation, points[undefined]):
        return math.inf
    known = predicted[~undefined]
    beyond = max(float(y.min() - known.min()), float(known.max() - y.max()), 0.0)
    return beyond / length


def _has_pole(law: GuardedLaw, region: Region, points: Array) -> bool:
    """Look for a pole in the training box, and between the points."""
    search = Search(law, region.X)
    found = search.run(LOOK_BUDGET)
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
