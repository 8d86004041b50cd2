"""How a run was made, and how to make it again, as HTML."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Mapping
from html import escape
from typing import Any

from gsr.report.origin import Source, config_file
from gsr.report.sections import section, table
from gsr.search import ENDINGS

#: Values that can be written into a program as they are.
LITERAL = (bool, int, float, str, type(None))


def settings(source: Source) -> str:
    """Return how the search went, what was set, and versions."""
    parts = {"What it did": [_row(*each) for each in _search(source).items()]}
    chosen = changed(source.model) if source.model is not None else source.result.get("settings")
    if isinstance(chosen, Mapping):
        told = [_row(str(name), _shown(value), True) for name, value in chosen.items()]
        parts["Settings that are not the defaults"] = told or [_row("none", "")]
    parts["Versions"] = [_row(*each) for each in _versions(source).items()]
    content = "".join(
        f"<div><h3>{name}</h3>{table((), rows)}</div>" for name, rows in parts.items()
    )
    return section("The search", f'<div class="columns">{content}</div>{_all(source.model)}')


def _all(model: Any) -> str:
    if model is None:
        return ""
    lines = (f"{name} = {value!r}" for name, value in model.get_params(deep=False).items())
    written = _code("\n".join(lines))
    return f"<details><summary>All settings (None: the preset decides)</summary>{written}</details>"


def _row(name: str, value: str, code: bool = False) -> str:
    shown = f"<code>{escape(value)}</code>" if code else escape(value)
    return f'<tr><th scope="row">{escape(name)}</th><td>{shown}</td></tr>'


def _search(source: Source) -> dict[str, str]:
    found, model = source.result, source.model
    facts: dict[str, str] = {}
    status = str(found.get("status") or getattr(model, "status_", ""))
    if status:
        key = "state" if status == "running" else "ended because"
        facts[key] = ENDINGS.get(status, status)
    seconds = found.get("seconds", getattr(model, "fit_time_", None))
    if isinstance(seconds, int | float):
        facts["time"] = f"{seconds:.3g} s"
    for key, attribute, name in (
        ("evaluations", "n_evaluations_", "candidates tried"),
        ("generations", "n_generations_", "generations"),
    ):
        count = found.get(key, getattr(model, attribute, None))
        if isinstance(count, int):
            facts[name] = f"{count:,}"
    facts["seed"] = _seed(source)
    return facts


def _seed(source: Source) -> str:
    seed = source.result.get("seed", getattr(source.model, "random_state", None))
    return "none was given: another search may find other laws" if seed is None else str(seed)


def _versions(source: Source) -> dict[str, str]:
    from gsr.info import core_info

    told = source.result.get("versions")
    found = told if isinstance(told, Mapping) else core_info()
    return {str(name): str(value) for name, value in found.items()}


def changed(model: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that are not at their defaults."""
    defaults = inspect.signature(type(model).__init__).parameters
    return {
        name: value
        for name, value in model.get_params(deep=False).items()
        if not _same(value, defaults[name].default)
    }


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, LITERAL) and value == default)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


# ---- again -------------------------------------------------------------------------------------


def again(source: Source) -> str:
    """Return how to repeat the search."""
    content = ""
    if source.run is not None and source.config is not None:
        path = config_file(source.run)
        config, again = shlex.quote(str(path)), shlex.quote(f"{source.run}-again")
        command = f"gsr fit --config {config} -o {again}"
        if "islands" in source.result:
            command = f"gsr islands {config} --set run.output={again}"
        content += f"<h3>On the command line</h3>{_code(command)}"
        content += f"<details><summary>{path.name}</summary>{_code(source.config)}</details>"
    if source.model is not None:
        content += "<h3>In Python</h3>" + _code(program(source))
    if not content:
        content = "<p>There is neither a model nor a configuration to repeat.</p>"
    note = "The same seed gives the same laws, on the same build of the core; a limit in seconds"
    note += " ends the search sooner on a slower machine."
    return section("How to repeat it", f'{content}<p class="note">{note}</p>')


def _code(text: str) -> str:
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>'


def program(source: Source) -> str:
    """Return a Python program that repeats the search."""
    features = list(source.targets[0].entry.equation.feature_names)
    targets = [target.name for target in source.targets]
    chosen: Any = targets[0] if len(targets) == 1 else targets
    path = _path(source)
    arguments = changed(source.model)
    own = [name for name, value in arguments.items() if not _is_literal(value)]
    written = ", ".join(
        f"{name}=..." if name in own else f"{name}={value!r}" for name, value in arguments.items()
    )
    lines = ["import pandas as pd", "", "from gsr import GSRRegressor", ""]
    lines += [f"table = pd.read_csv({path!r})"]
    lines += [f"X, y = table[{_listed(features)}], table[{json.dumps(chosen, ensure_ascii=False)}]"]
    lines += [f"model = GSRRegressor({written}).fit(X, y)"]
    lines += [f"# {name} was an object of your own: put it in" for name in own]
    return "\n".join([*lines, "print(model.equations_)"])


def _path(source: Source) -> str:
    found = source.result.get("data")
    path = found.get("path") if isinstance(found, Mapping) else found
    return "data.csv" if path in (None, "", "-") else str(path)


def _listed(names: list[str]) -> str:
    return json.dumps(names, ensure_ascii=False)


def _is_literal(value: Any) -> bool:
    if isinstance(value, list | tuple | set):
        return all(map(_is_literal, value))
    if isinstance(value, dict):
        return all(map(_is_literal, (*value, *value.values())))
    return isinstance(value, LITERAL)
