"""Run folders: all results of a run, for people and for other programs.

- ``result.json``: why the search ended, the law, the front, settings, seed, versions, data;
- ``equations.csv``: the front as a table;
- ``model.json``: the fitted model, which `gsr.load` reads;
- ``config.toml``: the configuration that repeats the run; ``config.run.toml`` if the user has a
  ``config.toml`` there;
- ``history.csv``: how the best error fell;
- ``sample.csv``: some of the training rows.

A run with several targets has the laws of each in ``targets`` of ``result.json``, and a column
``target`` in ``equations.csv`` and ``history.csv``.

A folder changes in one step at the end of a run: an older run in it is replaced when all files are
written.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr import files
from gsr.exceptions import GSRError
from gsr.rows import Rows, split
from gsr.runs.folder_files import (
    CONFIG,
    FILES,
    MARK,
    check_replaced,
    config_path,
    remove_other_config,
)
from gsr.tables import Array

if TYPE_CHECKING:
    from gsr.estimator import GSRRegressor
    from gsr.runs.config import Config
    from gsr.table import EquationRow, EquationTable

FORMAT, VERSION = "gsr run", 1
#: Prefix of the temporary folder in which results are written first.
DRAFTS = ".new."
SAMPLE_ROWS = 1000
SAMPLE_CELLS = 1_000_000
#: Bytes that must fit into the folder before a search starts.
ROOM = 1 << 18


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished search, and what it was asked for."""

    model: GSRRegressor
    #: Training rows; y has a column for each target if there are several.
    X: Array
    y: Array
    #: The settings, seed included; the path of the table (``"-"``: standard input); its SHA-256.
    config: Config
    data: str
    sha256: str | None = None
    weights: Array | None = None
    #: Further entries of ``result.json``.
    more: Mapping[str, Any] = field(default_factory=dict)
    #: The command that repeats the run, given the configuration.
    command: str = "gsr fit --config"

    @cached_property
    def laws(self) -> dict[str, Laws]:
        """The laws of each target."""
        models = getattr(self.model, "models_", None) or {"": self.model}
        found = (Laws(model, model.equations_) for model in models.values())
        return {laws.target: laws for laws in found}

    @property
    def is_one(self) -> bool:
        """Whether y is one target, as opposed to a list of them."""
        return self.y.ndim == 1

    @cached_property
    def n_used(self) -> int:
        """The number of rows that laws were fitted to: of positive weight, and not held out."""
        from gsr.problem import core_settings

        n = len(self.y)
        known = Rows(np.empty((n, 0)), np.empty(n), self.weights)
        parameters = self.model.get_params(deep=False)
        fraction = parameters["validation_fraction"]
        if fraction is not None:
            known, _ = split(known, fraction, core_settings(parameters)["seed"])
        return len(known) if known.weights is None else int(np.sum(known.weights > 0.0))

    def result(self) -> dict[str, Any]:
        """Return what ``result.json`` holds."""
        from gsr.info import core_info

        each = [laws.result() for laws in self.laws.values()]
        found = {
            "format": FORMAT,
            "format_version": VERSION,
            "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            **(each[0] if self.is_one else _together(each)),
            "features": list(self.first.equation_.feature_names),
            "settings": self.config.values,
            "seed": self.config.get("run", "seed"),
            "versions": {**core_info(), **_versions()},
            "rows": len(self.y),
            "rows_used": self.n_used,
            "data": {"path": self.data, "sha256": self.sha256},
            **self.more,
        }
        plain: dict[str, Any] = files.plain(found)
        return plain

    @property
    def first(self) -> GSRRegressor:
        """The model of the first target."""
        return next(iter(self.laws.values())).model


@dataclass(frozen=True, eq=False)
class Laws:
    """The laws of a target; the table keeps simplified laws."""

    model: GSRRegressor
    table: EquationTable

    @property
    def target(self) -> str:
        """The name of the target."""
        return str(self.model.equation_.target_name)

    @property
    def chosen(self) -> Any:
        """The chosen entry of the front."""
        return self.model.front_[self.model.best_index_]

    def result(self) -> dict[str, Any]:
        """Return what ``result.json`` holds about the target."""
        model, chosen = self.model, self.chosen
        return {
            "status": model.status_,
            "equation": str(model.equation_),
            "explicit": self.table[model.best_index_].explicit,
            "level": model.level_,
            "support": model.support_,
            "rmse": chosen.rmse,
            "weighted": chosen.is_weighted,
            "complexity": chosen.complexity,
            "uses_features": bool(chosen.uses_features),
            "target": self.target,
            "best_index": model.best_index_,
            "why": model.why_,
            "noise": model.noise_,
            "front": [_entry(row) for row in self.table],
            "top": [_row(row) for row in self.table.top()],
            "generations": model.n_generations_,
            "evaluations": model.n_evaluations_,
            "seconds": model.fit_time_,
        }


def _together(each: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the laws of several targets; the status is that of the last search."""
    sums = {
        name: sum(of[name] for of in each) for name in ("generations", "evaluations", "seconds")
    }
    return {"status": each[-1]["status"], "targets": list(each), **sums}


def _entry(row: EquationRow) -> dict[str, Any]:
    return {
        "complexity": row.complexity,
        "rmse": row.rmse,
        "held_out": row.held_out if math.isfinite(row.held_out) else None,
        "exact": row.entry.exact,
        "equation": str(row.entry.equation),
    }


def _row(row: EquationRow) -> dict[str, Any]:
    """Return a law of another kind: its extra bits, its error and its verdict."""
    return {
        "bits": row.bits if math.isfinite(row.bits) else None,
        "rmse": row.rmse,
        "verdict": row.verdict,
        "complexity": row.complexity,
        "equation": row.equation,
        "chosen": row.pick,
        "index": row.index,
    }


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "sympy")}


# ---- writing ---------------------------------------------------------------------------------


def check(folder: str | os.PathLike[str]) -> None:
    """Raise an error if a folder can be neither written to nor made; nothing is left behind."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise GSRError(f"the run folder {path} is a file")
    nearest = next(each for each in (path, *path.absolute().parents) if each.exists())
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".probe.", dir=nearest))
    except OSError as error:
        raise files.failed(path, error) from error


def prepare(
    folder: str | os.PathLike[str],
    overwrite: bool = False,
    config: Config | None = None,
) -> Path:
    """Make a folder ready for a run, before the search, so that its result can be written.

    Parameters
    ----------
    folder : str or path
        Made unless it exists.
    overwrite : bool
        Whether a result in it may be replaced.
    config : Config, optional
        Of the run; its table and the file that it was read from are never replaced.

    Raises
    ------
    GSRError
        If there is a file that must not be replaced, or the name belongs to a file.
    WritingError
        If nothing can be written there.
    """
    path = Path(folder)
    check(path)
    if config is None:
        check_replaced(path, overwrite=overwrite)
    else:
        check_replaced(path, config.data_path(), config.file, overwrite)
    probe = path / f".probe.{secrets.token_hex(6)}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        with probe.open("wb") as stream:
            stream.write(bytes(ROOM))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise files.failed(path, error) from error
    finally:
        with suppress(OSError):
            probe.unlink()
    return path


def write(folder: str | os.PathLike[str], outcome: Outcome) -> Path:
    """Write a run into a folder that exists (see `prepare`), and return the folder.

    Raises
    ------
    WritingError
        If something failed; the folder then still has what it had before.
    """
    path = Path(folder)
    drafts = path / f"{DRAFTS}{secrets.token_hex(6)}"
    try:
        drafts.mkdir()
        _write_files(drafts, path, outcome)
        own_config = config_path(path, outcome.config.file)
        for name in FILES:
            os.replace(drafts / name, own_config if name == CONFIG else path / name)
        if own_config.name == CONFIG:
            remove_other_config(path)
    except files.WritingError:
        raise
    except OSError as error:
        raise files.failed(path, error) from error
    finally:
        shutil.rmtree(drafts, ignore_errors=True)
    return path


def _write_files(drafts: Path, folder: Path, outcome: Outcome) -> None:
    from gsr import saving

    files.write(drafts / "equations.csv", _equations(outcome))
    saving.save(outcome.model, drafts / "model.json")
    text = config_text(folder, outcome.config, outcome.data, outcome.command)
    files.write(drafts / CONFIG, text)
    files.write(drafts / "history.csv", _history(outcome))
    files.write(drafts / "sample.csv", _sample(outcome))
    text = json.dumps(outcome.result(), indent=1, ensure_ascii=False, allow_nan=False)
    files.write(drafts / "result.json", text + "\n")


def remove_drafts(folder: str | os.PathLike[str]) -> None:
    """Remove the drafts of a run that was killed; no other run may be writing to the folder."""
    for path in Path(folder).glob(f"{DRAFTS}*"):
        shutil.rmtree(path, ignore_errors=True)


def rescue(outcome: Outcome) -> Path:
    """Write a run that could not be written elsewhere into a new temporary folder."""
    try:
        return write(tempfile.mkdtemp(prefix="gsr-run-"), outcome)
    except files.WritingError:
        raise
    except OSError as error:
        raise files.failed(tempfile.gettempdir(), error) from error


def config_text(folder: Path, config: Config, data: str, command: str) -> str:
    """Return the configuration that repeats a run, with the table's path relative to its folder.

    It leaves out the run folder, and whether to overwrite or resume.
    """
    path = data if data == "-" else os.path.relpath(data, folder)
    changed = config.changed({("data", "path"): path})
    for section, key in (("run", "output"), ("run", "overwrite"), ("checkpoint", "resume")):
        changed.values.get(section, {}).pop(key, None)
    head = f"{MARK}{command} {folder.name}/{config_path(folder, config.file).name}\n"
    head += "# Written by gsr; the next run in this folder replaces it.\n"
    return head + changed.to_toml()


def _equations(outcome: Outcome) -> str:
    fronts = [laws.table.to_csv() or "" for laws in outcome.laws.values()]
    if outcome.is_one:
        return fronts[0]
    tables = [list(csv.reader(io.StringIO(front))) for front in fronts]
    named = zip(outcome.laws, tables, strict=True)
    rows = ((target, *row) for target, table in named for row in table[1:])
    return _csv(("target", *tables[0][0]), rows)


def _history(outcome: Outcome) -> str:
    names = ("seconds", "generation", "evaluations", "rmse")
    rows = [
        (target, *(getattr(each, name) for name in names))
        for target, laws in outcome.laws.items()
        for each in laws.model.history_
    ]
    if outcome.is_one:
        return _csv(names, (row[1:] for row in rows))
    return _csv(("target", *names), rows)


def _sample(outcome: Outcome) -> str:
    n_rows, n_columns = outcome.X.shape
    most = min(SAMPLE_ROWS, max(10, SAMPLE_CELLS // (n_columns + 1)))
    rows = np.arange(n_rows)
    if n_rows > most:
        rows = np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
    targets = list(outcome.laws)  # after an interruption the last ones may have no law
    y = outcome.y if outcome.is_one else outcome.y[:, : len(targets)]
    table = np.column_stack([outcome.X[rows], y[rows]])
    return _csv((*outcome.first.equation_.feature_names, *targets), table.tolist())


def _csv(names: Any, rows: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


# ---- reading ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A run folder, and what its ``result.json`` holds."""

    folder: Path
    result: dict[str, Any]

    def model(self) -> GSRRegressor:
        """Return the fitted model."""
        return load_model(self.folder)


def read(folder: str | os.PathLike[str]) -> Run:
    """Read a run folder, written by ``gsr fit -o`` or a cluster run.

    Raises
    ------
    GSRError
        If it is no run folder, or damaged.
    """
    path = Path(folder)
    try:
        found = json.loads((path / "result.json").read_text(encoding="utf-8"))
    except OSError as error:
        reason = "there is no result.json in it" if path.is_dir() else "there is no such folder"
        raise GSRError(f"{path} is no run folder: {reason}") from error
    except (ValueError, RecursionError) as error:
        raise GSRError(f"{path}/result.json is damaged: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise GSRError(f'{path}/result.json is damaged: it does not say "format": "{FORMAT}"')
    version = found.get("format_version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise GSRError(f"{path} has format version {version}; this gsr reads up to {VERSION}")
    return Run(path, found)


def last_changed(paths: Iterable[Path]) -> float | None:
    """Return when the newest of some files was written, in seconds since 1970; None without files.

    Files may appear and disappear at the same time.
    """
    times = []
    for path in paths:
        with suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times, default=None)


def load_model(path: str | os.PathLike[str]) -> GSRRegressor:
    """Return the model of a model file or of a run folder."""
    from gsr import saving

    place = Path(path)
    if place.is_dir():
        if not (place / "model.json").exists():
            read(place)  # raises an error if it is no run folder
        place = place / "model.json"
    return saving.load(place)
