"""Solutions of g(y) = v for many v at once, for any g that can be evaluated.

g is scanned once over the range of y and, ever more coarsely, far outside it. The scan is cut
into monotone segments; on each of them a value v has at most one solution, which is bracketed by
two neighbouring points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gsr.transformation import Array

Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

INSIDE = 2049
DOUBLINGS = 40
PER_DOUBLING = 64
DECADES_TO_ZERO = 150
OUTSIDE_SEGMENTS = 400
ROUNDING = 1e-9
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

    def solves(self, y: Array, v: Array, tolerance: float = 1e-6) -> Mask:
        """Tell where g(y) = v but for rounding."""
        with np.errstate(all="ignore"):
            fine: Mask = np.abs(self(y) - v) <= tolerance * (np.abs(v) + self.size(y) + 1e-300)
        return fine & np.isfinite(y)


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
        inside = (v >= g[0]) & (v <= g[-1])
        # Rounding may leave small steps back, which searching must not see.
        at = np.searchsorted(np.maximum.accumulate(g), v).clip(1, len(g) - 1)
        return inside, y[at - 1], y[at]


class Scan:
    """The segments of g, and solutions on them.

    Parameters
    ----------
    function : Function
        g.
    low, high : float
        The range of y in the training data.
    """

    def __init__(self, function: Function, low: float, high: float) -> None:
        self.function, self.low, self.high = function, low, high
        self.width = high - low or max(abs(low), 1.0)
        y = _grid(low, high, self.width)
        y = np.union1d(y, self._domain_edges(y))
        self.segments = self._cut(np.union1d(y, self._turning_points(y)))
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
        """Return candidates, one line for each segment in the range and one for all others."""
        inside = [self._on_segment(int(k), v) for k in self.order[: self.n_inside]]
        found = np.array(inside).reshape(-1, len(v))
        missing = np.flatnonzero(~np.isfinite(found).any(axis=0) & np.isfinite(v))
        last = np.full(len(v), np.nan)
        if len(missing):
            last[missing] = self._at_turning_point(v[missing])
            missing = missing[~np.isfinite(last[missing])]
        for k in self.order[self.n_inside :][:OUTSIDE_SEGMENTS]:
            if not len(missing):
                break
            last[missing] = self._on_segment(int(k), v[missing])
            missing = missing[~np.isfinite(last[missing])]
        return np.vstack([found, last])

    def _on_segment(self, k: int, v: Array) -> Array:
        inside, a, b = self.segments.brackets(k, v)
        roots = np.full(len(v), np.nan)
        if inside.any():
            y = bracketed_roots(self.function, v[inside], a[inside], b[inside])
            # A jump or a pole between two points looks like a bracket too.
            fine = self.function.solves(y, v[inside]) & ~self._levelled(y, v[inside])
            roots[inside] = np.where(fine, y, np.nan)
        return roots

    def _levelled(self, y: Array, v: Array) -> Mask:
        """Tell where g has reached v by rounding only, as exp(-800) = 0."""
        step = 1e-3 * self.width
        level = (self.function(y - step) == v) | (self.function(y + step) == v)
        levelled: Mask = level & ((y < self.low) | (y > self.high))
        return levelled

    def _at_turning_point(self, v: Array) -> Array:
        """Return the y of an extreme value of g where rounding alone put v beyond it."""
        ends = np.union1d(self.segments.first, self.segments.last)
        y, g = self.segments.y[ends], self.segments.g[ends]
        near = (y >= self.low - self.width) & (y <= self.high + self.width)
        if not near.any():
            return np.full(len(v), np.nan)
        y, g = y[near], g[near]
        within = (self.segments.y >= self.low) & (self.segments.y <= self.high)
        values = np.abs(self.segments.g[within])
        scale = values[np.isfinite(values)].max(initial=0.0)
        best = np.abs(v[:, None] - g).argmin(axis=1)
        close = np.abs(v - g[best]) <= ROUNDING * np.maximum(np.abs(v), scale)
        return np.where(close, y[best], np.nan)

    def _domain_edges(self, y: Array) -> Array:
        """Return the last points where g is defined, next to where it is not."""
        defined = np.isfinite(self.function(y))
        at = np.flatnonzero(defined[1:] != defined[:-1])
        good = np.where(defined[at], y[at], y[at + 1])
        bad = np.where(defined[at], y[at + 1], y[at])
        for _ in range(100 if len(at) else 0):
            middle = (good + bad) / 2
            fine = np.isfinite(self.function(middle))
            good, bad = np.where(fine, middle, good), np.where(fine, bad, middle)
        return good

    def _turning_points(self, y: Array) -> Array:
        """Return the extreme values between grid points, by golden section."""
        g = self.function(y)
        with np.errstate(all="ignore"):
            rise = np.diff(g)
        known = np.isfinite(rise[1:]) & np.isfinite(rise[:-1])
        turn = np.flatnonzero(known & (np.sign(rise[1:]) * np.sign(rise[:-1]) < 0)) + 1
        near = (y[turn] > self.low - 4 * self.width) & (y[turn] < self.high + 4 * self.width)
        turn = turn[near]
        a, b, up = y[turn - 1], y[turn + 1], np.sign(rise[turn - 1])
        for _ in range(80 if len(turn) else 0):
            left, right = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
            keep_left = up * self.function(left) >= up * self.function(right)
            a, b = np.where(keep_left, a, left), np.where(keep_left, right, b)
        best = (a + b) / 2
        better = up * self.function(best) >= up * g[turn]
        return best[better]

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


def _grid(low: float, high: float, width: float) -> Array:
    outside = (2.0 ** np.linspace(0, DOUBLINGS, DOUBLINGS * PER_DOUBLING + 1)[1:] - 1) * width
    # Poles and logarithms sit at zero more than anywhere else.
    near_zero = max(abs(low), abs(high)) * 10.0 ** -np.arange(1.0, DECADES_TO_ZERO)
    inside = np.linspace(low, high, INSIDE)
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
