"""Commands that use a fitted model: `gsr predict`, `gsr show`, `gsr export`, `gsr report`."""

from __future__ import annotations

import argparse
import warnings
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsr.cli import terminal
from gsr.exceptions import GSRError

if TYPE_CHECKING:
    from gsr.estimator import GSRRegressor
    from gsr.tables import Array

MODEL = "a model file, or a run folder"
LANGUAGES = ("python", "numpy", "c", "torch", "jax")
INDEX = "law, as numbered by gsr show; default: the chosen one"


def add(commands: terminal.Parsers) -> None:
    """Add the commands to the parser."""
    _add_predict(commands)
    _add_show(commands)
    _add_export(commands)
    _add_report(commands)


def _add_target(parser: Any, told: str) -> None:
    parser.add_argument("--target", metavar="NAME", help=f"of a model with several: {told}")


def _check_output(output: Path | None, overwrite: bool, model: str, *inputs: str) -> None:
    """Raise if the output would replace a file of the model or the run, or another input."""
    from gsr import files
    from gsr.runs.run_folder import own_files

    files.check_output(output, chain(inputs, own_files(model)), overwrite)


def _loaded(path: str, target: str | None) -> dict[str, GSRRegressor]:
    """Return the models of a file or of a run, also of one that goes on, by their targets."""
    from gsr.runs.run_folder import load_model

    if Path(path).is_dir():
        from gsr.cli.island_results import finished

        with finished(path) as folder:
            model = load_model(folder)
    else:
        model = load_model(path)
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
    parser = terminal.add_command(commands, "predict", _predict, examples)
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("data", metavar="TABLE", help="features under the same names; - for input")
    terminal.add_output(parser, "write CSV there; default: print it")
    told = "also the ends of intervals that hold a new measurement with this probability"
    parser.add_argument("--interval", type=terminal.between(0, 1), metavar="P", help=told)
    told = "with --interval: the standard deviation of each row, if the model was fitted with such"
    parser.add_argument("--errors", metavar="COLUMN", help=told)
    told = "the group of each row, if the law has groups; default: the column of the fit"
    parser.add_argument("--groups", metavar="COLUMN", help=told)
    parser.add_argument("--index", type=terminal.at_least(int, 0), metavar="K", help=INDEX)
    _add_target(parser, "predict this one only")
    told = "columns of the features in their order, where names differ"
    parser.add_argument("--features", type=terminal.listed, metavar="COLUMN,...", help=told)
    parser.add_argument("--header", action=argparse.BooleanOptionalAction, help="default: detected")
    parser.add_argument("--delimiter", metavar="CHAR", help="default: detected")
    parser.add_argument("--sheet", metavar="NAME", help="of an Excel workbook; default: the first")


def _predict(arguments: argparse.Namespace) -> int:
    from gsr.runs.outcome import as_csv

    _check_output(arguments.output, arguments.overwrite, arguments.model, arguments.data)
    models = _loaded(arguments.model, arguments.target)
    if len(models) > 1 and arguments.index is not None:
        raise GSRError("--index is of one front: choose its --target")
    if arguments.errors is not None and arguments.interval is None:
        raise GSRError("--errors is of use with --interval only")
    X, sigma, groups = _features(next(iter(models.values())), arguments)
    columns: dict[str, Array] = {}
    for model in models.values():
        columns |= _predictions(model, X, sigma, groups, arguments)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    terminal.show_or_write(as_csv(columns, rows), arguments.output)
    return terminal.OK


def _features(
    model: GSRRegressor, arguments: argparse.Namespace
) -> tuple[Array, Array | None, Any]:
    """Return the features of a table, its standard deviations, and the groups of its rows."""
    import numpy as np

    from gsr import tables
    from gsr.cli.fit_data import deviations

    names = model._names
    known = getattr(model.equation_, "groups", None)
    column = arguments.groups or (known and known.column)

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
        present = [name for name in present if name != column]
        if arguments.errors is None:
            return columns(present)
        errors = present[tables.find(arguments.errors, present, arguments.data)]
        return [*columns([name for name in present if name != errors]), errors]

    table = tables.read(
        arguments.data,
        columns=with_errors,
        header=arguments.header,
        delimiter=arguments.delimiter,
        sheet=arguments.sheet,
        labels=column,
    )
    for note in table.notes:
        terminal.complain(note)
    n_read = table.values.shape[1] - (arguments.errors is not None)
    if n_read != len(names):
        raise GSRError(f"the law has {len(names)} features, --features are {n_read}")
    gaps = int((~np.isfinite(table.values).all(axis=1)).sum())
    if gaps:
        terminal.complain(f"{gaps} of {len(table.values)} rows miss a value; they are given nan")
    sigma = None if arguments.errors is None else deviations(table, n_read)
    groups = None if table.labels is None else np.array(table.labels)
    return table.values[:, :n_read], sigma, groups


def _predictions(
    model: GSRRegressor,
    X: Array,
    sigma: Array | None,
    groups: Any,
    arguments: argparse.Namespace,
) -> dict[str, Array]:
    import numpy as np

    complete = np.isfinite(X).all(axis=1)
    if sigma is not None:
        if not model._entry(arguments.index).uncertainty.noise.absolute:
            told = "the model was not fitted with standard deviations of the rows"
            raise GSRError(f"--errors: {told}")
        complete &= np.isfinite(sigma)
    labels = None if groups is None else groups[complete]
    name = model.equation_.target_name
    found = {name: np.full(len(X), np.nan)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if complete.any():
            found[name][complete] = model.predict(X[complete], arguments.index, groups=labels)
        if arguments.interval is not None:
            ends = np.full((len(X), 2), np.nan)
            if complete.any():
                warnings.simplefilter("ignore")  # the same again
                errors = None if sigma is None else sigma[complete]
                ends[complete] = model.predict_interval(
                    X[complete], arguments.interval, arguments.index, sigma=errors, groups=labels
                )
            found |= {f"{name} lower": ends[:, 0], f"{name} upper": ends[:, 1]}
    return found


# ---- show, export, report ------------------------------------------------------------------------


def _add_show(commands: terminal.Parsers) -> None:
    examples, number = "examples:\n  gsr show runs/first --top 5", terminal.at_least(int, 1)
    parser = terminal.add_command(commands, "show", _show, examples)
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("--top", metavar="N", type=number, help="laws; default: all")
    parser.add_argument("--latex", action="store_true", help="print the front as a LaTeX table")
    _add_target(parser, "show this one only")


def _show(arguments: argparse.Namespace) -> int:
    models = _loaded(arguments.model, arguments.target).values()
    if arguments.latex:
        texts = [model.latex_table() for model in models]
    else:
        texts = [terminal.laws_text(model, model.equations_, arguments.top) for model in models]
    terminal.show("\n\n".join(texts))
    return terminal.OK


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
    models = _loaded(arguments.model, arguments.target)
    if len(models) > 1:
        raise GSRError(f"the model has several targets: choose a --target of {', '.join(models)}")
    (model,) = models.values()
    source = model.export(arguments.language, index=arguments.index, name=arguments.name)
    terminal.show_or_write(source, arguments.output)
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
