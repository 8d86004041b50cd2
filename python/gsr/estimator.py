"""The estimator: scikit-learn's conventions around the search."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from gsr import options, prior, search, selection, validation
from gsr import rows as row_sets
from gsr.equation import check_names
from gsr.exceptions import GSRError, InterruptedWarning, PredictionWarning, about
from gsr.library import Library, Transformation
from gsr.presentation import Presentation
from gsr.problem import Problem, core_settings, make_evolution, make_problem
from gsr.progress import reporter, say
from gsr.rows import Missing, Rows
from gsr.search import SearchResult
from gsr.selection.criteria import Criterion

if TYPE_CHECKING:
    from gsr.session import Session

Array = npt.NDArray[np.float64]
LibrarySpec = Library | str | Sequence[str | Transformation]
Callback = Callable[[search.Progress], object]


#: Attributes of a model of one target.
OF_ONE_TARGET = (
    "front_", "best_index_", "equation_", "history_", "status_", "n_generations_",
    "n_evaluations_", "n_unconverged_", "n_rows_", "criterion_", "criterion_value_",
    "support_", "left_out_",
)  # fmt: skip


def _warn_interrupted(message: str) -> None:
    warnings.warn(message, InterruptedWarning, stacklevel=2)


class GSRRegressor(Presentation, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Generalized symbolic regression: finds g(y) = f(x).

    Parameters
    ----------
    preset : {"default", "paper"}
        Where options that are None take their values from. ``"default"`` is the guided search with
        the wider encoding; ``"paper"`` the genetic programming and the hyper-parameters of the GSR
        paper with a well-posed solver.

    library : Library, str or sequence, optional
        **Library.** Transformations for the features: names, own `gsr.Transformation` objects, or
        a preset table (``"table2"``, ``"table13"``, ``"all"``). All built-in ones unless given;
        with ``preset="paper"`` those of the paper's appendix table.
    target_library : Library, str or sequence, optional
        Transformations for the target; those of `library` unless given, with ``preset="paper"``
        without the trigonometric ones.
    transform_target : bool, optional
        False looks for y = f(x) only (the paper's s-GSR).

    allow, forbid : mapping, optional
        **Prior knowledge.** From the name of a variable (``"*"``: all features) to the names of
        transformations that it may, or must not, stand in, at any depth: ``{"angle": ["sin"]}``.
        The identity is always allowed; ``"inverse"``, ``"square"`` and ``"cube"`` mean powers in
        products too.
    units : mapping, optional
        From every variable to its unit, such as ``{"mass": "kg", "y": "N"}``; ``"1"`` for none.
        Laws that add metres to seconds, or take the sine of metres, are never made.
    constants_with_units : bool, default True
        Whether fitted constants may carry units. False: all terms must have the unit of g(y), as
        in a law whose dimensional constants are among the features.
    required_terms : sequence of str, optional
        Terms of f(x) that every law must have: ``["x1*x2"]``. Numbers with a point inside them
        are fitted: ``"sin(2.5*x1)"`` is a sine with a frequency that starts at 2.5.
    start : str, Equation or sequence, optional
        Known formulas to start from: ``"y = a*x1^2 + b*sin(x2)"``. See `gsr.fit_formula` to
        only fit their constants.
    max_terms, max_complexity : int, optional
        The most terms beside the constant, and the most nodes, of a law.
    constraints : mapping or callable, optional
        Shapes that laws must have in the box of the data: ``{"x1": "increasing",
        "y": "positive"}``; or a function of an `Equation` that returns whether it is acceptable.

    division, differences, one, constants : bool, optional
        **Encoding.** Widen it (all on by default): reciprocals and quotients, minus signs in sums,
        the number 1 as an operand, real constants inside arguments.
    depth : int, optional
        Transformations inside transformations (3; 1 is the paper's).
    guided : bool, optional
        Let variation see the data: pools of candidates are scanned by what they explain, in sums
        and in products, for every psi (on by default).

    max_time : float or None, default 10
        **Effort.** Seconds after which the best laws so far are kept, final fits included. A search
        on noisy data ends before that when its choice has not changed for a good while.
    max_evals, max_generations : int, optional
        Likewise in individuals evaluated, and in generations. Results are reproducible with these,
        with `max_time` only if the search ends before.
    max_rows : int, optional
        Rows that the search looks at, at most; laws are confirmed and fitted on all. Unless given,
        1,000, and up to 5,000 from where a law leaves nothing but noise, if `max_time` allows.

    errors : {"auto", "constant", "relative", "poisson"}
        **Noise.** How measurements of y scatter around the law: equally everywhere, in proportion
        to y, or with a variance of y as counts do. ``"auto"`` compares constant, relative and mixed
        scatter, and powers of y, by their likelihood. Standard deviations that are known go to
        `fit` as `sigma`.

    loss : {"squared", "absolute", "huber", "quantile"}
        What fit and choice minimise. Outliers move ``"absolute"`` and ``"huber"`` little;
        ``"quantile"`` looks for a law below which lies the part `quantile` of the rows. The errors
        of `equations_` are root mean squares all the same.
    quantile : float, default 0.5
        For ``loss="quantile"``, between 0.001 and 0.999.

    criterion : str or callable, default "mdl"
        **Choice.** Which law of the front is chosen when none is exact: ``"mdl"``, ``"bic"``,
        ``"aicc"``, ``"elbow"``, ``"held_out"``, ``"rmse"``, ``"simplest within 0.1"``, or a
        function of a `FrontEntry` of which the least is taken.
    poles : {"avoid", "forbid", "allow"}
        What to do with laws that are not defined everywhere between the training rows.
    validation_fraction : float, optional
        Part of the rows to hold out of search and fit, for the `held_out` errors; rows are left
        out one at a time (to first order) without.

    missing : {"raise", "drop"}
        **Running.** Rows with NaN are an error, or are left out with a warning; in `predict` they
        then give NaN.
    random_state : int, RandomState or None
        The same seed gives the same laws, with any number of threads.
    n_jobs : int or None, default -1
        Threads; -1 uses all cores.
    verbose : bool
        Show progress.
    warm_start : bool
        Go on where the last `fit` ended if data and options are the same; otherwise start from the
        laws found then.
    islands : int, default 1
        Searches side by side, on the `n_jobs` threads, that share the guide's work and exchange
        what they find. The same number gives the same laws, with any number of threads. For more
        than one machine see `gsr islands`.
    callback : callable, optional
        Called with a `gsr.search.Progress` about 20 times a second; ends the search if it returns
        True.
    hyperparameters : mapping, optional
        Those of the paper by name; `gsr config` explains each. `n_phi` (15), `n_psi` (1) basis
        functions of an individual; `min_factors`, `max_factors` (1 to 3), `n_target_factors` (1)
        transformations multiplied in one; `min_multiplicity`, `max_multiplicity` (2 to 5)
        variables in an argument;
        `population_size` (30), `n_survivors` (10), `p_crossover`, `p_mutation` (1/4 each),
        `n_mutated` (3); `sublibraries` (True), `cycle_full`, `cycle_polynomial`,
        `cycle_trigonometric` (15, 25, 35), `late_after` (1500), `late_stage` (500),
        `target_stage` (10); `epsilon` (1e-6), `relax_factor` (sqrt 10), `relax_interval` (1500);
        `solver` (``"well_posed"``; ``"printed"`` is the paper's Algorithm 1 to the letter) with
        `lam`, `rho`, `delta`, `max_iterations`.

    Attributes
    ----------
    equation_ : Equation
        The chosen law.
    equations_ : EquationTable
        The Pareto front as a table.
    front_ : list of FrontEntry
        The Pareto front of error against complexity, simplest first.
    status_ : str
        Why the search ended: ``exact``, ``settled`` (the choice had not changed for a good while),
        ``threshold``, ``max_generations``, ``max_evals``, ``max_time``, ``stopped`` (by the
        callback) or ``interrupted``.
    best_index_ : int
        Where `equation_` is on the front.
    rounded_equation_ : Equation
        The chosen law with constants near simple numbers (0.49998) rounded (1/2), where the data
        agree, and the others fitted again.
    noise_ : str
        How measurements scatter around the chosen law: ``"scatter grows with k: 4.8 % of k"``.
    why_ : str
        Why this law was chosen, and what the next best takes.
    criterion_, criterion_value_
        By what it was chosen, and the value for it: the bits of law and data for ``"mdl"``.
    n_rows_ : int
        Rows that laws are compared on; copies of a row count once.
    level_ : str
        What the chosen law leaves: ``"rounding"`` (it is exact), ``"noise"``, ``"ambiguous"``
        (noise, but laws of other kinds describe the rows about as well), ``"above"`` (it is an
        approximation) or ``"unknown"`` (too few rows to tell).
    support_ : float
        Probability of the chosen law among the kinds of laws that were found, from their
        description lengths; below 0.95 the law is called ambiguous.
    left_out_ : list of str
        Features that the guided search did not combine with each other, because there are more
        than ten; the genetic programming had them too. Fewer columns in X insist on those.
    n_generations_, n_evaluations_ : int
        Work done.
    n_unconverged_ : int
        Individuals whose coefficients ADMM did not settle within its iterations.
    fit_time_ : float
        Seconds of the search.
    history_ : list of gsr.search.Progress
        How the best error fell: one entry whenever it did, and the last. Empty with groups, whose
        searches have targets of their own.
    models_ : dict
        With several targets: a fitted GSRRegressor for each, by name. Of the attributes above
        there are then only those of these.
    groups_ : gsr.groups.law.GroupTable
        With groups, the constants of the chosen law in each group, and which of them differ.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from gsr import GSRRegressor
    >>> x = np.linspace(1, 4, 20)[:, None]
    >>> model = GSRRegressor(library="table2", random_state=0)
    >>> print(model.fit(x, np.sqrt(x[:, 0])).equation_)
    ln(y) = 0.5 ln(x1)
    """

    max_time: float | None
    errors: str
    max_evals: int | None
    max_generations: int | None
    validation_fraction: float | None
    verbose: bool
    warm_start: bool
    callback: Callback | None

    @options.stores_parameters
    def __init__(
        self,
        *,
        preset: str = "default",
        library: LibrarySpec | None = None,
        target_library: LibrarySpec | None = None,
        transform_target: bool | None = None,
        allow: prior.Names | None = None,
        forbid: prior.Names | None = None,
        units: Mapping[str, Any] | None = None,
        constants_with_units: bool = True,
        required_terms: Sequence[Any] | None = None,
        start: Any = None,
        max_terms: int | None = None,
        max_complexity: int | None = None,
        constraints: Any = None,
        division: bool | None = None,
        differences: bool | None = None,
        one: bool | None = None,
        constants: bool | None = None,
        depth: int | None = None,
        guided: bool | None = None,
        max_time: float | None = 10.0,
        max_evals: int | None = None,
        max_generations: int | None = None,
        max_rows: int | None = None,
        errors: str = "auto",
        loss: str = "squared",
        quantile: float = 0.5,
        criterion: Criterion = "mdl",
        poles: selection.PolePolicy = "avoid",
        validation_fraction: float | None = None,
        missing: Missing = "raise",
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: bool = False,
        warm_start: bool = False,
        islands: int = 1,
        callback: Callback | None = None,
        hyperparameters: Mapping[str, Any] | None = None,
    ) -> None: ...

    def set_params(self, **parameters: Any) -> GSRRegressor:
        """Set parameters, as in scikit-learn; a misspelt one is refused with a suggestion."""
        known = self._get_param_names()
        for name in parameters:
            if name.partition("__")[0] not in known:
                raise GSRError(options.unknown_parameter(name, known))
        super().set_params(**parameters)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = self.missing == "drop"
        return tags

    # ---- fitting -----------------------------------------------------------------------------

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        sigma: npt.ArrayLike | None = None,
        x_sigma: npt.ArrayLike | None = None,
        groups: Any = None,
        shared: str = "auto",
    ) -> GSRRegressor:
        """Search for laws.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Features; column names of a data frame name the variables.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Target; the name of a series names it. For several targets laws are searched one after
            the other, each with the full effort.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows in fit and choice; a row of weight 2 is the same as two copies.
        sigma : array of the shape of y, or float, optional
            Standard deviation of each measurement of y.
        x_sigma : array of shape (n_samples, n_features) or (n_features,), or float, optional
            Standard deviations of the features, 0 where they are exact. The chosen law is then
            fitted by orthogonal distance regression.
        groups : array of shape (n_samples,), or str, optional
            Label of the group of each row, such as an experiment or a site, or the name of a column
            of the data frame X. One structure is then found for all groups, with constants for each
            group in `groups_`.
        shared : {"auto", "none"}
            Which constants all groups share: chosen by description length, or none; see `share`.

        Returns
        -------
        GSRRegressor
            The estimator itself.
        """
        self._check_parameters()
        if groups is not None:
            return self._fit_groups(X, y, sample_weight, sigma, x_sigma, groups, shared)
        everything = self._validate(X, y, sample_weight, sigma, x_sigma)
        if everything.y.ndim == 2:
            return self._fit_each(X, y, sample_weight, sigma, x_sigma)
        problem, held = self._pose(everything)
        history: list[search.Progress] = []
        with reporter(self.verbose, self.callback) as report, np.errstate(all="ignore"):
            session = self._session(problem, search.recorded(report, history))
            status = session.run()
        seconds = time.perf_counter() - session.started
        with search.uninterrupted(_warn_interrupted), np.errstate(all="ignore"):
            laws = session.laws()
            found = SearchResult.of(
                session.evolution, status, seconds, history, laws, session.work_before
            )
            self._take(found, session.problem, held, session.final_deadline(status))
        self.fit_time_ = time.perf_counter() - session.started
        if self.verbose:
            say(self._left_out_line())
        if self.warm_start:
            self._running = (problem, session.problem, session.evolution)
        return self

    def _fit_groups(
        self, X: Any, y: Any, sample_weight: Any, sigma: Any, x_sigma: Any, groups: Any, shared: str
    ) -> GSRRegressor:
        """Search for one structure with constants for each group."""
        from gsr.groups.rows import asked as asked_of
        from gsr.groups.search import search as search_groups

        asked = asked_of(self, X, y, sample_weight, sigma, x_sigma, groups, shared)
        self.__dict__.pop("models_", None)
        with reporter(self.verbose, self.callback) as report, np.errstate(all="ignore"):
            found = search_groups(asked, search.recorded(report, []))
        self.n_rows_ = len(asked.rows)
        self._of_search(found.result, found.problem)
        self.front_, self._others, self._group_rows = [], found.entries, found.rows
        chosen = selection.best(found.entries, self.n_rows_, self.criterion, self.poles)
        self._present(chosen, self.criterion)
        return self

    def _session(self, problem: Problem, report: Callable[[search.Progress], object]) -> Session:
        """Return the search: the last one if it goes on, else a new one."""
        from gsr.session import Session

        running: tuple[Problem, Problem, Any] | None = getattr(self, "_running", None)
        if self.warm_start and running is not None and problem.is_same(running[0]):
            _, last, evolution = running
            last.parameters = problem.parameters
            evolution.extend(self.max_generations or 0, self.max_evals or 0)
            return Session(last, evolution, self.max_time, report)
        earlier = getattr(self, "front_", ()) if self.warm_start else ()
        return Session(problem, make_evolution(problem, earlier), self.max_time, report)

    def _check_parameters(self) -> dict[str, Any]:
        """Return the core's settings, if all parameters are what they may be."""
        return core_settings(self.get_params(deep=False))

    def _pose(self, everything: Rows) -> tuple[Problem, Rows | None]:
        """Return the problem of one search, and the rows that are held out."""
        self.__dict__.pop("models_", None)
        settings = self._check_parameters()
        known, held = row_sets.split(everything, self.validation_fraction, settings["seed"])
        parameters = self.get_params(deep=False)
        return make_problem(parameters, known, self._names, self._target_name, settings), held

    def _take(
        self,
        found: SearchResult,
        problem: Problem,
        held: Rows | None,
        until: float | None = None,
    ) -> None:
        """Take over what a search has found, and choose among its laws."""
        self._of_search(found, problem)
        self._conclude(found.laws, problem, held, until)

    def _of_search(self, found: SearchResult, problem: Problem) -> None:
        """Store the results of a search."""
        self.status_ = found.status
        self.fit_time_ = found.seconds
        self.history_ = found.history
        self.n_generations_ = found.generations
        self.n_evaluations_ = found.evaluations
        self.n_unconverged_ = found.n_unconverged
        self.left_out_ = problem.left_out(found.scanned_features)

    def _fit_each(
        self, X: Any, y: Any, sample_weight: Any, sigma: Any, x_sigma: Any
    ) -> GSRRegressor:
        """Fit a model of its own for each target."""
        for name in OF_ONE_TARGET:
            self.__dict__.pop(name, None)
        targets = self._targets(y)
        models = {name: self._for_one(name, set(targets) - {name}) for name in targets}
        errors = dict.fromkeys(targets) if sigma is None else self._sigma_of_each(sigma, targets)
        for name, model in models.items():  # mistakes are reported before the first search
            model._validate(X, targets[name], sample_weight, errors[name], x_sigma)
        self.models_: dict[str, GSRRegressor] = {}
        for name, model in models.items():
            model._given_name = name
            self.models_[name] = model.fit(
                X, targets[name], sample_weight, sigma=errors[name], x_sigma=x_sigma
            )
            if model.status_ == "interrupted":
                break
        self.fit_time_ = sum(model.fit_time_ for model in self.models_.values())
        return self

    @staticmethod
    def _sigma_of_each(sigma: Any, targets: Mapping[str, Any]) -> dict[str, Any]:
        columns = np.column_stack(list(targets.values()))
        known = validation.as_sigma(sigma, columns)
        assert known is not None
        return dict(zip(targets, known.T, strict=True))

    def _targets(self, y: Any) -> dict[str, Any]:
        return row_sets.targets(y)

    def _for_one(self, target: str, others: set[str]) -> GSRRegressor:
        """Return the model of one target; what is known leaves out the other targets."""
        known = prior.without_targets(self.get_params(deep=False), others)
        previous = getattr(self, "models_", {})
        model: GSRRegressor
        model = previous[target] if self.warm_start and target in previous else clone(self)
        model._given_name = target
        model.set_params(**known)
        return model

    def _conclude(
        self,
        laws: Sequence[Any],
        problem: Problem,
        held: Rows | None,
        until: float | None = None,
    ) -> None:
        """Refine, compare and choose."""
        from gsr.conclusion import conclude

        found = conclude(problem, laws, held, self.criterion, self.poles, until)
        chosen = found.front[found.best_index]
        assert chosen.data is not None
        self.n_rows_ = len(chosen.data.y)
        self.front_, self._others, self._group_rows = found.front, found.others, None
        self._present(chosen, self.criterion, until)

    # ---- checks ------------------------------------------------------------------------------

    def _validate(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        sigma: Any = None,
        x_sigma: Any = None,
        codes: Array | None = None,
    ) -> Rows:
        """Return the validated rows; `codes` of groups are appended as the last feature column."""
        validation.check_columns(X)
        if y is None:
            raise GSRError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; for "
                "laws between the columns of X use gsr.GSRImplicit"
            )
        table = validate_data(self, X, dtype=np.float64, ensure_all_finite=False)
        target = validation.as_numbers(y, table)
        if target.ndim == 2 and target.shape[1] == 1:
            target = target[:, 0]
        with about("sample_weight"):
            weights = validation.as_weights(sample_weight, table)
        with about("sigma"):
            deviations = validation.as_sigma(sigma, target)
        of_features = validation.as_x_sigma(x_sigma, table)
        if weights is not None and deviations is not None:
            raise GSRError("give either sample_weight or sigma, not both")
        if weights is not None and self.errors in ("relative", "poisson"):
            raise GSRError(
                f"errors={self.errors!r} weights the rows: leave out sample_weight", "errors"
            )
        if deviations is not None and self.errors in ("relative", "poisson"):
            raise GSRError(f"sigma says how y scatters: leave out errors={self.errors!r}")
        if self.errors == "poisson" and (target < 0.0).any():
            raise GSRError(
                "errors='poisson' is for counts, but some values of y are negative", "errors"
            )
        if target.ndim == 2:
            return Rows(table, target)
        self._name_variables(table.shape[1], y)
        names = self._names
        if codes is not None:
            table, names = np.column_stack([table, codes]), [*names, "groups"]
        rows = Rows(table, target, weights, x_sigma=of_features)
        if deviations is not None:
            rows = Rows(table, target, deviations**-2.0, 1.0, of_features).normalised()
        rows = row_sets.without_missing(rows, self.missing, names)
        return validation.checked(rows, names, self._target_name, self.validation_fraction)

    def _name_variables(self, n_features: int, y: Any) -> None:
        named = getattr(self, "feature_names_in_", None)
        self._names = [f"x{j + 1}" for j in range(n_features)] if named is None else list(named)
        columns = [str(name) for name in getattr(y, "columns", [])]
        given = self.__dict__.pop("_given_name", None) or getattr(y, "name", None)
        self._target_name = str(given or (columns[0] if columns else "y"))
        while self._target_name in self._names:
            self._target_name += "'"
        check_names(tuple(self._names), self._target_name, n_features)

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_running", None)  # a search does not travel
        return state

    # ---- using -------------------------------------------------------------------------------

    def predict(
        self,
        X: npt.ArrayLike,
        index: int | None = None,
        *,
        return_std: bool = False,
        sigma: npt.ArrayLike | None = None,
        groups: Any = None,
    ) -> Any:
        """Solve g(y) = f(x) for y.

        Rows without a solution are NaN and reported by a `PredictionWarning`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Features.
        index : int, optional
            Number of the law in `equations_`; the chosen one unless given.
        return_std : bool
            Also return the standard deviation of each prediction, that of the noise included.
        sigma : array of shape (n_samples,), or float, optional
            For `return_std`: standard deviations of the new measurements, if the model was fitted
            with `sigma`.
        groups : array of shape (n_samples,), or str, optional
            Labels of groups, or a column of X, as for `fit`; by default the column used in `fit`.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
            With `return_std` a pair of arrays.
        """
        check_is_fitted(self)
        if hasattr(self, "models_"):
            found = [
                model.predict(X, index, return_std=return_std, sigma=sigma)
                for model in self.models_.values()
            ]
            if return_std:
                return tuple(np.column_stack(part) for part in zip(*found, strict=True))
            return np.column_stack(found)
        entry = self._entry(index)
        table, complete = self._table(X, entry, groups)
        values = np.full(len(table), np.nan)
        values[complete] = entry.equation.predict(table[complete])
        if not return_std:
            return values
        from gsr.selection.uncertainty import prediction_std

        deviations = np.full(len(table), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PredictionWarning)  # predict has issued it
            errors = validation.as_sigma(sigma, values)
            errors = None if errors is None else errors[complete]
            deviations[complete] = prediction_std(entry, table[complete], sigma=errors)
        return values, deviations

    def score(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None, *, groups: Any = None
    ) -> float:
        """Return the coefficient of determination R2 of the predictions.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Features.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            True targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.
        groups : array of shape (n_samples,), or str, optional
            As for `predict`.

        Returns
        -------
        float

        Raises
        ------
        GSRError
            If the law has no solution for some rows; the message names the first.
        """
        prediction = self.predict(X, groups=groups)
        missing = ~np.isfinite(prediction).reshape(len(prediction), -1).all(axis=1)
        if missing.any():
            raise GSRError(
                f"no score: {int(missing.sum())} of {len(prediction)} rows have no prediction, "
                f"the first is row {int(np.argmax(missing))}"
            )
        return float(r2_score(y, prediction, sample_weight=sample_weight))
