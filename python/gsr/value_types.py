"""Types of values: what an option or a field of a file may hold, and how messages say so.

Nothing here needs more than the standard library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, cast

from gsr.exceptions import suggestion

#: The core counts with 32 bits.
LARGEST_INT = 2**31 - 1
#: A value longer than this is cut in messages.
LONGEST_SHOWN = 60


class ValueType:
    """A type of values; `str` completes "must be ...", in words of configuration files."""

    def accepts(self, value: object) -> bool:
        """Whether the value is of this type."""
        raise NotImplementedError

    def hint(self, value: object) -> str:
        """Return the end of a message about a value that is not accepted."""
        return ""

    def in_python(self) -> str:
        """Return the same as `str` in words of Python."""
        return str(self)

    def mismatch(self, value: object, *, python: bool = False) -> str | None:
        """Return what is wrong with a value; None if it is accepted."""
        if self.accepts(value):
            return None
        what, got = (self.in_python(), repr(value)) if python else (str(self), shown(value))
        return f"must be {what}, got {got}{self.hint(value)}"


@dataclass(frozen=True)
class Number(ValueType):
    """Numbers of a range; NumPy's are numbers, truth values are not."""

    kind: type[int] | type[float]
    low: float
    high: float = math.inf

    def __post_init__(self) -> None:
        if self.kind is int and math.isinf(self.high):
            object.__setattr__(self, "high", LARGEST_INT)

    def accepts(self, value: object) -> bool:
        number = Integral if self.kind is int else Real
        if isinstance(value, bool) or not isinstance(value, number):
            return False
        return bool(self.low <= cast(Any, value) <= self.high)

    def hint(self, value: object) -> str:
        too_large = isinstance(value, int) and value > self.high
        return f"; at most {self.high:.0f} is allowed" if too_large else ""

    def __str__(self) -> str:
        what = "a whole number" if self.kind is int else "a number"
        if self.high in (math.inf, LARGEST_INT):
            return f"{what} of at least {self.low:g}"
        return f"{what} from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Choice(ValueType):
    """Some words."""

    values: tuple[str, ...]

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and value in self.values

    def hint(self, value: object) -> str:
        return suggestion(value, self.values) if isinstance(value, str) else ""

    def __str__(self) -> str:
        return " or ".join(map(repr, self.values))


@dataclass(frozen=True)
class Boolean(ValueType):
    """True or false."""

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)

    def in_python(self) -> str:
        return "True or False"

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Text(ValueType):
    """Text that is not empty."""

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and bool(value.strip())

    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True)
class ListOf(ValueType):
    """Lists of a type; `of` names their elements."""

    type: ValueType
    of: str

    def accepts(self, value: object) -> bool:
        return isinstance(value, list) and all(map(self.type.accepts, value))

    def __str__(self) -> str:
        return f"a list of {self.of}"


@dataclass(frozen=True)
class TableOf(ValueType):
    """Tables from names to values of a type."""

    type: ValueType

    def accepts(self, value: object) -> bool:
        return isinstance(value, Mapping) and all(map(self.type.accepts, value.values()))

    def __str__(self) -> str:
        return f"a table from names to {self.type}"


@dataclass(frozen=True)
class Record(ValueType):
    """Tables with some of the keys of `fields`, which are `of` a kind."""

    fields: Mapping[str, ValueType]
    of: str

    def accepts(self, value: object) -> bool:
        return isinstance(value, Mapping) and all(
            name in self.fields and self.fields[name].accepts(each) for name, each in value.items()
        )

    def __str__(self) -> str:
        return f"a table of {self.of}"


@dataclass(frozen=True)
class AnyOf(ValueType):
    """Values of one of several types."""

    types: tuple[ValueType, ...]

    def accepts(self, value: object) -> bool:
        return any(each.accepts(value) for each in self.types)

    def __str__(self) -> str:
        return " or ".join(map(str, self.types))


@dataclass(frozen=True)
class Pair(ValueType):
    """Lists of two whole numbers from 0 on."""

    def accepts(self, value: object) -> bool:
        each = Number(int, 0)
        return isinstance(value, list) and len(value) == 2 and all(map(each.accepts, value))


BOOLEAN, TEXT, COUNT = Boolean(), Text(), Number(int, 1)


def shown(value: Any) -> str:
    """Return a value as messages show it."""
    try:
        text = json.dumps(value) if isinstance(value, bool) else repr(value)
    except ValueError:  # Python writes no larger integers
        text = "a number with thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."
