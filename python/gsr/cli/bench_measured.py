"""The suites of `gsr bench` that fit measured data, or data like it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from gsr.cli.terminal import INTERRUPTED, OK, console
from gsr.exceptions import GSRError

#: Seconds of a fit, unless told.
SECONDS = 10.0


def run(arguments: argparse.Namespace) -> int:
    """Run the suite that the first name stands for."""
    suite, *names = arguments.names
    if arguments.list:
        if suite != "curves":
            arguments.error("--list goes with curves and with suites of known laws")
        return _list(names)
    if arguments.noise != (0.0,):
        arguments.error(f"{suite} does not take --noise")
    if names and suite != "curves":
        arguments.error(f"{suite} stands alone")
    if suite in ON_FILES:
        return _on_files(arguments, suite)
    return SUITES[suite](arguments, names)


def compare(arguments: argparse.Namespace) -> int:
    """Print what changed between two JSON files."""
    from gsr.benchmarks import comparison

    old, new = (comparison.read(path) for path in arguments.compare)
    console().print(comparison.tables(old, new))
    return OK


def error_kinds(text: str) -> tuple[str, ...]:
    """Read kinds of measurement error, separated by commas."""
    from gsr.benchmarks.suites.curves import ERRORS

    kinds = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    unknown = [kind for kind in kinds if kind not in ERRORS]
    if unknown:
        raise argparse.ArgumentTypeError(f"must be among {', '.join(ERRORS)}, got {unknown[0]!r}")
    return kinds


def estimator_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the estimator's parameters; another limit replaces the default time."""
    seconds, max_evals, cpu_time = arguments.max_time, arguments.max_evals, arguments.cpu_time
    if seconds is None and max_evals is None and cpu_time is None:
        seconds = SECONDS
    given = {"preset": arguments.preset, "max_time": seconds, "max_evals": max_evals}
    given = given if cpu_time is None else {**given, "cpu_time": cpu_time}
    return {**given, "transform_target": False} if arguments.s_gsr else given


def _how(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"jobs": arguments.jobs, "json_path": arguments.json}


def _shown(outcomes: list[Any], wanted: int, tables: Callable[[list[Any]], Any]) -> int:
    if outcomes:
        console().print(tables(outcomes))
    return OK if len(outcomes) == wanted else INTERRUPTED


def _curves(arguments: argparse.Namespace, names: list[str]) -> int:
    from gsr.benchmarks import measured
    from gsr.benchmarks.suites.curves import ERRORS

    curves = _selected(names)
    kinds, runs = arguments.errors or ERRORS, arguments.runs or 1
    outcomes = measured.run_curves(
        curves, options=estimator_options(arguments), errors=kinds, runs=runs, **_how(arguments)
    )
    return _shown(outcomes, len(curves) * len(kinds) * runs, measured.curve_tables)


def _list(names: list[str]) -> int:
    from gsr.benchmarks import measured

    console().print(measured.list_curves(_selected(names)))
    return OK


def _selected(names: list[str]) -> list[Any]:
    from gsr.benchmarks.suites.curves import select_curves

    try:
        return list(select_curves(names))
    except ValueError as error:
        raise GSRError(str(error)) from error


def _on_files(arguments: argparse.Namespace, suite: str) -> int:
    from gsr.benchmarks import data_files

    if arguments.data is None:
        arguments.error(f"{suite} needs --data, the folder of its files")
    options, runs = estimator_options(arguments), arguments.runs or 1
    outcomes = data_files.run(suite, arguments.data, options=options, runs=runs, **_how(arguments))
    return _shown(outcomes, len(outcomes), data_files.SUITES[suite].table)


def _nolaw(arguments: argparse.Namespace, _: list[str]) -> int:
    from gsr.benchmarks import measured

    runs = arguments.runs or 1
    outcomes = measured.run_noise(
        options=estimator_options(arguments), runs=runs, **_how(arguments)
    )
    return _shown(outcomes, measured.N_TABLES * runs, measured.noise_tables)


#: Suites whose data are files that are not part of the project.
ON_FILES = ("nist", "empirical", "blackbox")
#: From the name of another suite to its command, which is given the other names.
SUITES: dict[str, Callable[[argparse.Namespace, list[str]], int]] = {
    "curves": _curves,
    "nolaw": _nolaw,
}
NAMES = (*SUITES, *ON_FILES)
