"""Constraints on a law's shape: signs, monotony, curvature, and functions of the user.

They are checked in the box of the training data, at points, and where that is asked for and can be
done by interval arithmetic in the whole box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from gsr.encoding.fold import Arithmetic, fold
from gsr.encoding.rows import Row, factors
from gsr.encoding.writing import number, shown_name
from gsr.equation import Equation
from gsr.exceptions import GSRError, suggestion
from gsr.intervals import Interval, add, constant, halved, multiply, power, scale
from gsr.library import Library
from gsr.selection.fitted import LawLike
from gsr.selection.poles import GuardedLaw, poles
from gsr.transformation import Array

FEATURE_KINDS = ("increasing", "decreasing", "convex", "concave")
TARGET_KINDS = ("positive", "negative", "nonnegative", "nonpositive")
#: Lines through the box along a feature, a third of them through training rows, and points on each.
LINES = 48
STEPS = 13
#: Points in the box at which a sign is looked at, and as many training rows.
POINTS = 256
#: Points that are corners of the box.
CORNERS = 16
#: What counts as rounding, relative to the size of the predictions.
ROUNDING = 1e-9

Rule = Callable[[Equation], Any]


class Constraint(NamedTuple):
    """One constraint: a kind on a feature (counted from 0), on the target, or a rule."""

    kind: str
    feature: int | None = None
    rule: Rule | None = None


class Checker:
    """Checks laws against constraints in the box of the training data.

    Constraints are a mapping from the name of a feature to ``"increasing"``, ``"decreasing"``,
    ``"convex"`` or ``"concave"``, and from the name of the target to ``"positive"``,
    ``"negative"``, ``"nonnegative"`` or ``"nonpositive"``; several in a list. A callable takes an
    `Equation` and returns whether it will do; in a mapping its key is what it is called. Monotony
    and curvature are meant weakly: a law without x1 is increasing in x1.

    >>> import numpy as np
    >>> from gsr import fit_formula
    >>> X = np.linspace(-1, 2, 30)[:, None]
    >>> checker = Checker({"x1": "increasing"}, X, X[:, 0], ["x1"], "y")
    >>> checker.verdict(fit_formula("y = a exp(x1)", X, np.exp(X[:, 0])))
    'proved'
    >>> checker.why_not(fit_formula("y = a x1^2", X, X[:, 0] ** 2))
    'y is not increasing in x1: it goes from 1 to 0.5625 where x1 goes from -1 to -0.75'
    """

    def __init__(
        self,
        constraints: Any,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        feature_names: Sequence[str],
        target_name: str,
    ) -> None:
        self.X, self.y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        self.feature_names, self.target_name = tuple(feature_names), target_name
        self.low, self.high = self.X.min(axis=0), self.X.max(axis=0)
        self.constraints = list(_read(constraints, self.feature_names, target_name))

    # ---- answers -----------------------------------------------------------------------------

    def holds(self, equation: Equation) -> bool:
        """Return whether a law keeps all constraints at the points; no prediction may be NaN."""
        return all(self._broken(equation, each) is None for each in self.constraints)

    def why_not(self, equation: Equation) -> str:
        """Return the first constraint that a law breaks, and where; "" if it keeps them."""
        reasons = (self._broken(equation, each) for each in self.constraints)
        return next((reason for reason in reasons if reason is not None), "")

    def verdict(self, equation: Equation) -> str:
        """Return how well the constraints are known to hold.

        ``"proved"``: in the whole box, up to rounding. ``"held at 624 points"``: it was looked at.
        ``"violated: ..."``: what is broken, and where. A rule of the user's own counts as proved
        if it holds.
        """
        reason = self.why_not(equation)
        if reason:
            return f"violated: {reason}"
        prover, points = Prover(equation, self.X), 0
        for constraint in (each for each in self.constraints if each.rule is None):
            found = prover.look_at(constraint)
            if found.where is not None:
                return f"violated: {self._wanted(constraint)} near {self._at(found.where)}"
            points += 0 if found.holds else self._n_points(constraint)
        return f"held at {points} points" if points else "proved"

    def _wanted(self, constraint: Constraint) -> str:
        shown = f"{shown_name(self.target_name)} is not {constraint.kind}"
        if constraint.feature is None:
            return shown
        return f"{shown} in {shown_name(self.feature_names[constraint.feature])}"

    def _n_points(self, constraint: Constraint) -> int:
        points = self._points if constraint.feature is None else self._lines[constraint.feature]
        return len(points)

    # ---- looking -----------------------------------------------------------------------------

    @cached_property
    def _points(self) -> Array:
        """Training rows and points of the box, in a fixed order."""
        from scipy.stats import qmc

        rows = np.linspace(0, len(self.X) - 1, POINTS).astype(int)
        drawn = qmc.Halton(self.X.shape[1], seed=0).random(POINTS)
        # Extremes are in the corners more often than elsewhere.
        drawn[:CORNERS] = _corners(self.X.shape[1])
        return np.vstack([self.low + (self.high - self.low) * drawn, self.X[rows]])

    @cached_property
    def _lines(self) -> dict[int, Array]:
        """The points along each feature that a constraint is about, one line after the other."""
        n_lines, n_steps = self._grid
        through = np.linspace(POINTS, 2 * POINTS - 1, n_lines // 3).astype(int)
        base = np.vstack([self._points[: n_lines - len(through)], self._points[through]])
        lines = {}
        for j in {c.feature for c in self.constraints if c.feature is not None}:
            table = np.repeat(base, n_steps, axis=0)
            table[:, j] = np.tile(np.linspace(self.low[j], self.high[j], n_steps), n_lines)
            lines[j] = table
        return lines

    @property
    def _grid(self) -> tuple[int, int]:
        """The number of lines, and of points on each; a lone feature has only one line."""
        return (LINES, STEPS) if self.X.shape[1] > 1 else (1, LINES * (STEPS - 1) + 1)

    def _broken(self, equation: Equation, constraint: Constraint) -> str | None:
        """Return what is wrong, None if nothing is."""
        if constraint.rule is not None:
            return _ruled(constraint.kind, constraint.rule, equation)
        j = constraint.feature
        points = self._points if j is None else self._lines[j]
        values = equation.solution(points).values
        y = shown_name(self.target_name)
        if not np.isfinite(values).all():
            where = points[int(np.argmin(np.isfinite(values)))]
            return f"{y} is undefined at {self._at(where)}"
        if j is None:
            return self._wrong_sign(constraint.kind, values, points)
        return self._wrong_shape(constraint.kind, values.reshape(self._grid), j)

    def _wrong_sign(self, kind: str, values: Array, points: Array) -> str | None:
        signed = values if kind in ("positive", "nonnegative") else -values
        slack = ROUNDING * float(np.abs(values).max())
        wrong = signed <= 0 if kind in ("positive", "negative") else signed < -slack
        if not wrong.any():
            return None
        k = int(np.argmin(signed))
        value = number(float(values[k]))
        return f"{self._wanted(Constraint(kind))}: it is {value} at {self._at(points[k])}"

    def _wrong_shape(self, kind: str, values: Array, j: int) -> str | None:
        """Look at some points of each line and, unless rounding hides it there, at all."""
        x = np.linspace(self.low[j], self.high[j], values.shape[1])
        some = (len(x) - 1) // (STEPS - 1)
        for every in (some, 1) if kind in ("increasing", "decreasing") else (some,):
            reason = self._wrong_steps(kind, values[:, ::every], x[::every], j)
            if reason is not None:
                return reason
        return None

    def _wrong_steps(self, kind: str, values: Array, x: Array, j: int) -> str | None:
        order = 1 if kind in ("increasing", "decreasing") else 2
        steps = np.diff(values, n=order, axis=1)
        steps = steps if kind in ("increasing", "convex") else -steps
        slack = ROUNDING * np.abs(values).max(axis=1, keepdims=True)
        steps = np.where(steps < -slack, steps, 0.0)
        if not steps.any():
            return None
        line, k = np.unravel_index(int(np.argmin(steps)), steps.shape)
        first, last = int(k), int(k) + order
        name = shown_name(self.feature_names[j])
        path = " to ".join(number(float(v)) for v in values[line, first : last + 1])
        reason = (
            f"{self._wanted(Constraint(kind, j))}: it goes from {path} where {name} goes from"
            f" {number(x[first])} to {number(x[last])}"
        )
        fixed = self._at(self._lines[j][int(line) * self._grid[1]], without=j)
        return f"{reason}, at {fixed}" if fixed else reason

    def _at(self, point: Array, without: int | None = None) -> str:
        shown = [
            f"{shown_name(name)} = {number(float(value))}"
            for j, (name, value) in enumerate(zip(self.feature_names, point, strict=True))
            if j != without
        ]
        return ", ".join(shown)


def _ruled(name: str, rule: Rule, equation: Equation) -> str | None:
    try:
        return None if rule(equation) else f"{name} does not hold"
    except Exception as error:
        raise GSRError(
            f"the constraint {name} fails on {equation}: {type(error).__name__}: {error}"
        ) from error


def _corners(d: int) -> Array:
    """Return corners of the unit box: all if they are few, else some of all kinds."""
    numbers = np.arange(CORNERS)[:, None]
    if 2**d <= CORNERS:
        return ((numbers >> np.arange(d)) & 1).astype(float)
    drawn = np.random.default_rng(0).integers(0, 2, (CORNERS // 2, d)).astype(float)
    drawn[0] = 0.0
    return np.vstack([drawn, 1.0 - drawn])


# ---- reading ---------------------------------------------------------------------------------


def _read(given: Any, features: tuple[str, ...], target: str) -> Iterator[Constraint]:
    if callable(given):
        yield Constraint(_called(given), rule=given)
    elif isinstance(given, Mapping):
        for name, wanted in given.items():
            yield from _named(name, wanted, features, target)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        for each in given:
            yield from _read(each, features, target)
    else:
        raise GSRError(
            f"constraints are a mapping such as {{'x1': 'increasing', 'y': 'positive'}}, a"
            f" function of an Equation, or a list of these, got {given!r}"
        )


def _named(name: Any, wanted: Any, features: tuple[str, ...], target: str) -> Iterator[Constraint]:
    if callable(wanted):
        yield Constraint(str(name), rule=wanted)
        return
    if name not in (*features, target):
        hint = suggestion(name, [*features, target], otherwise_list=True)
        raise GSRError(f"constraints has {name!r}, which is no feature and not the target{hint}")
    kinds = TARGET_KINDS if name == target else FEATURE_KINDS
    for kind in [wanted] if isinstance(wanted, str) else _listed(wanted, name):
        if callable(kind):
            yield Constraint(_called(kind), rule=kind)
            continue
        if kind not in kinds:
            what = "the target" if name == target else "a feature"
            raise GSRError(
                f"constraints[{name!r}] is for {what} and must be {' or '.join(map(repr, kinds))},"
                f" got {kind!r}{suggestion(kind, kinds)}"
            )
        yield Constraint(kind, None if name == target else features.index(name))


def _listed(wanted: Any, name: Any) -> Sequence[Any]:
    if not isinstance(wanted, Sequence):
        raise GSRError(f"constraints[{name!r}] must be text, a function, or a list, got {wanted!r}")
    return wanted


def _called(rule: Any) -> str:
    return str(getattr(rule, "__name__", type(rule).__name__))


# ---- proofs by interval arithmetic ---------------------------------------------------------------

#: Boxes looked at before a constraint is left open, and at a time.
BUDGET = 4000
BATCH = 256
POLE_BUDGET = 2000
#: Below this exp is 0.
LOG_OF_NOTHING = -700.0


class Verdict(NamedTuple):
    """True if it is proved, False if it is refuted (at a point), None if it is open."""

    holds: bool | None
    where: Array | None = None


PROVED, OPEN = Verdict(True), Verdict(None)


class Prover:
    """Proves constraints for one law."""

    def __init__(self, equation: Equation, X: Array) -> None:
        self.equation, self.X = equation, X
        self.law = cast(Any, equation)  # it has what a law has, but for its error
        read = GuardedLaw(self.law, equation.library, equation.target_library)
        self.target = "" if read.reciprocal else read.target
        self.g = read.traits
        self.used = [v - 1 for v in read.variables]

    def look_at(self, constraint: Constraint) -> Verdict:
        """Return whether the constraint holds everywhere in the box, up to rounding."""
        j, kind = constraint.feature, constraint.kind
        if j is not None and j not in self.used:
            return PROVED if self._defined else OPEN
        if not self.target or not self._defined or not usable(self.law, self.equation.library):
            return OPEN
        if j is None:
            return self._sign(kind)
        if kind in ("convex", "concave"):
            sign = 1 if kind == "convex" else -1
            return self._one_sided(j, 2, sign) if self.target == "identity" else OPEN
        rising = self._sign_of_y if self.g.rises_with_size else self.g.rises
        return self._one_sided(j, 1, rising if kind == "increasing" else -rising)

    @cached_property
    def _defined(self) -> bool:
        tables = self.equation.library, self.equation.target_library
        return poles(self.law, *tables, self.X, POLE_BUDGET).verdict == "safe"

    @cached_property
    def _sign_of_y(self) -> int:
        """The sign of every y that is predicted, 0 if it is not fixed."""
        branches = self.equation.inversion.branches
        if branches.home is not None:
            return 1 if branches.home[0] >= 0 else -1 if branches.home[1] <= 0 else 0
        if branches.sign is None or branches.sign.library not in (None, self.equation.library):
            return 0
        jets = Jets(self.equation.library, *self._box, 0)
        sign = branches.sign.constant
        for argument in branches.sign.arguments:
            values = fold(argument, jets).value
            sign *= 0 if values.has_zero[0] else int(np.sign(values.low[0]))
        return sign

    @property
    def _box(self) -> tuple[Array, Array]:
        return self.X.min(axis=0)[None], self.X.max(axis=0)[None]

    def _sign(self, kind: str) -> Verdict:
        wanted = 1 if kind in ("positive", "nonnegative") else -1
        strict = kind in ("positive", "negative")
        if self.g.rises and self.g.parity == -1:
            return self._one_sided(0, 0, wanted, strict)
        if not self.g.rises_with_size or self._sign_of_y != wanted:
            return OPEN
        # y = 0 is possible for y^2 and |y|, and where a logarithm goes to minus infinity.
        least = self._derivative(*self._box, 0, 0, 1).low[0]
        apart = least > (LOG_OF_NOTHING if self.g.of_magnitude else 0)
        return PROVED if apart or not strict else OPEN

    def _one_sided(self, feature: int, order: int, sign: int, strict: bool = False) -> Verdict:
        """Look for the sign of a derivative in all boxes; those that leave it open are split."""
        if sign == 0:
            return OPEN
        (low, high), budget = self._box, BUDGET
        slack = 0.0 if strict else ROUNDING * self._size(feature, order)
        while len(low) and budget > 0:
            budget -= len(low)
            found = self._derivative(low, high, feature, order, sign)
            wrong = found.high < -slack
            if wrong.any():
                at = int(np.argmax(wrong))
                return Verdict(False, (low[at] + high[at]) / 2)
            open_ = ~(found.low > 0 if strict else found.low >= -slack)
            if open_.sum() > BATCH:
                return OPEN
            low, high = self._split(low[open_], high[open_])
        return OPEN if len(low) else PROVED

    def _size(self, feature: int, order: int) -> float:
        """Return the size that a derivative would have if y changed once over the box."""
        values = self._derivative(*self._box, feature, 0, 1).size[0]
        width = float(np.ptp(self.X[:, feature])) or 1.0
        size = float(values) / width**order
        return size if np.isfinite(size) else 0.0

    def _derivative(self, low: Array, high: Array, feature: int, order: int, sign: int) -> Interval:
        with np.errstate(all="ignore"):
            jet = Jets(self.equation.library, low, high, feature).law(self.law)
        found = jet[order]
        return found if sign > 0 else Interval(-found.high, -found.low)

    def _split(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Halve each box where it is widest, among the features that the law uses."""
        ranges = np.full(low.shape[1], np.inf)
        ranges[self.used] = np.ptp(self.X, axis=0)[self.used]
        upper, lower = halved(low, high, (high - low) / np.where(ranges > 0, ranges, np.inf))
        return np.vstack([low, lower]), np.vstack([upper, high])


# ---- derivatives over boxes --------------------------------------------------------------------


class Jet(NamedTuple):
    """A value with its first and second derivative, as intervals."""

    value: Interval
    first: Interval
    second: Interval


def _product(a: Jet, b: Jet) -> Jet:
    cross = scale(multiply(a.first, b.first), 2.0)
    outer = add(multiply(a.value, b.second), multiply(a.second, b.value))
    return Jet(
        multiply(a.value, b.value),
        add(multiply(a.value, b.first), multiply(a.first, b.value)),
        add(outer, cross),
    )


def _sum(a: Jet, b: Jet) -> Jet:
    return Jet(*(add(p, q) for p, q in zip(a, b, strict=True)))


def _constant(value: float, n: int) -> Jet:
    return Jet(constant(value, n), constant(0.0, n), constant(0.0, n))


def _chained(value: Interval, slope: Interval, bend: Interval, t: Jet) -> Jet:
    """Return T(t) from T, T' and T'' at the value of t."""
    second = add(multiply(bend, power(t.first, 2)), multiply(slope, t.second))
    return Jet(value, multiply(slope, t.first), second)


class Jets(Arithmetic[Jet]):
    """Evaluates f(x) with its derivatives by one feature."""

    def __init__(self, library: Library, low: Array, high: Array, feature: int) -> None:
        self.library, self.n = library, len(low)
        zero = constant(0.0, self.n)
        self.variables = [
            Jet(Interval(low[:, j], high[:, j]), constant(float(j == feature), self.n), zero)
            for j in range(low.shape[1])
        ]

    def law(self, law: LawLike) -> Jet:
        """Return the sum of alpha phi."""
        total = _constant(0.0, self.n)
        for a, matrix in zip(law.alpha, law.phi, strict=True):
            term = self.basis_function(factors(matrix, self.library))
            total = _sum(total, self.scale(term, float(a)))
        return total

    def variable(self, v: int) -> Jet:
        return self.variables[v - 1]

    def one(self) -> Jet:
        return _constant(1.0, self.n)

    def scale(self, value: Jet, factor: float) -> Jet:
        return Jet(*(scale(part, float(factor)) for part in value))

    def add(self, terms: Sequence[Jet]) -> Jet:
        return reduce(_sum, terms) if terms else _constant(0.0, self.n)

    def power(self, value: Jet, n: int) -> Jet:
        if n == 1:
            return value
        t = value.value
        slope = scale(power(t, n - 1), float(n))
        bend = constant(2.0, self.n) if n == 2 else scale(power(t, n - 2), float(n * (n - 1)))
        return _chained(power(t, n), slope, bend, value)

    def multiply(self, factors: Sequence[Jet]) -> Jet:
        return reduce(_product, factors) if factors else self.one()

    def call(self, row: Row, argument: Jet) -> Jet:
        traits, t = self.library.traits[row.code], argument.value
        assert traits.image and traits.slope and traits.bend
        found = _chained(traits.image(t), traits.slope(t), traits.bend(t), argument)
        return self.power(found, -1) if row.reciprocal else found


def usable(law: LawLike, library: Library) -> bool:
    """Return whether all transformations of f(x) have derivatives here."""
    return all(
        library.traits[each.code].has_derivatives
        for matrix in law.phi
        for row in factors(matrix, library)
        for each in row.walk()
    )
