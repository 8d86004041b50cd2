"""Laws for a derivative, fitted to the series itself: noise is never differentiated.

If dx/dt = f, then x(t) = x(0) + integral of f from 0 to t. With the smoothed states in f, the
integral is a linear map of the values of f, and what it leaves of the measured x is white noise.
So laws that a search on derivatives has found are fitted, and compared by description length, on
the measurements (the weak form with steps as test functions). For d2x/dt2 = f the integral is
taken twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.interpolate import make_interp_spline

from gsr.dynamics.smoothing import Smoothed
from gsr.dynamics.trajectories import Trajectory
from gsr.selection import FrontEntry
from gsr.selection.criteria import rough_digits
from gsr.selection.fitted import FAILURES, FittedLaw, Training, constants, with_constants
from gsr.selection.target_scale import TargetScale
from gsr.transformation import Array

#: Points of a piece; each has an initial value of its own, so that errors do not add up.
PIECE = 50
DEGREE = 7
STEPS = 30
#: Errors below this part of the spread of a state are those of integration, and no structure.
NEGLIGIBLE = 1e-7
GAIN = 1e-10
#: Laws whose squared error is within this factor of that of integration are not distinguished.
DOUBTFUL = 4.0
DAMPING, MOST_DAMPING = 1e-3, 1e8


@dataclass(frozen=True)
class Piece:
    """A piece of a series, and the linear map from its derivative to the series.

    Parameters
    ----------
    integral : array of shape (n, n)
        Integrates values at the times, and removes what initial values explain.
    series : array of shape (n,)
        The measurements without that.
    rows : slice
        Its rows among those of all pieces.
    """

    integral: Array
    series: Array
    rows: slice


class Matching:
    """The series of one state, in pieces, with the features at their times.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        The measurements.
    smoothed : sequence of Smoothed
        The state in each of them.
    component : int
        Which state.
    features : array of shape (N, p)
        Features at all times of all trajectories.
    order : int
        Order of the derivative.
    """

    def __init__(
        self,
        trajectories: Sequence[Trajectory],
        smoothed: Sequence[Smoothed],
        component: int,
        features: Array,
        order: int = 1,
    ) -> None:
        self.X = np.asfortranarray(features)
        self.slopes = np.concatenate([each.slopes for each in smoothed])
        self.pieces: list[Piece] = []
        start, squares = 0, 0.0
        for trajectory, smooth in zip(trajectories, smoothed, strict=True):
            for part in np.array_split(
                np.arange(len(trajectory.t)), -(-len(trajectory.t) // PIECE)
            ):
                integral, left_over = _maps(trajectory.t[part], order)
                rows = slice(start + int(part[0]), start + int(part[-1]) + 1)
                series = left_over @ trajectory.x[part, component]
                self.pieces.append(Piece(integral, series, rows))
                slopes = (smooth.slopes + smooth.doubt)[part]
                left = left_over @ smooth.values[part] - integral @ slopes
                squares += float(left @ left)
            start += len(trajectory.t)
        self.n_rows = start - order * len(self.pieces)
        spread = float(np.std(features[:, component]))
        #: Squared error that integration leaves of the smooth series itself.
        self.floor = squares / self.n_rows + (NEGLIGIBLE * spread) ** 2

    def integrate(self, values: Array) -> Array:
        """Return the integrals of one or several derivatives, without initial values."""
        return np.concatenate([piece.integral @ values[piece.rows] for piece in self.pieces])

    def fit(self, law: FittedLaw, data: Training) -> tuple[FittedLaw, float]:
        """Return the law with its constants fitted to the series, and the mean squared error."""
        target = np.concatenate([piece.series for piece in self.pieces])
        law, damping = FittedLaw.of(law), 0.0
        slopes, error = self._state(law, data, target)
        for _ in range(STEPS):
            if not math.isfinite(error) or damping > MOST_DAMPING:
                break
            step = self._step(law, data, slopes, target, damping)
            moved = with_constants(law, constants(law) + step)
            values, new = self._state(moved, data, target)
            if not new < error:
                damping = max(10.0 * damping, DAMPING)
                continue
            gain, law, slopes, error = error - new, moved, values, new
            damping /= 10.0
            if gain < GAIN * new:
                break
        return law, error

    def is_doubtful(self, law: FittedLaw, data: Training) -> bool:
        """Whether the error of a law is hardly larger than that of the integration itself."""
        return self.fit(law, data)[1] < DOUBTFUL * self.floor

    def bits(self, entry: FrontEntry, error: float) -> float:
        """Return the description length of the series and the law."""
        if not math.isfinite(error):
            return math.inf
        data = 0.5 * self.n_rows * math.log2(error + self.floor)
        return data + self.law_bits(entry)

    def law_bits(self, entry: FrontEntry) -> float:
        """Return the description length of the law alone."""
        return float(entry.structure + rough_digits(self.n_rows) * entry.n_constants)

    def _state(self, law: FittedLaw, data: Training, target: Array) -> tuple[Array, float]:
        try:
            values = TargetScale(law, data).solve(self.X, self.slopes)
        except FAILURES:
            return self.slopes, math.inf
        left = target - self.integrate(values)
        error = float(left @ left) / self.n_rows
        return values, error if math.isfinite(error) else math.inf

    def _step(
        self, law: FittedLaw, data: Training, slopes: Array, target: Array, damping: float
    ) -> Array:
        jacobian = TargetScale(law, data).jacobian(self.X, slopes, lambda rows: rows)
        columns = self.integrate(np.where(np.isfinite(jacobian), jacobian, 0.0))
        norms = np.linalg.norm(columns, axis=0)
        norms = np.where(norms > 0.0, norms, 1.0)
        left = target - self.integrate(slopes)
        matrix = np.vstack([columns / norms, math.sqrt(damping) * np.eye(len(norms))])
        found = np.linalg.lstsq(matrix, np.concatenate([left, np.zeros(len(norms))]), rcond=1e-14)
        return np.asarray(found[0] / norms)


@lru_cache(maxsize=64)
def _maps_of(times: tuple[float, ...], order: int) -> tuple[Array, Array]:
    t = np.array(times)
    degree = min(DEGREE, (len(t) - 1) // 2 * 2 - 1) if len(t) > 3 else 1
    spline = make_interp_spline(t, np.eye(len(t)), k=degree)
    powers = np.linalg.qr(np.vander(t / t[-1], order))[0]
    left_over = np.eye(len(t)) - powers @ powers.T
    return np.asarray(left_over @ spline.antiderivative(order)(t)), left_over


def _maps(t: Array, order: int) -> tuple[Array, Array]:
    """Return the matrices that integrate, and that remove the effect of initial values."""
    return _maps_of(tuple((t - t[0]).tolist()), order)
