"""How well the data determine the constants of a law and its predictions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.selection.fitted import LawLike, Training, constants, norms, weights
from gsr.selection.noise import OF_MEDIAN, Noise
from gsr.selection.target_scale import Linearised, TargetScale, linear_rows, linearise, residuals
from gsr.transformation import Array, Indices

if TYPE_CHECKING:
    from gsr.selection.entry import FrontEntry

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
        return self.ends(self.values, self.errors, level)

    def ends(self, values: Array, errors: Array, level: float) -> Array:
        """Return the ends of intervals around values whose standard errors are given."""
        if not 0.0 < level < 1.0:
            raise GSRError(f"level must be between 0 and 1, got {level!r}")
        half = self.quantile(level) * errors
        return np.column_stack([values - half, values + half])

    def by_name(self, level: float = 0.95) -> dict[str, tuple[float, float, float]]:
        """Return (value, lower end, upper end) of each constant by its name."""
        ends = zip(self.names, self.values.tolist(), self.intervals(level).tolist(), strict=True)
        return {name: (value, low, high) for name, value, (low, high) in ends}

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
    alpha = (f"alpha[{j}]" for j in range(len(law.alpha)))
    beta = (f"beta[{j}]" for j in range(1, len(law.beta)))
    inside = (f"weight[{j}]" for j in range(len(weights(law))))
    names = (*alpha, *beta, *inside)
    return of_constants(names, constants(law), linearise(law, data), data, scales)


def of_constants(
    names: tuple[str, ...],
    values: Array,
    around: Linearised,
    data: Training,
    scales: tuple[float, float] | None = None,
) -> Uncertainty:
    """Estimate the covariance of constants from a Jacobian with respect to them.

    `scales` are those of `Loss.scales`; of least squares unless given.
    """
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
    with np.errstate(over="ignore"):
        variances = np.maximum(np.diag(covariance), (np.finfo(float).eps * values / 2.0) ** 2)
    covariance[np.diag_indices(len(values))] = np.where(
        known & math.isfinite(sigma), variances, math.inf
    )
    return Uncertainty(names, values, covariance, max(freedom, 0), sigma, data.noise)


def agrees_with_given(squared_error: float, freedom: int, noise: Noise) -> bool:
    """Return whether residuals are no larger than given standard deviations allow (chi-square)."""
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
    scale, fine = norms(r), r.any(axis=0)
    _, sizes, directions = np.linalg.svd(r / scale, full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(len(directions) - len(sizes))])
    known = sizes > UNDETERMINED * sizes.max(initial=0.0)
    inverse = directions[known] / sizes[known, None]
    unit: Array = inverse.T @ inverse
    with np.errstate(over="ignore", invalid="ignore"):
        unit = unit / np.outer(scale, scale)
    open_ = (np.abs(directions[~known]) > math.sqrt(UNDETERMINED)).any(axis=0) | ~fine
    unit[np.diag_indices(len(unit))] = np.where(open_, math.inf, np.diag(unit))
    return unit


# ---- single rows ---------------------------------------------------------------------------------

#: The constants are fitted again without a row of more leverage than this.
HIGH_LEVERAGE = 0.9
#: A term is for few rows only if so many have this share of its sum of squares ...
FEW_ROWS = 2
MOST_OF_IT = 0.9
#: ... and its norm on the others, in units of a typical residual there, is below this.
MEASURABLE = 3.0


def leave_one_out(law: LawLike, data: Training) -> float:
    """Return the error on rows left out one at a time, to first order (PRESS).

    Residuals are divided by 1 - leverage. For the few rows that nearly determine a constant by
    themselves, the linearised law is fitted to the other rows instead; linear coefficients that
    those do not determine are 0 then.
    """
    _, left, jacobian = linear_rows(law, data)
    if not np.isfinite(left).all():
        return math.inf
    sizes = _safe_norms(jacobian)
    jacobian = jacobian / sizes
    inverse = np.linalg.pinv(np.linalg.qr(jacobian, mode="r"), rcond=UNDETERMINED)
    leverage = ((jacobian @ inverse) ** 2).sum(axis=1)
    high = leverage > HIGH_LEVERAGE
    errors = left / (1.0 - np.where(high, 0.0, leverage))
    # With the linear part added the least solution has 0 for what is undetermined; constants inside
    # arguments have no natural zero.
    linear = constants(law)
    linear[len(linear) - len(weights(law)) :] = 0.0
    columns = np.column_stack([jacobian, left + jacobian @ (linear * sizes)])
    errors[high] = _errors_without(columns, np.flatnonzero(high))
    return data.loss.error(errors)


def _errors_without(columns: Array, high: Indices) -> Array:
    """Return the error of each row in `high` of [J, y], fitted to all rows but it."""
    rest = np.delete(columns, high, axis=0)
    if len(high) and len(rest):
        rest = np.asarray(np.linalg.qr(rest, mode="r"))
    errors = np.empty(len(high))
    for k, row in enumerate(columns[high]):
        others = np.vstack([rest, columns[np.delete(high, k)]])
        found = np.linalg.lstsq(others[:, :-1], others[:, -1], rcond=UNDETERMINED)[0]
        errors[k] = row[-1] - row[:-1] @ found
    return errors


def lives_on_few_rows(law: LawLike, data: Training) -> bool:
    """Return whether a term of the law fits one or two rows only.

    Nearly all of its sum of squares, on the scale of y, is on these then, and on the others it has
    no part that could be measured beside the rest of the law.
    """
    _, left, jacobian = linear_rows(law, data)
    n, c = jacobian.shape
    if n - FEW_ROWS <= c or not np.isfinite(left).all():
        return False
    return any(_is_local(j, float(alpha), jacobian, left) for j, alpha in enumerate(law.alpha))


def _is_local(j: int, alpha: float, jacobian: Array, left: Array) -> bool:
    term = alpha * jacobian[:, j]
    largest = float(np.abs(term).max())
    if largest == 0.0 or not math.isfinite(largest):
        return largest != 0.0
    shares = (term / largest) ** 2
    few = np.argsort(shares)[-FEW_ROWS:]
    if shares[few].sum() < MOST_OF_IT * shares.sum():
        return False
    others = np.delete(np.delete(jacobian, few, axis=0), j, axis=1)
    sizes, mine = _safe_norms(others), np.delete(term, few)
    fitted = np.linalg.lstsq(others / sizes, mine, rcond=UNDETERMINED)[0] / sizes
    beside = mine - others @ fitted
    typical = OF_MEDIAN * float(np.median(np.abs(np.delete(left, few))))
    return float(np.linalg.norm(beside)) < MEASURABLE * typical


def _safe_norms(columns: Array) -> Array:
    """Return the norms of columns, 1 for zeros; squares of the numbers may overflow or vanish."""
    peaks = np.abs(columns).max(axis=0, initial=0.0)
    sized = columns / np.where(peaks > 0, peaks, 1.0)
    return np.where(peaks > 0, np.linalg.norm(sized, axis=0) * peaks, 1.0)


# ---- predictions ---------------------------------------------------------------------------------


def prediction_std(
    entry: FrontEntry, X: npt.ArrayLike, kind: str = "prediction", sigma: Array | None = None
) -> Array:
    """Return standard deviations of a law's predictions, on the scale of y.

    They are those of new measurements (of rows with standard deviations `sigma`, if the law was
    fitted with such), or of the law's own y if `kind` is ``"mean"``. To first order in the errors
    of the constants; that the law was searched for is not in it.
    """
    return _std(entry, np.asarray(X, dtype=float), entry.equation.predict(X), kind, sigma)


def prediction_interval(
    entry: FrontEntry,
    X: npt.ArrayLike,
    level: float = 0.95,
    kind: str = "prediction",
    sigma: Array | None = None,
) -> Array:
    """Return intervals of Student's t around a law's predictions."""
    solution = entry.equation.predict(X)
    std = _std(entry, np.asarray(X, dtype=float), solution, kind, sigma)
    return entry.uncertainty.ends(solution, std, level)


def _std(entry: FrontEntry, X: Array, solution: Array, kind: str, sigma: Array | None) -> Array:
    equation = entry.equation

    def slopes(X: Array, y: Array) -> Array:
        scale = TargetScale(entry.law, Training(equation.library, equation.target_library, X, y))
        with np.errstate(all="ignore"):
            return np.asarray(scale.slopes(X, y) / scale.slope(y)[:, None])

    return deviations(entry.uncertainty, slopes, X, solution, kind, sigma)


def deviations(
    known: Uncertainty,
    slopes: Callable[[Array, Array], Array],
    X: Array,
    solution: Array,
    kind: str,
    sigma: Array | None = None,
) -> Array:
    """Return standard deviations of predictions, to first order in the errors of constants.

    `slopes` gives dy/dc for rows of X and the predictions there. The result is NaN where there is
    no prediction, and infinite where the data leave y open.
    """
    if kind not in ("prediction", "mean"):
        raise GSRError(f"kind must be 'prediction' or 'mean', got {kind!r}")
    if sigma is not None and known.noise.kind != "given":
        raise GSRError("sigma is for laws that were fitted with sigma; this one was not")
    solved = np.isfinite(solution)
    variance = np.full(len(solution), np.nan)
    if solved.any():
        variance[solved] = _variance(slopes(X[solved], solution[solved]), known.covariance)
    if kind == "prediction":
        variance += known.noise.deviation(solution, known.sigma, sigma) ** 2
    return np.asarray(np.sqrt(variance))


def _variance(slopes: Array, covariance: Array) -> Array:
    """Return s C s^T of each row of slopes; infinite if an open constant has a part in it."""
    unknown = np.isinf(np.diag(covariance))
    fine = ~unknown
    with np.errstate(all="ignore"):
        known = slopes[:, fine]
        variance = np.einsum("ni,ij,nj->n", known, covariance[np.ix_(fine, fine)], known)
    is_open = (slopes[:, unknown] != 0.0).any(axis=1) | ~np.isfinite(slopes).all(axis=1)
    return np.where(is_open, np.inf, np.maximum(variance, 0.0))
