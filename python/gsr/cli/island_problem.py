"""The problem of a cluster run: the table, the model to fit, and how islands differ.

All mistakes are reported at once, with keys and lines, before anything starts.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from gsr import files, library, options, prior, search
from gsr.blueprint import Blueprint, Variant, settings_values
from gsr.cli.fit_data import FitData, load
from gsr.cli.named_estimator import NamedRegressor
from gsr.exceptions import GSRError
from gsr.problem import Problem, core_settings
from gsr.rows import Rows
from gsr.runs.config import Config
from gsr.runs.culprits import Culprits

log = logging.getLogger(__name__)
#: Sections that say what is searched for.
OF_THE_PROBLEM = ("data", "library", "search", "run", "log")
PATH, TARGET = ("data", "path"), ("data", "target")


@dataclass(frozen=True, eq=False)
class ClusterProblem:
    """What a cluster run searches for."""

    #: The settings, with the target by its name in the table; and the table.
    config: Config
    data: FitData
    #: What is fitted in the end, what the search is about, and the rows that are held out.
    model: NamedRegressor
    problem: Problem
    held: Rows | None


def pose(config: Config, origin: str, ranks: int) -> ClusterProblem:
    """Read the table of a configuration, and make the problem of a run on so many ranks.

    Raises
    ------
    GSRError
        Lists all mistakes in the configuration, whose file is `origin`.
    """
    culprits = Culprits(config)
    culprits.attempt(_check_parameters, OF_THE_PROBLEM)
    data = _loaded(culprits)
    posed = None if data is None else _posed(culprits, data, ranks)
    culprits.raise_told(origin)
    assert data is not None
    assert posed is not None
    return ClusterProblem(config.changed({TARGET: data.columns[0]}), data, *posed)


def _loaded(culprits: Culprits) -> FitData | None:
    source = culprits.attempt(lambda config: files.Source(config.data_path()), (), PATH)
    if source is None:
        return None
    remarks: list[str] = []
    data = culprits.attempt(lambda config: _load(source, config, remarks), ("data",), PATH)
    for each in remarks if data is not None else ():
        level = logging.WARNING if each.startswith("WARNING: ") else logging.INFO
        log.log(level, "%s", each.removeprefix("WARNING: "))
    return data


def _posed(
    culprits: Culprits, data: FitData, ranks: int
) -> tuple[NamedRegressor, Problem, Rows | None] | None:
    if not culprits.config.is_set(*TARGET):
        return None  # without a target, whatever else is found would be misleading
    posed = culprits.attempt(lambda config: _pose(config, data, ranks), OF_THE_PROBLEM)
    if posed is not None:
        _, problem, _ = posed
        variants = _variants(culprits, problem.blueprint)
        problem.blueprint = replace(problem.blueprint, variants=variants)
    return posed


def _check_parameters(config: Config) -> None:
    """Check what can be checked without data."""
    asked = config.estimator_options()
    core_settings(NamedRegressor(**asked).get_params(deep=False))
    for name in ("library", "target_library"):
        if name in asked:
            library.resolve(asked[name])


def _load(source: files.Source, config: Config, remarks: list[str]) -> FitData:
    if isinstance(config.get("data", "target"), list):
        raise GSRError(
            "it must be one column here; start a run for each target, for instance with an array "
            "of jobs"
        )
    remarks.clear()
    return load(source, config, remarks.append)


def _pose(config: Config, data: FitData, ranks: int) -> tuple[NamedRegressor, Problem, Rows | None]:
    asked = config.estimator_options()
    asked["n_jobs"] = n_threads(config, ranks)
    model = NamedRegressor(**asked).named(data.names, *data.targets)
    problem, held = model.pose(data.X, data.y, data.weights, data.sigma)
    changed = {
        **problem.blueprint.settings,
        "n_threads": max(1, asked["n_jobs"] // config.get("islands", "per_rank")),
        "max_evaluations": 0,  # the limit is that of all islands together
    }
    problem.blueprint = replace(problem.blueprint, settings=changed)
    problem.blueprint.island()  # raises if the core refuses the settings
    return model, problem, held


def n_threads(config: Config, ranks: int) -> int:
    """Return the threads of a rank: all cores for one, a core for each of many."""
    if ranks > 1 and not config.is_set("run", "n_jobs"):
        return int(config.get("islands", "per_rank"))
    return search.n_threads(config.get("run", "n_jobs"))


def _variants(culprits: Culprits, blueprint: Blueprint) -> list[Variant]:
    """Return how islands differ, and note the mistakes."""
    asked = culprits.config.estimator_options()
    found = []
    for number, table in enumerate(culprits.config.get("islands", "variants") or [{}], start=1):
        try:
            found.append(_variant(table, asked, blueprint))
        except GSRError as error:
            name = _culprit(table, asked, blueprint)
            path = ("islands", "variants", str(number), *([] if name is None else [name]))
            culprits.tell(path, f"table {number}: {error}")
    return found


def _culprit(table: dict[str, Any], asked: dict[str, Any], blueprint: Blueprint) -> str | None:
    """Return the key without which a variant is valid."""
    for name in table:
        with suppress(GSRError):
            _variant({key: value for key, value in table.items() if key != name}, asked, blueprint)
            return name
    return None


def _variant(changes: dict[str, Any], asked: dict[str, Any], blueprint: Blueprint) -> Variant:
    """Return how an island differs from the others."""
    rules = None
    changes = dict(changes)
    if "allow" in changes or "forbid" in changes:
        allow, forbid = (changes.pop(name, asked.get(name)) for name in ("allow", "forbid"))
        found = prior.forbidden(
            allow, forbid, blueprint.library, blueprint.names, blueprint.target_name
        )
        rules = {name: sorted(codes) for name, codes in found.items()}
    values = {**blueprint.settings, **changes}
    known = {
        name: values[name] for name in (*options.SEARCH_OPTIONS, *options.ADMM_OPTIONS, "solver")
    }
    encoding = {name: known.pop(name) for name in options.ENCODING_OPTIONS}
    checked = settings_values(
        options.make_settings(asked.get("preset", "default"), encoding, known)
    )
    variant = Variant({name: checked[name] for name in changes}, rules)
    if variant != Variant():
        replace(blueprint, variants=[variant]).island()  # raises if the core refuses the settings
    return variant
