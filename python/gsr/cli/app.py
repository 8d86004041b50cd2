"""The command `gsr app`."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from gsr.cli import terminal
from gsr.exceptions import GSRError

ABOUT = """\
Open a page in the browser: drop a table, choose the target, watch the laws as they are found,
compare them, predict, and download the report, the model or source code. Given a run folder, the
page shows that run, finished or still running, and changes nothing. The page is served only on this
machine, at an address with a token; Ctrl-C stops it."""
EXAMPLES = "examples:\n  gsr app\n  gsr app data.csv\n  gsr app runs/first --no-browser"


def add(commands: terminal.Parsers) -> None:
    """Add the command to the parser."""
    parser = terminal.add_command(commands, "app", _app, EXAMPLES, ABOUT)
    told = "a table to start with, or a run folder to show"
    parser.add_argument("source", nargs="?", type=Path, metavar="TABLE|RUN", help=told)
    port = terminal.at_least(int, 0)
    told = "port to listen on; default: a free one"
    parser.add_argument("--port", type=port, default=0, metavar="N", help=told)
    told = "print the address without opening a browser"
    parser.add_argument("--no-browser", action="store_true", help=told)


def _app(arguments: argparse.Namespace) -> int:
    from gsr.app.server import serve

    source = arguments.source
    if source is not None and not source.exists():
        raise GSRError(f"{source}: there is no such file or folder")
    with suppress(KeyboardInterrupt):  # the usual way to stop it
        serve(source, arguments.port, terminal.show, not arguments.no_browser)
    return terminal.OK
