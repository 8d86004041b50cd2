"""What rank 0 plans before a cluster run begins: configuration, problem, resumption, run folder."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gsr import files, options
from gsr.blueprint import Blueprint
from gsr.cli.island_problem import ClusterProblem, n_threads, pose
from gsr.cli.terminal import counted
from gsr.exceptions import GSRError
from gsr.islands.checkpoints import Checkpoints, Manifest
from gsr.islands.migration import make_migration
from gsr.islands.rank_run import RunSpec
from gsr.runs import config as configs
from gsr.runs import run_folder
from gsr.runs.config import Config, Mistakes
from gsr.runs.folder_lock import FolderLock
from gsr.tables import path_of
from gsr.whole_files import remove_leftovers

log = logging.getLogger(__name__)
#: Settings of the core that do not change what is searched for.
NOT_THE_PROBLEM = ("max_generations", "max_evaluations", "n_threads", "max_bytes")
#: Settings that fingerprints keep apart, as in the run folders of earlier versions.
LIMITS = ("max_terms", "max_complexity")
#: A search that ended so has nothing left to do.
DONE = ("exact", "threshold")
#: What a configuration is given to, to repeat a run.
COMMAND = "gsr islands --set run.output=again"


@dataclass(frozen=True, eq=False)
class PlannedRun(ClusterProblem):
    """All about a cluster run, for rank 0."""

    #: What the other ranks need to know, and the SHA-256 of the table's file.
    spec: RunSpec
    sha256: str | None
    #: What the checkpoints have in common from which the run is resumed.
    saved: Manifest | None
    #: The result of a run that has nothing left to do.
    finished: dict[str, Any] | None

    @property
    def blueprint(self) -> Blueprint:
        """What islands are made of."""
        return self.problem.blueprint


def read_config(path: str, overrides: Sequence[str] = ()) -> Config:
    """Read a configuration, with settings such as ``"run.max_time=60"`` on top."""
    return configs.read(path, overrides, required=options.OF_ISLANDS)


def plan_run(config: Config, ranks: int, *, read_only: bool = False) -> PlannedRun:
    """Plan a run on so many ranks; nothing is written.

    Parameters
    ----------
    config : Config
        Of `read_config`.
    ranks : int
        How many there are.
    read_only : bool
        Whether the plan is made to read a run, whose folder another process may be using.

    Returns
    -------
    PlannedRun

    Raises
    ------
    GSRError
        If the configuration, the table or the run folder cannot be used.
    WritingError
        If the run folder cannot be written to.
    """
    folder = Path(config.get("run", "output") or options.ISLANDS_OUTPUT)
    saved = _manifest(folder) if config.get("checkpoint", "resume") else None
    posed = pose(_seeded(config, saved), str(config.file), ranks)
    config = posed.config
    file = path_of(Path(config.data_path()))
    digest = files.sha256(file) if file is not None else None
    spec = _run_spec(config, folder, posed.problem.blueprint, ranks, saved)
    spec = replace(spec, islands=_with_edges(spec, ranks))
    _check_edges(config, spec, ranks)
    finished = _finished(folder, saved, config)
    if not read_only and finished is None:
        _check_folder(folder, config)
        _warn_of_time_limit(config)
    if saved is not None:
        wanted = spec.manifest(ranks, spec.per_rank * ranks)
        for remark in saved.check_resumable(wanted, folder):
            log.warning("%s", remark)
    return PlannedRun(**vars(posed), spec=spec, sha256=digest, saved=saved, finished=finished)


def _manifest(folder: Path) -> Manifest | None:
    return Checkpoints(folder / "checkpoints").read_manifest()


def _seeded(config: Config, saved: Manifest | None) -> Config:
    """Return the configuration with a seed: a run that goes on keeps its own."""
    if config.is_set("run", "seed"):
        return config
    seed = secrets.randbelow(2**31) if saved is None else saved.seed
    return config.changed({("run", "seed"): seed})


def _run_spec(
    config: Config, folder: Path, blueprint: Blueprint, ranks: int, saved: Manifest | None
) -> RunSpec:
    max_time = config.get("run", "max_time")
    return RunSpec(
        folder=os.path.abspath(folder),
        islands={k: v for k, v in config.section("islands").items() if k != "variants"},
        checkpoint=config.section("checkpoint"),
        max_time=None if max_time == float("inf") else max_time,
        max_evals=config.get("run", "max_evals"),
        n_threads=min(n_threads(config, ranks), config.get("islands", "per_rank")),
        seed=config.get("run", "seed"),
        fingerprint=fingerprint(blueprint, config.get("run", "seed")),
        n_saved=0 if saved is None else saved.islands,
    )


def _with_edges(spec: RunSpec, ranks: int) -> dict[str, Any]:
    """Return the section ``[islands]``, without edges to islands that this run does not have."""
    islands = dict(spec.islands)
    n_islands = spec.per_rank * ranks
    edges = islands.get("edges") or []
    kept = [edge for edge in edges if max(edge) < n_islands]
    if len(kept) < len(edges):
        log.warning(
            "%s of islands.edges left out: there are %s on %s",
            counted(len(edges) - len(kept), "edge"),
            counted(n_islands, "island"),
            counted(ranks, "rank"),
        )
        islands["edges"] = kept
    return islands


def _check_edges(config: Config, spec: RunSpec, ranks: int) -> None:
    try:
        make_migration(spec.per_rank * ranks, spec.seed, spec.islands)
    except GSRError as error:
        mistakes = Mistakes(config)
        mistakes.note(("islands", "edges"), str(error))
        mistakes.raise_found(str(config.file))


def _warn_of_time_limit(config: Config) -> None:
    """Warn if a reproducible run has a time limit: where it stops depends on the machine."""
    limits = (("run", "max_evals"), ("search", "max_generations"))
    max_time = config.get("run", "max_time")
    is_lock_step = config.get("islands", "mode") == "deterministic"
    has_other = any(config.is_set(*key) for key in limits)
    if is_lock_step and max_time != float("inf") and not has_other:
        log.warning(
            "run.max_time (%g s) ends this run by the clock, so that it cannot be repeated "
            "exactly, though islands.mode is deterministic; set run.max_evals or "
            "search.max_generations, and run.max_time to inf",
            max_time,
        )


def fingerprint(blueprint: Blueprint, seed: int) -> str:
    """Return what identifies a problem: a digest of its rows and of all that defines the search."""
    fixed = {k: v for k, v in blueprint.settings.items() if k not in NOT_THE_PROBLEM}
    content = json.loads(replace(blueprint, settings=fixed).to_json())
    for name in LIMITS:
        content[name] = content["settings"].pop(name)
    text = json.dumps(content, sort_keys=True)
    digest = hashlib.sha256(json.dumps([seed, text]).encode())
    for array in (blueprint.X, blueprint.y, blueprint.weights):
        digest.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _finished(folder: Path, saved: Manifest | None, config: Config) -> dict[str, Any] | None:
    """Return the result in the run folder, if there is nothing left to do."""
    if saved is None or not (folder / "result.json").exists():
        return None
    result = run_folder.read(folder)
    if result.get("fingerprint") != saved.fingerprint:
        return None
    status = result.get("status")
    reached = {"max_time": "seconds", "max_evals": "evaluations", "max_generations": "generations"}
    if status in DONE:
        return result
    if status not in reached:
        return None
    section = "search" if status == "max_generations" else "run"
    limit = config.get(section, status)
    return result if limit is not None and limit <= result.get(reached[status], 0) else None


# ---- the run folder ------------------------------------------------------------------------------


def _check_folder(folder: Path, config: Config) -> None:
    """Raise if the run folder cannot be written to; nothing is left there."""
    where = config.places.where("run", "output")
    where = where if where == "run.output" else f"{where}: run.output"
    try:
        run_folder.check(folder)
        run_folder.check_replaced(folder, config.data_path(), config.file, overwrite=True)
    except (GSRError, files.WritingError) as error:
        raise type(error)(f"{where}: {error}") from error


def prepare(run: PlannedRun) -> FolderLock:
    """Lock the run folder and make it ready; an older result in it stays until there is a new one.

    Raises
    ------
    GSRError
        If the folder holds another run, or cannot be written to.
    """
    spec, config = run.spec, run.config
    anew = not config.get("checkpoint", "resume") and spec.checkpoints.folder.is_dir()
    overwrite = config.get("run", "overwrite") or spec.n_saved > 0 or anew
    run_folder.prepare(spec.folder, overwrite, config=config)
    lock = FolderLock(spec.folder)
    lock.take()
    try:
        _begin(run, Path(spec.folder))
    except BaseException:
        lock.release()
        raise
    return lock


def _begin(run: PlannedRun, folder: Path) -> None:
    if run.config.get("checkpoint", "resume") and _manifest(folder) != run.saved:
        raise GSRError(f"another run has begun in {folder} meanwhile; start this one again")
    remove_leftovers(folder, "status.json")
    run_folder.remove_drafts(folder)
    if not run.spec.n_saved:
        aside = run.spec.checkpoints.set_aside()
        if aside is not None:
            with suppress(FileNotFoundError):  # the result belongs to the checkpoints
                os.replace(folder / "result.json", aside / "result.json")
            log.info("the checkpoints of an earlier run are kept in %s", aside)
    text = run_folder.config_text(folder, run.config, run.config.data_path(), COMMAND)
    files.write(run_folder.config_path(folder, run.config.file), text)


def describe(run: PlannedRun, ranks: int) -> str:
    """Return what would happen, for ``--dry-run``."""
    spec, blueprint = run.spec, run.blueprint
    islands, n_rows, n_searched = spec.islands, len(run.data.y), len(blueprint.y)
    limits = [f"{run.config.get('run', 'max_time'):g} s"]
    limits += [f"{spec.max_evals:,} evaluations"] if spec.max_evals else []
    begins = "begins anew"
    if run.finished is not None:
        begins = f"is finished ({run.finished['status']}); nothing would be done"
    elif spec.n_saved:
        begins = f"goes on from the checkpoints of {counted(spec.n_saved, 'island')}"
    rows = f"{n_rows:,} rows"
    rows += f", of which the search looks at {n_searched:,}" if n_searched < n_rows else ""
    lines = {
        "data": f"{run.config.data_path()}: {rows}",
        "law": f"g({blueprint.target_name}) = f({', '.join(blueprint.names)})",
        "library": f"{', '.join(blueprint.library.names)}",
        "islands": f"{spec.per_rank * ranks} on {counted(ranks, 'rank')}, "
        f"{counted(n_threads(run.config, ranks), 'thread')} each, {islands['mode']}",
        "migration": f"{islands['topology']}, {islands['migration']}, {islands['migrants']} "
        f"{islands['selection']} every {islands['interval']:,} individuals of work, "
        f"replacement {islands['replacement']}",
        "variants": f"{len(blueprint.variants) if len(blueprint.variants) > 1 else 'none'}",
        "limits": ", ".join(limits),
        "checkpoints": f"every {spec.checkpoint['interval']:g} s, {spec.checkpoint['keep']} kept",
        "seed": f"{run.config.get('run', 'seed')}",
        "run folder": f"{spec.folder}; the run {begins}",
    }
    return "\n".join(f"{name:12} {text}" for name, text in lines.items())
