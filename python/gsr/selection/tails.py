"""Bits of residuals that may have heavy tails."""

from __future__ import annotations

import math

import numpy as np

from gsr.transformation import Array

#: Degrees of freedom of Student's t.
FREEDOM = 3.0
#: Bits to say that the tails are heavy.
BITS_OF_TAILS = 3.0
ROUNDS = 50
CONVERGED = 1e-6
#: Bits of a standard normal residual.
NORMAL_BITS = 0.5 * math.log2(2.0 * math.pi * math.e)
_LOG_NORM = (
    math.lgamma((FREEDOM + 1.0) / 2.0)
    - math.lgamma(FREEDOM / 2.0)
    - 0.5 * math.log(FREEDOM * math.pi)
)


def heavy_tailed_bits(residuals: Array) -> float:
    """Return the bits of residuals under Student's t of the likeliest scale.

    Without it a few outliers would be worth a law that follows them.
    """
    largest = float(np.abs(residuals).max(initial=0.0))
    if not math.isfinite(largest):
        return math.inf
    if largest == 0.0:
        return -math.inf
    squares = (residuals / largest) ** 2
    scale = _likeliest_scale(squares)
    if scale == 0.0:
        return -math.inf
    tails = 0.5 * (FREEDOM + 1.0) * float(np.log1p(squares / (FREEDOM * scale)).sum())
    n = len(residuals)
    nats = tails + n * (0.5 * math.log(scale) + math.log(largest) - _LOG_NORM)
    return BITS_OF_TAILS + nats / math.log(2.0) - n * NORMAL_BITS


def _likeliest_scale(squares: Array) -> float:
    """Return the square of the scale, by the EM algorithm."""
    scale = float(np.median(squares)) or float(squares.mean())
    for _ in range(ROUNDS):
        last = scale
        scale = float(((FREEDOM + 1.0) * squares / (FREEDOM + squares / last)).mean())
        if abs(scale - last) <= CONVERGED * last or scale == 0.0:
            break
    return scale
