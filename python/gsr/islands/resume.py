"""Going on from checkpoints, on any number of ranks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gsr import _core
from gsr.exceptions import GSRError
from gsr.islands.checkpoints import ADVICE, Checkpoint, Checkpoints
from gsr.islands.resident import Resident
from gsr.islands.transport import Transport
from gsr.islands.troubles import Tell

#: Seconds between two looks whether all ranks have agreed.
NAP = 0.002


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
        Of all islands, those included that were absorbed.
    generation : int
        The largest.
    rmse : float
        The best error.
    """

    islands: int = 0
    seconds: float = 0.0
    sequence: int = 0
    evaluations: int = 0
    generation: int = 0
    rmse: float = math.inf


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
    used = [_load(each, found.get(each.number)) for each in residents]
    for each in residents:
        numbers = range(each.number + n_islands, n_saved, n_islands)
        used += _absorb_all(each, numbers, checkpoints, n_saved)
        old += numbers
    for note in checkpoints.notes:
        tell(f"WARNING: {note}")
    kept = [each for each in used if each is not None]
    # Above all numbers, of files that cannot be used too: a new one must not push them out.
    numbers_used = [sequence for number in old for sequence in checkpoints.sequences(number)]
    before, epoch = _agree_on_before(residents, kept, max(numbers_used, default=0), transport)
    for each in residents:
        each.epoch = epoch if deterministic else each.epoch
        each.keep()
    return before


def _agree_on_before(
    residents: Sequence[Resident], kept: Sequence[Checkpoint], sequence: int, transport: Transport
) -> tuple[Before, int]:
    """Return what was before, and the largest epoch, of all ranks."""
    maxima = [
        max((float(each.about.get("seconds", 0.0)) for each in kept), default=0.0),
        float(sequence),
        max((float(each.epoch) for each in residents), default=0.0),
        max((float(each.island.generation) for each in residents), default=0.0),
        -min((float(each.island.best_rmse) for each in residents), default=math.inf),
    ]
    done = sum(each.island.evaluations + each.absorbed_evaluations for each in residents)
    found, (n_used, evaluations) = agreed(transport, maxima, [float(len(kept)), float(done)])
    seconds, last, epoch, generation, best = found
    return Before(
        int(n_used), seconds, int(last), int(evaluations), max(int(generation), 0), -best
    ), int(epoch)


def have_absorbed(resident: Resident, checkpoints: Checkpoints) -> bool:
    """Tell whether each checkpoint of an island has what the island has absorbed.

    Parameters
    ----------
    resident : Resident
        Whatever checkpoint it goes on from, the islands of its `surplus` must be in it.
    checkpoints : Checkpoints
        Of the run.
    """
    if not resident.surplus:
        return True
    wanted = {number: sequence for number, (sequence, _) in resident.surplus.items()}
    return all(
        wanted.items() <= {number: sequence for number, (sequence, _) in _surplus(each)}.items()
        for each in _whole(resident.number, checkpoints).values()
    )


def total_evaluations(found: Sequence[Checkpoint]) -> int:
    """Return the evaluations of a whole run, of which these are the last checkpoints."""
    numbers = {each.island for each in found}
    return sum(_evaluations(each, numbers.__contains__) for each in found)


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
    resident.absorbed = int(found.about.get("absorbed", 0))
    resident.surplus = dict(_surplus(found))
    return found


def _absorb_all(
    resident: Resident, numbers: Sequence[int], checkpoints: Checkpoints, n_saved: int
) -> list[Checkpoint | None]:
    """Let an island absorb those that are too many; the work of none is lost or counted twice."""

    def is_there(number: int) -> bool:
        return number < n_saved and checkpoints.latest(number) is not None

    before, resident.surplus = resident.surplus, {}
    resident.absorbed += sum(done for k, (_, done) in before.items() if not is_there(k))
    used = [checkpoints.latest(number) for number in numbers]
    for found in used:
        if found is not None:
            known, _ = before.get(found.island, (None, 0))
            if known != found.sequence:
                _absorb(resident, found)
            resident.surplus[found.island] = (found.sequence, _evaluations(found, is_there))
    return used


def _absorb(resident: Resident, found: Checkpoint) -> None:
    try:
        resident.island.absorb(found.payload)
    except _core.DamagedBytes as error:
        raise _foreign(found, error) from error


def _surplus(found: Checkpoint) -> list[tuple[int, tuple[int, int]]]:
    """Return which islands a checkpoint has absorbed: number, sequence and evaluations."""
    listed = found.about.get("surplus", {})
    return [(int(number), (int(k), int(done))) for number, (k, done) in listed.items()]


def _evaluations(found: Checkpoint, is_there: Callable[[int], bool]) -> int:
    """Return the evaluations in a checkpoint, and those absorbed of islands no longer there."""
    about = found.about
    gone = sum(done for number, (_, done) in _surplus(found) if not is_there(number))
    return int(about.get("evaluations", 0)) + int(about.get("absorbed", 0)) + gone


def _foreign(found: Checkpoint, error: Exception) -> GSRError:
    """Return what to say of a checkpoint that is whole but not of this gsr."""
    return GSRError(
        f"the checkpoint {found.sequence} of island {found.island} is of another version of gsr "
        f"({error}); use that one, {ADVICE}"
    )
