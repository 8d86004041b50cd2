"""Which law of the front to present."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from gsr.equation import Equation
from gsr.exceptions import GSRError

BITS_PER_NODE = 3.0


@dataclass(frozen=True, eq=False)
class FrontEntry:
    """A law on the Pareto front.

    Parameters
    ----------
    complexity : int
        Nodes of the expression.
    rmse : float
        Error on the training rows, on the scale of y.
    exact : bool
        Whether the residual is at rounding level and the law short to describe.
    n_constants : int
        Coefficients.
    bits : float
        Description length of an exact law.
    """

    complexity: int
    rmse: float
    exact: bool
    n_constants: int
    bits: float
    make: Callable[[], Equation] = field(repr=False)

    @cached_property
    def equation(self) -> Equation:
        """The law itself."""
        return self.make()

    def __getstate__(self) -> dict[str, Any]:
        # The law is made now: what would make it later holds the training data.
        return {**self.__dict__, "equation": self.equation, "make": None}

    def __str__(self) -> str:
        return f"{self.complexity:4d}  {self.rmse:10.3e}  {self.equation}"


def front(laws: Sequence[Any], equation: Callable[[Any], Equation]) -> list[FrontEntry]:
    """Return the core's laws as front entries, simplest first."""
    return [
        FrontEntry(
            law.complexity,
            law.rmse,
            law.exact,
            len(law.alpha) + len(law.beta) - 1,
            law.bits,
            partial(equation, law),
        )
        for law in laws
    ]


def best(entries: Sequence[FrontEntry], n_rows: int) -> int:
    """Return the index of the law with the shortest description of law and data together.

    An exact law needs no bits for the data. Otherwise the residuals take N/2 log2 of the mean
    square (corrected for the constants as generalised cross-validation does), and each constant
    1/2 log2 N (the precision that the data gives it).
    """
    if not entries:
        raise GSRError(
            "no law with a finite error was found; add 'identity' to target_library or allow "
            "more time"
        )
    exact = [i for i, entry in enumerate(entries) if entry.exact]
    if exact:
        return min(exact, key=lambda i: entries[i].bits)
    return min(range(len(entries)), key=lambda i: _length(entries[i], n_rows))


def _length(entry: FrontEntry, n_rows: int) -> float:
    left = n_rows - entry.n_constants
    if left <= 0:
        return math.inf
    data = n_rows * math.log2(max(entry.rmse, 1e-300) * n_rows / left)
    constants = 0.5 * math.log2(n_rows) * entry.n_constants
    return data + BITS_PER_NODE * entry.complexity + constants
