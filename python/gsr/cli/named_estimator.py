"""The estimator of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from gsr.cli.terminal import uninterrupted
from gsr.estimator import GSRRegressor


class NamedRegressor(GSRRegressor):
    """`GSRRegressor` whose variables are named by `named`, which needs no pandas.

    An interruption after the search is put off until its laws are compared; one during the search
    for a target leaves out the targets after it.
    """

    def named(self, features: Sequence[str], *targets: str) -> NamedRegressor:
        """Name the columns of X and the targets, for the next `fit`."""
        self._table_names = (tuple(features), targets)
        return self

    def _name_variables(self, n_features: int, y: Any) -> None:
        features, (self._given_name, *_) = self._table_names
        self.feature_names_in_ = np.array(features, dtype=object)
        super()._name_variables(n_features, y)

    def _fit_each(self, X: Any, y: Any, sample_weight: Any) -> GSRRegressor:
        features, targets = self._table_names
        models = {name: self._for_one(name).named(features, name) for name in targets}
        for model, column in zip(models.values(), y.T, strict=True):
            model._validate(X, column, sample_weight)  # told before hours are spent on the others
        self.models_: dict[str, GSRRegressor] = {}
        for (name, model), column in zip(models.items(), y.T, strict=True):
            self.models_[name] = model.fit(X, column, sample_weight)
            if model.status_ == "interrupted":
                break
        self.fit_time_ = sum(model.fit_time_ for model in self.models_.values())
        return self

    def _for_one(self, target: str) -> NamedRegressor:
        """Return an unfitted copy; what is known about variables leaves out the other targets."""
        others = set(self._table_names[1]) - {target}
        known = {
            name: {key: each for key, each in value.items() if key not in others}
            for name, value in self.get_params(deep=False).items()
            if isinstance(value, Mapping) and not others.isdisjoint(value)
        }
        model: NamedRegressor = clone(self)
        model.set_params(**known)
        return model

    def _conclude(self, *arguments: Any) -> None:
        with uninterrupted():
            super()._conclude(*arguments)
