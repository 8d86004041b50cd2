"""Decide whether a learned law is exactly the truth, or only close to it.

The law is sum_j beta_j psi_j(y) = sum_k alpha_k phi_k(x). With the true y put in, the basis
functions are evaluated with many digits at fresh points. Elimination shows whether exact
constants exist that make the law hold at every point; they must be the fitted ones, and with
their closed forms SymPy must reduce the difference of the two sides to zero.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import isclose
from typing import Any, Protocol

import mpmath
import sympy

from gsr.closed_forms import DIGITS, identify
from gsr.suites import Problem

EXTRA_POINTS = 20
REDRAWS = 50
SAME_AT = mpmath.mpf("1e-60")
#: How far fitted coefficients may be from the exact ones, relatively.
FIT_TOLERANCE = 1e-7
LEFTOVER_TOLERANCE = 1e-9

_PRECISION = threading.Lock()  # mpmath has one precision for all threads

Terms = Sequence[tuple[float, Any]]


class Equation(Protocol):
    """Anything that can list the terms of its two sides."""

    def terms(self) -> tuple[Terms, Terms]:
        """Return (target terms, feature terms), each as (coefficient, SymPy expression)."""
        ...


@dataclass(frozen=True)
class Recovery:
    """Whether a law is the truth.

    Parameters
    ----------
    recovered : bool
        True only for the verdict ``proved``.
    verdict : str
        ``proved``: SymPy shows that both sides are equal.
        ``undecided``: equal to 60 digits at all points tried, but no proof was found in time;
        also the verdict when the check itself failed.
        ``accidental``: exact constants exist, but the fitted ones are others.
        ``different``: no constants make the law hold.
    detail : str
        The exact law, or the reason for the verdict.
    """

    recovered: bool
    verdict: str
    detail: str = ""


class _UnprovedError(Exception):
    """Ends a check early with a verdict."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(detail)
        self.verdict = verdict


def check(
    equation: Equation, problem: Problem, seed: int = 0, time_limit: float = 10.0
) -> Recovery:
    """Decide whether `equation` is the truth of `problem`.

    Parameters
    ----------
    equation : Equation
        Has ``terms()``; its symbols are called y and x1..xd.
    problem : Problem
        Gives the truth and the domain in which points are drawn.
    seed : int
        Seed of those points.
    time_limit : float
        Seconds after which the check gives up.

    Returns
    -------
    Recovery
        Never raises: a failure of the check counts as not recovered.
    """
    try:
        with _PRECISION, mpmath.workdps(DIGITS), _deadline(time_limit):
            return Recovery(True, "proved", _prove(_Law(equation, problem, seed)))
    except _UnprovedError as reason:
        return Recovery(False, reason.verdict, str(reason))
    except _TimeUp:
        return Recovery(False, "undecided", f"no proof within {time_limit:g} s")
    except Exception as error:
        return Recovery(False, "undecided", f"{type(error).__name__}: {error}")


class _Law:
    """The law's basis functions and their values with the true y put in.

    Columns are the features' basis functions, then the target's; the last one leads: the law
    is scaled so that its coefficient is 1, and reads  leading = sum(fit * column).
    """

    def __init__(self, equation: Equation, problem: Problem, seed: int) -> None:
        target, features = ([(float(c), _exact(e)) for c, e in side] for side in equation.terms())
        columns = [e for _, e in features] + [e for _, e in target]
        self.truth = problem.truth(positive=True)
        self.matrix = _values(columns, problem, seed)
        beta = [c for c, _ in target]
        lead = len(features) + _leading(beta, [row[len(features) :] for row in self.matrix])
        alpha = [c for c, _ in features] + [-b for b in beta]
        order = [k for k in range(len(columns)) if k != lead] + [lead]
        self.columns = [columns[k] for k in order]
        self.matrix = [[row[k] for k in order] for row in self.matrix]
        self.fit = [mpmath.mpf(alpha[k]) / -alpha[lead] for k in order[:-1]]


def _closed_form(constant: Any) -> Any:
    found = identify(constant)
    if found is None:
        digits = mpmath.nstr(constant, 20)
        raise _UnprovedError("undecided", f"no closed form for the constant {digits}")
    return found


def _prove(law: _Law) -> str:
    """Return the exact law, or raise _UnprovedError."""
    relations = _relations(law.matrix)
    lead = len(law.columns) - 1
    if lead not in relations:
        raise _UnprovedError("different", "no constants make the law hold")
    exact = {k: c for k, c in relations[lead].items() if not _negligible(law, k, c, SAME_AT)}
    _compare(law, exact, relations)
    constants = {k: _closed_form(c) for k, c in exact.items()}
    right = sum((c * law.columns[k] for k, c in constants.items()), sympy.Integer(0))
    left = law.columns[lead]
    if not _is_zero(_stripped(left - right).subs(Y, law.truth)):
        raise _UnprovedError("undecided", f"{left} = {right} holds to 60 digits, without a proof")
    return f"{left} = {right}"


# ---- numbers ---------------------------------------------------------------------------------

Y = sympy.Symbol("y", positive=True)


def _exact(expression: Any) -> Any:
    """Give the symbols our assumptions and turn floats inside arguments into fractions."""
    expression = sympy.sympify(expression)
    renamed = {s: sympy.Symbol(s.name, real=True) for s in expression.free_symbols}
    floats = {f: _fraction(float(f)) for f in expression.atoms(sympy.Float)}
    return expression.xreplace(renamed | floats)


def _fraction(value: float) -> Any:
    near = Fraction(value).limit_denominator(1000)
    chosen = near if isclose(near, value, rel_tol=LEFTOVER_TOLERANCE) else Fraction(value)
    return sympy.Rational(chosen.numerator, chosen.denominator)


def _values(columns: list[Any], problem: Problem, seed: int) -> list[list[Any]]:
    """Evaluate the columns at random points of the domain where all of them are defined."""
    y, *x = (sympy.Symbol(name, real=True) for name in ("y", *problem.variables))
    y_of = sympy.lambdify(x, problem.truth(real=True), "mpmath")
    row_of = sympy.lambdify([y, *x], columns, "mpmath")
    rng = problem.generator(seed, "recovery")
    low, high = problem.sampling.low, problem.sampling.high
    needed = len(columns) + EXTRA_POINTS
    rows: list[list[Any]] = []
    for _ in range(REDRAWS * needed):
        point = [mpmath.mpf(value) for value in rng.uniform(low, high, len(x))]
        row = _row(y_of, row_of, point)
        rows += [row] if row is not None else []
        if len(rows) == needed:
            return rows
    raise _UnprovedError("different", "the law is undefined almost everywhere in the domain")


def _row(y_of: Callable[..., Any], row_of: Callable[..., Any], x: list[Any]) -> list[Any] | None:
    try:
        row = [mpmath.mpmathify(value) for value in row_of(y_of(*x), *x)]
    except (ArithmeticError, ValueError):
        return None
    fine = all(isinstance(v, mpmath.mpf) and mpmath.isfinite(v) for v in row)
    return row if fine else None


def _leading(beta: list[float], psi: list[list[Any]]) -> int:
    """Return the target term that varies most; raise if the target side does not vary."""
    contributions = [[b * row[k] for row in psi] for k, b in enumerate(beta)]
    spreads = [max(each) - min(each) for each in contributions]
    total = [sum(each) for each in zip(*contributions, strict=True)]
    if not spreads or max(total) - min(total) <= LEFTOVER_TOLERANCE * max(spreads):
        raise _UnprovedError("different", "the target side does not depend on y")
    return spreads.index(max(spreads))


def _relations(matrix: list[list[Any]]) -> dict[int, dict[int, Any]]:
    """Express every dependent column by the independent ones before it (Gauss-Jordan).

    There are more points than columns, so a relation that survives holds at points that did
    not determine it.
    """
    scale = [max(abs(v) for v in column) or mpmath.mpf(1) for column in zip(*matrix, strict=True)]
    rows = [[v / s for v, s in zip(row, scale, strict=True)] for row in matrix]
    independent: list[int] = []
    relations: dict[int, dict[int, Any]] = {}
    for j in range(len(scale)):
        rank = len(independent)
        best = max(range(rank, len(rows)), key=lambda i: abs(rows[i][j]))
        if abs(rows[best][j]) < SAME_AT:
            relations[j] = {k: rows[i][j] * scale[j] / scale[k] for i, k in enumerate(independent)}
            continue
        rows[rank], rows[best] = rows[best], rows[rank]
        _clear(rows, rank, j)
        independent.append(j)
    return relations


def _clear(rows: list[list[Any]], pivot: int, column: int) -> None:
    head = [v / rows[pivot][column] for v in rows[pivot]]
    for i, row in enumerate(rows):
        rows[i] = (
            head if i == pivot else [v - row[column] * h for v, h in zip(row, head, strict=True)]
        )


def _compare(law: _Law, exact: dict[int, Any], relations: dict[int, dict[int, Any]]) -> None:
    """Raise unless the fitted coefficients are the exact ones.

    Dependent columns leave coefficients free; they are first carried over to the independent
    columns.
    """
    for k in set(range(len(law.fit))) - set(relations):
        carried = (fit * relations[j].get(k, 0) for j, fit in enumerate(law.fit) if j in relations)
        fitted = law.fit[k] + sum(carried)
        true = exact.get(k, mpmath.mpf(0))
        same = (
            abs(fitted - true) <= FIT_TOLERANCE * abs(true)
            if true
            else _negligible(law, k, fitted, LEFTOVER_TOLERANCE)
        )
        if not same:
            raise _UnprovedError(
                "accidental",
                f"the coefficient of {law.columns[k]} is {float(fitted):.6g},"
                f" exact would be {float(true):.6g}",
            )


def _negligible(law: _Law, k: int, coefficient: Any, tolerance: Any) -> bool:
    """Tell whether coefficient * column k is nothing beside the leading column."""
    size = max(abs(coefficient * row[k]) for row in law.matrix)
    return bool(size <= tolerance * max(abs(row[-1]) for row in law.matrix))


# ---- proof -----------------------------------------------------------------------------------

STRATEGIES: tuple[Callable[[Any], Any], ...] = (
    lambda e: e,
    sympy.expand,
    lambda e: sympy.expand(sympy.expand_log(e, force=True)),
    lambda e: sympy.expand(sympy.expand_trig(sympy.expand(e))),
    lambda e: sympy.expand(e.rewrite(sympy.exp)),
    lambda e: sympy.cancel(sympy.together(e)),
    lambda e: sympy.expand(sympy.powdenest(sympy.powsimp(e, force=True), force=True)),
    lambda e: sympy.radsimp(sympy.expand(e)),
    lambda e: sympy.simplify(sympy.expand_log(e, force=True)),
    lambda e: sympy.simplify(e.rewrite(sympy.exp)),
)


def _stripped(expression: Any) -> Any:
    """Continue the expression from where all its symbols and Abs arguments are positive.

    Both sides are analytic there, and the points of the domain have already agreed.
    """
    positive = {s: sympy.Symbol(s.name, positive=True) for s in expression.free_symbols}
    return expression.xreplace(positive).replace(sympy.Abs, lambda inside: inside)


def _is_zero(difference: Any) -> bool:
    """Try to reduce the difference to zero, cheap ways first."""
    return any(_attempt(strategy, difference) == 0 for strategy in STRATEGIES)


def _attempt(strategy: Callable[[Any], Any], difference: Any) -> Any:
    try:
        return strategy(difference)
    except Exception:  # one way of rewriting may fail where the next one works
        return None


# ---- time limit ------------------------------------------------------------------------------


class _TimeUp(BaseException):
    """Not an Exception, so that SymPy's own handlers let it pass."""


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise _TimeUp in this thread after `seconds`.

    Works in any thread and any process, and leaves the signal handlers of the host alone.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    ended = threading.Lock()  # taken once: by the block that ends or by the timer that fires

    def fire() -> None:
        if ended.acquire(blocking=False):
            raise_in(thread, ctypes.py_object(_TimeUp))

    timer = threading.Timer(max(seconds, 0.0), fire)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if not ended.acquire(blocking=False):
            timer.join()
            raise_in(thread, None)  # nothing may strike after the block
