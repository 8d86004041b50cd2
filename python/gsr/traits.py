"""What Python knows of a transformation T(t) beside its values, which are the compiled core's.

`TRAITS` has one entry for each built-in transformation. `gsr.Transformation` takes the same for
one of a user's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gsr import intervals as iv
from gsr.intervals import Array, Interval

Image = Callable[[Interval], Interval]

DIVISION, LOGARITHM, ROOT = "division by 0", "logarithm of 0", "root of a negative number"
TANGENT = "pole of tan"


class Limit(NamedTuple):
    """An argument that must not be 0, or not negative, for its transformation to have a value.

    Parameters
    ----------
    reason : str
        What goes wrong otherwise.
    is_root : bool
        Whether negative values are at fault, rather than 0.
    removable : bool
        Whether a law may be continuous where this part of it is undefined.
    of : callable, optional
        The function of the argument that is meant, if it is not the argument itself.
    """

    reason: str
    is_root: bool = False
    removable: bool = False
    of: Image | None = None


@dataclass(frozen=True, kw_only=True)
class Traits:
    """The properties of a transformation by which laws are checked, varied and simplified.

    Parameters
    ----------
    image : callable, optional
        The values of T over `Interval` objects. Without it poles are not looked for.
    slope, bend : callable, optional
        The values of T' and T'' over intervals. Without them shapes are not proved.
    numpy : callable, optional
        T for NumPy, as a function of (t, out): the reference for the compiled core.
    limit : Limit, optional
        What the argument must keep away from.
    inverse_limit : Limit, optional
        What the argument of the inverse must keep away from, beside the range.
    low, high : float
        The range of T.
    is_open : bool
        Whether T comes near the ends of its range and does not reach them.
    overflows : bool
        Whether T exceeds the largest number for arguments of moderate size.
    rises : {-1, 0, 1}
        1 if y rises with T(y) wherever T is defined, -1 if it falls, 0 if neither.
    rises_with_size : bool
        Whether |y| rises with T(y).
    parity : {-1, 0, 1}
        p if T(-t) = p T(t), 0 if T is neither even nor odd.
    vanishes_at_zero : bool
        Whether T is 0 at t = 0 and nowhere else.
    linear_at_zero : bool
        Whether T(t) = t for small t, up to terms of higher order.
    one_at_zero : bool
        Whether T(0) = 1.
    scales, shifts : bool
        Whether T(k t), or T(t + k), has a constant k that no coefficient outside can hold.
    exponent : float
        r if T(t) = exp(r t), otherwise 0.
    of_magnitude : bool
        Whether T(t) is T(|t|), though the text and the SymPy form have no bars.
    keeps_unit : bool
        Whether T(t) has the unit of t, though T is no power.
    grammar : str
        How the grammar of formulas counts T, if not among the others.
    not_for_targets : tuple of str
        Presets in which targets do not have T unless the user asks for it.
    """

    image: Image | None = None
    slope: Image | None = None
    bend: Image | None = None
    numpy: Callable[[Array, Array], Any] | None = None
    limit: Limit | None = None
    inverse_limit: Limit | None = None
    low: float = -np.inf
    high: float = np.inf
    is_open: bool = False
    overflows: bool = False
    rises: int = 0
    rises_with_size: bool = False
    parity: int = 0
    vanishes_at_zero: bool = False
    linear_at_zero: bool = False
    one_at_zero: bool = False
    scales: bool = False
    shifts: bool = False
    exponent: float = 0.0
    of_magnitude: bool = False
    keeps_unit: bool = False
    grammar: str = ""
    not_for_targets: tuple[str, ...] = ()

    @property
    def has_derivatives(self) -> bool:
        """Whether T and its derivatives are known over intervals."""
        return None not in (self.image, self.slope, self.bend)


#: Of a transformation of which nothing is said.
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
#: Entries in the order of the core's table.
TRAITS: dict[str, Traits] = {
    "one": Traits(image=iv.flat(1.0), numpy=lambda t, out: out.fill(1.0)),
    "identity": Traits(
        image=lambda t: t,
        slope=iv.flat(1.0),
        bend=iv.flat(0.0),
        numpy=lambda t, out: np.copyto(out, t),
        rises=1,
        parity=-1,
        vanishes_at_zero=True,
    ),
    "inverse": Traits(
        image=iv.reciprocal,
        slope=_power(-2, -1.0),
        bend=_power(-3, 2.0),
        numpy=np.reciprocal,
        limit=Limit(DIVISION, removable=True),
        inverse_limit=Limit(DIVISION),
        rises=-1,
        parity=-1,
    ),
    "square": Traits(
        image=_power(2),
        slope=lambda t: iv.scale(t, 2.0),
        bend=iv.flat(2.0),
        numpy=np.square,
        low=0.0,
        rises_with_size=True,
        parity=1,
        vanishes_at_zero=True,
    ),
    "cube": Traits(
        image=_power(3),
        slope=_power(2, 3.0),
        bend=lambda t: iv.scale(t, 6.0),
        numpy=lambda t, out: np.multiply(np.multiply(t, t, out=out), t, out=out),
        rises=1,
        parity=-1,
        vanishes_at_zero=True,
    ),
    "sqrt": Traits(
        image=iv.sqrt,
        slope=_root_power(1, 0.5),
        bend=_root_power(3, -0.25),
        numpy=np.sqrt,
        limit=Limit(ROOT, is_root=True),
        low=0.0,
        rises=1,
        vanishes_at_zero=True,
        shifts=True,
    ),
    "cos": Traits(
        image=iv.cos,
        slope=_scaled(iv.sin, -1.0),
        bend=_scaled(iv.cos, -1.0),
        numpy=np.cos,
        low=-1.0,
        high=1.0,
        parity=1,
        one_at_zero=True,
        scales=True,
        shifts=True,
        grammar="wave",
        not_for_targets=("paper",),
    ),
    "sin": Traits(
        image=iv.sin,
        slope=iv.cos,
        bend=_scaled(iv.sin, -1.0),
        numpy=np.sin,
        low=-1.0,
        high=1.0,
        parity=-1,
        linear_at_zero=True,
        scales=True,
        shifts=True,
        grammar="wave",
        not_for_targets=("paper",),
    ),
    "tan": Traits(
        image=iv.tan,
        slope=_one_more_square,
        bend=lambda t: iv.scale(iv.multiply(iv.tan(t), _one_more_square(t)), 2.0),
        numpy=np.tan,
        limit=Limit(TANGENT, of=iv.cos),
        parity=-1,
        linear_at_zero=True,
        scales=True,
        grammar="tan",
        not_for_targets=("paper",),
    ),
    "tanh": Traits(
        image=iv.tanh,
        slope=_one_less_square,
        bend=lambda t: iv.scale(iv.multiply(iv.tanh(t), _one_less_square(t)), -2.0),
        numpy=np.tanh,
        low=-1.0,
        high=1.0,
        is_open=True,
        rises=1,
        parity=-1,
        vanishes_at_zero=True,
        linear_at_zero=True,
        scales=True,
        grammar="tanh",
    ),
    "exp": Traits(
        image=iv.exp,
        slope=iv.exp,
        bend=iv.exp,
        numpy=np.exp,
        low=0.0,
        is_open=True,
        overflows=True,
        rises=1,
        one_at_zero=True,
        scales=True,
        exponent=1.0,
        grammar="exp",
    ),
    "ln": Traits(
        image=iv.ln,
        slope=_power(-1),
        bend=_power(-2, -1.0),
        numpy=lambda t, out: np.log(np.abs(t, out=out), out=out),
        limit=Limit(LOGARITHM, removable=True),
        rises_with_size=True,
        parity=1,
        shifts=True,
        of_magnitude=True,
        grammar="ln",
    ),
    "exp_neg": Traits(
        image=_exp_neg,
        slope=_scaled(_exp_neg, -1.0),
        bend=_exp_neg,
        numpy=lambda t, out: np.exp(np.negative(t, out=out), out=out),
        low=0.0,
        is_open=True,
        overflows=True,
        rises=-1,
        one_at_zero=True,
        scales=True,
        exponent=-1.0,
    ),
    "cbrt": Traits(
        image=_cbrt,
        slope=_power(-2, 1.0 / 3.0, _cbrt),
        bend=_power(-5, -2.0 / 9.0, _cbrt),
        numpy=np.cbrt,
        rises=1,
        parity=-1,
        vanishes_at_zero=True,
        shifts=True,
    ),
    "abs": Traits(
        image=iv.absolute,
        slope=iv.sign,
        bend=_bend_at_zero,
        numpy=np.abs,
        low=0.0,
        rises_with_size=True,
        parity=1,
        vanishes_at_zero=True,
        shifts=True,
        keeps_unit=True,
        not_for_targets=("default",),
    ),
    "arctan": Traits(
        image=iv.monotone(np.arctan),
        slope=_one_over_one_more_square,
        bend=_bend_of_arctan,
        numpy=np.arctan,
        low=-np.pi / 2,
        high=np.pi / 2,
        is_open=True,
        rises=1,
        parity=-1,
        vanishes_at_zero=True,
        linear_at_zero=True,
        scales=True,
    ),
}
