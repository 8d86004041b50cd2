"""From a table in a file to what the estimator is fitted to, with a word about what is odd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gsr import tables
from gsr.exceptions import GSRError, about
from gsr.files import Source
from gsr.options import ERRORS
from gsr.rows import Gaps
from gsr.tables import Array, Column, Table

if TYPE_CHECKING:
    from gsr.runs.config import Config

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


@dataclass(frozen=True, eq=False)
class FitData:
    """Features, target and weights of a fit.

    Parameters
    ----------
    X : array of shape (N, d)
        Features.
    y : array of shape (N,) or (N, k)
        Target, or a column for each of several.
    weights : array of shape (N,), optional
        Of the rows.
    names : tuple of str
        Of the features.
    targets : tuple of str
        Names of the targets.
    columns : tuple of str
        What they are called in the table.
    sigma : array of shape (N,), optional
        Standard deviations of the target.
    """

    X: Array
    y: Array
    weights: Array | None
    names: tuple[str, ...]
    targets: tuple[str, ...]
    columns: tuple[str, ...]
    sigma: Array | None = None


def load(source: Source, config: Config, tell: Callable[[str], object]) -> FitData:
    """Read the table of a configuration.

    Parameters
    ----------
    source : Source
        The file.
    config : Config
        Section `data` says what to take of it.
    tell : callable
        Called with remarks.

    Returns
    -------
    FitData

    Raises
    ------
    GSRError
        Names the file and the column, and the line where there is one.
    """
    roles = _Roles(config, source.name)
    table = tables.read(
        source,
        columns=roles.columns,
        header=config.get("data", "header"),
        delimiter=config.get("data", "delimiter"),
        sheet=config.get("data", "sheet"),
    )
    for note in table.notes:
        tell(note)
    if config.get("data", "target") is None:
        tell(f"the target is the last column, {roles.targets[0]!r}; --target chooses another")
    targets = [table.names.index(name) for name in roles.targets]
    weights = None if roles.weights is None else table.names.index(roles.weights)
    errors = None if roles.errors is None else table.names.index(roles.errors)
    others = [c for c in range(len(table.names)) if c not in (*targets, weights, errors)]
    table = _complete(table, config.get("data", "missing"), tell)
    found = FitData(
        table.values[:, others],
        np.ascontiguousarray(table.values[:, targets[0] if roles.is_one else targets]),
        None if weights is None else np.ascontiguousarray(table.values[:, weights]),
        tuple(table.names[c] for c in others),
        roles.targets if table.named else _numbered(len(targets)),
        roles.targets,
        None if errors is None else deviations(table, errors),
    )
    if not any(config.is_set(*key) for key in NAMING):
        found = without_constants(found, table.origin, tell)
    warn_of_copies(found, tell)
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


def _numbered(n: int) -> tuple[str, ...]:
    return ("y",) if n == 1 else tuple(f"y{k + 1}" for k in range(n))


class _Roles:
    """What the columns of a table are for."""

    def __init__(self, config: Config, origin: str) -> None:
        self._data = config.section("data")
        self._origin = origin
        self.is_one = not isinstance(self._data["target"], list)
        self.targets: tuple[str, ...] = ()
        self.weights: str | None = None
        self.errors: str | None = None

    def columns(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of the columns to read: features, target, weights and errors."""

        def named(wanted: Column) -> str:
            return names[tables.find(wanted, names, self._origin)]

        given = {key: self._data[key] for key in ("target", "weights")}
        with about("data.drop"):
            dropped = {named(each) for each in self._data["drop"]}
        with about("data.weights"):
            self.weights = None if given["weights"] is None else named(given["weights"])
        kept = [name for name in names if name not in dropped]
        with about("data.errors"):
            self.errors = self._errors_column(kept, named)
        of_rows = [name for name in (self.weights, self.errors) if name is not None]
        left = [name for name in names if name not in dropped and name not in of_rows]
        if not left:
            raise GSRError(f"{self._origin}: no column is left to read", "data.drop")
        asked = left[-1] if given["target"] is None else given["target"]
        with about("data.target"):
            self.targets = tuple(map(named, [asked] if self.is_one else asked))
            self._check_targets(dropped)
        features = [name for name in left if name not in self.targets]
        with about("data.features", "data.drop", "data.target"):
            if self._data["features"] is not None:
                features = [named(each) for each in self._data["features"]]
                self._check(features, dropped)
            if not features:
                raise GSRError(
                    f"{self._origin}: there is no feature beside the target {_named(self.targets)}"
                )
        wanted = [*features, *self.targets, *of_rows]
        numbers = {name: number for number, name in enumerate(names, start=1)}
        return [numbers[name] for name in wanted]

    def _errors_column(self, names: Sequence[str], named: Callable[[Column], str]) -> str | None:
        """Return the column of standard deviations, None if `errors` is a kind or not set."""
        asked = self._data["errors"]
        if asked in ERRORS and asked in names:
            raise GSRError(
                f"{self._origin}: errors = {asked!r} is a kind of errors and a column; rename the "
                "column, or drop it"
            )
        if asked is None or asked in ERRORS:
            return None
        try:
            return named(asked)
        except GSRError as error:
            kinds = ", ".join(ERRORS)
            raise GSRError(f"{error}; errors are a column, or one of {kinds}") from None

    @property
    def _roles(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        yield "target", self.targets
        yield "weights", () if self.weights is None else (self.weights,)
        yield "errors", () if self.errors is None else (self.errors,)

    def _check_targets(self, dropped: set[str]) -> None:
        if not self.targets:
            raise GSRError(f"{self._origin}: data.target is an empty list")
        for role, names in self._roles:
            for name in dropped.intersection(names):
                raise GSRError(
                    f"{self._origin}: the {role} column {name!r} is among those to drop",
                    "data.drop",
                )
            if role != "target" and set(names) & set(self.targets):
                raise GSRError(
                    f"{self._origin}: {names[0]!r} is both target and {role}", f"data.{role}"
                )
        self._check_errors()
        if len(set(self.targets)) < len(self.targets):
            raise GSRError(f"{self._origin}: a target is there twice: {_named(self.targets)}")

    def _check_errors(self) -> None:
        if self.errors is not None and self.weights is not None:
            raise GSRError(
                f"{self._origin}: give either weights or a column of errors, not both",
                "data.weights",
            )
        if self.errors is not None and len(self.targets) > 1:
            raise GSRError(
                f"{self._origin}: the errors {self.errors!r} are those of one target; fit targets "
                "with given errors one by one",
                "data.errors",
            )

    def _check(self, features: list[str], dropped: set[str]) -> None:
        for name in features:
            for role, others in self._roles:
                if name in others:
                    raise GSRError(f"{self._origin}: the {role} {name!r} is also among --features")
            if name in dropped:
                raise GSRError(f"{self._origin}: {name!r} is both among --features and --drop")


def _complete(table: Table, missing: str, tell: Callable[[str], object]) -> Table:
    """Return the table without rows that miss a value, if that is wanted."""
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
        raise GSRError(f"{table.origin}: every row misses a value, in {gaps.columns}")
    tell(f"{gaps}, and are left out")
    lines = None if table.lines is None else table.lines[~gaps.rows]
    return replace(table, values=table.values[~gaps.rows], lines=lines)


def without_constants(data: FitData, origin: str, tell: Callable[[str], object]) -> FitData:
    """Leave out features that are the same in every row."""
    constant = (data.X[:1] == data.X).all(axis=0)
    if not constant.any() or len(data.X) < 2:
        return data
    names = _named([name for name, c in zip(data.names, constant, strict=True) if c])
    if constant.all():
        raise GSRError(f"{origin}: no feature varies ({names}): no law to find")
    tell(f"left out, since the same in every row: {names}")
    kept = np.flatnonzero(~constant)
    return replace(data, X=data.X[:, kept], names=tuple(data.names[c] for c in kept))


def warn_of_copies(data: FitData, tell: Callable[[str], object]) -> None:
    """Tell which features are a target under another name, or times a number."""
    if len(data.y) < 2:
        return
    for target, y in zip(data.targets, data.y.reshape(len(data.y), -1).T, strict=True):
        for name, column in zip(data.names, data.X.T, strict=True):
            same = _copied(column, y)
            if same:
                tell(
                    f"WARNING: the feature {name!r} is {same} the target {target!r} in every row; "
                    f"the law will say just that. If it is not known beforehand, use --drop"
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


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:LISTED]))
    return shown if len(names) <= LISTED else f"{shown}, ... ({len(names)} columns)"
