"""The sign of y where the law has lost it, as in ln|y| = f(x) or y^2 = f(x)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gsr.encoding.fold import values_of
from gsr.encoding.rows import Argument, variable
from gsr.library import Library
from gsr.transformation import Array

Bits = npt.NDArray[np.bool_]
INTEGER_TOLERANCE = 1e-6
#: A feature that varies less, relative to its size, is constant.
ROUNDING = 1e-12
#: Rows further from the training data, in standard deviations, are taken for this far.
FAR = 1e6


@dataclass(frozen=True)
class SignRule:
    """sign(y) = constant times the signs of some arguments."""

    constant: int
    arguments: tuple[Argument, ...]
    library: Library | None = field(default=None, compare=False, repr=False)

    def __call__(self, X: Array) -> Array:
        """Return 1 or -1 for each row of X; 0 where an argument is 0."""
        signs = np.full(len(X), float(self.constant))
        for argument in self.arguments:
            signs *= np.sign(values_of(argument, X, self.library))
        return signs


@dataclass(frozen=True)
class Neighbours:
    """The training rows, to be asked for the y of the one nearest to a new row."""

    scale: Array
    X: Array
    y: Array

    @classmethod
    def of(cls, X: Array, y: Array) -> Neighbours:
        """Keep training data, with the features' standard deviations as scale."""
        size = np.abs(X).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        spread = (X / size).std(axis=0)
        scale = np.maximum(spread * size, np.finfo(float).tiny)
        return cls(np.where(spread > ROUNDING, scale, 1.0), X.copy(), y.copy())

    def __call__(self, X: Array) -> Array:
        """Return the y of the training row nearest to each row of X."""
        from scipy.spatial import cKDTree

        with np.errstate(over="ignore"):
            known, asked = self.X / self.scale, X / self.scale
        # A feature that the law does not use may be missing, and squares must not overflow.
        asked = np.nan_to_num(asked).clip(known.min(axis=0) - FAR, known.max(axis=0) + FAR)
        _, nearest = cKDTree(known).query(asked)
        found: Array = self.y[nearest]
        return found


def parity_rule(
    X: Array,
    y: Array,
    logarithms: Sequence[tuple[float, Argument]],
    beta: float,
    library: Library | None = None,
) -> SignRule | None:
    """Find the sign in beta ln|y| = sum c ln|argument| + ...: the product of the odd powers.

    The complex logarithm with integer coefficients gives it exactly.
    """
    powers = [(c / beta, argument) for c, argument in logarithms]
    if any(abs(c - round(c)) > INTEGER_TOLERANCE for c, _ in powers):
        return None
    odd = tuple(argument for c, argument in powers if round(c) % 2 == 1)
    rules = (SignRule(constant, odd, library) for constant in (1, -1))
    return next((rule for rule in rules if _holds(rule, X, y)), None)


def eliminated_rule(
    X: Array, y: Array, logarithms: Sequence[Argument], library: Library | None = None
) -> SignRule | None:
    """Find signs of logarithms' arguments and of features whose product is the sign of y.

    Signs multiply as bits add, so this is a linear system over GF(2).
    """
    arguments = [*logarithms, *(variable(v) for v in range(1, X.shape[1] + 1))]
    arguments = list(dict.fromkeys(arguments))
    values = np.column_stack([values_of(a, X, library) for a in arguments])
    known = (values != 0).all(axis=1) & (y != 0)
    bits = np.column_stack([np.ones(len(X), bool), values < 0, y < 0])[known]
    chosen = _solve_bits(np.unique(bits, axis=0)) if len(bits) else None
    if chosen is None:
        return None
    signed = tuple(arguments[j - 1] for j in chosen if j)
    rule = SignRule(-1 if 0 in chosen else 1, signed, library)
    return rule if _holds(rule, X, y) else None


def _holds(rule: SignRule, X: Array, y: Array) -> bool:
    signs = rule(X) * np.sign(y)
    return bool((signs >= 0).all() and (signs > 0).any())


def _solve_bits(system: Bits) -> list[int] | None:
    """Return the columns that add up to the last one; the first columns are preferred."""
    system = system.copy()
    pivots: list[int] = []
    for j in range(system.shape[1] - 1):
        rank = len(pivots)
        below = np.flatnonzero(system[rank:, j])
        if not len(below):
            continue
        system[[rank, rank + below[0]]] = system[[rank + below[0], rank]]
        others = system[:, j].copy()
        others[rank] = False
        system[others] ^= system[rank]
        pivots.append(j)
    if system[len(pivots) :, -1].any():
        return None
    return [j for i, j in enumerate(pivots) if system[i, -1]]
