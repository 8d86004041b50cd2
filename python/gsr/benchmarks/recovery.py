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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, islice, product
from math import pi, sqrt
from typing import Any, Protocol

import mpmath
import sympy

from gsr.benchmarks.suites import Problem
from gsr.deadline import TimeUp, deadline

EXTRA_POINTS = 20
REDRAWS = 50
#: Ways to read the fitted constants inside arguments that are tried before the law is given up.
MOST_READINGS = 40
#: Precision at which constants are found and compared.
DIGITS = 100
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
    columns = [stripped(stripped(e).subs(Y, law.truth)) for e in law.columns]
    difference = columns[lead] - sympy.Add(*(c * columns[k] for k, c in forms.items()))
    if not is_zero(difference, {c: exact[k] for k, c in nameless.items()}):
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
    """Return whether coefficient * column k is nothing beside the leading column."""
    size = max(abs(coefficient * row[k]) for row in law.matrix)
    return bool(size <= tolerance * max(abs(row[-1]) for row in law.matrix))


# ---- closed forms of constants -------------------------------------------------------------------

IDENTIFY_AT = mpmath.mpf("1e-50")
LARGEST = 10**12
#: How far a fitted constant may be from its closed form, relatively.
GUESS_AT = 1e-7
#: A fitted constant below this is taken for zero, too.
NOTHING_AT = 1e-9
MOST_GUESSES = 4
#: Largest denominators of a guessed rational, and of a rational beside an irrational unit.
DECIMAL, SMALL = 1000, 60
TURNS = 8


def identify(constant: Any) -> Any:
    """Return the closed form of an mpmath number as a SymPy expression, None if there is none.

    Tried are rationals, logarithms and roots of rationals, both also times a power of pi, and
    rational multiples of exp, log, 1/log, cos, sin of small rationals.
    """
    for attempt in (_rational, _logarithm, _root, _with_pi, _multiple):
        found = attempt(constant)
        if found is not None:
            return found
    return None


def _rational(constant: Any) -> Any:
    near = Fraction(*mpmath.libmp.to_rational(constant._mpf_)).limit_denominator(LARGEST)
    error = abs(mpmath.mpf(near.numerator) / near.denominator - constant)
    if error > IDENTIFY_AT * abs(constant):
        return None
    return sympy.Rational(near.numerator, near.denominator)


def _logarithm(constant: Any) -> Any:
    """Find log(rational)/k."""
    for k in range(1, 13):
        if abs(k * constant) < 50 and (inside := _rational(mpmath.exp(k * constant))):
            return sympy.log(inside) / k
    return None


def _root(constant: Any) -> Any:
    """Find the k-th root of a rational."""
    for k in range(2, 7):
        if inside := _rational(abs(constant) ** k):
            return int(mpmath.sign(constant)) * sympy.root(inside, k)
    return None


def _with_pi(constant: Any) -> Any:
    """Find sqrt(rational) pi^(j/2), or the logarithm of it."""
    for j in (2, -2, 1, -1, 4, -4, 3, -3, 6, -6):
        unit, power = mpmath.pi**j, sympy.pi ** sympy.Rational(j, 2)
        if inside := _rational(constant**2 / unit):
            return int(mpmath.sign(constant)) * sympy.sqrt(inside) * power
        if abs(constant) < 25 and (inside := _rational(mpmath.exp(2 * constant) / unit)):
            return sympy.log(inside * sympy.pi**j) / 2
    return None


def _multiple(constant: Any) -> Any:
    """Find a rational multiple of exp, log, 1/log, cos, sin of a small rational."""
    for unit, value in _units():
        if factor := _rational(constant / value):
            return factor * unit
    return None


@cache
def _units() -> list[tuple[Any, Any]]:
    small = {sympy.Rational(n, d) for n in range(1, 21) for d in (1, 2, 3, 4, 5, 10)}
    forms = []
    for r in sorted(small):
        forms += [sympy.exp(r), sympy.exp(-r), sympy.cos(r), sympy.sin(r)]
        forms += [sympy.log(r), 1 / sympy.log(r)] if r > 1 else []
    return [(form, mpmath.mpf(form.evalf(DIGITS))) for form in forms]


# ---- guesses -----------------------------------------------------------------------------------


def guesses(value: float) -> list[Any]:
    """Return closed forms near a fitted number, simplest first; the number itself if none is.

    Tried are rationals, rational multiples of sqrt(2), sqrt(3) and powers of pi, and rationals
    with quarter turns added, as in a phase. A guess is no proof: it is for the caller to test.
    """
    found = {form: cost for cost, form in _near(value)}
    if not found:
        return [sympy.Rational(value)]
    return sorted(found, key=lambda form: found[form])[:MOST_GUESSES]


def _near(value: float) -> Iterator[tuple[float, Any]]:
    if abs(value) <= NOTHING_AT:
        yield 0.0, sympy.Integer(0)
    if (plain := _simple(value, DECIMAL)) is not None:
        yield _height(plain), sympy.Rational(plain)
    for unit, size in _irrational():
        if (factor := _simple(value / size, SMALL)) is not None:
            yield 10.0 * _height(factor), sympy.Rational(factor) * unit
    for quarter in (k for k in range(-TURNS, TURNS + 1) if k):
        rest = _simple(value - quarter * pi / 2, SMALL, abs(value))
        if rest is not None:
            turned = sympy.Rational(rest) + sympy.Rational(quarter, 2) * sympy.pi
            yield 100.0 * _height(rest) * abs(quarter), turned


def _simple(value: float, largest: int, scale: float | None = None) -> Fraction | None:
    near = Fraction(value).limit_denominator(largest)
    close = abs(float(near) - value) <= GUESS_AT * (abs(value) if scale is None else scale)
    return near if close and near else None


def _height(value: Fraction) -> float:
    return float(abs(value.numerator) + value.denominator)


@cache
def _irrational() -> list[tuple[Any, float]]:
    half = sympy.Rational(1, 2)
    powers = [(sympy.pi ** (half * j), pi ** (j / 2)) for j in (2, -2, 4, -4, 1, -1)]
    roots = [(sympy.sqrt(k), sqrt(k)) for k in (2, 3)]
    return powers + roots + [(sympy.sqrt(2) * form, sqrt(2) * size) for form, size in powers[-2:]]


# ---- proof that an expression vanishes -----------------------------------------------------------


def is_zero(difference: Any, constants: Mapping[Any, Any]) -> bool:
    """Return whether the difference can be reduced to zero, cheap ways first."""
    return any(_vanishes(_attempt(each, difference), constants) for each in STRATEGIES)


def stripped(expression: Any) -> Any:
    """Continue the expression from where all its symbols and Abs arguments are positive.

    Both sides of a law are analytic there, and the points of the domain have already agreed.
    """
    positive = {s: sympy.Symbol(s.name, positive=True) for s in expression.free_symbols}
    return expression.xreplace(positive).replace(sympy.Abs, lambda inside: inside)


# ---- ways to rewrite -------------------------------------------------------------------------


def _split_logs(expression: Any) -> Any:
    """Write logarithms of products as sums; ln|t| is meant, so that the signs do not matter."""
    return sympy.expand(expression.replace(sympy.log, _split_log))


def _split_log(inside: Any) -> Any:
    if inside.is_Mul:
        return sympy.Add(*map(_split_log, inside.args))
    base, exponent = inside.as_base_exp()
    if exponent != 1:
        return exponent * _split_log(base)
    if inside.is_Add:
        factored = sympy.factor(inside)
        if factored.is_Mul or factored.is_Pow:
            return _split_log(factored)
    return sympy.log(_unsigned(inside))


def _split_roots(expression: Any) -> Any:
    """Write roots of products as products of roots, likewise of |t|."""
    return expression.replace(
        lambda e: e.is_Pow and e.exp.is_integer is False, lambda e: _split_power(*e.args)
    )


def _split_power(base: Any, exponent: Any) -> Any:
    if base.is_Mul:
        return sympy.Mul(*(_split_power(each, exponent) for each in base.args))
    inner, power = base.as_base_exp()
    if power != 1:
        return _split_power(inner, power * exponent)
    if base.is_Add:
        factored = sympy.factor(base)
        if factored.is_Mul or factored.is_Pow:
            return _split_power(factored, exponent)
    return _unsigned(base) ** exponent


def _unsigned(t: Any) -> Any:
    return -t if t.is_negative or (t.is_Add and t.could_extract_minus_sign()) else t


def _numerator(expression: Any) -> Any:
    return sympy.expand(sympy.numer(sympy.together(expression)))


STRATEGIES: tuple[Callable[[Any], Any], ...] = (
    lambda e: e,
    _split_logs,
    sympy.expand,
    lambda e: sympy.expand(sympy.expand_trig(sympy.expand(e))),
    lambda e: sympy.expand(e.rewrite(sympy.exp)),
    _numerator,
    lambda e: sympy.expand(sympy.powsimp(_numerator(e.rewrite(sympy.exp)))),
    lambda e: _numerator(_split_roots(e)),
    lambda e: _numerator(_split_logs(e)),
    lambda e: _numerator(sympy.expand_trig(e)),
    lambda e: sympy.expand(sympy.powdenest(sympy.powsimp(e, force=True), force=True)),
    lambda e: sympy.radsimp(sympy.expand(e)),
    lambda e: sympy.simplify(sympy.expand_log(e, force=True)),
    lambda e: sympy.simplify(e.rewrite(sympy.exp)),
)


def _attempt(strategy: Callable[[Any], Any], difference: Any) -> Any:
    try:
        return strategy(difference)
    except Exception:  # one way of rewriting may fail where the next one works
        return sympy.nan


# ---- what is left ----------------------------------------------------------------------------


def _vanishes(expression: Any, constants: Mapping[Any, Any]) -> bool:
    """Return whether the coefficient of every function of the variables is zero."""
    if expression == 0 or expression.has(sympy.nan, sympy.zoo, sympy.oo):
        return bool(expression == 0)
    variables = expression.free_symbols - set(constants)
    groups: dict[Any, list[Any]] = {}
    for term in sympy.Add.make_args(expression):
        coefficient, function = term.as_independent(*variables, as_Add=False)
        groups.setdefault(function, []).append(coefficient)
    return all(_cancel(coefficients, constants) for coefficients in groups.values())


def _cancel(coefficients: list[Any], constants: Mapping[Any, Any]) -> bool:
    if len(coefficients) == 1 and not coefficients[0].free_symbols:
        return False
    symbols = list(constants)
    values = [
        mpmath.mpmathify(sympy.lambdify(symbols, each, "mpmath")(*constants.values()))
        for each in coefficients
    ]
    return bool(abs(mpmath.fsum(values)) <= SAME_AT * mpmath.fsum(map(abs, values)))
