"""Going on from checkpoints, on any number of ranks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gsr import _core
from gsr.islands.checkpoints import Checkpoint, Checkpoints
from gsr.islands.resident import Resident
from gsr.islands.transport import Transport

#: Seconds between two looks whether all ranks have agreed.
NAP = 0.002
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Before:
    """What earlier pieces of a run have done.

    Parameters
    ----------
    islands : int
        How many had checkpoints that could be used; 0: the run begins.
    seconds : float
        Of search.
    sequence : int
        The largest number of a checkpoint.
    evaluations : int
        Of all islands that go on.
    """

    islands: int = 0
    seconds: float = 0.0
    sequence: int = 0
    evaluations: int = 0


def agreed(
    transport: Transport, maxima: Sequence[float], sums: Sequence[float] = ()
) -> tuple[list[float], list[float]]:
    """Return maxima and sums over all ranks; waits, asleep."""
    agreement = transport.agree(maxima, sums)
    while (found := agreement.result()) is None:
        time.sleep(NAP)
    return found


def resume(
    residents: Sequence[Resident],
    checkpoints: Checkpoints,
    n_saved: int,
    transport: Transport,
    *,
    deterministic: bool,
    tell: Tell,
) -> Before:
    """Give islands back what they were.

    Parameters
    ----------
    residents : sequence of Resident
        New islands; those of this rank.
    checkpoints : Checkpoints
        Of the run.
    n_saved : int
        Islands that may have checkpoints. If there are more than islands now, those too many are
        absorbed; if there are fewer, new islands begin.
    transport : Transport
        To the other ranks.
    deterministic : bool
        All islands must go on from the same epoch.
    tell : callable
        Takes sentences about what could not be used.

    Returns
    -------
    Before
        The same on all ranks.
    """
    n_islands = len(residents) * transport.size
    old = [each.number for each in residents if each.number < n_saved]
    found = _common(old, checkpoints, transport, tell) if deterministic else None
    if found is None:
        found = {number: checkpoints.latest(number) for number in old}
    used = [_load(each, found.get(each.number), tell) for each in residents]
    used += [
        _absorb(each, checkpoints.latest(number), tell)
        for each in residents
        for number in range(each.number + n_islands, n_saved, n_islands)
    ]
    for note in checkpoints.notes:
        tell(f"WARNING: {note}")
    kept = [each for each in used if each is not None]
    maxima = [
        max((float(each.about.get("seconds", 0.0)) for each in kept), default=0.0),
        max((float(each.sequence) for each in kept), default=0.0),
        max((float(each.epoch) for each in residents), default=0.0),
    ]
    sums = [float(len(kept)), float(sum(each.island.evaluations for each in residents))]
    (seconds, sequence, epoch), (n_used, evaluations) = agreed(transport, maxima, sums)
    for each in residents:
        each.epoch = int(epoch) if deterministic else each.epoch
        each.keep()
    return Before(int(n_used), seconds, int(sequence), int(evaluations))


def _common(
    numbers: Sequence[int], checkpoints: Checkpoints, transport: Transport, tell: Tell
) -> dict[int, Checkpoint | None] | None:
    """Return the newest checkpoints that all islands have; None if there are none."""
    latest = {number: checkpoints.latest(number) for number in numbers}
    sequences = [each.sequence if each is not None else 0 for each in latest.values()]
    oldest = min(sequences, default=math.inf)
    (nearest, newest), _ = agreed(transport, [-float(oldest), _newest(latest)])
    if newest == 0.0:
        return latest  # there are none at all
    common = int(-nearest)
    found = {number: checkpoints.at(number, common) for number in latest}
    (missing,), _ = agreed(transport, [float(None in found.values())])
    if missing == 0.0:
        return found
    if transport.rank == 0:
        tell(
            "WARNING: the islands have no checkpoint of the same moment; the run goes on, but its "
            "result is not that of one run without a pause"
        )
    return None


def _newest(latest: dict[int, Checkpoint | None]) -> float:
    return max((float(each.sequence) for each in latest.values() if each is not None), default=0.0)


def _load(resident: Resident, found: Checkpoint | None, tell: Tell) -> Checkpoint | None:
    if found is None:
        return None
    try:
        resident.island.load(found.payload)
    except _core.DamagedBytes as error:
        tell(f"WARNING: island {resident.number} begins anew; its checkpoint is no use: {error}")
        return None
    resident.epoch = int(found.about.get("epoch", 0))
    return found


def _absorb(resident: Resident, found: Checkpoint | None, tell: Tell) -> Checkpoint | None:
    if found is None:
        return None
    try:
        resident.island.absorb(found.payload)
    except _core.DamagedBytes as error:
        tell(f"WARNING: island {found.island} is lost; its checkpoint is no use: {error}")
        return None
    return found
