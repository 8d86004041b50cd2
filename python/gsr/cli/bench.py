"""The command `gsr bench`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gsr.cli import terminal
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
  gsr bench motions --noise 0.02 --against pysindy
  gsr bench nist --data folder --json new.json
  gsr bench --compare old.json new.json
"""

#: Runs of a problem of known law, and seconds of a fit, unless told.
RUNS, SECONDS = 25, 10.0
#: Suites whose data are files that are not part of the project, and others of no known law.
ON_FILES, SERIES = ("nist", "empirical", "blackbox"), ("trajectories", "motions")
OTHERS = ("curves", "nolaw", *SERIES)


def add(commands: terminal.Parsers) -> None:
    """Add the command to the parser."""
    bench = terminal.add_command(commands, "bench", _bench, EXAMPLES, ABOUT)

    def option(name: str, told: str, **how: Any) -> None:
        bench.add_argument(name, help=told, **how)

    number, amount = terminal.at_least(int, 1), terminal.at_least(float, 0)
    told = (
        "suites or problems; paper is the five suites of the paper, all is every suite of known "
        "laws. On their own: curves (standard curves from few rows with errors; names of curves "
        "may follow), nolaw (noise), trajectories (systems of ODEBench from their series, without "
        "derivatives) and motions (well-known systems; both accept names of systems), and with "
        "--data nist, empirical, blackbox"
    )
    option("names", told, nargs="*", metavar="SUITE")
    told = "preset of the estimator; paper gets the library of each problem; default: default"
    option("--preset", told, choices=("default", "paper"), default="default")
    told = "runs per problem; default: 25, or 1 for curves, nolaw and files"
    option("--runs", told, type=number, metavar="N")
    option("--max-time", "seconds for one run; default: 10", type=amount, metavar="S")
    told = "evaluations of one run, instead of the default time; independent of the machine"
    option("--max-evals", told, type=number, metavar="N")
    told = "seconds of processor time of one run, for machines with other work to do"
    option("--cpu-time", told, type=amount, metavar="S")
    option("--jobs", "processes; default: 1", type=number, default=1, metavar="N")
    told = "write all runs, or all timings, to this file"
    option("--json", told, type=terminal.writable_file, metavar="FILE")
    option("--s-gsr", "search for y = f(x) only, the paper's s-GSR", action="store_true")
    told = (
        "Gaussian noise in y, in fractions of its root mean square; for trajectories, in fractions "
        "of the standard deviation of each state, with half of the rows removed; motions keeps all "
        "rows"
    )
    option("--noise", told, type=_levels, default=(0.0,), metavar="F,...")
    told = (
        "for curves: none, constant (2 %% of the standard deviation of y), relative (5 %% of "
        "|y|), sigma (known for each row); default: all"
    )
    option("--errors", told, type=_error_kinds, metavar="KIND,...")
    told = "with trajectories and motions: also run another program, with its defaults"
    option("--against", told, choices=("pysindy",))
    told = "folder of the files of nist (.dat), empirical (.csv) or blackbox (.tsv.gz)"
    option("--data", told, type=Path, metavar="DIR")
    told = "report what is better and worse in the second of two files written by --json"
    option("--compare", told, type=Path, nargs=2, metavar=("OLD", "NEW"))
    terminal.add_overwrite(bench)
    option("--list", "list the problems and run nothing", action="store_true")
    bench.set_defaults(error=bench.error)


def _levels(text: str) -> tuple[float, ...]:
    convert = terminal.at_least(float, 0)
    return tuple(dict.fromkeys(convert(part) for part in text.split(",")))


def _error_kinds(text: str) -> tuple[str, ...]:
    from gsr.benchmarks.suites.curves import ERRORS

    kinds = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    unknown = [kind for kind in kinds if kind not in ERRORS]
    if unknown:
        raise argparse.ArgumentTypeError(f"must be among {', '.join(ERRORS)}, got {unknown[0]!r}")
    return kinds


def _bench(arguments: argparse.Namespace) -> int:
    from gsr import files

    files.check_output(arguments.json, overwrite=arguments.overwrite)
    if arguments.compare is not None:
        return _compare(arguments)
    suite, *names = arguments.names or [None]
    if suite in (*ON_FILES, *OTHERS):
        return _run_measured(arguments, suite, names)
    if arguments.list:
        return _list(arguments)
    if suite is None:
        arguments.error("name suites or problems, or all; --list shows them")
    return _run(arguments)


def _compare(arguments: argparse.Namespace) -> int:
    from gsr.benchmarks import runner

    old, new = (runner.read_json(path) for path in arguments.compare)
    terminal.console().print(runner.comparison(old, new))
    return terminal.OK


def _selected(select: Callable[[Sequence[str]], Sequence[Any]], names: Sequence[str]) -> list[Any]:
    try:
        return list(select(names))
    except ValueError as error:
        raise GSRError(str(error)) from error


def _estimator_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the estimator's parameters; another limit replaces the default time."""
    seconds, max_evals, cpu_time = arguments.max_time, arguments.max_evals, arguments.cpu_time
    if seconds is None and max_evals is None and cpu_time is None:
        seconds = SECONDS
    given = {"preset": arguments.preset, "max_time": seconds, "max_evals": max_evals}
    given = given if cpu_time is None else {**given, "cpu_time": cpu_time}
    return {**given, "transform_target": False} if arguments.s_gsr else given


def _show_tables(outcomes: Sequence[Any], wanted: int, tables: Callable[[Any], Any]) -> int:
    if outcomes:
        terminal.console().print(tables(outcomes))
    return terminal.OK if len(outcomes) == wanted else terminal.INTERRUPTED


# ---- suites of known laws ------------------------------------------------------------------------


def _list(arguments: argparse.Namespace) -> int:
    from gsr.benchmarks.suite_runs import list_problems
    from gsr.benchmarks.suites import select

    terminal.console().print(list_problems(_selected(select, arguments.names or ["all"])))
    return terminal.OK


def _run(arguments: argparse.Namespace) -> int:
    from gsr.benchmarks import suite_runs
    from gsr.benchmarks.suites import select

    problems, runs = _selected(select, arguments.names), arguments.runs or RUNS
    options = _estimator_options(arguments)
    rows = suite_runs.run(
        problems,
        preset=options.pop("preset"),
        runs=runs,
        max_time=options.pop("max_time"),
        noise=arguments.noise,
        jobs=arguments.jobs,
        json_path=arguments.json,
        estimator_options={k: v for k, v in options.items() if v is not None} or None,
    )
    return _show_tables(rows, len(problems) * runs * len(arguments.noise), suite_runs.tables)


# ---- suites of measured data, or data like it ----------------------------------------------------


def _run_measured(arguments: argparse.Namespace, suite: str, names: list[str]) -> int:
    from gsr.benchmarks import measured

    if arguments.list:
        if suite != "curves":
            arguments.error("--list goes with curves and with suites of known laws")
        return _list_curves(names)
    if arguments.against and suite not in SERIES:
        arguments.error(f"{suite} does not take --against")
    if arguments.noise != (0.0,) and suite not in SERIES:
        arguments.error(f"{suite} does not take --noise")
    if names and suite not in ("curves", *SERIES):
        arguments.error(f"{suite} stands alone")
    how = {
        "options": _estimator_options(arguments),
        "runs": arguments.runs or 1,
        "jobs": arguments.jobs,
        "json_path": arguments.json,
    }
    if suite == "curves":
        return _run_curves(arguments, names, how)
    if suite in ON_FILES:
        return _run_files(arguments, suite, how)
    if suite in SERIES:
        return _run_series(arguments, suite, names, how)
    return _show_tables(
        measured.run_noise(**how), measured.N_TABLES * how["runs"], measured.noise_tables
    )


def _list_curves(names: list[str]) -> int:
    from gsr.benchmarks import measured
    from gsr.benchmarks.suites.curves import select_curves

    terminal.console().print(measured.list_curves(_selected(select_curves, names)))
    return terminal.OK


def _run_curves(arguments: argparse.Namespace, names: list[str], how: dict[str, Any]) -> int:
    from gsr.benchmarks import measured
    from gsr.benchmarks.suites.curves import ERRORS, select_curves

    curves, kinds = _selected(select_curves, names), arguments.errors or ERRORS
    outcomes = measured.run_curves(curves, errors=kinds, **how)
    return _show_tables(outcomes, len(curves) * len(kinds) * how["runs"], measured.curve_tables)


def _run_files(arguments: argparse.Namespace, suite: str, how: dict[str, Any]) -> int:
    from gsr.benchmarks import data_files

    if arguments.data is None:
        arguments.error(f"{suite} needs --data, the folder of its files")
    outcomes = data_files.run(suite, arguments.data, **how)
    return _show_tables(outcomes, len(outcomes), data_files.SUITES[suite].table)


def _run_series(
    arguments: argparse.Namespace, suite: str, names: list[str], how: dict[str, Any]
) -> int:
    from gsr.benchmarks import trajectory_runs

    if arguments.max_time is None and how["options"]["max_time"] is not None:
        how["options"]["max_time"] = trajectory_runs.SECONDS
    rows = _selected(lambda names: trajectory_runs.select(suite, names), names)
    how |= {"suite": suite, "against": [arguments.against] if arguments.against else []}
    outcomes = trajectory_runs.run(rows, noises=arguments.noise, **how)
    return _show_tables(outcomes, len(outcomes), trajectory_runs.tables)
