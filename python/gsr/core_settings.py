"""Settings of the compiled core, by name: from the estimator's parameters, and to the core.

Defaults live in the compiled core (`gsr._core.Settings`), which are the paper's; a preset changes
some of them, and the parameters that are not None the others. Other processes get the values as
JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gsr import _core, options
from gsr.exceptions import GSRError
from gsr.options import Option
from gsr.value_types import Number

#: What a preset changes from the core's defaults.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "default": {
        "guided": True,
        "division": True,
        "differences": True,
        "one": True,
        "constants": True,
        "depth": 3,
    },
}
#: Settings of the core that are no options, or have another name there.
RUNNING = ("max_generations", "max_evaluations", "seed", "scan_factor", "n_threads", "max_bytes")


def core_options() -> dict[str, Option]:
    """Return the options that the core takes under the same name."""
    known = options.by_parameter()
    return {name: option for name, option in known.items() if option.core is not None}


def settings_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the core's settings by name, as JSON has them, or raise if they cannot be used.

    `parameters` are `preset` and options of the core; what is missing or None is the preset's.
    Other parameters are ignored.
    """
    known = core_options()
    options.check_parameters({"preset": parameters["preset"]})
    set_by_user = {k: v for k, v in parameters.items() if k in known and v is not None}
    given = {**PRESETS[parameters["preset"]], **set_by_user}
    options.check_parameters(given)
    values = {**_defaults(given.get("solver", "well_posed")), **given}
    _check_together(values)
    for name, value in given.items():
        kind = known[name].type
        values[name] = kind.kind(value) if isinstance(kind, Number) else value
    return values


def _defaults(solver: str) -> dict[str, Any]:
    """Return the core's own settings with a solver, without limits on laws."""
    settings, admm = _core.Settings(), getattr(_core.AdmmSettings, solver)()
    values = {name: getattr(settings, name) for name in RUNNING}
    for name, option in core_options().items():
        source = admm if option.core == "admm" else settings
        values[name] = None if option.core == "limits" else getattr(source, name)
    return {**values, "solver": solver}


def to_core(values: Mapping[str, Any], **more: Any) -> Any:
    """Return the core's settings of their values by name."""
    known = core_options()
    settings = _core.Settings()
    settings.solver = getattr(_core.SolverKind, values["solver"])
    admm = getattr(_core.AdmmSettings, values["solver"])()
    for name, value in {**values, **more}.items():
        part = known[name].core if name in known else "settings"
        if name != "solver" and part != "limits":
            setattr(admm if part == "admm" else settings, name, value)
    settings.admm = admm
    return settings


def limits(values: Mapping[str, Any]) -> dict[str, int]:
    """Return the limits on laws, which the core takes with its constraints; 0 for none."""
    known = core_options()
    return {k: v or 0 for k, v in values.items() if k in known and known[k].core == "limits"}


def _check_together(values: Mapping[str, Any]) -> None:
    for pair in (("min_factors", "max_factors"), ("min_multiplicity", "max_multiplicity")):
        (low, least), (high, most) = ((name, values[name]) for name in pair)
        if least > most:
            raise GSRError(f"{low}={least} is larger than {high}={most}", *pair)
    survivors, size = values["n_survivors"], values["population_size"]
    if survivors >= size:
        raise GSRError(
            f"n_survivors={survivors} must be smaller than population_size={size}: no new "
            "individuals would be born",
            "n_survivors",
            "population_size",
        )
    crossover, mutation = values["p_crossover"], values["p_mutation"]
    if crossover + mutation > 1.0:
        raise GSRError(
            f"p_crossover={crossover:g} and p_mutation={mutation:g} add up to more than 1",
            "p_crossover",
            "p_mutation",
        )
