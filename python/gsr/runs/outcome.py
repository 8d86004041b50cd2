"""The outcome of a run: its laws, as what `result.json` and the tables of a run folder hold."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr import files
from gsr.rows import Rows, split
from gsr.tables import Array

if TYPE_CHECKING:
    from gsr.estimator import GSRRegressor
    from gsr.runs.config import Config
    from gsr.table import EquationTable

FORMAT, VERSION = "gsr run", 1
LIBRARIES = ("numpy", "scipy", "scikit-learn", "sympy")
SAMPLE_ROWS = 1000
SAMPLE_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class Laws:
    """The laws of a target; the table keeps simplified laws."""

    model: GSRRegressor
    table: EquationTable

    @property
    def target(self) -> str:
        """The name of the target."""
        return str(self.model.equation_.target_name)

    @property
    def chosen(self) -> Any:
        """The chosen entry of the front."""
        return self.model.front_[self.model.best_index_]

    def result(self) -> dict[str, Any]:
        """Return what ``result.json`` holds about the target."""
        model, chosen = self.model, self.chosen
        front = [
            {
                "complexity": row.complexity,
                "rmse": row.rmse,
                "held_out": row.held_out if math.isfinite(row.held_out) else None,
                "exact": row.entry.exact,
                "equation": str(row.entry.equation),
            }
            for row in self.table
        ]
        top = [
            {
                "bits": row.bits if math.isfinite(row.bits) else None,
                "rmse": row.rmse,
                "verdict": row.verdict,
                "complexity": row.complexity,
                "equation": row.equation,
                "chosen": row.pick,
                "index": row.index,
            }
            for row in self.table.top()
        ]
        return {
            "status": model.status_,
            "equation": str(model.equation_),
            "explicit": self.table[model.best_index_].explicit,
            "level": model.level_,
            "support": model.support_,
            "rmse": chosen.rmse,
            "weighted": chosen.is_weighted,
            "complexity": chosen.complexity,
            "uses_features": bool(chosen.uses_features),
            "target": self.target,
            "best_index": model.best_index_,
            "why": model.why_,
            "noise": model.noise_,
            "front": front,
            "top": top,
            "generations": model.n_generations_,
            "evaluations": model.n_evaluations_,
            "seconds": model.fit_time_,
        }


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished search, and what it was asked for."""

    model: GSRRegressor
    #: Training rows; y has a column for each target if there are several.
    X: Array
    y: Array
    #: The settings, seed and path of the table included; the SHA-256 of the table.
    config: Config
    sha256: str | None = None
    weights: Array | None = None
    #: Further entries of ``result.json``.
    more: Mapping[str, Any] = field(default_factory=dict)
    #: The command that repeats the run, given the configuration.
    command: str = "gsr fit --config"
    #: Further columns of the rows, beside features and targets.
    columns: Mapping[str, Array] = field(default_factory=dict)

    @cached_property
    def laws(self) -> dict[str, Laws]:
        """The laws of each target; after an interruption the last targets may have none."""
        models = getattr(self.model, "models_", None) or {"": self.model}
        found = (Laws(model, model.equations_) for model in models.values())
        return {laws.target: laws for laws in found}

    @property
    def first(self) -> GSRRegressor:
        """The model of the first target."""
        return next(iter(self.laws.values())).model

    @property
    def is_one(self) -> bool:
        """Whether y is one target, as opposed to a list of them."""
        return self.y.ndim == 1

    @cached_property
    def n_used(self) -> int:
        """The number of rows that laws were fitted to: of positive weight, and not held out."""
        from gsr.problem import core_settings

        n = len(self.y)
        known = Rows(np.empty((n, 0)), np.empty(n), self.weights)
        parameters = self.first.get_params(deep=False)
        fraction = parameters["validation_fraction"]
        if fraction is not None:
            known, _ = split(known, fraction, core_settings(parameters)["seed"])
        return len(known) if known.weights is None else int(np.sum(known.weights > 0.0))

    def result(self) -> dict[str, Any]:
        """Return what ``result.json`` holds."""
        from gsr.info import core_info

        found = {
            "format": FORMAT,
            "format_version": VERSION,
            "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            **self._results(),
            "features": list(self.first.equation_.feature_names[: self.first.equation_.n_features]),
            "settings": self.config.values,
            "seed": self.config.get("run", "seed"),
            "versions": {**core_info(), **{name: version(name) for name in LIBRARIES}},
            "rows": len(self.y),
            "rows_used": self.n_used,
            "data": {"path": self.config.data_path(), "sha256": self.sha256},
            **self.more,
        }
        plain: dict[str, Any] = files.plain(found)
        return plain

    def _results(self) -> dict[str, Any]:
        """Return the laws; the status of several targets is that of the last search."""
        each = [laws.result() for laws in self.laws.values()]
        if self.is_one:
            return each[0]
        summed = ("generations", "evaluations", "seconds")
        sums = {name: sum(result[name] for result in each) for name in summed}
        return {"status": each[-1]["status"], "targets": each, **sums}

    def equations_csv(self) -> str:
        """Return the fronts as a table."""
        fronts = [laws.table.to_csv() or "" for laws in self.laws.values()]
        if self.is_one:
            return fronts[0]
        tables = [list(csv.reader(io.StringIO(front))) for front in fronts]
        named = zip(self.laws, tables, strict=True)
        rows = ((target, *row) for target, table in named for row in table[1:])
        return as_csv(("target", *tables[0][0]), rows)

    def history_csv(self) -> str:
        """Return how the best errors fell as a table."""
        names = ("seconds", "generation", "evaluations", "rmse")
        rows = [
            (target, *(getattr(each, name) for name in names))
            for target, laws in self.laws.items()
            for each in laws.model.history_
        ]
        if self.is_one:
            return as_csv(names, (row[1:] for row in rows))
        return as_csv(("target", *names), rows)

    def sample_csv(self) -> str:
        """Return some of the training rows as a table."""
        n_rows, n_columns = self.X.shape
        most = min(SAMPLE_ROWS, max(10, SAMPLE_CELLS // (n_columns + 1)))
        rows = np.arange(n_rows)
        if n_rows > most:
            rows = np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
        targets = list(self.laws)
        y = self.y if self.is_one else self.y[:, : len(targets)]
        names = self.first.equation_.feature_names[:n_columns]  # constants of groups follow
        more = {name: column for name, column in self.columns.items() if name not in names}
        table = np.column_stack([*(c[rows] for c in more.values()), self.X[rows], y[rows]])
        return as_csv((*more, *names, *targets), table.tolist())


def as_csv(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return rows below a header as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()
