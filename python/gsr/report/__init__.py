"""A run or a fitted model as one page of HTML that needs neither network nor scripts."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import gsr
from gsr._table_forms import VERDICTS
from gsr.groups.law import GroupedEquation
from gsr.options import ERRORS
from gsr.report.content import (
    FILTERS,
    Source,
    config_file,
    history_picture,
    motion_pictures,
    source,
)
from gsr.selection.entry import WEIGHTED
from gsr.wording import LEVELS, ending

if TYPE_CHECKING:
    from jinja2 import Environment


def page(run_or_model: Any) -> str:
    """Return the report of a run folder, complete or not, or of a fitted model, as HTML."""
    found = source(run_or_model)
    has_matplotlib = find_spec("matplotlib") is not None
    history = found.history if has_matplotlib and not found.targets else ()
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=_title(found),
            facts=_facts(found),
            missing=found.missing,
            targets=found.targets,
            history_pictures=[history_picture(history)] if history else [],
            motion=None if found.motion is None else motion_table(found.motion),
            motion_pictures=motion_pictures(found) if has_matplotlib else [],
            has_matplotlib=has_matplotlib,
            origin=_origin(found),
            columns=found.columns,
            names=[target.name for target in found.targets],
            n_rows=found.n_rows,
            n_kept=found.n_kept,
            version=gsr.__version__,
            date=datetime.now(timezone.utc).strftime("%d %B %Y, %H:%M UTC"),
            **settings(found),
        )
    )


def pieces() -> Any:
    """Return the pieces of the page, which are functions that return HTML."""
    return _environment().get_template("pieces.html").module


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("gsr.report", "template")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(FILTERS)
    environment.globals.update(levels=LEVELS, verdicts=VERDICTS, weighted=WEIGHTED)
    return environment


def _title(found: Source) -> str:
    names = [target.name for target in found.targets]
    if not names:
        return f"Run {found.run.name}: no law yet" if found.run is not None else "No law yet"
    if len(names) > 1:
        return f"Laws for {', '.join(names[:-1])} and {names[-1]}"
    law = found.targets[0].entry.equation
    features = law.feature_names[: law.n_features]
    shown = ", ".join(features) if len(features) <= 6 else f"{len(features)} features"
    each = f", for each {law.table.column}" if isinstance(law, GroupedEquation) else ""
    return f"{names[0]} as a law of {shown}{each}"


def motion_table(model: Any) -> list[tuple[str, float | None, float | None]]:
    """Return the noise and the simulation error of each state."""
    known = model.noise_, model.simulation_error_
    return [(name, *(each.get(name) for each in known)) for name in model.models_]


def _facts(found: Source) -> list[str]:
    parts = [f"run {found.run.name}"] if found.run is not None else []
    parts += [f"{found.n_rows:,} rows"] if found.n_rows else []
    status = found.result.get("status") or getattr(found.model, "status_", None)
    if status == "running":
        parts.append("the search is still going")
    elif status:
        parts.append(f"the search ended because {ending(str(status))}")
    return parts


def _origin(source: Source) -> dict[str, str]:
    found = source.result.get("data")
    facts = found if isinstance(found, dict) else {"path": found} if found else {}
    names = {"path": "File", "sha256": "SHA-256"}
    return {name: str(facts[key]) for key, name in names.items() if facts.get(key)}


# ---- how a run was made, and how to repeat it ----------------------------------------------------

#: Values that can be written into a program as they are.
LITERAL = (bool, int, float, str, type(None))


def settings(source: Source) -> dict[str, Any]:
    """Return how the search went, what was set, versions, and how to repeat it."""
    from gsr.info import core_info

    model, found = source.motion or source.model, source.result
    chosen = changed(model) if model is not None else found.get("settings")
    told = everything = None
    if isinstance(chosen, Mapping):
        told = {str(k): v if isinstance(v, str) else repr(v) for k, v in chosen.items()}
    if model is not None:
        everything = "\n".join(f"{k} = {v!r}" for k, v in model.get_params(deep=False).items())
    versions = found.get("versions")
    versions = versions if isinstance(versions, Mapping) else core_info()
    return {
        "search": _search(source),
        "settings": told,
        "all_settings": everything,
        "versions": {str(name): str(value) for name, value in versions.items()},
        "program": None if model is None else program(source),
        **_command(source),
    }


def _search(source: Source) -> dict[str, str]:
    found, model = source.result, source.model
    facts: dict[str, str] = {}
    status = str(found.get("status") or getattr(model, "status_", ""))
    if status:
        key = "state" if status == "running" else "ended because"
        facts[key] = ending(status)
    seconds = found.get("seconds", getattr(model, "fit_time_", None))
    if isinstance(seconds, int | float):
        facts["time"] = f"{seconds:.3g} s"
    for key, attribute, name in (
        ("evaluations", "n_evaluations_", "evaluations"),
        ("generations", "n_generations_", "generations"),
    ):
        count = found.get(key, getattr(model, attribute, None))
        if isinstance(count, int):
            facts[name] = f"{count:,}"
    seed = found.get("seed", getattr(model, "random_state", None))
    unknown = "none was given: another search may find other laws"
    facts["seed"] = unknown if seed is None else str(seed)
    return facts


def changed(model: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that are not at their defaults."""
    defaults = inspect.signature(type(model).__init__).parameters

    def is_default(value: Any, default: Any) -> bool:
        return value is default or (isinstance(value, LITERAL) and value == default)

    return {
        name: value
        for name, value in model.get_params(deep=False).items()
        if not is_default(value, defaults[name].default)
    }


def _command(source: Source) -> dict[str, str]:
    if source.run is None or source.config is None:
        return {}
    path = config_file(source.run)
    config, again = shlex.quote(str(path)), shlex.quote(f"{source.run}-again")
    command = f"gsr fit --config {config} -o {again}"
    if "islands" in source.result:
        command = f"gsr islands {config} --set run.output={again}"
    return {"command": command, "config": source.config, "config_name": path.name}


def program(source: Source) -> str:
    """Return a Python program that repeats the search."""
    if source.motion is not None:
        return motion_program(source)
    law, settings = source.targets[0].entry.equation, source.result.get("settings")
    data = settings.get("data") if isinstance(settings, Mapping) else None
    fit_arguments = _fit_arguments(data if isinstance(data, Mapping) else {})
    features = list(law.feature_names[: law.n_features])
    if isinstance(law, GroupedEquation):
        features.append(law.table.column)
        fit_arguments.append(f"groups={law.table.column!r}")
    targets = [target.name for target in source.targets]
    chosen: Any = targets[0] if len(targets) == 1 else targets
    arguments = changed(source.model)
    own = [name for name, value in arguments.items() if not _is_literal(value)]
    written = ", ".join(
        f"{name}=..." if name in own else f"{name}={value!r}" for name, value in arguments.items()
    )
    lines = _reading(source, "GSRRegressor")
    columns = [json.dumps(each, ensure_ascii=False) for each in (features, chosen)]
    lines += [f"X, y = table[{columns[0]}], table[{columns[1]}]"]
    lines += [f"model = GSRRegressor({written}).fit({', '.join(['X', 'y', *fit_arguments])})"]
    lines += [f"# {name} was an object of your own: put it in" for name in own]
    return "\n".join([*lines, "print(model.equations_)"])


def _fit_arguments(data: Mapping[str, Any]) -> list[str]:
    """Return the columns of weights and standard deviations as arguments of `fit`."""
    errors = data.get("errors")
    columns = {"sample_weight": data.get("weights"), "sigma": None if errors in ERRORS else errors}
    return [
        f"{name}=table.iloc[:, {int(column) - 1}]"
        if str(column).isdecimal()
        else f"{name}=table[{column!r}]"
        for name, column in columns.items()
        if column is not None
    ]


def _reading(source: Source, kind: str) -> list[str]:
    file = source.result.get("data")
    file = file.get("path") if isinstance(file, Mapping) else file
    path = "data.csv" if file in (None, "", "-") else str(file)
    imports = ["import pandas as pd", "", f"from gsr import {kind}", ""]
    return [*imports, f"table = pd.read_csv({path!r})"]


def motion_program(source: Source) -> str:
    """Return a Python program that repeats the search for equations of motion."""
    told = source.result.get("motion")
    time = told.get("time", "t") if isinstance(told, Mapping) else "t"
    model = source.motion
    arguments = ", ".join(f"{name}={value!r}" for name, value in changed(model).items())
    lines = _reading(source, "GSRDynamics, GSRRegressor")
    inputs = f", u=table[{model.inputs_!r}]" if model.inputs_ else ""
    lines += [f"model = GSRDynamics({arguments})"]
    lines += [f"model.fit(table[{model.states_!r}], table[{time!r}]{inputs})", "model.print()"]
    return "\n".join(lines)


def _is_literal(value: Any) -> bool:
    if isinstance(value, list | tuple | set):
        return all(map(_is_literal, value))
    if isinstance(value, dict):
        return all(map(_is_literal, (*value, *value.values())))
    return isinstance(value, LITERAL)
