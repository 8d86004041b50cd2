"""The problem of one search: what is asked, on which rows, with what is known before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from gsr import _core, options, prior, search, selection, validation
from gsr.blueprint import Blueprint, start_from
from gsr.core_settings import settings_of
from gsr.encoding import evaluate
from gsr.equation import Equation
from gsr.exceptions import GSRError, about
from gsr.library import Library, resolve
from gsr.progress import current_law
from gsr.rows import MAX_ROWS, Rows, choose_subset
from gsr.selection import FrontEntry, criteria, target_scale
from gsr.selection.fitted import LawLike, Training, weights
from gsr.selection.noise import Loss, Noise, given, neighbour_residuals, of_kind
from gsr.selection.noise_choice import Explained, noise_of_weights
from gsr.selection.residuals import MOST_ROWS
from gsr.selection.target_scale import TargetScale
from gsr.selection.variants import with_freed_constants
from gsr.traits import TRAITS
from gsr.transformation import Array

if TYPE_CHECKING:
    from gsr.islands.archipelago import LocalIslands

#: The paper's appendix table for its own preset, every built-in transformation otherwise.
DEFAULT_LIBRARY = {"paper": "table13", "default": "all"}
#: Target transformations are those of the library that are not trigonometric (paper, Appendix A).
NOT_FOR_TARGETS = {
    preset: {name for name, traits in TRAITS.items() if preset in traits.not_for_targets}
    for preset in DEFAULT_LIBRARY
}
#: What is known about laws as a whole.
OF_PRIOR = ("units", "required_terms", "start", "max_terms", "max_complexity", "constraints")
#: Weights that differ by more than this, in powers of two, in half of the rows are others.
DIFFERENT_WEIGHTS = 0.5
#: Mean change of the weights from which outliers are others.
OTHER_OUTLIERS = 0.05
#: Seconds that the tests of residuals take for a number of the table; the part of `max_time` that
#: they may take; rows that they look at however little time there is.
SECONDS_PER_NUMBER = 2e-6
LONGEST_VERDICT = 0.25
LEAST_VERDICT_ROWS = 1000
#: Rows of scans under noise, in units of the usual number, at most.
MOST_SCANNED = 4.0
#: Parameters that may change while a search goes on (warm_start).
OF_THE_RUN = ("max_time", "max_evals", "max_generations", "verbose", "callback", "warm_start")


@dataclass(eq=False)
class Problem:
    """What one search is about."""

    parameters: Mapping[str, Any]
    blueprint: Blueprint
    everything: Training | None
    noise: Noise = field(default_factory=Noise)
    errors: str = "fixed"
    weights: Array | None = None
    x_sigma: Array | None = None

    @cached_property
    def data(self) -> Training:
        """The rows that the search looks at."""
        of = self.blueprint
        tables = of.library, of.target_library
        return Training(
            *tables, of.X, of.y, self.weights, self.noise, x_sigma=self.x_sigma, loss=self.loss
        )

    @property
    def loss(self) -> Loss:
        """What fits minimise."""
        return Loss(self.parameters["loss"], self.parameters["quantile"])

    @property
    def is_counted(self) -> bool:
        """Whether the search ends after so much work, and should not depend on the clock before."""
        return any(self.parameters[name] is not None for name in ("max_evals", "max_generations"))

    @property
    def verdict_rows(self) -> int:
        """How many rows there is time for to look for structure in the residuals of a law."""
        n_rows, n_features = (self.everything or self.data).X.shape
        most = self._longest_verdict / (SECONDS_PER_NUMBER * n_features)
        return int(min(n_rows, MOST_ROWS, max(most, LEAST_VERDICT_ROWS)))

    @property
    def verdict_seconds(self) -> float:
        """About the time that this takes."""
        numbers = self.verdict_rows * len(self.blueprint.names)
        return min(SECONDS_PER_NUMBER * numbers, self._longest_verdict)

    @property
    def _longest_verdict(self) -> float:
        max_time: float | None = self.parameters["max_time"]
        return math.inf if max_time is None else LONGEST_VERDICT * max_time

    def differs(self, data: Training) -> bool:
        """Whether rows are weighted so differently that the search should start anew."""
        if data.noise.kind != self.noise.kind:
            return True
        if data.weights is None or self.data.weights is None:
            return (data.weights is None) != (self.data.weights is None)
        ratios = np.abs(np.log2(data.weights / self.data.weights))
        return bool(np.median(ratios) > DIFFERENT_WEIGHTS)

    def weighted(self, best: Explained) -> Problem:
        """Return the same problem with rows weighted for noise around a law."""
        return replace(self, noise=best.data.noise).around(best.law)

    def around(self, law: LawLike) -> Problem:
        """Return the problem with the weights that its noise has around a law."""
        data = _around(law, self.data, self.noise)
        everything = self.everything and _around(law, self.everything, self.noise)
        blueprint = replace(self.blueprint, weights=data.weights)
        found = replace(
            self, blueprint=blueprint, everything=everything, noise=data.noise, weights=data.weights
        )
        return found.resisting(law)

    def resisting(self, law: LawLike | None = None) -> Problem:
        """Return the problem with outliers counting less in the search, if the loss is such.

        Outliers are those of a law; of the median of their neighbours unless one is given.
        """
        if self.loss.is_squared or (law is None and self.loss.kind == "quantile"):
            return self
        if law is None:
            residuals = neighbour_residuals(self.data.X, self.data.y)
        else:
            residuals = target_scale.residuals(law, self.data)
        if not np.isfinite(residuals).all():
            return self
        rows = self.data.reweighted(self.loss.search_weights(residuals))
        return replace(self, blueprint=replace(self.blueprint, weights=rows.weights))

    def resists_differently(self, other: Problem) -> bool:
        """Whether other rows are outliers of the law of another problem."""
        ones = np.ones(len(self.data.y))
        here, there = (
            ones if p.blueprint.weights is None else p.blueprint.weights for p in (self, other)
        )
        return bool(np.abs(here - there).mean() > OTHER_OUTLIERS)

    @property
    def rows_left(self) -> int:
        """How many more rows there are that the search may look at."""
        if self.everything is None or self.parameters["max_rows"] is not None:
            return 0
        return len(self.everything.y) - len(self.data.y)

    def with_rows(self, n_rows: int, law: LawLike) -> Problem:
        """Return the same problem on more rows, because of the noise around a law."""
        assert self.everything is not None, "there are more rows"
        of, every = self.blueprint, self.everything
        chosen = choose_subset(every.X, every.y, n_rows, int(of.settings["seed"]))
        seen = every.take(chosen)
        factor = min(len(chosen) / len(of.y), MOST_SCANNED)
        blueprint = replace(
            of.with_rows(seen.X, seen.y, seen.weights),
            settings={**of.settings, "scan_factor": max(factor, 1.0)},
        )
        found = replace(
            self, blueprint=blueprint, everything=every if len(chosen) < len(every.y) else None,
            weights=seen.weights, noise=seen.noise, x_sigma=seen.x_sigma,
        )  # fmt: skip
        return found.resisting(law)

    def with_weighted_noise(self, law: LawLike) -> Problem:
        """Return the problem with noise that follows the weights of the rows, if it does so."""
        noise = noise_of_weights(law, self.data)
        everything = self.everything and replace(self.everything, noise=noise)
        return replace(self, noise=noise, everything=everything)

    def after(self, generations: int, evaluations: int, stage: int) -> Problem:
        """Return the problem for a search that goes on with other weights after so much work."""
        settings = dict(self.blueprint.settings)
        settings["plain_stages_done"] = max(stage, settings.get("plain_stages_done", 0))
        for name, used in (("max_evaluations", evaluations), ("max_generations", generations)):
            if settings[name]:
                settings[name] = max(settings[name] - used, 1)
        return replace(self, blueprint=replace(self.blueprint, settings=settings))

    def left_out(self, scanned: Sequence[int]) -> list[str]:
        """Name the features that vary beside those that a guide combines, numbered from 1."""
        if not scanned:
            return []
        of, kept = self.blueprint, {number - 1 for number in scanned}
        others = [j for j in range(len(of.names)) if j not in kept]
        return [of.names[j] for j in others if np.ptp(of.X[:, j]) > 0.0]

    def current(self, laws: Sequence[Any]) -> str:
        """Write the law that would be chosen now, roughly."""
        law = current_law(laws, len(self.data.y))
        return "" if law is None else str(self.blueprint.equation(law))

    def admits(self, law: Any) -> bool:
        """Whether a law satisfies all prior knowledge: the last check before it is shown."""
        constants = bool(self.blueprint.settings["constants"])
        return (constants or not weights(law)) and self.blueprint.admits(law)

    def freed(self, laws: Sequence[LawLike], until: float | None = None) -> list[LawLike]:
        """Return variants of the best laws with more constants, where the encoding has them."""
        settings = self.blueprint.settings
        if not settings["constants"]:
            return []
        return with_freed_constants(
            laws,
            self.data,
            self.admits,
            shifts=settings["one"],
            nested=settings["depth"] > 1,
            until=until,
        )

    def entries(
        self, laws: Sequence[Any], held: Rows | None, until: float | None = None
    ) -> list[FrontEntry]:
        """Return laws, refined and with the shape that is asked for.

        `held` are rows that are held out; refining stops at `until`, on `time.perf_counter`.
        """
        equation = self.blueprint.equation
        found = selection.front(laws, equation, self.data, self.everything, until, self.admits)
        found = self._acceptable(found)
        if held is not None:
            found = [replace(entry, held_error=partial(_error, held)) for entry in found]
        return [replace(entry, verdict_rows=self.verdict_rows) for entry in found]

    @property
    def keeps_exact_laws(self) -> bool:
        """Whether a law that is exact in the search stays so: on all rows, and in its shape."""
        return self.everything is None and self.blueprint.checker is None

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
        """Whether a search for the other problem is one for this, too."""
        return self._key() == other._key() and all(
            np.array_equal(a, b) for a, b in zip(self._arrays(), other._arrays(), strict=True)
        )

    def _key(self) -> tuple[Any, ...]:
        fixed = {k: v for k, v in self.parameters.items() if k not in OF_THE_RUN}
        of = self.blueprint
        return fixed, of.names, of.target_name, of.weights is None

    def _arrays(self) -> tuple[Array, Array, Array, Array]:
        of, nothing = self.blueprint, np.ones(0)
        weights = nothing if of.weights is None else of.weights
        return of.X, of.y, weights, nothing if self.x_sigma is None else self.x_sigma


def _around(law: LawLike, data: Training, noise: Noise) -> Training:
    values = TargetScale(law, data).solve(data.X, data.y)
    return data.with_noise(noise, np.where(np.isfinite(values), values, data.y))


def _error(rows: Rows, equation: Equation) -> float:
    """Return the root mean square error of the predictions; infinite if one is missing."""
    residuals = rows.y - equation.solution(rows.X).values
    error = float(np.sqrt(np.average(residuals**2, weights=rows.weights)))
    return error if np.isfinite(error) else float("inf")


# ---- from parameters -----------------------------------------------------------------------------


def core_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Check the estimator's parameters, and return the core's settings by name."""
    asked = SimpleNamespace(**parameters)
    hyper = options.check_hyperparameters(asked.hyperparameters)
    settings = settings_of({**parameters, **hyper})
    options.check_parameters(parameters)
    criteria.check(asked.criterion)
    if asked.n_jobs == 0:
        raise GSRError("n_jobs must be a number of threads, or -1 for all cores, got 0", "n_jobs")
    if asked.callback is not None and not callable(asked.callback):
        raise GSRError(f"callback must be callable, got {asked.callback!r}")
    return {
        **settings,
        "max_generations": asked.max_generations or 0,
        "max_evaluations": asked.max_evals or 0,
        "seed": int(check_random_state(asked.random_state).randint(2**31 - 1)),
        "n_threads": search.n_threads(asked.n_jobs),
    }


def make_problem(
    parameters: Mapping[str, Any],
    known: Rows,
    names: Sequence[str],
    target_name: str,
    settings: Mapping[str, Any],
) -> Problem:
    """Make the problem of a search from the estimator's parameters and the rows not held out.

    `settings` are those of `core_settings`.
    """
    asked = SimpleNamespace(**parameters)
    library, target_library, rules = _libraries(asked, known, names, target_name)
    max_rows = MAX_ROWS if asked.max_rows is None else asked.max_rows
    seen = known.take(choose_subset(known.X, known.y, max_rows, settings["seed"]))
    tables = (library, target_library)
    everything = _training(known, *tables, asked) if len(seen) < len(known) else None
    searched = _training(seen, *tables, asked)
    blueprint = Blueprint(
        library, target_library, names, target_name, settings,
        np.asfortranarray(seen.X), seen.y, searched.weights, rules=rules,
    )  # fmt: skip
    blueprint = _with_prior(blueprint, asked)
    _check_solver(asked, blueprint)
    is_open = asked.errors == "auto" and known.weights is None and known.precision is None
    errors = "auto" if is_open and settings["solver"] != "printed" else "fixed"
    problem = Problem(
        parameters, blueprint, everything, searched.noise, errors, searched.weights, seen.x_sigma
    )
    return problem.resisting()


def _libraries(
    asked: SimpleNamespace, known: Rows, names: Sequence[str], target_name: str
) -> tuple[Library, Library, dict[str, set[str]]]:
    """Return the transformations of the features and the target, and what each must not have."""
    with about("library"):
        library = resolve(asked.library or DEFAULT_LIBRARY[asked.preset])
        validation.check_library(library, known.X, names, quiet=asked.library is None)
    rules = prior.forbidden(asked.allow, asked.forbid, library, names, target_name)
    with about("target_library"):
        target_library = validation.usable_target_library(
            _target_library(asked, library),
            known.y,
            target_name,
            quiet=asked.target_library is None,
        )
    return library, prior.without(target_library, rules[target_name]), rules


def _training(rows: Rows, library: Library, target_library: Library, asked: Any) -> Training:
    """Return rows with the weights of their noise, as far as it is known before a search."""
    data = Training(
        library, target_library, rows.X, rows.y, rows.weights, x_sigma=rows.x_sigma,
        loss=Loss(asked.loss, asked.quantile),
    )  # fmt: skip
    errors, sigma = asked.errors, rows.sigma
    if sigma is not None and rows.precision is not None:
        return replace(data, noise=replace(given(sigma, rows.y), precision=rows.precision))
    if errors in ("auto", "constant"):
        return data
    return data.with_noise(of_kind(errors, rows.y), rows.y)


def _check_solver(asked: SimpleNamespace, blueprint: Blueprint) -> None:
    """Refuse what the paper's Algorithm 1, run to the letter, knows nothing of."""
    if blueprint.settings["solver"] != "printed":
        return
    knows = [name for name in OF_PRIOR if getattr(asked, name) is not None]
    weighted = blueprint.weights is not None
    knows += ["sample_weight, sigma or errors"] if weighted else []
    knows += ["loss"] if asked.loss != "squared" else []
    knows += ["allow and forbid"] if any(blueprint.rules.values()) else []
    if knows:
        raise GSRError(f"solver='printed' cannot be combined with {', '.join(knows)}", "solver")


def _target_library(asked: SimpleNamespace, library: Library) -> Library:
    if asked.target_library is not None:
        chosen = resolve(asked.target_library)
    else:
        names = zip(library.entries, library.names, strict=True)
        left_out = NOT_FOR_TARGETS[asked.preset]
        chosen = Library([e for e, name in names if name not in left_out])
    if asked.transform_target is False and "identity" not in chosen:
        chosen = Library([*chosen.entries, "identity"])
    return chosen


def _with_prior(blueprint: Blueprint, asked: SimpleNamespace) -> Blueprint:
    """Return the blueprint with what is known before the search."""
    names = (blueprint.names, blueprint.target_name)
    known: dict[str, Any] = {
        "constants_with_units": asked.constants_with_units,
        "shapes": asked.constraints,
    }
    if asked.units is not None:
        with about("units"):
            known["units"] = _units(asked.units, *names)
    if asked.required_terms is not None:
        with about("required_terms"):
            known["required"] = _required(asked, blueprint)
    blueprint = replace(blueprint, **known)
    with about("constraints"):
        _ = blueprint.checker  # raises what is wrong with the shapes
    if asked.start is not None:
        from gsr.prior.written_formula import parse

        of = blueprint
        data = Training(of.library, of.target_library, of.X, of.y, of.weights)
        with about("start"):
            laws = parse(asked.start, *names, of.library, of.target_library, data)
        blueprint = replace(blueprint, starts=[(law.psi, law.phi) for law in laws])
    return blueprint


def _units(units: Any, names: Sequence[str], target_name: str) -> tuple[Any, Any]:
    """Return the exponents of the features and of the target."""
    from gsr.prior.units import exponent_table

    features, target, bases = exponent_table(units, names, target_name)
    if len(bases) > _core.MAX_UNITS:
        raise GSRError(f"at most {_core.MAX_UNITS} base units can be used, got {bases}")
    return features, target


def _required(asked: SimpleNamespace, blueprint: Blueprint) -> Sequence[Any]:
    """Return the terms that every law must have."""
    from gsr.prior.written_formula import parse_terms

    required = parse_terms(
        asked.required_terms, blueprint.names, blueprint.library, blueprint.target_name
    )
    _check_required(asked.required_terms, required, blueprint)
    if asked.max_terms is not None and asked.max_terms < len(required):
        raise GSRError(
            f"max_terms={asked.max_terms} leaves no room for {len(required)} required terms",
            "max_terms",
            "required_terms",
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
    problem: Problem, earlier: Sequence[FrontEntry] = (), laws: Sequence[LawLike] = ()
) -> Any:
    """Return a new search that starts from laws, earlier ones only if they have its libraries."""
    several = problem.parameters["islands"] > 1
    evolution = _islands(problem) if several else problem.blueprint.island()
    first = evolution.first if several else evolution
    add_earlier(first, problem, earlier)
    for law in laws:
        start_from(first, law.psi, law.phi)
    return evolution


def _islands(problem: Problem) -> LocalIslands:
    from gsr.islands.archipelago import LocalIslands
    from gsr.islands.migration import default_migration

    n_islands = int(problem.parameters["islands"])
    of = problem.blueprint
    n_threads = int(of.settings["n_threads"])
    alone = {**of.settings, "n_threads": max(1, n_threads // n_islands), "max_evaluations": 0}
    migration = default_migration(n_islands, int(of.settings["seed"]))
    max_evals = problem.parameters["max_evals"]
    return LocalIslands(replace(of, settings=alone), n_islands, n_threads, migration, max_evals)


def add_earlier(island: Any, problem: Problem, earlier: Sequence[FrontEntry]) -> None:
    """Let an island start from laws that were found before, where they have its libraries."""
    of = problem.blueprint
    for entry in earlier:
        if entry.equation.library == of.library and (
            entry.equation.target_library == of.target_library
            and len(entry.equation.feature_names) == len(of.names)
        ):
            start_from(island, entry.law.psi, entry.law.phi)
