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
#: Residual where a simulation does not get to a measurement, in standard deviations of the noise.
FAR = 1e3
RTOL, ATOL = 1e-9, 1e-11


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
    states, slopes : sequence of array of shape (n, d)
        Smooth states and derivatives.
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
        size = np.concatenate(states).std(axis=0)
        self.noise = np.maximum(noise, 1e-9 * np.where(size > 0.0, size, 1.0))
        self.largest = UNBOUNDED * max(float(np.abs(each).max()) for each in states)
        self.time_feature = time_feature

    def fit(self, laws: Sequence[Law], until: float | None) -> Fit | None:
        """Return the laws fitted to short pieces, then to longer ones while that succeeds."""
        best: Fit | None = None
        longest = max(len(each.t) for each in self.trajectories)
        points = min(FIRST_PIECE, longest)
        while until is None or time.perf_counter() < until:
            found = self._fit_pieces(best.laws if best else list(laws), points, until)
            if found is None or (best and (found.error > 2.0 * best.error + self.noise).any()):
                break
            best = found
            if points >= longest:
                break
            points = min(4 * points, longest)
        return best

    def simulate(self, laws: Sequence[Law], k: int, rows: Any, x0: Array) -> Array:
        """Return the simulated states of some rows of trajectory k."""
        trajectory, slopes = self.trajectories[k], self.slopes[k]
        t, u = trajectory.t, trajectory.u

        def motion(now: float, x: Array) -> Array:
            inputs = [np.interp(now, t, column) for column in u.T]
            row = np.array([[*x, *inputs, *([now] if self.time_feature else [])]])
            place = min(int(np.searchsorted(t, now)), len(t) - 1)
            return np.array(
                [law.slopes(row, slopes[place : place + 1, j])[0] for j, law in enumerate(laws)]
            )

        return integrate(motion, x0, t[rows], largest=self.largest, rtol=RTOL, atol=ATOL)

    def _fit_pieces(self, laws: list[Law], points: int, until: float | None) -> Fit | None:
        pieces = [
            (k, rows)
            for k, each in enumerate(self.trajectories)
            for rows in np.array_split(np.arange(len(each.t)), -(-len(each.t) // points))
        ]
        sizes = [len(law.constants) for law in laws]
        ends = np.cumsum([0, *sizes])
        n_constants, d = int(ends[-1]), len(laws)
        starts = [self.states[k][rows[0]] for k, rows in pieces]
        first = np.concatenate([*(law.constants for law in laws), *starts])
        scales = np.concatenate(
            [np.maximum(np.abs(first[:n_constants]), 1e-6), np.tile(self.noise, len(pieces))]
        )

        def moved(values: Array) -> list[Law]:
            return [law.moved(values[a:b]) for law, a, b in zip(laws, ends, ends[1:], strict=False)]

        def piece_residuals(made: list[Law], piece: int, x0: Array) -> Array:
            k, rows = pieces[piece]
            simulated = self.simulate(made, k, rows, x0)
            left = (self.trajectories[k].x[rows] - simulated) / self.noise
            return np.clip(np.nan_to_num(left, nan=FAR), -FAR * 1e3, FAR * 1e3).ravel()

        def initial(values: Array, piece: int) -> Array:
            return values[n_constants + d * piece : n_constants + d * (piece + 1)]

        def residuals(scaled: Array) -> Array:
            if until is not None and time.perf_counter() > until:
                raise TimeoutError
            values = scaled * scales
            made = moved(values)
            return np.concatenate(
                [piece_residuals(made, p, initial(values, p)) for p in range(len(pieces))]
            )

        def jacobian(scaled: Array) -> Array:
            base, values = residuals(scaled), scaled * scales
            columns = np.zeros((len(base), len(scaled)))
            step = 1e-6
            for j in range(n_constants):
                shifted = scaled.copy()
                shifted[j] += step
                columns[:, j] = (residuals(shifted) - base) / step
            made, row = moved(values), 0
            for p in range(len(pieces)):
                size = d * len(pieces[p][1])
                for i in range(d):
                    x0 = initial(values, p).copy()
                    shift = max(1e-2 * self.noise[i], 1e-7 * abs(x0[i]))
                    x0[i] += shift
                    change = piece_residuals(made, p, x0) - base[row : row + size]
                    columns[row : row + size, n_constants + d * p + i] = (
                        change / shift * self.noise[i]
                    )
                row += size
            return columns

        try:
            found = least_squares(
                residuals, first / scales, jacobian, method="trf", x_scale="jac",
                max_nfev=EVALUATIONS, ftol=1e-12, xtol=1e-12, gtol=1e-14,
            )  # fmt: skip
        except (TimeoutError, ValueError, np.linalg.LinAlgError):
            return None
        left = found.fun.reshape(-1, d)
        if (np.abs(left) >= FAR).any():
            return None
        values = found.x * scales
        free = max(found.fun.size - len(values), 1)
        normal = found.jac.T @ found.jac
        covariance = np.linalg.pinv(normal)[:n_constants, :n_constants]
        covariance *= np.outer(scales[:n_constants], scales[:n_constants])
        covariance *= max(float(found.fun @ found.fun) / free, 1e-12)
        error = np.sqrt(np.mean(left**2, axis=0)) * self.noise
        return Fit(moved(values), error, covariance, points)
