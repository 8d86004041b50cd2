"""`GSRDynamics`: equations of motion from measured series."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from gsr.dynamics import trajectories as series
from gsr.dynamics.matching import Matching
from gsr.dynamics.presentation import MotionPresentation
from gsr.dynamics.shooting import Law, Option, Shooting
from gsr.dynamics.simulation import UNBOUNDED, inputs_at, integrate, iterate, warn_if_cut
from gsr.dynamics.smoothing import Smoothed, smooth
from gsr.dynamics.trajectories import Trajectory
from gsr.equation import check_names
from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError, PredictionWarning
from gsr.selection import FrontEntry, choice
from gsr.selection.fitted import FAILURES, FittedLaw, constants
from gsr.transformation import Array

#: Parts of `max_time` for the searches, and for the fit by simulation at most.
SEARCH, SHOOTING = 0.75, 0.22
TIME = "t"
#: Number of laws with the shortest descriptions that are checked for poles and terms of a few rows.
FEW = 20
#: Laws whose description by integrals is at most this many bits longer than the shortest are
#: compared by simulation. If integrals do not distinguish the laws, those with the shortest
#: descriptions of the derivatives are compared as well. The second number limits either kind.
AMBIGUOUS, RIVALS = 20.0, 3
#: Standard deviations of a derivative are at least this part of its spread: the interpolation error
#: of the spline between noise-free points is smooth, and would be taken for structure.
LEAST_STD = 1e-6


class GSRDynamics(MotionPresentation, BaseEstimator):  # type: ignore[misc]
    """Equations of motion dx/dt = f(x, u, t), or maps x[k + 1] = f(x[k], u[k]), from series.

    The states are smoothed by splines whose smoothness and noise are estimated by restricted
    maximum likelihood. A `GSRRegressor` searches for laws of each derivative. These laws are then
    compared on the measurements by their integrals, without derivatives, and the constants of the
    chosen laws are fitted together by simulation.

    Parameters
    ----------
    regressor : GSRRegressor, optional
        Searches for the law of each state, with options such as `library`, `units` or
        `max_terms`. Its `max_time` is replaced unless `max_time` is None here.
    max_time : float or None, default 20
        Total time in seconds, divided evenly among the states.
    discrete_time : bool, default False
        Search for a map from each row to the next.
    order : {1, 2}, default 1
        Order of the equations. With 2, only positions are measured: laws give their second
        derivatives, and may contain positions and velocities.
    time_feature : bool, default False
        Whether the time is a feature, as in driven systems; it is called ``"t"``.
    refine : bool, default True
        Fit the constants by simulation at the end.
    random_state : int, optional
        Seed of the searches.

    Attributes
    ----------
    models_ : dict
        From the name of each state to the fitted `GSRRegressor` of its derivative.
    equations_ : dict
        From the name of each state to the front of its laws as a table.
    feature_names_ : list of str
        Names of the states, then of the velocities if `order` is 2 (``"x'"``), then of the inputs,
        then ``"t"`` if the time is a feature.
    trajectories_ : list of Trajectory
        The measured series, split at gaps; a loaded model has none.
    noise_ : dict
        Standard deviation of the measurements of each state; for maps and measured derivatives,
        the error of its law.
    simulation_error_ : dict
        Root mean square of the residuals of the simulated series for each state; empty if the
        constants were not fitted by simulation.
    standard_errors_ : dict
        For each state, the standard errors of the constants of its law, by simulation.
    fit_time_ : float
        Seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from gsr import GSRDynamics
    >>> t = np.linspace(0, 4, 60)
    >>> model = GSRDynamics(random_state=0).fit(3 * np.exp(-0.7 * t), t)
    >>> print(model.equations()[0])
    x0' = -0.7 x0
    """

    def __init__(
        self,
        *,
        regressor: GSRRegressor | None = None,
        max_time: float | None = 20.0,
        discrete_time: bool = False,
        order: int = 1,
        time_feature: bool = False,
        refine: bool = True,
        random_state: Any = None,
    ) -> None:
        self.regressor = regressor
        self.max_time = max_time
        self.discrete_time = discrete_time
        self.order = order
        self.time_feature = time_feature
        self.refine = refine
        self.random_state = random_state

    # ---- fitting -----------------------------------------------------------------------------

    def fit(
        self,
        x: Any,
        t: Any = 1.0,
        x_dot: Any = None,
        u: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> GSRDynamics:
        """Search for equations of motion.

        Parameters
        ----------
        x : array or data frame of shape (n, d), or a list of them
            States, one row for each time; a list holds several trajectories. Rows with missing
            values are left out.
        t : array of shape (n,), float, or a list of arrays
            Times, or the time between two rows.
        x_dot : like x, optional
            Derivatives, if they were measured.
        u : like x, optional
            Inputs.
        feature_names : sequence of str, optional
            Names of the states, and of the inputs; those of a data frame unless given.

        Returns
        -------
        GSRDynamics
            The estimator itself.
        """
        start = time.perf_counter()
        self._check_order(x_dot)
        given = series.read(x, t, x_dot, u)
        self.trajectories_ = given
        self._name(x, given[0], feature_names)
        self._check_motion(given)
        self.largest_ = UNBOUNDED * max(float(np.abs(each.x).max()) for each in given)
        self.simulation_error_: dict[str, float] = {}
        self.standard_errors_: dict[str, Array] = {}
        if self.discrete_time or x_dot is not None:
            self._fit_rows(given)
        else:
            self._fit_series(given, start)
        self.fit_time_ = time.perf_counter() - start
        return self

    def _check_order(self, x_dot: Any) -> None:
        if self.order not in (1, 2):
            raise GSRError(f"order must be 1 or 2, got {self.order!r}", "order")
        if self.order == 2 and (self.discrete_time or x_dot is not None):
            wrong = "discrete_time" if self.discrete_time else "x_dot"
            raise GSRError(f"order=2 is for positions over time: leave out {wrong}", "order")

    def _check_motion(self, given: Sequence[Trajectory]) -> None:
        still = np.all([np.ptp(each.x, axis=0) == 0.0 for each in given], axis=0)
        for name in np.array(self.states_)[still]:
            raise GSRError(
                f"the state {str(name)!r} is the same in every row: it has no equation of motion; "
                "leave it out, or pass it in u"
            )

    def _name(self, x: Any, first: Trajectory, feature_names: Sequence[str] | None) -> None:
        n_states, n_inputs = first.x.shape[1], first.u.shape[1]
        names = series.names_of(x, n_states, feature_names)
        if len(names) == n_states:
            names += [f"u{j}" for j in range(n_inputs)]
        if len(names) != n_states + n_inputs:
            raise GSRError(
                f"there are {n_states} states and {n_inputs} inputs, but {len(names)} feature_names"
            )
        self.n_states_, self.n_inputs_ = n_states, n_inputs
        velocities = [f"{name}'" for name in names[:n_states]] if self.order == 2 else []
        time = [TIME] if self.time_feature else []
        self.feature_names_ = [*names[:n_states], *velocities, *names[n_states:], *time]
        check_names(tuple(self.feature_names_), self._target(0), len(self.feature_names_))

    def _fit_rows(self, given: Sequence[Trajectory]) -> None:
        """Search where the target needs no derivative: maps, and measured derivatives."""
        rows = [(self._features(each.x, each.u, each.t), each.x, each.x_dot) for each in given]
        if self.discrete_time:
            features = np.concatenate([row[:-1] for row, _, _ in rows])
            target = np.concatenate([x[1:] for _, x, _ in rows])
        else:
            features = np.concatenate([row for row, _, _ in rows])
            target = np.concatenate([x_dot for _, _, x_dot in rows if x_dot is not None])
        self.models_ = {
            name: self._search(j, features, target[:, j], None)
            for j, name in enumerate(self.states_)
        }
        self.noise_ = {name: each.get_best().rmse for name, each in self.models_.items()}

    def _fit_series(self, given: Sequence[Trajectory], start: float) -> None:
        """Search for laws of the derivatives of smoothed series."""
        states = [self._states(each) for each in given]
        features = np.concatenate(
            [self._features(x, each.u, each.t) for x, each in zip(states, given, strict=True)]
        )
        smoothed = [[smooth(each.t, column, self.order) for column in each.x.T] for each in given]
        self.models_, noise, options = {}, [], []
        for j, name in enumerate(self.states_):
            parts = [each[j] for each in smoothed]
            noise.append(float(np.sqrt(np.mean([part.noise**2 for part in parts]))))
            model = self._search(j, features, *_derivatives(parts))
            options.append(_choose(model, Matching(given, parts, j, features, self.order)))
            self.models_[name] = model
        self.noise_ = dict(zip(self.states_, noise, strict=True))
        slopes = [np.column_stack([each.slopes for each in parts]) for parts in smoothed]
        fitting = Shooting(given, states, slopes, np.array(noise), self.time_feature)
        until = None if self.max_time is None else start + self.max_time
        self._present(options, fitting, until)

    def _present(
        self, options: Sequence[Sequence[Candidate]], fitting: Shooting, until: float | None
    ) -> None:
        """Choose a law for each state; with `refine`, choose and fit by simulation."""
        refine, places = self.refine and all(options), [0] * len(options)
        if refine:
            places = fitting.choose([[each.option for each in of] for of in options], until)
        chosen = [of[place : place + 1] for of, place in zip(options, places, strict=True)]
        for model, only in zip(self.models_.values(), chosen, strict=True):
            for each in only:
                _present(model, each)
        if refine:
            self._refine([only[0].option.law for only in chosen], fitting, until)

    def _states(self, trajectory: Trajectory) -> Array:
        """Return the smoothed states, including velocities."""
        parts = [smooth(trajectory.t, column) for column in trajectory.x.T]
        velocities = [part.slopes for part in parts] if self.order == 2 else []
        return np.column_stack([*(part.values for part in parts), *velocities])

    def initial_state(self, trajectory: Trajectory) -> Array:
        """Return the smoothed state at the start of a series, for `simulate`."""
        states = trajectory.x if self.discrete_time else self._states(trajectory)
        return np.asarray(states[0])

    def rows(self) -> tuple[Array, Array, Array]:
        """Return times, features and targets of the measured rows; velocities are smoothed."""
        found = []
        for each in self.trajectories_:
            if self.discrete_time:
                features = self._features(each.x, each.u, each.t)[:-1]
                found.append((each.t[:-1], features, each.x[1:]))
                continue
            velocities = self._states(each)[:, self.n_states_ :]
            features = self._features(np.column_stack([each.x, velocities]), each.u, each.t)
            found.append((each.t, features, self._derivatives(each)))
        t, X, y = map(np.concatenate, zip(*found, strict=True))
        return t, X, y

    def _derivatives(self, trajectory: Trajectory) -> Array:
        """Return the targets of the laws: measured derivatives, or those of the smoothed series."""
        if trajectory.x_dot is not None:
            return trajectory.x_dot
        parts = [smooth(trajectory.t, column, self.order) for column in trajectory.x.T]
        return np.column_stack([part.slopes for part in parts])

    def _features(self, x: Array, u: Array, t: Array) -> Array:
        return np.column_stack([x, u, *([t] if self.time_feature else [])])

    def _search(self, j: int, features: Array, target: Array, sigma: Array | None) -> GSRRegressor:
        """Return the fitted regressor of one state."""
        model: GSRRegressor
        model = GSRRegressor() if self.regressor is None else clone(self.regressor)
        if self.regressor is None or self.random_state is not None:
            model.set_params(random_state=self.random_state)
        if self.max_time is not None:
            share = self.max_time if self.discrete_time else SEARCH * self.max_time
            model.set_params(max_time=share / self.n_states_)
        model.__dict__["_given_name"] = self._target(j)
        model.fit(_named(features, self.feature_names_), target, sigma=sigma)
        if model.status_ == "interrupted" and j < self.n_states_ - 1:
            raise KeyboardInterrupt  # without a law for each state there is no model
        return model

    def _target(self, j: int) -> str:
        return self.states_[j] + ("_next" if self.discrete_time else "'" * self.order)

    def _refine(self, laws: Sequence[Law], fitting: Shooting, until: float | None) -> None:
        """Fit the constants of all laws by simulation."""
        found = fitting.fit(laws, until)
        if found is None:
            return
        first = 0
        for j, (name, model) in enumerate(self.models_.items()):
            law = found.laws[j]
            size = len(law.constants)
            block = slice(first, first + size)
            covariance = found.covariance[block, block]
            _replace(model, law.law, covariance)
            self.standard_errors_[name] = np.sqrt(np.diag(covariance))
            self.simulation_error_[name] = float(found.error[j])
            first += size

    # ---- using -------------------------------------------------------------------------------

    def predict(self, x: Any, u: Any = None, t: Any = None) -> Array:
        """Return the derivatives, or the next states, at rows of states.

        Parameters
        ----------
        x : array of shape (n, d)
            States; for `order=2` positions, then velocities.
        u : array of shape (n, m), optional
            Inputs.
        t : array of shape (n,), optional
            Times, if the time is a feature.

        Returns
        -------
        array of shape (n, d)
        """
        check_is_fitted(self, "models_")
        states = np.asarray(x, dtype=float)
        states = states[:, None] if states.ndim == 1 else states
        inputs = np.empty((len(states), 0)) if u is None else np.asarray(u, dtype=float)
        inputs = inputs[:, None] if inputs.ndim == 1 else inputs
        n_states = self.order * self.n_states_
        if states.shape[1] != n_states or inputs.shape[1] != self.n_inputs_:
            raise GSRError(
                f"x must have {n_states} columns and u {self.n_inputs_}, got "
                f"{states.shape[1]} and {inputs.shape[1]}"
            )
        if self.time_feature and t is None:
            raise GSRError("the time is a feature: give t")
        times = np.zeros(len(states)) if t is None else np.asarray(t, dtype=float)
        rows = self._features(states, inputs, times)
        return np.column_stack([each.equation_.predict(rows) for each in self.models_.values()])

    def simulate(self, x0: Any, t: Any, u: Any = None) -> Array:
        """Return the states at the times, from an initial state.

        Parameters
        ----------
        x0 : array of shape (d,)
            State at the first time; for `order=2` positions, then velocities.
        t : array of shape (n,), or int for maps
            Increasing times, or the number of rows.
        u : callable or array of shape (n, m), optional
            Inputs as a function of time, or at the times.

        Returns
        -------
        array of shape (n, d)
            Rows after the simulation has left the finite range are NaN, with a warning.
        """
        check_is_fitted(self, "models_")
        start = np.atleast_1d(np.asarray(x0, dtype=float))
        n_states = self.order * self.n_states_
        if start.shape != (n_states,):
            raise GSRError(f"x0 must have {n_states} values, got shape {start.shape}")
        times = np.asarray(np.arange(int(t)) if np.ndim(t) == 0 else t, dtype=float)
        if len(times) == 0 or (np.diff(times) <= 0).any():
            raise GSRError("t must hold increasing times")
        inputs = inputs_at(u, times, self.n_inputs_)
        laws = [model.equation_ for model in self.models_.values()]

        def motion(now: float, x: Array) -> Array:
            row = self._features(x[None], inputs(now)[None], np.array([now]))
            return np.array([*x[self.n_states_ :], *(law.predict(row)[0] for law in laws)])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PredictionWarning)
            if self.discrete_time:
                found = iterate(motion, start, len(times), largest=self.largest_)
            else:
                found = integrate(motion, start, times, largest=self.largest_)
        warn_if_cut(found, times)
        return found

    def score(self, x: Any, t: Any = 1.0, x_dot: Any = None, u: Any = None) -> float:
        """Return R2 of the derivatives, or of the next states of a map, averaged over states.

        Parameters
        ----------
        x, t, x_dot, u
            As for `fit`. Without `x_dot` the derivatives are those of the smoothed series.

        Returns
        -------
        float
        """
        check_is_fitted(self, "models_")
        truth, prediction = [], []
        for each in series.read(x, t, x_dot, u):
            states, slopes = each.x, each.x_dot
            if self.discrete_time:
                each, states, slopes = each.take(slice(-1)), each.x[:-1], each.x[1:]
            elif slopes is None:
                states, slopes = self._states(each), self._derivatives(each)
            truth.append(slopes)
            prediction.append(self.predict(states, each.u, each.t))
        return float(r2_score(np.concatenate(truth), np.concatenate(prediction)))


def _named(features: Array, names: Sequence[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(features, columns=list(names))


def _derivatives(parts: Sequence[Smoothed]) -> tuple[Array, Array]:
    """Return the derivatives of one state with their standard deviations."""
    slopes = np.concatenate([part.slopes for part in parts])
    # Neighbouring rows of a smooth series err alike: together they count as its degrees of freedom.
    wide = [part.slope_std * np.sqrt(len(part.values) / part.freedom) for part in parts]
    least = LEAST_STD * (float(np.std(slopes)) or 1.0)
    return slopes, np.maximum(np.concatenate(wide), least)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate law of a state, with constants fitted to the series by its integral."""

    entry: FrontEntry
    law: FittedLaw
    option: Option

    @property
    def is_safe(self) -> bool:
        """Whether it has neither poles nor terms of a few rows."""
        return bool(self.entry.is_sound and self.entry.is_tame)


def _choose(model: GSRRegressor, matching: Matching) -> list[Candidate]:
    """Fit laws by their integrals, and return the one that describes the measurements best.

    It is followed by the laws that should be compared with it by simulation.
    """
    found: list[tuple[float, int, Candidate]] = []
    for place, entry in enumerate([*model.front_, *model._others]):
        if entry.data is None:
            continue
        law, error = matching.fit(FittedLaw.of(entry.law), entry.data)
        bits = matching.bits(entry, error)
        if np.isfinite(bits):
            option = Option(Law(law, entry.data, entry.make), matching.law_bits(entry))
            found.append((bits, place, Candidate(entry, law, option)))
    ranked = [each for *_, each in sorted(found, key=lambda each: each[:2])[:FEW]]
    best = next((each for each in ranked if each.is_safe), ranked[0] if ranked else None)
    if best is None:
        return []
    near = {id(each) for bits, _, each in found if bits < min(found)[0] + AMBIGUOUS}
    rivals = [each for each in ranked if id(each) in near]
    if matching.is_doubtful(best.law, best.option.law.data):
        everything = (each for *_, each in found)
        rivals += sorted(everything, key=lambda each: each.entry.length)[:RIVALS]
    rivals = [each for each in dict.fromkeys(rivals) if each is not best and each.is_safe]
    return [best, *rivals[: 2 * RIVALS]]


def _present(model: GSRRegressor, chosen: Candidate) -> None:
    """Make a law the chosen one of its state."""
    model.choose(index=model._laws.index(chosen.entry))
    model.criterion_ = choice.BY_SERIES
    _replace(model, chosen.law)


def _replace(model: GSRRegressor, law: FittedLaw, covariance: Array | None = None) -> None:
    """Replace the constants of the chosen law, and its intervals if the covariance is known."""
    entry = model.front_[model.best_index_]
    made = replace(entry, law=law)
    if covariance is not None:
        with suppress(*FAILURES):
            known = replace(made.uncertainty, values=constants(law), covariance=covariance)
            vars(made)["uncertainty"] = known
    model.front_ = [made if each is entry else each for each in model.front_]
    model.equation_ = made.equation
