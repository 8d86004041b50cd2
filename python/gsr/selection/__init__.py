"""Which law to present, and how far to trust it."""

from gsr.selection.choice import (
    FrontEntry,
    PolePolicy,
    best,
    finish,
    front,
    marked,
    pareto,
    with_least_complexity,
    with_squared_error,
    without_copies,
    without_failures,
)
from gsr.selection.orthogonal import with_errors_of_features

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
