"""What rank 0 makes of the laws of all islands: the chosen one, and the run folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gsr import files
from gsr.cli import shown
from gsr.cli.island_plan import COMMAND, Plan, make_plan
from gsr.cli.terminal import INTERRUPTED, NO_LAW, NOT_WRITTEN, OK, complain, show
from gsr.exceptions import GSRError
from gsr.islands import journal
from gsr.islands.archipelago import State
from gsr.islands.checkpoints import Checkpoints
from gsr.islands.resident import Counts
from gsr.islands.resume import total_evaluations
from gsr.islands.troubles import Tell
from gsr.runs import folder_files, run_folder
from gsr.runs.config import toml_value
from gsr.search import Progress

#: Seconds between tries to write the results, and after how many they go elsewhere.
PAUSE, TRIES = 2.0, 3
TERMINATED = 143
#: Laws of the front that are printed.
TOP = 10


@dataclass(frozen=True)
class Found:
    """What a search has found, with the face of the core's `Evolution`.

    Parameters
    ----------
    island : _core.Island
        It has the laws of all.
    state : State
        What all ranks know.
    """

    island: Any
    state: State

    def front(self) -> list[Any]:
        """Return the laws of all islands."""
        return list(self.island.front())

    def runners_up(self) -> list[Any]:
        """Return those that are beaten by a little."""
        return list(self.island.runners_up())

    @property
    def generation(self) -> int:
        """Of the island that is furthest."""
        return self.state.generation

    @property
    def evaluations(self) -> int:
        """Of all islands."""
        return self.state.evaluations

    @property
    def scanned_features(self) -> list[int]:
        """Features that the guide combines with each other, numbered from 1."""
        return list(self.island.scanned_features)

    @property
    def n_unconverged(self) -> int:
        """Of the first island alone: the others keep theirs to themselves."""
        return int(self.island.n_unconverged)


def conclude(
    plan: Plan,
    island: Any,
    state: State,
    history: list[Progress],
    *,
    ranks: int,
    counts: Counts | None = None,
    library: str | None = None,
) -> run_folder.Outcome:
    """Compare the laws of all islands, and choose one."""
    found = Found(island, state)
    plan.model._take(found, state.status, state.seconds, history, plan.problem, plan.held)
    data = plan.data
    n_islands = plan.orders.per_rank * ranks
    more = {
        "ranks": ranks,
        "islands": n_islands,
        "mode": plan.orders.islands["mode"],
        "fingerprint": plan.orders.fingerprint,
        "mpi": library,
        "island_settings": dict(plan.orders.islands),
        "checkpoint_settings": dict(plan.orders.checkpoint),
        "seeds": [plan.blueprint.seed_of(k) for k in range(n_islands)],
        "migration_of_rank_0": None if counts is None else vars(counts),
    }
    return run_folder.Outcome(
        plan.model, data.X, data.y, plan.config, plan.config.data_path(), plan.sha256,
        data.weights, more, COMMAND,
    )  # fmt: skip


def write(plan: Plan, outcome: run_folder.Outcome, tell: Tell) -> bool:
    """Write the results, if need be elsewhere; False if they are not where they belong."""
    for attempt in range(TRIES):
        try:
            run_folder.write(plan.orders.folder, outcome)
            return True
        except files.WritingError as error:
            tell(f"WARNING: {error}")
            if attempt + 1 < TRIES:
                time.sleep(PAUSE)
    try:
        tell(f"WARNING: the run is kept in {run_folder.rescue(outcome)}")
    except files.WritingError as error:
        tell(f"WARNING: {error}; the checkpoints have what was found")
    return False


def exit_code(outcome: run_folder.Outcome, written: bool, tell: Tell) -> int:
    """Return how the program ends."""
    status = outcome.first.status_
    if not written:
        return NOT_WRITTEN
    if status == "terminated":
        return TERMINATED
    if status == "interrupted":
        return INTERRUPTED
    if all(laws.chosen.uses_features for laws in outcome.laws.values()):
        return OK
    tell("no law better than a constant was found; give it more time, rows or features")
    return NO_LAW


def print_law(outcome: run_folder.Outcome, folder: str) -> None:
    """Print the law, the front and a summary."""
    (laws,) = outcome.laws.values()
    more = f"gsr show {os.path.relpath(folder)} --top {{all}}"
    seed = outcome.config.get("run", "seed")
    show(shown.everything(laws.model, laws.table, TOP, more, outcome.n_used, seed))


# ---- a run that goes on --------------------------------------------------------------------------


@contextmanager
def finished(run: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a folder with the results of a run: its own, or one of what it has saved so far."""
    folder = Path(run)
    if _has_result(folder):
        yield folder
        return
    since = "no result yet" if not (folder / "result.json").exists() else "gone on since its result"
    complain(f"the run in {folder} has {since}; this is what its checkpoints hold")
    outcome = so_far(folder)
    with TemporaryDirectory(prefix="gsr-") as temporary:
        yield run_folder.write(temporary, outcome)


def _has_result(folder: Path) -> bool:
    """Tell whether there is a result, of the run that the checkpoints are of, and not overtaken."""
    checkpoints = Checkpoints(folder / "checkpoints")
    manifest = checkpoints.read_manifest()
    if manifest is None:
        return True
    path = folder / "result.json"
    if not path.exists():
        return False
    if run_folder.read(folder).result.get("fingerprint") != manifest.fingerprint:
        return False
    # A run that has ended has written its result last; times of files may be those of copies.
    if (journal.read_status(folder) or {}).get("state") != "running":
        return True
    saved = run_folder.last_changed(checkpoints.folder.glob("*/*.gsr"))
    return saved is None or saved <= path.stat().st_mtime


def so_far(folder: Path) -> run_folder.Outcome:
    """Return what the checkpoints of a run hold.

    Raises
    ------
    GSRError
        If there are none yet, or the data have changed.
    """
    setting = f"run.output={toml_value(os.fspath(folder))}"
    saved = Checkpoints(folder / "checkpoints")
    manifest = saved.read_manifest()
    assert manifest is not None
    config = str(folder_files.saved_config(folder))
    plan = make_plan(config, [setting], manifest.ranks, lambda _: None, reads=True)
    found = [saved.latest(number) for number in range(manifest.islands)]
    whole = [each for each in found if each is not None]
    if not whole:
        raise GSRError(f"{folder} has no checkpoint yet; try again later")
    island = plan.blueprint.island()
    for each in whole:
        island.absorb(each.payload)
    state = State(
        seconds=max(each.about["seconds"] for each in whole),
        generation=max(each.about["generation"] for each in whole),
        evaluations=total_evaluations(whole),
        rmse=island.best_rmse,
    )
    last = Progress(
        state.seconds, None, state.generation, state.evaluations, state.rmse, state.status
    )
    return conclude(plan, island, state, [last], ranks=manifest.ranks)
