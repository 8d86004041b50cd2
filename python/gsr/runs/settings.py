"""What may stand in a configuration file: sections, keys, and what each value may be.

The keys of `[search]` are the parameters of `GSRRegressor` that have no better place, and the
hyper-parameters of the paper; types and defaults are read from it, `SEARCH` explains them. A new
section is an entry of `SECTIONS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gsr import options, rows, selection, validation
from gsr.estimator import GSRRegressor
from gsr.islands import migration, topology
from gsr.runs.kinds import AnyOf, Flag, Kind, Pairs, TableOf, Tables, Text, Texts
from gsr.selection.loss import LOSSES
from gsr.selection.noise import ERRORS


@dataclass(frozen=True)
class Key:
    """A key of a section.

    Parameters
    ----------
    kind : Kind
        What the value may be.
    help : str
        One line; that of its group for a hyper-parameter of the paper.
    default : object
        The value if the file has none; None means that it depends, which `help` explains.
    example : object
        Shown in the example file, where there is no default or it depends.
    parameter : str, optional
        The parameter of `GSRRegressor` that it sets.
    detail : str
        One line about the key itself, where `help` is about its group.
    """

    kind: Kind
    help: str
    default: Any = None
    example: Any = None
    parameter: str | None = None
    detail: str = ""

    @property
    def shown(self) -> Any:
        """An example, the default, or a value that is allowed."""
        if self.default is not None or self.example is not None:
            return self.default if self.example is None else self.example
        if isinstance(self.kind, options.Choice):
            return self.kind.values[0]
        if isinstance(self.kind, options.Range):
            return max(self.kind.kind(self.kind.low), 1)
        return "..."


FLAG = Flag()
COLUMN = AnyOf((Text(), options.Range(int, 1)))
COLUMNS = Texts("columns, by name or by number from 1", numbers=True)
LIBRARY = AnyOf((Text(), Texts("transformations")))
PER_VARIABLE = TableOf(Texts("transformations"))

DATA = {
    "path": Key(
        Text(),
        "the table: CSV, TSV, NPY, NPZ, Parquet or Excel, compressed or not; relative to this file",
        example="data.csv",
    ),
    "target": Key(
        AnyOf((COLUMN, COLUMNS)),
        "the column to explain, by name or number, or a list; gsr fit takes the last by default",
        None,
        "y",
    ),
    "features": Key(
        COLUMNS, "columns that may enter the law; default: all others", None, ["x1", "x2"]
    ),
    "drop": Key(COLUMNS, "columns to leave out", []),
    "header": Key(FLAG, "whether the first row holds names; default: found out", None, True),
    "delimiter": Key(
        Text(), 'between fields: ",", ";", "tab", "space"; default: found out', None, ","
    ),
    "sheet": Key(Text(), "sheet of an Excel workbook; default: the first", None, "Sheet1"),
    "weights": Key(COLUMN, "a column with the weight of each row; default: none", None, "weight"),
    "errors": Key(
        COLUMN,
        "a column with the standard deviation of the target in each row, or how errors grow with "
        f"the target: {', '.join(ERRORS)}; default: auto",
        None,
        "sigma",
        parameter="errors",
    ),
    "missing": Key(
        options.Choice(rows.MISSING),
        "rows that miss a value are a mistake, or left out",
        "raise",
        parameter="missing",
    ),
    "units": Key(
        TableOf(Text()),
        "units of the features and the target; laws must agree with them; default: none",
        None,
        {"x1": "m", "x2": "1", "y": "m/s"},
        parameter="units",
    ),
}
LIBRARIES = {
    "features": Key(
        LIBRARY,
        'transformations of the features: names, or "all", "table2", "table13"; default: all',
        None,
        ["identity", "inverse", "sqrt", "sin", "exp", "ln"],
        parameter="library",
    ),
    "target": Key(
        LIBRARY,
        "transformations of the target; default: those of the features",
        None,
        ["identity", "ln"],
        parameter="target_library",
    ),
    "allow": Key(
        PER_VARIABLE,
        "for a variable (* for all features), the only transformations that it may stand in",
        None,
        {"x1": ["identity", "sin"]},
        parameter="allow",
    ),
    "forbid": Key(
        PER_VARIABLE,
        "for a variable (* for all features), transformations that it must not stand in",
        None,
        {"x2": ["exp"]},
        parameter="forbid",
    ),
}
#: The run folder of a cluster run that names none.
ISLANDS_OUTPUT = "run"
RUN = {
    "output": Key(
        Text(),
        "the run folder, relative to where gsr runs; default: none (gsr fit), run (gsr islands)",
        None, ISLANDS_OUTPUT,
    ),
    "overwrite": Key(FLAG, "replace the results in the run folder, and files that exist", False),
    "max_time": Key(
        options.Range(float, 0.0), "seconds; inf for no limit", 10.0, parameter="max_time"
    ),
    "max_evals": Key(
        options.Range(int, 1), "candidates to try at most; default: no limit", None, 1_000_000,
        parameter="max_evals",
    ),
    "seed": Key(
        options.Range(int, 0), "the same seed gives the same laws; default: drawn, and told", None,
        0, parameter="random_state",
    ),
    "n_jobs": Key(
        options.Range(int, -1024),
        "threads of a process, -1 for all cores; default: all, but under mpirun or srun one for "
        "each island",
        -1, 1, parameter="n_jobs",
    ),
}  # fmt: skip
#: Options of `[search]` that may differ between islands; not those that say when a law is accepted.
VARIANT_OPTIONS = tuple(
    name
    for name in (*options.SEARCH_OPTIONS, *options.ADMM_OPTIONS, "solver")
    if name not in ("epsilon", "relax_factor", "relax_interval")
)
ISLANDS = {
    "per_rank": Key(
        validation.PARAMETERS["islands"],
        "islands in a process, a thread each",
        1,
        parameter="islands",
    ),
    "topology": Key(
        options.Choice(topology.TOPOLOGIES),
        "which islands are neighbours of which",
        migration.DEFAULTS["topology"],
    ),
    "edges": Key(
        Pairs("islands, from and to, numbered from 0"),
        'neighbours one by one, if topology is "edges"; default: none',
        None,
        [[0, 1], [1, 0]],
    ),
    "migration": Key(
        options.Choice(topology.MIGRATIONS),
        "to one of the neighbours in turn, or to all",
        migration.DEFAULTS["migration"],
    ),
    "interval": Key(
        options.Range(int, 1),
        "work between two migrations, in individuals",
        migration.DEFAULTS["interval"],
    ),
    "migrants": Key(
        options.Range(int, 1, 1000),
        "individuals that migrate at a time",
        migration.DEFAULTS["migrants"],
    ),
    "selection": Key(
        options.Choice(("best", "random")),
        "which individuals migrate",
        migration.DEFAULTS["selection"],
    ),
    "replacement": Key(
        options.Choice(("fair", "worst", "random")),
        "whom they replace: the worst if they are better, the worst, or any",
        migration.DEFAULTS["replacement"],
    ),
    "knowledge": Key(
        FLAG,
        "whether islands tell each other their laws, and which left sides g(y) promise much",
        migration.DEFAULTS["knowledge"],
    ),
    "mode": Key(
        options.Choice(("throughput", "deterministic")),
        "nobody waits; or in lock-step, so that the same seed and ranks give the same laws",
        "throughput",
    ),
}
CHECKPOINT = {
    "interval": Key(
        options.Range(float, 0.1),
        "seconds between two checkpoints; inf: at the end and on signals only",
        60.0,
    ),
    "keep": Key(options.Range(int, 1, 1000), "checkpoints of an island that are kept", 3),
    "resume": Key(FLAG, "go on from the checkpoints in the run folder; false: begin anew", True),
}
LOG = {
    "verbose": Key(
        FLAG,
        "show progress; default: on a terminal only (gsr fit), if the level is info (gsr islands)",
        None,
        True,
        parameter="verbose",
    ),
    "level": Key(
        options.Choice(("error", "warning", "info")), "messages to show: this and worse", "info"
    ),
}
#: Parameters of the estimator that no file can hold.
NOT_IN_FILES = ("callback", "warm_start", "hyperparameters")
CHOICES = {
    "preset": tuple(options.PRESETS),
    "solver": options.SOLVERS,
    "poles": selection.POLE_POLICIES,
    "loss": LOSSES,
}
#: Shown for parameters that have neither a default nor a preset's value.
EXAMPLES: dict[str, Any] = {
    "required_terms": ["x1*x2"],
    "start": "y = a*x1^2 + b*sin(x2)",
    "constraints": {"x1": "increasing", "y": "positive"},
    "max_generations": 1000,
    "max_rows": 1000,
    "max_terms": 5,
    "max_complexity": 40,
    "validation_fraction": 0.2,
}
SHAPES = AnyOf((Text(), Texts("shapes")))
#: Parameters whose annotation says too little about what a file may hold.
KINDS: dict[str, Kind] = {
    "required_terms": Texts("terms"),
    "start": AnyOf((Text(), Texts("formulas"))),
    "constraints": TableOf(SHAPES),
    "criterion": Text(),
}
OF_THE_PAPER = "hyper-parameters of the paper"
#: What the keys of `[search]` mean, one line each.
SEARCH = {
    "preset": "what keys that are not set here take their values from",
    "transform_target": "look for g(y) = f(x); false: for y = f(x) only (the paper's s-GSR)",
    "constants_with_units": "whether fitted constants may carry units",
    "required_terms": "terms of f(x) that every law must have; default: none",
    "start": "a known formula, or several, to start from; default: none",
    "max_terms": "terms of a law at most, beside the constant; default: no limit",
    "max_complexity": "nodes of a law at most; default: no limit",
    "constraints": "shapes that laws must have between the rows: increasing, decreasing, convex or "
    "concave in a feature; a positive, negative, nonnegative or nonpositive target; default: none",
    "division": "laws may have reciprocals and quotients",
    "differences": "laws may have minus signs in sums inside functions",
    "one": "laws may have the number 1 inside functions, as in ln(1 + x)",
    "constants": "laws may have fitted constants inside functions, as in sin(2.5 x)",
    "depth": "transformations inside transformations at most; 1 is the paper's",
    "guided": "choose candidates by what they explain; false: genetic programming alone",
    "max_generations": "generations at most; default: no limit",
    "max_rows": "rows that the search looks at, at most; default: 1000, and 5000 under noise",
    "loss": "what fit and choice minimise: squared, absolute, huber, quantile",
    "quantile": "part of the rows that lies below the law, for the loss quantile",
    "criterion": "which law is chosen if none is exact: mdl, bic, aicc, elbow, held_out, rmse, "
    "simplest within 0.1",
    "poles": "laws that are undefined somewhere between the rows are avoided, forbidden or allowed",
    "validation_fraction": "part of the rows to hold out of search and fit; default: none",
    "n_phi": "basis functions of f(x) in an individual",
    "n_psi": "basis functions of g(y) in an individual",
    "min_factors": "transformations multiplied in a basis function of f(x), at least",
    "max_factors": "transformations multiplied in a basis function of f(x), at most",
    "n_target_factors": "transformations multiplied in a basis function of g(y)",
    "min_multiplicity": "variables in an argument, at least",
    "max_multiplicity": "variables in an argument, at most",
    "population_size": "individuals of a generation",
    "n_survivors": "individuals that go on to the next generation",
    "p_crossover": "part of the new individuals that is made by crossover",
    "p_mutation": "part of the new individuals that is made by mutation",
    "n_mutated": "basis functions that a mutation changes",
    "sublibraries": "take turns with the polynomial and the trigonometric part of the library",
    "cycle_full": "generations in a row with the whole library",
    "cycle_polynomial": "generations in a row with its polynomial part",
    "cycle_trigonometric": "generations in a row with its trigonometric part",
    "late_after": "generations after which turns are longer",
    "late_stage": "generations in a row with one part from then on",
    "target_stage": "generations in a row with one part of the target's library",
    "epsilon": "error (RMSE) below which the search ends",
    "relax_factor": "factor by which epsilon grows",
    "relax_interval": "generations after which it grows; 0: never",
    "lam": "weight of the lasso's penalty",
    "rho": "step of ADMM",
    "delta": "change of the coefficients below which ADMM ends",
    "max_iterations": "iterations of ADMM at most",
    "solver": "well_posed, or printed: Algorithm 1 of the paper to the letter",
}


def parameters() -> dict[str, inspect.Parameter]:
    """Return the parameters of `GSRRegressor`."""
    found = dict(inspect.signature(GSRRegressor.__init__).parameters)
    del found["self"]
    return found


def _search() -> dict[str, Key]:
    """Return the estimator's other parameters, and the hyper-parameters."""
    placed = {
        key.parameter for keys in (DATA, LIBRARIES, ISLANDS, RUN, LOG) for key in keys.values()
    }
    preset = _preset_values()
    keys: dict[str, Key] = {}
    for name, parameter in parameters().items():
        if name not in placed and name not in NOT_IN_FILES:
            kind = _kind(name, str(parameter.annotation))
            shown = EXAMPLES.get(name, preset.get(name))
            keys[name] = Key(kind, SEARCH[name], parameter.default, shown, parameter=name)
    for name in options.HYPERPARAMETERS:
        keys[name] = Key(
            _kind(name), OF_THE_PAPER, None, preset[name], parameter=name, detail=SEARCH[name]
        )
    return keys


def _preset_values() -> dict[str, Any]:
    settings = options.make_settings("default", {})
    values = {name: getattr(settings, name) for name in options.SEARCH_OPTIONS}
    values |= {name: getattr(settings.admm, name) for name in options.ADMM_OPTIONS}
    return {**values, "solver": settings.solver.name}


def _kind(name: str, annotation: str = "") -> Kind:
    known: Mapping[str, Kind] = {
        **options.SEARCH_OPTIONS,
        **options.ADMM_OPTIONS,
        **validation.PARAMETERS,
    }
    if name in known:
        return FLAG if known[name] == options.Choice((True, False)) else known[name]
    if name in CHOICES:
        return options.Choice(CHOICES[name])
    if name in KINDS:
        return KINDS[name]
    simple: dict[str, Kind] = {
        "bool": FLAG,
        "int": options.Range(int, 0),
        "float": options.Range(float, 0.0),
        "str": Text(),
    }
    return simple[annotation.removesuffix(" | None")]


def _islands() -> dict[str, Key]:
    """Return the keys of `[islands]`; variants have keys of `[search]`."""
    variants = Key(
        Tables(
            {
                **{name: _kind(name) for name in VARIANT_OPTIONS},
                "allow": PER_VARIABLE,
                "forbid": PER_VARIABLE,
            },
            "options of [search] and [library]",
        ),
        "options of [search], and allow and forbid of [library], that islands take in turn, so "
        "that they differ; default: all alike",
        None,
        [{}, {"depth": 1}],
    )
    return {**ISLANDS, "variants": variants}


#: Sections in the order of a file; each returns its keys.
SECTIONS: dict[str, Callable[[], dict[str, Key]]] = {
    "data": lambda: DATA,
    "library": lambda: LIBRARIES,
    "search": _search,
    "islands": _islands,
    "checkpoint": lambda: CHECKPOINT,
    "run": lambda: RUN,
    "log": lambda: LOG,
}
ABOUT = {
    "data": "the table",
    "library": "the functions that laws are made of",
    "search": "how to search; what is not set is the preset's",
    "islands": "searches side by side that exchange laws; for gsr islands, under mpirun or srun",
    "checkpoint": "what is saved on the way; for gsr islands",
    "run": "where, how long, with what",
    "log": "what is shown meanwhile",
}
#: Sections that `gsr fit` reads; others are for cluster runs.
OF_FIT = ("data", "library", "search", "run", "log")
#: What a cluster run must be told: nobody is there to see that the last column was taken.
OF_ISLANDS = (("data", "path"), ("data", "target"))


@cache
def schema() -> dict[str, dict[str, Key]]:
    """Return the sections with their keys."""
    return {section: keys() for section, keys in SECTIONS.items()}
