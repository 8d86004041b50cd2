"""What rank 0 makes of the laws of all islands: a fitted model, and the run folder."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gsr import files
from gsr.cli import terminal
from gsr.cli.island_plan import COMMAND, PlannedRun, plan_run, read_config
from gsr.exceptions import GSRError
from gsr.islands import journal
from gsr.islands.checkpoints import Checkpoints
from gsr.islands.rank_run import total_evaluations
from gsr.runs import run_folder
from gsr.runs.config import toml_value
from gsr.runs.outcome import Outcome
from gsr.search import Progress, SearchResult

log = logging.getLogger(__name__)
#: Seconds between tries to write the results, and after how many they are written elsewhere.
PAUSE, TRIES = 2.0, 3
TERMINATED = 143


def conclude(
    run: PlannedRun, found: SearchResult, ranks: int, more: dict[str, Any] | None = None
) -> Outcome:
    """Compare the laws of all islands, and choose one."""
    run.model.take(found, run.problem, run.held)
    data, spec = run.data, run.spec
    n_islands = spec.per_rank * ranks
    facts = {
        "ranks": ranks,
        "islands": n_islands,
        "mode": spec.islands["mode"],
        "fingerprint": spec.fingerprint,
        "island_settings": dict(spec.islands),
        "checkpoint_settings": dict(spec.checkpoint),
        "seeds": [run.blueprint.seed_of(k) for k in range(n_islands)],
        **{"mpi": None, "migration_of_rank_0": None, **(more or {})},
    }
    return Outcome(run.model, data.X, data.y, run.config, run.sha256, data.weights, facts, COMMAND)


def write(run: PlannedRun, outcome: Outcome) -> bool:
    """Write the results, elsewhere if necessary; False if they are not in the run folder."""
    for attempt in range(TRIES):
        try:
            run_folder.write(run.spec.folder, outcome)
            return True
        except files.WritingError as error:
            log.warning("%s", error)
            if attempt + 1 < TRIES:
                time.sleep(PAUSE)
    try:
        log.warning("the run is kept in %s", run_folder.rescue(outcome))
    except files.WritingError as error:
        log.warning("%s; the checkpoints have what was found", error)
    return False


def exit_code(outcome: Outcome, written: bool) -> int:
    """Return how the program ends."""
    status = outcome.first.status_
    if not written:
        return terminal.NOT_WRITTEN
    if status in ("terminated", "interrupted"):
        return TERMINATED if status == "terminated" else terminal.INTERRUPTED
    if all(laws.chosen.uses_features for laws in outcome.laws.values()):
        return terminal.OK
    log.info("no law better than a constant was found; give it more time, rows or features")
    return terminal.NO_LAW


def print_law(outcome: Outcome, folder: str) -> None:
    """Print the law, the front and a summary."""
    (laws,) = outcome.laws.values()
    more = f"gsr show {os.path.relpath(folder)} --all"
    seed = outcome.config.get("run", "seed")
    terminal.show(terminal.laws_text(laws.model, laws.table, None, more, outcome.n_used, seed))


# ---- a run that has not ended --------------------------------------------------------------------


@contextmanager
def finished(run: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a folder with the results of a run: its own, or a temporary one of its checkpoints."""
    folder = Path(run)
    if _has_result(folder):
        yield folder
        return
    since = "no result yet" if not (folder / "result.json").exists() else "gone on since its result"
    terminal.complain(f"the run in {folder} has {since}; this is what its checkpoints hold")
    outcome = _so_far(folder)
    with TemporaryDirectory(prefix="gsr-") as temporary:
        yield run_folder.write(temporary, outcome)


def _has_result(folder: Path) -> bool:
    """Whether there is a result of this run that is newer than its checkpoints."""
    checkpoints = Checkpoints(folder / "checkpoints")
    manifest = checkpoints.read_manifest()
    if manifest is None:
        run_folder.has_result(folder)
        return True
    path = folder / "result.json"
    if not run_folder.has_result(folder):
        return False
    if run_folder.read(folder).get("fingerprint") != manifest.fingerprint:
        return False
    # A run that has ended wrote its result last; the times of copied files say nothing.
    if (journal.read_status(folder) or {}).get("state") != "running":
        return True
    saved = run_folder.last_changed(checkpoints.folder.glob("*/*.gsr"))
    return saved is None or saved <= path.stat().st_mtime


def _so_far(folder: Path) -> Outcome:
    """Return what the checkpoints of a run hold; raise if there are none, or the data changed."""
    setting = f"run.output={toml_value(os.fspath(folder))}"
    saved = Checkpoints(folder / "checkpoints")
    manifest = saved.read_manifest()
    assert manifest is not None
    config = read_config(str(run_folder.saved_config(folder)), [setting])
    run = plan_run(config, manifest.ranks, read_only=True)
    found = [saved.latest(number) for number in range(manifest.islands)]
    whole = [each for each in found if each is not None]
    if not whole:
        raise GSRError(f"{folder} has no checkpoint yet; try again later")
    island = run.blueprint.island()
    for each in whole:
        island.absorb(each.payload)
    seconds = max(each.about["seconds"] for each in whole)
    generation = max(each.about["generation"] for each in whole)
    evaluations = total_evaluations(whole)
    last = Progress(seconds, None, generation, evaluations, island.best_rmse, "running")
    laws = [*island.front(), *island.runners_up()]
    result = SearchResult(
        laws, "running", seconds, [last], generation + 1, evaluations, island.n_unconverged,
        island.scanned_features,
    )  # fmt: skip
    return conclude(run, result, manifest.ranks)
