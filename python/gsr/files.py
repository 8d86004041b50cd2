"""Files: read from anywhere, written in one step or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, cast

from gsr.exceptions import GSRError
from gsr.whole_files import write_whole

GZIP = b"\x1f\x8b"
#: Bytes by which the kind of a file is told.
START = 64
#: What unpacks to more than this many bytes, and to more times its size, is no table.
MOST_UNPACKED, MOST_TIMES = 1 << 27, 200


class WritingError(OSError):
    """A result could not be written; the message says which and why."""


class Source:
    """A file to read, more than once if need be; pipes and standard input are kept in memory.

    Parameters
    ----------
    path : str or path
        ``"-"`` is standard input.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.name = "standard input" if str(path) == "-" else str(path)
        self._content: bytes | None = None
        if str(path) == "-":
            self._content = sys.stdin.buffer.read()
        elif self.path.is_dir():
            raise GSRError(f"{self.name} is a folder, not a file")
        elif self.path.exists() and not self.path.is_file():
            self._content = self.path.read_bytes()

    def raw(self) -> IO[bytes]:
        """Open the bytes as they are stored."""
        if self._content is not None:
            return io.BytesIO(self._content)
        try:
            return self.path.open("rb")
        except (FileNotFoundError, ValueError) as error:
            raise GSRError(f"{self.name}: there is no such file") from error
        except PermissionError as error:
            raise GSRError(f"{self.name}: no permission to read it") from error

    def binary(self) -> IO[bytes]:
        """Open the bytes, unpacked if they are compressed."""
        stream = self.raw()
        packed = stream.read(len(GZIP)) == GZIP
        stream.seek(0)
        return cast(IO[bytes], _Unpacked(stream, self.name)) if packed else stream

    def seekable(self) -> IO[bytes]:
        """Open the unpacked bytes so that a reader can go to their end and back."""
        stream = self.binary()
        if not isinstance(stream, _Unpacked):
            return stream
        with stream:
            return io.BytesIO(b"".join(iter(lambda: stream.read(1 << 20), b"")))

    def start(self) -> bytes:
        """Return the first bytes, unpacked."""
        with self.binary() as stream:
            return stream.read(START)

    def text(self) -> io.TextIOWrapper:
        """Open as UTF-8, with or without a byte order mark; line ends are kept."""
        return io.TextIOWrapper(self.binary(), encoding="utf-8-sig", newline="")


def check_expansion(name: str, packed: int, unpacked: int) -> None:
    """Raise if something unpacks to far more bytes than a table would."""
    if unpacked > max(MOST_UNPACKED, MOST_TIMES * packed):
        raise GSRError(
            f"{name}: it unpacks to more than {MOST_TIMES} times its size, as no table does; if "
            f"it is one, unpack it first"
        )


class _Unpacked(gzip.GzipFile):
    """A gzip file that closes what it reads from, and does not unpack without end."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        super().__init__(fileobj=stream, mode="rb")
        self._stream, self._name = stream, name

    def read(self, size: int | None = -1) -> bytes:
        return self._checked(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._checked(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._checked(super().readline(-1 if size is None else size))

    def _checked(self, block: bytes) -> bytes:
        check_expansion(self._name, self._stream.tell(), self.tell())
        return block

    def close(self) -> None:
        super().close()
        self._stream.close()


def sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in one step: a reader sees the old one or the new one, whole.

    Raises
    ------
    WritingError
        Names the file and the reason; nothing is left behind.
    """
    try:
        write_whole(text, path)
    except OSError as error:
        raise failed(path, error) from error


def failed(path: str | os.PathLike[str], error: OSError) -> WritingError:
    """Return the error that tells that a file could not be written."""
    reason = str(error.strerror or error).removeprefix("cannot write: ")
    return WritingError(f"cannot write {os.fspath(path)}: {reason}")


def is_same(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one file, also by links; ``"-"`` as `other` is standard input."""
    try:
        found = os.fstat(sys.stdin.fileno()) if os.fspath(other) == "-" else os.stat(other)
        return os.path.samestat(os.stat(path), found)
    except (OSError, ValueError, AttributeError):  # no such file, or no standard input
        return False


def check_output(
    path: str | os.PathLike[str] | None,
    inputs: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> None:
    """Raise unless a command may write a file; called before its work starts.

    Parameters
    ----------
    path : str or path, optional
        The file to write. None, a pipe and a device lose nothing and are always allowed.
    inputs : iterable of str or path
        Files that the command reads; none of them is ever replaced.
    overwrite : bool
        Whether another file that exists may be replaced.

    Raises
    ------
    GSRError
        Names the file.
    """
    if path is None or not _holds_data(path):
        return
    if any(is_same(path, each) for each in inputs):
        name = os.fspath(path)
        raise GSRError(f"{name} is read by this command and is not replaced; choose another name")
    if not overwrite:
        raise GSRError(f"{os.fspath(path)} exists; choose another name, or use --overwrite")


def _holds_data(path: str | os.PathLike[str]) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))


def plain(value: Any) -> Any:
    """Return a value that JSON can hold; NaN and infinity become None, what it cannot, text."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if value is None or isinstance(value, bool | str):
        return value
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if isinstance(value, int) else str(value)
