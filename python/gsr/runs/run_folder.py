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

A folder changes in one step at the end of a run. All files are written into a draft, a folder in
it, which is then renamed to ``.gsr-results``: from then on they are the results, whoever moves them
to their places. A process that is killed before leaves the older run, one that is killed later
leaves the rest of the moves to the next that opens the folder.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsr import files
from gsr.exceptions import GSRError
from gsr.runs.outcome import FORMAT, VERSION, Outcome

if TYPE_CHECKING:
    from gsr.runs.config import Config

PathLike = str | os.PathLike[str]

CONFIG, OTHER_CONFIG = "config.toml", "config.run.toml"
#: The last one tells that there is a result.
LAST = "result.json"
FILES = ("equations.csv", "model.json", CONFIG, "history.csv", "sample.csv", LAST)
#: The first words of a configuration that a run has written.
MARK = "# repeats the run: "
#: Written while islands search.
STATUS, FOLDERS = "status.json", ("checkpoints", "metrics")
#: Folders in which results are written first, and from which they are moved to the run folder.
DRAFTS, RESULTS = ".gsr-draft.", ".gsr-results"
_DRAFT = re.compile(rf"{re.escape(DRAFTS)}[0-9a-f]{{12}}")
#: Bytes that must fit into the folder before a search starts.
ROOM = 1 << 18

# ---- which files there are -----------------------------------------------------------------------


def config_path(folder: PathLike, given: PathLike | None = None) -> Path:
    """Return where a run that was started with the configuration `given` writes its own.

    That file, and any ``config.toml`` that no run has written, are not replaced: the run then
    writes ``config.run.toml``.
    """
    path = Path(folder) / CONFIG
    is_input = given is not None and files.is_same(path, given)
    is_free = not os.path.lexists(path) or _is_ours(path)
    return path if is_free and not is_input else Path(folder) / OTHER_CONFIG


def saved_config(folder: PathLike) -> Path:
    """Return the configuration that the last run in a folder has written."""
    other = Path(folder) / OTHER_CONFIG
    return other if _is_ours(other) else Path(folder) / CONFIG


def _is_ours(path: Path) -> bool:
    """Whether a configuration was written by a run."""
    if not path.is_file():  # reading a pipe would block
        return False
    try:
        with path.open("rb") as stream:
            return stream.read(len(MARK)) == MARK.encode()
    except OSError:
        return False


def own_files(path: PathLike) -> Iterator[Path]:
    """Return the files that belong to a model: the model file, or those of a run folder."""
    place = Path(path)
    if not place.is_dir():
        yield place
        return
    yield from (place / name for name in (*FILES, OTHER_CONFIG, STATUS))
    for name in FOLDERS:
        yield from (place / name).rglob("*")


def is_own_file(path: PathLike, folder: PathLike) -> bool:
    """Whether a run in the folder writes to a path, which may not exist."""
    place, real = Path(os.path.realpath(folder)), Path(os.path.realpath(path))
    names = (*FILES, OTHER_CONFIG, STATUS)
    return real in [place / name for name in names] or any(
        place / name in real.parents for name in FOLDERS
    )


# ---- before a search -----------------------------------------------------------------------------


def check_replaced(folder: PathLike, config: Config | None, overwrite: bool) -> None:
    """Raise if a run would replace a file that it must not; called before the search.

    The table and the file of its configuration are never replaced, other files only if that is
    allowed by `overwrite`.
    """
    path = Path(folder)
    own_config = config_path(path, None if config is None else config.file)
    written = [own_config if name == CONFIG else path / name for name in FILES]
    inputs = [] if config is None else config.inputs()
    for each in (*written, path / OTHER_CONFIG, path / STATUS):
        if any(files.is_same(each, other) for other in inputs):
            raise GSRError(
                f"{each} is read by this command and would be replaced by the run's {each.name}; "
                f"choose another run folder"
            )
    if overwrite:
        return
    if has_result(path):
        raise GSRError(f"{path} holds the result of a run; choose another, or use --overwrite")
    if (path / STATUS).exists() and _is_ours(saved_config(path)):
        return  # an island run that was killed before it had a result can be resumed
    for each in filter(os.path.lexists, written):
        if each != own_config or not _is_ours(each):
            raise GSRError(
                f"{path} has a file {each.name}, which the run would replace; choose another "
                f"folder, or use --overwrite"
            )


def check(folder: PathLike) -> None:
    """Raise if a folder can be neither written to nor made; nothing is left behind."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise GSRError(f"the run folder {path} is a file")
    nearest = next(each for each in (path, *path.absolute().parents) if each.exists())
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".probe.", dir=nearest))
    except OSError as error:
        raise files.failed(path, error) from error


def prepare(folder: PathLike, overwrite: bool = False, config: Config | None = None) -> Path:
    """Make a folder ready for the result of a run, before the search.

    Raises `GSRError` if a file must not be replaced, and `WritingError` if none can be written.
    """
    path = Path(folder)
    files.check_utf8("the run folder", str(path.absolute()))
    if config is not None:
        files.check_utf8("the path of the table", config.data_path())
    check(path)
    check_replaced(path, config, overwrite)
    probe = _new_draft(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with probe.open("xb") as stream:
            stream.write(bytes(ROOM))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise files.failed(path, error) from error
    finally:
        with suppress(OSError):
            probe.unlink()
    return path


# ---- writing -------------------------------------------------------------------------------------


def write(folder: PathLike, outcome: Outcome) -> Path:
    """Write a run into a folder that exists (see `prepare`), and return the folder.

    After a `WritingError` the folder still has what it had before.
    """
    path = Path(folder)
    drafts = _new_draft(path)
    try:
        settle(path)
        drafts.mkdir()
        _write_files(drafts, path, outcome)
        drafts.rename(path / RESULTS)
        files.sync_folder(path)
        settle(path)
    except files.WritingError:
        raise
    except OSError as error:
        raise files.failed(path, error) from error
    finally:
        shutil.rmtree(drafts, ignore_errors=True)
    return path


def _new_draft(folder: Path) -> Path:
    return folder / f"{DRAFTS}{secrets.token_hex(6)}"


def settle(folder: PathLike) -> None:
    """Move complete results to the run folder; several processes may do so at the same time."""
    path = Path(folder)
    waiting = path / RESULTS
    if waiting.is_symlink() or not (waiting / LAST).is_file():
        return
    if not (waiting / OTHER_CONFIG).exists() and _is_ours(path / OTHER_CONFIG):
        (path / OTHER_CONFIG).unlink(missing_ok=True)  # that of an earlier run
    for name in (*FILES[:-1], OTHER_CONFIG, LAST):
        with suppress(FileNotFoundError):
            os.replace(waiting / name, path / name)
    with suppress(OSError):
        waiting.rmdir()


def _write_files(drafts: Path, folder: Path, outcome: Outcome) -> None:
    from gsr import saving

    saving.save(outcome.model, drafts / "model.json")
    result = json.dumps(outcome.result(), indent=1, ensure_ascii=False, allow_nan=False)
    texts = {
        "equations.csv": outcome.equations_csv(),
        config_path(folder, outcome.config.file).name: config_text(
            folder, outcome.config, outcome.command
        ),
        "history.csv": outcome.history_csv(),
        "sample.csv": outcome.sample_csv(),
        "result.json": result + "\n",
    }
    for name, text in texts.items():
        files.write(drafts / name, text)


def config_text(folder: Path, config: Config, command: str) -> str:
    """Return the configuration that repeats a run, with the table's path relative to its folder.

    It leaves out the run folder, and whether to overwrite or resume.
    """
    data = config.data_path()
    path = data if data == "-" else os.path.relpath(data, folder)
    left_out = (("run", "output"), ("run", "overwrite"), ("checkpoint", "resume"))
    changed = config.changed({("data", "path"): path}).without(*left_out)
    own = shlex.quote(f"{folder.name}/{config_path(folder, config.file).name}")
    head = files.printable(f"{MARK}{command} {own}").replace("\n", " ") + "\n"
    head += "# Written by gsr; the next run in this folder replaces it.\n"
    return head + changed.to_toml()


def remove_drafts(folder: PathLike) -> None:
    """Remove what killed runs left half-written; no other run may be writing to the folder."""
    for path in Path(folder).glob(f"{DRAFTS}*"):
        if _DRAFT.fullmatch(path.name) and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif _DRAFT.fullmatch(path.name):
            path.unlink(missing_ok=True)
    for name in (*FILES, OTHER_CONFIG, STATUS):
        files.remove_leftovers(folder, name)


def rescue(outcome: Outcome) -> Path:
    """Write a run that could not be written elsewhere into a new temporary folder."""
    try:
        return write(tempfile.mkdtemp(prefix="gsr-run-"), outcome)
    except files.WritingError:
        raise
    except OSError as error:
        raise files.failed(tempfile.gettempdir(), error) from error


# ---- reading -------------------------------------------------------------------------------------


def has_result(folder: PathLike) -> bool:
    """Whether a folder has a result; a complete one that was not moved yet is moved first."""
    try:
        settle(folder)
    except OSError as error:
        waiting = f"the results of the last run are in {Path(folder) / RESULTS}"
        raise GSRError(f"{waiting} and cannot be moved to the run folder: {error}") from error
    return os.path.lexists(Path(folder) / LAST)


def read(folder: PathLike) -> dict[str, Any]:
    """Return what ``result.json`` of a run folder holds."""
    path = Path(folder)
    if not has_result(path):
        reason = "there is no result.json in it" if path.is_dir() else "there is no such folder"
        raise GSRError(f"{path} is not a run folder: {reason}")
    try:
        found = json.loads(files.read_whole(path / "result.json"))
    except (ValueError, RecursionError) as error:
        raise GSRError(f"{path}/result.json is damaged: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise GSRError(f'{path}/result.json is damaged: it does not say "format": "{FORMAT}"')
    version = found.get("format_version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise GSRError(f"{path} has format version {version}; this gsr reads up to {VERSION}")
    return found


def load_model(path: PathLike) -> Any:
    """Return the model of a model file or of a run folder."""
    from gsr import saving

    place = Path(path)
    if place.is_dir():
        if not (has_result(place) and (place / "model.json").exists()):
            read(place)  # raises an error if it is not a run folder
        place = place / "model.json"
    model = saving.load(place)
    if not (hasattr(model, "front_") or hasattr(model, "models_")):
        raise GSRError(f"{place} has no law of a GSRRegressor; use gsr.load in Python")
    return model


def last_changed(paths: Iterable[Path]) -> float | None:
    """Return when the newest of some files was written, in seconds since 1970; None without files.

    Files may appear and disappear at the same time.
    """
    times = []
    for path in paths:
        with suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times, default=None)
