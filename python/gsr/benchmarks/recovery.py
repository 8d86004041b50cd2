"""Decide whether a learned law is exactly the truth, or only close to it.

The law is sum_j beta_j psi_j(y) = sum_k alpha_k phi_k(x). With the true y put in, the basis
functions are evaluated with many digits at fresh points. Elimination shows whether exact
constants exist that make the law hold at every point; they must be the fitted ones, and with
them SymPy must reduce the difference of the two sides to zero: with their closed forms, or,
where one has none, with a symbol in its place.

Constants inside arguments are fitted, too. They are read as simple closed forms close by. A
wrong reading does no harm: the law then holds at no point.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Any, Protocol

import mpmath
import sympy

from gsr.benchmarks import proof
from gsr.benchmarks.proof import DIGITS, guesses, identify
from gsr.benchmarks.suites import Problem
from gsr.deadline import TimeUp, deadline

EXTRA_POINTS = 20
REDRAWS = 50
#: Ways to read the fitted constants inside arguments that are tried before the law is given up.
MOST_READINGS = 40
SAME_AT = proof.SAME_AT
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
    """Whether a law is the truth."""

    #: True only for the verdict ``proved``.
    recovered: bool
    #: ``proved``: SymPy shows that both sides are equal, as functions of the features; a constant
    #: without a closed form is known to 60 digits. ``undecided``: equal to 60 digits at all points
    #: tried, but no proof was found in time; also the verdict when the check itself failed.
    #: ``accidental``: exact constants exist, but the fitted ones are others. ``different``: no
    #: constants make the law hold.
    verdict: str
    #: The exact law, or the reason for the verdict.
    detail: str = ""


class _UnprovedError(Exception):
    """Ends a check early with a verdict."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(detail)
        self.verdict = verdict


def check(
    equation: Equation, problem: Problem, seed: int = 0, time_limit: float = 10.0
) -> Recovery:
    """Decide whether `equation` is the truth of `problem`."""
    try:
        with _PRECISION, mpmath.workdps(DIGITS), deadline(time_limit):
            return Recovery(True, "proved", _recover(equation, problem, seed))
    except _UnprovedError as reason:
        return Recovery(False, reason.verdict, str(reason))
    except TimeUp:
        return Recovery(False, "undecided", f"no proof within {time_limit:g} s")
    except Exception as error:
        return Recovery(False, "undecided", f"{type(error).__name__}: {error}")


class _Law:
    """The law's basis functions and their values with the true y put in.

    Columns are the features' basis functions, then the target's; the last one leads: the law
    is scaled so that its coefficient is 1, and reads  leading = sum(fit * column).
    """

    def __init__(self, target: Terms, features: Terms, problem: Problem, seed: int) -> None:
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
        self.relations = _relations(self.matrix)

    @property
    def holds(self) -> bool:
        """Whether exact constants exist that make the law hold."""
        return len(self.columns) - 1 in self.relations


def _recover(equation: Equation, problem: Problem, seed: int) -> str:
    """Return the exact law, or raise _UnprovedError."""
    undefined = None
    for target, features in _readings(equation.terms()):
        try:
            law = _Law(target, features, problem, seed)
        except _UnprovedError as reason:
            undefined = reason
            continue
        if law.holds:
            return _prove(law)
    raise undefined or _UnprovedError("different", "no constants make the law hold")


def _prove(law: _Law) -> str:
    lead = len(law.columns) - 1
    exact = {k: c for k, c in law.relations[lead].items() if not _negligible(law, k, c, SAME_AT)}
    _compare(law, exact)
    forms = {k: identify(c) for k, c in exact.items()}
    nameless = {k: sympy.Symbol(f"c{k}", real=True) for k, form in forms.items() if form is None}
    forms |= nameless
    right = sum((c * law.columns[k] for k, c in forms.items()), sympy.Integer(0))
    shown = f"{law.columns[lead]} = {right}"
    columns = [proof.stripped(proof.stripped(e).subs(Y, law.truth)) for e in law.columns]
    difference = columns[lead] - sympy.Add(*(c * columns[k] for k, c in forms.items()))
    if not proof.is_zero(difference, {c: exact[k] for k, c in nameless.items()}):
        raise _UnprovedError("undecided", f"{shown} holds to 60 digits, without a proof")
    values = (f", {c} = {mpmath.nstr(exact[k], 20)}" for k, c in nameless.items())
    return shown + "".join(values)


# ---- numbers ---------------------------------------------------------------------------------

Y = sympy.Symbol("y", positive=True)


def _readings(sides: tuple[Terms, Terms]) -> Iterator[tuple[Terms, Terms]]:
    """Give the symbols our assumptions, and the floats inside arguments closed forms.

    The law is read as it is; then with the sums under powers and logarithms scaled, whose size
    a fit may leave to the coefficient in front.
    """
    target, features = ([(float(c), _named(e)) for c, e in side] for side in sides)
    yield from _read(target, features)
    scaled = _scaled(target), _scaled(features)
    if scaled != (target, features):
        yield from _read(*scaled)


def _read(target: Terms, features: Terms) -> Iterator[tuple[Terms, Terms]]:
    floats = sorted({f for _, e in (*target, *features) for f in e.atoms(sympy.Float)}, key=float)
    for chosen in islice(_choices([guesses(float(f)) for f in floats]), MOST_READINGS):
        exact = dict(zip(floats, chosen, strict=True))
        yield (
            [(c, e.xreplace(exact)) for c, e in target],
            [(c, e.xreplace(exact)) for c, e in features],
        )


def _choices(options: list[list[Any]]) -> Iterator[list[Any]]:
    """Take the first option everywhere, then others in one place, then in two."""
    first = [each[0] for each in options]
    for count in range(3):
        for places in combinations(range(len(options)), count):
            for others in product(*(options[k][1:] for k in places)):
                chosen = list(first)
                for k, other in zip(places, others, strict=True):
                    chosen[k] = other
                yield chosen


def _named(expression: Any) -> Any:
    symbols = {s: sympy.Symbol(s.name, real=True) for s in expression.free_symbols}
    return expression.xreplace(symbols)


def _scaled(terms: Terms) -> Terms:
    """Take the leading coefficient out of every sum with floats under a power or a logarithm."""

    def is_fitted(e: Any) -> bool:
        return bool(e.args[0].is_Add and e.args[0].has(sympy.Float))

    found: list[tuple[float, Any]] = []
    for coefficient, expression in terms:
        if expression.has(sympy.Float):
            expression = expression.replace(lambda e: e.is_Pow and is_fitted(e), _without_lead)
            expression = expression.replace(
                lambda e: isinstance(e, sympy.Abs) and is_fitted(e), _without_lead
            )
            expression = sympy.expand_mul(sympy.expand_log(expression))
        parts = (each.as_coeff_Mul() for each in sympy.Add.make_args(expression))
        found += [(coefficient * float(c), e) for c, e in parts]
    return found


def _without_lead(e: Any) -> Any:
    inside = e.args[0]
    lead = max((abs(term.as_coeff_Mul()[0]) for term in inside.args), key=float)
    size = lead**e.exp if e.is_Pow else lead
    return size * e.func(sympy.expand_mul(inside / lead), *e.args[1:])


def _values(columns: list[Any], problem: Problem, seed: int) -> list[list[Any]]:
    """Evaluate the columns at random points of the domain where all of them are defined."""
    y, *x = (sympy.Symbol(name, real=True) for name in ("y", *problem.variables))
    y_of = sympy.lambdify(x, problem.truth(real=True), "mpmath")
    row_of = sympy.lambdify([y, *x], columns, "mpmath")
    rng = problem.generator(seed, "recovery")
    low, high = problem.sampling.bounds(len(x))
    needed = len(columns) + EXTRA_POINTS
    rows: list[list[Any]] = []
    for _ in range(REDRAWS * needed):
        point = [mpmath.mpf(value) for value in rng.uniform(low, high)]
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


def _compare(law: _Law, exact: dict[int, Any]) -> None:
    """Raise unless the fitted coefficients are the exact ones.

    Dependent columns leave coefficients free; they are first carried over to the independent
    columns.
    """
    relations = law.relations
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
