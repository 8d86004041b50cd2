"""How well the data determine the constants of a law."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from gsr.exceptions import GSRError
from gsr.selection.fitted import LawLike, Training, constants, weights
from gsr.selection.noise import Noise
from gsr.selection.refine import Linearised, linearise
from gsr.selection.target_scale import residuals
from gsr.transformation import Array

#: Directions that the data determine less than this, relative to the best, are not determined.
UNDETERMINED = 1e-10
#: Degrees of freedom of a standard deviation that is known.
KNOWN = 1_000_000
#: Residuals that are larger than given errors with less probability are not explained by them.
LARGER_BY_CHANCE = 0.01


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Standard errors and confidence intervals of a law's constants.

    Parameters
    ----------
    names : tuple of str
        ``alpha[0]``, ..., ``beta[1]``, ..., ``weight[0]``, ...: coefficients of phi, those of psi
        but the leading 1, and the constants inside arguments.
    values : array of shape (c,)
        The constants.
    covariance : array of shape (c, c)
        Infinite variances belong to constants that the data do not determine.
    degrees_of_freedom : int
        Rows less constants.
    sigma : float
        Standard deviation of the noise in a row of weight 1.
    noise : Noise
        How the noise of other rows differs from that.
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    degrees_of_freedom: int
    sigma: float
    noise: Noise = field(default_factory=Noise)

    @property
    def errors(self) -> Array:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance))

    def of(self, kind: str) -> Array:
        """Return the standard errors of ``"alpha"``, ``"beta"`` or ``"weight"``."""
        return self.errors[[name.startswith(kind + "[") for name in self.names]]

    def intervals(self, level: float = 0.95) -> Array:
        """Return confidence intervals of Student's t.

        Parameters
        ----------
        level : float
            Probability, between 0 and 1, that an interval holds the true constant.

        Returns
        -------
        array of shape (c, 2)
        """
        if not 0.0 < level < 1.0:
            raise GSRError(f"level must be between 0 and 1, got {level!r}")
        half = self.quantile(level) * self.errors
        return np.column_stack([self.values - half, self.values + half])

    def quantile(self, level: float) -> float:
        """Return how many standard errors reach to either end of an interval."""
        from scipy.special import stdtrit

        if self.degrees_of_freedom < 1:
            return math.inf
        return float(stdtrit(self.degrees_of_freedom, 0.5 + level / 2.0))

    def __str__(self) -> str:
        lines = zip(self.names, self.values, self.errors, strict=True)
        return "\n".join(f"{name} = {value:.6g} ± {error:.2g}" for name, value, error in lines)


def uncertainty(law: LawLike, data: Training) -> Uncertainty:
    """Estimate the covariance of a law's constants from the Jacobian on the scale of y."""
    scales = None
    if not data.loss.is_squared:
        scales = data.loss.scales(residuals(law, data), len(constants(law)))
    return of_constants(_names(law), constants(law), linearise(law, data), data, scales)


def of_constants(
    names: tuple[str, ...],
    values: Array,
    around: Linearised,
    data: Training,
    scales: tuple[float, float] | None = None,
) -> Uncertainty:
    """Estimate the covariance of constants from a Jacobian with respect to them."""
    freedom = around.n_rows - len(values)
    squared_error = float(around.residual @ around.residual)
    sigma = noise_level(squared_error, freedom, data)
    if agrees_with_given(squared_error, freedom, data.noise):
        sigma, freedom = data.noise.precision**-0.5, KNOWN
    sigma, estimate = (sigma, sigma) if scales is None else scales
    unit = inverse_gram(around.jacobian)
    known = np.isfinite(np.diag(unit))
    both = np.outer(known, known) | np.eye(len(values), dtype=bool)
    covariance = np.zeros_like(unit)
    covariance[both] = estimate**2 * unit[both] if math.isfinite(sigma) else 0.0
    # A constant is not known better than it can be written.
    variances = np.maximum(np.diag(covariance), (np.finfo(float).eps * values / 2.0) ** 2)
    covariance[np.diag_indices(len(values))] = np.where(
        known & math.isfinite(sigma), variances, math.inf
    )
    return Uncertainty(names, values, covariance, max(freedom, 0), sigma, data.noise)


def agrees_with_given(squared_error: float, freedom: int, noise: Noise) -> bool:
    """Tell whether residuals are no larger than given standard deviations allow (chi-square)."""
    from scipy.special import chdtrc

    if not noise.absolute or freedom < 1:
        return noise.absolute
    return bool(chdtrc(freedom, squared_error * noise.precision) > LARGER_BY_CHANCE)


def noise_level(squared_error: float, freedom: int, data: Training) -> float:
    """Return the standard deviation of the noise in rows of weight 1, no less than rounding is."""
    if freedom < 1:
        return math.inf
    squares = sum(float((weigh(y) ** 2).sum()) for _, y, weigh in data.blocks())
    size = math.sqrt(squares / len(data.y))
    return max(math.sqrt(squared_error / freedom), float(np.finfo(float).eps) * size)


def inverse_gram(r: Array) -> Array:
    """Return (R^T R)^-1, with infinite variances where R leaves a constant open."""
    norms = np.linalg.norm(r, axis=0)
    fine = norms > 0
    scaled = r / np.where(fine, norms, 1.0)
    _, sizes, directions = np.linalg.svd(scaled, full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(len(directions) - len(sizes))])
    known = sizes > UNDETERMINED * sizes.max(initial=0.0)
    inverse = directions[known] / sizes[known, None]
    unit: Array = inverse.T @ inverse
    with np.errstate(over="ignore", invalid="ignore"):
        unit = unit / np.outer(np.where(fine, norms, 1.0), np.where(fine, norms, 1.0))
    open_ = (np.abs(directions[~known]) > math.sqrt(UNDETERMINED)).any(axis=0) | ~fine
    unit[np.diag_indices(len(unit))] = np.where(open_, math.inf, np.diag(unit))
    return unit


def _names(law: LawLike) -> tuple[str, ...]:
    alpha = [f"alpha[{j}]" for j in range(len(law.alpha))]
    beta = [f"beta[{j}]" for j in range(1, len(law.beta))]
    inside = [f"weight[{j}]" for j in range(len(weights(law)))]
    return (*alpha, *beta, *inside)
