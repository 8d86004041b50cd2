"""The files of a run folder: their names, and which of them a new run may replace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gsr import files
from gsr.exceptions import GSRError

CONFIG, OTHER_CONFIG = "config.toml", "config.run.toml"
#: The last one tells that there is a result.
FILES = ("equations.csv", "model.json", CONFIG, "history.csv", "sample.csv", "result.json")
#: The first words of a configuration that a run has written.
MARK = "# repeats the run: "
#: Written while islands search.
STATUS, FOLDERS = "status.json", ("checkpoints", "metrics")

PathLike = str | os.PathLike[str]


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


def remove_other_config(folder: PathLike) -> None:
    """Remove the ``config.run.toml`` of an earlier run, which a newer configuration replaces."""
    other = Path(folder) / OTHER_CONFIG
    if _is_ours(other):
        other.unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Tell whether a configuration was written by a run."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(MARK)) == MARK.encode()
    except OSError:
        return False


def check_replaced(
    folder: PathLike,
    data: PathLike | None = None,
    config: PathLike | None = None,
    overwrite: bool = False,
) -> None:
    """Raise an error if a run would replace a file that it must not; called before the search.

    Parameters
    ----------
    folder : str or path
        The run folder.
    data, config : str or path, optional
        The table and the configuration of the run, which are never replaced.
    overwrite : bool
        Whether other files may be replaced.

    Raises
    ------
    GSRError
        Names the folder and the file.
    """
    path = Path(folder)
    own_config = config_path(path, config)
    written = [own_config if name == CONFIG else path / name for name in FILES]
    inputs = [each for each in (data, config) if each is not None]
    for each in (*written, path / OTHER_CONFIG, path / STATUS):
        if any(files.is_same(each, other) for other in inputs):
            raise GSRError(
                f"{each} is read by this command and would be replaced by the run's {each.name}; "
                f"choose another run folder"
            )
    if overwrite:
        return
    if (path / "result.json").exists():
        raise GSRError(f"{path} holds the result of a run; choose another, or use --overwrite")
    if (path / STATUS).exists() and _is_ours(saved_config(path)):
        return  # an island run that was killed before it had a result can be resumed
    for each in filter(os.path.lexists, written):
        if each != own_config or not _is_ours(each):
            raise GSRError(
                f"{path} has a file {each.name}, which the run would replace; choose another "
                f"folder, or use --overwrite"
            )


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
    """Tell whether a run in the folder writes to a path, which may not exist."""
    place, real = Path(os.path.realpath(folder)), Path(os.path.realpath(path))
    names = (*FILES, OTHER_CONFIG, STATUS)
    return real in [place / name for name in names] or any(
        place / name in real.parents for name in FOLDERS
    )
