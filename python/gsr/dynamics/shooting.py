"""Constants of equations of motion fitted to measured series by simulation.

Each series is cut into pieces. The constants of all equations and the initial state of each piece
are fitted together, so that the simulated pieces pass through the measurements. Short pieces come
first, because on long ones a wrong constant can lead anywhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy.optimize import least_squares

from gsr import export
from gsr.dynamics.simulation import UNBOUNDED, integrate
from gsr.dynamics.trajectories import Trajectory
from gsr.encoding.writing import shown_name
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.selection.fitted import FittedLaw, Training, constants, with_constants
from gsr.selection.target_scale import TargetScale
from gsr.transformation import Array

#: Points of the first pieces.
FIRST_PIECE = 25
EVALUATIONS = 40
#: Limit of calls of the right-hand sides, for the choice and for the fit, also without `max_time`.
MOST_CALLS = 1_000_000
#: Residual of measurements that a simulation does not reach, and the largest residual, relative to
#: the spread of the state.
FAR, FARTHEST = 1e2, 1e4
#: Least noise that is assumed at first, relative to the spread of a state: smoothing may take a few
#: noisy points for a smooth curve.
LEAST_NOISE = 1e-3
#: States are weighted again if their residuals, in units of the noise, differ by this factor.
UNEVEN = 3.0
RTOL, ATOL = 1e-9, 1e-11
#: Tolerance and evaluations when laws are compared. Errors below the last number, relative to the
#: spread of a state, are then those of integration.
ROUGH_RTOL, ROUGH_EVALUATIONS, ROUGH_ERROR = 1e-7, 10, 1e-6
#: Steps of differences, in parts of a constant and of the noise.
CONSTANT_STEP, STATE_STEP = 1e-6, 1e-2
#: Size below which a constant is not scaled by its own.
SMALLEST = 1e-6
#: Bits by which another law must be better, since these fits stop before convergence.
CLEARLY = 10.0
#: Least variance of the residuals, in that of the noise, where a series has no noise.
LEAST_VARIANCE = 1e-12
#: Errors below this part of the spread of a state are those of integration.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class Law:
    """The equation of one state: a law for its derivative."""

    law: FittedLaw
    data: Training
    make: Callable[[Any], Equation]

    @cached_property
    def function(self) -> Callable[..., float] | None:
        """The derivative as a function of the features, if the law is solved for it."""
        equation = self.make(self.law)
        if not str(equation).startswith(f"{shown_name(equation.target_name)} = "):
            return None
        try:
            source = export.source(equation, "python", "law")
        except GSRError:  # a transformation of the user's own
            return None
        found: dict[str, Any] = {}
        exec(source, found)
        return cast("Callable[..., float]", found["law"])

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
class Option:
    """A candidate law of a state, and its description length in bits."""

    law: Law
    bits: float


@dataclass(frozen=True)
class Fit:
    """What a fit by simulation has found.

    Parameters
    ----------
    laws : list of Law
        The equations with fitted constants.
    error : array of shape (d,)
        Root mean square of the residuals of the simulations, for each state.
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
        self.size = np.where(size > 0.0, size, 1.0)
        self.first_noise = self.noise = np.maximum(noise, LEAST_NOISE * self.size)
        self.largest = UNBOUNDED * max(float(np.abs(each).max()) for each in states)
        self.time_feature = time_feature
        self.calls, self.rtol, self.evaluations = 0, RTOL, EVALUATIONS

    def fit(self, laws: Sequence[Law], until: float | None) -> Fit | None:
        """Return the laws fitted to short pieces, then to longer ones while that succeeds."""
        best: Fit | None = None
        longest = max(len(each.t) for each in self.trajectories)
        points = min(FIRST_PIECE, longest)
        while not self.is_over(until):
            found = self._fit_evenly(best.laws if best else list(laws), points, until)
            if found is None or (best and (found.error > 2.0 * best.error + self.noise).any()):
                break
            best = found
            if points >= longest:
                break
            points = min(4 * points, longest)
        return best

    def choose(self, options: Sequence[Sequence[Option]], until: float | None) -> list[int]:
        """Return for each state the law with which simulations describe the series best.

        The search starts from the first law of each state, and exchanges one law at a time.
        """
        if all(len(of) == 1 for of in options):
            return [0] * len(options)
        if until is not None:  # the other half is for the fit
            until = 0.5 * (time.perf_counter() + until)
        self.rtol, self.evaluations = ROUGH_RTOL, ROUGH_EVALUATIONS
        places, least = [0] * len(options), math.inf
        for j, of in enumerate(options):
            for place in range(len(of)):
                tried = [*places[:j], place, *places[j + 1 :]]
                if tried == places and math.isfinite(least):
                    continue  # known
                laws = [each[k] for each, k in zip(options, tried, strict=True)]
                if (bits := self._bits(laws, until)) < least - CLEARLY:
                    places, least = tried, bits
        self.calls, self.rtol, self.evaluations = 0, RTOL, EVALUATIONS
        return places

    def _bits(self, options: Sequence[Option], until: float | None) -> float:
        """Return the description length of the series and the laws, by short pieces."""
        found = self._fit_evenly([each.law for each in options], FIRST_PIECE, until)
        if found is None:
            return math.inf
        rows = sum(len(each.t) for each in self.trajectories)
        errors = np.maximum(found.error, ROUGH_ERROR * self.size)
        return float(rows * np.log2(errors).sum() + sum(each.bits for each in options))

    def _fit_evenly(self, laws: list[Law], points: int, until: float | None) -> Fit | None:
        """Fit with each state weighted by the size of its residuals."""
        self.noise = self.first_noise
        found = self._fit_pieces(laws, points, until)
        if found is None:
            return None
        ratio = np.maximum(found.error, NEGLIGIBLE * self.size) / self.noise
        if ratio.max() < UNEVEN * ratio.min():
            return found
        self.noise = ratio * self.noise
        return self._fit_pieces(found.laws, points, until) or found

    def is_over(self, until: float | None) -> bool:
        """Whether the limit of time or of calls is reached."""
        return self.calls > MOST_CALLS or (until is not None and time.perf_counter() > until)

    def simulate(self, laws: Sequence[Law], k: int, rows: Any, x0: Array) -> Array:
        """Return the simulated states of some rows of trajectory k."""
        trajectory, slopes = self.trajectories[k], self.slopes[k]
        t, u = trajectory.t, trajectory.u

        def slope(law: Law, j: int, now: float, row: list[float]) -> float:
            if law.function is not None:
                return law.function(*row)
            place = min(int(np.searchsorted(t, now)), len(t) - 1)
            return float(law.slopes(np.array([row]), slopes[place, j : j + 1])[0])

        def motion(now: float, x: Array) -> Array:
            self.calls += 1
            inputs = [float(np.interp(now, t, column)) for column in u.T]
            row = [*x.tolist(), *inputs, *([now] if self.time_feature else [])]
            given = [slope(law, j, now, row) for j, law in enumerate(laws)]
            return np.array([*row[len(laws) : len(x)], *given])

        found = integrate(motion, x0, t[rows], largest=self.largest, rtol=self.rtol, atol=ATOL)
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
                max_nfev=self.shooting.evaluations, ftol=1e-12, xtol=1e-12, gtol=1e-14,
            )  # fmt: skip
        except (TimeoutError, ValueError, np.linalg.LinAlgError):
            return None
        limit = FAR * np.min(self.shooting.size / self.shooting.noise)
        if (np.abs(found.fun) >= limit).any():
            return None
        left = found.fun.reshape(-1, len(self.laws))
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
        left = (self.shooting.trajectories[k].x[rows] - simulated) / self.shooting.size
        left = np.clip(np.nan_to_num(left, nan=FAR), -FARTHEST, FARTHEST)
        return np.asarray(left * self.shooting.size / self.shooting.noise).ravel()

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
