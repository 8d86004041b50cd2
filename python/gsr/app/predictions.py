"""Predictions for new rows, beside the columns that they are made of."""

from __future__ import annotations

import tempfile
import warnings
from asyncio import to_thread
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from nicegui import ui

from gsr import tables
from gsr.app.widgets import file_input, pasted_input, problem_label
from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.tables import Array

#: Rows that are shown; all are in the file.
SHOWN = 12
#: Probability of the intervals.
LEVEL = 0.95

Columns = dict[str, Array]


def predict_table(model: Any, path: Path, index: int | None = None) -> Columns:
    """Return the features of a table with the predictions, and the ends of their intervals."""
    names = tuple(model.equation_.feature_names)

    def features(present: Sequence[str]) -> Sequence[str]:
        absent = [name for name in names if name not in present]
        if absent:
            raise GSRError(f"{path.name}: there is no column {', '.join(map(repr, absent))}")
        return names

    table = tables.read(Source(path), columns=features)
    target, complete = model.equation_.target_name, np.isfinite(table.values).all(axis=1)
    found = np.full((len(table.values), 3), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if complete.any():
            X = table.values[complete]
            found[complete, 0] = model.predict(X, index)
            found[complete, 1:] = _intervals(model, X, index)
    made = dict(zip((target, f"{target} lower", f"{target} upper"), found.T, strict=True))
    return dict(zip(names, table.values.T, strict=True)) | made


def _intervals(model: Any, X: Array, index: int | None) -> Array:
    try:
        ends: Array = model.predict_interval(X, LEVEL, index)
        return ends
    except GSRError:  # how the rows scatter is not known
        return np.full((len(X), 2), np.nan)


class Predictions:
    """A table of predictions on the page; `law` returns the model and the number of a law."""

    def __init__(self, law: Callable[[], tuple[Any, int | None]]) -> None:
        self._law = law
        self._columns: Columns = {}
        file_input(self._predict, "Drop a table of new rows here, or choose one with +")
        pasted_input(self._predict, "or paste rows with their headings", "Predict")
        self.problem = problem_label()
        self.table = ui.table(rows=[]).props("dense flat").classes("wide")
        self.download = ui.button("Predictions", icon="download", on_click=self._download)
        self.download.props("outline")
        for part in (self.table, self.download):
            part.set_visibility(False)

    async def _predict(self, name: str, content: bytes) -> None:
        self._columns = {}
        try:
            self._columns = await to_thread(self._predicted, name, content)
            self.problem.set_text("")
        except GSRError as error:
            self.problem.set_text(str(error))
        columns = [{"name": n, "label": n, "field": n} for n in self._columns]
        self.table.columns = columns
        self.table.rows = _rows(self._columns)
        for part in (self.table, self.download):
            part.set_visibility(bool(self._columns))

    def _predicted(self, name: str, content: bytes) -> Columns:
        model, index = self._law()
        with tempfile.TemporaryDirectory(prefix="gsr-rows-") as folder:
            path = Path(folder) / "rows"
            path.write_bytes(content)
            try:
                return predict_table(model, path, index)
            except GSRError as error:
                raise GSRError(str(error).replace(str(path), name)) from error

    def _download(self) -> None:
        from gsr.runs.outcome import as_csv

        rows = zip(*(column.tolist() for column in self._columns.values()), strict=True)
        ui.download.content(as_csv(self._columns, rows), "predictions.csv", "text/csv")


def _rows(columns: Columns) -> list[dict[str, str]]:
    from gsr.report.content import limited

    count = min(SHOWN, *(len(column) for column in columns.values())) if columns else 0
    return [{name: limited(column[k]) for name, column in columns.items()} for k in range(count)]
