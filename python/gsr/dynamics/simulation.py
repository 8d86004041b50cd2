"""Equations of motion integrated in time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import odeint

from gsr.exceptions import GSRError, PredictionWarning
from gsr.transformation import Array

#: A state this many times larger than the largest measured one counts as without bound.
UNBOUNDED = 1e6
#: Calls of the right-hand side for each time that is asked for, after which a simulation ends.
MOST_CALLS = 4000
#: Steps of the integrator between two of these times.
MOST_STEPS = 2000

#: Derivative of the state: f(t, x).
Motion = Callable[[float, Array], Array]


def integrate(
    motion: Motion,
    x0: Array,
    t: Array,
    *,
    largest: float,
    rtol: float = 1e-8,
    atol: Array | float = 1e-10,
) -> Array:
    """Return the states at the times; rows that are not reached are NaN.

    Parameters
    ----------
    motion : callable
        Returns dx/dt of a time and a state.
    x0 : array of shape (d,)
        State at the first time.
    t : array of shape (n,)
        Increasing times.
    largest : float
        The simulation ends where a state exceeds this size.
    rtol, atol : float
        Tolerances of the integrator.
    """
    guarded = _Guarded(motion, largest, MOST_CALLS * max(len(t), 20))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        states, told = odeint(
            guarded, x0, t, tfirst=True, tcrit=t[-1:], rtol=rtol, atol=atol, mxstep=MOST_STEPS,
            full_output=True,
        )  # fmt: skip
    # The integrator may come to rest a rounding error before the last time.
    late = told["tcur"] >= t[1:] - 1e-9 * (t[-1] - t[0])
    reached = np.append(True, late & (t[1:] <= guarded.end))
    inside = (np.abs(states) <= largest).all(axis=1)
    found = np.where(np.logical_and.accumulate(reached & inside)[:, None], states, np.nan)
    found[0] = x0
    return found


class _Guarded:
    """A motion that stands still from where a state leaves the range, or after too many calls.

    An integrator cannot be ended from inside without the loss of what it has.
    """

    def __init__(self, motion: Motion, largest: float, calls: int) -> None:
        self.motion, self.largest, self.calls, self.end = motion, largest, calls, math.inf

    def __call__(self, now: float, state: Array) -> Array:
        self.calls -= 1
        if now < self.end and self.calls > 0 and np.abs(state).max() <= self.largest:
            slope = self.motion(now, state)
            if np.isfinite(slope).all():
                return slope
        self.end = min(self.end, now)
        return np.zeros(len(state))


def iterate(motion: Motion, x0: Array, n: int, *, largest: float) -> Array:
    """Return n states of the map x[k + 1] = f(k, x[k]); NaN from where one is out of bounds."""
    found = np.full((n, len(x0)), np.nan)
    found[0] = x0
    for k in range(n - 1):
        following = motion(float(k), found[k])
        if not (np.abs(following) <= largest).all():
            break
        found[k + 1] = following
    return found


def warn_if_cut(states: Array, t: Array) -> None:
    """Warn where a simulation has ended early."""
    missing = ~np.isfinite(states).all(axis=1)
    if missing.any():
        first = int(np.argmax(missing))
        warnings.warn(
            f"the simulation ends at t = {t[first - 1]:g}: a state leaves the finite range, or the "
            f"equations are undefined or too stiff there; {int(missing.sum())} rows are NaN",
            PredictionWarning,
            stacklevel=3,
        )


def inputs_at(u: Any, t: Array, n_inputs: int) -> Callable[[float], Array]:
    """Return the inputs as a function of time: a callable, or rows at the times of `t`."""
    if n_inputs == 0:
        nothing = np.empty(0)
        return lambda _: nothing
    if u is None:
        raise GSRError(f"the equations have {n_inputs} inputs: give u")
    if callable(u):
        return lambda time: np.atleast_1d(np.asarray(u(time), dtype=float))
    table = np.asarray(u, dtype=float)
    table = table[:, None] if table.ndim == 1 else table
    if table.shape != (len(t), n_inputs):
        raise GSRError(f"u must have the shape {(len(t), n_inputs)}, got {table.shape}")
    columns = table.T
    return lambda time: np.array([np.interp(time, t, column) for column in columns])
