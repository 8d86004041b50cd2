"""`GSRImplicit`: laws F(x1, ..., xn) = 0 between columns."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from gsr import validation
from gsr.deadline import is_late
from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError
from gsr.implicit.comparison import Comparison, front, is_law
from gsr.implicit.form import Form, column_symbols
from gsr.implicit.law import ImplicitLaw, fit, judged, spread_of
from gsr.implicit.scan import Scan, shuffled
from gsr.implicit.variants import of_equation
from gsr.selection.residuals import varies
from gsr.threads import one_thread
from gsr.transformation import Array
from gsr.wording import LEVELS

#: Number of rows on which forms are compared; those of the front are fitted on all rows.
MOST_ROWS = 1000
LEAST_ROWS = 10
#: Number of forms from the scan, and from each regressor, that are fitted.
FITTED, OF_REGRESSOR = 25, 6


class GSRImplicit(BaseEstimator):  # type: ignore[misc]
    """Implicit laws F(x1, ..., xn) = 0 between columns without a target.

    Sums of simple terms are ranked by their residuals, relative to those on independent columns.
    Then a `GSRRegressor` searches for laws with each column in turn as the target. All laws are
    rewritten in symmetric forms, such as ``p V/(n T) = 8.314``, and fitted by least squares of
    orthogonal distances, since every column may be noisy. Trivial identities are rejected.

    Parameters
    ----------
    regressor : GSRRegressor, optional
        Searches for laws with each column as the target, with options such as `library`. Its
        `max_time` is replaced unless `max_time` is None here.
    max_time : float or None, default 20
        Time of the searches in seconds, divided evenly among the columns.
    random_state : int, optional
        Seed of the searches.

    Attributes
    ----------
    equation_ : ImplicitLaw or None
        The law with the shortest description; None if no law was found.
    equations_ : list of ImplicitLaw
        Laws whose description is shorter than that of all simpler ones, simplest first; the last
        is `equation_`.
    level_ : str
        Verdict on the residuals: ``"rounding"`` (the law is exact), ``"noise"``, ``"above"`` (it
        is an approximation), ``"unknown"`` (too few rows to tell); ``"no law"`` if none was found.
    left_out_ : list of str
        Columns that are constant or repeat another column.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    fit_time_ : float
        Duration of the fit in seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from gsr import GSRImplicit
    >>> angle = np.linspace(0, 6, 50)
    >>> X = np.column_stack([2 * np.cos(angle), np.sin(angle)])
    >>> print(GSRImplicit().fit(X, feature_names=["x", "y"]).equation_)
    y^2 + 0.25 x^2 = 1
    """

    def __init__(
        self,
        *,
        regressor: GSRRegressor | None = None,
        max_time: float | None = 20.0,
        random_state: Any = None,
    ) -> None:
        self.regressor = regressor
        self.max_time = max_time
        self.random_state = random_state

    # ---- fitting -----------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        sigma: Any = None,
    ) -> GSRImplicit:
        """Search for laws between the columns.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The columns.
        y : None
            Ignored; present for API consistency.
        feature_names : sequence of str, optional
            Names of the columns; by default those of a data frame, or x1, x2, ....
        sigma : array of shape (n_features,), optional
            Standard deviations of the noise of the columns, which are the units of distances; by
            default the standard deviations of the columns themselves.

        Returns
        -------
        GSRImplicit
            The estimator itself.
        """
        start = time.perf_counter()
        table = self._read(X, feature_names)
        scale = self._scale(sigma, table)
        kept = self._kept(table)
        rows = table[:, kept]
        if len(rows) > MOST_ROWS:
            chosen = np.random.default_rng(0).choice(len(rows), MOST_ROWS, replace=False)
            rows = rows[np.sort(chosen)]
        with one_thread(), np.errstate(all="ignore"):
            found = self._search(rows, scale[kept])
        names = [self.names_[j] for j in kept]
        self._conclude(found, table[:, kept], scale[kept], names, kept)
        self.fit_time_ = time.perf_counter() - start
        return self

    def _read(self, X: Any, feature_names: Sequence[str] | None) -> Array:
        validation.check_columns(X)
        table: Array = validate_data(self, X, dtype=np.float64, ensure_all_finite=False)
        known = getattr(self, "feature_names_in_", None) if feature_names is None else feature_names
        names = [f"x{j + 1}" for j in range(table.shape[1])] if known is None else list(known)
        if len(names) != table.shape[1] or len(set(names)) < len(names):
            raise GSRError(
                f"feature_names must be {table.shape[1]} different names, got {list(names)}"
            )
        validation.check_finite(table, [f"X, column {name}," for name in names])
        if len(table) < LEAST_ROWS:
            raise GSRError(f"X must have at least {LEAST_ROWS} rows, got {len(table)}")
        self.names_ = [str(name) for name in names]
        return table

    def _scale(self, sigma: Any, table: Array) -> Array:
        if sigma is None:
            return np.asarray(table.std(axis=0))
        return np.asarray(validation.as_sigma(sigma, table[0]))

    def _kept(self, table: Array) -> list[int]:
        """Return the columns that vary and do not repeat another; warn about the others."""
        kept: list[int] = []
        self.left_out_: list[str] = []
        for j, column in enumerate(table.T):
            twin = next((k for k in kept if np.array_equal(table[:, k], column)), None)
            why = "" if twin is None else f"repeats {self.names_[twin]!r}"
            why = why if varies(column) else "is the same in every row"
            if not why:
                kept.append(j)
                continue
            self.left_out_.append(self.names_[j])
            warnings.warn(
                f"the column {self.names_[j]!r} {why} and is left out", UserWarning, stacklevel=3
            )
        if len(kept) < 2:
            raise GSRError("X must have at least two columns that vary and differ")
        return kept

    def _search(self, X: Array, scale: Array) -> list[ImplicitLaw]:
        """Return laws from sums of simple terms and from searches with each column as target."""
        columns = column_symbols([bool((column > 0.0).all()) for column in X.T])
        found = Comparison(X, scale)
        until = None if self.max_time is None else time.perf_counter() + self.max_time
        found.add(Scan(columns, X, scale).forms(), FITTED)
        for target in range(X.shape[1]):
            if found.has_exact or is_late(until):
                break
            found.add(self._regressed(X, target, columns), OF_REGRESSOR)
        return found.laws

    def _regressed(self, X: Array, target: int, columns: tuple[Any, ...]) -> list[Form]:
        """Return laws with one column as target."""
        model = GSRRegressor() if self.regressor is None else clone(self.regressor)
        if self.regressor is None or self.random_state is not None:
            model.set_params(random_state=self.random_state)
        if self.max_time is not None:
            model.set_params(max_time=self.max_time / X.shape[1])
        model.fit(np.delete(X, target, axis=1), X[:, target])
        entries = sorted(model.front_, key=lambda entry: entry is not model.get_best())
        return [of_equation(entry.equation, columns, target) for entry in entries]

    def _conclude(
        self,
        found: Sequence[ImplicitLaw],
        X: Array,
        scale: Array,
        names: Sequence[str],
        kept: Sequence[int],
    ) -> None:
        """Fit the front on all rows, and choose the law with the shortest description."""
        fitted = [fit(law.form, names, X, scale) for law in front(found)]
        laws = front(law for law in fitted if law is not None and is_law(law))
        self.equations_ = [judged(law, X) for law in laws]
        self._kept_columns = list(kept)
        self.equation_: ImplicitLaw | None = None
        if self.equations_:
            self.equation_ = self.equations_[-1]
            return
        warnings.warn(
            "no law was found: the columns seem to be independent or only weakly dependent",
            UserWarning,
            stacklevel=3,
        )

    # ---- reading -----------------------------------------------------------------------------

    def __str__(self) -> str:
        if getattr(self, "equation_", None) is None:
            return repr(self)
        return f"{self.equation_}\n{LEVELS[self.level_].sentence}"

    @property
    def level_(self) -> str:
        """The verdict on the residuals of the chosen law."""
        check_is_fitted(self, "equations_")
        return "no law" if self.equation_ is None else self.equation_.level

    @property
    def law_(self) -> ImplicitLaw:
        """The chosen law; an error if none was found."""
        check_is_fitted(self, "equations_")
        if self.equation_ is None:
            raise GSRError("no law was found in these columns")
        return self.equation_

    def solve(self, name: str) -> list[Any]:
        """Solve the chosen law for a column; see `ImplicitLaw.solve`."""
        return self.law_.solve(name)

    def sympy(self) -> Any:
        """Return the chosen law as a SymPy equation."""
        return self.law_.sympy()

    def latex(self) -> str:
        """Return the chosen law as LaTeX."""
        return self.law_.latex()

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float, float]]:
        """Return the constants of the chosen law with intervals; see `ImplicitLaw.intervals`."""
        return self.law_.intervals(level)

    def to_pandas(self) -> Any:
        """Return the front as a data frame."""
        import pandas as pd

        check_is_fitted(self, "equations_")
        rows = [
            (law.complexity, law.error, law.score, law.level, law is self.equation_, str(law))
            for law in self.equations_
        ]
        return pd.DataFrame(
            rows, columns=["complexity", "error", "score", "level", "chosen", "equation"]
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a readable file; `gsr.load` restores it.

        Parameters
        ----------
        path : str or path
            The JSON file. An existing file is replaced atomically.
        """
        from gsr.implicit import files

        check_is_fitted(self, "equations_")
        files.save(self, path)

    # ---- using -------------------------------------------------------------------------------

    def residuals(self, X: Any) -> Array:
        """Return the left side minus the right side of the chosen law in each row."""
        return self.law_.residuals(self._table(X))

    def distance(self, X: Any) -> Array:
        """Return the orthogonal distance of each row to the chosen law.

        Columns are in units of their standard deviations, or of `sigma`; the sign is that of the
        residual.
        """
        return self.law_.distance(self._table(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Return how much closer the rows are to the law than rows with independent columns.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        float
            One minus the ratio of the mean squared distance to that of rows in which each column
            is permuted independently: 1 if the law is exact, about 0 if it explains nothing.
        """
        table = self._table(X)
        here, apart = (self.law_.distance(rows) for rows in (table, shuffled(table, seed=0)))
        spread = spread_of(apart)
        return 1.0 - float(np.mean(here**2)) / spread**2 if spread else 0.0

    def _table(self, X: Any) -> Array:
        check_is_fitted(self, "equations_")
        table: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return table[:, self._kept_columns]
