"""Files: read from anywhere, and written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from gsr.exceptions import GSRError

PathLike = str | os.PathLike[str]

GZIP = b"\x1f\x8b"
#: Bytes by which the kind of a file is told.
START = 64
#: What unpacks to more than this many bytes, and to more times its size, is no table.
MOST_UNPACKED, MOST_TIMES = 1 << 27, 200
#: Longer than any model; what is longer is something else.
MOST_BYTES = 2**30
#: Control characters, those that change the direction of text, and what is no character.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LEFTOVER = re.compile(r"\.[0-9a-f]{12}\.tmp$")


class WritingError(OSError):
    """A result could not be written; the message says which and why."""


# ---- reading -------------------------------------------------------------------------------------


class Source:
    """A file to read, more than once if need be; ``"-"`` is standard input.

    Pipes and standard input are kept in memory.
    """

    def __init__(self, path: PathLike) -> None:
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


def read_whole(path: PathLike) -> bytes:
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
    except GSRError:
        raise
    except OSError as error:
        raise GSRError(f"cannot read {name}: {error.strerror or error}") from error
    except ValueError as error:
        raise GSRError(f"cannot read {name!r}: {error}") from error


def sha256(path: PathLike) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


# ---- writing -------------------------------------------------------------------------------------


def write(path: PathLike, text: str, *, follow: bool = True) -> None:
    """Write a result as `write_whole` does; `WritingError` names the file and the reason."""
    try:
        write_whole(text, path, follow=follow)
    except OSError as error:
        raise failed(path, error) from error


def failed(path: PathLike, error: OSError) -> WritingError:
    """Return the error that tells that a file could not be written."""
    reason = str(error.strerror or error).removeprefix("cannot write: ")
    return WritingError(f"cannot write {os.fspath(path)}: {reason}")


def write_whole(
    content: str | bytes, path: PathLike, *, durable: bool = True, follow: bool = True
) -> None:
    """Write a file in one step: what was there stays until the new one is complete.

    Text is UTF-8 in the file, whose folder must exist. A durable file outlasts a failure of the
    machine too, for which the disk is waited for. A link is replaced itself if it is not followed.
    An `OSError` names the file.
    """
    target = Path(os.path.realpath(path) if follow else path)
    content = content.encode("utf-8") if isinstance(content, str) else content
    try:
        if follow and target.exists() and not target.is_file():
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
        if target.is_file() and not target.is_symlink():
            shutil.copymode(target, beside)
        os.replace(beside, target)
        if durable:
            sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def open_own(path: PathLike, flags: int = 0) -> int:
    """Open a file of a run folder to read and write it; `OSError` for a link or what is no file.

    Somebody else may have prepared the folder, with links to files elsewhere.
    """
    safe = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | safe | flags, 0o666)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.EEXIST, "it is a link or no file; remove it", os.fspath(path))
    return descriptor


def make_own_folder(path: PathLike) -> None:
    """Make a folder in a run folder; `OSError` if it is a link."""
    os.makedirs(path, exist_ok=True)
    if os.path.islink(path):
        raise OSError(errno.EEXIST, "it is a link; remove it", os.fspath(path))


def sync_folder(folder: Path) -> None:
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


def remove_leftovers(folder: PathLike, name: str = "*") -> None:
    """Remove what killed processes left half-written in a folder, of all files or of one name."""
    with suppress(OSError):
        for path in Path(folder).glob(f".{name}.*.tmp"):
            if _LEFTOVER.search(path.name):
                path.unlink(missing_ok=True)


def is_same(path: PathLike, other: PathLike) -> bool:
    """Whether two paths lead to one file, also by links; ``"-"`` as `other` is standard input."""
    try:
        found = os.fstat(sys.stdin.fileno()) if os.fspath(other) == "-" else os.stat(other)
        return os.path.samestat(os.stat(path), found)
    except (OSError, ValueError, AttributeError):  # no such file, or no standard input
        return False


def check_output(
    path: PathLike | None, inputs: Iterable[PathLike] = (), overwrite: bool = False
) -> None:
    """Raise unless a command may write a file; called before its work starts.

    A file that the command reads (`inputs`) is never replaced, another one only if that is allowed.
    None, a pipe and a device lose nothing.
    """
    if path is None or not _holds_data(path):
        return
    name = os.fspath(path)
    if any(is_same(path, each) for each in inputs):
        raise GSRError(f"{name} is read by this command and is not replaced; choose another name")
    if not overwrite:
        raise GSRError(f"{name} exists; choose another name, or use --overwrite")


def _holds_data(path: PathLike) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))


def printable(text: str) -> str:
    """Return text that a terminal only shows: control and formatting characters are escaped.

    An escape is that of JSON, so that JSON means the same afterwards. Lines and tabs stay.
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def check_utf8(what: str, text: str) -> None:
    """Raise unless text can be written into a file; names from the system may be any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise GSRError(f"{what} {text!a} is not UTF-8; rename it") from error


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
