"""Which law to present, and how far to trust it."""

from gsr.selection.choice import (
    PolePolicy,
    best,
    marked,
    pareto,
    with_least_complexity,
    without_copies,
)
from gsr.selection.entry import FrontEntry
from gsr.selection.front_entries import (
    finish,
    front,
    with_errors_of_features,
    with_squared_error,
    without_failures,
)

__all__ = [
    "FrontEntry",
    "PolePolicy",
    "best",
    "finish",
    "front",
    "marked",
    "pareto",
    "with_errors_of_features",
    "with_least_complexity",
    "with_squared_error",
    "without_copies",
    "without_failures",
]
