"""Constants of equations of motion fitted to measured series by simulation.

Each series is cut into pieces. The constants of all equations and the initial state of each piece
are fitted together, so that the simulated pieces pass through the measurements. Short pieces come
first, because on long ones a wrong constant can lead anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from gsr.dynamics.simulation import UNBOUNDED, integrate
from gsr.dynamics.trajectories import Trajectory
from gsr.selection.fitted import FittedLaw, Training, constants, with_constants
from gsr.selection.target_scale import TargetScale
from gsr.transformation import Array

#: Points of the first pieces.
FIRST_PIECE = 25
EVALUATIONS = 40
#: Calls of the right-hand sides for all fits together, so that they end without a clock too.
MOST_CALLS = 400_000
#: Residual where a simulation does not get to a measurement, and the largest one, in standard
#: deviations of the noise.
FAR, FARTHEST = 1e3, 1e6
RTOL, ATOL = 1e-9, 1e-11
#: Steps of differences, in parts of a constant and of the noise.
CONSTANT_STEP, STATE_STEP = 1e-6, 1e-2
#: Size below which a constant is not scaled by its own.
SMALLEST = 1e-6
#: Least variance of the residuals, in that of the noise, where a series has no noise.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Law:
    """The equation of one state: a law for its derivative."""

    law: FittedLaw
    data: Training

    def slopes(self, X: Array, near: Array) -> Array:
        """Return the derivatives at rows of features; of several solutions those near to others."""
        return TargetScale(self.law, self.data).solve(X, near)

    @property
    def constants(self) -> Array:
        """Its constants."""
        return constants(self.law)

    def moved(self, values: Array) -> Law:
        """Return the equation with other constants."""
        return replace(self, law=with_constants(self.law, values))


@dataclass(frozen=True)
class Fit:
    """What a fit by simulation has found.

    Parameters
    ----------
    laws : list of Law
        The equations with fitted constants.
    error : array of shape (d,)
        Root mean square of what the simulations leave of each state.
    covariance : array
        Of all constants, in the order of the laws.
    points : int
        Of a piece at the end; the whole series if the fit got so far.
    """

    laws: list[Law]
    error: Array
    covariance: Array
    points: int


class Shooting:
    """Fits constants to trajectories.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        The measurements.
    states : sequence of array of shape (n, order d)
        Smooth states; if the laws are of second order, then their derivatives.
    slopes : sequence of array of shape (n, d)
        Smooth values of what the laws give.
    noise : array of shape (d,)
        Standard deviations of the measurements of each state.
    time_feature : bool
        Whether the time is the last feature.
    """

    def __init__(
        self,
        trajectories: Sequence[Trajectory],
        states: Sequence[Array],
        slopes: Sequence[Array],
        noise: Array,
        time_feature: bool,
    ) -> None:
        self.trajectories, self.states, self.slopes = trajectories, states, slopes
        size = np.concatenate([each.x for each in trajectories]).std(axis=0)
        self.noise = np.maximum(noise, 1e-9 * np.where(size > 0.0, size, 1.0))
        self.largest = UNBOUNDED * max(float(np.abs(each).max()) for each in states)
        self.time_feature = time_feature
        self.calls = 0

    def fit(self, laws: Sequence[Law], until: float | None) -> Fit | None:
        """Return the laws fitted to short pieces, then to longer ones while that succeeds."""
        best: Fit | None = None
        longest = max(len(each.t) for each in self.trajectories)
        points = min(FIRST_PIECE, longest)
        while not self.is_over(until):
            found = self._fit_pieces(best.laws if best else list(laws), points, until)
            if found is None or (best and (found.error > 2.0 * best.error + self.noise).any()):
                break
            best = found
            if points >= longest:
                break
            points = min(4 * points, longest)
        return best

    def is_over(self, until: float | None) -> bool:
        """Whether the time or the work is spent."""
        return self.calls > MOST_CALLS or (until is not None and time.perf_counter() > until)

    def simulate(self, laws: Sequence[Law], k: int, rows: Any, x0: Array) -> Array:
        """Return the simulated states of some rows of trajectory k."""
        trajectory, slopes = self.trajectories[k], self.slopes[k]
        t, u = trajectory.t, trajectory.u

        def motion(now: float, x: Array) -> Array:
            self.calls += 1
            inputs = [np.interp(now, t, column) for column in u.T]
            row = np.array([[*x, *inputs, *([now] if self.time_feature else [])]])
            place = min(int(np.searchsorted(t, now)), len(t) - 1)
            given = [law.slopes(row, slopes[place, j : j + 1])[0] for j, law in enumerate(laws)]
            return np.array([*x[len(laws) :], *given])

        found = integrate(motion, x0, t[rows], largest=self.largest, rtol=RTOL, atol=ATOL)
        return found[:, : len(laws)]

    def _fit_pieces(self, laws: list[Law], points: int, until: float | None) -> Fit | None:
        pieces = [
            (k, rows)
            for k, each in enumerate(self.trajectories)
            for rows in np.array_split(np.arange(len(each.t)), -(-len(each.t) // points))
        ]
        return _Pieces(self, laws, pieces, until).fit(points)


class _Pieces:
    """Least squares of the constants and of the initial states of pieces, in scaled parameters."""

    def __init__(
        self,
        shooting: Shooting,
        laws: list[Law],
        pieces: list[tuple[int, Any]],
        until: float | None,
    ) -> None:
        self.shooting, self.laws, self.pieces, self.until = shooting, laws, pieces, until
        self.ends = np.cumsum([0, *(len(law.constants) for law in laws)])
        self.n_constants = int(self.ends[-1])
        starts = [shooting.states[k][rows[0]] for k, rows in pieces]
        self.first = np.concatenate([*(law.constants for law in laws), *starts])
        sizes = np.maximum(np.abs(self.first[: self.n_constants]), SMALLEST)
        self.steps = np.resize(shooting.noise, len(starts[0]))
        self.scales = np.concatenate([sizes, np.tile(self.steps, len(pieces))])

    def fit(self, points: int) -> Fit | None:
        """Return the laws with the least squared error; None without a fit, or in time."""
        try:
            found = least_squares(
                self.residuals, self.first / self.scales, self.jacobian, x_scale="jac",
                max_nfev=EVALUATIONS, ftol=1e-12, xtol=1e-12, gtol=1e-14,
            )  # fmt: skip
        except (TimeoutError, ValueError, np.linalg.LinAlgError):
            return None
        left = found.fun.reshape(-1, len(self.laws))
        if (np.abs(left) >= FAR).any():
            return None
        error = np.sqrt(np.mean(left**2, axis=0)) * self.shooting.noise
        return Fit(self._moved(found.x * self.scales), error, self._covariance(found), points)

    def residuals(self, scaled: Array) -> Array:
        """Return what the simulated pieces leave, in standard deviations of the noise."""
        laws = self._moved(scaled * self.scales)
        states = self._initial_states(scaled)
        return np.concatenate([self._left(laws, p, x0) for p, x0 in enumerate(states)])

    def jacobian(self, scaled: Array) -> Array:
        """Return differences by the constants, and by the initial state of each piece alone."""
        base, d = self.residuals(scaled), len(self.laws)
        columns = np.zeros((len(base), len(scaled)))
        for j in range(self.n_constants):
            shifted = scaled.copy()
            shifted[j] += CONSTANT_STEP
            columns[:, j] = (self.residuals(shifted) - base) / CONSTANT_STEP
        laws, row = self._moved(scaled * self.scales), 0
        for p, start in enumerate(self._initial_states(scaled)):
            rows = slice(row, row + d * len(self.pieces[p][1]))
            for i, step in enumerate(self.steps):
                x0 = start.copy()
                shift = max(STATE_STEP * step, 1e-7 * abs(x0[i]))
                x0[i] += shift
                change = self._left(laws, p, x0) - base[rows]
                columns[rows, self.n_constants + len(self.steps) * p + i] = change / shift * step
            row = rows.stop
        return columns

    def _left(self, laws: list[Law], piece: int, x0: Array) -> Array:
        if self.shooting.is_over(self.until):
            raise TimeoutError
        k, rows = self.pieces[piece]
        simulated = self.shooting.simulate(laws, k, rows, x0)
        left = (self.shooting.trajectories[k].x[rows] - simulated) / self.shooting.noise
        return np.asarray(np.clip(np.nan_to_num(left, nan=FAR), -FARTHEST, FARTHEST)).ravel()

    def _moved(self, values: Array) -> list[Law]:
        ends = zip(self.ends[:-1], self.ends[1:], strict=True)
        return [law.moved(values[a:b]) for law, (a, b) in zip(self.laws, ends, strict=True)]

    def _initial_states(self, scaled: Array) -> Array:
        states = (scaled * self.scales)[self.n_constants :]
        return np.asarray(states.reshape(-1, len(self.steps)))

    def _covariance(self, found: Any) -> Array:
        """Return the covariance of the constants by the curvature at the minimum."""
        free = max(found.fun.size - found.x.size, 1)
        part = slice(0, self.n_constants)
        covariance = np.linalg.pinv(found.jac.T @ found.jac)[part, part]
        covariance *= np.outer(self.scales[part], self.scales[part])
        return np.asarray(covariance * max(float(found.fun @ found.fun) / free, LEAST_VARIANCE))
