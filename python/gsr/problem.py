"""The problem of one search: what is asked, on which rows, with what is known before."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gsr import _core, options, prior, search, selection, subset, validation
from gsr import rows as row_sets
from gsr.blueprint import Blueprint, settings_values, start_from
from gsr.encoding import evaluate
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.islands.local import LocalIslands
from gsr.islands.migration import default_migration
from gsr.library import Library, resolve
from gsr.progress import current_law
from gsr.rows import Rows
from gsr.selection import FrontEntry, criteria
from gsr.selection.fitted import Training
from gsr.transformation import Array

#: The paper's appendix table for its own preset, every built-in transformation otherwise.
DEFAULT_LIBRARY = {"paper": "table13", "default": "all"}
#: Target transformations are those of the library that are not trigonometric (paper, Appendix A).
NOT_FOR_TARGETS = ("cos", "sin", "tan")
#: What is known about laws as a whole.
OF_PRIOR = ("units", "required_terms", "start", "max_terms", "max_complexity", "constraints")
#: Parameters that may change while a search goes on (warm_start).
OF_THE_RUN = ("max_time", "max_evals", "max_generations", "verbose", "callback", "warm_start")


@dataclass(eq=False)
class Problem:
    """What one search is about.

    Parameters
    ----------
    parameters : mapping
        Those of the estimator.
    blueprint : Blueprint
        What islands are made of.
    everything : Training, optional
        All rows, if the search looks at some of them.
    """

    parameters: Mapping[str, Any]
    blueprint: Blueprint
    everything: Training | None

    @cached_property
    def data(self) -> Training:
        """The rows that the search looks at."""
        of = self.blueprint
        return Training(of.library, of.target_library, of.X, of.y, of.weights)

    def current(self, laws: Sequence[Any]) -> str:
        """Write the law that would be chosen now, roughly."""
        law = current_law(laws, len(self.data.y))
        return "" if law is None else str(self.blueprint.equation(law))

    def admits(self, law: Any) -> bool:
        """Tell whether a law keeps to all that is known: the last gate before it is shown."""
        return self.blueprint.admits(law)

    def entries(self, laws: Sequence[Any], held: Rows | None) -> list[FrontEntry]:
        """Return the laws, refined and with the shape that is asked for."""
        found = selection.front(laws, self.blueprint.equation, self.data, self.everything)
        found = self._acceptable(found)
        if held is not None:
            found = [replace(entry, held_out=_error(entry.equation, held)) for entry in found]
        return found

    def _acceptable(self, entries: list[FrontEntry]) -> list[FrontEntry]:
        """Return the entries that still have that shape with their refined constants."""
        checker = self.blueprint.checker
        if checker is None:
            return entries
        kept = [entry for entry in entries if checker.holds(entry.equation)]
        if not kept:
            raise GSRError("no law that satisfies the constraints was found; allow more time")
        return [replace(entry, accepts=checker.holds) for entry in kept]

    def is_same(self, other: Problem) -> bool:
        """Tell whether a search for the other problem is one for this, too."""
        return self._key() == other._key() and all(
            np.array_equal(a, b) for a, b in zip(self._arrays(), other._arrays(), strict=True)
        )

    def _key(self) -> tuple[Any, ...]:
        fixed = {k: v for k, v in self.parameters.items() if k not in OF_THE_RUN}
        of = self.blueprint
        return fixed, of.names, of.target_name, of.weights is None

    def _arrays(self) -> tuple[Array, Array, Array]:
        of = self.blueprint
        return of.X, of.y, np.ones(0) if of.weights is None else of.weights

    def adopt(self, other: Problem) -> None:
        """Take over what the core of the other problem refers to."""
        self.blueprint = other.blueprint


def _error(equation: Equation, rows: Rows) -> float:
    """Return the root mean square error of the predictions; infinite if one is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        residuals = rows.y - equation.predict(rows.X)
    error = float(np.sqrt(np.average(residuals**2, weights=rows.weights)))
    return error if np.isfinite(error) else float("inf")


# ---- from parameters -----------------------------------------------------------------------------


def core_settings(parameters: Mapping[str, Any]) -> Any:
    """Check the estimator's parameters, and return the core's settings."""
    asked = SimpleNamespace(**parameters)
    encoding = {name: parameters[name] for name in options.ENCODING_OPTIONS}
    settings = options.make_settings(asked.preset, encoding, asked.hyperparameters)
    for name, allowed in validation.PARAMETERS.items():
        options.check_option(name, parameters[name], allowed)
    options.check_required("max_rows", asked.max_rows, options.Range(int, row_sets.MIN_ROWS))
    options.check_required("islands", asked.islands, validation.PARAMETERS["islands"])
    options.check_choice("poles", asked.poles, selection.POLE_POLICIES)
    options.check_choice("missing", asked.missing, row_sets.MISSING)
    criteria.check(asked.criterion)
    if asked.n_jobs == 0:
        raise GSRError("n_jobs must be a number of threads, or -1 for all cores, got 0")
    if asked.callback is not None and not callable(asked.callback):
        raise GSRError(f"callback must be callable, got {asked.callback!r}")
    settings.max_generations = asked.max_generations or 0
    settings.max_evaluations = asked.max_evals or 0
    settings.seed = int(check_random_state(asked.random_state).randint(2**31 - 1))
    settings.n_threads = search.n_threads(asked.n_jobs)
    return settings


def make_problem(
    parameters: Mapping[str, Any],
    known: Rows,
    names: Sequence[str],
    target_name: str,
    settings: Any,
) -> Problem:
    """Make the search's problem of the estimator's parameters and the rows.

    Parameters
    ----------
    parameters : mapping
        Those of the estimator, by name.
    known : Rows
        The rows that are not held out.
    names : sequence of str
        The features.
    target_name : str
        The target.
    settings : Settings
        Those of the core, of `core_settings`.

    Returns
    -------
    Problem
    """
    asked = SimpleNamespace(**parameters)
    library = resolve(asked.library or DEFAULT_LIBRARY[asked.preset])
    validation.check_library(library, known.X, names, quiet=asked.library is None)
    rules = prior.forbidden(asked.allow, asked.forbid, library, names, target_name)
    target_library = validation.usable_target_library(
        _target_library(asked, library), known.y, target_name, quiet=asked.target_library is None
    )
    target_library = prior.without(target_library, rules[target_name])
    seen = known.take(subset.choose(known.X, known.y, asked.max_rows, settings.seed))
    everything = (
        Training(library, target_library, known.X, known.y, known.weights)
        if len(seen) < len(known)
        else None
    )
    blueprint = Blueprint(
        library, target_library, names, target_name, settings_values(settings),
        np.asfortranarray(seen.X), seen.y, seen.weights, rules=rules,
    )  # fmt: skip
    blueprint = _with_prior(blueprint, asked)
    _check_solver(asked, blueprint)
    return Problem(parameters, blueprint, everything)


def _check_solver(asked: SimpleNamespace, blueprint: Blueprint) -> None:
    """Refuse what the paper's Algorithm 1, run to the letter, knows nothing of."""
    if blueprint.settings["solver"] != "printed":
        return
    knows = [name for name in OF_PRIOR if getattr(asked, name) is not None]
    knows += ["sample_weight"] if blueprint.weights is not None else []
    knows += ["allow and forbid"] if any(blueprint.rules.values()) else []
    if knows:
        raise GSRError(f"solver='printed' cannot be combined with {', '.join(knows)}")


def _target_library(asked: SimpleNamespace, library: Library) -> Library:
    if asked.target_library is not None:
        chosen = resolve(asked.target_library)
    else:
        names = zip(library.entries, library.names, strict=True)
        left_out = NOT_FOR_TARGETS if asked.preset == "paper" else ()
        chosen = Library([e for e, name in names if name not in left_out])
    if asked.transform_target is False and "identity" not in chosen:
        chosen = Library([*chosen.entries, "identity"])
    return chosen


def _with_prior(blueprint: Blueprint, asked: SimpleNamespace) -> Blueprint:
    """Return the blueprint with what is known before the search."""
    names = (blueprint.names, blueprint.target_name)
    known: dict[str, Any] = {
        "constants_with_units": asked.constants_with_units,
        "max_terms": asked.max_terms,
        "max_complexity": asked.max_complexity,
        "shapes": asked.constraints,
    }
    if asked.units is not None:
        from gsr.prior.units import exponent_table

        features, target, bases = exponent_table(asked.units, *names)
        if len(bases) > _core.MAX_UNITS:
            raise GSRError(f"at most {_core.MAX_UNITS} base units can be used, got {bases}")
        known["units"] = (features, target)
    if asked.required_terms is not None:
        known["required"] = _required(asked, blueprint)
    blueprint = replace(blueprint, **known)
    _ = blueprint.checker  # tells what is wrong with the shapes
    if asked.start is not None:
        from gsr.prior.written_formula import parse

        of = blueprint
        data = Training(of.library, of.target_library, of.X, of.y, of.weights)
        laws = parse(asked.start, *names, of.library, of.target_library, data)
        blueprint = replace(blueprint, starts=[(law.psi, law.phi) for law in laws])
    return blueprint


def _required(asked: SimpleNamespace, blueprint: Blueprint) -> Sequence[Any]:
    """Return the terms that every law must have."""
    from gsr.prior.written_formula import parse_terms

    required = parse_terms(
        asked.required_terms, blueprint.names, blueprint.library, blueprint.target_name
    )
    _check_required(asked.required_terms, required, blueprint)
    if asked.max_terms is not None and asked.max_terms < len(required):
        raise GSRError(
            f"max_terms={asked.max_terms} leaves no room for {len(required)} required terms"
        )
    return required


def _check_required(terms: Any, required: Sequence[Any], data: Blueprint) -> None:
    """Name the required term that is undefined on the data, or does not vary."""
    shown = [terms] if isinstance(terms, str) else list(terms)
    for term, matrix in zip(shown, required, strict=True):
        with np.errstate(all="ignore"):
            values = evaluate([matrix], data.library, data.X)[:, 0]
        if not np.isfinite(values).all():
            raise GSRError(f"the required term {str(term)!r} is undefined on some rows")
        if np.ptp(values) == 0.0:
            raise GSRError(f"the required term {str(term)!r} is the same on all rows")


# ---- the search ----------------------------------------------------------------------------------


def make_evolution(
    problem: Problem, last: tuple[Problem, Any] | None = None, earlier: Sequence[FrontEntry] = ()
) -> Any:
    """Return the search: the last one if it goes on, else a new one.

    Parameters
    ----------
    problem : Problem
        What it is about.
    last : tuple of Problem and Evolution, optional
        A search that may go on.
    earlier : sequence of FrontEntry
        Laws that a new search starts from, where they have its libraries.

    Returns
    -------
    Evolution
    """
    if last is not None and problem.is_same(last[0]):
        # What the last run was asked with is what its laws were made with.
        problem.adopt(last[0])
        asked = problem.parameters
        last[1].extend(asked["max_generations"] or 0, asked["max_evals"] or 0)
        return last[1]
    if problem.parameters["islands"] > 1:
        return _islands(problem, earlier)
    evolution = problem.blueprint.island()
    add_earlier(evolution, problem, earlier)
    return evolution


def _islands(problem: Problem, earlier: Sequence[FrontEntry]) -> LocalIslands:
    n_islands = int(problem.parameters["islands"])
    of = problem.blueprint
    n_threads = int(of.settings["n_threads"])
    alone = {**of.settings, "n_threads": max(1, n_threads // n_islands), "max_evaluations": 0}
    migration = default_migration(n_islands, int(of.settings["seed"]))
    max_evals = problem.parameters["max_evals"]
    islands = LocalIslands(replace(of, settings=alone), n_islands, n_threads, migration, max_evals)
    add_earlier(islands.first, problem, earlier)
    return islands


def add_earlier(island: Any, problem: Problem, earlier: Sequence[FrontEntry]) -> None:
    """Let an island start from laws that were found before, where they have its libraries."""
    of = problem.blueprint
    for entry in earlier:
        if entry.equation.library == of.library and (
            entry.equation.target_library == of.target_library
            and len(entry.equation.feature_names) == len(of.names)
        ):
            start_from(island, entry.law.psi, entry.law.phi)
