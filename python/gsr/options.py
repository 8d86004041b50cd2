"""Options of a run: the one list from which everything else about options is derived.

From `OPTIONS` come the checks of `GSRRegressor`, the keys of configuration files and their example,
the flags of `gsr fit`, the settings of the compiled core, and the table in the documentation.
Nothing here needs more than the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any, Literal

from gsr.exceptions import GSRError, suggestion
from gsr.value_types import (
    BOOLEAN,
    COUNT,
    TEXT,
    AnyOf,
    Choice,
    ListOf,
    Number,
    Pair,
    Record,
    TableOf,
    ValueType,
)

PRESETS = ("paper", "default")
SOLVERS = ("well_posed", "printed")
ERRORS = ("auto", "constant", "relative", "poisson")
LOSSES = ("squared", "absolute", "huber", "quantile")
POLE_POLICIES = ("avoid", "forbid", "allow")
TOPOLOGIES = (
    "ring", "torus", "fully_connected", "random_pairs", "hypercube", "unconnected", "star", "edges",
)  # fmt: skip
#: Size of a basis matrix of the core, which a test compares.
MAX_FACTORS = MAX_MULTIPLICITY = 8
#: A search needs so many rows.
MIN_ROWS = 5


@dataclass(frozen=True)
class Flag:
    """A flag of `gsr fit`."""

    #: The heading of `gsr fit --help` below which it stands, and what stands for its value there.
    group: str
    metavar: str = ""
    #: Unless it is named like the key.
    names: tuple[str, ...] = ()
    #: The value that it sets if it takes none.
    constant: Any = None


@dataclass(frozen=True)
class Option:
    """An option of a run."""

    #: Section and name in a configuration file, such as ``"search.max_terms"``.
    key: str
    #: What a file may hold, and the parameter of the estimator unless it is `free`.
    type: ValueType
    #: One line, in words of configuration files.
    help: str
    #: The value if nothing is set; None means that it depends, which `help` explains.
    default: Any = None
    #: Shown in the example file, where there is no default or it depends.
    example: Any = None
    #: The parameter of `GSRRegressor` that it sets.
    parameter: str | None = None
    #: The part of the compiled core that takes it under the same name.
    core: Literal["settings", "admm", "limits"] | None = None
    #: How `gsr fit` takes it.
    flag: Flag | None = None
    #: Whether it is one of the estimator's `hyperparameters`.
    hyper: bool = False
    #: Whether the parameter may be more than a file can hold, and is checked where it is used.
    free: bool = False
    #: The type of the parameter, if it is not that in a file.
    parameter_type: ValueType | None = None
    #: Whether the parameter may be None; by default if it has no default.
    may_be_none: bool | None = None
    #: Whether islands may differ in it.
    varies: bool = False

    @property
    def section(self) -> str:
        """The section of a configuration file."""
        return self.key.partition(".")[0]

    @property
    def name(self) -> str:
        """The name within its section."""
        return self.key.partition(".")[2]

    def check(self, value: object) -> None:
        """Raise unless this may be the value of the estimator's parameter."""
        name = self.parameter or self.name
        has_none = self.default is None if self.may_be_none is None else self.may_be_none
        wrong = (self.parameter_type or self.type).mismatch(value, python=True)
        if wrong and not (has_none and value is None):
            raise GSRError(f"{name} {wrong}", name)


COLUMN = AnyOf((TEXT, COUNT))
COLUMNS = ListOf(COLUMN, "columns, by name or by number from 1")
LIBRARY = AnyOf((TEXT, ListOf(TEXT, "transformations")))
RULES = TableOf(ListOf(TEXT, "transformations"))
PROBABILITY = Number(float, 0.0, 1.0)

DATA = (
    Option("data.path", TEXT,
        "the table: CSV, TSV, NPY, NPZ, Parquet or Excel, compressed or not; relative to this file",
        example="data.csv"),
    Option("data.target", AnyOf((COLUMN, COLUMNS)),
        "the column to explain, by name or number, or a list; gsr fit takes the last by default",
        example="y", flag=Flag("data", "COLUMN,...")),
    Option("data.features", COLUMNS, "columns that may enter the law; default: all others",
        example=["x1", "x2"], flag=Flag("data", "COLUMN,...")),
    Option("data.drop", COLUMNS, "columns to leave out", [], flag=Flag("data", "COLUMN,...")),
    Option("data.header", BOOLEAN, "whether the first row holds names; default: detected",
        example=True, flag=Flag("data")),
    Option("data.delimiter", TEXT, 'between fields: ",", ";", "tab", "space"; default: detected',
        example=",", flag=Flag("data", "CHAR")),
    Option("data.sheet", TEXT, "sheet of an Excel workbook; default: the first", example="Sheet1",
        flag=Flag("data", "NAME")),
    Option("data.weights", COLUMN, "a column with the weight of each row; default: none",
        example="weight", flag=Flag("data", "COLUMN")),
    Option("data.groups", COLUMN,
        "a column with the group of each row, such as an experiment: constants may differ from "
        "group to group; default: none", example="site", flag=Flag("data", "COLUMN")),
    Option("data.errors", COLUMN,
        "a column with the standard deviation of the target in each row, or how errors grow with "
        f"the target: {', '.join(ERRORS)}; default: auto", example="sigma", parameter="errors",
        parameter_type=Choice(ERRORS), may_be_none=False, flag=Flag("data", "COLUMN|KIND")),
    Option("data.missing", Choice(("raise", "drop")),
        "rows with missing values raise an error, or are left out", "raise", parameter="missing",
        flag=Flag("data", "raise|drop")),
    Option("data.time", COLUMN,
        "the column of times: the search is then for equations of motion, with the other columns "
        "as states", example="t", flag=Flag("equations of motion", "COLUMN")),
    Option("data.inputs", COLUMNS, "with data.time: columns of inputs that drive the states", [],
        flag=Flag("equations of motion", "COLUMN,...")),
    Option("data.units", TableOf(TEXT),
        "units of the features and the target; laws must agree with them; default: none",
        example={"x1": "m", "x2": "1", "y": "m/s"}, parameter="units", free=True,
        flag=Flag("prior knowledge", "NAME=UNIT,...")),
)  # fmt: skip
LIBRARIES = (
    Option("library.features", LIBRARY,
        'transformations of the features: names, or "all", "table2", "table13"; default: all',
        example=["identity", "inverse", "sqrt", "sin", "exp", "ln"], parameter="library", free=True,
        flag=Flag("prior knowledge", "NAME,...", ("--library",))),
    Option("library.target", LIBRARY,
        "transformations of the target; default: those of the features", example=["identity", "ln"],
        parameter="target_library", free=True,
        flag=Flag("prior knowledge", "NAME,...", ("--target-library",))),
    Option("library.allow", RULES,
        "for a variable (* for all features), the only transformations that it may stand in",
        example={"x1": ["identity", "sin"]}, parameter="allow", free=True, varies=True,
        flag=Flag("prior knowledge", "NAME=T,...")),
    Option("library.forbid", RULES,
        "for a variable (* for all features), transformations that it must not stand in",
        example={"x2": ["exp"]}, parameter="forbid", free=True, varies=True,
        flag=Flag("prior knowledge", "NAME=T,...")),
)  # fmt: skip


def _search(name: str, type: ValueType, help: str, default: Any = None, **more: Any) -> Option:
    """Return an option of the search that is a parameter of the estimator under the same name."""
    return Option(f"search.{name}", type, help, default, parameter=name, **more)


def _encoding(name: str, type: ValueType, help: str, **more: Any) -> Option:
    return _search(name, type, help, core="settings", varies=True, **more)


def _hyper(name: str, type: ValueType, help: str, core: Any = "settings", **more: Any) -> Option:
    """Return a hyper-parameter of the paper; its default is the preset's."""
    return _search(name, type, help, core=core, hyper=True, **{"varies": True, **more})


SEARCH = (
    _search("preset", Choice(PRESETS), "what keys that are not set here take their values from",
        "default", flag=Flag("search", "NAME")),
    _encoding("transform_target", BOOLEAN,
        "look for g(y) = f(x); false: for y = f(x) only (the paper's s-GSR)",
        flag=Flag("search", names=("--s-gsr",), constant=False)),
    _search("constants_with_units", BOOLEAN, "whether fitted constants may carry units", True),
    _search("required_terms", ListOf(TEXT, "terms"),
        "terms of f(x) that every law must have; default: none", example=["x1*x2"], free=True),
    _search("start", AnyOf((TEXT, ListOf(TEXT, "formulas"))),
        "a known formula, or several, to start from; default: none",
        example="y = a*x1^2 + b*sin(x2)", free=True, flag=Flag("prior knowledge", "FORMULA")),
    _search("max_terms", COUNT, "terms of a law at most, beside the constant; default: no limit",
        example=5, core="limits", flag=Flag("prior knowledge", "N")),
    _search("max_complexity", COUNT, "nodes of a law at most; default: no limit", example=40,
        core="limits", flag=Flag("prior knowledge", "N")),
    _search("constraints", TableOf(AnyOf((TEXT, ListOf(TEXT, "shapes")))),
        "shapes that laws must have between the rows: increasing, decreasing, convex or concave in "
        "a feature; a positive, negative, nonnegative or nonpositive target; default: none",
        example={"x1": "increasing", "y": "positive"}, free=True),
    _encoding("division", BOOLEAN, "laws may have reciprocals and quotients"),
    _encoding("differences", BOOLEAN, "laws may have minus signs in sums inside functions"),
    _encoding("one", BOOLEAN, "laws may have the number 1 inside functions, as in ln(1 + x)"),
    _encoding("constants", BOOLEAN,
        "laws may have fitted constants inside functions, as in sin(2.5 x)"),
    _encoding("depth", Number(int, 1, MAX_FACTORS),
        "transformations inside transformations at most; 1 is the paper's"),
    _encoding("guided", BOOLEAN,
        "choose candidates by what they explain; false: genetic programming alone"),
    _search("max_generations", COUNT, "generations at most; default: no limit", example=1000),
    _search("max_rows", Number(int, MIN_ROWS),
        "rows that the search looks at, at most; default: 1000, and 5000 under noise",
        example=1000),
    _search("loss", Choice(LOSSES),
        "what fit and choice minimise: squared, absolute, huber, quantile", "squared",
        flag=Flag("search", "NAME")),
    _search("quantile", Number(float, 0.001, 0.999),
        "part of the rows that lies below the law, for the loss quantile", 0.5,
        flag=Flag("search", "F")),
    _search("criterion", TEXT,
        "which law is chosen if none is exact: mdl, bic, aicc, elbow, held_out, rmse, simplest "
        "within 0.1", "mdl", free=True, flag=Flag("search", "NAME")),
    _search("poles", Choice(POLE_POLICIES),
        "laws that are undefined somewhere between the rows are avoided, forbidden or allowed",
        "avoid", flag=Flag("search", "POLICY")),
    _search("validation_fraction", Number(float, 1e-6, 0.95),
        "part of the rows to hold out of search and fit; default: none", example=0.2,
        flag=Flag("search", "F", ("--validation",))),
    _hyper("n_phi", Number(int, 1, 200), "basis functions of f(x) in an individual"),
    _hyper("n_psi", Number(int, 1, 8), "basis functions of g(y) in an individual"),
    _hyper("min_factors", Number(int, 1, MAX_FACTORS),
        "transformations multiplied in a basis function of f(x), at least"),
    _hyper("max_factors", Number(int, 1, MAX_FACTORS),
        "transformations multiplied in a basis function of f(x), at most"),
    _hyper("n_target_factors", Number(int, 1, MAX_FACTORS),
        "transformations multiplied in a basis function of g(y)"),
    _hyper("min_multiplicity", Number(int, 1, MAX_MULTIPLICITY),
        "variables in an argument, at least"),
    _hyper("max_multiplicity", Number(int, 1, MAX_MULTIPLICITY),
        "variables in an argument, at most"),
    _hyper("population_size", Number(int, 2, 1_000_000), "individuals of a generation"),
    _hyper("n_survivors", COUNT, "individuals that go on to the next generation"),
    _hyper("p_crossover", PROBABILITY, "part of the new individuals that is made by crossover"),
    _hyper("p_mutation", PROBABILITY, "part of the new individuals that is made by mutation"),
    _hyper("n_mutated", COUNT, "basis functions that a mutation changes"),
    _hyper("sublibraries", BOOLEAN,
        "take turns with the polynomial and the trigonometric part of the library"),
    _hyper("cycle_full", COUNT, "generations in a row with the whole library"),
    _hyper("cycle_polynomial", COUNT, "generations in a row with its polynomial part"),
    _hyper("cycle_trigonometric", COUNT, "generations in a row with its trigonometric part"),
    _hyper("late_after", Number(int, 0), "generations after which turns are longer"),
    _hyper("late_stage", COUNT, "generations in a row with one part from then on"),
    _hyper("target_stage", COUNT, "generations in a row with one part of the target's library"),
    _hyper("epsilon", Number(float, 0.0), "error (RMSE) below which the search ends", varies=False),
    _hyper("relax_factor", Number(float, 1.0), "factor by which epsilon grows", varies=False),
    _hyper("relax_interval", Number(int, 0), "generations after which it grows; 0: never",
        varies=False),
    _hyper("lam", Number(float, 0.0), "weight of the lasso's penalty", "admm"),
    _hyper("rho", Number(float, 1e-12), "step of ADMM", "admm"),
    _hyper("delta", Number(float, 0.0), "change of the coefficients below which ADMM ends", "admm"),
    _hyper("max_iterations", COUNT, "iterations of ADMM at most", "admm"),
    _hyper("solver", Choice(SOLVERS),
        "well_posed, or printed: Algorithm 1 of the paper to the letter"),
)  # fmt: skip
VARIANT = Record(
    {each.name: each.type for each in (*SEARCH, *LIBRARIES) if each.varies},
    "options of [search] and [library]",
)
DYNAMICS = (
    Option("dynamics.order", Number(int, 1, 2),
        "order of the equations of motion; 2: the states are positions, without velocities", 1,
        flag=Flag("equations of motion", "N")),
    Option("dynamics.discrete_time", BOOLEAN, "search for a map from each row to the next", False,
        flag=Flag("equations of motion")),
    Option("dynamics.time_feature", BOOLEAN, 'whether the time is a feature, called "t"', False,
        flag=Flag("equations of motion")),
    Option("dynamics.refine", BOOLEAN, "fit the constants by simulation at the end", True),
)  # fmt: skip
ISLANDS = (
    Option("islands.per_rank", Number(int, 1, 1024), "islands in a process, a thread each", 1,
        parameter="islands"),
    Option("islands.topology", Choice(TOPOLOGIES), "which islands are neighbours of which",
        "hypercube"),
    Option("islands.edges", ListOf(Pair(), "pairs of islands, from and to, numbered from 0"),
        'neighbours one by one, if topology is "edges"; default: none', example=[[0, 1], [1, 0]]),
    Option("islands.migration", Choice(("p2p", "broadcast")),
        "to one of the neighbours in turn, or to all", "p2p"),
    Option("islands.interval", COUNT, "work between two migrations, in individuals", 10000),
    Option("islands.migrants", Number(int, 1, 1000), "individuals that migrate at a time", 3),
    Option("islands.selection", Choice(("best", "random")), "which individuals migrate", "best"),
    Option("islands.replacement", Choice(("fair", "worst", "random")),
        "whom they replace: the worst if they are better, the worst, or any", "fair"),
    Option("islands.knowledge", BOOLEAN,
        "whether islands tell each other their laws, and which left sides g(y) promise much", True),
    Option("islands.mode", Choice(("throughput", "deterministic")),
        "nobody waits; or in lock-step, so that the same seed and ranks give the same laws",
        "throughput"),
    Option("islands.variants", ListOf(VARIANT, f"tables of {VARIANT.of}"),
        "options of [search], and allow and forbid of [library], that islands take in turn, so "
        "that they differ; default: all alike", example=[{}, {"depth": 1}]),
)  # fmt: skip
CHECKPOINT = (
    Option("checkpoint.interval", Number(float, 0.1),
        "seconds between two checkpoints; inf: at the end and on signals only", 60.0),
    Option("checkpoint.keep", Number(int, 1, 1000), "checkpoints of an island that are kept", 3),
    Option("checkpoint.resume", BOOLEAN,
        "go on from the checkpoints in the run folder; false: begin anew", True),
)  # fmt: skip
#: The run folder of a cluster run that names none.
ISLANDS_OUTPUT = "run"
RUN = (
    Option("run.output", TEXT,
        "the run folder, relative to where gsr runs; default: none (gsr fit), run (gsr islands)",
        example=ISLANDS_OUTPUT, flag=Flag("output", "RUN", ("-o", "--output"))),
    Option("run.overwrite", BOOLEAN, "replace the results in the run folder, and files that exist",
        False, flag=Flag("output", constant=True)),
    Option("run.max_time", Number(float, 0.0), "seconds; inf for no limit", 10.0,
        parameter="max_time", may_be_none=True, flag=Flag("running", "S")),
    Option("run.max_evals", COUNT, "maximal number of evaluations; default: no limit",
        example=1_000_000, parameter="max_evals", flag=Flag("running", "N")),
    Option("run.seed", Number(int, 0),
        "the same seed gives the same laws; default: drawn, and printed", example=0,
        parameter="random_state", free=True, flag=Flag("running", "N")),
    Option("run.n_jobs", Number(int, -1024),
        "threads of a process, -1 for all cores; default: all, but under mpirun or srun one for "
        "each island", -1, 1, parameter="n_jobs", may_be_none=True,
        flag=Flag("running", "N", ("--jobs",))),
)  # fmt: skip
LOG = (
    Option("log.verbose", BOOLEAN,
        "show progress; default: on a terminal only (gsr fit), if the level is info (gsr islands)",
        example=True, parameter="verbose", free=True),
    Option("log.level", Choice(("error", "warning", "info")), "messages to show: this and worse",
        "info"),
)  # fmt: skip
#: All options, in the order of a configuration file.
OPTIONS = [*DATA, *LIBRARIES, *SEARCH, *DYNAMICS, *ISLANDS, *CHECKPOINT, *RUN, *LOG]
SECTIONS = {
    "data": "the table",
    "library": "the functions that laws are made of",
    "search": "how to search; what is not set is the preset's",
    "dynamics": "equations of motion; for gsr fit with data.time",
    "islands": "searches side by side that exchange laws; for gsr islands, under mpirun or srun",
    "checkpoint": "what is saved on the way; for gsr islands",
    "run": "where, how long, with what",
    "log": "what is shown meanwhile",
}
#: Sections that `gsr fit` reads; others are for cluster runs.
OF_FIT = ("data", "library", "search", "dynamics", "run", "log")
#: What a cluster run must name: without a user watching, the last column is no safe default.
OF_ISLANDS = ("data.path", "data.target")
#: Parameters of the estimator that no file can hold.
NOT_IN_FILES = ("callback", "warm_start", "hyperparameters")


def schema() -> dict[str, dict[str, Option]]:
    """Return the options by section and name."""
    found: dict[str, dict[str, Option]] = {section: {} for section in SECTIONS}
    for option in OPTIONS:
        found[option.section][option.name] = option
    return found


def by_parameter() -> dict[str, Option]:
    """Return the options that `GSRRegressor` has, hyper-parameters among them."""
    return {option.parameter: option for option in OPTIONS if option.parameter is not None}


def hyperparameters() -> dict[str, Option]:
    """Return the options in the parameter `hyperparameters`."""
    return {name: option for name, option in by_parameter().items() if option.hyper}


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise unless the parameters of an estimator are what they may be; names are not checked."""
    known = by_parameter()
    for name, value in parameters.items():
        if name in known and not known[name].free:
            known[name].check(value)


def check_hyperparameters(given: Any) -> Mapping[str, Any]:
    """Return the hyper-parameters that are given, or raise."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise GSRError(f"hyperparameters must be a mapping, got {given!r}")
    known = hyperparameters()
    for name in given:
        if name not in known:
            hint = suggestion(name, known, otherwise_list=True)
            raise GSRError(f"hyperparameters has no {name!r}{hint}")
    check_parameters(given)
    return given


def stores_parameters(init: Callable[..., None]) -> Callable[..., None]:
    """Let a constructor store its parameters unchecked, as scikit-learn asks.

    A misspelt parameter is refused with a suggestion.
    """
    defaults = {name: each.default for name, each in signature(init).parameters.items()}
    del defaults["self"]

    @wraps(init)
    def store(self: Any, **parameters: Any) -> None:
        for name in parameters:
            if name not in defaults:
                raise TypeError(unknown_parameter(name, defaults))
        vars(self).update({**defaults, **parameters})

    return store


def unknown_parameter(name: str, known: Iterable[str]) -> str:
    """Return the message about a parameter that the estimator does not have."""
    hint = suggestion(name, known)
    if name in hyperparameters():
        hint = f"; it is one of the hyperparameters: hyperparameters={{{name!r}: ...}}"
    return f"GSRRegressor has no parameter {name!r}{hint}"
