"""Properties of a transformation T(t) that the compiled core does not have.

`TRAITS` has one entry for each built-in transformation. `gsr.Transformation` takes the same for
one of a user's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gsr import intervals as iv
from gsr.intervals import Interval

Image = Callable[[Interval], Interval]

DIVISION, LOGARITHM, ROOT = "division by 0", "logarithm of 0", "root of a negative number"
TANGENT = "pole of tan"


class Limit(NamedTuple):
    """An argument that must not be 0, or not negative, for its transformation to have a value."""

    #: What goes wrong otherwise.
    reason: str
    #: Negative values are at fault, rather than 0.
    is_root: bool = False
    #: A law may be continuous where this part of it is undefined.
    removable: bool = False
    #: The function of the argument that is meant, if it is not the argument itself.
    of: Image | None = None


@dataclass(frozen=True, kw_only=True)
class Traits:
    """The properties of a transformation by which laws are checked, varied and simplified."""

    #: The values of T over `Interval` objects. Without it poles are not looked for.
    image: Image | None = None
    #: The values of T' and T'' over intervals. Without them shapes are not proved.
    slope: Image | None = None
    bend: Image | None = None
    #: What the argument must keep away from, and that of the inverse, beside the range.
    limit: Limit | None = None
    inverse_limit: Limit | None = None
    #: The range of T, and whether T comes near its ends and does not reach them.
    low: float = -np.inf
    high: float = np.inf
    is_open: bool = False
    #: T exceeds the largest number for arguments of moderate size.
    overflows: bool = False
    #: 1 if y rises with T(y) wherever T is defined, -1 if it falls, 0 if neither.
    rises: int = 0
    #: |y| rises with T(y).
    rises_with_size: bool = False
    #: p if T(-t) = p T(t), 0 if T is neither even nor odd.
    parity: int = 0
    #: T is 0 at t = 0 and nowhere else.
    vanishes_at_zero: bool = False
    #: T(t) = t for small t, up to terms of higher order.
    linear_at_zero: bool = False
    #: T(0) = 1.
    one_at_zero: bool = False
    #: T(k t), or T(t + k), has a constant k that no coefficient outside can hold.
    scales: bool = False
    shifts: bool = False
    #: r if T(t) = exp(r t), otherwise 0.
    exponent: float = 0.0
    #: T(t) is T(|t|), though the text and the SymPy form have no bars.
    of_magnitude: bool = False
    #: T(t) has the unit of t, though T is not a power.
    keeps_unit: bool = False
    #: How the grammar of formulas counts T, if not among the others.
    grammar: str = ""
    #: Presets in which targets do not have T unless the user asks for it.
    not_for_targets: tuple[str, ...] = ()

    @property
    def has_derivatives(self) -> bool:
        """Whether T and its derivatives are known over intervals."""
        return None not in (self.image, self.slope, self.bend)


#: Of a transformation without given properties.
UNKNOWN = Traits()


def _scaled(image: Image, factor: float) -> Image:
    return lambda t: iv.scale(image(t), factor)


def _power(n: int, factor: float = 1.0, base: Image = lambda t: t) -> Image:
    """Return factor times the n-th power."""
    return lambda t: iv.scale(iv.power(base(t), n), factor)


def _root_power(n: int, factor: float) -> Image:
    return lambda t: iv.scale(iv.reciprocal(iv.power(iv.sqrt(t), n)), factor)


def _one_more_square(t: Interval) -> Interval:
    return iv.add(iv.constant(1.0, len(t.low)), iv.power(iv.tan(t), 2))


def _one_less_square(t: Interval) -> Interval:
    square = iv.scale(iv.power(iv.tanh(t), 2), -1.0)
    raised = iv.add(iv.constant(1.0, len(t.low)), square)
    return Interval(np.maximum(raised.low, 0.0), raised.high)


def _one_over_one_more_square(t: Interval) -> Interval:
    return iv.reciprocal(iv.add(iv.constant(1.0, len(t.low)), iv.power(t, 2)))


def _bend_of_arctan(t: Interval) -> Interval:
    return iv.scale(iv.multiply(t, iv.power(_one_over_one_more_square(t), 2)), -2.0)


def _bend_at_zero(t: Interval) -> Interval:
    return Interval(np.zeros(len(t.low)), np.where(t.has_zero, np.inf, 0.0))


def _exp_neg(t: Interval) -> Interval:
    return iv.exp(iv.scale(t, -1.0))


_cbrt = iv.monotone(np.cbrt)
#: Entries in the order of the core's table: images and limits, then ranges, then the rest.
TRAITS: dict[str, Traits] = {
    "one": Traits(image=iv.flat(1.0)),
    "identity": Traits(
        image=lambda t: t, slope=iv.flat(1.0), bend=iv.flat(0.0),
        rises=1, parity=-1, vanishes_at_zero=True,
    ),
    "inverse": Traits(
        image=iv.reciprocal, slope=_power(-2, -1.0), bend=_power(-3, 2.0),
        limit=Limit(DIVISION, removable=True), inverse_limit=Limit(DIVISION),
        rises=-1, parity=-1,
    ),
    "square": Traits(
        image=_power(2), slope=lambda t: iv.scale(t, 2.0), bend=iv.flat(2.0),
        low=0.0, rises_with_size=True, parity=1, vanishes_at_zero=True,
    ),
    "cube": Traits(
        image=_power(3), slope=_power(2, 3.0), bend=lambda t: iv.scale(t, 6.0),
        rises=1, parity=-1, vanishes_at_zero=True,
    ),
    "sqrt": Traits(
        image=iv.sqrt, slope=_root_power(1, 0.5), bend=_root_power(3, -0.25),
        limit=Limit(ROOT, is_root=True),
        low=0.0, rises=1, vanishes_at_zero=True, shifts=True,
    ),
    "cos": Traits(
        image=iv.cos, slope=_scaled(iv.sin, -1.0), bend=_scaled(iv.cos, -1.0),
        low=-1.0, high=1.0, parity=1, one_at_zero=True, scales=True, shifts=True,
        grammar="wave", not_for_targets=("paper",),
    ),
    "sin": Traits(
        image=iv.sin, slope=iv.cos, bend=_scaled(iv.sin, -1.0),
        low=-1.0, high=1.0, parity=-1, linear_at_zero=True, scales=True, shifts=True,
        grammar="wave", not_for_targets=("paper",),
    ),
    "tan": Traits(
        image=iv.tan, slope=_one_more_square,
        bend=lambda t: iv.scale(iv.multiply(iv.tan(t), _one_more_square(t)), 2.0),
        limit=Limit(TANGENT, of=iv.cos),
        parity=-1, linear_at_zero=True, scales=True,
        grammar="tan", not_for_targets=("paper",),
    ),
    "tanh": Traits(
        image=iv.tanh, slope=_one_less_square,
        bend=lambda t: iv.scale(iv.multiply(iv.tanh(t), _one_less_square(t)), -2.0),
        low=-1.0, high=1.0, is_open=True,
        rises=1, parity=-1, vanishes_at_zero=True, linear_at_zero=True, scales=True,
        grammar="tanh",
    ),
    "exp": Traits(
        image=iv.exp, slope=iv.exp, bend=iv.exp,
        low=0.0, is_open=True, overflows=True, rises=1, one_at_zero=True, scales=True,
        exponent=1.0, grammar="exp",
    ),
    "ln": Traits(
        image=iv.ln, slope=_power(-1), bend=_power(-2, -1.0),
        limit=Limit(LOGARITHM, removable=True),
        rises_with_size=True, parity=1, shifts=True, of_magnitude=True,
        grammar="ln",
    ),
    "exp_neg": Traits(
        image=_exp_neg, slope=_scaled(_exp_neg, -1.0), bend=_exp_neg,
        low=0.0, is_open=True, overflows=True, rises=-1, one_at_zero=True, scales=True,
        exponent=-1.0,
    ),
    "cbrt": Traits(
        image=_cbrt, slope=_power(-2, 1.0 / 3.0, _cbrt), bend=_power(-5, -2.0 / 9.0, _cbrt),
        rises=1, parity=-1, vanishes_at_zero=True, shifts=True,
    ),
    "abs": Traits(
        image=iv.absolute, slope=iv.sign, bend=_bend_at_zero,
        low=0.0, rises_with_size=True, parity=1, vanishes_at_zero=True, shifts=True,
        keeps_unit=True, not_for_targets=("default",),
    ),
    "arctan": Traits(
        image=iv.monotone(np.arctan), slope=_one_over_one_more_square, bend=_bend_of_arctan,
        low=-np.pi / 2, high=np.pi / 2, is_open=True,
        rises=1, parity=-1, vanishes_at_zero=True, linear_at_zero=True, scales=True,
    ),
}  # fmt: skip
