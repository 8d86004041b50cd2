"""From a table in a file to the rows and the estimator of a fit; what is odd is logged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr import tables
from gsr.cli.terminal import uninterrupted
from gsr.estimator import GSRRegressor
from gsr.exceptions import GSRError, about
from gsr.files import Source
from gsr.groups.labels import Labels
from gsr.options import ERRORS
from gsr.problem import Problem
from gsr.rows import Gaps, Rows
from gsr.search import SearchResult
from gsr.tables import Array, Column, Table

if TYPE_CHECKING:
    from gsr.runs.config import Config

log = logging.getLogger(__name__)
#: A column that follows the target closer than this is a copy of it.
COPY = 1e-12
#: Names that a message lists.
LISTED = 8
#: Settings that name features, which must then all be there.
NAMING = (
    ("data", "units"),
    ("library", "allow"),
    ("library", "forbid"),
    ("search", "constraints"),
    ("search", "required_terms"),
    ("search", "start"),
)


class NamedRegressor(GSRRegressor):
    """`GSRRegressor` whose variables are named by `named`, which needs no pandas.

    An interruption after the search is put off until its laws are compared; one during the search
    for a target leaves out the targets after it.
    """

    _to_insist = "choose columns with --features to insist"

    def named(self, features: Sequence[str], *targets: str) -> NamedRegressor:
        """Name the columns of X and the targets, for the next `fit`."""
        self._table_names = (tuple(features), targets)
        return self

    def pose(
        self, X: Any, y: Any, sample_weight: Any = None, sigma: Any = None
    ) -> tuple[Problem, Rows | None]:
        """Return the problem of a search in a table, and the rows that are held out."""
        return self._pose(self._validate(X, y, sample_weight, sigma))

    def take(self, result: SearchResult, problem: Problem, held: Rows | None) -> None:
        """Become the fitted model of what a search has found."""
        self._take(result, problem, held)

    def _name_variables(self, n_features: int, y: Any) -> None:
        features, (self._given_name, *_) = self._table_names
        self.feature_names_in_ = np.array(features, dtype=object)
        super()._name_variables(n_features, y)

    def _targets(self, y: Any) -> dict[str, Any]:
        return dict(zip(self._table_names[1], y.T, strict=True))

    def _for_one(self, target: str, others: set[str]) -> GSRRegressor:
        model = super()._for_one(target, others)
        assert isinstance(model, NamedRegressor)
        return model.named(self._table_names[0], target)

    def _conclude(self, *arguments: Any) -> None:
        with uninterrupted():
            super()._conclude(*arguments)


def regressor(config: Config, data: FitData, **defaults: Any) -> NamedRegressor:
    """Return the estimator that a configuration describes, with the names of the columns."""
    asked = {**defaults, **config.estimator_options()}
    return NamedRegressor(**asked).named(data.names, *data.targets)


@dataclass(frozen=True, eq=False)
class FitData:
    """Features, target and weights of a fit."""

    X: Array
    #: A column for each of several targets.
    y: Array
    weights: Array | None
    #: The names of the features and of the targets, and the columns of the targets in the table.
    names: tuple[str, ...]
    targets: tuple[str, ...]
    columns: tuple[str, ...]
    sigma: Array | None = None
    #: The group of each row, as a column with its name.
    groups: Labels | None = None

    @property
    def asked(self) -> str | list[str]:
        """What `data.target` is set to, so that the run can be repeated."""
        return self.columns[0] if self.y.ndim == 1 else list(self.columns)


def load(source: Source, config: Config, implicit: bool = False) -> FitData:
    """Read the table of a configuration; its section `data` selects the columns.

    For implicit laws, the last column is read as the target, which then has no special meaning.
    """
    data = config.section("data")
    roles: dict[str, list[str]] = {}

    def columns(names: Sequence[str]) -> list[int]:
        roles.update(_roles(names, data, source.name))
        numbers = {name: number for number, name in enumerate(names, start=1)}
        return [numbers[name] for key, role in roles.items() if key != "groups" for name in role]

    reading = {key: data[key] for key in ("header", "delimiter", "sheet")}
    with about("data.groups"):
        table = tables.read(source, columns=columns, labels=data["groups"], **reading)
    targets, n = tuple(roles["target"]), len(roles["target"])
    for note in table.notes:
        log.info("%s", note)
    if data["target"] is None and not implicit:
        log.info("the target is the last column, %r; --target chooses another", targets[0])
    table = complete(table, data["missing"])
    place = {name: number for number, name in enumerate(table.names)}
    places = {role: [place[name] for name in roles[role]] for role in roles if role != "groups"}
    y = table.values[:, places["target"]]
    weights, errors = places["weights"], places["errors"]
    numbered = ("y",) if n == 1 else tuple(f"y{k + 1}" for k in range(n))
    found = FitData(
        X=table.values[:, places["features"]],
        y=np.ascontiguousarray(y if isinstance(data["target"], list) else y[:, 0]),
        weights=table.values[:, weights[0]].copy() if weights else None,
        names=tuple(roles["features"]),
        targets=targets if table.named else numbered,
        columns=targets,
        sigma=deviations(table, errors[0]) if errors else None,
        groups=None if table.labels is None else Labels(table.labels, roles["groups"][0]),
    )
    if not any(config.is_set(*key) for key in NAMING):
        found = _without_constants(found, table.origin)
    if not implicit:
        _warn_of_copies(found)
    return found


def deviations(table: Table, column: int) -> Array:
    """Return a column of standard deviations, or raise with the first line that has none."""
    sigma = np.ascontiguousarray(table.values[:, column])
    bad = ~(np.isnan(sigma) | (sigma > 0.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise GSRError(
            f"{table.origin}, {table.place(row)}, column {table.names[column]!r}: a standard "
            f"deviation must be positive, got {sigma[row]:g}",
            "data.errors",
        )
    return sigma


def _roles(names: Sequence[str], data: Mapping[str, Any], origin: str) -> dict[str, list[str]]:
    """Return the names of features, target, weights and errors among the columns of a table."""

    def named(wanted: Column) -> str:
        return names[tables.find(wanted, names, origin)]

    with about("data.drop"):
        dropped = {named(each) for each in data["drop"]}
    with about("data.weights"):
        weights = [] if data["weights"] is None else [named(data["weights"])]
    with about("data.errors"):
        kept = [name for name in names if name not in dropped]
        errors = _errors_column(data["errors"], kept, named, origin)
    with about("data.groups"):
        groups = [] if data["groups"] is None else [named(data["groups"])]
    left = [name for name in kept if name not in (*weights, *errors, *groups)]
    if not left:
        raise GSRError(f"{origin}: no column is left to read", "data.drop")
    asked = left[-1] if data["target"] is None else data["target"]
    with about("data.target"):
        targets = [named(each) for each in (asked if isinstance(asked, list) else [asked])]
        roles = {"target": targets, "weights": weights, "errors": errors, "groups": groups}
        _check_roles(roles, dropped, origin)
    with about("data.features", "data.drop", "data.target"):
        features = [name for name in left if name not in targets]
        if data["features"] is not None:
            features = list(dict.fromkeys(map(named, data["features"])))
            _check_features(features, roles, dropped, origin)
        if not features:
            told = f"there is no feature beside the target {_quoted(targets)}"
            raise GSRError(f"{origin}: {told}")
    return {"features": features, **roles}


def _errors_column(
    asked: Column | None, names: Sequence[str], named: Callable[[Column], str], origin: str
) -> list[str]:
    """Return the column of standard deviations; none if `errors` is a kind or not set."""
    if asked in ERRORS and asked in names:
        raise GSRError(
            f"{origin}: errors = {asked!r} is a kind of errors and a column; rename the column, or "
            "drop it"
        )
    if asked is None or asked in ERRORS:
        return []
    try:
        return [named(asked)]
    except GSRError as error:
        kinds = ", ".join(ERRORS)
        raise GSRError(f"{error}; errors are a column, or one of {kinds}") from None


def _check_roles(roles: Mapping[str, list[str]], dropped: set[str], origin: str) -> None:
    targets, errors = roles["target"], roles["errors"]
    if not targets:
        raise GSRError(f"{origin}: data.target is an empty list")
    for role, names in roles.items():
        for name in names:
            if name in dropped:
                told = f"the {role} column {name!r} is among those to drop"
                raise GSRError(f"{origin}: {told}", "data.drop")
            if role != "target" and name in targets:
                raise GSRError(f"{origin}: {name!r} is both target and {role}", f"data.{role}")
    if errors and roles["weights"]:
        told = "give either weights or a column of errors, not both"
        raise GSRError(f"{origin}: {told}", "data.weights")
    if errors and len(targets) > 1:
        raise GSRError(
            f"{origin}: the errors {errors[0]!r} are those of one target; fit targets with given "
            "errors one by one",
            "data.errors",
        )
    if len(set(targets)) < len(targets):
        raise GSRError(f"{origin}: a target is there twice: {_quoted(targets)}")


def _check_features(
    features: list[str], roles: Mapping[str, list[str]], dropped: set[str], origin: str
) -> None:
    for name in features:
        for role, others in roles.items():
            if name in others:
                raise GSRError(f"{origin}: the {role} {name!r} is also among --features")
        if name in dropped:
            raise GSRError(f"{origin}: {name!r} is both among --features and --drop")


def _quoted(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:LISTED]))
    return shown if len(names) <= LISTED else f"{shown}, ... ({len(names)} columns)"


def complete(table: Table, missing: str) -> Table:
    """Return the table without rows that have missing values, if `missing` is "drop"."""
    infinite = np.isinf(table.values)
    if infinite.any():
        row, column = (int(k) for k in np.argwhere(infinite)[0])
        raise GSRError(
            f"{table.origin}, {table.place(row)}, column {table.names[column]!r}: an infinite value"
        )
    columns = zip(map(repr, table.names), table.values.T, strict=True)
    gaps = Gaps.of(columns, len(table.values))
    if not gaps.rows.any():
        return table
    if missing == "raise":
        raise GSRError(
            f"{table.origin}, {table.place(int(np.argmax(gaps.rows)))}: a missing value; {gaps}; "
            "--missing drop leaves these rows out, --drop a column"
        )
    if gaps.rows.all():
        raise GSRError(f"{table.origin}: every row has a missing value, in {gaps.columns}")
    log.info("%s, and are left out", gaps)
    lines = None if table.lines is None else table.lines[~gaps.rows]
    labels = table.labels and tuple(np.array(table.labels)[~gaps.rows].tolist())
    return replace(table, values=table.values[~gaps.rows], lines=lines, labels=labels)


def _without_constants(data: FitData, origin: str) -> FitData:
    """Leave out features that are the same in every row."""
    constant = (data.X[:1] == data.X).all(axis=0)
    if not constant.any() or len(data.X) < 2:
        return data
    names = _quoted([name for name, c in zip(data.names, constant, strict=True) if c])
    if constant.all():
        raise GSRError(f"{origin}: no feature varies ({names}): no law to find")
    log.info("left out, since the same in every row: %s", names)
    kept = np.flatnonzero(~constant)
    return replace(data, X=data.X[:, kept], names=tuple(data.names[c] for c in kept))


def _warn_of_copies(data: FitData) -> None:
    """Warn of features that are a target under another name, or times a number."""
    if len(data.y) < 2:
        return
    for target, y in zip(data.targets, data.y.reshape(len(data.y), -1).T, strict=True):
        for name, column in zip(data.names, data.X.T, strict=True):
            if same := _copied(column, y):
                log.warning(
                    "the feature %r is %s the target %r in every row; the law will say just that. "
                    "If it is not known beforehand, use --drop",
                    name,
                    same,
                    target,
                )


def _copied(column: Array, target: Array) -> str:
    """Return what a column is of the target, empty if it is something else."""
    with np.errstate(all="ignore"):
        largest, size = float(np.max(np.abs(target))), float(np.max(np.abs(column)))
        x, y = column / size, target / largest
        factor = float(x @ y) / float(x @ x)
        if not np.max(np.abs(y - factor * x)) <= COPY:
            return ""
    times = factor * largest / size
    return "a copy of" if abs(times - 1.0) <= COPY else f"{1 / times:.6g} times"
