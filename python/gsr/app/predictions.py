"""Predictions for new rows, in a table with their features."""

from __future__ import annotations

import tempfile
from asyncio import to_thread
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui

from gsr.app.widgets import file_input, pasted_input, problem_label
from gsr.cli.models import predict_table
from gsr.exceptions import GSRError
from gsr.tables import Array

#: Number of rows shown; the file has all of them.
SHOWN = 12
#: Probability of the intervals.
LEVEL = 0.95

Columns = dict[str, Array]


class Predictions:
    """A table of predictions on the page; `law` returns the model and the index of a law."""

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
                return predict_table(model, path, index, LEVEL)
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
