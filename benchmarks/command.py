"""What the commands share: arguments with ``--json``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gsr import files
from gsr.cli.terminal import console
from gsr.exceptions import GSRError

__all__ = ["console", "parse_arguments", "parser_of"]


def parser_of(name: str, about: str | None) -> argparse.ArgumentParser:
    """Return the parser of ``python -m benchmarks.NAME``, which writes figures to a file."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    return parser


def parse_arguments(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> Any:
    """Return the arguments; an existing file of ``--json`` is an error without ``--overwrite``."""
    arguments = parser.parse_args(argv)
    try:
        files.check_output(arguments.json, overwrite=arguments.overwrite)
    except GSRError as error:
        parser.error(str(error))
    return arguments
