"""The search for the parts of a form.

All parts are first fitted as smooth curves, and then replaced by formulas one after the other. The
target of each search is the value of the part plus the residual of the form divided by the slope of
the form, weighted by the square of that slope (as in local scoring of generalized additive models).
The other parts are fitted again for each candidate formula. Once all parts are formulas, each is
searched for again given the others, and all constants are fitted together.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gsr.exceptions import GSRError
from gsr.forms.fitting import Curve, Formula, Model, Pieces, numeric, smooth, table
from gsr.forms.reading import Form, Part, column, inverse
from gsr.lazy import sympy
from gsr.selection import FrontEntry
from gsr.transformation import Array

#: Parts of the time after which the curves and the last search must have ended.
CURVES, SEARCHES = 0.15, 0.9
#: Number of searches for each part, and of its laws that are compared in the form.
ROUNDS, COMPARED = 3, 6
#: Least part of the time for a search.
LEAST_SHARE = 0.05
#: A formula replaces another if the description becomes shorter by more than this many bits.
LEAST_GAIN = 1.0
#: Errors below this part of the spread of y are treated as rounding errors.
EXACT = 1e-9

#: Searches for laws of a part, given its target, weights and time limit.
Explain = Callable[[Part, Array, Array, float | None], list[FrontEntry]]


@dataclass(frozen=True, eq=False)
class State:
    """A form with its parts as they are now."""

    model: Model
    theta: Array
    #: Bits of the expression of each part that is a formula.
    structures: dict[str, float]

    @cached_property
    def bits(self) -> float:
        """Description length of rows, constants and formulas."""
        n_rows = len(self.model.y)
        error = max(self.model.rmse(self.theta), EXACT * self.model.spread)
        digits = 0.5 * math.log2(n_rows) * self.model.rank(self.theta)
        return n_rows * math.log2(error) + digits + sum(self.structures.values())

    def with_formula(self, formula: Formula, structure: float, until: float | None) -> State | None:
        """Return the form with a formula as a part, all constants fitted; None if undefined."""
        name, before = formula.part.name, self.model
        pieces = {**before.pieces, name: formula}
        model = Model(before.form, pieces, before.X, before.y, before.roots**2)
        blocks = dict(zip(before.pieces, before.blocks[1:], strict=True))
        start = [self.theta[before.blocks[0]]]
        start += [formula.values if each == name else self.theta[blocks[each]] for each in pieces]
        theta = model.fit(np.concatenate(start), until)
        if not math.isfinite(model.objective(theta)):
            return None
        return State(model, theta, {**self.structures, name: structure})


def search(
    form: Form,
    X: Array,
    y: Array,
    weights: Array,
    explain: Explain,
    max_time: float | None,
    seed: int,
) -> State:
    """Return the form with formulas as its parts."""
    started = time.perf_counter()

    def until(part: float) -> float | None:
        return None if max_time is None else started + part * max_time

    with np.errstate(all="ignore"):
        state = _opened(form, X, y, weights)
        if state is None:
            state = _with_curves(form, X, y, weights, seed, until(CURVES))
        end = until(SEARCHES)
        waiting = _by_noise(state) * ROUNDS
        last: dict[str, State] = {}  # the state in which each part was last searched for
        while waiting:
            part = waiting.pop(0)
            left = None if end is None else end - time.perf_counter()
            if part.name in state.structures and (
                last[part.name] is state or (left is not None and left <= 0.0)
            ):
                continue
            least = LEAST_SHARE * (max_time or 0.0)
            seconds = None if left is None else max(left / (1 + len(waiting)), least)
            state = last[part.name] = _searched(state, part, explain, seconds)
        return state


def _opened(form: Form, X: Array, y: Array, weights: Array) -> State | None:
    """Return the form with the part that a transformation of y gives; None without one."""
    value = inverse(form)
    if value is None:
        return None
    columns = [column(k) for k in range(X.shape[1])]
    found = table([numeric([*columns, sympy.Symbol("y", real=True)], value)(*X.T, y)], len(y))
    if not np.isfinite(found).all():
        return None
    # A curve that goes through all rows, so that the working target is the transformed one.
    part = form.parts[0]
    curve = Curve(part, found, np.zeros(1))
    return State(Model(form, {part.name: curve}, X, y, weights), np.ones(1), {})


def _with_curves(
    form: Form, X: Array, y: Array, weights: Array, seed: int, until: float | None
) -> State:
    def model_of(n_centres: int) -> Model:
        pieces: Pieces = {part.name: Curve.of(part, X, n_centres) for part in form.parts}
        return Model(form, pieces, X, y, weights)

    model, theta = smooth(model_of, seed, until)
    if not math.isfinite(model.objective(theta)):
        raise GSRError(
            f"no smooth functions were found for which the form {form.text!r} is defined on all "
            "rows",
            "form",
        )
    return State(model, theta, {})


def _by_noise(state: State) -> list[Part]:
    """Return the parts, ordered by the noise of their targets relative to the spread."""

    def noise(part: Part) -> float:
        target, weights, values = state.model.working(state.theta, part.name)
        if not weights.any():
            return math.inf
        mean = np.average(values, weights=weights)
        spread = np.average((values - mean) ** 2, weights=weights)
        return float(np.average((target - values) ** 2, weights=weights) / (spread or 1.0))

    return sorted(state.model.form.parts, key=noise)


def _searched(state: State, part: Part, explain: Explain, seconds: float | None) -> State:
    """Return the form with the formula of a part that gives the shortest description."""
    target, weights, _ = state.model.working(state.theta, part.name)
    until = None if seconds is None else time.perf_counter() + 2.0 * seconds
    found = []
    for entry in explain(part, target, weights, seconds):
        formula = Formula.of(part, expression_of(entry, part))
        new = state.with_formula(formula, entry.structure, until)
        if new is not None and math.isfinite(new.bits):
            found.append(new)
    best = min(found, key=lambda each: each.bits, default=None)
    if best is None:
        if part.name in state.structures:
            return state
        raise GSRError(f"no law was found for {part.name!r}; allow more time", "form")
    if part.name not in state.structures or best.bits < state.bits - LEAST_GAIN:
        return best
    return state


def expression_of(entry: FrontEntry, part: Part) -> Any:
    """Return the right side of a law of a part in x1, x2, ..."""
    names = entry.equation.feature_names
    places = zip(names, part.columns, strict=True)
    symbols = {sympy.Symbol(name, real=True): column(k) for name, k in places}
    _, terms = entry.equation.terms()
    return sympy.Add(*(sympy.Float(c) * e for c, e in terms)).xreplace(symbols)


def compared(entries: Iterator[FrontEntry] | list[FrontEntry]) -> list[FrontEntry]:
    """Return the laws with the shortest descriptions among those that do not transform y."""
    known = [each for each in entries if not each.transformed]
    return sorted(known, key=lambda each: each.length)[:COMPARED]
