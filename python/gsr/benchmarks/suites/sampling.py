"""How the rows of a benchmark problem are placed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count as count_from
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsr.benchmarks.suites.formulas import compiled

Array = NDArray[np.float64]

GOLDEN = (5**0.5 - 1) / 2
#: Accuracy of the integration; the right-hand sides are evaluated exactly at the states.
RELATIVE, ABSOLUTE = 1e-10, 1e-12
#: States larger than this end a trajectory: the solution has no bound.
LARGEST = 1e6


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
        return np.full(dimension, float(self.low)), np.full(dimension, float(self.high))

    def __str__(self) -> str:
        return f"{self.letter}({self.low:g}, {self.high:g}, {self.count:,})"


@dataclass(frozen=True)
class Uniform(Interval):
    """U(a,b,c): c rows drawn at random, independently for every variable."""

    letter = "U"

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        return rng.uniform(self.low, self.high, (self.count, dimension))


@dataclass(frozen=True)
class Grid(Interval):
    """E(a,b,c): the full grid over c evenly spaced values, the last variable running fastest."""

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
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
        low, high = self.bounds(dimension)
        return rng.uniform(low, high, (self.count, dimension))

    def bounds(self, dimension: int) -> tuple[Array, Array]:
        if dimension != len(self.ranges):
            raise ValueError(f"{dimension} variables, but {len(self.ranges)} ranges")
        low, high = np.array(self.ranges, dtype=np.float64).T
        return low, high

    def __str__(self) -> str:
        shown = " x ".join(f"({low:g}, {high:g})" for low, high in dict.fromkeys(self.ranges))
        return f"U {shown}, {self.count:,}"


@dataclass(frozen=True)
class Span:
    """Where one variable lies, and how it is drawn."""

    low: float
    high: float
    logarithmic: bool = False
    #: The sign is drawn, too.
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
        return np.stack([span.draw(self.count, rng) for span in self.spans], axis=1)

    def bounds(self, dimension: int) -> tuple[Array, Array]:
        low = [-span.high if span.signed else span.low for span in self.spans]
        return np.array(low), np.array([span.high for span in self.spans])

    def __str__(self) -> str:
        shown = " x ".join(f"({each.low:g}, {each.high:g})" for each in self.spans)
        return f"{shown}, {self.count:,}"


@dataclass(frozen=True)
class Trajectory(Sampling):
    """States of a differential equation at evenly spaced times, from a start at time 0."""

    #: Derivatives of the states as SymPy text; the time is called t.
    right_hand_sides: tuple[str, ...]
    states: tuple[str, ...]
    start: tuple[float, ...]
    #: The last time; earlier if a state grows without bound.
    end: float
    count: int
    #: Which of the time and the states are the variables, in this order.
    columns: tuple[str, ...]

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        return self.rows.copy()

    def bounds(self, dimension: int) -> tuple[Array, Array]:
        return self.rows.min(axis=0), self.rows.max(axis=0)

    @cached_property
    def rows(self) -> Array:
        """The columns at all times."""
        solved = self._solution(self.end)
        if len(solved.t) < self.count:  # half of the time until it ended
            solved = self._solution(0.5 * float(solved.t[-1]))
        found = dict(zip(("t", *self.states), (solved.t, *solved.y), strict=True))
        return np.stack([found[name] for name in self.columns], axis=1)

    def _solution(self, end: float) -> Any:
        from scipy.integrate import solve_ivp

        def unbounded(_: float, state: Array) -> float:
            return float(LARGEST - np.abs(state).max())

        unbounded.terminal = True  # type: ignore[attr-defined]
        times = np.linspace(0, end, self.count)
        limits: dict[str, Any] = {"events": unbounded, "rtol": RELATIVE, "atol": ABSOLUTE}
        with np.errstate(all="ignore"):
            return solve_ivp(self.derivatives(), (0, end), self.start, "LSODA", times, **limits)

    def derivatives(self) -> Callable[[float, Array], Array]:
        """Return the derivatives as a function of a time and a state."""
        function = compiled(self.right_hand_sides, ("t", *self.states))
        return lambda t, state: np.asarray(function(t, *state), dtype=np.float64)

    def __str__(self) -> str:
        return f"trajectory to t = {self.end:g}, {self.count:,}"


@dataclass(frozen=True)
class Beyond(Sampling):
    """`count` rows drawn at random from the box of other rows, extended upwards."""

    inside: Sampling
    count: int
    #: How far the box is extended, as a part of its size.
    by: float = 0.5

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        low, high = self.bounds(dimension)
        return rng.uniform(low, high, (self.count, dimension))

    def bounds(self, dimension: int) -> tuple[Array, Array]:
        low, high = self.inside.bounds(dimension)
        return low, high + self.by * (high - low)

    def __str__(self) -> str:
        return f"box around it, {100 * self.by:g} % larger"
