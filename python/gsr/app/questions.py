"""The settings of a search: columns, target and its errors, units, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import randbelow

from gsr import tables
from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.options import schema
from gsr.runs import config as configs
from gsr.runs.config import Config


@dataclass(frozen=True)
class Columns:
    """The numeric columns of a table, and why the others cannot be used."""

    names: tuple[str, ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True)
class Question:
    """The settings of a search."""

    target: str
    features: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    #: The errors of the target, or the column with the standard deviation of each row.
    errors: str = "auto"
    max_time: float = 30.0
    drops_missing: bool = False
    seed: int = field(default_factory=lambda: randbelow(2**31), compare=False)

    def config(self, path: Path) -> Config:
        """Return the configuration of a run on a table; raise an error if it is invalid."""
        units = {name: unit.strip() for name, unit in self.units.items() if unit.strip()}
        wanted = (self.target, *self.features)
        changes = {
            ("data", "path"): str(path.resolve()),
            ("data", "target"): self.target,
            ("data", "features"): list(self.features),
            ("data", "errors"): self.errors,
            ("data", "missing"): "drop" if self.drops_missing else "raise",
            ("data", "units"): {name: unit for name, unit in units.items() if name in wanted},
            ("run", "max_time"): self.max_time,
            ("run", "seed"): self.seed,
        }
        for (section, key), value in changes.items():
            if wrong := schema()[section][key].type.mismatch(value):
                raise GSRError(f"{key} {wrong}")
        if not units:
            del changes["data", "units"]
        return configs.parse("").changed(changes)


def columns_of(path: Path) -> Columns:
    """Return the columns of a table; raise an error if the file is not a table."""
    names: list[str] = []

    def all_of(present: Sequence[str]) -> Sequence[str]:
        names[:] = present
        return present

    problems: dict[str, str] = {}
    source = Source(path)
    try:
        tables.read(source, columns=all_of)
        return Columns(tuple(names), {})
    except GSRError as error:
        if not names:
            raise
        numeric = _numeric(source, names, problems)
        if not numeric:
            raise error
    return Columns(tuple(numeric), problems)


def _numeric(source: Source, names: Sequence[str], problems: dict[str, str]) -> list[str]:
    """Return the names of numeric columns; record the problems of the others."""
    try:
        tables.read(source, columns=names)
        return list(names)
    except GSRError as error:
        if len(names) == 1:
            problems[names[0]] = str(error).removeprefix(f"{source.name}, ").partition(";")[0]
            return []
    half = len(names) // 2
    return [
        name for part in (names[:half], names[half:]) for name in _numeric(source, part, problems)
    ]
