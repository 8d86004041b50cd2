"""The command line: `gsr demo`, `gsr bench`, `gsr info`.

What a command needs is imported when it runs, so that `gsr --help` answers at once.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import gsr
from gsr.exceptions import GSRError

if TYPE_CHECKING:
    from rich.console import Console

Parsers = Any  # what argparse returns for sub-commands has no public type
OK, FAILED, INTERRUPTED = 0, 2, 130

EXAMPLES = """\
examples:
  gsr demo                              find Kepler's third law, in seconds
  gsr bench nguyen --runs 5             a suite of the paper, beside its printed figures
  gsr bench Nguyen-9 Jin-3 --jobs 4     single problems, in four processes
  gsr bench --list                      what there is to run
  gsr bench --micro                     speed of the inner steps against NumPy and pyoperon
  gsr info                              which build of the core this machine runs

in Python:
  from gsr import GSRRegressor
  print(GSRRegressor().fit(X, y).equation_)
"""

BENCH = """\
Fit the paper's problems several times with the seeds 0, 1, ... and set what is recovered beside the
figures that the paper prints. Recovered means proved equal to the truth; approximations are counted
apart. Ctrl-C shows what is finished."""

BENCH_EXAMPLES = """\
examples:
  gsr bench all --runs 5 --jobs 8 --json runs.json
  gsr bench livermore --preset default --max-time 30
  gsr bench jin --s-gsr
  gsr bench symset --list
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
    _add_bench(commands)
    info = commands.add_parser("info", help="tell which build of the core is in use")
    info.set_defaults(command=_info)
    return parser


def _add_demo(commands: Parsers) -> None:
    about = "find a law in data that come with the package"
    demo = commands.add_parser("demo", help=about, description=f"{about.capitalize()}.")
    demo.add_argument("--seed", type=_at_least(int, 0), default=0, metavar="N", help="default: 0")
    demo.add_argument(
        "--max-time", type=_at_least(float, 0), default=3.0, metavar="S", help="seconds; default: 3"
    )
    demo.set_defaults(command=_demo)


def _add_bench(commands: Parsers) -> None:
    bench = commands.add_parser(
        "bench",
        help="run the paper's benchmarks, or measure speed",
        description=BENCH,
        epilog=BENCH_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = bench.add_argument
    add("names", nargs="*", metavar="SUITE", help="suites or problems, or all")
    add("--preset", choices=("paper", "default"), default="paper", help="default: paper")
    add("--runs", type=_at_least(int, 1), default=25, metavar="N", help="per problem; default: 25")
    add("--max-time", type=_at_least(float, 0), default=10.0, metavar="S",
        help="seconds for one run; default: 10")  # fmt: skip
    add("--jobs", type=_at_least(int, 1), default=1, metavar="N", help="processes; default: 1")
    add("--json", type=_file, metavar="FILE", help="write all runs, or all timings, there")
    add("--s-gsr", action="store_true", help="look for y = f(x) only, the paper's s-GSR")
    add("--list", action="store_true", help="list the problems and run nothing")
    add("--micro", action="store_true", help="measure the speed of the inner steps instead")
    bench.set_defaults(command=_bench, error=bench.error)


def _at_least(kind: type[int] | type[float], low: int) -> Callable[[str], float]:
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


def _file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: no such folder, or a folder")
    return path


# ---- commands ------------------------------------------------------------------------------------


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _demo(arguments: argparse.Namespace) -> int:
    from gsr import demo

    demo.run(_console(), arguments.seed, arguments.max_time)
    return OK


def _info(arguments: argparse.Namespace) -> int:
    from gsr.info import core_info

    for key, value in core_info().items():
        print(f"{key:<12} {value}")
    return OK


def _bench(arguments: argparse.Namespace) -> int:
    if arguments.micro:
        return _micro(arguments)
    if arguments.list:
        from gsr.suites.report import list_problems

        _console().print(list_problems(_problems(arguments.names or ["all"])))
        return OK
    if not arguments.names:
        arguments.error("name suites or problems, or all; --list shows them")
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    from gsr import bench

    problems = _problems(arguments.names)
    rows = bench.run(
        problems,
        preset=arguments.preset,
        runs=arguments.runs,
        max_time=arguments.max_time,
        jobs=arguments.jobs,
        json_path=arguments.json,
        estimator_options={"transform_target": False} if arguments.s_gsr else None,
    )
    if rows:
        _console().print(bench.tables(rows))
    return OK if len(rows) == len(problems) * arguments.runs else INTERRUPTED


def _problems(names: Sequence[str]) -> list[Any]:
    from gsr.suites import select

    try:
        return list(select(names))
    except ValueError as error:
        raise GSRError(str(error)) from error


def _micro(arguments: argparse.Namespace) -> int:
    from gsr import micro

    if arguments.names:
        arguments.error("--micro takes no names")
    print("measuring for about ten seconds ...", file=sys.stderr)
    rows = micro.run()
    _console().print(micro.tables(rows))
    if arguments.json is not None:
        micro.write_json(rows, arguments.json)
    return OK


if __name__ == "__main__":
    sys.exit(main())
