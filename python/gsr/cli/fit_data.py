"""From a table in a file to what the estimator is fitted to, with a word about what is odd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gsr import tables
from gsr.exceptions import GSRError
from gsr.files import Source
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
    y : array of shape (N,)
        Target.
    weights : array of shape (N,), optional
        Of the rows.
    names : tuple of str
        Of the features.
    target : str
        Name of the target.
    column : str
        What the target is called in the table.
    """

    X: Array
    y: Array
    weights: Array | None
    names: tuple[str, ...]
    target: str
    column: str


def load(source: Source, config: Config, tell: Callable[[str], None]) -> FitData:
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
    )
    for note in table.notes:
        tell(note)
    if config.get("data", "target") is None:
        tell(f"the target is the last column, {roles.target!r}; --target chooses another")
    target = table.names.index(roles.target)
    weights = None if roles.weights is None else table.names.index(roles.weights)
    others = [c for c in range(len(table.names)) if c not in (target, weights)]
    table = _complete(table, config.get("data", "missing"), tell)
    name = table.names[target] if table.named else "y"
    found = FitData(
        table.values[:, others],
        np.ascontiguousarray(table.values[:, target]),
        None if weights is None else np.ascontiguousarray(table.values[:, weights]),
        tuple(table.names[c] for c in others),
        name,
        table.names[target],
    )
    if not any(config.is_set(*key) for key in NAMING):
        found = without_constants(found, table.origin, tell)
    warn_of_copies(found, table.origin, tell)
    return found


class _Roles:
    """What the columns of a table are for."""

    def __init__(self, config: Config, origin: str) -> None:
        self._data = config.section("data")
        self._origin = origin
        self.target = ""
        self.weights: str | None = None

    def columns(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of the columns to read: features, target and weights."""

        def named(wanted: Column) -> str:
            return names[tables.find(wanted, names, self._origin)]

        given = {key: self._data[key] for key in ("target", "weights")}
        dropped = {named(each) for each in self._data["drop"]}
        self.weights = None if given["weights"] is None else named(given["weights"])
        left = [name for name in names if name not in dropped and name != self.weights]
        if not left:
            raise GSRError(f"{self._origin}: no column is left to read")
        self.target = left[-1] if given["target"] is None else named(given["target"])
        for role, name in (("target", self.target), ("weights", self.weights)):
            if name in dropped:
                raise GSRError(f"{self._origin}: the {role} column {name!r} is among those to drop")
        if self.target == self.weights:
            raise GSRError(f"{self._origin}: {self.target!r} is both target and weights")
        features = [name for name in left if name != self.target]
        if self._data["features"] is not None:
            features = [named(each) for each in self._data["features"]]
            self._check(features, dropped)
        if not features:
            raise GSRError(f"{self._origin}: there is no feature beside the target {self.target!r}")
        wanted = [*features, self.target, *([] if self.weights is None else [self.weights])]
        numbers = {name: number for number, name in enumerate(names, start=1)}
        return [numbers[name] for name in wanted]

    def _check(self, features: list[str], dropped: set[str]) -> None:
        for name in features:
            for role, other in (("target", self.target), ("weights", self.weights)):
                if name == other:
                    raise GSRError(f"{self._origin}: the {role} {name!r} is also among --features")
            if name in dropped:
                raise GSRError(f"{self._origin}: {name!r} is both among --features and --drop")


def _complete(table: Table, missing: str, tell: Callable[[str], None]) -> Table:
    """Return the table without rows that miss a value, if that is wanted."""
    infinite = np.isinf(table.values)
    if infinite.any():
        row, column = (int(k) for k in np.argwhere(infinite)[0])
        raise GSRError(
            f"{table.origin}, {table.place(row)}, column {table.names[column]!r}: an infinite value"
        )
    gaps = np.isnan(table.values)
    bad = np.asarray(gaps.any(axis=1))
    if not bad.any():
        return table
    columns = _named([table.names[c] for c in np.flatnonzero(gaps.any(axis=0))])
    if missing == "raise":
        row = int(np.argmax(bad))
        raise GSRError(
            f"{table.origin}, {table.place(row)}: a missing value; {int(bad.sum())} of {len(bad)} "
            f"rows miss some, in {columns}; --missing drop leaves these rows out, --drop a column"
        )
    if bad.all():
        raise GSRError(f"{table.origin}: every row misses a value, in {columns}")
    tell(f"{int(bad.sum())} of {len(bad)} rows miss a value, in {columns}, and are left out")
    lines = None if table.lines is None else table.lines[~bad]
    return replace(table, values=table.values[~bad], lines=lines)


def without_constants(data: FitData, origin: str, tell: Callable[[str], None]) -> FitData:
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


def warn_of_copies(data: FitData, origin: str, tell: Callable[[str], None]) -> None:
    """Tell which features are the target under another name, or times a number."""
    if len(data.y) < 2:
        return
    with np.errstate(all="ignore"):
        largest = float(np.max(np.abs(data.y)))
        y = data.y / largest
        for name, column in zip(data.names, data.X.T, strict=True):
            size = float(np.max(np.abs(column)))
            x = column / size
            factor = float(x @ y) / float(x @ x)
            if not np.max(np.abs(y - factor * x)) <= COPY:
                continue
            times = factor * largest / size
            same = "a copy of" if abs(times - 1.0) <= COPY else f"{1 / times:.6g} times"
            tell(
                f"WARNING: the feature {name!r} is {same} the target {data.target!r} in every row; "
                f"the law will say just that. If it is not known beforehand, use --drop"
            )


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:LISTED]))
    return shown if len(names) <= LISTED else f"{shown}, ... ({len(names)} columns)"
