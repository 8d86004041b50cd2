"""The estimator for tables that are no data frames: their names are given beside the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gsr.cli.terminal import uninterrupted
from gsr.estimator import GSRRegressor


class NamedRegressor(GSRRegressor):
    """`GSRRegressor` whose variables are named by `named`, which needs no pandas.

    An interruption after the search is put off until its laws are compared.
    """

    def named(self, features: Sequence[str], target: str) -> NamedRegressor:
        """Name the columns of X and the target, for the next `fit`."""
        self._table_names = (tuple(features), target)
        return self

    def _name_variables(self, n_features: int, y: Any) -> None:
        features, self._given_name = self._table_names
        self.feature_names_in_ = np.array(features, dtype=object)
        super()._name_variables(n_features, y)

    def _conclude(self, *arguments: Any) -> None:
        with uninterrupted():
            super()._conclude(*arguments)
