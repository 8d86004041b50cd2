"""The command `gsr fit`."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsr import options
from gsr.cli import terminal
from gsr.exceptions import GSRError
from gsr.options import OPTIONS, Flag, Option
from gsr.value_types import Boolean, ListOf, Number, TableOf

if TYPE_CHECKING:
    from gsr.cli.fit_data import FitData
    from gsr.cli.fit_series import SeriesData
    from gsr.runs.config import Config
    from gsr.runs.outcome import Outcome

log = logging.getLogger(__name__)
ABOUT = """\
Search for a law g(y) = f(x) in a table. The law, the front of error against complexity and the
verdict on the residuals are printed; nothing is written unless -o or --save is given."""

EPILOG = """\
The table may be CSV, TSV or another text file (the delimiter, and whether there is a header, are
detected), NPY, NPZ, Parquet or Excel (.xlsx); it may be compressed with gzip, or be the one file in
a ZIP archive; - is standard input. Columns are given by name, or by number from 1; put a name that
contains a comma in double quotes.

examples:
  gsr fit planets.csv --target period --drop body
  gsr fit data.csv --features mass,speed --target energy --units 'mass=kg,speed=m/s,energy=J'
  gsr fit data.csv --target height,weight        a law for each target
  gsr fit data.csv --implicit                    a law between all columns
  gsr fit data.csv --max-time 60 -o runs/first && gsr report runs/first -o first.html
  gsr fit --config run.toml --set run.max_time=600 --set 'data.target="flow rate"'
  gsr fit series.csv --time t                    equations of motion of the other columns
  gsr fit data.csv --json | python -c 'import json, sys; print(json.load(sys.stdin)["equation"])'

exit codes:
  0    a law was found
  1    no law better than a constant was found
  2    the data or the options are invalid; no search was run
  3    a result could not be written (it is printed, and kept in a temporary folder)
  130  interrupted (Ctrl-C, SIGTERM); the best laws so far are printed and written
"""
GROUPS = ("data", "equations of motion", "prior knowledge", "search", "running", "output")

# ---- flags ---------------------------------------------------------------------------------------


def add(commands: terminal.Parsers) -> None:
    """Add the command to the parser."""
    fit = terminal.add_command(commands, "fit", _fit, EPILOG, ABOUT)
    fit.add_argument("data", nargs="?", metavar="TABLE", help="the file; - for standard input")
    groups = {name: fit.add_argument_group(name) for name in GROUPS}
    for option in OPTIONS:
        if option.flag is not None:
            how = _how(option, option.flag)
            groups[option.flag.group].add_argument(*_names(option), **how)
    running, output = groups["running"], groups["output"]
    running.add_argument("--config", metavar="FILE", help="settings in TOML; flags take precedence")
    running.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="section.key=value"
    )
    running.add_argument(
        "--implicit",
        action="store_true",
        help="search for a law F(x1, ..., xn) = 0 between all columns, without a target",
    )
    output.add_argument(
        "--save", metavar="FILE", type=terminal.writable_file, help="write the model, JSON"
    )
    terminal.add_top(output)
    output.add_argument("--json", action="store_true", help="print the result as JSON")
    loud = output.add_mutually_exclusive_group()
    loud.add_argument("-q", "--quiet", action="store_true", help="print only the law")
    loud.add_argument("-v", "--verbose", action="store_true", help="show progress, also in a log")


def _names(option: Option) -> tuple[str, ...]:
    named = () if option.flag is None else option.flag.names
    return named or ("--" + option.name.replace("_", "-"),)


def _how(option: Option, flag: Flag) -> dict[str, Any]:
    """Return how argparse reads the flag of an option."""
    kind = option.type
    how: dict[str, Any] = {"dest": option.key, "help": option.help.replace("%", "%%")}
    if flag.constant is not None:
        return {**how, "action": "store_const", "const": flag.constant}
    if isinstance(kind, Boolean):
        return {**how, "action": argparse.BooleanOptionalAction}
    how["metavar"] = flag.metavar
    if kind == options.RULES:
        return {**how, "type": _rule, "action": "append"}
    by_type = {Number: _number, ListOf: terminal.listed, TableOf: terminal.paired}
    return {**how, "type": READERS.get(option.key, by_type.get(type(kind), str))}


def _number(text: str) -> Any:
    """Read a number if it is one; the schema says what is allowed."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _one_or_list(text: str) -> Any:
    names = terminal.listed(text)
    return names[0] if len(names) == 1 else names


def _library(text: str) -> Any:
    names = terminal.listed(text)
    return names[0] if names[0] in ("all", "table2", "table13") and len(names) == 1 else names


def _rule(text: str) -> tuple[str, list[str]]:
    name, equals, transformations = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"must be like x1=sin,cos, got {text!r}")
    return name.strip(), terminal.listed(transformations)


#: What reads the value of a flag, where the type of its option does not say it.
READERS: dict[str, Callable[[str], Any]] = {
    "data.target": _one_or_list,
    "library.features": _library,
    "library.target": _library,
}


def _config(arguments: argparse.Namespace) -> Config:
    """Return the configuration with the flags on top; it has a seed, so that it can be repeated."""
    from secrets import randbelow

    from gsr.runs import config as configs

    if arguments.config is None:
        config = configs.parse("", arguments.set, "options")
    else:
        config = configs.read(arguments.config, arguments.set)
    changes: dict[tuple[str, str], Any] = {}
    mistakes = []
    for option in OPTIONS:
        value = getattr(arguments, option.key, None)
        if value is None:
            continue
        value = dict(value) if option.type == options.RULES else value
        if wrong := option.type.mismatch(value):
            mistakes.append(f"{_names(option)[-1]} {wrong}")
        changes[option.section, option.name] = value
        config.places.override(option.section, option.name, _names(option)[-1])
    if mistakes:
        raise GSRError("\n  ".join(mistakes))
    if arguments.data is not None:
        config = replace(config, folder=Path())
        changes["data", "path"] = arguments.data
    if arguments.quiet or arguments.verbose:
        changes["log", "verbose"] = arguments.verbose
    if arguments.quiet:
        changes["log", "level"] = "error"
    config = config.changed(changes)
    if config.is_set("run", "seed"):
        return config
    return config.changed({("run", "seed"): randbelow(2**31)})


# ---- the command ---------------------------------------------------------------------------------


def _fit(arguments: argparse.Namespace) -> int:
    config = _config(arguments)
    with terminal.show_log(config.get("log", "level")):
        if arguments.implicit:
            from gsr.cli import implicit

            return implicit.fit(config, arguments)
        return _fit_table(config, arguments)


def _fit_table(config: Config, arguments: argparse.Namespace) -> int:
    from gsr.cli import fit_data, fit_series
    from gsr.files import Source, WritingError, sha256
    from gsr.tables import path_of

    for section in config.ignored():
        log.info("the section [%s] is for cluster runs and is not used here", section)
    folder = config.get("run", "output")
    _check_folder(config, folder)
    _check_model_file(config, folder, arguments.save)
    source = Source(config.data_path())
    file = path_of(source.path)
    digest = sha256(file) if file is not None and folder is not None else None
    data: FitData | SeriesData
    with config.locating():
        is_series = config.get("data", "time") is not None
        data = (fit_series if is_series else fit_data).load(source, config)
    config = config.changed({("data", "target"): data.asked})
    with _run_folder(folder, config) as folder:
        with config.locating(), terminal.terminated_like_interrupted(), _quiet(config):
            outcome = _search(config, data, digest)
        with terminal.uninterrupted():
            failures = _write(outcome, folder, arguments.save)
    try:
        _print(outcome, arguments)
    except WritingError as error:
        failures.append(str(error))
    _log_left_out(outcome, data)
    return _ending(outcome, failures)


@contextmanager
def _run_folder(folder: str | Path | None, config: Config) -> Iterator[Path | None]:
    """Prepare the run folder, if there is one, and lock it against other runs."""
    from gsr.runs import run_folder
    from gsr.runs.folder_lock import FolderLock

    if folder is None:
        yield None
        return
    path = run_folder.prepare(folder, config.get("run", "overwrite"), config=config)
    lock = FolderLock(path)
    lock.take()
    try:
        run_folder.remove_drafts(path)
        yield path
    finally:
        lock.release()


def _check_folder(config: Config, folder: str | Path | None) -> None:
    """Raise if the run would replace a file that it must not."""
    from gsr.runs import run_folder

    if folder is not None:
        run_folder.check_replaced(folder, config, config.get("run", "overwrite"))


def _check_model_file(config: Config, folder: str | Path | None, path: Path | None) -> None:
    """Raise if ``--save`` would replace a file that it must not."""
    from gsr import files
    from gsr.runs import run_folder

    files.check_output(path, config.inputs(), config.get("run", "overwrite"))
    if path is not None and folder is not None and run_folder.is_own_file(path, folder):
        raise GSRError(f"--save: {path} is a file of the run folder; choose another name")


def _search(config: Config, data: FitData | SeriesData, digest: str | None) -> Outcome:
    import numpy as np

    from gsr.cli.fit_data import FitData, NamedRegressor
    from gsr.cli.fit_series import fit
    from gsr.runs.outcome import Outcome

    asked = config.estimator_options()
    asked.setdefault("verbose", sys.stderr.isatty())
    if not isinstance(data, FitData):
        return fit(config, asked, data, digest)
    model = NamedRegressor(**asked).named(data.names, *data.targets)
    model.fit(data.X, data.y, data.weights, sigma=data.sigma, groups=data.groups)
    groups = data.groups
    labels = {} if groups is None else {groups.name: np.array(groups, dtype=object)}
    return Outcome(model, data.X, data.y, config, digest, data.weights, columns=labels)


@contextmanager
def _quiet(config: Config) -> Iterator[None]:
    """Suppress warnings if the log level is error."""
    with warnings.catch_warnings():
        if config.get("log", "level") == "error":
            warnings.simplefilter("ignore")
        yield


# ---- results -------------------------------------------------------------------------------------


def _write(outcome: Outcome, folder: Path | None, model_file: Path | None) -> list[str]:
    """Write what was asked for; return what failed, and where it is kept instead."""
    from gsr import saving
    from gsr.files import WritingError, failed
    from gsr.runs import run_folder

    failures: list[str] = []
    try:  # checked again: others may have written during the search
        if folder is not None:
            _check_folder(outcome.config, folder)
            run_folder.write(folder, outcome)
    except (WritingError, GSRError) as error:
        failures.append(str(error))
    try:
        if model_file is not None:
            _check_model_file(outcome.config, folder, model_file)
            saving.save(outcome.model, model_file)
    except GSRError as error:
        failures.append(str(error))
    except OSError as error:
        failures.append(str(failed(model_file or "", error)))
    if failures:
        try:
            failures.append(f"the run is kept in {run_folder.rescue(outcome)}")
        except WritingError as error:
            failures.append(f"{error}; only what is printed is left")
    return failures


def _print(outcome: Outcome, arguments: argparse.Namespace) -> None:
    if arguments.json:
        terminal.show(json.dumps(outcome.result(), indent=1, ensure_ascii=False))
        return
    seed = outcome.config.get("run", "seed")
    for number, laws in enumerate(outcome.laws.values()):
        if arguments.quiet:
            terminal.show(str(laws.model.equation_))
            continue
        text = terminal.laws_text(
            laws.model, laws.table, arguments.top, rows=outcome.n_used, seed=seed
        )
        terminal.show(f"\n{text}" if number else text)
    for text in [] if arguments.quiet else terminal.motion_text(outcome.model):
        terminal.show(f"\n{text}")


def _log_left_out(outcome: Outcome, data: FitData | SeriesData) -> None:
    for laws in outcome.laws.values():
        line = laws.model._left_out_line()
        if line and not laws.model.verbose:  # otherwise the display has shown it
            log.info("%s", line)
    for name in data.targets[len(outcome.laws) :]:
        log.warning("no search was run for target %r", name)


def _ending(outcome: Outcome, failures: list[str]) -> int:
    for failure in failures:
        terminal.complain(failure)
    if failures:
        return terminal.NOT_WRITTEN
    everything = outcome.laws.values()
    if any(laws.model.status_ == "interrupted" for laws in everything):
        return terminal.INTERRUPTED
    lacking = [laws.target for laws in everything if not laws.chosen.uses_features]
    first_order = getattr(outcome.model, "order", None) == 1  # equations of motion
    hint = ", or --order 2 for positions without velocities" if first_order else ""
    for name in lacking:
        which = "" if outcome.is_one else f" for {name!r}"
        told = "no law better than a constant was found%s; give it more time, rows or features%s"
        log.info(told, which, hint)
    return terminal.NO_LAW if lacking else terminal.OK
