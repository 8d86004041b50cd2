"""Laws of a search as front entries: constants refined, on all rows, with fewer nodes.

If the features have errors too, the chosen law is fitted by orthogonal distance regression: the sum
of ((y - g^-1(f(x + d)))/sigma_y)^2 + (d/sigma_x)^2 over the rows is minimised over the constants
and over d. For given constants every row has its nearest point on the law. Around these points the
law is straight, and d drops out: what is left is a fit of y with the effective variance
sigma_y^2 + (dy/dx)^2 sigma_x^2. Points and constants are improved in turn.

A search that looks for what explains most may return `-1.5 (1 - x^2) + 1` instead of
`1.5 x^2 - 0.5`, or `x1^3` times `1/(x1 x2)`, which has no value at 0. The chosen law is multiplied
out, and its powers merged, where that is shorter.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gsr.deadline import is_late
from gsr.encoding.fold import values_of
from gsr.encoding.rows import Row, factors, is_constant, rows
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.library import Library
from gsr.selection.criteria import rough_length
from gsr.selection.entry import AS_GOOD, CONSTANT_LAW, FrontEntry
from gsr.selection.fitted import (
    FAILURES,
    STEP,
    AnyMatrix,
    FittedLaw,
    LawLike,
    Training,
    constants,
    recounted,
    weights,
)
from gsr.selection.noise import Loss, given
from gsr.selection.refit import confirm, refit
from gsr.selection.rounding import simplest
from gsr.selection.simplify import with_rational_powers
from gsr.selection.target_scale import TargetScale, refine, rmse, with_loss
from gsr.selection.variants import plainer
from gsr.threads import one_thread
from gsr.transformation import POWERS, Array

#: A law with more constants for each row than this interpolates.
MOST_CONSTANTS = 0.5
#: Laws whose constants are refined under another loss than squares, which takes longer.
MOST_WITH_LOSS = 60
#: An error below this part of the spread of y may be rounding; the core's bits of an exact law.
NEARLY_EXACT = 1e-9
EXACT_BITS_PER_NODE, BITS_OF_DOUBLE, MOST_EXACT_BITS = 3.0, 52.0, 650.0
EXACT_DIGITS = 1e-9


def front(
    laws: Sequence[LawLike],
    equation: Callable[[Any], Equation],
    data: Training | None = None,
    everything: Training | None = None,
    until: float | None = None,
    admits: Callable[[LawLike], bool] = lambda _: True,
) -> list[FrontEntry]:
    """Return laws as front entries, simplest first, with converged constants.

    If the search has seen only some rows, exact laws must be exact on `everything` too. Laws that
    come after `until`, on the clock of `time.perf_counter`, keep the constants that the search gave
    them; one that cannot be fitted is left out with a warning.
    """
    if data is None:
        return [FrontEntry.of(law, equation) for law in laws]
    # Matrices are narrow: to start threads for them costs more than they save.
    with one_thread():
        found = _fitted(laws, data, everything, until, admits)
        if data.noise.absolute:
            data = replace(data, dispersion=dispersion(found, data))
    entries = [FrontEntry.of(law, equation, data) for law in found]
    return sorted(entries, key=lambda entry: (entry.complexity, entry.rmse))


def _fitted(
    laws: Sequence[LawLike],
    data: Training,
    everything: Training | None,
    until: float | None,
    admits: Callable[[LawLike], bool],
) -> list[LawLike]:
    """Return the laws with converged constants, the most promising ones first."""
    found: list[LawLike] = []
    most = max(MOST_CONSTANTS * len(data.y), 2.0)
    laws = [law for law in laws if law.exact or len(constants(law)) <= most]
    # Of laws without features only y = c is kept: g(y) = c is the same.
    laws = [
        law
        for law in laws
        if law.complexity <= CONSTANT_LAW
        or not all(is_constant(matrix, data.library) for matrix in law.phi)
    ]
    if not data.loss.is_squared:  # errors of the search are those of squares
        laws = [law if law.exact else with_loss(law, data) for law in laws]
    for k, law in enumerate(sorted(laws, key=lambda law: rough_length(law, data))):
        late = (found and is_late(until)) or (k >= MOST_WITH_LOSS and not data.loss.is_squared)
        try:
            fitted = law if late else _converged(law, data, everything, admits)
        except FAILURES as error:
            warnings.warn(f"a law was left out: {error}", RuntimeWarning, stacklevel=2)
            continue
        if math.isfinite(fitted.rmse):
            found.append(fitted)
    return found


def dispersion(laws: Sequence[LawLike], data: Training) -> float:
    """Return the least reduced chi-square of laws under given standard deviations, at least 1."""
    n_rows = len(data.y)
    freedoms = [(law, n_rows - len(constants(law))) for law in laws]
    reduced = [n_rows * law.rmse**2 * data.noise.precision / n for law, n in freedoms if n > 0]
    return max(min(reduced), 1.0) if reduced else 1.0


def _converged(
    law: LawLike, data: Training, everything: Training | None, admits: Callable[[LawLike], bool]
) -> LawLike:
    """Return a law with all its constants refined, and simplified; it may become exact."""
    if law.exact:
        plain = plainer(FittedLaw.of(law), data)
        if plain.complexity < law.complexity and admits(plain):
            plain = confirm(refine(plain, data), data)
            law = plain if plain.exact else law
        return _confirmed(law, everything) if everything is not None else law
    refined = refine(law, data)
    plain = plainer(refined, data)
    if plain is not refined and admits(plain):
        plain = refine(plain, data)
        refined = plain if plain.rmse <= refined.rmse * (1.0 + AS_GOOD) else refined
    if refined.rmse > NEARLY_EXACT * data.spread:
        return refined
    bits = EXACT_BITS_PER_NODE * refined.complexity
    for value in constants(refined).tolist():
        simple = simplest(value, EXACT_DIGITS * abs(value))
        bits += BITS_OF_DOUBLE if simple is None else simple.bits
    if bits >= MOST_EXACT_BITS:
        return refined
    exact = _confirmed(FittedLaw.of(refined, exact=True, bits=bits), everything or data)
    return exact if exact.exact else refined


def without_failures(entries: Sequence[FrontEntry]) -> list[FrontEntry]:
    """Return the entries whose equations can be made."""
    made = []
    for entry in entries:
        try:
            _ = entry.equation
        except FAILURES as error:
            warnings.warn(f"a law was left out: {error}", RuntimeWarning, stacklevel=3)
            continue
        made.append(entry)
    return made


def with_squared_error(entry: FrontEntry) -> FrontEntry:
    """Return an entry whose error is the root mean square, for any loss that it was chosen by."""
    if entry.data is None or entry.data.loss.is_squared or entry.exact:
        return entry
    return replace(entry, rmse=rmse(entry.law, replace(entry.data, loss=Loss())))


def finish(entry: FrontEntry, everything: Training, until: float | None = None) -> FrontEntry:
    """Return an entry whose constants are fitted on all rows; an exact one is so already.

    The fit is as good as it is when the time is up (`until`, on the clock of `time.perf_counter`).
    """
    if entry.exact:
        return entry
    start = refit(entry.law, everything) if everything.loss.is_squared else entry.law
    law = refine(start, everything, until=until)
    # A law that has no solution on some row keeps the constants of the rows that it has seen.
    fitted = law if math.isfinite(law.rmse) else FittedLaw.of(entry.law, rmse=law.rmse)
    return replace(entry.with_law(fitted), data=everything, bits=fitted.bits)


def _confirmed(law: LawLike, everything: Training) -> FittedLaw:
    """Return an exact law as it is on all rows; weights may have more digits to gain there."""
    fitted = refit(law, everything)
    if fitted.exact or not weights(law):
        return fitted
    refined = confirm(FittedLaw.of(refine(fitted, everything), exact=True), everything)
    return refined if refined.exact else fitted


# ---- errors of the features ----------------------------------------------------------------------

#: Points and constants are improved in turn at most so often, until no constant moves by this part.
ROUNDS = 60
SETTLED = 1e-9
#: Steps of the points towards the law in each round.
POINT_STEPS = 3
#: The variance of y is at least this part of what the errors of the features make of it.
LEAST_SHARE = 1e-4
BISECTIONS = 100


def with_errors_of_features(entry: FrontEntry) -> FrontEntry:
    """Return a law fitted again with the errors of the features, if its rows have such."""
    data = entry.data
    if data is None or data.x_sigma is None or entry.exact:
        return entry
    law, rows = fit_orthogonal(entry.law, data, refine)
    return replace(entry.with_law(law), data=rows)


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a law that are nearest to the rows."""

    X: Array  # their features
    residuals: Array  # distances of the measured y from the tangents there
    variance: Array  # the effective variance of the residuals
    solution: Array  # the law's y


def fit_orthogonal(
    law: LawLike, data: Training, refit: Callable[[FittedLaw, Training], FittedLaw]
) -> tuple[FittedLaw, Training]:
    """Fit the constants of a law to rows with errors in the features.

    The law has the error of y in the rows as they are. The rows that are returned are those that
    `refit` has fitted in the end: the points on the law, weighted by their effective variance.
    """
    assert data.x_sigma is not None, "the features have errors"
    best, rows = FittedLaw.of(law), data
    variance = _variance_of_y(best, data)
    for _ in range(ROUNDS):
        points = nearest_points(best, data, variance)
        if not data.noise.absolute:
            variance = _rescaled(points, variance, len(constants(best)))
            points = nearest_points(best, data, variance)
        rows = _rows(points, data)
        moved = refit(best, rows)
        if not math.isfinite(moved.rmse):
            break
        before, now = constants(best), constants(moved)
        best = moved
        if len(before) == len(now) and np.allclose(before, now, rtol=SETTLED, atol=0.0):
            break
    return FittedLaw.of(best, rmse=rmse(best, data)), rows


def nearest_points(law: LawLike, data: Training, variance: Array) -> Points:
    """Return the points of a law nearest to the rows, for given variances of y."""
    assert data.x_sigma is not None
    X = data.X
    for _ in range(POINT_STEPS):
        points, slopes = _tangents(law, data, X, variance)
        step = data.x_sigma**2 * slopes * (points.residuals / points.variance)[:, None]
        moved = data.X + np.where(np.isfinite(step), step, 0.0)
        defined = np.isfinite(TargetScale(law, data).solve(moved, data.y))
        X = np.where(defined[:, None], moved, data.X)
    return _tangents(law, data, X, variance)[0]


def _tangents(law: LawLike, data: Training, X: Array, variance: Array) -> tuple[Points, Array]:
    assert data.x_sigma is not None
    solution = TargetScale(law, data).solve(X, data.y)
    slopes = feature_slopes(law, data, X, solution)
    residuals = data.y - solution - (slopes * (data.X - X)).sum(axis=1)
    effective = variance + (slopes**2 * data.x_sigma**2).sum(axis=1)
    return Points(np.asfortranarray(X), residuals, effective, solution), slopes


def feature_slopes(law: LawLike, data: Training, X: Array, solution: Array) -> Array:
    """Return dy/dx at points of a law; zero for features without errors, and where undefined."""
    assert data.x_sigma is not None
    scale = TargetScale(law, data)
    slopes = np.zeros_like(X)
    with np.errstate(all="ignore"):
        rise = scale.slope(solution)
        for j in np.flatnonzero(data.x_sigma.any(axis=0)):
            step = STEP * np.maximum(np.abs(X[:, j]), np.std(data.X[:, j]))
            up, down = X.copy(), X.copy()
            up[:, j] += step
            down[:, j] -= step
            slopes[:, j] = (scale.f(up) - scale.f(down)) / (2.0 * step) / rise
    return np.where(np.isfinite(slopes), slopes, 0.0)


def _variance_of_y(law: LawLike, data: Training) -> Array:
    """Return the variances of y: as given, or those that residuals with exact features have."""
    weights = np.ones(len(data.y)) if data.weights is None else data.weights
    if data.noise.absolute:
        return np.asarray(1.0 / (weights * data.noise.precision))
    residuals = data.y - TargetScale(law, data).solve(data.X, data.y)
    square = float(np.average(residuals[np.isfinite(residuals)] ** 2))
    return np.asarray((square or 1.0) / weights)


def _rescaled(points: Points, variance: Array, n_constants: int) -> Array:
    """Return variances of y in the same proportions for which chi-square is its expectation."""
    from_features = points.variance - variance
    unit = variance / variance.mean()
    freedom = max(len(unit) - n_constants, 1)
    squares = points.residuals**2
    low = LEAST_SHARE * float(from_features.mean()) + float(np.finfo(float).tiny)
    high = max(float(squares.mean() / unit.min()) * len(unit) / freedom, 2.0 * low)
    for _ in range(BISECTIONS):
        middle = math.sqrt(low * high)
        if float((squares / (middle * unit + from_features)).sum()) > freedom:
            low = middle
        else:
            high = middle
    return np.asarray(high * unit)


def _rows(points: Points, data: Training) -> Training:
    """Return the points as rows to which an ordinary fit is the orthogonal one."""
    noise = given(np.sqrt(points.variance), points.solution)
    if not data.noise.absolute:
        noise = replace(noise, kind="effective", absolute=False)
    precision = 1.0 / points.variance
    mean = float(precision.mean())
    return replace(
        data,
        X=points.X,
        y=points.solution + points.residuals,
        weights=precision / mean,
        noise=replace(noise, precision=mean),
        x_sigma=None,
    )


# ---- fewer nodes ---------------------------------------------------------------------------------

#: How near to t a function that is linear at 0 must be, to be nothing else.
IDLE = 1e-15
#: Errors that differ by less are the same.
ROUNDING = 1e-9
#: Exponents that are written as such: 2, -1, 1/2, -3/2, 2/3 and the like.
SIMPLE_EXPONENT = re.compile(r"-?[1-9](/[23])?")


def tidied(entry: FrontEntry, data: Training) -> FrontEntry:
    """Return a law multiplied out and with its powers merged, if that is shorter and as good."""
    equation = _without_idle(entry, data)
    if equation is entry.equation and not _may_shrink(equation):
        return entry
    try:
        law = _multiplied_out(entry.law, equation)
    except GSRError:
        return entry  # the encoding has no room for a term
    fitted = refit(law, data) if entry.exact else FittedLaw.of(law, rmse=rmse(law, data))
    made = entry.make(fitted)
    as_good = fitted.exact if entry.exact else fitted.rmse <= entry.rmse * (1.0 + ROUNDING)
    if not as_good or made.complexity >= entry.complexity:
        return entry
    return entry.with_law(FittedLaw.of(fitted, complexity=made.complexity))


def with_simple_exponents(entry: FrontEntry, data: Training) -> FrontEntry | None:
    """Return a law of ln(y) whose exponents are near simple fractions as one for y.

    ln(y) = -0.998 ln(b + x) + c is y = C/(b + x) if the data agree; None if there is no such law.
    """
    law, library = entry.law, data.target_library
    if entry.exact or len(law.psi) != 1 or not _is_logarithm(law.psi[0], library):
        return None
    texts = entry.rounded.texts[: len(law.phi)]
    powers = [
        text
        for text, matrix in zip(texts, law.phi, strict=True)
        if _is_logarithm(matrix, data.library)
    ]
    if not any(text is not None and SIMPLE_EXPONENT.fullmatch(text) for text in powers):
        return None
    forms = entry.rounded_equation.explicit()
    try:
        solved = _parsed(with_rational_powers(forms[0]), entry.equation) if forms else None
    except FAILURES:
        return None  # the encoding has no room for it
    if solved is None:
        return None
    found = recounted(FittedLaw.of(law, **solved), data)
    refined = refine(found, data)
    return entry.with_law(refined) if math.isfinite(refined.rmse) else None


def _is_logarithm(matrix: AnyMatrix, library: Library) -> bool:
    product = factors(matrix, library)
    return len(product) == 1 and library.names[product[0].code] == "ln"


def _may_shrink(equation: Equation) -> bool:
    """Return whether a sum stands in brackets, or a feature in two factors of a term."""
    for matrix in equation.phi:
        powers: list[int] = []
        for row in factors(matrix, equation.library):
            name, argument = equation.library.names[row.code], row.argument
            is_sum = not argument.is_product and len(argument.parts) > 1
            if is_sum and name == "identity" and not row.reciprocal:
                return True
            if name in POWERS and not is_sum:
                powers += {part.base for part in argument.parts if isinstance(part.base, int)}
        if len(set(powers)) < len(powers):
            return True
    return False


def _without_idle(entry: FrontEntry, data: Training) -> Equation:
    """Return the equation without functions that do nothing: sin(t) is t where t is tiny."""
    library = data.library
    if "identity" not in library:
        return entry.equation
    changed = [[list(row) for row in matrix] for matrix in entry.law.phi]
    found = False
    for matrix, new in zip(entry.law.phi, changed, strict=True):
        for row in rows(matrix, library):
            if row is None or not library.traits[row.code].linear_at_zero:
                continue
            argument = values_of(row.argument, data.X, library)
            plain = Row(row.code, row.argument)
            if np.allclose(values_of(plain, data.X, library), argument, rtol=IDLE, atol=0.0):
                new[row.number][0] = library.code("identity") * (-1 if row.reciprocal else 1)
                found = True
    return entry.make(FittedLaw.of(entry.law, phi=tuple(changed))) if found else entry.equation


def _multiplied_out(law: LawLike, equation: Equation) -> FittedLaw:
    import sympy

    sides: Any = equation.sympy()
    found = _parsed(sympy.Eq(sides.lhs, sympy.expand(sides.rhs), evaluate=False), equation)
    return FittedLaw.of(law, phi=found["phi"], alpha=found["alpha"])


def _parsed(formula: Any, equation: Equation) -> dict[str, Any]:
    """Return both sides of a SymPy formula in the libraries of an equation."""
    from gsr.prior.written_formula import parse

    names = (equation.feature_names, equation.target_name)
    found = parse(formula, *names, equation.library, equation.target_library)[0]
    return {
        "psi": tuple(found.psi),
        "phi": tuple(found.phi),
        "beta": np.array(found.beta),
        "alpha": np.array(found.alpha),
    }
