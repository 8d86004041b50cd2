"""What rank 0 of a run plans before the others begin: configuration, data, problem, resumption."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gsr import files, options
from gsr.blueprint import Blueprint
from gsr.cli.fit_data import FitData
from gsr.cli.island_problem import n_threads, pose
from gsr.cli.named_estimator import NamedRegressor
from gsr.cli.terminal import complain, counted
from gsr.exceptions import GSRError
from gsr.islands.checkpoints import Checkpoints, Manifest
from gsr.islands.migration import make_migration
from gsr.islands.troubles import Tell
from gsr.islands.voyage import Orders
from gsr.problem import Problem
from gsr.rows import Rows
from gsr.runs import config as configs
from gsr.runs import folder_files, run_folder
from gsr.runs.config import Config
from gsr.runs.folder_lock import FolderLock
from gsr.runs.mistakes import Mistakes
from gsr.tables import path_of
from gsr.whole_files import remove_leftovers

#: Settings of the core that do not change what is searched for.
NOT_THE_PROBLEM = ("max_generations", "max_evaluations", "n_threads", "max_bytes")
#: A search that ended so has nothing left to do.
DONE = ("exact", "threshold")
#: What a configuration is given to, to repeat a run.
COMMAND = "gsr islands --set run.output=again"


@dataclass(frozen=True, eq=False)
class Plan:
    """All about a run, for rank 0.

    Parameters
    ----------
    config : Config
        What was set, seed included.
    data : FitData
        The table.
    sha256 : str, optional
        Of its file.
    model : NamedRegressor
        To be fitted.
    problem : Problem
        What the search is about.
    held : Rows, optional
        Rows that are held out.
    orders : Orders
        For all ranks.
    saved : Manifest, optional
        What the checkpoints have in common from which the run goes on.
    finished : dict, optional
        The result of a run that is over already.
    lock : FolderLock
        On the run folder, from `prepare` on.
    """

    config: Config
    data: FitData
    sha256: str | None
    model: NamedRegressor
    problem: Problem
    held: Rows | None
    orders: Orders
    saved: Manifest | None
    finished: dict[str, Any] | None
    lock: FolderLock

    @property
    def blueprint(self) -> Blueprint:
        """What islands are made of."""
        return self.problem.blueprint


def make_plan(
    path: str, overrides: list[str], ranks: int, tell: Tell, *, reads: bool = False
) -> Plan:
    """Plan a run; nothing is written.

    Parameters
    ----------
    path : str
        The configuration.
    overrides : list of str
        Settings such as ``"run.max_time=60"``.
    ranks : int
        How many there are.
    tell : callable
        Takes remarks.
    reads : bool
        Whether the plan is made to read a run, of which the folder may be another's.

    Returns
    -------
    Plan

    Raises
    ------
    GSRError
        Tells what is wrong: in the file, the table, or the run folder.
    WritingError
        If the run folder cannot be written to.
    """
    config = configs.read(path, overrides, required=options.OF_ISLANDS)
    folder = Path(config.get("run", "output") or options.ISLANDS_OUTPUT)
    saved = _manifest(folder) if config.get("checkpoint", "resume") else None
    config = _seeded(config, saved)
    posed = pose(config, path, ranks)
    for remark in posed.remarks:
        tell(remark)
    config, problem = posed.config, posed.problem
    file = path_of(Path(config.data_path()))
    digest = files.sha256(file) if file is not None else None
    orders = _orders(config, folder, problem.blueprint, ranks, saved)
    orders = replace(orders, islands=_with_edges(orders, ranks, tell))
    _check_edges(config, path, orders, ranks)
    finished = _finished(folder, saved, config)
    if not reads and finished is None:
        _check_folder(folder, config)
        _tell_of_the_clock(config, tell)
    if saved is not None:
        wanted = orders.manifest(ranks, orders.per_rank * ranks)
        for remark in saved.check_resumable(wanted, folder):
            tell(f"WARNING: {remark}")
    lock = FolderLock(orders.folder)
    return Plan(
        config, posed.data, digest, posed.model, problem, posed.held, orders, saved, finished, lock
    )


def _manifest(folder: Path) -> Manifest | None:
    return Checkpoints(folder / "checkpoints").read_manifest()


def _seeded(config: Config, saved: Manifest | None) -> Config:
    """Return the configuration with a seed: a run that goes on keeps its own."""
    if config.is_set("run", "seed"):
        return config
    seed = secrets.randbelow(2**31) if saved is None else saved.seed
    return config.changed({("run", "seed"): seed})


def _orders(
    config: Config, folder: Path, blueprint: Blueprint, ranks: int, saved: Manifest | None
) -> Orders:
    max_time = config.get("run", "max_time")
    return Orders(
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


def _with_edges(orders: Orders, ranks: int, tell: Tell) -> dict[str, Any]:
    """Return the section, without edges to islands that are not there this time."""
    islands = dict(orders.islands)
    n_islands = orders.per_rank * ranks
    edges = islands.get("edges") or []
    kept = [edge for edge in edges if max(edge) < n_islands]
    if len(kept) < len(edges):
        tell(
            f"WARNING: {counted(len(edges) - len(kept), 'edge')} of islands.edges left out: there "
            f"are {counted(n_islands, 'island')} on {counted(ranks, 'rank')}"
        )
        islands["edges"] = kept
    return islands


def _check_edges(config: Config, origin: str, orders: Orders, ranks: int) -> None:
    try:
        make_migration(orders.per_rank * ranks, orders.seed, orders.islands)
    except GSRError as error:
        mistakes = Mistakes(config)
        mistakes.note(("islands", "edges"), str(error))
        mistakes.raise_found(origin)


def _tell_of_the_clock(config: Config, tell: Tell) -> None:
    """Tell who wants a run that can be repeated that a clock will end it."""
    limits = (("run", "max_evals"), ("search", "max_generations"))
    max_time = config.get("run", "max_time")
    is_lock_step = config.get("islands", "mode") == "deterministic"
    if is_lock_step and max_time != float("inf") and not any(config.is_set(*key) for key in limits):
        tell(
            f"run.max_time ({max_time:g} s) ends this run by the clock, so that it cannot be "
            "repeated exactly, though islands.mode is deterministic; set run.max_evals or "
            "search.max_generations, and run.max_time to inf"
        )


def fingerprint(blueprint: Blueprint, seed: int) -> str:
    """Return what tells a problem from others: its rows, and all that defines the search."""
    fixed = {k: v for k, v in blueprint.settings.items() if k not in NOT_THE_PROBLEM}
    text = replace(blueprint, settings=fixed).to_json()
    digest = hashlib.sha256(json.dumps([seed, text]).encode())
    for array in (blueprint.X, blueprint.y, blueprint.weights):
        digest.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _finished(folder: Path, saved: Manifest | None, config: Config) -> dict[str, Any] | None:
    """Return the result in the run folder, if there is nothing left to do."""
    if saved is None or not (folder / "result.json").exists():
        return None
    result = run_folder.read(folder).result
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
    """Tell what stands against writing to the run folder; nothing is left there."""
    where = config.places.where("run", "output")
    where = where if where == "run.output" else f"{where}: run.output"
    try:
        run_folder.check(folder)
        folder_files.check_replaced(folder, config.data_path(), config.file, overwrite=True)
    except (GSRError, files.WritingError) as error:
        raise type(error)(f"{where}: {error}") from error


def prepare(plan: Plan) -> None:
    """Make the run folder ready; an older run in it is kept until there is a new result.

    Raises
    ------
    GSRError
        If the folder holds another run, or cannot be written to.
    """
    orders = plan.orders
    folder = Path(orders.folder)
    anew = not plan.config.get("checkpoint", "resume") and orders.checkpoints.folder.is_dir()
    overwrite = plan.config.get("run", "overwrite") or orders.n_saved > 0 or anew
    run_folder.prepare(folder, overwrite, config=plan.config)
    plan.lock.take()
    try:
        _begin(plan, folder)
    except BaseException:
        plan.lock.release()
        raise


def _begin(plan: Plan, folder: Path) -> None:
    if plan.config.get("checkpoint", "resume") and _manifest(folder) != plan.saved:
        raise GSRError(f"another run has begun in {folder} meanwhile; start this one again")
    remove_leftovers(folder, "status.json")
    run_folder.remove_drafts(folder)
    if not plan.orders.n_saved:
        aside = plan.orders.checkpoints.set_aside()
        if aside is not None:
            with suppress(FileNotFoundError):  # it belongs to them
                os.replace(folder / "result.json", aside / "result.json")
            complain(f"the checkpoints of an earlier run are kept in {aside}")
    text = run_folder.config_text(folder, plan.config, plan.config.data_path(), COMMAND)
    files.write(folder_files.config_path(folder, plan.config.file), text)


def describe(plan: Plan, ranks: int) -> str:
    """Return what would happen, for ``--dry-run``."""
    orders, of = plan.orders, plan.blueprint
    islands = orders.islands
    n_islands = orders.per_rank * ranks
    limits = [f"{plan.config.get('run', 'max_time'):g} s"]
    limits += [f"{orders.max_evals:,} evaluations"] if orders.max_evals else []
    begins = "begins anew"
    if plan.finished is not None:
        begins = f"is finished ({plan.finished['status']}); nothing would be done"
    elif orders.n_saved:
        begins = f"goes on from the checkpoints of {counted(orders.n_saved, 'island')}"
    rows = f"{len(plan.data.y):,} rows"
    rows += f", of which the search looks at {len(of.y):,}" if len(of.y) < len(plan.data.y) else ""
    lines = {
        "data": f"{plan.config.data_path()}: {rows}",
        "law": f"g({of.target_name}) = f({', '.join(of.names)})",
        "library": f"{', '.join(of.library.names)}",
        "islands": f"{n_islands} on {counted(ranks, 'rank')}, "
        f"{counted(n_threads(plan.config, ranks), 'thread')} each, {islands['mode']}",
        "migration": f"{islands['topology']}, {islands['migration']}, {islands['migrants']} "
        f"{islands['selection']} every {islands['interval']:,} individuals of work, "
        f"replacement {islands['replacement']}",
        "variants": f"{len(of.variants) if len(of.variants) > 1 else 'none'}",
        "limits": ", ".join(limits),
        "checkpoints": f"every {orders.checkpoint['interval']:g} s, "
        f"{orders.checkpoint['keep']} kept",
        "seed": f"{plan.config.get('run', 'seed')}",
        "run folder": f"{orders.folder}; the run {begins}",
    }
    return "\n".join(f"{name:12} {text}" for name, text in lines.items())
