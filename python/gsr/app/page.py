"""The pages: the start page, on which a table is chosen, and one for each search and run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from nicegui import ui

import gsr
from gsr.app.search_page import SearchPage
from gsr.app.searches import Searches
from gsr.app.widgets import file_input, heading, pasted_input, problem_label
from gsr.exceptions import GSRError
from gsr.plotting.drawing import MAIN

WORDS = {"new": "not started", "running": "running", "done": "finished", "failed": "failed"}
STYLES = ("report/template/style.css", "app/style.css")


def register(searches: Searches, source: Path | None) -> str:
    """Register the pages with NiceGUI; return the path of the first one to open."""
    styles = (files("gsr").joinpath(path).read_text(encoding="utf-8") for path in STYLES)
    ui.add_head_html(f"<style>{''.join(styles)}</style>", shared=True)

    @ui.page("/")
    def _start() -> None:
        with _frame("Find a law in a table"):
            _start_page(searches)

    @ui.page("/search/{number}")
    def _search(number: int) -> None:
        search = searches.known.get(number)
        if search is None:
            with _frame("There is no such search"):
                ui.label("The application has been restarted; open the table again.")
            return
        with _frame(search.name):
            SearchPage(search)

    if source is None:
        return "/"
    if source.is_dir():
        return _register_run(source)
    return f"/search/{searches.open(source).number}"


def _register_run(folder: Path) -> str:
    from gsr.app.run_page import RunFolder, RunPage

    run = RunFolder(folder)

    @ui.page("/run")
    def _run() -> None:
        with _frame(f"Run {folder.name}"):
            RunPage(run)

    return "/run"


@contextmanager
def _frame(title: str) -> Iterator[None]:
    """Provide the parts common to all pages: a heading with a link back, and the version."""
    ui.page_title(f"{title} - gsr")
    ui.colors(primary=MAIN)
    with ui.element("header").classes("top"):
        ui.link("gsr", "/").classes("home").props('aria-label="gsr, first page"')
        heading(title, 1)
    with ui.element("main"):
        yield
    with ui.element("footer"):
        ui.label(f"gsr {gsr.__version__}, on this machine only")


def _start_page(searches: Searches) -> None:
    def opened(name: str, content: bytes) -> None:
        try:
            search = searches.add(name, content)
        except GSRError as error:
            problem.set_text(str(error))
            return
        ui.navigate.to(f"/search/{search.number}")

    with ui.element("section"):
        heading("From a file")
        file_input(opened, "Drop a CSV or Excel file here, or choose one with +")
        heading("From a spreadsheet")
        pasted_input(opened, "Paste rows with their headings", "Use these rows")
        problem = problem_label()
    if searches.known:
        with ui.element("section"):
            heading("Searches of this session")
            for search in searches.known.values():
                asked = f"{search.question.target}, " if search.question else ""
                with ui.element("p"):
                    ui.link(search.name, f"/search/{search.number}")
                    ui.label(f"{asked}{WORDS[search.state]}").classes("note")
