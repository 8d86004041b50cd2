"""What the commands of the command line share: arguments, exit codes, output."""

from __future__ import annotations

import argparse
import contextlib
import csv
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

Parsers = Any  # what argparse returns for sub-commands has no public type
OK, NO_LAW, FAILED, NOT_WRITTEN, INTERRUPTED = 0, 1, 2, 3, 130


def at_least(kind: type[int] | type[float], low: int) -> Callable[[str], float]:
    """Return a reader of numbers that are at least `low`, and finite."""
    what = "a whole number" if kind is int else "a number"
    return _reader(kind, lambda value: low <= value < math.inf, f"{what} of at least {low}")


def between(low: float, high: float) -> Callable[[str], float]:
    """Return a reader of numbers between two others."""
    what = f"a number between {low:g} and {high:g}"
    return _reader(float, lambda value: low < value < high, what)


def _reader(
    kind: type[int] | type[float], accepts: Callable[[float], bool], what: str
) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not accepts(value):
            raise argparse.ArgumentTypeError(f"must be {what}, got {text!r}")
        return value

    return read


def writable_file(text: str) -> Path:
    """Read the path of a file that can be made."""
    path = Path(text)
    folder = path.absolute().parent
    if path.is_dir() or not folder.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: no such folder, or a folder")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: no permission")
    return path


def add_overwrite(parser: Any, told: str = "replace a file that exists") -> None:
    """Add the option without which no command replaces a file."""
    parser.add_argument("--overwrite", action="store_true", help=told)


def listed(text: str) -> list[str]:
    """Read names separated by commas; one with a comma in it stands in double quotes."""
    rows = list(csv.reader([text], skipinitialspace=True))
    names = [name.strip() for name in (rows[0] if rows else [])]
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"must be names separated by commas, got {text!r}")
    return names


def paired(text: str) -> dict[str, str]:
    """Read pairs such as ``x1=m,y=s``."""
    pairs = [name.rpartition("=")[::2] for name in listed(text)]
    if not all(name and value for name, value in pairs):
        raise argparse.ArgumentTypeError(f"must be pairs such as x1=m,y=s, got {text!r}")
    return {name.strip(): value.strip() for name, value in pairs}


def console() -> Console:
    """Return the console that tables are printed on."""
    from rich.console import Console

    return Console(highlight=False)


def counted(number: int, what: str) -> str:
    """Return a number with what is counted: one island, two islands."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def complain(message: str) -> None:
    """Tell something on standard error; a closed one is no reason to stop."""
    with contextlib.suppress(OSError, ValueError):
        print(f"gsr: {message}", file=sys.stderr)


def show(text: str) -> None:
    """Print a result.

    Raises
    ------
    WritingError
        If standard output cannot take it; a pipe that nobody reads is no error.
    """
    from gsr.files import WritingError

    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        silence()
        raise WritingError(f"cannot write to standard output: {error.strerror}") from error
    except UnicodeEncodeError:
        sys.stdout.buffer.write((text + "\n").encode("utf-8"))


def silence() -> None:
    """Let nothing more be written to standard output, not even at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Let a SIGTERM end a search as Ctrl-C does, with its result kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def uninterrupted() -> contextlib.AbstractContextManager[None]:
    """Put off a first Ctrl-C or SIGTERM while results are made or written."""
    from gsr import search

    return search.uninterrupted(complain, (signal.SIGINT, signal.SIGTERM))
