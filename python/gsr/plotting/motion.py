"""Pictures of equations of motion: measurements and simulation, over time and in phase space."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr.exceptions import GSRError, PredictionWarning
from gsr.plotting import SIZE, drawing
from gsr.plotting.drawing import MAIN, PICK, style
from gsr.transformation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("series", "phase")
#: Times between two measurements at which simulations are drawn.
FINE = 4


def plot(model: Any, trajectories: Sequence[Any], kind: str) -> Any:
    """Draw one picture; see `GSRDynamics.plot`."""
    if kind not in KINDS:
        raise GSRError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    draws = drawings(model, trajectories)
    portrait = draws.pop("phase")
    chosen = [portrait] if kind == "phase" else list(draws.values())
    figure = drawing.new_figure(SIZE[0], SIZE[1] * (0.3 + 0.7 * len(chosen)))
    for k, draw in enumerate(chosen, start=1):
        draw(figure.add_subplot(len(chosen), 1, k))
    return figure


def drawings(model: Any, trajectories: Sequence[Any]) -> dict[str, Callable[[Any], None]]:
    """Return functions that draw the series of each state, and the phase portrait (``"phase"``)."""
    simulated = [_simulated(model, each) for each in trajectories]
    names = list(model.models_)
    found: dict[str, Callable[[Any], None]] = {
        name: partial(series, j=j, name=name, measured=trajectories, simulated=simulated)
        for j, name in enumerate(names)
    }
    found["phase"] = partial(phase, model=model, measured=trajectories, simulated=simulated)
    return found


def _simulated(model: Any, trajectory: Any) -> tuple[Array, Array]:
    """Return times and states from the start of a series; fewer where the simulation ends early."""
    t = trajectory.t
    rows = np.arange(len(t), dtype=float)
    if not model.discrete_time:
        rows = np.linspace(0, len(t) - 1, FINE * (len(t) - 1) + 1)
    times = np.interp(rows, np.arange(len(t)), t)
    inputs = np.column_stack([np.interp(times, t, column) for column in trajectory.u.T] or [times])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PredictionWarning)
        states = model.simulate(
            model.initial_state(trajectory), times, inputs if model.n_inputs_ else None
        )
    return times, states


def series(
    ax: Axes, j: int, name: str, measured: Sequence[Any], simulated: Sequence[tuple[Array, Array]]
) -> None:
    """Draw a state over time: measurements as points, the simulation as a line."""
    for k, (trajectory, (times, states)) in enumerate(zip(measured, simulated, strict=True)):
        told = ("measured", "simulated") if k == 0 else (None, None)
        ax.plot(trajectory.t, trajectory.x[:, j], ".", color=MAIN, markersize=3, label=told[0])
        ax.plot(times, states[:, j], color=PICK, linewidth=1.2, label=told[1])
    _limit(ax.set_ylim, [each.x[:, j] for each in measured])
    style(ax, f"{name} over time", "time", name)
    ax.legend(frameon=False, fontsize=drawing.SMALL_SIZE)


def phase(
    ax: Axes, model: Any, measured: Sequence[Any], simulated: Sequence[tuple[Array, Array]]
) -> None:
    """Draw the second state against the first, or the derivative of a single state against it."""
    names = list(model.feature_names_)[: model.order * len(model.models_)]
    if len(names) == 1:
        names.append(next(iter(model.models_.values())).equation_.target_name)
    for trajectory, (times, states) in zip(measured, simulated, strict=True):
        both = states if states.shape[1] > 1 else _with_derivative(model, times, states, trajectory)
        if trajectory.x.shape[1] > 1:
            ax.plot(*trajectory.x[:, :2].T, ".", color=MAIN, markersize=3)
        ax.plot(*both[:, :2].T, color=PICK, linewidth=1.2)
    if measured[0].x.shape[1] > 1:
        _limit(ax.set_xlim, [each.x[:, 0] for each in measured])
        _limit(ax.set_ylim, [each.x[:, 1] for each in measured])
    style(ax, "phase portrait", *names[:2])


def _with_derivative(model: Any, times: Array, states: Array, trajectory: Any) -> Array:
    inputs = [np.interp(times, trajectory.t, column) for column in trajectory.u.T]
    u = np.column_stack(inputs) if inputs else None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good = np.isfinite(states).all(axis=1)
        found = model.predict(states[good], None if u is None else u[good], times[good])
    return np.column_stack([states[good], found])


def _limit(set_limits: Callable[..., Any], columns: Sequence[Array]) -> None:
    """Limit the axes to the range of the measurements, in case a simulation diverges."""
    low = min(float(each.min()) for each in columns)
    high = max(float(each.max()) for each in columns)
    margin = 0.15 * (high - low) or 1.0
    set_limits(low - margin, high + margin)
