"""The search of an MPI rank: its islands, resumed from checkpoints and saved on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gsr.blueprint import Blueprint, columns_of, padded_block
from gsr.exceptions import GSRError
from gsr.islands.archipelago import Archipelago, Limits
from gsr.islands.checkpoints import Checkpoints, Manifest
from gsr.islands.local_island import make_local_islands
from gsr.islands.migration import make_migration
from gsr.islands.resume import ResumedState, agreed, have_absorbed, resume
from gsr.islands.signals import signals_as_requests
from gsr.islands.transport import Transport
from gsr.islands.watch import RunWatcher

#: The least number of checkpoints kept of an island. In lock-step an island can be two ahead of
#: another on disk, and all must have one of the same moment.
LEAST_KEPT = {"throughput": 1, "deterministic": 3}


@dataclass(frozen=True)
class RunSpec:
    """What all ranks need to know beside the blueprint; JSON from rank 0 to the others."""

    #: The run folder, and the sections ``[islands]`` and ``[checkpoint]`` of the configuration.
    folder: str
    islands: Mapping[str, Any]
    checkpoint: Mapping[str, Any]
    #: Seconds of search, and evaluations of all islands; None: no limit.
    max_time: float | None
    max_evals: int | None
    #: Threads of each rank, and the seed of the run.
    n_threads: int
    seed: int
    #: Identifies the problem.
    fingerprint: str
    #: Islands that may have checkpoints; 0 if the run begins.
    n_saved: int

    @property
    def per_rank(self) -> int:
        """Islands of each rank."""
        return int(self.islands["per_rank"])

    @property
    def checkpoints(self) -> Checkpoints:
        """The checkpoints in the run folder."""
        keep = max(self.checkpoint["keep"], LEAST_KEPT[self.islands["mode"]])
        return Checkpoints(Path(self.folder) / "checkpoints", keep)

    def manifest(self, ranks: int, islands: int) -> Manifest:
        """Return what the checkpoints have in common."""
        return Manifest(self.fingerprint, islands, ranks, self.seed, self.islands["mode"])


def share_blueprint(blueprint: Blueprint | None, transport: Transport) -> Blueprint:
    """Return rank 0's blueprint on all ranks; the rows are kept once per node."""
    text, block, y, weights, n_rows = None, None, None, None, 0
    if blueprint is not None:
        n_rows = len(blueprint.y)
        text = json.dumps([blueprint.to_json(), n_rows, blueprint.weights is not None]).encode()
        block, y = padded_block(blueprint.X), blueprint.y
        weights = np.ones(0) if blueprint.weights is None else blueprint.weights
    content, n_rows, weighted = json.loads(transport.share(text))
    block = transport.share_array(block)
    y, weights = transport.share_array(y), transport.share_array(weights)
    rows = columns_of(block, n_rows), y, weights if weighted else None
    if blueprint is not None:
        return blueprint.with_rows(*rows)
    return Blueprint.from_json(content, *rows)


class RankRun(Archipelago):
    """The islands of an MPI rank, with checkpoints."""

    watcher: RunWatcher

    def __init__(self, spec: RunSpec, blueprint: Blueprint, transport: Transport) -> None:
        self.spec = spec
        self.n_islands = spec.per_rank * transport.size
        self.checkpoints = spec.checkpoints
        islands = make_local_islands(
            lambda k: blueprint.island(k, self.n_islands), transport.rank, spec.per_rank
        )
        in_step = spec.islands["mode"] == "deterministic"
        self.resumed = ResumedState()
        if spec.n_saved:
            self.resumed = resume(
                islands, self.checkpoints, spec.n_saved, transport, deterministic=in_step
            )
        super().__init__(
            islands,
            make_migration(self.n_islands, spec.seed, spec.islands),
            transport,
            Limits(spec.max_time, spec.max_evals),
            deterministic=in_step,
            n_threads=spec.n_threads,
            before=self.resumed,
        )
        self._begin_checkpoints()
        self.watcher = RunWatcher(
            Path(spec.folder),
            transport.rank,
            self.checkpoints,
            spec.checkpoint["interval"],
            islands[0].epoch if in_step else self.resumed.sequence,
            in_step,
        )
        self.watcher.metrics.event("resume" if self.resumed.islands else "start")
        transport.wait()

    def signals_as_requests(self) -> AbstractContextManager[None]:
        """Return a context in which signals are requests of this rank."""
        return signals_as_requests(self.requests)

    def finish(self) -> None:
        """Save everything, and merge the laws of all ranks into the first island of rank 0."""
        watcher = self.watcher
        watcher.save(self, self.islands[0].snapshot_epoch if self.deterministic else None)
        all_written = watcher.flush()
        watcher.metrics.event("stop", reason=self.status)
        self._forget_surplus(all_written)
        self.merge_laws()

    def _begin_checkpoints(self) -> None:
        """Write the manifest before the first checkpoint."""
        for each in self.islands:
            if each.number >= self.spec.n_saved:
                self.checkpoints.forget(each.number)  # of one that was absorbed long ago
        self.transport.wait()
        if self.transport.rank == 0:
            try:
                self._write_manifest(max(self.spec.n_saved, self.n_islands))
            except OSError as error:
                raise GSRError(f"the checkpoints cannot be written: {error}") from error
        self.transport.wait()

    def _write_manifest(self, islands: int) -> None:
        self.checkpoints.write_manifest(self.spec.manifest(self.transport.size, islands))

    def _forget_surplus(self, all_written: bool) -> None:
        """Remove the checkpoints of absorbed islands, unless an older checkpoint needs them."""
        surplus = range(self.n_islands, self.spec.n_saved)
        if not surplus:
            return
        done = all_written and all(have_absorbed(each, self.checkpoints) for each in self.islands)
        (missing,), _ = agreed(self.transport, [float(not done)])
        if missing:
            return
        if self.transport.rank == 0:
            with suppress(OSError):  # otherwise they are absorbed again next time
                self._write_manifest(self.n_islands)
        self.transport.wait()
        for number in surplus[self.transport.rank :: self.transport.size]:
            self.checkpoints.forget(number)
