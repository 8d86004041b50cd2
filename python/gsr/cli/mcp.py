"""The command `gsr mcp`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gsr.cli import terminal
from gsr.exceptions import GSRError

ABOUT = """\
Serve three tools over the Model Context Protocol on standard input and output: fit a table, show
the front, predict. They read only the files and folders named here, and write nothing. This command
is started by the program that uses the tools; see docs/agents.md."""
EXAMPLES = "examples:\n  gsr mcp measurements/ runs/first"


def add(commands: terminal.Parsers) -> None:
    """Add the command to the parser."""
    parser = terminal.add_command(commands, "mcp", _mcp, EXAMPLES, ABOUT)
    told = "a table, a model file, a run folder, or a folder that contains them"
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=told)


def _mcp(arguments: argparse.Namespace) -> int:
    from gsr.mcp_tools import serve

    for path in arguments.paths:
        if not path.exists():
            raise GSRError(f"{path}: there is no such file or folder")
    serve(arguments.paths)
    return terminal.OK
