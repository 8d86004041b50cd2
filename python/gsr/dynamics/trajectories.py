"""Measured series as a list of trajectories: what users pass, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gsr.exceptions import GSRError
from gsr.transformation import Array

#: Points that a trajectory must have.
LEAST_POINTS = 6
#: A gap of more than so many median steps ends a trajectory; what follows begins another one.
LONGEST_GAP = 10.0


@dataclass(frozen=True)
class Trajectory:
    """Rows of one series in the order of time.

    Parameters
    ----------
    t : array of shape (n,)
        Increasing times.
    x : array of shape (n, d)
        States.
    u : array of shape (n, m)
        Inputs; m may be 0.
    x_dot : array of shape (n, d), optional
        Derivatives, if they were measured.
    """

    t: Array
    x: Array
    u: Array
    x_dot: Array | None = None

    def take(self, rows: Any) -> Trajectory:
        """Return some of the rows."""
        x_dot = None if self.x_dot is None else self.x_dot[rows]
        return Trajectory(self.t[rows], self.x[rows], self.u[rows], x_dot)


def read(x: Any, t: Any, x_dot: Any = None, u: Any = None) -> list[Trajectory]:
    """Return the trajectories that a user has passed.

    Parameters
    ----------
    x : array or data frame of shape (n, d), or a list of them
        States, one column each; rows with missing values are left out.
    t : array of shape (n,), float, or a list of arrays
        Times, or the time between two rows.
    x_dot : like x, optional
        Derivatives.
    u : like x, optional
        Inputs.
    """
    many = isinstance(x, list | tuple) and len(x) > 0 and np.ndim(_plain(x[0])) >= 1
    many = many and not all(np.ndim(each) == 0 for each in x[0])
    states = [_table(each, "x") for each in (x if many else [x])]
    times = (
        list(t) if many and not np.isscalar(t) and np.ndim(_plain(t[0])) == 1 else [t] * len(states)
    )
    if len(times) != len(states):
        raise GSRError(f"there are {len(states)} trajectories in x, but {len(times)} in t")
    slopes = _parts(x_dot, len(states), many, "x_dot")
    inputs = _parts(u, len(states), many, "u")
    if len({each.shape[1] for each in states}) > 1:
        raise GSRError("all trajectories in x must have the same number of columns")
    found: list[Trajectory] = []
    for k, (state, time) in enumerate(zip(states, times, strict=True)):
        label = f"trajectory {k}: " if len(states) > 1 else ""
        found += _checked(state, time, slopes[k], inputs[k], label)
    if not found:
        raise GSRError(f"x must have at least {LEAST_POINTS} rows without missing values")
    return found


def names_of(x: Any, n_states: int, feature_names: Sequence[str] | None) -> list[str]:
    """Return the names of the states: those given, those of a data frame, or x0, x1, ..."""
    first = x[0] if isinstance(x, list | tuple) else x
    known = feature_names if feature_names is not None else getattr(first, "columns", None)
    names = [f"x{j}" for j in range(n_states)] if known is None else [str(name) for name in known]
    if len(names) < n_states:
        raise GSRError(f"there are {n_states} states, but {len(names)} feature_names")
    return names


def _plain(values: Any) -> Any:
    return values.to_numpy() if hasattr(values, "to_numpy") else values


def _table(values: Any, name: str) -> Array:
    try:
        table = np.asarray(_plain(values), dtype=float)
    except (TypeError, ValueError) as error:
        raise GSRError(f"{name} must hold numbers: {error}") from None
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise GSRError(f"{name} must have two dimensions, got {table.ndim}")
    return table


def _parts(values: Any, count: int, many: bool, name: str) -> list[Array | None]:
    if values is None:
        return [None] * count
    parts = list(values) if many else [values]
    if len(parts) != count:
        raise GSRError(f"there are {count} trajectories in x, but {len(parts)} in {name}")
    return [_table(each, name) for each in parts]


def _checked(
    x: Array, t: Any, x_dot: Array | None, u: Array | None, label: str
) -> list[Trajectory]:
    """Return one trajectory, in parts where it has gaps."""
    n = len(x)
    times = np.asarray(_plain(t), dtype=float)
    if times.ndim == 0:
        if not times > 0.0:
            raise GSRError(f"{label}the time step t must be positive, got {float(times):g}")
        times = np.arange(n) * times
    if times.shape != (n,):
        raise GSRError(f"{label}t must have {n} values, as x has rows, got shape {times.shape}")
    for name, part in (("x_dot", x_dot), ("u", u)):
        if part is not None and len(part) != n:
            raise GSRError(f"{label}{name} must have {n} rows, as x has, got {len(part)}")
    if x_dot is not None and x_dot.shape != x.shape:
        raise GSRError(f"{label}x_dot must have the shape of x, {x.shape}, got {x_dot.shape}")
    inputs = np.empty((n, 0)) if u is None else u
    complete = np.isfinite(np.column_stack([times, x, inputs])).all(axis=1)
    rows = Trajectory(times, x, inputs, x_dot).take(complete)
    if (np.diff(rows.t) <= 0.0).any():
        place = int(np.argmax(np.diff(rows.t) <= 0.0))
        raise GSRError(
            f"{label}t must increase, but {rows.t[place]:g} is followed by {rows.t[place + 1]:g}: "
            "sort the rows, and pass repeated measurements as trajectories of their own"
        )
    steps = np.diff(rows.t)
    longest = LONGEST_GAP * float(np.median(steps)) if len(steps) else 0.0
    gaps = np.flatnonzero(steps > longest) + 1
    parts = np.split(np.arange(len(rows.t)), gaps)
    return [rows.take(part) for part in parts if len(part) >= LEAST_POINTS]
