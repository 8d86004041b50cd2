"""States and derivatives of a measured series by a smoothing spline.

The smoothness and the noise are found by restricted maximum likelihood, so nothing has to be set,
and the same spline gives the standard deviations of the derivatives. On data without noise the
spline interpolates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline
from scipy.optimize import minimize_scalar

from gsr.transformation import Array

#: Orders of the derivative whose square is penalised; the spline has the degree 2 m - 1.
ORDERS = (4, 3, 2)
#: Longer series are smoothed in overlapping windows of so many points.
WINDOW = 240
OVERLAP = 40
#: Decades of the penalty that are searched, around that of the middle mode, and steps.
DECADES, STEPS = 14.0, 113
#: Another order is taken if its squared error of left-out points is so much smaller.
CLEARLY_BETTER = 0.9
#: The same for another penalty, where the likeliest one leaves little more than a polynomial.
MUCH_BETTER = 0.5
LITTLE_MORE = 2.0


@dataclass(frozen=True)
class Smoothed:
    """A series and its first or a higher derivative at the times of the measurements.

    Parameters
    ----------
    values, slopes : array of shape (n,)
        The smooth series and its derivative.
    slope_std : array of shape (n,)
        Standard deviations of the derivative.
    doubt : array of shape (n,)
        By how much the derivative of another spline differs: what is not known between the points.
    noise : float
        Standard deviation of a measurement.
    freedom : float
        Degrees of freedom that the spline takes: so many independent values the rows hold.
    """

    values: Array
    slopes: Array
    slope_std: Array
    doubt: Array
    noise: float
    freedom: float


class Smoother:
    """Smoothing splines of one order at given times, in the basis where the penalty is diagonal.

    Parameters
    ----------
    t : array of shape (n,)
        Increasing times.
    order : int
        Order m of the derivative that is penalised.
    derivative : int
        Order of the derivative that is wanted.
    """

    def __init__(self, t: Array, order: int, derivative: int) -> None:
        degree, n = 2 * order - 1, len(t)
        self.order = order
        knots = make_interp_spline(t, np.zeros(n), k=degree).t
        basis = BSpline.design_matrix(t, knots, degree).toarray()
        splines = BSpline(knots, np.linalg.inv(basis), degree)  # one for each measurement
        nodes, node_weights = np.polynomial.legendre.leggauss(degree - order + 1)
        ends = np.unique(knots)
        half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
        points = (middle[:, None] + half[:, None] * nodes).ravel()
        roots = np.sqrt((half[:, None] * node_weights).ravel())
        _, singular, modes = np.linalg.svd(roots[:, None] * splines(points, nu=order), False)
        self.modes = modes.T
        self.penalties = singular**2
        self.penalties[n - order :] = 0.0  # polynomials
        self.slopes = splines(t, nu=derivative) @ self.modes

    def fit(self, y: Array) -> tuple[Smoothed, float]:
        """Return the smoothed series, and its mean squared error of points that are left out.

        The penalty has the largest restricted likelihood. Series with spikes look like noise to it:
        there another penalty may predict left-out points much better.
        """
        z = self.modes.T @ y
        exponents = self._exponents()
        likeliest = self._least(lambda exponent: self._deviance(exponent, z), exponents)
        found, left_out = self._smoothed(likeliest, z), self._left_out(likeliest, z)
        if found.freedom < self.order + LITTLE_MORE:
            other = min(exponents, key=lambda exponent: self._left_out(exponent, z))
            if self._left_out(other, z) < MUCH_BETTER * left_out:
                return self._smoothed(other, z), self._left_out(other, z)
        return found, left_out

    def _exponents(self) -> Array:
        """Return logarithms of the penalties that are tried."""
        centre = -np.log10(np.median(self.penalties[self.penalties > 0.0]))
        return np.asarray(centre + np.linspace(-DECADES, DECADES, STEPS))

    @staticmethod
    def _least(function: Callable[[float], float], grid: Array) -> float:
        best, step = grid[int(np.argmin([function(each) for each in grid]))], grid[1] - grid[0]
        bounds = (best - step, best + step)
        return float(minimize_scalar(function, bounds=bounds, method="bounded").x)

    def _deviance(self, exponent: float, z: Array) -> float:
        curved = self.penalties > 0.0
        scaled, free = 10.0**exponent * self.penalties, len(z) - self.order
        left = float(np.sum(scaled / (1.0 + scaled) * z**2)) / free
        return float(free * np.log(max(left, 1e-300)) + np.log1p(1.0 / scaled[curved]).sum())

    def _left_out(self, exponent: float, z: Array) -> float:
        scaled = 10.0**exponent * self.penalties
        lost = scaled / (1.0 + scaled)  # y - fit is all rounding where the spline interpolates
        rest = (self.modes**2) @ lost  # 1 - leverage
        return float(np.mean((self.modes @ (lost * z) / np.maximum(rest, 1e-300)) ** 2))

    def _smoothed(self, exponent: float, z: Array) -> Smoothed:
        kept = 1.0 / (1.0 + 10.0**exponent * self.penalties)
        variance = float(np.sum((1.0 - kept) * z**2)) / (len(z) - self.order)
        slope_std = np.sqrt(variance * ((self.slopes**2) @ kept))
        slopes, freedom = self.slopes @ (kept * z), float(kept.sum())
        values, none = self.modes @ (kept * z), np.zeros(len(z))
        return Smoothed(values, slopes, slope_std, none, float(np.sqrt(variance)), freedom)


@lru_cache(maxsize=32)
def _smoother(times: tuple[float, ...], order: int, derivative: int) -> Smoother:
    return Smoother(np.array(times), order, derivative)


def smooth(t: Array, y: Array, derivative: int = 1) -> Smoothed:
    """Smooth a series.

    Parameters
    ----------
    t : array of shape (n,)
        Increasing times.
    y : array of shape (n,)
        Measurements.
    derivative : int
        Order of the derivative that is wanted.

    Returns
    -------
    Smoothed
    """
    if len(t) <= WINDOW:
        return _smooth(t, y, derivative)
    parts = []
    starts = np.linspace(0, len(t) - WINDOW, 1 + -(-(len(t) - WINDOW) // (WINDOW - OVERLAP)))
    places = [int(start) for start in starts]
    for k, start in enumerate(places):
        rows = slice(start, start + WINDOW)
        part = _smooth(t[rows], y[rows], derivative)
        low = 0 if k == 0 else (places[k - 1] + WINDOW - start) // 2
        high = WINDOW if k == len(places) - 1 else (start + WINDOW + places[k + 1]) // 2 - start
        parts.append((part, slice(low, high)))
    noise = float(np.sqrt(np.mean([part.noise**2 for part, _ in parts])))
    freedom = sum(part.freedom * (rows.stop - rows.start) / WINDOW for part, rows in parts)

    def joined(name: str) -> Array:
        return np.concatenate([getattr(part, name)[rows] for part, rows in parts])

    values, slopes, slope_std, doubt = map(joined, ("values", "slopes", "slope_std", "doubt"))
    return Smoothed(values, slopes, slope_std, doubt, noise, freedom)


def _smooth(t: Array, y: Array, derivative: int) -> Smoothed:
    """Smooth a short series, with the order that predicts left-out points best."""
    low, size = float(y.mean()), float(np.ptp(y))
    span = (t[-1] - t[0]) / (len(t) - 1)
    if size == 0.0:
        zero = np.zeros(len(y))
        return Smoothed(y.copy(), zero, zero, zero, 0.0, 1.0)
    times = tuple(np.round((t - t[0]) / span, 9).tolist())
    fits = [
        _smoother(times, order, derivative).fit((y - low) / size)
        for order in ORDERS
        if order > derivative and len(t) >= 2 * order + 2
    ]
    best, least = fits[0]
    for found, left_out in fits[1:]:
        if left_out < least * CLEARLY_BETTER:
            best, least = found, left_out
    others = [other.slopes - best.slopes for other, _ in fits if other is not best]
    doubt = min(others, key=lambda each: float(np.median(np.abs(each))), default=np.zeros(len(y)))
    scale = size / span**derivative
    return Smoothed(
        low + size * best.values,
        best.slopes * scale,
        np.hypot(best.slope_std, doubt) * scale,
        doubt * scale,
        best.noise * size,
        best.freedom,
    )
