"""What rank 0 of a run plans before the others begin: configuration, data, problem, resumption."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gsr import files, options, prior, search
from gsr.blueprint import Blueprint, Variant, settings_values
from gsr.cli.fit_data import FitData, load
from gsr.cli.named_estimator import NamedRegressor
from gsr.cli.terminal import complain, counted
from gsr.exceptions import GSRError
from gsr.islands import journal
from gsr.islands.checkpoints import Manifest
from gsr.islands.migration import make_migration
from gsr.islands.voyage import Orders
from gsr.problem import Problem
from gsr.rows import Rows
from gsr.runs import config as configs
from gsr.runs import run_folder, settings
from gsr.runs.config import Config
from gsr.tables import path_of
from gsr.whole_files import remove_leftovers

#: Settings of the core that do not change what is searched for.
NOT_THE_PROBLEM = ("max_generations", "max_evaluations", "n_threads", "max_bytes")
#: A search that ended so has nothing left to do.
DONE = ("exact", "threshold")
#: Seconds after which a run shows no sign of life, and looks, a second apart, at one that may.
FRESH, LOOKS = 10.0, 4
Tell = Callable[[str], None]


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
    finished : dict, optional
        The result of a run that is over already.
    """

    config: Config
    data: FitData
    sha256: str | None
    model: NamedRegressor
    problem: Problem
    held: Rows | None
    orders: Orders
    finished: dict[str, Any] | None

    @property
    def blueprint(self) -> Blueprint:
        """What islands are made of."""
        return self.problem.blueprint


def make_plan(path: str, overrides: list[str], ranks: int, tell: Tell) -> Plan:
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

    Returns
    -------
    Plan

    Raises
    ------
    GSRError
        Tells what is wrong: in the file, the table, or the run folder.
    """
    config = configs.read(path, overrides, required=settings.OF_ISLANDS)
    folder = Path(config.get("run", "output") or settings.ISLANDS_OUTPUT)
    checkpoint = config.section("checkpoint")
    saved = _manifest(folder) if checkpoint["resume"] else None
    config = _seeded(config, saved)
    source = files.Source(config.data_path())
    file = path_of(source.path)
    digest = files.sha256(file) if file is not None else None
    data = load(source, config, tell)
    if data.y.ndim == 2:
        raise GSRError(
            "data.target must be one column here; start a run for each target, for instance with "
            "an array of jobs"
        )
    config = config.changed({("data", "target"): data.columns[0]})
    model, problem, held = _pose(config, data, ranks)
    orders = _orders(config, folder, problem.blueprint, ranks, saved)
    orders = replace(orders, islands=_with_edges(orders, ranks, tell))
    make_migration(orders.per_rank * ranks, orders.seed, orders.islands)  # tells wrong edges
    if saved is not None:
        wanted = orders.manifest(ranks, orders.per_rank * ranks)
        for remark in saved.check_resumable(wanted, folder):
            tell(f"WARNING: {remark}")
    finished = _finished(folder, saved, config)
    return Plan(config, data, digest, model, problem, held, orders, finished)


def _manifest(folder: Path) -> Manifest | None:
    from gsr.islands.checkpoints import Checkpoints

    return Checkpoints(folder / "checkpoints").read_manifest()


def _seeded(config: Config, saved: Manifest | None) -> Config:
    """Return the configuration with a seed: a run that goes on keeps its own."""
    if config.is_set("run", "seed"):
        return config
    seed = secrets.randbelow(2**31) if saved is None else saved.seed
    return config.changed({("run", "seed"): seed})


def _pose(config: Config, data: FitData, ranks: int) -> tuple[NamedRegressor, Problem, Rows | None]:
    asked = config.estimator_options()
    asked["n_jobs"] = _n_threads(config, ranks)
    model = NamedRegressor(**asked).named(data.names, *data.targets)
    model._check_parameters()
    problem, held = model._pose(model._validate(data.X, data.y, data.weights))
    of = problem.blueprint
    per_rank = config.get("islands", "per_rank")
    changed = {
        **of.settings,
        "n_threads": max(1, asked["n_jobs"] // per_rank),
        "max_evaluations": 0,  # all islands together have that limit
    }
    variants = [_variant(each, asked, of) for each in config.get("islands", "variants") or [{}]]
    problem.blueprint = replace(of, settings=changed, variants=variants)
    return model, problem, held


def _n_threads(config: Config, ranks: int) -> int:
    """Return the threads of a rank: all cores for one, a core for each of many."""
    if ranks > 1 and not config.is_set("run", "n_jobs"):
        return int(config.get("islands", "per_rank"))
    return search.n_threads(config.get("run", "n_jobs"))


def _variant(changes: dict[str, Any], asked: dict[str, Any], of: Blueprint) -> Variant:
    """Return in what an island differs, if it may."""
    rules = None
    changes = dict(changes)
    if "allow" in changes or "forbid" in changes:
        allow, forbid = (changes.pop(name, asked.get(name)) for name in ("allow", "forbid"))
        found = prior.forbidden(allow, forbid, of.library, of.names, of.target_name)
        rules = {name: sorted(codes) for name, codes in found.items()}
    values = {**of.settings, **changes}
    known = {
        name: values[name] for name in (*options.SEARCH_OPTIONS, *options.ADMM_OPTIONS, "solver")
    }
    encoding = {name: known.pop(name) for name in options.ENCODING_OPTIONS}
    checked = settings_values(
        options.make_settings(asked.get("preset", "default"), encoding, known)
    )
    return Variant({name: checked[name] for name in changes}, rules)


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
        n_threads=min(_n_threads(config, ranks), config.get("islands", "per_rank")),
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


def prepare(plan: Plan) -> None:
    """Make the run folder ready; an older run in it is kept until there is a new result.

    Raises
    ------
    GSRError
        If the folder holds another run, or cannot be written to.
    """
    orders = plan.orders
    folder = Path(orders.folder)
    anew = not plan.config.get("checkpoint", "resume")
    overwrite = plan.config.get("run", "overwrite") or orders.n_saved > 0 or anew
    _refuse_company(folder)
    run_folder.prepare(folder, overwrite)
    remove_leftovers(folder, "status.json")
    if not orders.n_saved:
        aside = orders.checkpoints.set_aside()
        if aside is not None:
            with suppress(FileNotFoundError):  # it belongs to them
                os.replace(folder / "result.json", aside / "result.json")
            complain(f"the checkpoints of an earlier run are kept in {aside}")
    text = run_folder.config_text(folder, plan.config, plan.config.data_path())
    files.write(folder / "config.toml", text)


def _refuse_company(folder: Path) -> None:
    """Refuse a folder that another run still writes to."""
    status = journal.read_status(folder) or {}
    if status.get("state") != "running" or time.time() - status.get("time", 0.0) > FRESH:
        return
    if status.get("host") == socket.gethostname() and not _alive(int(status.get("pid", 0))):
        return
    for _ in range(LOOKS):
        time.sleep(1.0)
        if (journal.read_status(folder) or {}).get("time") != status["time"]:
            raise GSRError(
                f"another run writes to {folder} ({status.get('host')}, process "
                f"{status.get('pid')}); wait for it, or choose another run.output"
            )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return pid > 0


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
        begins = f"goes on from the checkpoints of {orders.n_saved} islands"
    rows = f"{len(plan.data.y):,} rows"
    rows += f", of which the search looks at {len(of.y):,}" if len(of.y) < len(plan.data.y) else ""
    lines = {
        "data": f"{plan.config.data_path()}: {rows}",
        "law": f"g({of.target_name}) = f({', '.join(of.names)})",
        "library": f"{', '.join(of.library.names)}",
        "islands": f"{n_islands} on {counted(ranks, 'rank')}, "
        f"{counted(_n_threads(plan.config, ranks), 'thread')} each, {islands['mode']}",
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
