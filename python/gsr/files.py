"""Files: read from anywhere, written in one step or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
from pathlib import Path
from typing import IO, Any, cast

from gsr.exceptions import GSRError
from gsr.whole_files import write_whole

GZIP = b"\x1f\x8b"
#: Bytes by which the kind of a file is told.
START = 64


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
        return cast(IO[bytes], _Unpacked(stream)) if packed else stream

    def start(self) -> bytes:
        """Return the first bytes, unpacked."""
        with self.binary() as stream:
            return stream.read(START)

    def text(self) -> io.TextIOWrapper:
        """Open as UTF-8, with or without a byte order mark; line ends are kept."""
        return io.TextIOWrapper(self.binary(), encoding="utf-8-sig", newline="")


class _Unpacked(gzip.GzipFile):
    """A gzip file that closes what it reads from."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(fileobj=stream, mode="rb")
        self._stream = stream

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
