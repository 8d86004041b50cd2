"""What a report is made of: a run folder, or a fitted model in memory."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from gsr.exceptions import GSRError
from gsr.plotting import Rows
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.transformation import Array

#: Rows of a model in memory that are drawn.
MOST_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Target:
    """A target with its fitted model."""

    name: str
    model: Any
    X: Array | None
    y: Array | None
    history: Sequence[Progress]

    @cached_property
    def rows(self) -> Rows | None:
        """The rows to draw, with what the law says about them."""
        if self.X is None or self.y is None:
            return None
        return Rows.of(self.entry, self.X, self.y)

    @property
    def entry(self) -> FrontEntry:
        """The chosen law."""
        chosen: FrontEntry = self.model.front_[self.model.best_index_]
        return chosen


@dataclass(frozen=True, eq=False)
class Source:
    """What is known of a run."""

    targets: Sequence[Target]
    columns: Mapping[str, Array] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    history: Sequence[Progress] = ()
    config: str | None = None
    run: Path | None = None
    missing: Sequence[str] = ()

    @property
    def n_rows(self) -> int:
        """Rows of the run; those kept if it does not say."""
        told = self.result.get("rows")
        return told if isinstance(told, int) else self.n_kept

    @property
    def n_kept(self) -> int:
        """Rows that are kept."""
        return max((len(values) for values in self.columns.values()), default=0)

    @property
    def model(self) -> Any:
        """A model that has the settings of all."""
        return self.targets[0].model if self.targets else None


def source(run_or_model: Any) -> Source:
    """Return what a report needs from a fitted model, or from a run folder."""
    if isinstance(run_or_model, str | PathLike):
        return read(run_or_model)
    if not hasattr(run_or_model, "get_params"):
        raise GSRError(
            "a report is made of a run folder or a fitted GSRRegressor, got a "
            f"{type(run_or_model).__name__}"
        )
    return of_model(run_or_model)


def of_model(model: Any) -> Source:
    """Return what a fitted model in memory knows."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    targets = [_target(name, each) for name, each in _models(model).items()]
    columns: dict[str, Array] = {}
    for target in targets:
        data = target.entry.data
        if data is not None:
            columns |= dict(zip(target.entry.equation.feature_names, data.X.T, strict=True))
            columns[target.name] = data.y
    gone = any(target.X is None for target in targets)
    missing = ["The model was loaded without its training rows: they are not drawn."] * gone
    return Source(targets, columns, missing=missing)


def _models(model: Any) -> dict[str, Any]:
    several: Mapping[str, Any] | None = getattr(model, "models_", None)
    return dict(several) if several else {model.equation_.target_name: model}


def _target(name: str, model: Any) -> Target:
    data = model.front_[model.best_index_].data
    history = list(getattr(model, "history_", None) or ())
    if data is None:
        return Target(name, model, None, None, history)
    rows = np.arange(len(data.y))
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    return Target(name, model, np.asarray(data.X[rows]), np.asarray(data.y[rows]), history)


# ---- run folders -------------------------------------------------------------------------------


def read(run: str | PathLike[str]) -> Source:
    """Return what is in a run folder; what is missing is told, not raised."""
    folder = Path(fspath(run))
    if not folder.is_dir():
        raise GSRError(f"{folder} is no run folder: there is no such folder")
    names = ("model.json", "result.json", "sample.csv", "history.csv", "config.toml")
    if not any((folder / name).is_file() for name in names):
        raise GSRError(f"{folder} is no run folder: it has none of {', '.join(names)}")
    missing: list[str] = []
    result = _result(folder / "result.json", missing)
    history = _history(folder / "history.csv", missing)
    columns = _columns(folder / "sample.csv", "the rows are not drawn", missing)
    models = _loaded(folder / "model.json", missing)
    targets = [_of_run(name, model, columns, history) for name, model in models.items()]
    if columns and any(target.X is None for target in targets):
        missing.append("sample.csv lacks columns of the law: its rows are not drawn.")
    config = config_file(folder)
    text = config.read_text(encoding="utf-8", errors="replace") if config.is_file() else None
    return Source(targets, columns, result, history, text, folder, missing)


def config_file(folder: Path) -> Path:
    """Return the configuration of a run; beside one of the user's it has another name."""
    other = folder / "config.run.toml"
    return other if other.is_file() else folder / "config.toml"


def _result(path: Path, missing: list[str]) -> dict[str, Any]:
    if not path.is_file():
        missing.append("There is no result.json: the run is still going, or ended before its end.")
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        missing.append(f"result.json cannot be read: {error}")
        return {}
    if not isinstance(found, dict):
        missing.append("result.json cannot be read: it is no table of names and values.")
        return {}
    return found


def _loaded(path: Path, missing: list[str]) -> dict[str, Any]:
    from gsr import saving

    if not path.is_file():
        missing.append("There is no model.json: no law has been written yet.")
        return {}
    try:
        return _models(saving.load(path))
    except GSRError as error:
        missing.append(f"The model cannot be read: {error}")
        return {}


def _columns(path: Path, what: str, missing: list[str]) -> dict[str, Array]:
    """Return the columns of a table; what is no number is NaN."""
    import pandas as pd

    if not path.is_file():
        missing.append(f"There is no {path.name}: {what}.")
        return {}
    try:
        table = pd.read_csv(path, encoding_errors="replace", index_col=False)
    except ValueError as error:
        missing.append(f"{path.name} cannot be read ({error}): {what}.")
        return {}
    if table.empty:
        missing.append(f"{path.name} has no rows: {what}.")
    numbers = table.apply(pd.to_numeric, errors="coerce").replace([np.inf, -np.inf], np.nan)
    return {name: column.to_numpy(dtype=float) for name, column in numbers.items()}


def _history(path: Path, missing: list[str]) -> list[Progress]:
    what = "how the error fell is not known"
    table = _columns(path, what, missing)
    n_rows = len(next(iter(table.values()), ()))
    unknown = np.full(n_rows, np.nan)
    seconds, rmse = (table.get(name, unknown) for name in ("seconds", "rmse"))
    counts = (np.nan_to_num(table.get(name, unknown)) for name in ("generation", "evaluations"))
    kept = [
        Progress(float(s), None, int(g), int(e), float(r), "")
        for s, g, e, r in zip(seconds, *counts, rmse, strict=True)
        if math.isfinite(s) and math.isfinite(r)
    ]
    if n_rows and not kept:
        missing.append(f"{path.name} has no seconds and errors: {what}.")
    return kept


def _of_run(
    name: str, model: Any, columns: Mapping[str, Array], history: Sequence[Progress]
) -> Target:
    names = model.equation_.feature_names
    told = list(getattr(model, "history_", None) or history)
    if name not in columns or any(each not in columns for each in names):
        return Target(name, model, None, None, told)
    X = np.column_stack([columns[each] for each in names])
    good = np.isfinite(X).all(axis=1) & np.isfinite(columns[name])
    return Target(name, model, X[good], columns[name][good], told)
