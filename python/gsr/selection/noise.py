"""How measurements scatter: variance functions of y, and what a fit minimises."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from gsr.transformation import Array

LossKind = Literal["squared", "absolute", "huber", "quantile"]
#: Standard deviations beyond which Huber's loss is linear; 95 % efficient for normal noise.
BEND = 1.345
#: A normal distribution's standard deviation over its median absolute and mean absolute deviation.
OF_MEDIAN = 1.4826
OF_MEAN = math.sqrt(math.pi / 2.0)
#: Residuals below this part of their scale count as this large, from the first round to the last.
WIDTHS = {
    "absolute": (1.0, 0.3, 0.1, 0.03, 0.01, 0.01, 0.01, 0.01),
    "huber": (1.0,) * 8,
    # A quantile is far from the mean, where fits start.
    "quantile": (1.0,) * 3 + (0.3,) * 3 + (0.1,) * 4 + (0.03,) * 4 + (0.01,) * 4,
}
#: Rounds end when the error falls by less than this part.
SETTLED = 1e-5
#: In a search rows beyond so many standard deviations have no more influence than there.
SEARCH_BEND = 2.5
#: Residuals beyond so many standard deviations count as this large in the error of Huber's loss.
TAU_BEND = 3.0
#: Neighbours whose median is a first guess of what y is without noise.
NEIGHBOURS = 9

T = TypeVar("T")


@dataclass(frozen=True)
class Loss:
    """A function of residuals whose sum is minimised."""

    #: Squares, sizes, squares up to `BEND` standard deviations and sizes beyond, or sizes
    #: that count differently above and below.
    kind: LossKind = "squared"
    quantile: float = 0.5  # of ``"quantile"``: the part of the rows that lies below the law

    @property
    def is_squared(self) -> bool:
        """Whether plain least squares minimises it."""
        return self.kind == "squared"

    def error(self, residuals: Array) -> float:
        """Return the error whose logarithm, times the rows, is what the residuals cost.

        That is the scale of the loss's own distribution: normal, Laplace or asymmetric Laplace; of
        ``"huber"`` a robust standard deviation. For normal noise it is about the standard
        deviation, unless the quantile is far from 0.5.
        """
        with np.errstate(all="ignore"):
            if self.kind == "squared":
                found = math.sqrt(float((residuals**2).mean()))
            elif self.kind == "huber":
                # The tau-scale of Yohai and Zamar (1988), in which outliers count alike, however
                # far they are: laws are told apart by the other rows.
                if not np.isfinite(residuals).all():
                    return math.inf
                scale = robust_scale(residuals)
                squares = np.minimum((residuals / scale) ** 2, TAU_BEND**2)
                found = scale * math.sqrt(float(squares.mean()))
            else:
                found = OF_MEAN * float((self._sides(residuals) * np.abs(residuals)).mean())
        return found if math.isfinite(found) else math.inf

    def _sides(self, residuals: Array) -> Array:
        """Return what a unit of each residual costs: 1, or by its sign, 1 on the average."""
        if self.kind != "quantile":
            return np.ones_like(residuals)
        return np.where(residuals > 0.0, 2.0 * self.quantile, 2.0 * (1.0 - self.quantile))

    def weights(self, residuals: Array, width: float = 0.01) -> Array:
        """Return weights with which least squares has the loss's gradient, with a mean of 1."""
        scale = robust_scale(residuals)
        size = np.abs(residuals)
        if self.kind == "huber":
            return _of_mean_1(1.0 / np.maximum(size / (BEND * scale), 1.0))
        return _of_mean_1(self._sides(residuals) / np.maximum(size / scale, width))

    def search_weights(self, residuals: Array) -> Array:
        """Return weights for a search, which the residuals of one law must not dominate.

        All rows that are no outliers count alike, and an outlier no more than one at the bend.
        """
        far = np.maximum(np.abs(residuals) / (SEARCH_BEND * robust_scale(residuals)), 1.0)
        return _of_mean_1(self._sides(residuals) / far**2)

    def clipped(self, residuals: Array) -> Array:
        """Return residuals with outliers moved to the bend."""
        if self.is_squared:
            return residuals
        most = SEARCH_BEND * robust_scale(residuals)
        return np.clip(residuals, -most, most)

    def scales(self, residuals: Array, n_constants: int) -> tuple[float, float]:
        """Return the standard deviation of the noise without outliers, and that of an average.

        The second is the asymptotic one of an M-estimator, or of a quantile: the errors of
        constants follow from it.
        """
        n = len(residuals)
        scale = robust_scale(residuals) * math.sqrt(n / max(n - n_constants, 1))
        if self.kind == "huber":
            u = np.abs(residuals) / scale
            square = float((np.minimum(u, BEND) ** 2).mean())
            inside = float((u < BEND).mean())
            return scale, scale * math.sqrt(square) / max(inside, 0.1)
        width = scale * n**-0.2
        density = max(float((np.abs(residuals) < width).mean()), 1.0 / n) / (2.0 * width)
        chance = self.quantile if self.kind == "quantile" else 0.5
        return scale, math.sqrt(chance * (1.0 - chance)) / density


def _of_mean_1(weights: Array) -> Array:
    return np.asarray(weights / weights.mean())


def robust_scale(residuals: Array) -> float:
    """Return the standard deviation that most of the residuals have."""
    size = np.abs(residuals[np.isfinite(residuals)])
    if not len(size):
        return 1.0
    found = OF_MEDIAN * float(np.median(size))
    # More than half of the rows may be met exactly.
    return max(found, 1e-9 * float(size.max()), float(np.finfo(float).tiny))


def minimised(
    loss: Loss, start: T, residuals: Array, refit: Callable[[T, Array], tuple[T, Array]]
) -> tuple[T, float]:
    """Minimise a loss by least squares with weights that follow the residuals.

    `refit` takes a fit and weights, and returns a fit and its residuals. The result is the best
    fit and its error; of ``"huber"``, whose error is not what the rounds minimise, the last.
    """
    best, least, state = start, loss.error(residuals), start
    widths = WIDTHS[loss.kind]
    for width in widths:
        if not np.isfinite(residuals).all():
            break
        state, residuals = refit(state, loss.weights(residuals, width))
        before, error = least, loss.error(residuals)
        if error < least or (loss.kind == "huber" and math.isfinite(error)):
            best, least = state, error
        if abs(before - error) < SETTLED * before and width == widths[-1]:
            break
    return best, least


def neighbour_residuals(X: Array, y: Array) -> Array:
    """Return how far rows are from the median of their neighbours, to see outliers by."""
    return np.asarray(y - np.median(neighbour_values(X, y), axis=1))


def neighbour_values(X: Array, y: Array) -> Array:
    """Return the y of each row's neighbours, its own in the first column."""
    from scipy.spatial import cKDTree

    spread = X.std(axis=0)
    table = X / np.where(spread > 0.0, spread, 1.0)
    _, near = cKDTree(table).query(table, k=min(NEIGHBOURS, len(y)))
    return np.asarray(y[near])


# ---- variance functions --------------------------------------------------------------------------

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
POWERS = {"constant": 0.0, "relative": 1.0, "poisson": 0.5}


@dataclass(frozen=True, eq=False)
class Noise:
    """A variance function v(y): the variance of a row is proportional to it.

    ``"constant"``: v = 1. ``"relative"``: v = y^2. ``"poisson"``: v = |y|. ``"power"``:
    v = |y|^(2 power). ``"mixed"``: v = floor^2 + y^2. ``"given"``: each row has its own standard
    deviation. ``"effective"``: likewise, made of the errors of the features and an estimate of
    that of y.
    """

    kind: Kind = "constant"
    #: The least |y| that counts; of ``"mixed"`` noise, where constant and relative part are equal.
    floor: float = 0.0
    precision: float = 1.0  # mean of 1/v over the training rows, by which weights were divided
    #: Predictions, ascending, and the given standard deviations there.
    knots: tuple[Array, Array] | None = None
    #: Whether given standard deviations are those of the noise, not only proportional to it.
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
            if sigma is None:
                assert self.knots is not None, "given errors have knots"
                sigma = np.interp(y, *self.knots)
            return np.asarray(np.asarray(sigma, dtype=float) ** 2)
        if self.kind == "mixed":
            return np.asarray(self.floor**2 + size**2)
        return np.asarray(np.maximum(size, self.floor) ** (2.0 * POWERS.get(self.kind, self.power)))

    def deviation(self, y: Array, scale: float, sigma: Array | None = None) -> Array:
        """Return the standard deviation of measurements at the law's values y."""
        return np.asarray(scale * np.sqrt(self.variance(y, sigma) * self.precision))

    def weights(self, y: Array) -> tuple[Array, Noise]:
        """Return weights of mean 1 for rows where the law is y, and the noise that knows them."""
        precision = 1.0 / self.variance(y)
        mean = float(precision.mean())
        return precision / mean, replace(self, precision=mean)

    def describe(self, target: str, scale: float) -> str:
        """Return one line on how measurements scatter around the law."""
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
