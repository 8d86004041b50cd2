"""What a rank does beside the search: checkpoints, figures, and on rank 0 the display."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gsr.islands.archipelago import Archipelago, State, Watcher
from gsr.islands.background_writer import BackgroundWriter
from gsr.islands.checkpoints import Checkpoints
from gsr.islands.journal import Metrics, write_status
from gsr.islands.resident import Resident
from gsr.islands.troubles import Tell

#: Seconds between two lines of figures, and between two looks at the law.
EVERY, LAW_EVERY = 1.0, 2.0
#: Seconds that the last checkpoints may take; the disk may be slow, or full.
PATIENCE = 10.0
#: Seconds that they have once more at the end, if that was not enough.
LAST_TRY = 1.0
#: Warnings that the status keeps.
MOST_WARNINGS = 20

Report = Callable[[State], object]


class RunWatcher(Watcher):
    """Watches the islands of a rank.

    Parameters
    ----------
    folder : path
        The run folder.
    rank : int
        Whose watcher it is.
    checkpoints : Checkpoints
        Of the run.
    interval : float
        Seconds between two checkpoints.
    sequence : int
        The number of the last checkpoint.
    tell : callable
        Takes sentences for the user.
    lock_step : bool
        Whether checkpoints are numbered by epochs.
    """

    def __init__(
        self,
        folder: Path,
        rank: int,
        checkpoints: Checkpoints,
        interval: float,
        sequence: int,
        tell: Tell,
        lock_step: bool = False,
    ) -> None:
        self._folder = folder
        self._rank = rank
        self._tell = tell
        self.warnings: list[str] = []
        self.metrics = Metrics(folder, rank, self.warn)
        # A signal in lock-step asks for those of two epochs at once.
        self._writer = BackgroundWriter(checkpoints, self.warn, depth=2 if lock_step else 1)
        self._interval = interval
        self._sequence = sequence
        self._submitted: dict[int, tuple[int, bytes]] = {}
        self._saved_at = time.monotonic()
        self._saved: float | None = None
        self._complete = sequence
        self._hopeful = True
        self._due = 0.0
        self.archipelago: Archipelago | None = None
        self.report: Report | None = None
        self.facts: Mapping[str, Any] = {}
        self.write_law: Callable[[], str] | None = None
        self._law, self._law_due = "", 0.0

    def warn(self, sentence: str) -> None:
        """Tell the user something, and keep it for the status."""
        name = f"rank {self._rank}: " if self._rank else ""
        self.warnings = [*self.warnings, sentence][-MOST_WARNINGS:]
        self.metrics.event("warning", message=sentence)
        self._tell(f"WARNING: {name}{sentence}")

    # ---- checkpoints -------------------------------------------------------------------------

    def save_is_due(self) -> bool:
        """Tell whether it is time for a checkpoint."""
        return time.monotonic() - self._saved_at >= self._interval

    def can_save(self) -> bool:
        """Tell whether the last checkpoint is written."""
        return self._writer.is_idle()

    def save(self, residents: Sequence[Resident], sequence: int | None) -> None:
        """Have the snapshots written; one that has not changed keeps its number."""
        self._begin(self._sequence + 1 if sequence is None else sequence)
        for each in residents:
            number = self._sequence
            last, payload = self._submitted.get(each.number, (0, b""))
            if sequence is None and payload == each.snapshot:
                number = last
            self._submit(each.number, number, each.snapshot, each.about)

    def save_both(self, residents: Sequence[Resident]) -> None:
        """Have the last two snapshots written, but none that is on disk already."""
        done = self._sequence
        earlier, last = residents[0].earlier[0], residents[0].snapshot_epoch
        if earlier > done and all(each.earlier[1] for each in residents):
            self._begin(earlier)
            for each in residents:
                self._submit(each.number, *each.earlier)
        if last > done:
            self.save(residents, last)

    def _begin(self, sequence: int) -> None:
        self._sequence = sequence
        self._saved_at = time.monotonic()

    def _submit(self, island: int, sequence: int, payload: bytes, about: Mapping[str, Any]) -> None:
        seconds = self.archipelago.seconds if self.archipelago is not None else 0.0
        self._submitted[island] = sequence, payload
        self._writer.submit(island, sequence, payload, {**about, "seconds": seconds})

    def flush(self) -> bool:
        """Wait for the disk; False if it does not take everything."""
        self._hopeful = self._writer.flush(PATIENCE)
        self._note_written()
        return self._hopeful

    def _note_written(self) -> None:
        """Note a checkpoint when it is on disk, of all islands of this rank."""
        complete = [
            self._sequence if self._writer.written(island) == sequence
            else self._writer.written(island) or 0
            for island, (sequence, _) in self._submitted.items()
        ]  # fmt: skip
        if complete and min(complete) > self._complete:
            self._complete = min(complete)
            self._saved = time.time()
            self.metrics.event("checkpoint", sequence=self._complete)

    # ---- figures and display -----------------------------------------------------------------

    def look(self, state: State) -> None:
        """Show and record how far the run is."""
        self._note_written()
        signals = self.archipelago.wishes.signals if self.archipelago is not None else []
        while signals:
            self.metrics.event("signal", signal=signals.pop(0))
        if self.report is not None:
            self.report(state)
        now = time.monotonic()
        if now >= self._due and self.archipelago is not None:
            self._due = now + EVERY
            self._record(self.archipelago)
            if self._rank == 0:
                self.tell_state(state, "running")

    def _record(self, archipelago: Archipelago) -> None:
        residents = archipelago.residents
        self.metrics.record(
            seconds=round(archipelago.seconds, 3),
            epoch=max(each.epoch for each in residents),
            evaluations=sum(each.evaluations for each in residents),
            generation=max(each.generation for each in residents),
            rmse=min(each.rmse for each in residents),
            checkpoint_sequence=self._sequence,
            main_seconds=round(archipelago.main_seconds, 4),
            **vars(archipelago.counts),
        )

    def tell_state(self, state: State, how: str, law: str | None = None) -> None:
        """Write the state of the run, for `gsr status`."""
        if law is None and self.write_law is not None and time.monotonic() >= self._law_due:
            self._law_due = time.monotonic() + LAW_EVERY
            self._law = self.write_law()
        write_status(
            self._folder,
            {
                **self.facts,
                "state": how,
                "reason": None if state.status == "running" else state.status,
                "seconds": round(state.seconds, 3),
                "evaluations": state.evaluations,
                "evaluations_per_second": round(state.evaluations / max(state.seconds, 1e-3), 1),
                "rmse": state.rmse,
                "law": law or self._law or None,
                "checkpoint": self._saved,
                "warnings": self.warnings,
            },
        )

    def close(self) -> None:
        """End the writers; a disk that has not taken everything is tried once more."""
        self._writer.close(PATIENCE if self._hopeful else LAST_TRY)
        self._note_written()
        self.metrics.close()
