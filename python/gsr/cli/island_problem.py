"""What a run searches for: the table, the problem, and in what islands differ.

All that is wrong is told at once, with keys and lines, before anything starts.
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
from gsr.problem import Problem
from gsr.rows import Rows
from gsr.runs.config import Config
from gsr.runs.mistakes import Mistakes

PATH, TARGET = ("data", "path"), ("data", "target")


@dataclass(frozen=True, eq=False)
class Posed:
    """What a run searches for.

    Parameters
    ----------
    config : Config
        What was set; the target by its name in the table.
    data : FitData
        The table.
    remarks : list of str
        About the table.
    model : NamedRegressor
        To be fitted.
    problem : Problem
        What the search is about.
    held : Rows, optional
        Rows that are held out.
    """

    config: Config
    data: FitData
    remarks: list[str]
    model: NamedRegressor
    problem: Problem
    held: Rows | None


def pose(config: Config, origin: str, ranks: int) -> Posed:
    """Read the table of a configuration, and pose the problem.

    Parameters
    ----------
    config : Config
        What was set.
    origin : str
        Its file.
    ranks : int
        How many there are.

    Returns
    -------
    Posed

    Raises
    ------
    GSRError
        Tells all that is wrong.
    """
    mistakes = Mistakes(config)
    mistakes.attempt(_check_parameters)
    loaded = _loaded(mistakes)
    posed = None if loaded is None else _posed(mistakes, loaded[0], ranks)
    mistakes.raise_found(origin)
    assert loaded is not None
    assert posed is not None
    data, remarks = loaded
    config = config.changed({TARGET: data.columns[0]})
    return Posed(config, data, remarks, *posed)


def _loaded(mistakes: Mistakes) -> tuple[FitData, list[str]] | None:
    source = mistakes.attempt(lambda config: files.Source(config.data_path()), PATH)
    if source is None:
        return None
    return mistakes.attempt(lambda config: _load(source, config), PATH)


def _posed(
    mistakes: Mistakes, data: FitData, ranks: int
) -> tuple[NamedRegressor, Problem, Rows | None] | None:
    if not mistakes.config.is_set(*TARGET):
        return None  # it is wrong: what is known about it would be wrong too
    posed = mistakes.attempt(lambda config: _pose(config, data, ranks))
    if posed is not None:
        _, problem, _ = posed
        variants = _variants(mistakes, problem.blueprint)
        problem.blueprint = replace(problem.blueprint, variants=variants)
    return posed


def _check_parameters(config: Config) -> None:
    """Check what can be checked without data."""
    asked = config.estimator_options()
    NamedRegressor(**asked)._check_parameters()
    for name in ("library", "target_library"):
        if name in asked:
            with about(name):
                library.resolve(asked[name])


def _load(source: files.Source, config: Config) -> tuple[FitData, list[str]]:
    """Return the table, and remarks about it."""
    if isinstance(config.get("data", "target"), list):
        raise GSRError(
            "it must be one column here; start a run for each target, for instance with an array "
            "of jobs",
            "data.target",
        )
    remarks: list[str] = []
    return load(source, config, remarks.append), remarks


def _pose(config: Config, data: FitData, ranks: int) -> tuple[NamedRegressor, Problem, Rows | None]:
    asked = config.estimator_options()
    asked["n_jobs"] = n_threads(config, ranks)
    model = NamedRegressor(**asked).named(data.names, *data.targets)
    problem, held = model._pose(model._validate(data.X, data.y, data.weights, data.sigma))
    of = problem.blueprint
    changed = {
        **of.settings,
        "n_threads": max(1, asked["n_jobs"] // config.get("islands", "per_rank")),
        "max_evaluations": 0,  # all islands together have that limit
    }
    problem.blueprint = replace(of, settings=changed)
    problem.blueprint.island()  # tells what the core has against it
    return model, problem, held


def n_threads(config: Config, ranks: int) -> int:
    """Return the threads of a rank: all cores for one, a core for each of many."""
    if ranks > 1 and not config.is_set("run", "n_jobs"):
        return int(config.get("islands", "per_rank"))
    return search.n_threads(config.get("run", "n_jobs"))


def _variants(mistakes: Mistakes, of: Blueprint) -> list[Variant]:
    """Return in what islands differ; what is wrong with it is told."""
    asked = mistakes.config.estimator_options()
    found = []
    for number, table in enumerate(mistakes.config.get("islands", "variants") or [{}], start=1):
        try:
            found.append(_variant(table, asked, of))
        except GSRError as error:
            name = [each for each in error.options if each in table][:1]
            mistakes.note(("islands", "variants", str(number), *name), f"table {number}: {error}")
    return found


def _variant(changes: dict[str, Any], asked: dict[str, Any], of: Blueprint) -> Variant:
    """Return in what an island differs, if it may."""
    rules = None
    changes = dict(changes)
    if "allow" in changes or "forbid" in changes:
        allow, forbid = (changes.pop(name, asked.get(name)) for name in ("allow", "forbid"))
        found = prior.forbidden(allow, forbid, of.library, of.names, of.target_name)
        rules = {name: sorted(codes) for name, codes in found.items()}
    preset = asked.get("preset", "default")
    checked = settings_of({**of.settings, **changes, "preset": preset})
    variant = Variant({name: checked[name] for name in changes}, rules)
    if variant != Variant():
        replace(of, variants=[variant]).island()  # tells what the core has against it
    return variant
