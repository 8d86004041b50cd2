"""What a rank does beside the search: checkpoints, metrics, status, and signals."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsr.islands.checkpoints import BackgroundWriter, Checkpoints
from gsr.islands.journal import JournalHandler, Metrics, write_status
from gsr.search import ENDINGS, handled

if TYPE_CHECKING:
    from gsr.islands.archipelago import Archipelago

#: Of several reasons to end at once, every rank takes the last in this order.
REASONS = ("running", *ENDINGS)
#: Seconds between two lines of metrics, and between two updates of the law in the status.
EVERY, LAW_EVERY = 1.0, 2.0
#: Seconds that the last checkpoints may take, since the disk may be slow or full; and once more at
#: the end, if that was not enough.
PATIENCE, LAST_TRY = 10.0, 1.0


@dataclass(frozen=True)
class Limits:
    """When a run ends at the latest; None: no limit."""

    #: Seconds of search, including those before a resumption.
    max_time: float | None = None
    #: Evaluations of all islands together.
    max_evals: int | None = None


@dataclass(frozen=True)
class RunState:
    """What all ranks know about the run."""

    #: ``"running"``, or why it ends.
    status: str = "running"
    #: Whether some rank asks for a checkpoint.
    save: bool = False
    #: Seconds of search, on the rank that has searched longest.
    seconds: float = 0.0
    #: The largest generation, evaluations of all islands, and the best error.
    generation: int = 0
    evaluations: int = 0
    rmse: float = float("inf")


@dataclass
class Requests:
    """What this rank asks for; signal handlers and callbacks set it."""

    #: Why the run should end; ``"running"`` if it should not.
    reason: str = "running"
    #: Whether this rank should save at once, and whether all should.
    save_now: bool = False
    save: bool = False
    #: Signals that have arrived and are not recorded yet.
    signals: list[str] = field(default_factory=list)

    def stop(self, reason: str) -> None:
        """Ask for the end; the strongest reason counts."""
        self.reason = max(self.reason, reason, key=REASONS.index)


class Watcher:
    """What an `Archipelago` calls in its main thread while it runs; this one does nothing."""

    def on_poll(self, run: Archipelago) -> None:
        """Update figures and display; called at every poll, and at the end."""

    def save(self, run: Archipelago, sequence: int | None) -> None:
        """Save the snapshots; in lock-step under the number of the epoch."""

    def save_both(self, run: Archipelago) -> None:
        """Save the snapshots of the last two epochs: in lock-step one rank may be ahead."""

    def save_is_due(self) -> bool:
        """Tell whether it is time for a checkpoint."""
        return False

    def can_save(self) -> bool:
        """Tell whether the last checkpoint is written; in lock-step none is begun before."""
        return True


class RunWatcher(Watcher):
    """Saves the islands of a rank, and writes its journal."""

    def __init__(
        self,
        folder: Path,
        rank: int,
        checkpoints: Checkpoints,
        interval: float,
        sequence: int,
        lock_step: bool = False,
    ) -> None:
        self._folder = folder
        self._rank = rank
        self.metrics = Metrics(folder, rank)
        self._journal = JournalHandler(self.metrics)
        # In lock-step a signal asks for the checkpoints of two epochs at once.
        self._writer = BackgroundWriter(checkpoints, depth=2 if lock_step else 1)
        self._interval = interval
        self._sequence = self._complete = sequence
        self._submitted: dict[int, tuple[int, bytes]] = {}
        self._saved_at = time.monotonic()
        self._saved: float | None = None
        self._all_written = True
        self._due = 0.0
        self._facts: Mapping[str, Any] = {}
        self._write_law: Callable[[], str] = lambda: ""
        self._law, self._law_due = "", 0.0

    # ---- checkpoints -------------------------------------------------------------------------

    def save_is_due(self) -> bool:
        """Tell whether it is time for a checkpoint."""
        return time.monotonic() - self._saved_at >= self._interval

    def can_save(self) -> bool:
        """Tell whether the last checkpoint is written."""
        return self._writer.is_idle()

    def save(self, run: Archipelago, sequence: int | None) -> None:
        """Have the snapshots written; one that has not changed keeps its number."""
        self._begin(self._sequence + 1 if sequence is None else sequence)
        for each in run.islands:
            number = self._sequence
            last, payload = self._submitted.get(each.number, (0, b""))
            if sequence is None and payload == each.snapshot:
                number = last
            self._submit(run, each.number, number, each.snapshot, each.about)

    def save_both(self, run: Archipelago) -> None:
        """Have the last two snapshots written, except those that are on disk already."""
        done, first = self._sequence, run.islands[0]
        if first.earlier[0] > done and all(each.earlier[1] for each in run.islands):
            self._begin(first.earlier[0])
            for each in run.islands:
                self._submit(run, each.number, *each.earlier)
        if first.snapshot_epoch > done:
            self.save(run, first.snapshot_epoch)

    def _begin(self, sequence: int) -> None:
        self._sequence = sequence
        self._saved_at = time.monotonic()

    def _submit(
        self, run: Archipelago, island: int, sequence: int, payload: bytes, about: Mapping[str, Any]
    ) -> None:
        self._submitted[island] = sequence, payload
        self._writer.submit(island, sequence, payload, {**about, "seconds": run.seconds})

    def flush(self) -> bool:
        """Wait until all checkpoints are written; False if that takes too long."""
        self._all_written = self._writer.flush(PATIENCE)
        self._note_written()
        return self._all_written

    def _note_written(self) -> None:
        """Note a checkpoint when those of all islands of this rank are on disk."""
        complete = [
            self._sequence if self._writer.written(island) == sequence
            else self._writer.written(island) or 0
            for island, (sequence, _) in self._submitted.items()
        ]  # fmt: skip
        if complete and min(complete) > self._complete:
            self._complete = min(complete)
            self._saved = time.time()
            self.metrics.event("checkpoint", sequence=self._complete)

    # ---- metrics and status ------------------------------------------------------------------

    def describe(self, facts: Mapping[str, Any], write_law: Callable[[], str]) -> None:
        """Set the facts that do not change, and what writes the best law, for the status."""
        self._facts, self._write_law = facts, write_law

    def on_poll(self, run: Archipelago) -> None:
        """Write metrics and status now and then."""
        self._note_written()
        while run.requests.signals:
            self.metrics.event("signal", signal=run.requests.signals.pop(0))
        now = time.monotonic()
        if now >= self._due:
            self._due = now + EVERY
            self._record(run)
            if self._rank == 0:
                self.write_status(run.state, "running")

    def _record(self, run: Archipelago) -> None:
        self.metrics.record(
            seconds=round(run.seconds, 3),
            epoch=max(each.epoch for each in run.islands),
            evaluations=sum(each.evaluations for each in run.islands),
            generation=max(each.generation for each in run.islands),
            rmse=min(each.rmse for each in run.islands),
            checkpoint_sequence=self._sequence,
            main_seconds=round(run.main_seconds, 4),
            **vars(run.counts),
        )

    def write_status(self, state: RunState, how: str, law: str = "") -> None:
        """Write the state of the run, for `gsr status`."""
        if not law and time.monotonic() >= self._law_due:
            self._law_due = time.monotonic() + LAW_EVERY
            self._law, before = self._write_law(), self._law
            if self._law != before:
                self.metrics.event("law", law=self._law, seconds=round(state.seconds, 3))
        status = {
            **self._facts,
            "state": how,
            "reason": None if state.status == "running" else state.status,
            "seconds": round(state.seconds, 3),
            "evaluations": state.evaluations,
            "evaluations_per_second": round(state.evaluations / max(state.seconds, 1e-3), 1),
            "rmse": state.rmse,
            "law": law or self._law or None,
            "checkpoint": self._saved,
            "warnings": self._journal.warnings,
        }
        write_status(self._folder, status)

    def close(self) -> None:
        """End the writers; checkpoints that could not be written are tried once more."""
        self._writer.close(PATIENCE if self._all_written else LAST_TRY)
        self._note_written()
        self._journal.close()
        self.metrics.close()


# ---- signals -------------------------------------------------------------------------------------

#: Repeated Ctrl-C within this many seconds counts once: launchers pass it on a second time.
SAME = 1.0
#: Signals that ask for a checkpoint; not every system has such.
SAVE = [signal.SIGUSR1] if hasattr(signal, "SIGUSR1") else []


@contextmanager
def signals_as_requests(requests: Requests) -> Iterator[None]:
    """Turn signals into requests while a run goes on.

    SIGUSR1 asks for a checkpoint; SIGTERM for one and for the end; SIGINT for the end, and at once
    if it comes again after a second. A handler only sets requests, since it may run at any point of
    the main thread.
    """
    interrupted: list[float] = []

    def on_signal(number: int, _: Any) -> None:
        name = signal.Signals(number).name
        if name == "SIGINT":
            interrupted.append(time.monotonic())
            if interrupted[-1] - interrupted[0] >= SAME:
                raise KeyboardInterrupt
            requests.stop("interrupted")
        else:
            requests.save_now = True
            if name == "SIGTERM":
                requests.stop("terminated")
        requests.signals.append(name)

    with handled([*SAVE, signal.SIGTERM, signal.SIGINT], on_signal):
        yield


@contextmanager
def ignore_sigusr1() -> Iterator[None]:
    """Ignore a request for a checkpoint while there is no search to save."""
    with handled(SAVE, signal.SIG_IGN):
        yield
