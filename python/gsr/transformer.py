"""Terms of good laws as features for other estimators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from gsr.encoding import evaluate
from gsr.encoding.rows import Matrix, is_constant
from gsr.encoding.writing import text
from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.selection import kinds
from gsr.threads import one_thread
from gsr.transformation import Array

#: Columns with a correlation above this are treated as equal.
SAME = 1 - 1e-9


class GSRTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Replace features by terms of the laws that a search finds for y.

    Parameters
    ----------
    n_components : int, default 10
        Maximal number of terms. There are fewer if the laws have fewer terms that differ on the
        training rows.
    regressor : GSRRegressor, optional
        The regressor that runs the search; by default one with default options.

    Attributes
    ----------
    regressor_ : GSRRegressor
        The fitted regressor.
    terms_ : list of str
        The terms, those of the laws with the shortest description first.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from gsr import GSRRegressor, GSRTransformer
    >>> x = np.linspace(1, 4, 20)[:, None]
    >>> search = GSRRegressor(random_state=0, max_evals=500)
    >>> terms = GSRTransformer(n_components=1, regressor=search)
    >>> terms.fit(x, 2 * x[:, 0] ** 2 + 1).get_feature_names_out()
    array(['x1^2'], dtype=object)
    """

    def __init__(self, n_components: int = 10, regressor: GSRRegressor | None = None) -> None:
        self.n_components = n_components
        self.regressor = regressor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> GSRTransformer:
        """Search for laws of y and keep their terms.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Features.
        y : array of shape (n_samples,)
            Target.

        Returns
        -------
        GSRTransformer
            The estimator itself.
        """
        if not isinstance(self.n_components, int) or self.n_components < 1:
            raise GSRError(f"n_components must be at least 1, got {self.n_components!r}")
        table = validate_data(self, X, dtype=np.float64)
        self.regressor_ = (clone(self.regressor) if self.regressor else GSRRegressor()).fit(X, y)
        names = self.regressor_.equation_.feature_names
        self._library: Library = self.regressor_.equation_.library
        self._matrices: list[Matrix] = []
        self.terms_: list[str] = []
        kept = np.empty((len(table), 0))
        for matrix in self._candidates():
            column = evaluate([matrix], self._library, table)
            if len(self.terms_) == self.n_components or not _is_new(column[:, 0], kept):
                continue
            kept = np.hstack([kept, column])
            self._matrices.append(matrix)
            self.terms_.append(text(matrix, self._library, names, absolute=True))
        return self

    def _candidates(self) -> Iterator[Matrix]:
        """Yield the terms of all laws, those of the best first, and then the features."""
        model = self.regressor_
        with one_thread():
            ranked = kinds.shortest_first([*model.front_, *model._others])
        for entry in [model.get_best(), *ranked]:
            for matrix in entry.equation.phi:
                if not is_constant(matrix, self._library):
                    yield matrix
        identity = self._library.code("identity") if "identity" in self._library else 0
        for k in range(len(model.equation_.feature_names)):
            if not self._matrices and identity:
                yield [[identity, 0, k + 1]]

    def transform(self, X: npt.ArrayLike) -> Array:
        """Return the values of the terms.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Features.

        Returns
        -------
        array of shape (n_samples, n_terms)
            NaN or infinite where a term is undefined.
        """
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(all="ignore"):
            return evaluate(self._matrices, self._library, table)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the terms as text.

        Parameters
        ----------
        input_features : array of str, optional
            Compared with the names of the features, as in scikit-learn.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self.terms_, dtype=object)


def _is_new(column: Array, kept: Array) -> bool:
    """Return whether a term is defined in all rows, varies, and differs from previous terms."""
    if not np.isfinite(column).all() or np.ptp(column) == 0.0:
        return False
    centred = column - column.mean()
    others = kept - kept.mean(axis=0)
    sizes = np.linalg.norm(centred) * np.linalg.norm(others, axis=0)
    return bool((np.abs(centred @ others) <= SAME * sizes).all())
