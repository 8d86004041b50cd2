"""Benchmark problems: formulas of the data files, how rows are placed, and what is to be found."""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import count as count_from
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsr.formula import expression

# ---- formulas ------------------------------------------------------------------------------------

DATA = files("gsr.benchmarks.suites") / "data"


def rows_of(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file of this package by column."""
    with (DATA / f"{name}.csv").open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def features(count: int) -> tuple[str, ...]:
    """Return x1, x2, ..."""
    return tuple(f"x{k}" for k in range(1, count + 1))


def renamed(formula: str, names: tuple[str, ...]) -> str:
    """Return the formula in x1, x2, ... instead of `names`."""
    new = dict(zip(names, features(len(names)), strict=True))
    return re.sub(r"[A-Za-z]\w*", lambda word: new.get(word[0], word[0]), formula)


@cache
def compiled(
    formula: str | tuple[str, ...], names: tuple[str, ...], real: bool | None = None
) -> Callable[..., Any]:
    """Return a NumPy function of the named variables; of several formulas, a list of values."""
    import sympy

    symbols = {name: sympy.Symbol(name, real=real) for name in names}

    whole = (
        expression(formula, symbols)
        if isinstance(formula, str)
        else [expression(text, symbols) for text in formula]
    )
    modules = [{"harmonic": _harmonic}, "numpy"]
    function: Callable[..., Any] = sympy.lambdify(list(symbols.values()), whole, modules=modules)
    return function


def _harmonic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum 1/k for k = 1..x at whole numbers x."""
    whole = np.rint(x).astype(np.intp)
    sums: NDArray[np.float64] = np.cumsum(1.0 / np.arange(1, whole.max() + 1))
    return sums[whole - 1]


# ---- rows ----------------------------------------------------------------------------------------

Array = NDArray[np.float64]

GOLDEN = (5**0.5 - 1) / 2
#: Accuracy of the integration; the right-hand sides are evaluated exactly at the states.
RELATIVE, ABSOLUTE = 1e-10, 1e-12
#: States larger than this end a trajectory: the solution has no bound.
LARGEST = 1e6


class Sampling(ABC):
    """Where the rows of a problem lie."""

    count: int

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        """Return the rows as an array of shape (rows, dimension): drawn at random, here."""
        low, high = self.bounds(dimension)
        return rng.uniform(low, high, (self.count, dimension))

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

    def bounds(self, dimension: int) -> tuple[Array, Array]:
        low, high = self.inside.bounds(dimension)
        return low, high + self.by * (high - low)

    def __str__(self) -> str:
        return f"box around it, {100 * self.by:g} % larger"


# ---- problems ------------------------------------------------------------------------------------

REDRAWS = 1000


def stream(name: str, purpose: str, seed: int) -> np.random.Generator:
    """Return a random stream of its own for every problem, purpose and seed."""
    key = int.from_bytes(f"{name}/{purpose}".encode(), "big")
    return np.random.default_rng(np.random.SeedSequence([key, seed]))


@dataclass(frozen=True)
class Problem:
    """A benchmark problem."""

    suite: str
    name: str
    #: The true y as SymPy text in the features x1..xd.
    expression: str
    variables: tuple[str, ...]
    #: Where the training rows lie.
    sampling: Sampling
    #: Transformations that the paper allows on x and on y; empty for the estimator's own.
    library: tuple[str, ...] = ()
    target_library: tuple[str, ...] = ()
    #: Number of basis functions of y.
    n_psi: int = 1
    #: Where the problem departs from its source, or where the source leaves a choice.
    note: str = ""
    #: Where the test rows lie if not where the training rows do.
    test_sampling: Sampling | None = None
    #: Whether its constants are exact numbers, so that a law can be proved equal to it.
    provable: bool = True

    def train(self, seed: int = 0, noise: float = 0.0) -> tuple[Array, Array]:
        """Return the training rows X and targets y of one independent run."""
        X, y = self._data(self.sampling, self.generator(seed, "train"))
        if noise:
            size = noise * np.sqrt(np.mean(y**2))
            y = y + size * self.generator(seed, "noise").standard_normal(len(y))
        return X, y

    def test(self, seed: int = 0) -> tuple[Array, Array]:
        """Return the test rows X and targets y, drawn independently of the training rows."""
        return self._data(self.test_sampling or self.sampling, self.generator(seed, "test"))

    def values(self, X: Array) -> Array:
        """Return the true y, NaN or infinite where it is undefined."""
        with np.errstate(all="ignore"):
            y = compiled(self.expression, self.variables)(*X.T)
        return np.asarray(y, dtype=np.float64)

    def truth(self, **assumptions: bool) -> Any:
        """Return the true y as a SymPy expression whose symbols carry `assumptions`."""
        import sympy

        symbols = {name: sympy.Symbol(name, **assumptions) for name in self.variables}
        return expression(self.expression, symbols)

    def generator(self, seed: int, purpose: str) -> np.random.Generator:
        """Return a random stream of its own for every problem, seed and purpose."""
        return stream(self.name, purpose, seed)

    def _data(self, sampling: Sampling, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw rows; those where the truth is undefined are drawn again."""
        X = sampling.points(len(self.variables), rng)
        y = self.values(X)
        for _ in range(REDRAWS):
            undefined = ~np.isfinite(y)
            if not undefined.any():
                return X, y
            X[undefined] = sampling.points(len(self.variables), rng)[undefined]
            y = self.values(X)
        raise ValueError(f"{self.name}: the truth is undefined at some rows of {sampling}")


@dataclass(frozen=True)
class SwappedProblem(Problem):
    """A law solved for another variable: its output is a feature, one of its inputs the target."""

    #: The law's own variables, of which the rows are drawn.
    inputs: tuple[str, ...] = ()
    #: The one that becomes the target.
    target: str = ""

    def _data(self, sampling: Sampling, rng: np.random.Generator) -> tuple[Array, Array]:
        drawn = Problem(self.suite, self.name, self.expression, self.inputs, sampling)
        inputs, output = drawn._data(sampling, rng)
        place = self.inputs.index(self.target)
        return np.column_stack([np.delete(inputs, place, axis=1), output]), inputs[:, place]
