"""The search of an MPI rank: its islands, resumed from checkpoints on any number of ranks."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gsr import _core
from gsr.blueprint import Blueprint, columns_of, padded_block
from gsr.exceptions import GSRError
from gsr.islands.archipelago import Archipelago
from gsr.islands.checkpoints import ADVICE, Checkpoint, Checkpoints, Manifest
from gsr.islands.migration import LocalIsland, make_local_islands, make_migration
from gsr.islands.transport import Transport
from gsr.islands.watch import Limits, RunState, RunWatcher, signals_as_requests

log = logging.getLogger(__name__)
#: Seconds between two checks whether all ranks have agreed.
NAP = 0.002


@dataclass(frozen=True)
class ResumedState(RunState):
    """What was done before a run was resumed, the work of absorbed islands included."""

    #: Islands that had usable checkpoints; 0 if the run begins.
    islands: int = 0
    #: The largest number of a checkpoint.
    sequence: int = 0


def agreed(
    transport: Transport, maxima: Sequence[float], sums: Sequence[float] = ()
) -> tuple[list[float], list[float]]:
    """Return maxima and sums over all ranks; sleeps until they have agreed."""
    agreement = transport.agree(maxima, sums)
    while (found := agreement.result()) is None:
        time.sleep(NAP)
    return found


def resume(
    islands: Sequence[LocalIsland],
    checkpoints: Checkpoints,
    n_saved: int,
    transport: Transport,
    *,
    deterministic: bool,
) -> ResumedState:
    """Load the checkpoints of earlier islands into new ones; warns of those that are not usable."""
    n_islands = len(islands) * transport.size
    old = [each.number for each in islands if each.number < n_saved]
    found = _common(old, checkpoints, transport) if deterministic else None
    if found is None:
        found = {number: checkpoints.latest(number) for number in old}
    used = [_load(each, found.get(each.number)) for each in islands]
    for each in islands:
        numbers = range(each.number + n_islands, n_saved, n_islands)
        used += _absorb_all(each, numbers, checkpoints, n_saved)
        old += numbers
    for note in checkpoints.notes:
        log.warning("%s", note)
    kept = [each for each in used if each is not None]
    # Above all numbers, those of unusable files too: a new file must not push them out.
    numbers_used = [sequence for number in old for sequence in checkpoints.sequences(number)]
    state, epoch = _agree_on_state(islands, kept, max(numbers_used, default=0), transport)
    for each in islands:
        each.epoch = epoch if deterministic else each.epoch
        each.keep()
    return state


def _agree_on_state(
    islands: Sequence[LocalIsland],
    kept: Sequence[Checkpoint],
    sequence: int,
    transport: Transport,
) -> tuple[ResumedState, int]:
    """Return the state and the largest epoch of all ranks."""
    maxima = [
        max((float(each.about.get("seconds", 0.0)) for each in kept), default=0.0),
        float(sequence),
        max((float(each.epoch) for each in islands), default=0.0),
        max((float(each.island.generation) for each in islands), default=0.0),
        -min((float(each.island.best_rmse) for each in islands), default=math.inf),
    ]
    done = sum(each.island.evaluations + each.absorbed_evaluations for each in islands)
    found, (n_used, evaluations) = agreed(transport, maxima, [float(len(kept)), float(done)])
    seconds, last, epoch, generation, best = found
    state = ResumedState(
        seconds=seconds,
        generation=max(int(generation), 0),
        evaluations=int(evaluations),
        rmse=-best,
        islands=int(n_used),
        sequence=int(last),
    )
    return state, int(epoch)


def have_absorbed(local: LocalIsland, checkpoints: Checkpoints) -> bool:
    """Tell whether all checkpoints of an island contain the islands that it has absorbed."""
    if not local.surplus:
        return True
    wanted = {number: sequence for number, (sequence, _) in local.surplus.items()}
    return all(
        wanted.items() <= {number: sequence for number, (sequence, _) in _surplus(each)}.items()
        for each in _whole(local.number, checkpoints).values()
    )


def total_evaluations(found: Sequence[Checkpoint]) -> int:
    """Return the evaluations of a whole run, given its last checkpoints."""
    numbers = {each.island for each in found}
    return sum(_evaluations(each, numbers.__contains__) for each in found)


def _common(
    numbers: Sequence[int], checkpoints: Checkpoints, transport: Transport
) -> dict[int, Checkpoint | None] | None:
    """Return the newest checkpoints that all islands have; None if there are none."""
    whole = {number: _whole(number, checkpoints) for number in numbers}
    shared = set.intersection(*map(set, whole.values())) if whole else None
    (some,), _ = agreed(transport, [float(any(whole.values()))])
    if not some:
        return dict.fromkeys(numbers)  # there are none at all
    bound = math.inf
    while bound > 0.0:
        mine = bound if shared is None else max((k for k in shared if k <= bound), default=0)
        (nearest, furthest), _ = agreed(transport, [-float(mine), float(mine)])
        if -nearest == furthest < math.inf and furthest > 0.0:
            return {number: whole[number][int(furthest)] for number in numbers}
        bound = -nearest
    if transport.rank == 0:
        log.warning(
            "the islands have no checkpoint of the same moment; the run goes on, but its result is "
            "not that of one run without a pause"
        )
    return None


def _whole(number: int, checkpoints: Checkpoints) -> dict[int, Checkpoint]:
    """Return the undamaged checkpoints of an island by their numbers."""
    found = (checkpoints.at(number, sequence) for sequence in checkpoints.sequences(number))
    return {each.sequence: each for each in found if each is not None}


def _load(local: LocalIsland, found: Checkpoint | None) -> Checkpoint | None:
    if found is None:
        return None
    _read(found, local.island.load)
    local.epoch = int(found.about.get("epoch", 0))
    local.absorbed = int(found.about.get("absorbed", 0))
    local.surplus = dict(_surplus(found))
    return found


def _absorb_all(
    local: LocalIsland, numbers: Sequence[int], checkpoints: Checkpoints, n_saved: int
) -> list[Checkpoint | None]:
    """Let an island absorb the surplus; no work is lost or counted twice."""

    def is_there(number: int) -> bool:
        return number < n_saved and checkpoints.latest(number) is not None

    before, local.surplus = local.surplus, {}
    local.absorbed += sum(done for k, (_, done) in before.items() if not is_there(k))
    used = [checkpoints.latest(number) for number in numbers]
    for found in used:
        if found is not None:
            known, _ = before.get(found.island, (None, 0))
            if known != found.sequence:
                _read(found, local.island.absorb)
            local.surplus[found.island] = (found.sequence, _evaluations(found, is_there))
    return used


def _read(found: Checkpoint, take: Callable[[bytes], object]) -> None:
    """Let an island take a checkpoint, which is undamaged, but may be of another version."""
    try:
        take(found.payload)
    except _core.DamagedBytes as error:
        raise GSRError(
            f"the checkpoint {found.sequence} of island {found.island} is of another version of"
            f" gsr ({error}); use that one, {ADVICE}"
        ) from error


def _surplus(found: Checkpoint) -> list[tuple[int, tuple[int, int]]]:
    """Return the islands that a checkpoint has absorbed: number, sequence and evaluations."""
    listed = found.about.get("surplus", {})
    return [(int(number), (int(k), int(done))) for number, (k, done) in listed.items()]


def _evaluations(found: Checkpoint, is_there: Callable[[int], bool]) -> int:
    """Return the evaluations in a checkpoint, including absorbed islands without checkpoints."""
    about = found.about
    gone = sum(done for number, (_, done) in _surplus(found) if not is_there(number))
    return int(about.get("evaluations", 0)) + int(about.get("absorbed", 0)) + gone


# ---- the search ----------------------------------------------------------------------------------

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
