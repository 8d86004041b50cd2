"""What the commands of the command line share: arguments, exit codes, the console."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

Parsers = Any  # what argparse returns for sub-commands has no public type
OK, FAILED, INTERRUPTED = 0, 2, 130


def at_least(kind: type[int] | type[float], low: int) -> Callable[[str], float]:
    """Return a reader of numbers that are at least `low`, and finite."""
    what = "a whole number" if kind is int else "a number"

    def convert(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = kind(-1)
        if not low <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"must be {what} of at least {low}, got {text!r}")
        return value

    return convert


def writable_file(text: str) -> Path:
    """Read the path of a file that can be made."""
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: no such folder, or a folder")
    return path


def console() -> Console:
    """Return the console that tables are printed on."""
    from rich.console import Console

    return Console(highlight=False)
