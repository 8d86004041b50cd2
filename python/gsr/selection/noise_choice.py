"""Choice of the variance function, by the likelihood of laws fitted under each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gsr.deadline import in_time
from gsr.selection.criteria import priced_length, rough_length
from gsr.selection.fitted import FittedLaw, LawLike, Training
from gsr.selection.noise import Noise, given, of_kind
from gsr.selection.target_scale import TargetScale, attempted, with_loss
from gsr.transformation import Array

#: Rows below which scatter is taken for constant, and laws that are compared.
LEAST_ROWS = 8
MOST_LAWS = 40
#: Laws that are compared however little time is left.
LEAST_LAWS = 3
#: Laws whose structure is priced.
MOST_PRICED = 120
#: Laws that are fitted under another loss than squares, which takes longer.
MOST_WITH_LOSS = 15
#: Bits by which scatter that depends on y must describe the data better than constant scatter, and
#: scatter with a constant of its own (a proportion of two parts, a power of y) better than without.
BITS_OF_RELATIVE = 4.0
BITS_OF_SHAPE = 6.0
#: All but one in this many measured values must have the same sign for noise that vanishes with y;
#: |y| must span this factor for its noise to be told from constant noise.
ONE_IN = 20
LEAST_SPAN = 1.5
#: Where constant and relative part are equal, from the least to the greatest |y|; not below this
#: part of the greatest, where y changes its sign.
FLOORS = 15
LEAST_FLOOR = 1e-3
#: Powers of |y| that are tried; 0 is constant noise, 1 relative.
POWERS = np.linspace(0.2, 3.0, 29)
#: Fits and weights are improved in turn so often.
ROUNDS = 2


@dataclass(frozen=True, eq=False)
class Explained:
    """The law that describes the data best under one kind of noise."""

    bits: float
    law: FittedLaw
    data: Training

    @property
    def values(self) -> Array:
        """The law's y."""
        return TargetScale(self.law, self.data).solve(self.data.X, self.data.y)


def promising(laws: Sequence[LawLike], data: Training, until: float | None = None) -> list[LawLike]:
    """Return the laws of about the shortest description.

    When the time is up (`until`, on the clock of `time.perf_counter`), a rougher count will do.
    """
    near = sorted(laws, key=lambda law: rough_length(law, data))[:MOST_PRICED]
    lengths = [priced_length(law, data) for law in in_time(near, until, LEAST_LAWS)]
    order = sorted(range(len(lengths)), key=lambda k: lengths[k])
    return [*(near[k] for k in order), *near[len(lengths) :]][:MOST_LAWS]


def choose_noise(
    laws: Sequence[LawLike], data: Training, until: float | None = None
) -> Explained | None:
    """Return the law and the noise that together describe the data best; None if no law fits.

    Weights that the rows have are left aside. The noise is constant, relative, mixed or a power
    of y.
    """
    plain = replace(data, weights=None, noise=Noise())
    constant = explain(laws, plain, Noise(), until)
    if constant is None or len(data.y) < LEAST_ROWS or not _varies_in_size(data.y):
        return constant
    simple, relative = constant, None
    if _has_one_sign(data.y):
        relative = explain(laws, plain, of_kind("relative", data.y), until)
    if relative is not None and relative.bits + BITS_OF_RELATIVE < constant.bits:
        simple = relative
    if not data.loss.is_squared:
        return simple
    shaped = [
        found
        for start in (constant, relative)
        if start is not None
        for kinds in (_mixed(start.values), _powers(data.y))
        if (found := _likeliest(kinds, start, laws, plain, until)) is not None
    ]
    best = min(shaped, key=lambda found: found.bits, default=simple)
    return best if best.bits + BITS_OF_SHAPE < simple.bits else simple


def _varies_in_size(y: Array) -> bool:
    size = np.abs(y[y != 0.0])
    if len(size) < LEAST_ROWS:
        return False
    return bool(np.quantile(size, 0.95) > LEAST_SPAN * np.quantile(size, 0.05))


def _has_one_sign(y: Array) -> bool:
    minority = min(int((y > 0).sum()), int((y < 0).sum()))
    return minority * ONE_IN <= len(y)


def explain(
    laws: Sequence[LawLike], data: Training, noise: Noise, until: float | None = None
) -> Explained | None:
    """Return the best of the laws when the noise is of one kind; weights follow the best law."""
    values, best = data.y, None
    for _ in range(ROUNDS if noise.follows_law else 1):
        rows = data.with_noise(noise, values) if noise.follows_law else data
        best = _best(laws, rows, until)
        if best is None or not np.isfinite(best.values).all():
            return None
        values = best.values
    return best


def _best(laws: Sequence[LawLike], rows: Training, until: float | None = None) -> Explained | None:
    if not rows.loss.is_squared:
        judged = [with_loss(law, rows) for law in in_time(laws, until, LEAST_LAWS)]
        laws = sorted(judged, key=lambda law: rough_length(law, rows))[:MOST_WITH_LOSS]
    fitted = [attempted(law, rows) for law in in_time(laws, until, LEAST_LAWS)]
    # To be comparable between weights.
    spread = 0.0 if rows.weights is None else -0.5 * float(np.log2(rows.weights).sum())
    lengths = [priced_length(law, rows) + spread for law in fitted]
    least = int(np.argmin(lengths)) if lengths else 0
    if not lengths or not math.isfinite(lengths[least]):
        return None
    return Explained(lengths[least], fitted[least], rows)


def _mixed(values: Array) -> list[Noise]:
    """Return constant and relative noise together, in several proportions."""
    size = np.abs(values[values != 0.0])
    if not len(size) or not np.isfinite(size).all():
        return []
    floors = np.geomspace(max(size.min(), LEAST_FLOOR * size.max()), size.max(), FLOORS)
    return [Noise("mixed", float(floor)) for floor in floors]


def _powers(y: Array) -> list[Noise]:
    """Return noise that is a power of y; none if y changes its sign, where it would vanish."""
    if not _has_one_sign(y):
        return []
    return [replace(of_kind("power", y), power=float(power)) for power in POWERS]


def _likeliest(
    kinds: Sequence[Noise],
    start: Explained,
    laws: Sequence[LawLike],
    plain: Training,
    until: float | None,
) -> Explained | None:
    """Return the best law under one of several kinds of noise.

    It is the likeliest for the law to start from; the others are looked at if that law is better
    for it.
    """
    values = start.values
    squares = (plain.y - values) ** 2
    variances = [noise.variance(values) for noise in kinds]
    lengths = [float(np.log2((squares / v).mean()) + np.log2(v).mean()) for v in variances]
    if not lengths or not np.isfinite(values).all():
        return None
    rows = plain.with_noise(kinds[int(np.argmin(lengths))], values)
    alone = _best([start.law], rows)
    if alone is None or alone.bits > start.bits:
        return alone
    return _best([start.law, *laws], rows, until)


def noise_of_weights(law: LawLike, data: Training) -> Noise:
    """Return noise that follows the weights of the rows, if the residuals of a law do so.

    Weights may count copies of a row, or stand for 1/sigma^2; then the residuals follow them.
    """
    assert data.weights is not None
    residuals = data.y - TargetScale(law, data).solve(data.X, data.y)
    squares = residuals[np.isfinite(residuals)] ** 2
    weights = data.weights[np.isfinite(residuals)]
    with np.errstate(all="ignore"):
        even = np.log2(squares.mean())
        uneven = np.log2((weights * squares).mean()) - np.log2(weights).mean()
    if not uneven < even:
        return data.noise
    return replace(given(data.weights**-0.5, data.y), absolute=False)
