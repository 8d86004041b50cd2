"""What a part of a saved model must be: small checks that are put together to tables.

A check takes a value of parsed JSON and where it stands, and returns the value ready for use or
raises a `GSRError` that names the place, what it must hold and what it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gsr.exceptions import GSRError
from gsr.transformation import Array

Check = Callable[[Any, str], Any]

#: Strict JSON has no such numbers.
SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
SHOWN = 60


def refuse(where: str, needed: str, value: Any) -> GSRError:
    """Return the error for a value that will not do."""
    shown = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "..."
    return GSRError(f"{where} must be {needed}, got {shown}")


def boolean(value: Any, where: str) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        raise refuse(where, "true or false", value)
    return value


def text(value: Any, where: str) -> str:
    """Take a string."""
    if not isinstance(value, str):
        raise refuse(where, "a string", value)
    return value


def number(value: Any, where: str) -> float:
    """Take a number; "inf", "-inf" and "nan" are numbers too."""
    if isinstance(value, str) and value in SPECIAL:
        return SPECIAL[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse(where, 'a number, "inf", "-inf" or "nan"', value)
    try:
        return float(value)
    except OverflowError:
        raise refuse(where, "a number within double precision", value) from None


def finite(value: Any, where: str) -> float:
    """Take a finite number."""
    found = number(value, where)
    if not math.isfinite(found):
        raise refuse(where, "a finite number", value)
    return found


def integer(low: int = 0, high: int = 2**62) -> Check:
    """Take a whole number between two others."""

    def check(value: Any, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise refuse(where, f"a whole number from {low} to {high}", value)
        return value

    return check


def choice(*allowed: str) -> Check:
    """Take one of some strings."""

    def check(value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise refuse(where, f"one of {', '.join(allowed)}", value)
        return value

    return check


def optional(of: Check) -> Check:
    """Take null too."""
    return lambda value, where: None if value is None else of(value, where)


def listing(of: Check, least: int = 0, most: int | None = None) -> Check:
    """Take a list."""
    longest = "" if most is None else f", at most {most}"

    def check(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise refuse(where, "a list", value)
        if len(value) < least or (most is not None and len(value) > most):
            raise refuse(where, f"a list of at least {least}{longest}", len(value))
        return [of(item, f"{where}[{i}]") for i, item in enumerate(value)]

    return check


def vector(of: Check = number) -> Check:
    """Take a list of numbers, as an array."""
    numbers = listing(of)
    return lambda value, where: np.array(numbers(value, where), dtype=float)


def table(of: Check = number) -> Check:
    """Take a list of lists of numbers of the same length, as an array of two dimensions."""
    rows = listing(listing(of))

    def check(value: Any, where: str) -> Array:
        found = rows(value, where)
        widths = {len(row) for row in found}
        if len(widths) > 1:
            raise GSRError(f"{where} must have rows of the same length, got {sorted(widths)[:5]}")
        return np.array(found, dtype=float).reshape(len(found), widths.pop() if widths else 0)

    return check


def mapping(of: Check) -> Check:
    """Take an object with any keys."""

    def check(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise refuse(where, "an object", value)
        return {key: of(item, f"{where}.{key[:SHOWN]}") for key, item in value.items()}

    return check


def record(fields: Mapping[str, Check]) -> Check:
    """Take an object with the keys named; others are left out, and a missing one is null."""

    def check(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise refuse(where, "an object", value)
        return {name: of(value.get(name), f"{where}.{name}") for name, of in fields.items()}

    return check


def later(make: Callable[[], Check]) -> Check:
    """Take what a check takes that is not there yet, as in a table that holds itself."""
    return lambda value, where: make()(value, where)
