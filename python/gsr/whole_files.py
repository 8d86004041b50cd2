"""Files that are written whole or not at all, and read with care."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from contextlib import suppress
from os import PathLike
from pathlib import Path

from gsr.exceptions import GSRError

#: Longer than any model; what is longer is something else.
MOST_BYTES = 2**30
_LEFTOVER = re.compile(r"\.[0-9a-f]{12}\.tmp$")


def write_whole(text: str, path: str | PathLike[str], *, durable: bool = True) -> None:
    """Write a text file in one step: what was there stays until the new one is complete.

    Parameters
    ----------
    text : str
        The content; UTF-8 in the file.
    path : str or path
        The file. Its folder must exist.
    durable : bool
        Whether it is to outlast a failure of the machine too, for which the disk is waited for.

    Raises
    ------
    OSError
        Names the file; an older one of that name is as it was.
    """
    write_whole_bytes(text.encode("utf-8"), path, durable=durable)


def write_whole_bytes(content: bytes, path: str | PathLike[str], *, durable: bool = True) -> None:
    """Write a file of bytes in one step; see `write_whole`."""
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            # A pipe or a device cannot be replaced by a file.
            with open(target, "wb") as stream:
                stream.write(content)
        else:
            _replace(content, target, durable)
    except OSError as error:
        reason = error.strerror or str(error)
        raise type(error)(error.errno, f"cannot write: {reason}", os.fspath(path)) from error


def _replace(content: bytes, target: Path, durable: bool) -> None:
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        with open(beside, "xb") as stream:
            stream.write(content)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
        if durable:
            _sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _sync_folder(folder: Path) -> None:
    """Wait until the disk knows the names in a folder, on systems that can be asked to."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def remove_leftovers(folder: str | PathLike[str], name: str = "*") -> None:
    """Remove what killed processes left half-written in a folder, of all files or of one name."""
    with suppress(OSError):
        for path in Path(folder).glob(f".{name}.*.tmp"):
            if _LEFTOVER.search(path.name):
                path.unlink(missing_ok=True)


def read_whole(path: str | PathLike[str]) -> bytes:
    """Return a file's content; `GSRError` if it cannot be read or is no plain file of some size."""
    name = os.fspath(path)
    try:
        found = os.stat(path)
        # A pipe would be waited for.
        if not stat.S_ISREG(found.st_mode):
            raise GSRError(f"cannot read {name}: it is no file")
        if found.st_size > MOST_BYTES:
            raise GSRError(f"{name} is no gsr model: it has {found.st_size} bytes")
        with open(path, "rb") as stream:
            return stream.read(MOST_BYTES)
    except OSError as error:
        raise GSRError(f"cannot read {name}: {error.strerror or error}") from error
    except ValueError as error:
        if isinstance(error, GSRError):
            raise
        raise GSRError(f"cannot read {name!r}: {error}") from error
