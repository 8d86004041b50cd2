"""Solutions of g(y) = v for many v at once, for any g that can be evaluated.

g is scanned once over the range of y and, ever more coarsely, far outside it. The scan is cut
into monotone segments; on each of them a value v has at most one solution, which is bracketed by
two neighbouring points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gsr.transformation import Array, Indices, Mask

INSIDE = 2049
DOUBLINGS = 40
PER_DOUBLING = 64
DECADES_TO_ZERO = 150
OUTSIDE_SEGMENTS = 400
#: Segments that are solved together.
AT_ONCE = 32
#: Turning points and poles far outside the range are sought if there are no more than this.
FEW = 64
ROUNDING = 1e-9
#: Steps, relative to y and its range, to where g shows how it changes: near, and on the whole.
NEARBY = 1e-3
BROADLY = 0.1
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Function:
    """g(y) with the size of its terms, which tells what rounding can do."""

    terms: Callable[[Array], Array]

    def __call__(self, y: Array) -> Array:
        """Return g(y)."""
        with np.errstate(all="ignore"):
            values: Array = self.terms(y).sum(axis=1)
        return values

    def size(self, y: Array) -> Array:
        """Return the sum of the absolute values of the terms."""
        with np.errstate(all="ignore"):
            values: Array = np.abs(self.terms(y)).sum(axis=1)
        return values

    def solves(self, y: Array, v: Array, width: float, tolerance: float = 1e-6) -> Mask:
        """Return where g(y) = v but for rounding; `width` is that of the range of y."""
        with np.errstate(all="ignore"):
            miss = np.abs(self(y) - v)
            fine: Mask = miss <= tolerance * (np.abs(v) + self.size(y))
            # Where g passes through 0 its size says nothing, but how it changes nearby does.
            rest = np.flatnonzero(~fine & np.isfinite(miss))
            if len(rest):
                step = NEARBY * (np.abs(y[rest]) + width)
                fine[rest] = miss[rest] <= tolerance * self._least(y[rest], step, v[rest])
        return fine & np.isfinite(y)

    def is_level(self, y: Array, v: Array, width: float) -> Mask:
        """Return where g has reached v by rounding only, as exp(-800) = 0."""
        step = NEARBY * (np.abs(y) + width)
        level: Mask = (self(y - step) == v) | (self(y + step) == v)
        return level

    def rise(self, y: Array, step: float) -> Array:
        """Return how much g changes from y to a step beside it, on the side where it is less."""
        return self._least(y, np.full(len(y), step), self(y))

    def _least(self, y: Array, step: Array, v: Array) -> Array:
        with np.errstate(all="ignore"):
            least = np.fmin(np.abs(self(y - step) - v), np.abs(self(y + step) - v))
        return np.where(np.isfinite(least), least, 0.0)


@dataclass(frozen=True)
class Segments:
    """Monotone pieces of a scan: points first..last of (y, g), both included."""

    y: Array
    g: Array
    first: Indices
    last: Indices

    def bounds(self, k: int) -> tuple[float, float]:
        """Return the interval of y; infinite where the scan ends, and up to a singularity."""
        below, above = self.first[k] - 1, self.last[k] + 1
        low = self.y[self.first[k]] if below >= 0 else -np.inf
        high = self.y[self.last[k]] if above < len(self.y) else np.inf
        if below >= 0 and not np.isfinite(self.g[below]):
            low = self.y[below]
        if above < len(self.y) and not np.isfinite(self.g[above]):
            high = self.y[above]
        return float(low), float(high)

    def brackets(self, k: int, v: Array) -> tuple[Mask, Array, Array]:
        """Return which of v segment k reaches, and the two points around each solution."""
        y = self.y[self.first[k] : self.last[k] + 1]
        g = self.g[self.first[k] : self.last[k] + 1]
        if g[0] > g[-1]:
            y, g = y[::-1], g[::-1]
        # Rounding may leave small steps back, which searching must not see.
        inside = (v >= g.min()) & (v <= g.max())
        at = np.searchsorted(np.maximum.accumulate(g), v).clip(1, len(g) - 1)
        return inside, y[at - 1], y[at]


class Scan:
    """The segments of g, and solutions on them."""

    def __init__(self, function: Function, low: float, high: float) -> None:
        self.function, self.low, self.high = function, low, high
        self.width = high - low or max(abs(low), 1.0)
        with np.errstate(over="ignore"):
            y = _grid(low, high, self.width)
            for more in (self._domain_edges, self._turning_points, self._jumps, self._domain_edges):
                y = np.union1d(y, more(y))
            self.segments = self._cut(y)
            starts, ends = (self.segments.y[i] for i in (self.segments.first, self.segments.last))
            away = np.maximum(np.maximum(starts - high, low - ends), 0.0)
        self.order = np.argsort(away, kind="stable")
        self.n_inside = int((away == 0).sum())

    def home(self, y: Array) -> tuple[float, float] | None:
        """Return the interval of the one segment that holds all of y, None if there is none."""
        slack = 1e-6 * self.width
        for k in self.order[: self.n_inside]:
            low, high = self.segments.bounds(int(k))
            if low - slack <= y.min() and y.max() <= high + slack:
                return low, high
        return None

    def solve(self, v: Array) -> Array:
        """Return candidates, one line for each segment in the range and one for all others.

        More lines follow where there is no solution but for rounding: the extreme values of g.
        """
        inside = [self._on_segments(some, v) for some in _parts(self.order[: self.n_inside])]
        found = np.vstack([np.empty((0, len(v))), *inside])
        missing = np.flatnonzero(~np.isfinite(found).any(axis=0) & np.isfinite(v))
        last = np.full(len(v), np.nan)
        if len(missing):
            extremes = self._at_turning_points(v[missing])
            more = np.full((len(extremes), len(v)), np.nan)
            more[:, missing] = extremes
            found = np.vstack([found, more])
            missing = missing[~np.isfinite(extremes).any(axis=0)]
        for some in _parts(self.order[self.n_inside :][:OUTSIDE_SEGMENTS]):
            if not len(missing):
                break
            lines = self._on_segments(some, v[missing])
            last[missing] = lines[np.isfinite(lines).argmax(axis=0), np.arange(len(missing))]
            missing = missing[~np.isfinite(last[missing])]
        return np.vstack([found, last])

    def on_segment(self, k: int, v: Array) -> Array:
        """Return the solutions on segment k, NaN where it has none."""
        (found,) = self._on_segments(np.array([k]), v)
        return np.asarray(found)

    def _on_segments(self, numbers: Indices, v: Array) -> Array:
        """Return the solutions, one line for each segment."""
        brackets = [self.segments.brackets(int(k), v) for k in numbers]
        inside, a, b = (np.array(each) for each in zip(*brackets, strict=True))
        roots = np.full(inside.shape, np.nan)
        if inside.any():
            goal = np.broadcast_to(v, inside.shape)[inside]
            y = bracketed_roots(self.function, goal, a[inside], b[inside])
            # A jump or a pole between two points looks like a bracket too.
            fine = self.function.solves(y, goal, self.width)
            away = (y < self.low) | (y > self.high)
            fine &= ~(away & self.function.is_level(y, goal, self.width))
            roots[inside] = np.where(fine, y, np.nan)
        return roots

    def _at_turning_points(self, v: Array) -> Array:
        """Return the y of extreme values of g where rounding alone put v beyond them."""
        ends = np.union1d(self.segments.first, self.segments.last)
        y, g = self.segments.y[ends], self.segments.g[ends]
        near = (y >= self.low - self.width) & (y <= self.high + self.width)
        y, g = y[near], g[near]
        # What g is far from its extreme values does not count: near a pole that is anything.
        scale = np.maximum(self.function.size(y), self.function.rise(y, BROADLY * self.width))
        with np.errstate(over="ignore"):
            size = np.maximum(np.abs(v), scale[:, None])
            close = np.abs(v - g[:, None]) <= ROUNDING * size
        met = close.any(axis=1)
        return np.where(close[met], y[met, None], np.nan)

    def _domain_edges(self, y: Array) -> Array:
        """Return the last points where g is defined, next to where it is not."""
        defined = np.isfinite(self.function(y))
        at = np.flatnonzero(defined[1:] != defined[:-1])
        good = np.where(defined[at], y[at], y[at + 1])
        bad = np.where(defined[at], y[at + 1], y[at])

        def moves(_: Array, middle: Array) -> tuple[Mask, Mask]:
            fine = np.isfinite(self.function(middle))
            return fine, ~fine

        return _bisected(good, bad, moves)[0]

    def _turning_points(self, y: Array) -> Array:
        """Return the extreme values between grid points, by golden section."""
        g = self.function(y)
        with np.errstate(all="ignore"):
            rise = np.diff(g)
        known = np.isfinite(rise[1:]) & np.isfinite(rise[:-1])
        turn = np.flatnonzero(known & (np.sign(rise[1:]) * np.sign(rise[:-1]) < 0)) + 1
        turn = self._worthwhile(turn, y)
        a, b, up = y[turn - 1], y[turn + 1], np.sign(rise[turn - 1])
        for _ in range(80 if len(turn) else 0):
            left, right = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
            keep_left = up * self.function(left) >= up * self.function(right)
            a, b = np.where(keep_left, a, left), np.where(keep_left, right, b)
        best = (a + b) / 2
        found = self.function(best)
        return best[(up * found >= up * g[turn]) | ~np.isfinite(found)]

    def _jumps(self, y: Array) -> Array:
        """Return points on both sides of poles where g changes its sign, or the poles themselves.

        There one interval goes against those beside it, and so does one half of it.
        """
        with np.errstate(all="ignore"):
            up = np.sign(np.diff(self.function(y)))
        against = (up[1:-1] * up[:-2] < 0) & (up[1:-1] * up[2:] < 0)
        at = self._worthwhile(np.flatnonzero(against) + 1, y)

        def moves(a: Array, middle: Array) -> tuple[Mask, Mask]:
            found = self.function(middle)
            left = up[at] * found > up[at] * self.function(a)
            hit = ~np.isfinite(found)
            return ~left | hit, left | hit

        return np.concatenate(_bisected(y[at], y[at + 1], moves))

    def _worthwhile(self, at: Indices, y: Array) -> Indices:
        """Leave out what is far from the range, unless there is little of it."""
        near = (y[at] > self.low - 4 * self.width) & (y[at] < self.high + 4 * self.width)
        return at if len(at) <= FEW else at[near]

    def _cut(self, y: Array) -> Segments:
        g, size = self.function(y), self.function.size(y)
        with np.errstate(all="ignore"):
            rise = np.diff(g)
            noise = np.abs(rise) <= 4 * np.finfo(float).eps * np.maximum(size[1:], size[:-1])
        direction = np.where(np.isfinite(rise), np.sign(rise), 2.0)
        direction = _carried_on(np.where(noise & (direction != 2.0), 0.0, direction))
        starts = np.flatnonzero(np.diff(direction, prepend=np.nan) != 0)
        ends = np.append(starts[1:], len(direction))
        real = np.abs(direction[starts]) == 1.0
        return Segments(y, g, starts[real], ends[real])


def _parts(numbers: Indices) -> list[Indices]:
    return [numbers[i : i + AT_ONCE] for i in range(0, len(numbers), AT_ONCE)]


def _bisected(
    a: Array, b: Array, moves: Callable[[Array, Array], tuple[Mask, Mask]]
) -> tuple[Array, Array]:
    """Halve intervals until their ends are neighbours; `moves` tells which ends go inwards."""
    for _ in range(100 if len(a) else 0):
        middle = (a + b) / 2
        if np.all((middle == a) | (middle == b)):
            break
        a_moves, b_moves = moves(a, middle)
        a, b = np.where(a_moves, middle, a), np.where(b_moves, middle, b)
    return a, b


def evenly_spaced(low: float, high: float, n: int) -> Array:
    """Return n points from low to high, also where high - low overflows."""
    if np.isfinite(high - low):
        return np.linspace(low, high, n)
    return 2.0 * np.linspace(low / 2, high / 2, n)


def _grid(low: float, high: float, width: float) -> Array:
    outside = (2.0 ** np.linspace(0, DOUBLINGS, DOUBLINGS * PER_DOUBLING + 1)[1:] - 1) * width
    # Poles and logarithms sit at zero more than anywhere else.
    near_zero = max(abs(low), abs(high)) * 10.0 ** -np.arange(1.0, DECADES_TO_ZERO)
    inside = evenly_spaced(low, high, INSIDE)
    return np.unique(
        np.concatenate([low - outside, inside, high + outside, -near_zero, [0.0], near_zero])
    )


def _carried_on(direction: Array) -> Array:
    """Replace each 0 by the direction before it."""
    known = np.where(direction != 0, np.arange(len(direction)), 0)
    return direction[np.maximum.accumulate(known)]


def bracketed_roots(function: Callable[[Array], Array], v: Array, a: Array, b: Array) -> Array:
    """Return y between a and b with g(y) = v to full precision, by Chandrupatla's method.

    Inverse quadratic interpolation where it is safe, bisection elsewhere; all rows go through
    the same steps together.
    """
    fa, fb = function(a) - v, function(b) - v
    c, fc = a.copy(), fa.copy()
    t = np.full(len(v), 0.5)
    best, f_best = np.where(np.abs(fa) < np.abs(fb), a, b), np.fmin(np.abs(fa), np.abs(fb))
    for _ in range(120):
        x = a + t * (b - a)
        fx = function(x) - v
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        closer = np.abs(fx) < f_best
        best, f_best = np.where(closer, x, best), np.where(closer, np.abs(fx), f_best)
        with np.errstate(all="ignore"):
            least = np.finfo(float).eps * np.abs(best) / np.abs(b - a)
            if np.all((least > 0.5) | (f_best == 0) | (a == b)):
                break
            t = np.clip(_step(a, b, c, fa, fb, fc), np.fmin(least, 0.5), np.fmax(1 - least, 0.5))
    return best


def _step(a: Array, b: Array, c: Array, fa: Array, fb: Array, fc: Array) -> Array:
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
    t = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return np.where(safe & np.isfinite(t), t, 0.5)
