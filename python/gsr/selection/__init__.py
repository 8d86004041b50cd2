"""Which law to present, and how far to trust it."""

from gsr.selection.choice import (
    POLE_POLICIES,
    FrontEntry,
    PolePolicy,
    best,
    finish,
    front,
    pareto,
    without_copies,
)

__all__ = [
    "POLE_POLICIES",
    "FrontEntry",
    "PolePolicy",
    "best",
    "finish",
    "front",
    "pareto",
    "without_copies",
]
