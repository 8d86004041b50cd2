"""Laws for the log odds of classes, found by the regressor with a logistic link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from gsr.encoding import evaluate
from gsr.encoding.rows import is_constant
from gsr.equation import Equation
from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError
from gsr.selection import FrontEntry
from gsr.transformation import Array

#: Number of searches: the first on the classes, later ones on the working response.
ROUNDS = 2
#: Least variance of a row in the working response, and largest log odds.
LEAST_VARIANCE, MOST_ODDS = 0.01, 30.0
#: Inverse strength of the penalty that keeps constants finite if classes are separable.
STRENGTH = 1e3
TARGET = "log_odds"


@dataclass(frozen=True, eq=False)
class _Odds:
    """A law of the log odds, and its BIC."""

    equation: Equation
    bic: float

    def values(self, X: Array) -> Array:
        """Return the log odds; 0, that is even odds, where the law is undefined."""
        found = np.nan_to_num(self.equation.solution(X).values, nan=0.0)
        return np.clip(found, -MOST_ODDS, MOST_ODDS)


class GSRClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Find laws ln(p/(1 - p)) = f(x) for the probabilities of classes.

    The regressor runs twice: on the classes as numbers, and on the working response of the logistic
    likelihood at the best law. The constants of each law are then fitted by this likelihood, and
    the law with the least BIC is kept. Since the constants are fitted by maximum likelihood,
    probabilities are calibrated on the training rows if the law is right.

    Parameters
    ----------
    regressor : GSRRegressor, optional
        The regressor, which runs twice for each law; by default one with default options. The left
        side is always the log odds.

    Attributes
    ----------
    classes_ : array
        The classes. With two classes, there is one law, for the odds of the second; with more,
        there is one for each class against the others, and probabilities are scaled to add up to 1.
    equations_ : list of Equation
        The laws of the log odds.
    equation_ : Equation
        The only law, if there are two classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from gsr import GSRClassifier, GSRRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (400, 2))
    >>> y = X[:, 0] ** 2 + X[:, 1] ** 2 + rng.logistic(size=400) > 3
    >>> search = GSRRegressor(random_state=0, max_evals=500)
    >>> print(GSRClassifier(search).fit(X, y).score(X, y) > 0.75)
    True
    """

    def __init__(self, regressor: GSRRegressor | None = None) -> None:
        self.regressor = regressor

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> GSRClassifier:
        """Search for laws of the log odds.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Features.
        y : array of shape (n_samples,)
            Classes, of any type.

        Returns
        -------
        GSRClassifier
            The estimator itself.
        """
        if y is None:
            raise GSRError("requires y to be passed, but the target y is None")
        table = validate_data(self, X, dtype=np.float64)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        if len(labels) != len(table):
            raise GSRError(f"X has {len(table)} rows, but y has {len(labels)}")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise GSRError("y must have at least two classes, got one class")
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        self._odds = [self._law(X, table, codes == k) for k in positive]
        return self

    def _law(self, X: Any, table: Array, is_class: npt.NDArray[np.bool_]) -> _Odds:
        """Return the best law for the odds of one class."""
        best, odds = None, np.zeros(len(table))
        for _ in range(ROUNDS):
            p = 1.0 / (1.0 + np.exp(-odds))
            variance = np.maximum(p * (1.0 - p), LEAST_VARIANCE)
            model = clone(self.regressor) if self.regressor else GSRRegressor()
            model.set_params(transform_target=False)
            model.fit(X, odds + (is_class - p) / variance, variance / variance.mean())
            laws = [_fitted(entry, table, is_class) for entry in [*model.front_, *model._others]]
            best = min([*laws, *([best] if best else [])], key=lambda law: law.bic)
            odds = best.values(table)
        assert best is not None
        return best

    def __str__(self) -> str:
        return "\n".join(map(str, self.equations_)) if hasattr(self, "_odds") else repr(self)

    @property
    def equations_(self) -> list[Equation]:
        """The laws of the log odds: one for two classes, otherwise one for each class."""
        check_is_fitted(self)
        return [law.equation for law in self._odds]

    @property
    def equation_(self) -> Equation:
        """The law of the log odds of the second of two classes."""
        if len(self.equations_) > 1:
            raise GSRError("there is a law for each class; see equations_")
        return self.equations_[0]

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the log odds.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Features.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Log odds; of the second class if there are two.
        """
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, reset=False)
        found = np.column_stack([law.values(table) for law in self._odds])
        return found[:, 0] if found.shape[1] == 1 else found

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Features.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        p = 1.0 / (1.0 + np.exp(-self.decision_function(X)))
        if p.ndim == 1:
            return np.column_stack([1.0 - p, p])
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Features.

        Returns
        -------
        array of shape (n_samples,)
        """
        odds = self.decision_function(X)
        chosen = (odds > 0).astype(int) if odds.ndim == 1 else odds.argmax(axis=1)
        return np.asarray(self.classes_[chosen])


def _fitted(entry: FrontEntry, X: Array, is_class: npt.NDArray[np.bool_]) -> _Odds:
    """Fit the coefficients of a law by the logistic likelihood."""
    law = entry.equation
    terms = [m for m in law.phi if not is_constant(m, law.library)]
    with np.errstate(all="ignore"):
        values = evaluate(terms, law.library, X)
        centre, size = values.mean(axis=0), values.std(axis=0)
        scaled = (values - centre) / np.where(size > 0.0, size, 1.0)
    if not terms or not np.isfinite(scaled).all():
        terms, scaled, centre, size = [], np.zeros((len(X), 1)), np.zeros(0), np.zeros(0)
    fit = LogisticRegression(C=STRENGTH, max_iter=1000).fit(scaled, is_class)
    slopes = fit.coef_[0][: len(terms)] / np.where(size > 0.0, size, 1.0)
    constant = float(fit.intercept_[0] - slopes @ centre)
    p = np.clip(fit.predict_proba(scaled)[:, 1], 1e-15, 1.0 - 1e-15)
    deviance = -2.0 * float(np.log(np.where(is_class, p, 1.0 - p)).sum())
    n_inner = max(entry.n_constants - len(law.phi), 0)
    bic = deviance + (len(terms) + 1 + n_inner) * np.log(len(X))
    one = [[law.library.code("one"), 0, 1]]
    equation = Equation.from_data(
        law.library, law.target_library, law.psi, [1.0], [*terms, one], [*slopes, constant], X,
        scaled @ fit.coef_[0] + fit.intercept_[0], feature_names=law.feature_names,
        target_name=TARGET,
    )  # fmt: skip
    return _Odds(replace(equation, sample=X), bic)
