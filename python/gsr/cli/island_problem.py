"""The problem of a cluster run: the table, the model to fit, and how islands differ.

All mistakes are reported at once, with keys and lines, before anything starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gsr import files, library, prior, search
from gsr.blueprint import Blueprint, Variant
from gsr.cli.fit_data import FitData, load
from gsr.cli.named_estimator import NamedRegressor
from gsr.core_settings import settings_of
from gsr.exceptions import GSRError, about
from gsr.problem import Problem, core_settings
from gsr.rows import Rows
from gsr.runs.config import Config, Mistakes

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
    mistakes = Mistakes(config)
    mistakes.attempt(_check_parameters)
    data = _loaded(mistakes)
    posed = None if data is None else _posed(mistakes, data, ranks)
    mistakes.raise_found(origin)
    assert data is not None
    assert posed is not None
    return ClusterProblem(config.changed({TARGET: data.columns[0]}), data, *posed)


def _loaded(mistakes: Mistakes) -> FitData | None:
    source = mistakes.attempt(lambda config: files.Source(config.data_path()), PATH)
    if source is None:
        return None
    return mistakes.attempt(lambda config: _load(source, config), PATH)


def _posed(
    mistakes: Mistakes, data: FitData, ranks: int
) -> tuple[NamedRegressor, Problem, Rows | None] | None:
    if not mistakes.config.is_set(*TARGET):
        return None  # without a target, whatever else is found would be misleading
    posed = mistakes.attempt(lambda config: _pose(config, data, ranks))
    if posed is not None:
        _, problem, _ = posed
        variants = _variants(mistakes, problem.blueprint)
        problem.blueprint = replace(problem.blueprint, variants=variants)
    return posed


def _check_parameters(config: Config) -> None:
    """Check what can be checked without data."""
    asked = config.estimator_options()
    core_settings(NamedRegressor(**asked).get_params(deep=False))
    for name in ("library", "target_library"):
        if name in asked:
            with about(name):
                library.resolve(asked[name])


def _load(source: files.Source, config: Config) -> FitData:
    if isinstance(config.get("data", "target"), list):
        raise GSRError(
            "it must be one column here; start a run for each target, for instance with an array "
            "of jobs",
            "data.target",
        )
    return load(source, config)


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


def _variants(mistakes: Mistakes, blueprint: Blueprint) -> list[Variant]:
    """Return how islands differ, and note the mistakes."""
    asked = mistakes.config.estimator_options()
    found = []
    for number, table in enumerate(mistakes.config.get("islands", "variants") or [{}], start=1):
        try:
            found.append(_variant(table, asked, blueprint))
        except GSRError as error:
            name = [each for each in error.options if each in table][:1]
            mistakes.note(("islands", "variants", str(number), *name), f"table {number}: {error}")
    return found


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
    preset = asked.get("preset", "default")
    checked = settings_of({**blueprint.settings, **changes, "preset": preset})
    variant = Variant({name: checked[name] for name in changes}, rules)
    if variant != Variant():
        replace(blueprint, variants=[variant]).island()  # raises if the core refuses the settings
    return variant
