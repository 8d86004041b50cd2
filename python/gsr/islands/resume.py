"""Going on from checkpoints, on any number of ranks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gsr import _core
from gsr.exceptions import GSRError
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
        Of all islands.
    absorbed : int
        Of those that islands of this rank have absorbed.
    """

    islands: int = 0
    seconds: float = 0.0
    sequence: int = 0
    evaluations: int = 0
    absorbed: int = 0


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
        The same on all ranks, but for what was absorbed.
    """
    n_islands = len(residents) * transport.size
    old = [each.number for each in residents if each.number < n_saved]
    found = _common(old, checkpoints, transport, tell) if deterministic else None
    if found is None:
        found = {number: checkpoints.latest(number) for number in old}
    used = [_load(each, found.get(each.number)) for each in residents]
    surplus = {each: range(each.number + n_islands, n_saved, n_islands) for each in residents}
    used += [_absorb(each, checkpoints.latest(k)) for each in residents for k in surplus[each]]
    used_by = [*old, *(k for each in residents for k in surplus[each])]
    for note in checkpoints.notes:
        tell(f"WARNING: {note}")
    kept = [each for each in used if each is not None]
    absorbed = sum(int(each.about.get("evaluations", 0)) for each in kept if each.island not in old)
    # Above all numbers, of files that cannot be used too: a new one must not push them out.
    numbers = [number for each in used_by for number in checkpoints.sequences(each)]
    maxima = [
        max((float(each.about.get("seconds", 0.0)) for each in kept), default=0.0),
        float(max(numbers, default=0)),
        max((float(each.epoch) for each in residents), default=0.0),
    ]
    evaluated = absorbed + sum(each.island.evaluations for each in residents)
    sums = [float(len(kept)), float(evaluated)]
    (seconds, sequence, epoch), (n_used, evaluations) = agreed(transport, maxima, sums)
    for each in residents:
        each.epoch = int(epoch) if deterministic else each.epoch
        each.keep()
    return Before(int(n_used), seconds, int(sequence), int(evaluations), absorbed)


def _common(
    numbers: Sequence[int], checkpoints: Checkpoints, transport: Transport, tell: Tell
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
        tell(
            "WARNING: the islands have no checkpoint of the same moment; the run goes on, but its "
            "result is not that of one run without a pause"
        )
    return None


def _whole(number: int, checkpoints: Checkpoints) -> dict[int, Checkpoint]:
    """Return an island's checkpoints that are whole."""
    found = (checkpoints.at(number, sequence) for sequence in checkpoints.sequences(number))
    return {each.sequence: each for each in found if each is not None}


def _load(resident: Resident, found: Checkpoint | None) -> Checkpoint | None:
    if found is None:
        return None
    try:
        resident.island.load(found.payload)
    except _core.DamagedBytes as error:
        raise _foreign(found, error) from error
    resident.epoch = int(found.about.get("epoch", 0))
    return found


def _absorb(resident: Resident, found: Checkpoint | None) -> Checkpoint | None:
    if found is None:
        return None
    try:
        resident.island.absorb(found.payload)
    except _core.DamagedBytes as error:
        raise _foreign(found, error) from error
    return found


def _foreign(found: Checkpoint, error: Exception) -> GSRError:
    """Return what to say of a checkpoint that is whole but not of this gsr."""
    return GSRError(
        f"the checkpoint {found.sequence} of island {found.island} is of another version of gsr "
        f"({error}); use that one, choose another run.output, or set checkpoint.resume to false"
    )
