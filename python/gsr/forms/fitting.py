"""Parts of a form as smooth curves or as formulas, fitted together by least squares."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gsr.forms.reading import Form, Part, column
from gsr.lazy import sympy
from gsr.prior.formula_terms import exact
from gsr.transformation import Array

#: Number of Gaussians in a smooth part, in addition to a polynomial, and their ridge penalty.
CENTRES, RIDGE = 25, 1e-3
#: Random starts with polynomials, and how many of them are continued.
STARTS, FOLLOWED = 16, 3
#: Residuals where the form is undefined, in units of the spread of y.
WORST = 1e3
STEPS = 60
#: Directions with smaller relative singular values are not determined by the rows.
RANK = 1e-6


@dataclass(frozen=True, eq=False)
class Curve:
    """A smooth part: polynomials and Gaussians of its columns, scaled to about 1."""

    part: Part
    basis: Array
    #: Ridge of each coefficient.
    penalty: Array

    @classmethod
    def of(cls, part: Part, X: Array, n_centres: int) -> Curve:
        """Return the functions at the rows."""
        columns = X[:, list(part.columns)]
        spread = columns.std(axis=0)
        scaled = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        d = scaled.shape[1]
        pairs = [scaled[:, i] * scaled[:, j] for i in range(d) for j in range(i, d)]
        plain = np.column_stack([np.ones(len(X)), scaled, *pairs])
        chosen = np.random.default_rng(0).permutation(len(X))[:n_centres]
        squares = ((scaled[:, None, :] - scaled[None, chosen, :]) ** 2).sum(axis=2)
        bumps = np.exp(-0.5 * squares / (0.6 * d) ** 2) if n_centres else squares
        penalty = np.concatenate([np.full(plain.shape[1], 1e-6), np.full(bumps.shape[1], RIDGE)])
        return cls(part, np.column_stack([plain, bumps]), penalty)


@dataclass(frozen=True, eq=False)
class Formula:
    """A part as a formula, with symbols for its constants and their values."""

    part: Part
    expression: Any
    symbols: tuple[Any, ...]
    values: Array

    @classmethod
    def of(cls, part: Part, expression: Any) -> Formula:
        """Return an expression in x1, x2, ... with its fitted numbers as constants."""
        numbers: list[tuple[Any, float]] = []

        def freed(each: Any) -> Any:
            if each.is_Float:
                symbol = sympy.Symbol(f"{part.name}_c{len(numbers) + 1}", real=True)
                numbers.append((symbol, float(each)))
                return symbol
            if each.is_Pow and each.exp.is_Float and exact(each.exp):
                return freed(each.base) ** exact(each.exp)
            return each.func(*map(freed, each.args)) if each.args else each

        template = freed(expression)
        symbols = tuple(symbol for symbol, _ in numbers)
        return cls(part, template, symbols, np.array([value for _, value in numbers]))


Pieces = Mapping[str, "Curve | Formula"]


class Model:
    """A form whose parts are curves or formulas, as a function of all their constants."""

    def __init__(self, form: Form, pieces: Pieces, X: Array, y: Array, weights: Array) -> None:
        self.form, self.pieces, self.X, self.y = form, dict(pieces), X, y
        self.roots, self.spread = np.sqrt(weights), float(np.std(y)) or 1.0
        self.columns = [column(k) for k in range(X.shape[1])]
        sizes = [len(form.constants), *(self._size(each) for each in self.pieces.values())]
        ends = np.cumsum(sizes)
        self.size = int(ends[-1])
        self.blocks = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    @staticmethod
    def _size(piece: Curve | Formula) -> int:
        return piece.basis.shape[1] if isinstance(piece, Curve) else len(piece.symbols)

    @cached_property
    def _evaluate(self) -> Callable[..., Any]:
        """The form and its slopes by its parts and constants."""
        of = self.form
        symbols = [*(part.symbol for part in of.parts), *of.constants]
        slopes = [sympy.diff(of.expression, each) for each in symbols]
        return numeric([*self.columns, *symbols], [of.expression, *slopes])

    @cached_property
    def _formulas(self) -> dict[str, Callable[..., Any]]:
        """Formulas and their slopes by their constants."""
        return {
            name: numeric(
                [*self.columns, *each.symbols],
                [each.expression, *(sympy.diff(each.expression, s) for s in each.symbols)],
            )
            for name, each in self.pieces.items()
            if isinstance(each, Formula)
        }

    def parts(self, theta: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the values of each part, and their slopes by its constants."""
        values, slopes = {}, {}
        for (name, piece), block in zip(self.pieces.items(), self.blocks[1:], strict=True):
            if isinstance(piece, Curve):
                values[name], slopes[name] = piece.basis @ theta[block], piece.basis
            else:
                found = table(self._formulas[name](*self.X.T, *theta[block]), len(self.X))
                values[name], slopes[name] = found[:, 0], found[:, 1:]
        return values, slopes

    def form_values(self, theta: Array, values: Mapping[str, Array]) -> Array:
        """Return the form, and its slopes by its parts and by its constants, one column each."""
        inside = [values[part.name] for part in self.form.parts]
        return table(self._evaluate(*self.X.T, *inside, *theta[self.blocks[0]]), len(self.X))

    def linearise(self, theta: Array) -> tuple[Array, Array] | None:
        """Return weighted residuals, including those of the ridge penalty, and their Jacobian."""
        values, slopes = self.parts(theta)
        found = self.form_values(theta, values)
        n_parts = len(self.form.parts)
        jacobian = np.empty((len(self.y), self.size))
        jacobian[:, self.blocks[0]] = found[:, 1 + n_parts :]
        place = {part.name: k for k, part in enumerate(self.form.parts)}
        for name, block in zip(self.pieces, self.blocks[1:], strict=True):
            jacobian[:, block] = found[:, [1 + place[name]]] * slopes[name]
        left = (self.y - found[:, 0]) * self.roots / self.spread
        jacobian *= self.roots[:, None] / self.spread
        if not (np.isfinite(left).all() and np.isfinite(jacobian).all()):
            return None
        ridge = np.sqrt(self._penalty)
        rows = ridge > 0
        return (
            np.concatenate([left, -(ridge * theta)[rows]]),
            np.vstack([jacobian, np.diag(ridge)[rows]]),
        )

    @cached_property
    def _penalty(self) -> Array:
        found = np.zeros(self.size)
        for piece, block in zip(self.pieces.values(), self.blocks[1:], strict=True):
            if isinstance(piece, Curve):
                found[block] = piece.penalty
        return found

    def rank(self, theta: Array) -> int:
        """Return how many constants the rows determine; a constant that two parts share is one."""
        known = self.linearise(theta)
        if known is None:
            return self.size
        norms = np.linalg.norm(known[1], axis=0)
        return int(np.linalg.matrix_rank(known[1] / np.where(norms > 0, norms, 1.0), RANK))

    def rmse(self, theta: Array) -> float:
        """Return the weighted root mean square of the residuals."""
        left = (self.y - self.form_values(theta, self.parts(theta)[0])[:, 0]) * self.roots
        error = float(np.sqrt(np.mean(left**2)))
        return error if math.isfinite(error) else math.inf

    def fit(self, theta: Array, until: float | None = None) -> Array:
        """Minimise the sum of squares by the Levenberg-Marquardt method."""
        with np.errstate(all="ignore"):
            return self._fit(theta, until)

    def _fit(self, theta: Array, until: float | None) -> Array:
        known, damping = self.linearise(theta), 1e-3
        for _ in range(STEPS if known is not None and self.size else 0):
            if until is not None and time.perf_counter() > until:
                break
            left, jacobian = known  # type: ignore[misc]
            norms = np.linalg.norm(jacobian, axis=0)
            norms = np.where(norms > 0, norms, 1.0)
            matrix = np.vstack([jacobian / norms, math.sqrt(damping) * np.eye(self.size)])
            target = np.concatenate([left, np.zeros(self.size)])
            step = np.linalg.lstsq(matrix, target, rcond=1e-12)[0] / norms
            moved = self.linearise(theta + step)
            error = float(left @ left)
            if moved is None or not float(moved[0] @ moved[0]) < error:
                damping *= 10.0
                if damping > 1e8:
                    break
                continue
            gained = 1.0 - float(moved[0] @ moved[0]) / error
            theta, known, damping = theta + step, moved, max(damping / 10.0, 1e-12)
            if gained < 1e-7:
                break
        return theta

    def objective(self, theta: Array) -> float:
        """Return the sum of squares with the ridge; infinite where the form is undefined."""
        with np.errstate(all="ignore"):
            known = self.linearise(theta)
        return math.inf if known is None else float(known[0] @ known[0])

    def working(self, theta: Array, name: str) -> tuple[Array, Array, Array]:
        """Return the target of a part given the others, the weights of the rows, and its values.

        To first order in the residuals; rows in which the form does not depend on the part have
        no weight.
        """
        values, _ = self.parts(theta)
        found = self.form_values(theta, values)
        place = [part.name for part in self.form.parts].index(name)
        slope, left = found[:, 1 + place], self.y - found[:, 0]
        typical = float(np.median(np.abs(slope))) or 1.0
        # A step back to the data must stay where the first-order approximation is valid.
        fine = np.abs(slope) > 1e-2 * typical
        safe = np.where(fine, slope, 1.0)
        weights = np.where(fine, (slope * self.roots) ** 2, 0.0)
        return values[name] + np.where(fine, left / safe, 0.0), weights, values[name]


def numeric(symbols: Any, forms: Any) -> Callable[..., Any]:
    """Return expressions as one function of arrays."""
    own = {"DiracDelta": np.zeros_like}  # the slope of a sign is 0 but for one point
    found: Callable[..., Any] = sympy.lambdify(symbols, forms, [own, "numpy"], cse=True)
    return found


def table(values: Any, n_rows: int) -> Array:
    """Return the values of a function of `numeric` as columns."""
    columns = [np.broadcast_to(np.asarray(each, dtype=float), n_rows) for each in values]
    return np.stack(columns, axis=1)


def smooth(model_of: Callable[[int], Model], seed: int, until: float | None) -> tuple[Model, Array]:
    """Return the form with curves as parts, fitted from several starts, and the constants."""
    coarse = model_of(0)
    fits = []
    for start in _starts(coarse, seed):
        fits.append((coarse.fit(start, until), start))
        if until is not None and time.perf_counter() > until:
            break
    order = sorted((theta for theta, _ in fits), key=coarse.objective)
    fine = model_of(CENTRES)
    found = [fine.fit(_extended(coarse, fine, theta), until) for theta in order[:FOLLOWED]]
    return fine, min(found, key=fine.objective)


def _starts(model: Model, seed: int) -> Iterator[Array]:
    """Yield constants: parts that are about 1, then random ones."""
    rng = np.random.default_rng(seed)
    for k in range(STARTS):
        theta = np.zeros(model.size)
        theta[model.blocks[0]] = (
            1.0 if k % 2 == 0 else np.exp(rng.normal(size=len(theta[model.blocks[0]])))
        )
        for block in model.blocks[1:]:
            width = block.stop - block.start
            theta[block] = 0.3 * rng.normal(size=width)
            theta[block.start] = [1.0, 2.0, 0.0, 5.0][k % 4]
        yield theta


def _extended(coarse: Model, fine: Model, theta: Array) -> Array:
    """Return the constants of polynomials, with Gaussians of height 0."""
    found = np.zeros(fine.size)
    for before, after in zip(coarse.blocks, fine.blocks, strict=True):
        found[after.start : after.start + before.stop - before.start] = theta[before]
    return found
