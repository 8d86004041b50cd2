"""A known formula fitted to data: its constants with their errors, and bands around predictions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.prior.formula_model import FormulaModel, roots
from gsr.selection import refit as linear
from gsr.selection import target_scale
from gsr.selection.fitted import FittedLaw, Training, constants, polished
from gsr.selection.front_entries import fit_orthogonal
from gsr.selection.noise import Loss, Noise, neighbour_residuals, of_kind
from gsr.selection.noise_choice import choose_noise, noise_of_weights
from gsr.selection.residuals import Level, residual_level
from gsr.selection.target_scale import TargetScale, refine
from gsr.selection.uncertainty import Uncertainty, deviations, of_constants
from gsr.threads import one_thread
from gsr.transformation import Array
from gsr.validation import as_sigma

LEVEL = 0.95
#: Constants and the weights that follow from them are improved in turn so often.
ROUNDS = 4
#: A law whose error is not this part smaller is the same law.
EQUAL = 1e-6
SCAN_ROWS = 200
POLISH_ROWS = 5000
#: Points of a scan over several constants, and over one.
SCANNED = 2000
GRID = 250
#: Scanned magnitudes are from 10^-DECADES to 10^DECADES.
DECADES = 3.0
POLISHED = 8
EVALUATIONS = 60
#: Errors, relative to the spread of y, that need no further start.
EXACT = 1e-9
WORST = 1e6
UNDEFINED = "no constants were found for which the formula is defined on all rows"


class Constant(NamedTuple):
    """A fitted constant of a formula."""

    #: The constant and its standard error; infinite if the data leave it open.
    value: float
    error: float
    #: The ends of its confidence interval.
    low: float
    high: float
    #: It is held at 1 since only its ratio to other constants can be known, as of c in
    #: ``"(a + b x)/(c + d x)"``.
    held: bool = False


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FittedFormula(Equation):
    """A formula that `gsr.fit_formula` has fitted: an `Equation`, with how far it can be trusted.

    Parameters
    ----------
    rmse : float
        Error on the training rows, on the scale of y; weighted if the noise is not constant.
    uncertainty : Uncertainty
        Covariance of the formula's own constants, and the noise.
    named : FormulaModel
        The formula as a function of these constants.
    """

    rmse: float = math.nan
    uncertainty: Uncertainty = field(repr=False)
    named: FormulaModel = field(repr=False)

    def __repr__(self) -> str:
        return "\n".join([str(self), *self._names()])

    def _names(self) -> Iterator[str]:
        """Yield which names of the formula are columns, and which are constants."""
        used = self.named.columns
        columns, unused = (
            ", ".join(name for j, name in enumerate(self.feature_names) if (j in used) == wanted)
            for wanted in (True, False)
        )
        yield f"columns: {columns or 'none'}" + (f"; not used: {unused}" if unused else "")
        held = self.named.held
        constants = [name + " (held at 1)" * (name in held) for name in self.named.written]
        if constants:
            yield f"constants: {', '.join(constants)}"

    # ---- constants ---------------------------------------------------------------------------

    @property
    def equation(self) -> Equation:
        """The law itself."""
        return self

    @property
    def constants(self) -> dict[str, Constant]:
        """The constants by the names of the formula, with intervals of 95 %."""
        known = self.uncertainty
        errors = dict(zip(known.names, known.errors.tolist(), strict=True))
        found = {
            name: Constant(value, errors[name], low, high)
            for name, (value, low, high) in self.intervals().items()
        }
        held = {name: Constant(1.0, 0.0, 1.0, 1.0, held=True) for name in self.named.held}
        return {**found, **held}

    def intervals(self, level: float = LEVEL) -> dict[str, tuple[float, float, float]]:
        """Return each constant with its confidence interval.

        Parameters
        ----------
        level : float
            Confidence, between 0 and 1.

        Returns
        -------
        dict
            Name of the constant to (value, lower end, upper end): letters of the formula, c1,
            c2, ... for numbers that are fitted inside functions (see `summary`), and
            ``"coefficient of ..."`` for terms without a letter.
        """
        return self.uncertainty.by_name(level)

    @property
    def noise_(self) -> str:
        """How measurements scatter around the formula, in one line."""
        if self.level == "rounding":
            return "scatter is rounding"
        return self.uncertainty.noise.describe(self.target_name, self.uncertainty.sigma)

    def summary(self) -> str:
        """Return the law, its constants with standard errors, and what it leaves, as text."""
        numbers = {
            name: f" ({value:g} in the formula)" for name, value in self.named.numbers.items()
        }
        constants = [
            f"  {name} = {c.value:.6g}"
            + (" (held)" if c.held else f" ± {c.error:.2g}")
            + numbers.get(name, "")
            for name, c in self.constants.items()
        ]
        error = "weighted rmse" if self.uncertainty.noise.kind != "constant" else "rmse"
        left = f"residual: {self.level}, {error} {self.rmse:.3g}; {self.noise_}"
        return "\n".join([repr(self), *constants, left])

    # ---- predictions -------------------------------------------------------------------------

    def predict(
        self,
        X: npt.ArrayLike,
        *,
        return_std: bool = False,
        sigma: npt.ArrayLike | None = None,
    ) -> Any:
        """Solve the law for y.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        return_std : bool
            Also return the standard deviation of each prediction, that of the noise included.
        sigma : array of shape (n,), or float, optional
            For `return_std`: standard deviations of the new measurements, if the formula was
            fitted with `sigma`.

        Returns
        -------
        array of shape (n,)
            With `return_std` a pair of arrays.
        """
        values = super().predict(X)
        if not return_std:
            return values
        return values, self._deviations(X, values, "prediction", sigma)

    def predict_interval(
        self,
        X: npt.ArrayLike,
        level: float = LEVEL,
        *,
        kind: str = "prediction",
        sigma: npt.ArrayLike | None = None,
    ) -> Array:
        """Return intervals for y.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        level : float
            Probability, between 0 and 1, that an interval holds y, if the formula is right.
        kind : {"prediction", "mean"}
            For a new measurement, noise included, or for the formula's value.
        sigma : array of shape (n,), or float, optional
            Standard deviations of the new measurements, if the formula was fitted with `sigma`;
            interpolated from those of the training rows unless given.

        Returns
        -------
        array of shape (n, 2)
            Lower and upper ends.
        """
        values = super().predict(X)
        return self.uncertainty.ends(values, self._deviations(X, values, kind, sigma), level)

    def _deviations(self, X: Any, values: Array, kind: str, sigma: Any) -> Array:
        packed = self.uncertainty.values
        return deviations(
            self.uncertainty,
            lambda rows, y: self.named.slopes(packed, rows, y),
            np.asarray(X, dtype=float),
            values,
            kind,
            as_sigma(sigma, values),
        )


# ---- the fit -----------------------------------------------------------------------------------


class Fit(NamedTuple):
    """A formula fitted under its noise: the law, its constants, and the weighted rows."""

    law: FittedLaw
    packed: Array
    data: Training

    def uncertainty(self, model: FormulaModel) -> Uncertainty:
        """Return the errors of the formula's own constants."""
        data = self.data
        residuals = data.y - TargetScale(self.law, data).solve(data.X, data.y)
        around = model.linearise(self.packed, residuals, data)
        scales = None
        if not data.loss.is_squared:
            scales = data.loss.scales(residuals * roots(data), len(self.packed))
        return of_constants(model.names, self.packed, around, data, scales)

    @property
    def rmse(self) -> float:
        """Root mean square of the residuals, for any loss."""
        return target_scale.rmse(self.law, replace(self.data, loss=Loss()))

    @property
    def level(self) -> Level:
        """What the law leaves of the data."""
        try:
            return residual_level(self.law, self.data)
        except np.linalg.LinAlgError:  # predictions that are all the same, or huge
            return "unknown"


def fit_constants(model: FormulaModel, data: Training, errors: str) -> Fit:
    """Fit the constants of a formula, and estimate the noise."""
    if errors in ("relative", "poisson"):
        data = data.with_noise(of_kind(errors, data.y), data.y)  # type: ignore[arg-type]
    first, theta = fit(model, _to_start(data))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        solved = model.solve(theta, data.X, data.y, roots(data))
        if solved is None:
            raise GSRError(UNDEFINED)
        packed, law = model.refine(model.pack(theta, solved[0]), data)
        if data.loss.is_squared and not law.rmse < (1.0 + EQUAL) * first.rmse:
            law = first
        if first.exact:
            return Fit(first, packed, data)
        noise = _noise(law, data, errors)
        for _ in range(ROUNDS if noise.follows_law else 0):
            values = TargetScale(law, data).solve(data.X, data.y)
            data = data.with_noise(noise, values)
            packed, law = model.refine(packed, data)
        data = replace(data, noise=data.noise if noise.follows_law else noise)
        return _orthogonal(model, Fit(law, packed, data))


def _to_start(data: Training) -> Training:
    """Return the rows for a first least-squares fit, with less weight on outliers."""
    if data.loss.is_squared:
        return data
    if data.loss.kind == "quantile":
        return replace(data, loss=Loss())
    return data.reweighted(data.loss.search_weights(neighbour_residuals(data.X, data.y)))


def _orthogonal(model: FormulaModel, fitted: Fit) -> Fit:
    """Fit the constants again, with the errors of the features if there are any."""
    if fitted.data.x_sigma is None:
        return fitted
    packed = fitted.packed

    def refit(_: FittedLaw, rows: Training) -> FittedLaw:
        nonlocal packed
        packed, law = model.refine(packed, rows)
        return law

    law, rows = fit_orthogonal(fitted.law, fitted.data, refit)
    return Fit(law, packed, rows)


def _noise(law: FittedLaw, data: Training, errors: str) -> Noise:
    """Return the noise of the rows: as given, or as estimated from the residuals."""
    if data.noise.kind != "constant":
        return data.noise
    if data.weights is not None:
        return noise_of_weights(law, data)
    chosen = choose_noise([law], data) if errors == "auto" else None
    return data.noise if chosen is None else chosen.data.noise


# ---- the first fit: linear constants by least squares, the others from a scan -----------------


def fit(model: FormulaModel, data: Training) -> tuple[FittedLaw, Array]:
    """Return a formula as a law, and its constants inside functions before the last polish."""
    n_constants = len(model.inner) + len(model.free)
    if len(data.y) < n_constants:
        raise GSRError(f"{len(data.y)} rows are too few for {n_constants} constants")
    spread = data.spread or 1.0
    best: tuple[FittedLaw, Array] | None = None
    # Matrices are narrow: to start threads for them costs more than they save.
    with one_thread(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for start in _starts(model, data):
            theta = _polished(model, start, data)
            law = _law(model, theta, data)
            if law is not None and (best is None or law.rmse < best[0].rmse):
                best = law, theta
            if best is not None and best[0].rmse < EXACT * spread:
                break
        if best is None or not math.isfinite(best[0].rmse):
            raise GSRError(UNDEFINED)
        law, theta = best
        return linear.confirm(FittedLaw.of(law, exact=True), data), theta


def _law(model: FormulaModel, theta: Array, data: Training) -> FittedLaw | None:
    """Return the law of some constants, polished on the scale of y where they are independent."""
    solved = model.solve(theta, data.X, data.y, roots(data))
    if solved is None:
        return None
    try:
        law, moved = (
            model.law(values, solved[0], data) for values in (theta, theta * (1 + 1e-3) + 1e-6)
        )
    except GSRError:  # a coefficient of 0, or a weight that vanishes
        return None
    laws = [law]
    before, after = constants(law), constants(moved)
    if model.all_free and len(before) == len(after):
        laws.append(linear.refit(law, data))
        n_linear = len(law.alpha) + len(law.beta) - 1
        free = before != after
        if free[n_linear:].sum() <= len(model.inner):
            free[:n_linear] = True
            laws.append(refine(laws[1], data, free))
    laws = [FittedLaw.of(each, rmse=target_scale.rmse(each, data)) for each in laws]
    return min(laws, key=lambda each: each.rmse)


def _polished(model: FormulaModel, theta: Array, data: Training) -> Array:
    """Return the constants inside after Gauss-Newton steps."""
    rows = _some_rows(data, POLISH_ROWS)
    evaluations = EVALUATIONS * (1 + len(theta))
    return polished(lambda inside: _residuals(model, inside, *rows), theta, evaluations)


def _residuals(model: FormulaModel, theta: Array, X: Array, y: Array, roots: Array) -> Array:
    """Return the residuals; large ones where the formula is undefined."""
    solved = model.solve(theta, X, y, roots)
    if solved is None or not np.isfinite(solved[1]).all():
        return np.full(len(y), WORST * float(np.std(y) or 1.0))
    return solved[1]


def _some_rows(data: Training, most: int) -> tuple[Array, Array, Array]:
    """Return at most so many rows, evenly spaced: X, y and the roots of the weights."""
    rows = np.unique(np.linspace(0, len(data.y) - 1, min(len(data.y), most)).astype(int))
    return data.X[rows], data.y[rows], roots(data)[rows]


def _starts(model: FormulaModel, data: Training) -> Iterator[Array]:
    """Yield values for the constants inside, the most promising first."""
    given = [model.known.starts[s] for s in model.inner]
    open_ = [j for j, value in enumerate(given) if value is None]
    base = np.array([1.0 if value is None else value for value in given])
    if not open_:
        yield base
        return
    rows = _some_rows(data, SCAN_ROWS)
    values = _grid(rows[0]) if len(open_) == 1 else _spread(len(open_), rows[0])
    points = np.tile(base, (len(values), 1))
    points[:, open_] = values
    errors = np.array([np.linalg.norm(_residuals(model, theta, *rows)) for theta in points])
    yield from _distinct(points, errors)


def _grid(X: Array) -> Array:
    """Return values of one constant: small and large ones, and even steps for frequencies."""
    width = float(np.ptp(X, axis=0).max()) or 1.0
    size = np.concatenate([np.logspace(-DECADES, DECADES, GRID), np.arange(1, GRID) / width])
    centres = np.linspace(X.min(), X.max(), GRID // 4)
    return np.unique(np.concatenate([size, -size, centres]))[:, None]


def _spread(n: int, X: Array) -> Array:
    """Return quasi-random values of several constants, of all magnitudes and signs."""
    from scipy.stats import qmc

    drawn = qmc.Halton(3 * n, seed=0).random(SCANNED)
    sizes = 10.0 ** (DECADES * (2.0 * drawn[:, :n] - 1.0) / 1.5)
    unit = float(np.median(np.abs(X))) or 1.0
    sizes *= unit ** np.floor(3.0 * drawn[:, n : 2 * n] - 1.0)
    values: Array = np.where(drawn[:, 2 * n :] < 0.6, sizes, -sizes)
    return values


def _distinct(points: Array, errors: Array) -> Iterator[Array]:
    chosen: list[Array] = []
    for k in np.argsort(errors, kind="stable"):
        near = [np.allclose(points[k], other, rtol=0.05) for other in chosen]
        if not any(near):
            chosen.append(points[k])
            yield points[k]
        if len(chosen) == POLISHED:
            return
