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
        "nothing but rounding: the law is exact",
        "The law is exact: what it leaves of these rows is rounding.",
    ),
    "noise": Level(
        "noise without structure",
        "The residuals look like noise: the tests see no structure in them.",
    ),
    "ambiguous": Level(
        "noise, as do laws of other kinds: the rows do not determine the law",
        "The residuals look like noise, but laws of other kinds describe the rows about as well: "
        "the rows do not determine the law.",
    ),
    "above": Level(
        "more than noise: the law is an approximation",
        "The law is an approximation: the residuals are more than noise, so there is structure in "
        "the data that it does not describe.",
    ),
    "unknown": Level(
        "not known: too few rows to tell",
        "There are too few rows, or no training rows, to tell whether the residuals are noise.",
    ),
}


def ending(status: str) -> str:
    """Return why a search ended."""
    return ENDINGS.get(status, status)
