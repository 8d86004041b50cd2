"""Fits the constants of a known formula: linear ones by least squares, the others from a scan."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gsr.exceptions import GSRError
from gsr.prior.formula_terms import Known, Term
from gsr.selection import refit as linear
from gsr.selection import target_scale
from gsr.selection.fitted import FittedLaw, Training, weights
from gsr.selection.residuals import Level, residual_level
from gsr.selection.target_scale import refine
from gsr.threads import one_thread
from gsr.transformation import Array

SCAN_ROWS = 200
POLISH_ROWS = 5000
#: Points of a scan over several constants, and over one.
SCANNED = 2000
GRID = 250
#: Scanned magnitudes are from 10^-DECADES to 10^DECADES.
DECADES = 3.0
POLISHED = 8
EVALUATIONS = 60
#: Errors, relative to the spread of y, that need no further start.
EXACT = 1e-9
#: Slopes of g below this part of the median are raised to it, where constants are looked for.
FLATTEST = 1e-3
WORST = 1e6
#: Values beyond this are as good as undefined.
HUGE = 1e150

Values = dict[Any, float]


class Found(NamedTuple):
    """A formula as a law, and its constants inside functions before the last polish."""

    law: FittedLaw
    theta: Array


def fit(known: Known, encoded: Callable[..., Any], data: Training) -> Found:
    """Return the formula as a fitted law.

    Parameters
    ----------
    known : Known
        The formula, as `reduced` gives it.
    encoded : callable
        Gives its structure for values of the constants and for coefficients of all terms.
    data : Training
        The rows.
    """
    model = Model(known, data.X.shape[1])
    n_constants = len(model.inner) + len(model.free)
    if len(data.y) < n_constants:
        raise GSRError(f"{len(data.y)} rows are too few for {n_constants} constants")
    spread = data.spread or 1.0
    best: Found | None = None
    # Matrices are narrow: to start threads for them costs more than they save.
    with one_thread(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for start in starts(model, data):
            theta = model.polished(start, data)
            law = _law(model, theta, encoded, data)
            if law is not None and (best is None or law.rmse < best.law.rmse):
                best = Found(law, theta)
            if best is not None and best.law.rmse < EXACT * spread:
                break
        if best is None or not math.isfinite(best.law.rmse):
            raise GSRError("no constants were found for which the formula is defined on all rows")
        return Found(linear.confirm(FittedLaw.of(best.law, exact=True), data), best.theta)


def level(law: FittedLaw, data: Training) -> Level:
    """Return what a law leaves of the data."""
    try:
        return residual_level(law, data)
    except np.linalg.LinAlgError:  # predictions that are all the same, or huge
        return "unknown"


def _law(model: Model, theta: Array, encoded: Callable[..., Any], data: Training) -> Any:
    """Return the law of some constants, polished on the scale of y where they are independent."""
    solved = model.solve(theta, *some_rows(data, len(data.y)))
    if solved is None:
        return None
    try:
        made = encoded(model.values(theta), solved.coefficients)
        moved = encoded(model.values(theta * (1 + 1e-3) + 1e-6), solved.coefficients)
    except GSRError:  # a coefficient of 0, or a weight that vanishes
        return None
    laws = [law_of(made)]
    inside = [inner_constants(each) for each in (made, moved)]
    if model.all_free and len(inside[0]) == len(inside[1]):
        laws.append(linear.refit(laws[0], data))
        changed = inside[0] != inside[1]
        if changed.sum() <= len(model.inner):
            n_linear = len(made.alpha) + len(made.beta) - 1
            free = np.concatenate([np.ones(n_linear, bool), changed])
            laws.append(refine(laws[1], data, free))
    laws = [FittedLaw.of(law, rmse=target_scale.rmse(law, data)) for law in laws]
    return min(laws, key=lambda law: law.rmse)


def law_of(structure: Any) -> FittedLaw:
    """Return a structure as a law whose error is not known yet."""
    return FittedLaw(
        tuple(structure.phi), tuple(structure.psi), np.array(structure.alpha),
        np.array(structure.beta), 0, math.inf, math.inf, False, 0.0,
    )  # fmt: skip


def inner_constants(structure: Any) -> Array:
    """Return the real constants inside the arguments of a structure."""
    places = weights(structure)
    found = [getattr(structure, w.side)[w.term][w.row][w.column] for w in places]
    return np.array(found, dtype=float)


# ---- the model -------------------------------------------------------------------------------


class Solved(NamedTuple):
    """Coefficients of all terms (target, then features) and the residuals on the scale of y."""

    coefficients: Array
    residuals: Array


class Model:
    """A formula as columns over the rows; `free` are the terms whose coefficients are linear.

    Parameters
    ----------
    known : Known
        The formula.
    d : int
        Features.
    """

    def __init__(self, known: Known, d: int) -> None:
        import sympy

        self.known = known
        terms = [*known.target, *known.features]
        self.n_terms, self.n_target = len(terms), len(known.target)
        self.signs = np.array([1.0 if k < self.n_target else -1.0 for k in range(self.n_terms)])
        self.open = open_ = free_terms(terms)
        # The scale of an equation is open: what leads has the coefficient 1.
        self.free = [k for k in sorted(open_) if k > 0]
        self.all_free = len(self.free) == self.n_terms - 1
        given = [t.coefficient if k not in open_ else sympy.Integer(1) for k, t in enumerate(terms)]
        used = {s for t in terms for s in t.basis.free_symbols}
        used |= {s for c in given for s in c.free_symbols}
        self.inner = [s for s in known.starts if s in used]
        y = sympy.Symbol("y", real=True)
        inputs = [*(sympy.Symbol(f"x{v + 1}", real=True) for v in range(d)), y, *self.inner]
        slopes = [sympy.diff(t.basis, y) for t in known.target]
        # The slope of a sign is 0 but for one point.
        own = {"log": lambda t: np.log(np.abs(t)), "DiracDelta": np.zeros_like}
        modules = [own, "numpy"]
        everything = [*(t.basis for t in terms), *slopes, *given]
        self._evaluate = sympy.lambdify(inputs, everything, modules, cse=True)

    def values(self, theta: Array) -> Values:
        """Return the constants by name; those that are coefficients only are 1."""
        found = dict.fromkeys(self.known.starts, 1.0)
        return {**found, **dict(zip(self.inner, theta.tolist(), strict=True))}

    def columns(self, theta: Array, X: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return the terms with their signs, slopes of those of the target, and coefficients.

        Coefficients that are free are 1.
        """
        raw = self._evaluate(*X.T, y, *theta)
        found = np.stack([np.broadcast_to(np.asarray(c, float), y.shape) for c in raw], axis=1)
        slopes = found[:, self.n_terms : self.n_terms + self.n_target]
        coefficients = found[0, self.n_terms + self.n_target :].copy()
        return found[:, : self.n_terms] * self.signs, slopes, coefficients

    def solve(self, theta: Array, X: Array, y: Array, roots: Array) -> Solved | None:
        """Return the best coefficients for constants inside; None if a row is undefined.

        Rows are multiplied by the roots of their weights.
        """
        columns, slopes, coefficients = self.columns(theta, X, y)
        if not (np.abs(columns) < HUGE).all() or not (np.abs(coefficients) < HUGE).all():
            return None
        beta = coefficients[: self.n_target]
        scale = np.ones(len(y)) if set(self.free) & set(range(self.n_target)) else None
        for _ in range(1 if scale is None else 2):
            size = _sizes(slopes @ beta) if scale is None else scale
            weighted = columns * (roots / size)[:, None]
            if not (np.abs(weighted) < HUGE).all():
                return None
            coefficients = self._linear(weighted, coefficients)
            beta, scale = coefficients[: self.n_target], None
        size = _sizes(slopes @ beta)
        return Solved(coefficients, columns @ coefficients * roots / size)

    def _linear(self, columns: Array, coefficients: Array) -> Array:
        fixed = [k for k in range(self.n_terms) if k not in self.free]
        part = columns[:, self.free]
        norms = np.linalg.norm(part, axis=0)
        norms = np.where(norms > 0, norms, 1.0)
        target = -columns[:, fixed] @ coefficients[fixed]
        result = coefficients.copy()
        result[self.free] = np.linalg.lstsq(part / norms, target, rcond=1e-13)[0] / norms
        return result

    def residuals(self, theta: Array, X: Array, y: Array, roots: Array) -> Array:
        """Return the residuals; large ones where the formula is undefined."""
        solved = self.solve(theta, X, y, roots)
        if solved is None or not np.isfinite(solved.residuals).all():
            return np.full(len(y), WORST * float(np.std(y) or 1.0))
        return solved.residuals

    def polished(self, theta: Array, data: Training) -> Array:
        """Return the constants inside after Gauss-Newton steps."""
        if not len(theta):
            return theta
        from scipy.optimize import least_squares

        rows = some_rows(data, POLISH_ROWS)
        size = np.where(theta == 0, 1.0, np.abs(theta))
        found = least_squares(
            lambda step: self.residuals(theta + size * step, *rows),
            np.zeros(len(theta)),
            method="lm" if len(rows[1]) >= len(theta) else "trf",
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
            max_nfev=EVALUATIONS * (1 + len(theta)),
        )
        return np.asarray(theta + size * found.x)


def free_terms(terms: Sequence[Term]) -> set[int]:
    """Return the terms whose coefficient may be any number, whatever the others are.

    Those are the ones without letters, and those with a letter that stands nowhere else.
    """
    inside = {s for t in terms for s in t.basis.free_symbols}
    found = {k for k, t in enumerate(terms) if not t.coefficient.free_symbols}
    while True:
        rest = [k for k in range(len(terms)) if k not in found]
        counts = Counter(s for k in rest for s in terms[k].coefficient.free_symbols)
        new = {
            k
            for k in rest
            if any(counts[s] == 1 and s not in inside for s in terms[k].coefficient.free_symbols)
        }
        if not new:
            return found
        found |= new


class Spare(NamedTuple):
    """A constant that a coefficient holds already, as b in ``a (b x + c)``.

    Parameters
    ----------
    symbol : symbol
        The constant; it is 1.
    term : int
        Its term, counted over target and features.
    power : int
        That of the sum in which it stands.
    partners : tuple of symbols
        The other constants of the sum, which are divided by it.
    """

    symbol: Any
    term: int
    power: int
    partners: tuple[Any, ...]


def reduced(known: Known) -> Known:
    """Return the formula without constants that a coefficient holds already."""
    spare = {each.symbol: 1 for each in spare_constants(known)}
    if not spare:
        return known
    target, features = (
        tuple(replace(t, basis=t.basis.subs(spare)) for t in side)
        for side in (known.target, known.features)
    )
    return Known(target, features, {s: v for s, v in known.starts.items() if s not in spare})


def spare_constants(known: Known) -> list[Spare]:
    """Return the constants that a coefficient holds already, one for each sum."""
    terms = [*known.target, *known.features]
    counts = Counter(s for t in terms for e in (t.coefficient, t.basis) for s in e.free_symbols)
    found = []
    for k in sorted(free_terms(terms)):
        for factor in product_of(terms[k].basis):
            base, power = factor.as_base_exp()
            if base.is_Add and power.is_Integer:
                lone = [_weight_of(part, known) for part in base.args]
                if None not in lone and all(counts[s] == 1 for s in lone):
                    named = [s for s, p in zip(lone, base.args, strict=True) if p != s]
                    one = (named or lone)[0]
                    partners = tuple(s for s in lone if s != one)
                    found.append(Spare(one, k, int(power), partners))
    return found


def _weight_of(part: Any, known: Known) -> Any:
    """Return the constant that a part of a sum is, or has as its factor."""
    found = [f for f in product_of(part) if f in known.starts]
    return found[0] if len(found) == 1 else None


def product_of(expression: Any) -> Sequence[Any]:
    """Return the factors of a product."""
    import sympy

    return tuple(sympy.Mul.make_args(expression))


# ---- starts ----------------------------------------------------------------------------------


def starts(model: Model, data: Training) -> Iterator[Array]:
    """Yield values for the constants inside, the most promising first."""
    given = [model.known.starts[s] for s in model.inner]
    open_ = [j for j, value in enumerate(given) if value is None]
    base = np.array([1.0 if value is None else value for value in given])
    if not open_:
        yield base
        return
    X, *rest = some_rows(data, SCAN_ROWS)
    values = _grid(X) if len(open_) == 1 else _spread(len(open_), X)
    points = np.tile(base, (len(values), 1))
    points[:, open_] = values
    errors = np.array([np.linalg.norm(model.residuals(theta, X, *rest)) for theta in points])
    yield from _distinct(points, errors)


def _grid(X: Array) -> Array:
    """Return values of one constant: small and large ones, and even steps for frequencies."""
    width = float(np.ptp(X, axis=0).max()) or 1.0
    size = np.concatenate([np.logspace(-DECADES, DECADES, GRID), np.arange(1, GRID) / width])
    centres = np.linspace(X.min(), X.max(), GRID // 4)
    return np.unique(np.concatenate([size, -size, centres]))[:, None]


def _spread(n: int, X: Array) -> Array:
    """Return quasi-random values of several constants, of all magnitudes and signs."""
    from scipy.stats import qmc

    drawn = qmc.Halton(3 * n, seed=0).random(SCANNED)
    sizes = 10.0 ** (DECADES * (2.0 * drawn[:, :n] - 1.0) / 1.5)
    unit = float(np.median(np.abs(X))) or 1.0
    sizes *= unit ** np.floor(3.0 * drawn[:, n : 2 * n] - 1.0)
    values: Array = np.where(drawn[:, 2 * n :] < 0.6, sizes, -sizes)
    return values


def _distinct(points: Array, errors: Array) -> Iterator[Array]:
    chosen: list[Array] = []
    for k in np.argsort(errors, kind="stable"):
        near = [np.allclose(points[k], other, rtol=0.05) for other in chosen]
        if not any(near):
            chosen.append(points[k])
            yield points[k]
        if len(chosen) == POLISHED:
            return


def some_rows(data: Training, most: int) -> tuple[Array, Array, Array]:
    """Return at most so many rows, evenly spaced: X, y and the roots of the weights."""
    rows = np.unique(np.linspace(0, len(data.y) - 1, min(len(data.y), most)).astype(int))
    row_weights = np.ones(len(rows)) if data.weights is None else data.weights[rows]
    return data.X[rows], data.y[rows], np.sqrt(row_weights)


def _sizes(slopes: Array) -> Array:
    """Return the size of g', none much below the others."""
    size = np.abs(np.nan_to_num(slopes, nan=0.0, posinf=0.0, neginf=0.0))
    least = FLATTEST * float(np.median(size)) or 1.0
    return np.maximum(size, least)
