"""Constraints on a law's shape: signs, monotony, curvature, and what a user checks by himself.

They are checked in the box of the training data, at points, and where that is asked for and can be
done by interval arithmetic in the whole box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gsr.encoding.writing import number, shown_name
from gsr.equation import Equation
from gsr.exceptions import GSRError, suggestion
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
        """Tell whether a law keeps all constraints at the points; no prediction may be NaN."""
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
        from gsr.prior.proofs import Prover

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
        values = predictions(equation, points)
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


def predictions(equation: Equation, X: Array) -> Array:
    """Return what `Equation.predict` does, without its warnings."""
    with np.errstate(all="ignore"):
        return equation.solution(X).values


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
