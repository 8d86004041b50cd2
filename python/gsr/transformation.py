"""Transformations: built-in and user-defined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr import _core
from gsr.exceptions import GSRError
from gsr.formula import expression
from gsr.lazy import sympy
from gsr.traits import TRAITS, UNKNOWN, Traits

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Function = Callable[[Array], Any]
Symbolic = str | Callable[[Any], Any]

BUILTINS: dict[str, Any] = {t.name: t for t in _core.builtin_transformations()}
# q where the transformation is t^q: products of such rows are powers again.
POWERS: dict[str, Fraction] = {
    name: Fraction(t.power).limit_denominator(12) for name, t in BUILTINS.items() if t.power
}
#: Transformations exp(r t), by their r.
EXPONENTIALS = {traits.exponent: name for name, traits in TRAITS.items() if traits.exponent}
CHECKED_POINTS = 5
CHECK_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Transformation:
    """A user-defined transformation, for libraries beside the built-in ones.

    Parameters
    ----------
    name : str
        A Python identifier that no built-in transformation has.
    function : callable
        Takes a one-dimensional array and returns one value for each element.
    sympy : str or callable
        The same function for SymPy: a template with ``{}`` for the argument, such as
        ``"asinh({})"``, or a callable that takes and returns a SymPy expression.
    inverse, derivative : callable, optional
        Take and return arrays as `function` does. The inverse is used in prediction.
    inverse_sympy : str or callable, optional
        The inverse for SymPy.
    text : str, optional
        Template for printing; ``name({})`` unless given.
    cost : int
        Nodes that it adds to the complexity of an expression.
    traits : Traits
        What else is known of it. With an image of intervals its laws are checked for poles, with
        derivatives their shapes are proved.

    Examples
    --------
    >>> import numpy as np
    >>> arcsinh = Transformation("arcsinh", np.arcsinh, "asinh({})", inverse=np.sinh)
    >>> from gsr.library import Library
    >>> Library(["identity", arcsinh]).names
    ('one', 'identity', 'arcsinh')
    """

    name: str
    function: Function
    sympy: Symbolic
    _: KW_ONLY
    inverse: Function | None = None
    derivative: Function | None = None
    inverse_sympy: Symbolic | None = None
    text: str | None = None
    cost: int = 1
    traits: Traits = UNKNOWN

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise GSRError(f"a transformation's name must be an identifier, not {self.name!r}")
        if self.name in BUILTINS:
            raise GSRError(f"{self.name!r} is a built-in transformation; choose another name")
        if not callable(self.function):
            raise GSRError(f"transformation {self.name!r}: function must be callable")
        if self.cost < 0:
            raise GSRError(f"transformation {self.name!r}: cost must not be negative")
        for label in ("sympy", "inverse_sympy", "text"):
            template = getattr(self, label)
            if isinstance(template, str) and "{}" not in template:
                raise GSRError(f"transformation {self.name!r}: {label} has no {{}}: {template!r}")

    def core(self) -> Any:
        """Return it in the form the compiled core takes."""
        return _core.Transformation.custom(
            self.name,
            self.text or f"{self.name}({{}})",
            self.sympy if isinstance(self.sympy, str) else "",
            self.function,
            self.derivative,
            self.inverse,
            self.inverse_sympy if isinstance(self.inverse_sympy, str) else "",
            self.cost,
        )


def apply_symbolic(form: Symbolic, argument: Any) -> Any:
    """Apply a template or a callable to a SymPy expression."""
    if callable(form):
        return form(argument)
    placeholder, parsed = _parsed(form)
    return parsed.xreplace({placeholder: argument})


@lru_cache(maxsize=256)
def _parsed(template: str) -> tuple[Any, Any]:
    placeholder = sympy.Symbol("_t", real=True)
    return placeholder, expression(template.replace("{}", "(_t)"), {"_t": placeholder})


def check_on_data(entry: Transformation, columns: Sequence[Array], what: str) -> None:
    """Raise GSRError unless the transformation works on the columns and its forms agree."""
    finite_somewhere = False
    for x in columns:
        values = _values(entry, x, what)
        fine = np.isfinite(values) & np.isfinite(x)
        finite_somewhere = finite_somewhere or bool(fine.any())
        at = np.flatnonzero(fine)
        at = at[np.linspace(0, len(at) - 1, min(len(at), CHECKED_POINTS)).astype(int)]
        _compare_with_sympy(entry, x[at], values[at], what)
        if entry.inverse is not None and len(at):
            _compare_with_inverse(entry, values[at], what)
    if not finite_somewhere:
        raise GSRError(f"transformation {entry.name!r} has no finite value on {what}")


def _values(entry: Transformation, x: Array, what: str) -> Array:
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(entry.function(x.copy()), dtype=float)
    except Exception as error:
        raise GSRError(
            f"transformation {entry.name!r} fails on {what}: {type(error).__name__}: {error}"
        ) from error
    if values.shape != x.shape:
        raise GSRError(
            f"transformation {entry.name!r} must return one value per row of {what}:"
            f" shape {x.shape}, not {values.shape}"
        )
    return values


def _compare_with_sympy(entry: Transformation, x: Array, values: Array, what: str) -> None:
    for t, value in zip(x.tolist(), values.tolist(), strict=True):
        try:
            form = complex(sympy.N(apply_symbolic(entry.sympy, sympy.Float(t))))
        except Exception as error:
            raise GSRError(
                f"the SymPy form of transformation {entry.name!r} has no value at t = {t:.6g},"
                f" a value in {what}: {type(error).__name__}: {error}"
            ) from error
        if not abs(form - value) <= CHECK_TOLERANCE * max(1.0, abs(value)):
            shown = f"{form.real:.6g}" if form.imag == 0 else f"{form:.6g}"
            raise GSRError(
                f"transformation {entry.name!r} and its SymPy form differ at t = {t:.6g},"
                f" a value in {what}: {value:.6g} and {shown}"
            )


def _compare_with_inverse(entry: Transformation, values: Array, what: str) -> None:
    assert entry.inverse is not None
    with np.errstate(all="ignore"):
        back = np.asarray(entry.function(np.asarray(entry.inverse(values), dtype=float)))
    if back.shape != values.shape or not np.allclose(back, values, rtol=CHECK_TOLERANCE):
        raise GSRError(f"the inverse of transformation {entry.name!r} does not undo it on {what}")
