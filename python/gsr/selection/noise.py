"""How the scatter of y depends on y: variance functions of a generalised linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gsr.transformation import Array

Kind = Literal["constant", "relative", "poisson", "power", "mixed", "given", "effective"]
#: Predictions below this part of the least measured |y| count as this large, so that no row has an
#: infinite weight.
LEAST_SHARE = 0.3
#: So many of the least |y| may be left aside, if the next is further off, in the logarithm, than
#: this many times as far as those after it are from each other.
SMALLEST = 3
APART = 3.0
#: Points at which given standard deviations are remembered, to interpolate those of new rows.
KNOTS = 16
#: Powers of |y| that standard deviations are proportional to.
POWERS = {"relative": 1.0, "poisson": 0.5}


@dataclass(frozen=True, eq=False)
class Noise:
    """A variance function v(y): the variance of a row is proportional to it.

    Parameters
    ----------
    kind : str
        ``"constant"``: v = 1. ``"relative"``: v = y^2. ``"poisson"``: v = |y|. ``"power"``:
        v = |y|^(2 power). ``"mixed"``: v = floor^2 + y^2. ``"given"``: each row has its own
        standard deviation. ``"effective"``: likewise, made of the errors of the features and an
        estimate of that of y.
    floor : float
        The least |y| that counts; of ``"mixed"`` noise, where constant and relative part are equal.
    precision : float
        Mean of 1/v over the training rows, by which their weights were divided.
    knots : tuple of two arrays, optional
        Predictions, ascending, and the given standard deviations there.
    absolute : bool
        Whether given standard deviations are those of the noise, not only proportional to it.
    power : float
        Of ``"power"`` noise.
    """

    kind: Kind = "constant"
    floor: float = 0.0
    precision: float = 1.0
    knots: tuple[Array, Array] | None = None
    absolute: bool = False
    power: float = 1.0

    @property
    def follows_law(self) -> bool:
        """Whether the variance of a row depends on what the law says there."""
        return self.kind in ("relative", "poisson", "power", "mixed")

    def variance(self, y: Array, sigma: Array | None = None) -> Array:
        """Return v at the law's values y; rows with their own standard deviations have sigma^2."""
        size = np.abs(np.asarray(y, dtype=float))
        if self.kind in ("given", "effective"):
            known = self._interpolated(y) if sigma is None else np.asarray(sigma, dtype=float)
            return np.asarray(known**2, dtype=float)
        if self.kind == "constant":
            return np.ones_like(size)
        if self.kind == "mixed":
            return np.asarray(self.floor**2 + size**2)
        return np.asarray(np.maximum(size, self.floor) ** (2.0 * POWERS.get(self.kind, self.power)))

    def deviation(self, y: Array, scale: float, sigma: Array | None = None) -> Array:
        """Return the standard deviation of measurements at the law's values y."""
        return np.asarray(scale * np.sqrt(self.variance(y, sigma) * self.precision))

    def log_variance(self, y: Array) -> float:
        """Return the sum of log2 of the rows' relative standard deviations, for the likelihood."""
        if self.kind == "constant":
            return 0.0
        return 0.5 * float(np.log2(self.variance(y) * self.precision).sum())

    def weights(self, y: Array) -> tuple[Array, Noise]:
        """Return weights of mean 1 for rows where the law is y, and the noise that knows them."""
        precision = 1.0 / self.variance(y)
        mean = float(precision.mean())
        return precision / mean, replace(self, precision=mean)

    def _interpolated(self, y: Array) -> Array:
        assert self.knots is not None, "given errors have knots"
        return np.asarray(np.interp(y, *self.knots), dtype=float)

    def describe(self, target: str, scale: float) -> str:
        """Say in one line how measurements scatter around the law."""
        unit = scale * math.sqrt(self.precision)
        if self.kind == "constant":
            return f"scatter is the same everywhere: {unit:.3g}"
        if self.kind == "relative":
            return f"scatter grows with {target}: {100 * unit:.2g} % of {target}"
        if self.kind == "poisson":
            return f"scatter grows with the root of {target}: {unit:.3g} sqrt({target})"
        if self.kind == "power":
            return f"scatter grows with a power of {target}: {unit:.3g} {target}^{self.power:.2g}"
        if self.kind == "mixed":
            small, large = f"{unit * self.floor:.3g}", f"{100 * unit:.2g} %"
            return f"scatter is {small} where {target} is small, {large} where it is large"
        if self.kind == "effective":
            return f"scatter of {target} follows from the errors of the features and its own"
        if not self.absolute:
            return "scatter follows the weights of the rows"
        agrees = "as large as the given errors say"
        differs = f"{unit:.2g} times as large as the given errors say"
        return f"scatter is {agrees if 0.8 < unit < 1.25 else differs}"


def of_kind(kind: Kind, y: Array) -> Noise:
    """Return noise of a kind for a measured target."""
    size = np.sort(np.abs(y[y != 0.0]))
    return Noise(kind, LEAST_SHARE * (_least(size) if len(size) else 1.0))


def _least(size: Array) -> float:
    """Return the least of ascending values, those aside that happen to be near zero."""
    steps = np.diff(np.log(size))
    for k in reversed(range(min(SMALLEST, len(size) // 10))):
        if steps[k] > APART * steps[k + 1 : k + 1 + SMALLEST].max():
            return float(size[k + 1])
    return float(size[0])


def given(sigma: Array, y: Array) -> Noise:
    """Return noise of given standard deviations, with what they are at values of y."""
    order = np.argsort(y, kind="stable")
    parts = np.array_split(order, min(KNOTS, len(order)))
    knots = (
        np.array([float(np.median(y[part])) for part in parts]),
        np.array([float(np.exp(np.log(sigma[part]).mean())) for part in parts]),
    )
    return Noise("given", knots=knots, absolute=True)
