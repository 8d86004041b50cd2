"""Options of the search: what they mean, what they may be, and the presets.

The defaults live in the compiled core (`gsr._core.Settings`); an option that is None takes the
preset's value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from typing import Any

from gsr import _core
from gsr.exceptions import GSRError, suggestion

#: The core counts with 32 bits.
LARGEST_INT = 2**31 - 1


@dataclass(frozen=True)
class Range:
    """Numbers that an option may be."""

    kind: type
    low: float
    high: float = math.inf

    def holds(self, value: object) -> bool:
        """Whether the value is such a number."""
        number = Integral if self.kind is int else Real
        if isinstance(value, bool) or not isinstance(value, number):
            return False
        return self.low <= float(value) <= self.high

    def __post_init__(self) -> None:
        if self.kind is int and math.isinf(self.high):
            object.__setattr__(self, "high", LARGEST_INT)

    def __str__(self) -> str:
        what = "a whole number" if self.kind is int else "a number"
        if math.isinf(self.high) or self.high == LARGEST_INT:
            return f"{what} of at least {self.low:g}"
        return f"{what} from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Choice:
    """Values that an option may be."""

    values: tuple[object, ...]

    def holds(self, value: object) -> bool:
        """Whether the value is one of them."""
        return any(value is v or (type(value) is type(v) and value == v) for v in self.values)

    def __str__(self) -> str:
        return " or ".join(map(repr, self.values))


MAX_FACTORS = int(_core.MAX_ROWS)
MAX_MULTIPLICITY = int(_core.MAX_VARIABLES)
_PROBABILITY = Range(float, 0.0, 1.0)
_COUNT = Range(int, 1)
_FLAG = Choice((True, False))

#: Options that go to the core under the same name.
SEARCH_OPTIONS: dict[str, Range | Choice] = {
    "n_phi": Range(int, 1, 200),
    "n_psi": Range(int, 1, 8),
    "min_factors": Range(int, 1, MAX_FACTORS),
    "max_factors": Range(int, 1, MAX_FACTORS),
    "n_target_factors": Range(int, 1, MAX_FACTORS),
    "min_multiplicity": Range(int, 1, MAX_MULTIPLICITY),
    "max_multiplicity": Range(int, 1, MAX_MULTIPLICITY),
    "transform_target": _FLAG,
    "population_size": Range(int, 2, 1_000_000),
    "n_survivors": _COUNT,
    "p_crossover": _PROBABILITY,
    "p_mutation": _PROBABILITY,
    "n_mutated": _COUNT,
    "sublibraries": _FLAG,
    "cycle_full": _COUNT,
    "cycle_polynomial": _COUNT,
    "cycle_trigonometric": _COUNT,
    "late_after": Range(int, 0),
    "late_stage": _COUNT,
    "target_stage": _COUNT,
    "guided": _FLAG,
    "division": _FLAG,
    "differences": _FLAG,
    "one": _FLAG,
    "constants": _FLAG,
    "depth": Range(int, 1, MAX_FACTORS),
    "epsilon": Range(float, 0.0),
    "relax_factor": Range(float, 1.0),
    "relax_interval": Range(int, 0),
}
#: Options of the coefficients' solver.
ADMM_OPTIONS: dict[str, Range] = {
    "lam": Range(float, 0.0),
    "rho": Range(float, 1e-12),
    "delta": Range(float, 0.0),
    "max_iterations": _COUNT,
}
SOLVERS = ("well_posed", "printed")
#: Search options that are parameters of the estimator; the others are its `hyperparameters`.
ENCODING_OPTIONS = (
    "transform_target",
    "guided",
    "division",
    "differences",
    "one",
    "constants",
    "depth",
)
HYPERPARAMETERS = (
    *(name for name in SEARCH_OPTIONS if name not in ENCODING_OPTIONS),
    *ADMM_OPTIONS,
    "solver",
)

#: What a preset changes from the core's defaults, which are the paper's hyper-parameters.
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


def check_option(name: str, value: object, allowed: Range | Choice) -> None:
    """Raise unless the value is None or allowed; the message names option and value."""
    if value is not None and not allowed.holds(value):
        raise GSRError(f"{name} must be {allowed}, got {value!r}")


def check_required(name: str, value: object, allowed: Range | Choice) -> None:
    """Raise unless the value is allowed; None is not."""
    if value is None or not allowed.holds(value):
        raise GSRError(f"{name} must be {allowed}, got {value!r}")


def suggests(init: Callable[..., None]) -> Callable[..., None]:
    """Let an estimator's constructor refuse misspelt parameters with a suggestion."""

    @wraps(init)
    def checked(self: Any, **parameters: Any) -> None:
        known = type(self)._get_param_names()
        for name in parameters:
            if name not in known:
                raise TypeError(unknown_parameter(name, known))
        init(self, **parameters)

    return checked


def unknown_parameter(name: str, known: Iterable[str]) -> str:
    """Return the message about a parameter that the estimator does not have."""
    hint = suggestion(name, known)
    if name in HYPERPARAMETERS:
        hint = f"; it is one of the hyperparameters: hyperparameters={{{name!r}: ...}}"
    return f"GSRRegressor has no parameter {name!r}{hint}"


def check_choice(name: str, value: object, values: tuple[str, ...]) -> None:
    """Raise unless the value is one of the names; the message suggests the nearest."""
    if value not in values:
        hint = suggestion(value, values)
        raise GSRError(f"{name} must be {Choice(values)}, got {value!r}{hint}")


def make_settings(
    preset: str, encoding: Mapping[str, Any], hyperparameters: Mapping[str, Any] | None = None
) -> Any:
    """Return the core's settings for a preset with some options changed."""
    check_choice("preset", preset, tuple(PRESETS))
    given = _checked_names(hyperparameters)
    changes = {k: v for k, v in {**encoding, **given}.items() if v is not None}
    chosen = {**PRESETS[preset], **changes}
    solver = chosen.pop("solver", "well_posed")
    check_choice("solver", solver, SOLVERS)
    settings = _core.Settings()
    settings.solver = getattr(_core.SolverKind, solver)
    admm = getattr(_core.AdmmSettings, solver)()
    for name, value in chosen.items():
        if name in ADMM_OPTIONS:
            check_option(name, value, ADMM_OPTIONS[name])
            setattr(admm, name, value)
        else:
            check_option(name, value, SEARCH_OPTIONS[name])
            setattr(settings, name, value)
    settings.admm = admm
    _check_together(settings)
    return settings


def _checked_names(hyperparameters: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if hyperparameters is None:
        return {}
    if not isinstance(hyperparameters, Mapping):
        raise GSRError(f"hyperparameters must be a mapping, got {hyperparameters!r}")
    for name in hyperparameters:
        if name not in HYPERPARAMETERS:
            hint = suggestion(name, HYPERPARAMETERS) or f"; there are {', '.join(HYPERPARAMETERS)}"
            raise GSRError(f"hyperparameters has no {name!r}{hint}")
    return hyperparameters


def _check_together(s: Any) -> None:
    for low, high in (
        ("min_factors", "max_factors"),
        ("min_multiplicity", "max_multiplicity"),
    ):
        if getattr(s, low) > getattr(s, high):
            raise GSRError(f"{low}={getattr(s, low)} is larger than {high}={getattr(s, high)}")
    if s.n_survivors >= s.population_size:
        raise GSRError(
            f"n_survivors={s.n_survivors} must be smaller than "
            f"population_size={s.population_size}: no new individuals would be born"
        )
    if s.p_crossover + s.p_mutation > 1.0:
        raise GSRError(
            f"p_crossover={s.p_crossover:g} and p_mutation={s.p_mutation:g} add up to more than 1"
        )
