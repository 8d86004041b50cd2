"""Rows along the trajectory of a differential equation, and rows beyond it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gsr.benchmarks.suites.sampling import Array, Sampling
from gsr.formula import expression

#: Accuracy of the integration; the right-hand sides are evaluated exactly at the states.
RELATIVE, ABSOLUTE = 1e-10, 1e-12
#: States larger than this end a trajectory: the solution has no bound.
LARGEST = 1e6
TIME = "t"


@dataclass(frozen=True)
class Trajectory(Sampling):
    """States at evenly spaced times, from a start at time 0.

    Parameters
    ----------
    right_hand_sides : tuple of str
        Derivatives of the states as SymPy text; the time is called t.
    states : tuple of str
        Their names.
    start : tuple of float
        The states at time 0.
    end : float
        The last time; earlier if a state grows without bound.
    count : int
        Number of rows.
    columns : tuple of str
        Which of the time and the states are the variables, in this order.
    """

    right_hand_sides: tuple[str, ...]
    states: tuple[str, ...]
    start: tuple[float, ...]
    end: float
    count: int
    columns: tuple[str, ...]

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        """Return the rows, which are the same for every generator."""
        return self.rows.copy()

    def bounds(self, dimension: int) -> tuple[Array, Array]:
        """Return the lower and the upper end of every variable."""
        return self.rows.min(axis=0), self.rows.max(axis=0)

    @cached_property
    def rows(self) -> Array:
        """The columns at all times."""
        solved = self._solution(self.end)
        if len(solved.t) < self.count:  # half of the time until it ended
            solved = self._solution(0.5 * float(solved.t[-1]))
        found = dict(zip((TIME, *self.states), (solved.t, *solved.y), strict=True))
        return np.stack([found[name] for name in self.columns], axis=1)

    def _solution(self, end: float) -> Any:
        from scipy.integrate import solve_ivp

        derivatives = _derivatives(self.right_hand_sides, (TIME, *self.states))

        def unbounded(_: float, state: Array) -> float:
            return float(LARGEST - np.abs(state).max())

        unbounded.terminal = True  # type: ignore[attr-defined]
        times = np.linspace(0, end, self.count)
        limits: dict[str, Any] = {"events": unbounded, "rtol": RELATIVE, "atol": ABSOLUTE}
        with np.errstate(all="ignore"):
            return solve_ivp(derivatives, (0, end), self.start, "LSODA", times, **limits)

    def __str__(self) -> str:
        return f"trajectory to t = {self.end:g}, {self.count:,}"


@dataclass(frozen=True)
class Beyond(Sampling):
    """`count` rows drawn at random from the box of other rows, extended upwards.

    Parameters
    ----------
    inside : Sampling
        The other rows.
    count : int
        Number of rows.
    by : float
        How far the box is extended, as a part of its size.
    """

    inside: Sampling
    count: int
    by: float = 0.5

    def points(self, dimension: int, rng: np.random.Generator) -> Array:
        """Draw the rows."""
        low, high = self.bounds(dimension)
        return rng.uniform(low, high, (self.count, dimension))

    def bounds(self, dimension: int) -> tuple[Array, Array]:
        """Return the lower and the upper end of every variable."""
        low, high = self.inside.bounds(dimension)
        return low, high + self.by * (high - low)

    def __str__(self) -> str:
        return f"box around it, {100 * self.by:g} % larger"


def _derivatives(expressions: tuple[str, ...], names: tuple[str, ...]) -> Callable[..., Any]:
    import sympy

    symbols = sympy.symbols(names)
    locals_ = dict(zip(names, symbols, strict=True))
    sides = [expression(each, locals_) for each in expressions]
    function = sympy.lambdify(symbols, sides, "numpy")
    return lambda t, state: np.asarray(function(t, *state), dtype=np.float64)
