"""Whether a law is defined and bounded everywhere in the box of the training data.

The law is evaluated on boxes by interval arithmetic. What must not happen there (a division by 0,
the logarithm of 0, the root of a negative number) is a *guard*: an interval that must keep away
from 0. Boxes that leave a guard open are split; points show where a guard is broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gsr.intervals import Interval, Mask
from gsr.library import Library
from gsr.selection.fitted import LawLike
from gsr.selection.guards import Guard, GuardedLaw
from gsr.transformation import Array

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
        self.spread = _spread(law.f(X[some]))
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
            return Poles(
                "unknown", "a part of the law is undefined at a point where the law is not"
            )
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
        """Tell whether the law is defined and continuous where guard k, a part of it, is broken.

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
        """Tell which boxes are no more than a point where only a part of the law is undefined."""
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
        widest = self._width(low, high).argmax(axis=1)[:, None]
        cut = np.zeros(low.shape, bool)
        np.put_along_axis(cut, widest, True, axis=1)
        middle = np.where(cut, (low + high) / 2, np.nan)
        upper, lower = np.where(cut, middle, high), np.where(cut, middle, low)
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
        place = self._bisected(k, a, b)
        if self._value(k, place).size[0] <= self._value(k, a).size[0]:
            return [place]
        self.tested[k] += 1  # the sign changes at a pole of the guard itself
        return []

    def _bisected(self, k: int, a: Array, b: Array) -> Array:
        """Return where guard k changes sign from a, where it is negative, to b."""
        for _ in range(60):
            middle = (a + b) / 2
            a, b = (middle, b) if self._value(k, middle).high[0] < 0 else (a, middle)
        return np.asarray((a + b) / 2)

    def _value(self, k: int, point: Array) -> Interval:
        return self._guards(point[None], point[None])[k].value

    def _unsafe(self, reason: str, point: Array) -> Poles:
        return Poles("unsafe", reason, self._whole(point))

    def _whole(self, point: Array) -> Array:
        """Return a row of all features; those that the law does not use have their mean."""
        row: Array = self.middle.copy()
        row[[v - 1 for v in self.law.variables]] = point
        return row


def _spread(values: Array) -> float:
    finite = values[np.isfinite(values)]
    with np.errstate(over="ignore"):
        return float(np.ptp(finite)) if len(finite) else 0.0


def poles(
    law: LawLike, library: Library, target_library: Library, X: Array, budget: int = BUDGET
) -> Poles:
    """Check that a law is defined and bounded in the whole box of the training data."""
    read = GuardedLaw(law, library, target_library)
    if read.unknown:
        return Poles("unknown", f"{read.unknown[0]} is a transformation of the user's own")
    if not read.variables:
        return Poles("safe")
    return Search(read, X).run(budget)
