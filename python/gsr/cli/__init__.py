"""The command line."""

from gsr.cli.program import main

__all__ = ["main"]
