"""Laws in their shortest readable form, and laws that predict the same.

SymPy may shorten a law, but it knows nothing of rounding and of the range of the data. So nothing
is kept that does not give the same values on sample rows, or that reads no shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from gsr.deadline import TimeUp, deadline
from gsr.encoding import evaluate
from gsr.encoding.sympy_forms import written
from gsr.encoding.writing import shown_name
from gsr.transformation import Array

if TYPE_CHECKING:
    from gsr.equation import Equation

#: Seconds for one law.
LIMIT = 0.25
#: Expressions with fewer operations have nothing to gain, with more they take too long.
LEAST, MOST = 6, 60
#: Rows that are compared, and how far values may differ.
ROWS = 200
ROUNDING = 1e-9
#: A fitted number this close to a whole one differs by rounding.
WHOLE = 1e-12

#: Products of names and of functions of such products: nothing in them can be shortened.
PLAIN = re.compile(r"(?:[^()/]|/(?!exp)|\([\w ^`]*\))*")

_implicit: WeakKeyDictionary[Equation, str] = WeakKeyDictionary()
_explicit: WeakKeyDictionary[Equation, str] = WeakKeyDictionary()


def implicit(equation: Equation, X: Array | None = None) -> str:
    """Return g(y) = f(x) as text, with f(x) simplified if that is shorter."""
    if equation.text:
        return equation.text
    if equation not in _implicit:
        left = equation.left_side()  # names are free text: " = " may be in them
        text = equation.as_encoded()[len(left) + len(" = ") :]
        if not PLAIN.fullmatch(text):
            form, rows = with_rational_powers(equation.sympy().rhs), sample(equation, X)
            if _length(written(form)) < _length(text):
                values = evaluate(equation.phi, equation.library, rows) @ equation.alpha
                same = _agree(values, _values(form, equation.feature_names, rows))
                text = written(form) if same else text
        _implicit[equation] = f"{left} = {text}"
    return _implicit[equation]


def explicit(equation: Equation, X: Array | None = None, seconds: float = LIMIT) -> str:
    """Return the law as y = ..., simplified; empty if it has no closed form.

    Where the data meet several branches, each of them is there, with "or" between.
    """
    name = shown_name(equation.target_name)
    if equation.left_side() == name:
        return implicit(equation, X)
    if equation not in _explicit:
        names, rows = equation.feature_names, sample(equation, X)
        forms = [simplified(form, names, rows, seconds) for form in equation.explicit()]
        texts = dict.fromkeys(written(form) for form in forms)
        _explicit[equation] = " or ".join(f"{name} = {text}" for text in texts)
    return _explicit[equation]


def simplified(expression: Any, names: Sequence[str], X: Array, seconds: float = LIMIT) -> Any:
    """Return the shortest form of a real SymPy expression that has the same values in rows of X."""
    values = _values(expression, names, X)
    best = expression
    for form in _forms(expression, seconds):
        shorter = _length(written(form)) < _length(written(best))
        if shorter and _agree(values, _values(form, names, X)):
            best = form
    return best


def duplicates(equations: Sequence[Equation], X: Array) -> dict[int, int]:
    """Return the numbers of laws that predict what an earlier one does, with that of the first."""
    rows = some_rows(X)
    values = [equation.solution(rows).values for equation in equations]
    found: dict[int, int] = {}
    for k, mine in enumerate(values):
        known = np.isfinite(mine)
        for j in range(k):
            same = np.array_equal(np.isfinite(values[j]), known) and _agree(values[j], mine)
            if j not in found and same:
                found[k] = j
                break
    return found


def some_rows(X: Array) -> Array:
    """Return rows of a table, at most `ROWS`, evenly spread."""
    return np.asarray(X[np.unique(np.linspace(0, len(X) - 1, min(len(X), ROWS)).astype(int))])


def sample(equation: Equation, X: Array | None = None) -> Array:
    """Return rows on which forms of a law can be compared."""
    if X is not None and len(X):
        return some_rows(np.asarray(X, dtype=float))
    rng = np.random.default_rng(0)
    shape = (ROWS // 2, len(equation.feature_names))
    return np.vstack([rng.uniform(0.1, 3.0, shape), rng.normal(0.0, 2.0, shape)])


def _length(text: str) -> int:
    """Return what there is to read; the order of terms changes nothing."""
    return len(re.sub(r"[-+ ]", "", text))


# ---- forms -------------------------------------------------------------------------------------


def _forms(expression: Any, seconds: float) -> Iterator[Any]:
    """Yield forms of an expression until time is up."""
    import sympy

    folded = with_rational_powers(expression)
    yield folded
    if not LEAST <= folded.count_ops() <= MOST:
        return
    ways = [sympy.powsimp, sympy.factor_terms, sympy.cancel, sympy.simplify]
    try:
        for way in ways:
            with deadline(seconds / len(ways)):
                form = with_rational_powers(way(folded))
            if not form.has(sympy.Piecewise):  # a case for each sign of a feature
                yield form
    except TimeUp:
        return
    except Exception:  # SymPy raises anything, and the law is there without it
        return


def with_rational_powers(expression: Any) -> Any:
    """Return an expression with each number folded into one, and simple exponents as fractions."""
    import sympy

    if expression.is_number:
        return _number(expression)
    if isinstance(expression, sympy.Pow):
        base, power = map(with_rational_powers, expression.args)
        if power.is_Float and (6 * power - round(6 * power)) == 0:
            power = sympy.Rational(round(6 * power), 6)
        return base**power
    if not expression.args:
        return expression
    return expression.func(*map(with_rational_powers, expression.args))


def _number(value: Any) -> Any:
    import sympy

    kept = value.is_Rational or (value / sympy.pi).is_Rational
    if kept or not value.is_real or not value.is_finite:
        return value
    near = round(float(value))
    whole = near != 0 and abs(float(value) - near) <= WHOLE * abs(near)
    return sympy.Integer(near) if whole else sympy.Float(float(value))


# ---- values ------------------------------------------------------------------------------------


def _values(expression: Any, names: Sequence[str], X: Array) -> Array | None:
    """Return the values of an expression, None if NumPy cannot give them."""
    import sympy

    arguments = [sympy.Symbol(f"_x{k}", real=True) for k in range(len(names))]
    symbols = dict(zip((sympy.Symbol(n, real=True) for n in names), arguments, strict=True))
    try:
        function = sympy.lambdify(arguments, expression.xreplace(symbols), "numpy")
        with np.errstate(all="ignore"):
            found = np.asarray(function(*X.T), dtype=float)
    except (NameError, TypeError, ValueError, ArithmeticError, AttributeError):
        return None
    return np.broadcast_to(found, (len(X),))


def _agree(values: Array | None, others: Array | None) -> bool:
    """Return whether others are the same as values, but for rounding, wherever those are known."""
    if values is None or others is None or not (known := np.isfinite(values)).any():
        return False
    values, others = values[known], others[known]
    size = float(np.median(np.abs(values)))
    return bool((np.abs(values - others) <= ROUNDING * (np.abs(values) + size)).all())
