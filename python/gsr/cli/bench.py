"""The command `gsr bench`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gsr.cli import bench_measured
from gsr.cli.terminal import (
    INTERRUPTED,
    OK,
    Parsers,
    add_overwrite,
    at_least,
    console,
    writable_file,
)
from gsr.exceptions import GSRError

ABOUT = """\
Fit problems several times with the seeds 0, 1, ... and tell what is recovered, beside the figures
that the paper prints. Proved means proved equal to the truth by a computer algebra system; exact
and approximate are by the error on test rows. Ctrl-C shows what is finished."""

EXAMPLES = """\
examples:
  gsr bench paper --runs 5 --jobs 8 --json runs.json
  gsr bench livermore --preset paper --max-time 30
  gsr bench nguyen symset --noise 0.001,0.01,0.1
  gsr bench feynman --list
  gsr bench curves --errors constant,relative --max-time 4
  gsr bench curves hill arrhenius --runs 5
  gsr bench nist --data folder --json new.json
  gsr bench --compare old.json new.json
"""

#: Runs of a problem of known law, unless told.
RUNS = 25

HELP = {
    "names": "suites or problems; paper is the five suites of the paper, all is every suite of "
    "known laws. On their own: curves (standard curves from few rows with errors; names of curves "
    "may follow), nolaw (noise), and with --data nist, empirical, "
    "blackbox",
    "preset": "of the estimator; paper is told the library of each problem; default: default",
    "runs": "per problem; default: 25; of curves, nolaw and files 1",
    "max_time": "seconds for one run; default: 10",
    "max_evals": "evaluations of one run, instead of the default time: does not depend on the "
    "machine",
    "cpu_time": "likewise in seconds of processor time: for machines with other work to do",
    "jobs": "processes; default: 1",
    "json": "write all runs, or all timings, there",
    "s_gsr": "look for y = f(x) only, the paper's s-GSR",
    "noise": "Gaussian noise in y, in fractions of its root mean square",
    "errors": "of curves: none, constant (2 %% of the standard deviation of y), relative (5 %% of "
    "|y|), sigma (known for each row); default: all",
    "data": "folder of the files of nist (.dat), empirical (.csv) or blackbox (.tsv.gz)",
    "compare": "say what is better and worse in the second of two files of --json",
    "list": "list the problems and run nothing",
}


def add(commands: Parsers) -> None:
    """Add the command to the parser."""
    bench = commands.add_parser(
        "bench",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def option(name: str, **how: Any) -> None:
        bench.add_argument(f"--{name.replace('_', '-')}", help=HELP[name], **how)

    bench.add_argument("names", nargs="*", metavar="SUITE", help=HELP["names"])
    option("preset", choices=("default", "paper"), default="default")
    option("runs", type=at_least(int, 1), metavar="N")
    option("max_time", type=at_least(float, 0), metavar="S")
    option("max_evals", type=at_least(int, 1), metavar="N")
    option("cpu_time", type=at_least(float, 0), metavar="S")
    option("jobs", type=at_least(int, 1), default=1, metavar="N")
    option("json", type=writable_file, metavar="FILE")
    option("s_gsr", action="store_true")
    option("noise", type=_levels, default=(0.0,), metavar="F,...")
    option("errors", type=bench_measured.error_kinds, metavar="KIND,...")
    option("data", type=Path, metavar="DIR")
    option("compare", type=Path, nargs=2, metavar=("OLD", "NEW"))
    add_overwrite(bench)
    option("list", action="store_true")
    bench.set_defaults(command=_bench, error=bench.error)


def _levels(text: str) -> tuple[float, ...]:
    convert = at_least(float, 0)
    return tuple(dict.fromkeys(convert(part) for part in text.split(",")))


def _bench(arguments: argparse.Namespace) -> int:
    from gsr import files

    files.check_output(arguments.json, overwrite=arguments.overwrite)
    if arguments.compare is not None:
        return bench_measured.compare(arguments)
    if arguments.names and arguments.names[0] in bench_measured.NAMES:
        return bench_measured.run(arguments)
    arguments.runs = arguments.runs or RUNS
    if arguments.list:
        from gsr.benchmarks.suite_runs import list_problems

        console().print(list_problems(_problems(arguments.names or ["all"])))
        return OK
    if not arguments.names:
        arguments.error("name suites or problems, or all; --list shows them")
    return _run(arguments)


def _problems(names: Sequence[str]) -> list[Any]:
    from gsr.benchmarks.suites import select

    try:
        return list(select(names))
    except ValueError as error:
        raise GSRError(str(error)) from error


def _run(arguments: argparse.Namespace) -> int:
    from gsr.benchmarks import suite_runs

    problems = _problems(arguments.names)
    options = bench_measured.estimator_options(arguments)
    rows = suite_runs.run(
        problems,
        preset=options.pop("preset"),
        runs=arguments.runs,
        max_time=options.pop("max_time"),
        noise=arguments.noise,
        jobs=arguments.jobs,
        json_path=arguments.json,
        estimator_options={k: v for k, v in options.items() if v is not None} or None,
    )
    if rows:
        console().print(suite_runs.tables(rows))
    wanted = len(problems) * arguments.runs * len(arguments.noise)
    return OK if len(rows) == wanted else INTERRUPTED
