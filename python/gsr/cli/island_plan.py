"""What rank 0 plans before a cluster run begins: configuration, problem, resumption, run folder.

All mistakes in the configuration are reported at once, with keys and lines, before anything starts.
"""

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

from gsr import files, library, options, prior, search
from gsr.blueprint import Blueprint, Variant
from gsr.cli.fit_data import FitData, NamedRegressor, load
from gsr.cli.terminal import counted
from gsr.core_settings import settings_of
from gsr.exceptions import GSRError, about
from gsr.islands.checkpoints import Checkpoints, Manifest
from gsr.islands.migration import make_migration
from gsr.islands.rank_run import RunSpec
from gsr.problem import Problem, core_settings
from gsr.rows import Rows
from gsr.runs import config as configs
from gsr.runs import run_folder
from gsr.runs.config import Config, Mistakes
from gsr.runs.folder_lock import FolderLock
from gsr.tables import path_of

log = logging.getLogger(__name__)
PATH, TARGET = ("data", "path"), ("data", "target")
#: Settings of the core that do not change what is searched for.
NOT_THE_PROBLEM = ("max_generations", "max_evaluations", "n_threads", "max_bytes")
#: Settings that fingerprints keep apart, as in the run folders of earlier versions.
LIMITS = ("max_terms", "max_complexity")
#: A search that ended so has nothing left to do.
DONE = ("exact", "threshold")
#: What a configuration is given to, to repeat a run.
COMMAND = "gsr islands --set run.output=again"


@dataclass(frozen=True, eq=False)
class ClusterProblem:
    """What a cluster run searches for."""

    #: The settings, with the target by its name in the table; and the table.
    config: Config
    data: FitData
    #: What is fitted in the end, what the search is about, and the rows that are held out.
    model: NamedRegressor
    problem: Problem
    held: Rows | None


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

    With `read_only` the plan is made to read a run, whose folder another process may be using.
    """
    folder = Path(config.get("run", "output") or options.ISLANDS_OUTPUT)
    saved = _manifest(folder) if config.get("checkpoint", "resume") else None
    if not config.is_set("run", "seed"):  # a run that goes on keeps its own
        seed = secrets.randbelow(2**31) if saved is None else saved.seed
        config = config.changed({("run", "seed"): seed})
    posed = pose(config, str(config.file), ranks)
    config = posed.config
    file = path_of(Path(config.data_path()))
    digest = files.sha256(file) if file is not None else None
    spec = _run_spec(config, folder, posed.problem.blueprint, ranks, saved)
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


# ---- the problem ---------------------------------------------------------------------------------


def pose(config: Config, origin: str, ranks: int) -> ClusterProblem:
    """Read the table of a configuration, and make the problem of a run on so many ranks.

    An error lists all mistakes in the configuration, whose file is `origin`.
    """
    mistakes = Mistakes(config)
    mistakes.attempt(_check_parameters)
    data = posed = None
    source = mistakes.attempt(lambda config: files.Source(config.data_path()), PATH)
    if source is not None:
        data = mistakes.attempt(lambda config: _load(source, config), PATH)
    # Without a target, whatever else is found would be misleading.
    if data is not None and mistakes.config.is_set(*TARGET):
        posed = mistakes.attempt(lambda config: _pose(config, data, ranks))
    if posed is not None:
        blueprint = posed[1].blueprint
        posed[1].blueprint = replace(blueprint, variants=_variants(mistakes, blueprint))
    mistakes.raise_found(origin)
    assert data is not None
    assert posed is not None
    return ClusterProblem(config.changed({TARGET: data.columns[0]}), data, *posed)


def _check_parameters(config: Config) -> None:
    """Check what can be checked without data."""
    asked = config.estimator_options()
    core_settings(NamedRegressor(**asked).get_params(deep=False))
    for name in ("library", "target_library"):
        if name in asked:
            with about(name):
                library.resolve(asked[name])


def _load(source: files.Source, config: Config) -> FitData:
    if config.get("data", "time") is not None:
        raise GSRError("equations of motion need gsr fit; islands do not support them", "data.time")
    if isinstance(config.get(*TARGET), list):
        raise GSRError(
            "it must be one column here; start a run for each target, for instance with an array "
            "of jobs",
            "data.target",
        )
    if config.get("data", "groups") is not None:
        raise GSRError("groups need gsr fit; islands search one law for all rows", "data.groups")
    return load(source, config)


def _pose(config: Config, data: FitData, ranks: int) -> tuple[NamedRegressor, Problem, Rows | None]:
    asked = config.estimator_options()
    asked["n_jobs"] = _n_threads(config, ranks)
    model = NamedRegressor(**asked).named(data.names, *data.targets)
    problem, held = model.pose(data.X, data.y, data.weights, data.sigma)
    changed = {
        **problem.blueprint.settings,
        "n_threads": max(1, asked["n_jobs"] // config.get("islands", "per_rank")),
        "max_evaluations": 0,  # the limit is that of all islands together
    }
    problem.blueprint = replace(problem.blueprint, settings=changed)
    problem.blueprint.island()  # raises if the core refuses the settings
    return model, problem, held


def _n_threads(config: Config, ranks: int) -> int:
    """Return the threads of a rank: all cores for one, a core for each of many."""
    if ranks > 1 and not config.is_set("run", "n_jobs"):
        return int(config.get("islands", "per_rank"))
    return search.n_threads(config.get("run", "n_jobs"))


def _variants(mistakes: Mistakes, blueprint: Blueprint) -> list[Variant]:
    """Return how islands differ, and note the mistakes."""
    asked = mistakes.config.estimator_options()
    found = []
    for number, table in enumerate(mistakes.config.get("islands", "variants") or [{}], start=1):
        try:
            found.append(_variant(table, asked, blueprint))
        except GSRError as error:
            name = [each for each in error.options if each in table][:1]
            mistakes.note(("islands", "variants", str(number), *name), f"table {number}: {error}")
    return found


def _variant(table: dict[str, Any], asked: dict[str, Any], blueprint: Blueprint) -> Variant:
    """Return how an island differs from the others."""
    rules = None
    changes = dict(table)
    if "allow" in changes or "forbid" in changes:
        allow, forbid = (changes.pop(name, asked.get(name)) for name in ("allow", "forbid"))
        found = prior.forbidden(
            allow, forbid, blueprint.library, blueprint.names, blueprint.target_name
        )
        rules = {name: sorted(codes) for name, codes in found.items()}
    preset = asked.get("preset", "default")
    checked = settings_of({**blueprint.settings, **changes, "preset": preset})
    variant = Variant({name: checked[name] for name in changes}, rules)
    if variant != Variant():
        replace(blueprint, variants=[variant]).island()  # raises if the core refuses the settings
    return variant


# ---- the plan ------------------------------------------------------------------------------------


def _run_spec(
    config: Config, folder: Path, blueprint: Blueprint, ranks: int, saved: Manifest | None
) -> RunSpec:
    max_time, seed = config.get("run", "max_time"), config.get("run", "seed")
    per_rank = config.get("islands", "per_rank")
    islands = {k: v for k, v in config.section("islands").items() if k != "variants"}
    islands["edges"] = _edges(islands["edges"], per_rank * ranks, ranks)
    try:
        make_migration(per_rank * ranks, seed, islands)
    except GSRError as error:
        mistakes = Mistakes(config)
        mistakes.note(("islands", "edges"), str(error))
        mistakes.raise_found(str(config.file))
    return RunSpec(
        folder=os.path.abspath(folder),
        islands=islands,
        checkpoint=config.section("checkpoint"),
        max_time=None if max_time == float("inf") else max_time,
        max_evals=config.get("run", "max_evals"),
        n_threads=min(_n_threads(config, ranks), per_rank),
        seed=seed,
        fingerprint=fingerprint(blueprint, seed),
        n_saved=0 if saved is None else saved.islands,
    )


def _edges(edges: list[list[int]] | None, n_islands: int, ranks: int) -> list[list[int]] | None:
    """Return the edges, without those to islands that this run does not have."""
    kept = [edge for edge in edges or [] if max(edge) < n_islands]
    if len(kept) == len(edges or []):
        return edges
    log.warning(
        "%s of islands.edges left out: there are %s on %s",
        counted(len(edges or []) - len(kept), "edge"),
        counted(n_islands, "island"),
        counted(ranks, "rank"),
    )
    return kept


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
    if saved is None or not run_folder.has_result(folder):
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
        run_folder.check_replaced(folder, config, overwrite=True)
    except (GSRError, files.WritingError) as error:
        raise type(error)(f"{where}: {error}") from error


def prepare(run: PlannedRun) -> FolderLock:
    """Lock the run folder and make it ready; an older result in it stays until there is a new one.

    Raises if the folder holds another run, or cannot be written to.
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
    run_folder.remove_drafts(folder)
    if not run.spec.n_saved:
        aside = run.spec.checkpoints.set_aside()
        if aside is not None:
            with suppress(FileNotFoundError):  # the result belongs to the checkpoints
                os.replace(folder / "result.json", aside / "result.json")
            log.info("the checkpoints of an earlier run are kept in %s", aside)
    text = run_folder.config_text(folder, run.config, COMMAND)
    files.write(run_folder.config_path(folder, run.config.file), text, follow=False)


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
        f"{counted(_n_threads(run.config, ranks), 'thread')} each, {islands['mode']}",
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
