"""The panel of laws: a list, the selected law, its pictures, and actions."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence
from typing import Any, Protocol

from nicegui import events, ui

from gsr import saving
from gsr.app import law_view
from gsr.app.law_view import target_of
from gsr.app.predictions import Predictions
from gsr.app.widgets import heading
from gsr.search import Progress
from gsr.table import EquationRow, EquationTable
from gsr.transformation import Array

#: Languages of source code, with the suffixes of their files.
LANGUAGES = {"python": "py", "numpy": "py", "c": "c", "torch": "py", "jax": "py"}
LINK_OF_POINT = """(event) => {
  const link = event.target.closest('a');
  if (link) { event.preventDefault(); emit(link.getAttribute('xlink:href')); }
}"""


class LawSource(Protocol):
    """The source of laws: a search, or a run folder."""

    #: Increases whenever the laws change.
    version: int

    @property
    def laws(self) -> EquationTable | None:
        """The front; None while there is none."""

    @property
    def fitted(self) -> Any:
        """The fitted model; None until the search has ended."""

    @property
    def rows(self) -> tuple[Array, Array] | None:
        """Features and target to draw, if the laws do not have them."""

    @property
    def history(self) -> Sequence[Progress]:
        """The error against time."""

    def report(self) -> str:
        """Return the report as a page."""


class LawPanel:
    """The laws in one browser tab; each tab has its own selected law."""

    def __init__(self, source: LawSource, is_read_only: bool = False) -> None:
        self.source = source
        self._looked_at: int | None = None  # None: the chosen law
        self._seen: Any = None
        self._shown: Sequence[EquationRow] = ()
        self._items: list[tuple[ui.item, ui.html, ui.label]] = []
        self._is_busy = self._was_fitted = False
        with ui.element("section"):
            heading("Laws")
            self.list = ui.list().classes("laws")
            self.all = ui.checkbox("Show all laws", on_change=self._forget)
            self.all.set_visibility(False)
        with ui.element("div") as self.of_law:
            self.of_law.set_visibility(False)
            self.law = ui.html("", sanitize=False)
            with ui.element("section") as self.actions:
                self._actions(is_read_only)
            with ui.element("section"):
                heading("Pictures")
                self.pictures = ui.html("", sanitize=False)
                self.pictures.on("click", self._point, js_handler=LINK_OF_POINT)
        with ui.element("div") as self.of_model:
            self.of_model.set_visibility(False)
            with ui.element("section"):
                heading("Compare two laws")
                self.other = ui.select({}, label="Compare with", on_change=self._forget)
                self.other.props("outlined dense clearable").classes("wide")
                self.compared = ui.html("", sanitize=False)
            with ui.element("section"):
                heading("Predict")
                Predictions(lambda: (self.source.fitted, self._looked_at))

    def _actions(self, is_read_only: bool) -> None:
        heading("Use it")
        with ui.element("div").classes("buttons"):
            self.choose = ui.button("Choose this law", on_click=self._choose)
            self.choose.set_visibility(not is_read_only)
            ui.button("Report", icon="download", on_click=self._report).props("outline")
            ui.button("Model", icon="download", on_click=self._model).props("outline")
            self.language = ui.select(list(LANGUAGES), value="python", label="Language")
            self.language.props("dense outlined")
            ui.button("Code", icon="download", on_click=self._code).props("outline")

    # ---- what is shown -----------------------------------------------------------------------

    async def update(self) -> None:
        """Show what has changed since the last call."""
        seen = (self.source.version, self._looked_at, self.other.value)
        if seen == self._seen or self._is_busy:
            return
        self._is_busy, self._seen = True, seen
        try:
            await self._show()
        finally:
            self._is_busy = False

    async def _show(self) -> None:
        table, is_fitted = self.source.laws, self.source.fitted is not None
        self.of_law.set_visibility(table is not None)
        self.of_model.set_visibility(is_fitted)
        if is_fitted != self._was_fitted:  # the indices now refer to other laws
            self._looked_at, self._was_fitted = None, is_fitted
        self.all.set_visibility(table is not None and len(table) > len(table.short()))
        if table is None:
            self._list([], None)
            return
        rows = await to_thread(self._rows, table)
        row = next((each for each in rows if each.index == self._looked_at), None)
        row = row or table[table.best_index]
        self._list(rows, row)
        self.actions.set_visibility(is_fitted)
        target = target_of(table, row, self.source.history, self.source.rows)
        self.law.set_content(await to_thread(law_view.details, target))
        self.pictures.set_content(await to_thread(law_view.pictures, target))
        self.choose.set_enabled(not row.pick)
        if is_fitted:
            await self._compare(rows, row)

    def _rows(self, table: EquationTable) -> list[EquationRow]:
        """Return the laws to list, simplest first, and then those of other kinds."""
        listed = list(table if self.all.value else table.short())
        if self.source.fitted is not None:
            entries = [row.entry for row in table]
            listed += [row for row in table.top() if row.entry not in entries]
        looked_at = [row for row in table if row.index == self._looked_at and row not in listed]
        for row in (*listed, *looked_at):
            _ = row.verdict  # slow, and cached
        return sorted([*listed, *looked_at], key=lambda row: row.complexity)

    def _list(self, rows: Sequence[EquationRow], looked_at: EquationRow | None) -> None:
        """Show rows in the list; items are reused, so that they keep the keyboard focus."""
        self._shown = rows
        while len(self._items) < len(rows):
            self._items.append(self._item(len(self._items)))
        for place, (item, law, facts) in enumerate(self._items):
            item.set_visibility(place < len(rows))
            if place < len(rows):
                row = rows[place]
                law.set_content(law_view.formula(row.entry))
                facts.set_text(_facts(row))
                is_current = "true" if row is looked_at else "false"
                item.props(f'aria-current="{is_current}"')

    def _item(self, place: int) -> tuple[ui.item, ui.html, ui.label]:
        with self.list, ui.item(on_click=lambda: self._look_at(self._shown[place].index)) as item:
            return item, ui.html("", sanitize=False), ui.label().classes("facts")

    async def _compare(self, rows: Sequence[EquationRow], row: EquationRow) -> None:
        others = {each.index: f"{each.index}: {each.equation}" for each in rows if each is not row}
        value = self.other.value if self.other.value in others else None
        self.other.set_options(others, value=value)
        pair = [row, *(each for each in rows if each.index == value)]
        shown = await to_thread(law_view.comparison, pair) if len(pair) > 1 else ""
        self.compared.set_content(shown)

    # ---- what is done ------------------------------------------------------------------------

    def _forget(self) -> None:
        """Show everything again at the next update."""
        self._seen = None

    def _look_at(self, index: int) -> None:
        self._looked_at = index

    def _point(self, event: events.GenericEventArguments) -> None:
        """Select the law whose point in the picture of the front was clicked."""
        table, place = self.source.laws, int(str(event.args).rpartition("-")[2].lstrip("#"))
        if table is not None and place < len(table):
            self._look_at(table[place].index)

    def _choose(self) -> None:
        self.source.fitted.choose(index=self._looked_at)
        self.source.version += 1

    @property
    def _name(self) -> str:
        return str(self.source.fitted.equation_.target_name)

    async def _report(self) -> None:
        page = await to_thread(self.source.report)
        ui.download.content(page, f"{self._name}.html", "text/html")

    def _model(self) -> None:
        ui.download.content(saving.text(self.source.fitted), f"{self._name}.json")

    def _code(self) -> None:
        language = str(self.language.value)
        source = self.source.fitted.export(language, index=self._looked_at)
        ui.download.content(source, f"law.{LANGUAGES[language]}", "text/plain")


def _facts(row: EquationRow) -> str:
    error = "" if row.entry.exact else f"{row.entry.error_name} {row.rmse:.3g}"
    facts = ("chosen" * row.pick, error, f"{row.complexity} nodes", row.verdict)
    return " · ".join(filter(None, facts))
