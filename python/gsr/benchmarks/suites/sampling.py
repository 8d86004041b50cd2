"""How the rows of a benchmark problem are placed: U(a,b,c) and E(a,b,c) of the paper, boxes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import count as count_from
from math import gcd

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GOLDEN = (5**0.5 - 1) / 2


class Sampling(ABC):
    """Where the rows of a problem lie."""

    count: int

    @abstractmethod
    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        """Return the rows as an array of shape (rows, dimension)."""

    @abstractmethod
    def bounds(self, dimension: int) -> tuple[Array, Array]:
        """Return the lower and the upper end of every variable."""


@dataclass(frozen=True)
class Interval(Sampling):
    """`count` points between `low` and `high` for every variable."""

    low: float
    high: float
    count: int

    letter = "E"

    def bounds(self, dimension: int) -> tuple[Array, Array]:
        """Return the lower and the upper end of every variable."""
        return np.full(dimension, float(self.low)), np.full(dimension, float(self.high))

    def __str__(self) -> str:
        return f"{self.letter}({self.low:g}, {self.high:g}, {self.count:,})"


@dataclass(frozen=True)
class Uniform(Interval):
    """U(a,b,c): c rows drawn at random, independently for every variable."""

    letter = "U"

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        """Draw the rows."""
        return rng.uniform(self.low, self.high, (self.count, dimension))


@dataclass(frozen=True)
class Grid(Interval):
    """E(a,b,c): the full grid over c evenly spaced values of every variable."""

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        """Return the grid, the last variable running fastest."""
        axis = np.linspace(self.low, self.high, self.count)
        axes = np.meshgrid(*[axis] * dimension, indexing="ij")
        return np.stack([each.ravel() for each in axes], axis=1)


@dataclass(frozen=True)
class Lattice(Interval):
    """E(a,b,c) as c rows in all, where the full grid would be too large.

    Every variable takes each of the c evenly spaced values exactly once. The first runs
    through them in order, the others in strides near the golden section of c, so that
    the rows cover the box evenly and no two variables are collinear.
    """

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        """Return the rows of the lattice."""
        axis = np.linspace(self.low, self.high, self.count)
        order = np.arange(self.count)
        strides = [self._stride(power) for power in range(dimension)]
        return np.stack([axis[order * stride % self.count] for stride in strides], axis=1)

    def _stride(self, power: int) -> int:
        if power == 0:
            return 1
        start = int(self.count * GOLDEN**power)
        return next(s for s in count_from(start) if gcd(s, self.count) == 1)


@dataclass(frozen=True)
class Box(Sampling):
    """`count` rows drawn at random, every variable from a range of its own."""

    ranges: tuple[tuple[float, float], ...]
    count: int

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        """Draw the rows."""
        low, high = self.bounds(dimension)
        return rng.uniform(low, high, (self.count, dimension))

    def bounds(self, dimension: int) -> tuple[Array, Array]:
        """Return the lower and the upper end of every variable."""
        if dimension != len(self.ranges):
            raise ValueError(f"{dimension} variables, but {len(self.ranges)} ranges")
        low, high = np.array(self.ranges, dtype=np.float64).T
        return low, high

    def __str__(self) -> str:
        shown = " x ".join(f"({low:g}, {high:g})" for low, high in dict.fromkeys(self.ranges))
        return f"U {shown}, {self.count:,}"


@dataclass(frozen=True)
class Span:
    """Where one variable lies, and how it is drawn.

    Parameters
    ----------
    low, high : float
        Its ends.
    logarithmic : bool
        Drawn uniformly in the logarithm.
    signed : bool
        The sign is drawn, too.
    integer : bool
        Whole numbers only.
    """

    low: float
    high: float
    logarithmic: bool = False
    signed: bool = False
    integer: bool = False

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draw `count` values."""
        if self.logarithmic:
            values = np.exp(rng.uniform(np.log(self.low), np.log(self.high), count))
        else:
            values = rng.uniform(self.low, self.high, count)
        if self.integer:
            values = np.rint(values)
        return values * rng.choice([-1.0, 1.0], count) if self.signed else values


@dataclass(frozen=True)
class Ranges(Sampling):
    """`count` rows drawn at random, every variable in a way of its own."""

    spans: tuple[Span, ...]
    count: int

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        """Draw the rows."""
        return np.stack([span.draw(self.count, rng) for span in self.spans], axis=1)

    def bounds(self, dimension: int) -> tuple[Array, Array]:
        """Return the lower and the upper end of every variable."""
        low = [-span.high if span.signed else span.low for span in self.spans]
        return np.array(low), np.array([span.high for span in self.spans])

    def __str__(self) -> str:
        shown = " x ".join(f"({each.low:g}, {each.high:g})" for each in self.spans)
        return f"{shown}, {self.count:,}"
