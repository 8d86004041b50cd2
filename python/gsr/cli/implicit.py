"""`gsr fit --implicit`: a law between all columns of a table."""

from __future__ import annotations

import json
import sys
import warnings
from typing import TYPE_CHECKING

import numpy as np

from gsr._table_forms import READ
from gsr.cli import terminal
from gsr.cli.fit_data import load
from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.wording import LEVELS

if TYPE_CHECKING:
    import argparse

    from gsr.implicit.estimator import GSRImplicit
    from gsr.runs.config import Config


#: Options that a law without a target does not take, with what to do instead.
UNUSED = {
    ("data", "target"): ": choose the columns with --features or --drop",
    ("data", "errors"): "; in Python GSRImplicit.fit takes the noise of each column",
    ("data", "weights"): "",
    ("data", "groups"): "",
    ("data", "time"): ": leave the column out with --drop",
    ("run", "output"): ": --save FILE writes the model",
}


def fit(config: Config, arguments: argparse.Namespace) -> int:
    """Search for a law, print it, and write the model if requested."""
    from gsr import files
    from gsr.implicit.estimator import GSRImplicit

    for section, name in UNUSED:
        if config.get(section, name) is not None:
            hint = UNUSED[section, name]
            raise GSRError(f"--implicit cannot be combined with {section}.{name}{hint}")
    files.check_output(arguments.save, config.inputs(), config.get("run", "overwrite"))
    with config.locating():
        data = load(Source(config.data_path()), config, implicit=True)
    options = config.estimator_options()
    limits = {key: options.pop(key) for key in ("max_time", "random_state") if key in options}
    options.setdefault("verbose", sys.stderr.isatty())
    model = GSRImplicit(regressor=GSRRegressor(**options), **limits)
    names = [*data.names, *data.targets]
    with warnings.catch_warnings(), config.locating():
        if config.get("log", "level") == "error":
            warnings.simplefilter("ignore")
        model.fit(np.column_stack([data.X, data.y]), feature_names=names)
    if arguments.save is not None:
        model.save(arguments.save)
    _print(model, arguments)
    return terminal.OK if model.equation_ is not None else terminal.NO_LAW


def _print(model: GSRImplicit, arguments: argparse.Namespace) -> None:
    table = model.to_pandas().tail(arguments.top or READ)
    if arguments.json:
        laws = table.to_dict("records")
        terminal.show(json.dumps({"level": model.level_, "laws": laws}, indent=1))
    elif model.equation_ is None or arguments.quiet:
        terminal.show(str(model.equation_ or "no law"))
    else:
        constants = (
            f"  {name}: {value:.6g}, between {low:.6g} and {high:.6g} (95 %)"
            for name, (value, low, high) in model.intervals().items()
        )
        shown = table.drop(columns="chosen").to_string(index=False)
        residual = f"residual: {LEVELS[model.level_].phrase}"
        lines = [str(model.equation_), *constants, residual, "", shown]
        terminal.show("\n".join(lines))
