"""The page of a run folder, finished or still running, which it does not change."""

from __future__ import annotations

import threading
import time
from asyncio import to_thread
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from nicegui import ui

from gsr import report
from gsr.app import law_view
from gsr.app.law_panel import LawPanel
from gsr.app.widgets import heading, problem_label
from gsr.cli.status import examine, facts
from gsr.exceptions import GSRError
from gsr.islands.journal import METRICS, tail
from gsr.report import content
from gsr.search import Progress
from gsr.table import EquationTable
from gsr.transformation import Array

#: Seconds between two checks of the folder, and between two reads of the checkpoints, each of which
#: takes as long as the final fits.
EVERY = 1.0
LAWS_EVERY = 20.0
#: Number of changes of the best law that are listed.
MOST_LAWS = 12
OF_RANK = ("seconds", "evaluations", "generation", "rmse", "sent", "received", "accepted")

Line = dict[str, Any]


class RunFolder:
    """The state of a run, which is read again while it changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version = 0
        self.status: dict[str, Any] = {}
        self._lines: list[list[Line]] = []
        self.problem = ""
        self._found: content.Source | None = None
        self._mark: Any = None
        self._reading = threading.Lock()
        self._due = 0.0

    @property
    def ranks(self) -> list[list[Line]]:
        """The last metrics of each rank."""
        return [[line for line in lines if "rmse" in line] for lines in self._lines]

    @property
    def laws_over_time(self) -> list[tuple[float, str]]:
        """The seconds at which the best law changed, with the law."""
        lines = (line for lines in self._lines for line in lines if line.get("event") == "law")
        return [(float(line["seconds"]), str(line["law"])) for line in lines]

    @property
    def rows(self) -> tuple[Array, Array] | None:
        """The rows stored in the run folder."""
        target = self._found.targets[0] if self._found and self._found.targets else None
        if target is None or target.X is None or target.y is None:
            return None
        return target.X, target.y

    @property
    def fitted(self) -> Any:
        """The model of the run, or the one made from its checkpoints."""
        targets = self._found.targets if self._found else ()
        return targets[0].model if targets else None

    @property
    def laws(self) -> EquationTable | None:
        """The front of the first target."""
        model = self.fitted
        return None if model is None else model.equations_

    @property
    def history(self) -> Sequence[Progress]:
        """The error against time, of all ranks together if the run has several."""
        if self._found is not None and len(self._found.history) > 1:
            return self._found.history
        return list(_falling(line for lines in self.ranks for line in lines))

    def read(self) -> None:
        """Read the state of the run and the metrics of its ranks."""
        try:
            self.status = examine(self.folder)
        except GSRError as error:
            self.problem = str(error)
            return
        paths = sorted((self.folder / METRICS).glob("rank-*.jsonl"))
        self._lines = [list(tail(path)) for path in paths]

    def read_laws(self) -> None:
        """Read the model or the checkpoints, if they changed and no other thread reads them."""
        mark = (self.status.get("state"), self.status.get("checkpoint"))
        is_running = mark[0] == "running"
        is_due = time.monotonic() >= self._due and mark[1] is not None if is_running else True
        if mark == self._mark or not is_due or not self._reading.acquire(blocking=False):
            return
        try:
            self._mark = mark
            self._read_laws()
            self._due = time.monotonic() + LAWS_EVERY
        finally:
            self._reading.release()

    def _read_laws(self) -> None:
        from gsr.cli.island_results import finished

        try:
            with finished(self.folder) as folder:
                self._found = content.read(folder)
        except GSRError as error:
            self.problem = str(error)
            return
        self.problem = "\n".join(self._found.missing)
        self.version += 1

    def report(self) -> str:
        """Return the report of the run."""
        from gsr.cli.island_results import finished

        with law_view.DRAWING, finished(self.folder) as folder:
            return report.page(folder)


def _falling(lines: Iterator[Line]) -> Iterator[Progress]:
    """Return the best error of all ranks against time."""
    best = float("inf")
    for line in sorted(lines, key=lambda line: float(line.get("seconds", 0.0))):
        if line["rmse"] is not None and line["rmse"] < best:
            best = line["rmse"]
            seconds, counts = line["seconds"], (line["generation"], line["evaluations"])
            yield Progress(seconds, None, *counts, best, "running")


class RunPage:
    """The view of a run in one browser tab."""

    def __init__(self, folder: RunFolder) -> None:
        self.run = folder
        with ui.element("div").classes("sides"):
            with ui.element("section").classes("asked"):
                heading("State")
                self.state = ui.html("", sanitize=False)
                self.problem = problem_label()
            with ui.element("div").classes("found"):
                with ui.element("section") as self.ranks_section:
                    heading("Ranks")
                    self.ranks = ui.html("", sanitize=False)
                with ui.element("section") as self.time_section:
                    heading("Best law over time")
                    self.over_time = ui.html("", sanitize=False)
                self.laws = LawPanel(folder, is_read_only=True)
        ui.timer(EVERY, self._update)
        ui.timer(EVERY, self._update_laws)

    async def _update(self) -> None:
        folder = self.run
        await to_thread(folder.read)
        self.problem.set_text("\n".join(filter(None, [folder.problem, *_warnings(folder)])))
        self.state.set_content(_definitions(facts(folder.status)))
        self.ranks_section.set_visibility(bool(folder.ranks))
        self.ranks.set_content(_table(["rank", *OF_RANK], _rank_rows(folder.ranks)))
        seen = folder.laws_over_time[-MOST_LAWS:]
        self.time_section.set_visibility(bool(seen))
        rows = [[f"{seconds:,.1f} s", law] for seconds, law in reversed(seen)]
        self.over_time.set_content(_table(["since", "law"], rows))

    async def _update_laws(self) -> None:
        await to_thread(self.run.read_laws)
        await self.laws.update()


def _warnings(folder: RunFolder) -> list[str]:
    found: list[str] = folder.status.get("warnings", [])
    return found


def _rank_rows(ranks: Sequence[Sequence[Line]]) -> Iterator[list[str]]:
    for number, lines in enumerate(ranks):
        last = lines[-1] if lines else {}
        yield [str(number), *(_cell(last.get(name)) for name in OF_RANK)]


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else "" if value is None else f"{value:,.4g}"


def _table(heads: Sequence[str], rows: Any) -> str:
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" tabindex="0">{table}</div>'


def _definitions(facts: Any) -> str:
    pairs = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    return f'<dl class="facts">{"".join(pairs)}</dl>'
