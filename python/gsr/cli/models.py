"""Commands that use a fitted model: predict, show, export, plot and report."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsr.cli import terminal
from gsr.exceptions import GSRError

if TYPE_CHECKING:
    from gsr.estimator import GSRRegressor
    from gsr.files import Source
    from gsr.selection import FrontEntry
    from gsr.tables import Array, Table

MODEL = "a model file, or a run folder"
KINDS = ("law", "summary", "front", "fit", "residuals", "convergence", "terms")
PICTURE_DPI = 144
LANGUAGES = ("python", "numpy", "c", "torch", "jax")
CONSTANTS_OF = "law whose constants are listed; default: the chosen one"
INDEX = "law, as numbered by gsr show; default: the chosen one"


def add(commands: terminal.Parsers) -> None:
    """Add the commands to the parser."""
    _add_predict(commands)
    _add_show(commands)
    _add_export(commands)
    _add_plot(commands)
    _add_report(commands)


def _add_target(parser: Any, told: str) -> None:
    parser.add_argument("--target", metavar="NAME", help=f"of a model with several: {told}")


def _check_output(output: Path | None, overwrite: bool, model: str, *inputs: str) -> None:
    """Raise if the output would replace a file of the model or the run, or another input."""
    from gsr import files
    from gsr.runs.run_folder import own_files

    files.check_output(output, chain(inputs, own_files(model)), overwrite)


def _loaded(path: str) -> Any:
    """Return the model of a file or of a run, which may still be running."""
    from gsr.runs.run_folder import load_model

    if not Path(path).is_dir():
        return load_model(path)
    from gsr.cli.island_results import finished

    with finished(path) as folder:
        return load_model(folder)


def _by_target(model: Any, target: str | None) -> dict[str, GSRRegressor]:
    """Return the regressors of a model by their targets, or that of one of them."""
    several: dict[str, GSRRegressor] = getattr(model, "models_", None) or {
        model.equation_.target_name: model
    }
    if target is not None and target not in several:
        raise GSRError(f"--target must be among {', '.join(map(repr, several))}, got {target!r}")
    return several if target is None else {target: several[target]}


# ---- predict -------------------------------------------------------------------------------------


def _add_predict(commands: terminal.Parsers) -> None:
    examples = (
        "examples:\n"
        "  gsr predict runs/first new.csv -o predictions.csv\n"
        "  gsr predict model.json new.csv --interval 0.95 | head"
    )
    about = "Apply a law to a table, and print the table with columns for the predictions added."
    parser = terminal.add_command(commands, "predict", _predict, examples, about)
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("data", metavar="TABLE", help="features under the same names; - for input")
    terminal.add_output(parser, "write CSV there; default: print it")
    told = "also the ends of intervals that hold a new measurement with this probability"
    parser.add_argument("--interval", type=terminal.between(0, 1), metavar="P", help=told)
    told = "with --interval: the standard deviation of each row, if the model was fitted with such"
    parser.add_argument("--errors", metavar="COLUMN", help=told)
    parser.add_argument("--index", type=terminal.at_least(int, 0), metavar="K", help=INDEX)
    told = "the column of groups, if the law has groups; default: that of the fit"
    parser.add_argument("--groups", metavar="COLUMN", help=told)
    _add_target(parser, "predict this one only")
    told = "columns of the features in their order, where names differ"
    parser.add_argument("--features", type=terminal.listed, metavar="COLUMN,...", help=told)
    parser.add_argument("--header", action=argparse.BooleanOptionalAction, help="default: detected")
    parser.add_argument("--delimiter", metavar="CHAR", help="default: detected")
    parser.add_argument("--sheet", metavar="NAME", help="of an Excel workbook; default: the first")


def _predict(arguments: argparse.Namespace) -> int:
    from gsr import files, tables
    from gsr.runs.outcome import as_csv

    _check_output(arguments.output, arguments.overwrite, arguments.model, arguments.data)
    models = _by_target(_loaded(arguments.model), arguments.target)
    if len(models) > 1 and arguments.index is not None:
        raise GSRError("--index is of one front: choose its --target")
    if arguments.errors is not None and arguments.interval is None:
        raise GSRError("--errors is of use with --interval only")
    source = files.Source(arguments.data)
    table = _table(next(iter(models.values())), source, arguments)
    X, sigma = _features(table, arguments)
    found: dict[str, Array] = {}
    for model in models.values():
        found |= predictions(
            model, X, sigma, arguments.index, arguments.interval, groups=table.labels
        )
    names, given = tables.cells(source, table, arguments.header, arguments.delimiter)
    rows = zip(given, *(column.tolist() for column in found.values()), strict=True)
    text = as_csv([*names, *found], ([*row, *values] for row, *values in rows))
    terminal.show_or_write(text, arguments.output)
    return terminal.OK


def _table(model: GSRRegressor, source: Source, arguments: argparse.Namespace) -> Table:
    """Read the features of the law, and after them the column of standard deviations, if any."""
    from gsr import tables

    names, groups = model._names, _groups(model, arguments.groups)

    def columns(present: Any) -> Any:
        if arguments.features is not None:
            return arguments.features
        if all(name in present for name in names):
            return names
        if len(present) == len(names) and not any(name in present for name in names):
            terminal.complain(f"the columns are taken in their order, as {', '.join(names)}")
            return present
        absent = [name for name in names if name not in present]
        raise GSRError(
            f"{arguments.data}: there is no column {', '.join(map(repr, absent))}; name the "
            f"columns of {', '.join(map(repr, names))} with --features"
        )

    def with_errors(present: Any) -> Any:
        present = [name for name in present if name != groups]
        if arguments.errors is None:
            return columns(present)
        errors = present[tables.find(arguments.errors, present, arguments.data)]
        return [*columns([name for name in present if name != errors]), errors]

    table = tables.read(
        source,
        columns=with_errors,
        header=arguments.header,
        delimiter=arguments.delimiter,
        sheet=arguments.sheet,
        labels=groups,
    )
    for note in table.notes:
        terminal.complain(note)
    n_read = table.values.shape[1] - (arguments.errors is not None)
    if n_read != len(names):
        raise GSRError(f"the law has {len(names)} features, --features are {n_read}")
    return table


def _groups(model: GSRRegressor, given: str | None = None) -> str | None:
    """Return the column of groups, if the law has groups."""
    known = getattr(model.equation_, "groups", None)
    return given or (known and known.column)


def _features(table: Table, arguments: argparse.Namespace) -> tuple[Array, Array | None]:
    """Return the features of a table, and its column of standard deviations."""
    import numpy as np

    from gsr.cli.fit_data import deviations

    n_read = table.values.shape[1] - (arguments.errors is not None)
    gaps = int((~np.isfinite(table.values).all(axis=1)).sum())
    if gaps:
        terminal.complain(
            f"{gaps} of {len(table.values)} rows have missing values; their prediction is nan"
        )
    sigma = None if arguments.errors is None else deviations(table, n_read)
    return table.values[:, :n_read], sigma


def predict_table(
    model: GSRRegressor, path: Path, index: int | None = None, interval: float | None = None
) -> dict[str, Array]:
    """Return the features of a table and the predictions for them."""
    from gsr import tables

    names = model._names

    def features(present: Any) -> Any:
        absent = [name for name in names if name not in present]
        if absent:
            raise GSRError(f"{path}: there is no column {', '.join(map(repr, absent))}")
        return names

    table = tables.read(path, columns=features, labels=_groups(model))
    found = predictions(model, table.values, None, index, interval, groups=table.labels)
    return dict(zip(names, table.values.T, strict=True)) | found


@contextmanager
def _unnamed() -> Iterator[None]:
    """Take arrays without warnings: their columns were matched by name before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def predictions(
    model: GSRRegressor,
    X: Array,
    sigma: Array | None = None,
    index: int | None = None,
    interval: float | None = None,
    *,
    groups: Sequence[str] | None = None,
) -> dict[str, Array]:
    """Return columns of predictions, with the ends of intervals, by name."""
    import numpy as np

    complete = np.isfinite(X).all(axis=1)
    if sigma is not None:
        if not model._entry(index).uncertainty.noise.absolute:
            told = "the model was not fitted with standard deviations of the rows"
            raise GSRError(f"--errors: {told}")
        complete &= np.isfinite(sigma)
    labels = None if groups is None else np.array(groups)[complete]
    name = model.equation_.target_name
    values, found = np.full(len(X), np.nan), {}
    with _unnamed():
        if complete.any():
            values[complete] = model.predict(X[complete], index, groups=labels)
        found[f"{name} predicted"] = values
        if interval is not None:
            ends = np.full((len(X), 2), np.nan)
            if complete.any():
                warnings.simplefilter("ignore")  # the same again
                errors = None if sigma is None else sigma[complete]
                ends[complete] = model.predict_interval(
                    X[complete], interval, index, sigma=errors, groups=labels
                )
            found |= {f"{name} lower": ends[:, 0], f"{name} upper": ends[:, 1]}
    return found


# ---- show, export, report ------------------------------------------------------------------------


def _add_show(commands: terminal.Parsers) -> None:
    examples = "examples:\n  gsr show runs/first\n  gsr show model.json --index 3 --all"
    parser = terminal.add_command(commands, "show", _show, examples)
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("--index", type=terminal.at_least(int, 0), metavar="K", help=CONSTANTS_OF)
    terminal.add_top(parser)
    parser.add_argument("--latex", action="store_true", help="print the front as a LaTeX table")
    _add_target(parser, "show this one only")


def _show(arguments: argparse.Namespace) -> int:
    model = _loaded(arguments.model)
    models = _by_target(model, arguments.target).values()
    if arguments.latex:
        texts = [each.latex_table() for each in models]
    else:
        texts = [
            f"{terminal.laws_text(each, each.equations_, arguments.top)}\n\n"
            f"{_constants(each._entry(arguments.index))}"
            for each in models
        ]
        texts += terminal.motion_text(model)
    terminal.show("\n\n".join(texts))
    return terminal.OK


def _constants(entry: FrontEntry) -> str:
    """Return the constants of a law with their intervals, as a table."""
    from gsr.encoding.writing import number
    from gsr.selection.fitted import FAILURES

    try:
        found = entry.intervals(0.95)
    except (*FAILURES, GSRError):
        return "the intervals of the constants are not known"
    rows = [("constant", "value", "95 % interval")]
    rows += [
        (name, number(value), f"{number(low)} to {number(high)}")
        for name, (value, low, high) in found.items()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join([str(entry.equation), *lines])


def _add_export(commands: terminal.Parsers) -> None:
    examples = (
        "examples:\n"
        "  gsr export runs/first --language c -o law.c\n"
        "  gsr export model.json --language numpy --index 2"
    )
    parser = terminal.add_command(commands, "export", _export, examples)
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("--language", choices=LANGUAGES, default="python", help="default: python")
    parser.add_argument("--name", default="law", help="of the function; default: law")
    parser.add_argument("--index", type=terminal.at_least(int, 0), metavar="K", help=INDEX)
    _add_target(parser, "the one to write")
    terminal.add_output(parser, "write it there; default: print it")


def _export(arguments: argparse.Namespace) -> int:
    _check_output(arguments.output, arguments.overwrite, arguments.model)
    model = _loaded(arguments.model)
    models = _by_target(model, arguments.target)
    if arguments.target is None and arguments.index is None and hasattr(model, "simulate"):
        source = model.export(arguments.language, name=arguments.name)
    elif len(models) > 1:
        raise GSRError(f"the model has several targets: choose a --target of {', '.join(models)}")
    else:
        (law,) = models.values()
        source = law.export(arguments.language, index=arguments.index, name=arguments.name)
    terminal.show_or_write(source, arguments.output)
    return terminal.OK


def _add_plot(commands: terminal.Parsers) -> None:
    examples = (
        "examples:\n"
        "  gsr plot runs/first -o law.png\n"
        "  gsr plot runs/first --kind summary -o all.pdf"
    )
    parser = terminal.add_command(commands, "plot", _plot, examples)
    parser.add_argument("run", metavar="RUN", help="a run folder")
    told = f"{', '.join(KINDS)}; default: law"
    parser.add_argument("--kind", choices=KINDS, default="law", metavar="KIND", help=told)
    parser.add_argument("--index", type=terminal.at_least(int, 0), metavar="K", help=INDEX)
    _add_target(parser, "the one to draw")
    terminal.add_output(parser, "the picture; its suffix sets the format: .png, .svg, .pdf")


def _plot(arguments: argparse.Namespace) -> int:
    from gsr import plotting
    from gsr.cli.island_results import finished
    from gsr.report import content

    out = arguments.output or Path(arguments.run) / f"{arguments.kind}.png"
    _check_output(out, arguments.overwrite, arguments.run)
    with finished(arguments.run) as folder:
        targets = {target.name: target for target in content.read(folder).targets}
    if not targets:
        raise GSRError(f"{arguments.run}: the run has no law to draw yet")
    if arguments.target is None and len(targets) > 1:
        raise GSRError(f"the run has several targets: choose a --target of {', '.join(targets)}")
    name = arguments.target or next(iter(targets))
    if name not in targets:
        raise GSRError(f"--target must be among {', '.join(map(repr, targets))}, got {name!r}")
    target = targets[name]
    target.model.history_ = list(target.history)
    with _unnamed():
        figure = plotting.plot(target.model, arguments.kind, target.X, target.y, arguments.index)
    try:
        figure.savefig(out, dpi=PICTURE_DPI)
    except ValueError as error:
        raise GSRError(f"cannot write {out}: {error}") from error
    terminal.show(str(out))
    return terminal.OK


def _add_report(commands: terminal.Parsers) -> None:
    examples = "examples:\n  gsr report runs/first -o first.html"
    parser = terminal.add_command(commands, "report", _report, examples)
    parser.add_argument("run", metavar="RUN", help="a run folder")
    terminal.add_output(parser, "the page; default: report.html in the run folder")


def _report(arguments: argparse.Namespace) -> int:
    from gsr import files, report
    from gsr.cli.island_results import finished

    out = arguments.output or Path(arguments.run) / "report.html"
    _check_output(out, arguments.overwrite, arguments.run)
    with finished(arguments.run) as folder:
        text = report.page(folder)
    files.write(out, text)
    terminal.show(str(out))
    return terminal.OK
