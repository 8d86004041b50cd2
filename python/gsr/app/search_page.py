"""The page of a search: the settings on the left, the results on the right."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from gsr.app.law_panel import LawPanel
from gsr.app.questions import Question
from gsr.app.searches import TableSearch
from gsr.app.widgets import heading, problem_label
from gsr.exceptions import GSRError
from gsr.wording import ending

#: Seconds between two updates of the page.
EVERY = 0.4
SCATTER = {
    "auto": "detected",
    "constant": "constant",
    "relative": "proportional to the target",
    "poisson": "as for counts (Poisson)",
}


class SearchPage:
    """The view of a search in one browser tab."""

    def __init__(self, search: TableSearch) -> None:
        self.search = search
        with ui.element("div").classes("sides"):
            with ui.element("section").classes("asked"):
                heading("What to find")
                self._columns()
                self._more()
                self._buttons()
            with ui.element("div").classes("found"):
                with ui.element("section"):
                    self.progress = ui.label().props("aria-live=polite")
                    self.bar = ui.linear_progress(0.0, show_value=False)
                    self.bar.props('aria-label="time used"')
                self.laws = LawPanel(search)
        ui.timer(EVERY, self._update)

    # ---- what is asked -----------------------------------------------------------------------

    def _columns(self) -> None:
        columns, asked = self.search.columns, self.search.question
        names = list(columns.names)
        for name, why in columns.left_out.items():
            ui.label(f"The column {name!r} cannot be used: {why}").classes("note")
        self.target = ui.select(names, value=asked.target if asked else names[-1], label="Target")
        self.target.on_value_change(self._make_others_features)
        features = list(asked.features) if asked else names[:-1]
        self.features = ui.select(names, value=features, label="Features", multiple=True)
        self.features.props("use-chips")
        scatter = {**SCATTER, **{name: f"standard deviations in {name!r}" for name in names}}
        self.errors = ui.select(scatter, label="Errors of the target")
        self.errors.set_value(asked.errors if asked else "auto")
        for field in (self.target, self.features, self.errors):
            field.props("outlined dense").classes("wide")

    def _more(self) -> None:
        asked = self.search.question
        self.seconds = ui.number("Seconds", value=asked.max_time if asked else 30.0, min=1)
        self.drop = ui.checkbox("Leave out rows with missing values")
        self.drop.set_value(asked.drops_missing if asked else False)
        with ui.expansion("Units").classes("wide"):
            note = "Laws must agree with the units, such as kg or m/s^2; 1 is dimensionless."
            ui.label(note).classes("note")
            known = asked.units if asked else {}
            self.units = {
                name: ui.input(name, value=known.get(name, ""))
                for name in self.search.columns.names
            }
        for field in (self.seconds, *self.units.values()):
            field.props("outlined dense").classes("wide")

    def _buttons(self) -> None:
        with ui.element("div").classes("buttons"):
            self.start = ui.button("Start", on_click=lambda: self._attempt(self._start))
            self.stop = ui.button("Stop", on_click=self.search.stop)
            self.go_on = ui.button("Go on", on_click=lambda: self._attempt(self._go_on))
            self.go_on.props("outline")
        self.problem = problem_label()

    def _make_others_features(self) -> None:
        taken = (self.target.value, self.errors.value)
        others = [name for name in self.search.columns.names if name not in taken]
        self.features.set_value(others)

    def _start(self) -> None:
        taken = (self.target.value, self.errors.value)
        question = Question(
            target=self.target.value,
            features=tuple(name for name in self.features.value if name not in taken),
            units={name: field.value or "" for name, field in self.units.items()},
            errors=self.errors.value,
            max_time=float(self.seconds.value or 0.0),
            drops_missing=self.drop.value,
        )
        self.search.start(question)

    def _go_on(self) -> None:
        self.search.go_on(float(self.seconds.value or 0.0))

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except GSRError as error:
            self.search.message = str(error)

    # ---- what goes on ------------------------------------------------------------------------

    async def _update(self) -> None:
        search = self.search
        self.start.set_enabled(not search.is_running)
        self.stop.set_enabled(search.is_running and not search.is_stopping)
        self.go_on.set_enabled(search.can_go_on)
        self.problem.set_text("\n".join(filter(None, [search.message, *search.notes])))
        self.progress.set_text(self._state())
        self.bar.set_visibility(search.is_running)
        if search.progress is not None and search.progress.max_time:
            self.bar.set_value(min(search.progress.seconds / search.progress.max_time, 1.0))
        await self.laws.update()

    def _state(self) -> str:
        search, progress = self.search, self.search.progress
        if search.state == "failed":
            return "The search could not be run."
        if progress is None:
            return "Starting." if search.is_running else "No search has been started."
        counts = f"{progress.evaluations:,} evaluations in {progress.seconds:.0f} s"
        if search.is_stopping:
            return f"Stopping, the best laws are being refined: {counts}"
        if search.is_running:
            return f"Searching: {counts}"
        return f"{counts}; the search ended because {ending(search.fitted.status_)}."
