"""Searches, each in its own thread and independent of the pages that show them."""

from __future__ import annotations

import logging
import re
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Literal

from gsr.app.questions import Columns, Question, columns_of
from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.progress import current_law
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.table import EquationTable

State = Literal["new", "running", "done", "failed"]

#: Seconds between two updates of the front of a search.
LOOK_EVERY = 1.0
#: Seconds that searches have to end when the application stops.
PATIENCE = 3.0


class TableSearch:
    """A table, the settings of its search, and the laws found.

    The search runs in a daemon thread. `version` increases whenever there is something new to show.
    """

    def __init__(self, number: int, path: Path) -> None:
        self.number, self.path, self.name = number, path, path.name
        self.columns: Columns = columns_of(path)
        self.question: Question | None = None
        self.state: State = "new"
        self.version = 0
        self.progress: Progress | None = None
        self.message = ""
        self.notes: list[str] = []
        self._model: Any = None
        self._found: list[FrontEntry] = []
        self._known: dict[tuple[int, float], FrontEntry] = {}
        self._data: Any = None
        self._due = 0.0
        self._is_told_to_stop = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- what the page does ------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether the thread is at work."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        """Whether the search was told to stop and is still refining its laws."""
        return self.is_running and self._is_told_to_stop.is_set()

    @property
    def can_go_on(self) -> bool:
        """Whether the search ended before it found an exact law."""
        return self.fitted is not None and self.fitted.status_ != "exact"

    def start(self, question: Question) -> None:
        """Start a new search; invalid settings raise an error."""
        if self.is_running:
            raise GSRError("the search is running; stop it first")
        config = question.config(self.path)
        self.question, self._model, self._known, self._found = question, None, {}, []
        self._run(config)

    def go_on(self, max_time: float) -> None:
        """Continue the search for `max_time` more seconds."""
        if not self.can_go_on or self.question is None:
            raise GSRError("there is no search to continue")
        self.question = replace(self.question, max_time=max_time)
        self._run(None)

    def stop(self) -> None:
        """Tell the search to end; its laws are kept."""
        self._is_told_to_stop.set()
        self.version += 1

    @property
    def fitted(self) -> Any:
        """The fitted model; None while the search runs."""
        return None if self.is_running else self._model

    @property
    def laws(self) -> EquationTable | None:
        """The front of the running search or of the model; None while there is none."""
        if self.fitted is not None:
            table: EquationTable = self.fitted.equations_
            return table
        entries = self._found
        if not entries or entries[0].data is None:
            return None
        best = current_law(entries, len(entries[0].data.y))
        return EquationTable(entries, entries.index(best))

    @property
    def rows(self) -> None:
        """None, since the laws have their rows."""

    @property
    def history(self) -> Sequence[Progress]:
        """The error against time, once the search has ended."""
        return getattr(self.fitted, "history_", [])

    def report(self) -> str:
        """Return the report of the fitted model."""
        from gsr import report
        from gsr.app.law_view import DRAWING

        with DRAWING:
            return report.page(self.fitted)

    # ---- the thread --------------------------------------------------------------------------

    def _run(self, config: Any) -> None:
        self._is_told_to_stop.clear()
        self._due, self.progress, self.message, self.state = 0.0, None, "", "running"
        self.version += 1
        self._thread = threading.Thread(target=self._work, args=(config,), daemon=True)
        self._thread.start()

    def _work(self, config: Any) -> None:
        try:
            with self._noted(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._fit(config)
            self.state = "done"
        except GSRError as error:
            self.state, self.message = "failed", str(error)
        except Exception as error:  # any error must be shown on the page
            traceback.print_exc()
            self.state, self.message = "failed", f"internal error: {error!r}"
        finally:
            self._thread = None
            self.version += 1

    def _fit(self, config: Any) -> None:
        from gsr.cli.fit_data import load, regressor

        if config is not None:
            self._data = load(Source(self.path), config)
            model = regressor(config, self._data, callback=self._report, warm_start=True)
        else:
            assert self.question is not None
            model = self._model.set_params(max_time=self.question.max_time)
        data = self._data
        model.fit(data.X, data.y, data.weights, sigma=data.sigma)
        self._model = model

    def _report(self, progress: Progress) -> bool:
        """Store progress and front; called by the search, in its thread."""
        self.progress = replace(progress, write_law=None, make_front=None)
        if progress.seconds >= self._due or progress.status != "running":
            self._due = progress.seconds + LOOK_EVERY
            found = [self._known.setdefault(_key(each), each) for each in progress.front]
            self.version += found != self._found
            self._found = found
        return self._is_told_to_stop.is_set()

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Keep the messages of this thread for the page."""
        self.notes = []
        handler = _Notes(self.notes)
        logger = logging.getLogger("gsr")
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)


def _key(entry: FrontEntry) -> tuple[int, float]:
    """Return a key by which a law is recognised, so that its computed values are reused."""
    return entry.complexity, entry.rmse


class _Notes(logging.Handler):
    """Collects the warnings of the thread that created it."""

    def __init__(self, notes: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._notes, self._of = notes, threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        if record.thread == self._of:
            self._notes.append(record.getMessage())


class Searches:
    """All searches of the application, by their numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[int, TableSearch] = {}
        self._numbers = count(1)

    def open(self, path: Path) -> TableSearch:
        """Add a search on a table; a file that is not a table raises an error."""
        number = next(self._numbers)
        self.known[number] = search = TableSearch(number, path)
        return search

    def add(self, name: str, content: bytes) -> TableSearch:
        """Add a search on a table sent by the browser."""
        folder = self.folder / f"table-{next(self._numbers)}"
        folder.mkdir()
        path = folder / (re.sub(r"[^\w. -]", "_", Path(name).name) or "table")
        path.write_bytes(content)
        try:
            return self.open(path)
        except GSRError as error:
            raise GSRError(str(error).replace(str(path), path.name)) from error

    def stop(self) -> None:
        """End all searches."""
        threads = [each._thread for each in self.known.values() if each._thread is not None]
        for search in self.known.values():
            search.stop()
        for thread in threads:
            thread.join(PATIENCE)
