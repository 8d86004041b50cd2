"""What a value in a configuration file may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class Kind(Protocol):
    """What a value may be; as text it completes "must be ..."."""

    def holds(self, value: object) -> bool:
        """Whether the value is such."""


@dataclass(frozen=True)
class Flag:
    """Yes or no, in the words of TOML."""

    def holds(self, value: object) -> bool:
        """Whether the value is one of the two."""
        return isinstance(value, bool)

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Text:
    """A piece of text."""

    def holds(self, value: object) -> bool:
        """Whether the value is text that is not empty."""
        return isinstance(value, str) and bool(value.strip())

    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True)
class Texts:
    """A list of pieces of text, or of numbers of columns."""

    of: str = "names"
    numbers: bool = False

    def holds(self, value: object) -> bool:
        """Whether the value is such a list."""
        kinds = (str, int) if self.numbers else (str,)
        return isinstance(value, list) and all(
            isinstance(each, kinds) and not isinstance(each, bool) for each in value
        )

    def __str__(self) -> str:
        return f"a list of {self.of}"


@dataclass(frozen=True)
class TableOf:
    """A table from names to values of a kind."""

    kind: Kind

    def holds(self, value: object) -> bool:
        """Whether the value is such a table."""
        return isinstance(value, Mapping) and all(map(self.kind.holds, value.values()))

    def __str__(self) -> str:
        return f"a table from names to {self.kind}"


@dataclass(frozen=True)
class AnyOf:
    """One of several kinds."""

    kinds: tuple[Kind, ...]

    def holds(self, value: object) -> bool:
        """Whether the value is of one of the kinds."""
        return any(kind.holds(value) for kind in self.kinds)

    def __str__(self) -> str:
        return " or ".join(map(str, self.kinds))


@dataclass(frozen=True)
class Pairs:
    """A list of pairs of whole numbers."""

    of: str

    def holds(self, value: object) -> bool:
        """Whether the value is such a list."""
        return isinstance(value, list) and all(map(_is_pair, value))

    def __str__(self) -> str:
        return f"a list of pairs of {self.of}"


def _is_pair(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    return all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in value)


@dataclass(frozen=True)
class Tables:
    """A list of tables, each with some of the known keys.

    Parameters
    ----------
    kinds : mapping of str to Kind
        The keys, and what their values may be.
    of : str
        What the keys are.
    """

    kinds: Mapping[str, Kind]
    of: str

    def holds(self, value: object) -> bool:
        """Whether the value is such a list."""
        return isinstance(value, list) and all(map(self._is_table, value))

    def _is_table(self, value: object) -> bool:
        return isinstance(value, Mapping) and all(
            name in self.kinds and self.kinds[name].holds(each) for name, each in value.items()
        )

    def __str__(self) -> str:
        return f"a list of tables of {self.of}"
