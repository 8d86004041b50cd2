"""The estimator: scikit-learn's conventions around the search."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gsr import _core, criteria, options, search, selection, subset, validation
from gsr._fitted import Training
from gsr.criteria import Criterion
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library, Transformation, resolve
from gsr.presentation import Presentation

Array = npt.NDArray[np.float64]
LibrarySpec = Library | str | Sequence[str | Transformation]

#: The paper's appendix table for its own preset, every built-in transformation otherwise.
DEFAULT_LIBRARY = {"paper": "table13", "default": "all"}
#: Target transformations are those of the library that are not trigonometric (paper, Appendix A).
NOT_FOR_TARGETS = ("cos", "sin", "tan")


class GSRRegressor(Presentation, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Generalized symbolic regression: finds g(y) = f(x).

    Parameters
    ----------
    preset : {"default", "paper"}
        Where options that are None take their values from. ``"default"`` is the guided search with
        the wider encoding; ``"paper"`` the genetic programming and the hyper-parameters of the GSR
        paper with a well-posed solver.
    library : Library, str or sequence, optional
        Transformations for the features: names, own `gsr.Transformation` objects, or a preset
        table (``"table2"``, ``"table13"``, ``"all"``). All built-in ones unless given; with
        ``preset="paper"`` those of the paper's appendix table.
    target_library : Library, str or sequence, optional
        Transformations for the target; those of `library` unless given, with ``preset="paper"``
        without the trigonometric ones.
    transform_target : bool, optional
        False looks for y = f(x) only (the paper's s-GSR).
    solver : {"well_posed", "printed"}, optional
        How coefficients are found; ``"printed"`` is the paper's Algorithm 1 to the letter.
    max_time : float or None, default 10
        Seconds after which the best laws so far are kept.
    max_generations : int, optional
        Likewise in generations.
    max_rows : int, default 1000
        Rows that the search looks at; laws are confirmed and fitted on all.
    criterion : str or callable, default "mdl"
        Which law of the front is chosen when none is exact: ``"mdl"``, ``"bic"``, ``"aicc"``,
        ``"held_out"`` (leave one out), ``"rmse"``, ``"simplest within 0.1"``, or a function of a
        `FrontEntry` of which the least is taken.
    poles : {"avoid", "forbid", "allow"}
        What to do with laws that are not defined everywhere between the training rows.
    random_state : int, RandomState or None
        The same seed gives the same laws, with any number of threads.
    n_jobs : int or None, default -1
        Threads; -1 uses all cores.
    verbose : bool
        Show progress.
    callback : callable, optional
        Called with a `gsr.search.Progress` about 20 times a second.

    n_phi, n_psi : int, optional
        Basis functions of an individual for the features (M_phi, 15) and the target (M_psi, 1).
    min_factors, max_factors, n_target_factors : int, optional
        Transformations multiplied in a basis function (n_B; 1 to 3, and 1).
    min_multiplicity, max_multiplicity : int, optional
        Variables in an argument, counted with multiplicity (n_v; 2 to 5).
    population_size, n_survivors : int, optional
        N_p (30) and n_p (10).
    p_crossover, p_mutation : float, optional
        Probabilities (1/4 each) of making a new individual so; the rest is random.
    n_mutated : int, optional
        Basis functions that a mutation replaces (3).
    guided : bool, optional
        Let variation see the data: pools of candidates are scanned by what they explain, in sums
        and in products, for every psi (on by default).
    division, differences, unit, constants : bool, optional
        Widen the encoding (all on by default): reciprocals and quotients, minus signs in sums, the
        number 1 as an operand, real constants inside arguments.
    depth : int, optional
        Transformations inside transformations (3; 1 is the paper's).
    sublibraries : bool, optional
        Cycle through polynomial, trigonometric and all transformations.
    cycle_full, cycle_polynomial, cycle_trigonometric : int, optional
        Generations (15, 25, 35) that a cycle gives to all, polynomial and trigonometric
        transformations of the features.
    late_after, late_stage : int, optional
        After so many generations (1500) each of the three takes this many (500).
    target_stage : int, optional
        Generations (10) given in turn to polynomial and all transformations of the target.
    epsilon, relax_factor, relax_interval : optional
        Error threshold (1e-6), by how much (sqrt 10) and how often (every 1500 generations) it is
        relaxed.
    lam, rho, delta, max_iterations : optional
        Regularisation, penalty, tolerance and iterations of ADMM.

    Attributes
    ----------
    equation_ : Equation
        The chosen law.
    front_ : list of FrontEntry
        The Pareto front of error against complexity, simplest first.
    status_ : str
        Why the search ended: ``exact``, ``threshold``, ``max_generations``, ``max_time`` or
        ``interrupted``.
    best_index_ : int
        Where `equation_` is on the front.
    rounded_equation_ : Equation
        The chosen law with constants near simple numbers (0.49998) rounded (1/2), where the data
        agree.
    level_ : str
        What the chosen law leaves: ``"rounding"`` (it is exact), ``"noise"``, ``"above"`` (it is an
        approximation) or ``"unknown"`` (too few rows to tell).
    n_generations_, n_evaluations_ : int
        Work done.
    n_unconverged_ : int
        Individuals whose coefficients ADMM did not settle within its iterations.
    fit_time_ : float
        Seconds of the search.
    history_ : list of gsr.search.Progress
        How the best error fell: one entry whenever it did, and the last.
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

    def __init__(
        self,
        *,
        preset: str = "default",
        library: LibrarySpec | None = None,
        target_library: LibrarySpec | None = None,
        transform_target: bool | None = None,
        solver: str | None = None,
        max_time: float | None = 10.0,
        max_generations: int | None = None,
        max_rows: int = subset.MAX_ROWS,
        criterion: Criterion = "mdl",
        poles: selection.PolePolicy = "avoid",
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: bool = False,
        callback: Callable[[search.Progress], object] | None = None,
        n_phi: int | None = None,
        n_psi: int | None = None,
        min_factors: int | None = None,
        max_factors: int | None = None,
        n_target_factors: int | None = None,
        min_multiplicity: int | None = None,
        max_multiplicity: int | None = None,
        population_size: int | None = None,
        n_survivors: int | None = None,
        p_crossover: float | None = None,
        p_mutation: float | None = None,
        n_mutated: int | None = None,
        guided: bool | None = None,
        division: bool | None = None,
        differences: bool | None = None,
        unit: bool | None = None,
        constants: bool | None = None,
        depth: int | None = None,
        sublibraries: bool | None = None,
        cycle_full: int | None = None,
        cycle_polynomial: int | None = None,
        cycle_trigonometric: int | None = None,
        late_after: int | None = None,
        late_stage: int | None = None,
        target_stage: int | None = None,
        epsilon: float | None = None,
        relax_factor: float | None = None,
        relax_interval: int | None = None,
        lam: float | None = None,
        rho: float | None = None,
        delta: float | None = None,
        max_iterations: int | None = None,
    ) -> None:
        self.preset = preset
        self.library = library
        self.target_library = target_library
        self.transform_target = transform_target
        self.solver = solver
        self.max_time = max_time
        self.max_generations = max_generations
        self.max_rows = max_rows
        self.criterion = criterion
        self.poles = poles
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.n_phi = n_phi
        self.n_psi = n_psi
        self.min_factors = min_factors
        self.max_factors = max_factors
        self.n_target_factors = n_target_factors
        self.min_multiplicity = min_multiplicity
        self.max_multiplicity = max_multiplicity
        self.population_size = population_size
        self.n_survivors = n_survivors
        self.p_crossover = p_crossover
        self.p_mutation = p_mutation
        self.n_mutated = n_mutated
        self.guided = guided
        self.division = division
        self.differences = differences
        self.unit = unit
        self.constants = constants
        self.depth = depth
        self.sublibraries = sublibraries
        self.cycle_full = cycle_full
        self.cycle_polynomial = cycle_polynomial
        self.cycle_trigonometric = cycle_trigonometric
        self.late_after = late_after
        self.late_stage = late_stage
        self.target_stage = target_stage
        self.epsilon = epsilon
        self.relax_factor = relax_factor
        self.relax_interval = relax_interval
        self.lam = lam
        self.rho = rho
        self.delta = delta
        self.max_iterations = max_iterations

    # ---- fitting -----------------------------------------------------------------------------

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> GSRRegressor:
        """Search for laws.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Features; column names of a data frame name the variables.
        y : array of shape (n_samples,)
            Target; the name of a series names it.

        Returns
        -------
        GSRRegressor
            The estimator itself.
        """
        settings = self._settings()
        table, target = self._validate(X, y)
        library = resolve(self.library or DEFAULT_LIBRARY[self.preset])
        validation.check_library(library, table, self._names, quiet=self.library is None)
        target_library = self._target_library(library, target)

        seen = subset.choose(table, target, self.max_rows, settings.seed)
        data = Training(library, target_library, np.asfortranarray(table[seen]), target[seen])
        everything = (
            Training(library, target_library, table, target) if len(seen) < len(target) else None
        )
        evolution = _core.Evolution(data.X, data.y, library.table, target_library.table, settings)

        def equation(law: Any) -> Equation:
            return Equation.from_data(
                library, target_library, law.psi, law.beta, law.phi, law.alpha, data.X, data.y,
                feature_names=self._names, target_name=self._target_name,
            )  # fmt: skip

        start = time.perf_counter()
        self.history_: list[search.Progress] = []
        with self._reporter() as report:
            self.status_ = search.run(
                evolution,
                self.max_time,
                search.recorded(report, self.history_),
                lambda: str(equation(evolution.front()[-1])),
            )
        self.fit_time_ = time.perf_counter() - start
        self.n_generations_ = evolution.generation + 1
        self.n_evaluations_ = evolution.evaluations
        self.n_unconverged_ = evolution.n_unconverged

        laws = [*evolution.front(), *evolution.runners_up()]
        entries = selection.front(laws, equation, data, everything)
        chosen = entries[selection.best(entries, len(data.y), self.criterion, self.poles)]
        if everything is not None:
            chosen = selection.finish(chosen, equation, everything)
        self.front_, self.best_index_ = selection.pareto(entries, chosen)
        self.equation_ = chosen.label()
        return self

    def _settings(self) -> Any:
        names = (*options.SEARCH_OPTIONS, *options.ADMM_OPTIONS)
        chosen = {name: getattr(self, name) for name in names}
        settings = options.make_settings(self.preset, self.solver, chosen)
        options.check_option("max_time", self.max_time, options.Range(float, 0.0))
        options.check_option("max_generations", self.max_generations, options.Range(int, 1))
        options.check_required("max_rows", self.max_rows, options.Range(int, validation.MIN_ROWS))
        options.check_choice("poles", self.poles, selection.POLE_POLICIES)
        criteria.check(self.criterion)
        options.check_option("n_jobs", self.n_jobs, options.Range(int, -1024))
        if self.n_jobs == 0:
            raise GSRError("n_jobs must be a number of threads, or -1 for all cores, got 0")
        if self.callback is not None and not callable(self.callback):
            raise GSRError(f"callback must be callable, got {self.callback!r}")
        settings.max_generations = self.max_generations or 0
        settings.seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        settings.n_threads = search.n_threads(self.n_jobs)
        return settings

    def _validate(self, X: Any, y: Any) -> tuple[Array, Array]:
        table, target = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite=False, y_numeric=True
        )
        target = validation.as_numbers(target)
        named = getattr(self, "feature_names_in_", None)
        self._names = [f"x{j + 1}" for j in range(table.shape[1])] if named is None else list(named)
        self._target_name = str(getattr(y, "name", None) or "y")
        while self._target_name in self._names:
            self._target_name += "'"
        in_x = [f"X, column {name}," for name in self._names]
        in_y = [f"y, the target {self._target_name},"]
        validation.check_finite(table, in_x)
        validation.check_finite(target[:, None], in_y)
        validation.check_size(table)
        validation.check_magnitude(table, in_x)
        validation.check_magnitude(target[:, None], in_y)
        validation.check_target(target, self._target_name)
        return np.asfortranarray(table), target

    def _target_library(self, library: Library, target: Array) -> Library:
        if self.target_library is not None:
            chosen = resolve(self.target_library)
        else:
            names = zip(library.entries, library.names, strict=True)
            left_out = NOT_FOR_TARGETS if self.preset == "paper" else ()
            chosen = Library([e for e, name in names if name not in left_out])
        if self.transform_target is False and "identity" not in chosen:
            chosen = Library([*chosen.entries, "identity"])
        quiet = self.target_library is None
        return validation.usable_target_library(chosen, target, self._target_name, quiet=quiet)

    def _reporter(self) -> Any:
        from gsr.progress import reporter

        return reporter(self.verbose, self.callback)

    # ---- using -------------------------------------------------------------------------------

    def predict(self, X: npt.ArrayLike, index: int | None = None) -> Array:
        """Solve g(y) = f(x) for y.

        Rows without a solution are NaN and reported by a `PredictionWarning`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Features.
        index : int, optional
            Row of `equations_`; the chosen law unless given.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self, "equation_")
        table = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=False)
        validation.check_finite(table, [f"X, column {name}," for name in self._names])
        return self._entry(index).equation.predict(table)

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R2 of the predictions.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Features.
        y : array of shape (n_samples,)
            True targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float

        Raises
        ------
        GSRError
            If the law has no solution for some rows; the message names the first.
        """
        prediction = self.predict(X)
        missing = ~np.isfinite(prediction)
        if missing.any():
            raise GSRError(
                f"no score: {int(missing.sum())} of {len(prediction)} rows have no prediction, "
                f"the first is row {int(np.argmax(missing))}"
            )
        return float(r2_score(y, prediction, sample_weight=sample_weight))
