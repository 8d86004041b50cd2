"""What is said about a law and about a search, in the same words everywhere."""

from __future__ import annotations

from typing import NamedTuple

from gsr.search import ENDINGS


class Level(NamedTuple):
    """What the residuals of a law say, as an entry of a list and as a sentence."""

    phrase: str
    sentence: str


LEVELS = {
    "rounding": Level(
        "exact: only rounding errors are left",
        "The law is exact: only rounding errors are left in these rows.",
    ),
    "noise": Level(
        "within noise: the tests detect no structure",
        "The residuals are consistent with noise: the tests detect no structure in them.",
    ),
    "ambiguous": Level(
        "within noise, as for laws of other kinds: the rows do not determine the law",
        "The residuals are consistent with noise, but laws of other kinds describe the rows about "
        "as well: the rows do not determine the law.",
    ),
    "above": Level(
        "structure left: the law is an approximation",
        "The law is an approximation: there is structure left in the residuals that it does not "
        "describe.",
    ),
    "unknown": Level(
        "too few rows to tell",
        "There are too few rows, or no training rows, to tell whether the residuals are noise.",
    ),
}


def ending(status: str) -> str:
    """Return why a search ended."""
    return ENDINGS.get(status, status)
