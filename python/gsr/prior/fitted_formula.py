"""A known formula with its constants fitted: their errors, and bands around its predictions."""

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
from gsr.prior.formula_constants import Encode, NamedConstants
from gsr.prior.formula_fit import fit, some_rows
from gsr.selection.fitted import FittedLaw, Training
from gsr.selection.front_entries import fit_orthogonal
from gsr.selection.noise import Loss, Noise, neighbour_residuals, of_kind
from gsr.selection.noise_choice import choose_noise, noise_of_weights
from gsr.selection.target_scale import TargetScale, rmse
from gsr.selection.uncertainty import Uncertainty, deviations, of_constants
from gsr.transformation import Array
from gsr.validation import as_sigma

#: Constants and the weights that follow from them are improved in turn so often.
ROUNDS = 4
#: A law whose error is not this part smaller is the same law.
EQUAL = 1e-6
LEVEL = 0.95


class Constant(NamedTuple):
    """A fitted constant of a formula.

    Parameters
    ----------
    value, error : float
        The constant and its standard error; infinite if the data leave it open.
    low, high : float
        The ends of its confidence interval.
    held : bool
        Whether it is held at 1 since only its ratio to other constants can be known, as of c in
        ``"(a + b x)/(c + d x)"``.
    """

    value: float
    error: float
    low: float
    high: float
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
    named : NamedConstants
        The formula as a function of these constants.
    """

    rmse: float = math.nan
    uncertainty: Uncertainty = field(repr=False)
    named: NamedConstants = field(repr=False)

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
        ends = self.uncertainty.intervals(LEVEL)
        known = self.uncertainty
        found = {
            name: Constant(float(value), float(error), float(low), float(high))
            for name, value, error, (low, high) in zip(
                known.names, known.values, known.errors, ends, strict=True
            )
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
        ends = self.uncertainty.intervals(level)
        values = zip(self.uncertainty.names, self.uncertainty.values, ends, strict=True)
        return {
            name: (float(value), float(low), float(high)) for name, value, (low, high) in values
        }

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
        if not 0.0 < level < 1.0:
            raise GSRError(f"level must be between 0 and 1, got {level!r}")
        values = super().predict(X)
        half = self.uncertainty.quantile(level) * self._deviations(X, values, kind, sigma)
        return np.column_stack([values - half, values + half])

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

    def uncertainty(self, named: NamedConstants) -> Uncertainty:
        """Return the errors of the formula's own constants."""
        data = self.data
        residuals = data.y - TargetScale(self.law, data).solve(data.X, data.y)
        around = named.linearise(self.packed, residuals, data)
        scales = None
        if not data.loss.is_squared:
            roots = np.ones(len(data.y)) if data.weights is None else np.sqrt(data.weights)
            scales = data.loss.scales(residuals * roots, len(self.packed))
        return of_constants(named.names, self.packed, around, data, scales)

    @property
    def rmse(self) -> float:
        """Root mean square of the residuals, whatever was minimised."""
        return rmse(self.law, replace(self.data, loss=Loss()))


def fit_constants(named: NamedConstants, encoded: Encode, data: Training, errors: str) -> Fit:
    """Fit the constants of a formula, and find out about the noise.

    Parameters
    ----------
    named : NamedConstants
        The formula.
    encoded : callable
        Gives its structure for values of the constants and for coefficients of all terms.
    data : Training
        The rows, with weights as far as they are known.
    errors : {"auto", "constant", "relative", "poisson"}
        How measurements scatter.
    """
    if errors in ("relative", "poisson"):
        data = data.with_noise(of_kind(errors, data.y), data.y)  # type: ignore[arg-type]
    found = fit(named.known, encoded, _to_start(data))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        solved = named.model.solve(found.theta, *some_rows(data, len(data.y)))
        if solved is None:
            raise GSRError("no constants were found for which the formula is defined on all rows")
        packed = named.pack(found.theta, solved.coefficients)
        packed, law = named.refine(packed, encoded, data)
        if data.loss.is_squared and not law.rmse < (1.0 + EQUAL) * found.law.rmse:
            law = found.law
        if found.law.exact:
            return Fit(found.law, packed, data)
        noise = _noise(law, data, errors)
        for _ in range(ROUNDS if noise.follows_law else 0):
            values = TargetScale(law, data).solve(data.X, data.y)
            data = data.with_noise(noise, values)
            packed, law = named.refine(packed, encoded, data)
        data = replace(data, noise=data.noise if noise.follows_law else noise)
        fitted = Fit(law, packed, data)
        return fitted if data.x_sigma is None else _orthogonal(named, encoded, fitted)


def _to_start(data: Training) -> Training:
    """Return the rows for a first fit by squares, which outliers must not lead astray."""
    if data.loss.is_squared:
        return data
    if data.loss.kind == "quantile":
        return replace(data, loss=Loss())
    return data.reweighted(data.loss.search_weights(neighbour_residuals(data.X, data.y)))


def _orthogonal(named: NamedConstants, encoded: Encode, fitted: Fit) -> Fit:
    """Fit the constants again, with the errors of the features."""
    packed = fitted.packed

    def refit(_: FittedLaw, rows: Training) -> FittedLaw:
        nonlocal packed
        packed, law = named.refine(packed, encoded, rows)
        return law

    law, rows = fit_orthogonal(fitted.law, fitted.data, refit)
    return Fit(law, packed, rows)


def _noise(law: FittedLaw, data: Training, errors: str) -> Noise:
    """Return the noise of the rows: as it is known, or as the residuals tell."""
    if data.noise.kind != "constant":
        return data.noise
    if data.weights is not None:
        return noise_of_weights(law, data)
    chosen = choose_noise([law], data) if errors == "auto" else None
    return data.noise if chosen is None else chosen.data.noise
