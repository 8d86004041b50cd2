"""The command line: `gsr demo`, `gsr bench`, `gsr info`.

What a command needs is imported when it runs, so that `gsr --help` answers at once.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

import gsr
from gsr import bench_cli
from gsr.exceptions import GSRError
from gsr.terminal import FAILED, INTERRUPTED, OK, Parsers, at_least, console

EXAMPLES = """\
examples:
  gsr demo                              find Kepler's third law, in seconds
  gsr bench nguyen --runs 5             a suite of the paper, beside its printed figures
  gsr bench Nguyen-9 Jin-3 --jobs 4     single problems, in four processes
  gsr bench --list                      what there is to run
  gsr bench nguyen --against pyoperon   beside another program, same data and time
  gsr bench --micro                     speed of the inner steps against NumPy and pyoperon
  gsr info                              which build of the core this machine runs

in Python:
  from gsr import GSRRegressor
  print(GSRRegressor().fit(X, y).equation_)
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process unless given.

    Returns
    -------
    int
        Exit code: 0, 2 after an error, 130 after Ctrl-C.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return OK
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            return int(arguments.command(arguments))
        except KeyboardInterrupt:
            return _complain("interrupted", INTERRUPTED)
        except (GSRError, OSError) as error:
            return _complain(str(error), FAILED)


def _complain(message: str, code: int) -> int:
    print(f"gsr: {message}", file=sys.stderr)
    return code


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"gsr: {message}", file=file or sys.stderr)


# ---- arguments -----------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gsr",
        description="Finds laws in data: generalized symbolic regression, g(y) = f(x).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gsr {gsr.__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="command")
    _add_demo(commands)
    bench_cli.add(commands)
    info = commands.add_parser("info", help="tell which build of the core is in use")
    info.set_defaults(command=_info)
    return parser


def _add_demo(commands: Parsers) -> None:
    about = "find a law in data that come with the package"
    demo = commands.add_parser("demo", help=about, description=f"{about.capitalize()}.")
    demo.add_argument("--seed", type=at_least(int, 0), default=0, metavar="N", help="default: 0")
    demo.add_argument(
        "--max-time", type=at_least(float, 0), default=3.0, metavar="S", help="seconds; default: 3"
    )
    demo.set_defaults(command=_demo)


# ---- commands ------------------------------------------------------------------------------------


def _demo(arguments: argparse.Namespace) -> int:
    from gsr import demo

    demo.run(console(), arguments.seed, arguments.max_time)
    return OK


def _info(arguments: argparse.Namespace) -> int:
    from gsr.info import core_info

    for key, value in core_info().items():
        print(f"{key:<12} {value}")
    return OK


if __name__ == "__main__":
    sys.exit(main())
