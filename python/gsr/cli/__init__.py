"""The command line."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `gsr.cli.program.main`."""
    from gsr.cli import program

    return program.main(argv)
