"""The estimator of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gsr.cli.terminal import uninterrupted
from gsr.estimator import GSRRegressor
from gsr.problem import Problem
from gsr.rows import Rows
from gsr.search import SearchResult


class NamedRegressor(GSRRegressor):
    """`GSRRegressor` whose variables are named by `named`, which needs no pandas.

    An interruption after the search is put off until its laws are compared; one during the search
    for a target leaves out the targets after it.
    """

    _to_insist = "choose columns with --features to insist"

    def named(self, features: Sequence[str], *targets: str) -> NamedRegressor:
        """Name the columns of X and the targets, for the next `fit`."""
        self._table_names = (tuple(features), targets)
        return self

    def pose(
        self, X: Any, y: Any, sample_weight: Any = None, sigma: Any = None
    ) -> tuple[Problem, Rows | None]:
        """Return the problem of a search in a table, and the rows that are held out."""
        return self._pose(self._validate(X, y, sample_weight, sigma))

    def take(self, result: SearchResult, problem: Problem, held: Rows | None) -> None:
        """Become the fitted model of what a search has found."""
        self._take(result, problem, held)

    def _name_variables(self, n_features: int, y: Any) -> None:
        features, (self._given_name, *_) = self._table_names
        self.feature_names_in_ = np.array(features, dtype=object)
        super()._name_variables(n_features, y)

    def _targets(self, y: Any) -> dict[str, Any]:
        return dict(zip(self._table_names[1], y.T, strict=True))

    def _for_one(self, target: str, others: set[str]) -> GSRRegressor:
        model = super()._for_one(target, others)
        assert isinstance(model, NamedRegressor)
        return model.named(self._table_names[0], target)

    def _conclude(self, *arguments: Any) -> None:
        with uninterrupted():
            super()._conclude(*arguments)
