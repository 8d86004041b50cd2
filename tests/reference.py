"""Plain NumPy forms of the core's inner steps.

The tests compare the core with them, and `python -m benchmarks.micro` compares its speed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr import _core
from gsr.encoding.fold import Values
from gsr.encoding.rows import PRODUCT, IntegerMatrix, factors
from gsr.library import Library

Array = npt.NDArray[np.float64]
Draw = Callable[[], IntegerMatrix]

#: A column that lies in the span of the earlier ones but for this part is dropped.
DEPENDENT = 1e-9
#: Columns whose fingerprints agree so far are equal up to a factor.
DUPLICATE = 1e-12
TRIES_PER_SLOT = 6


#: The built-in transformations as functions of (x, out).
FUNCTIONS: dict[str, Callable[[Array, Array], Any]] = {
    "one": lambda t, out: out.fill(1.0),
    "identity": lambda t, out: np.copyto(out, t),
    "inverse": np.reciprocal,
    "square": np.square,
    "cube": lambda t, out: np.multiply(np.multiply(t, t, out=out), t, out=out),
    "sqrt": np.sqrt,
    "cos": np.cos,
    "sin": np.sin,
    "tan": np.tan,
    "tanh": np.tanh,
    "exp": np.exp,
    "ln": lambda t, out: np.log(np.abs(t, out=out), out=out),
    "exp_neg": lambda t, out: np.exp(np.negative(t, out=out), out=out),
    "cbrt": np.cbrt,
    "abs": np.abs,
    "arctan": np.arctan,
}


# ---- Algorithm 1 as printed ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Printed:
    """What Algorithm 1 ends with: the unit vector w, its sparse copy z, and the dual u."""

    w: Array
    z: Array
    u: Array
    status: str
    iterations: int


def admm_printed(A: Array, settings: _core.AdmmSettings | None = None) -> Printed:
    """Solve min ||A w||^2 + lambda ||w||_1 with ||w|| = 1 by Algorithm 1 to the letter.

    Parameters
    ----------
    A : array of shape (N, M_phi + M_psi)
        The matrix [X, -Y].
    settings : AdmmSettings, optional
        The paper's hyper-parameters unless given.

    Returns
    -------
    Printed
    """
    s = settings or _core.AdmmSettings.printed()
    n = A.shape[1]
    inverse = np.linalg.inv(2.0 * A.T @ A + s.rho * np.eye(n))
    w, z, u = np.full(n, n**-0.5), np.ones(n), np.zeros(n)
    for k in range(1, s.max_iterations + 1):
        previous = w
        w = inverse @ (s.rho * (z - u))
        norm = np.linalg.norm(w)
        if not 0.0 < norm < np.inf:
            return Printed(w, z, u, "degenerate", k)
        w = w / norm
        z = soft_threshold(w + u, s.lam / s.rho)
        u = u + w - z
        if np.linalg.norm(w - previous) < s.delta:
            return Printed(w, z, u, "converged", k)
    return Printed(w, z, u, "max_iterations", s.max_iterations)


def soft_threshold(a: Array, kappa: float) -> Array:
    """Return S_kappa(a) (Equation 11)."""
    return np.maximum(a - kappa, 0.0) - np.maximum(-a - kappa, 0.0)


# ---- the well-posed form -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WellPosed:
    """Coefficients of a law, and how the solver came to its support.

    Parameters
    ----------
    alpha : array
        Of the constant and of each column of X; 0 outside the support.
    beta : array
        Of each column of Y, with ||Y beta|| = 1 for centred Y.
    z : array
        The lasso's coefficients of the columns of X, as scaled there.
    error : float
        Norm of the residual.
    """

    alpha: Array
    beta: Array
    z: Array
    error: float
    status: str
    iterations: int


def admm_well_posed(X: Array, Y: Array, settings: _core.AdmmSettings | None = None) -> WellPosed:
    """Solve min 1/2 ||X a - Y b||^2 + lambda ||a||_1 with ||Y b|| = 1, and refit the support.

    Parameters
    ----------
    X : array of shape (N, M_phi)
        Basis functions of the features; those that depend on earlier ones get coefficient 0.
    Y : array of shape (N, M_psi)
        Basis functions of the target.
    settings : AdmmSettings, optional
        The core's for this form unless given.

    Returns
    -------
    WellPosed
    """
    s = settings or _core.AdmmSettings.well_posed()
    kept = independent_columns(X)
    columns = X[:, kept] - X[:, kept].mean(axis=0)
    columns = columns / np.linalg.norm(columns, axis=0)
    targets, whitening = _orthonormal(Y - Y.mean(axis=0))
    z, status, iterations = _lasso(columns, targets, s)

    support = kept[z != 0.0]
    alpha, penalised = np.zeros(X.shape[1] + 1), np.zeros(X.shape[1])
    penalised[kept] = z
    basis = np.column_stack([np.ones(len(X)), X[:, support]])
    alpha[[0, *(support + 1)]], beta, error = _refit(basis, Y, whitening)
    return WellPosed(alpha, beta, penalised, error, status, iterations)


def independent_columns(X: Array) -> npt.NDArray[np.intp]:
    """Return which columns of X do not depend on the constant and the columns before them."""
    kept = list(range(X.shape[1]))
    while kept:
        columns = np.column_stack([np.ones(len(X)), X[:, kept]])
        left = np.zeros(columns.shape[1])
        diagonal = np.diagonal(np.linalg.qr(columns, mode="r"))
        left[: len(diagonal)] = np.abs(diagonal)
        dependent = np.flatnonzero(left <= DEPENDENT * np.linalg.norm(columns, axis=0))
        if not len(dependent):
            break
        del kept[dependent[0] - 1]
    return np.array(kept, dtype=np.intp)


def _orthonormal(Y: Array) -> tuple[Array, Array]:
    """Return Q and R with Y = QR and a positive diagonal of R."""
    q, r = np.linalg.qr(Y)
    signs = np.where(np.diagonal(r) < 0.0, -1.0, 1.0)
    return q * signs, r * signs[:, None]


def _lasso(X: Array, Y: Array, s: _core.AdmmSettings) -> tuple[Array, str, int]:
    n = X.shape[1]
    cross = X.T @ Y
    inverse = np.linalg.inv(X.T @ X + s.rho * np.eye(n))
    gain = inverse @ cross
    curvature, modes = np.linalg.eigh(np.eye(Y.shape[1]) - cross.T @ gain)
    b, w, z, u = np.ones(1), np.zeros(n), np.zeros(n), np.zeros(n)
    for k in range(1, s.max_iterations + 1):
        previous = w
        if Y.shape[1] > 1:
            b = modes @ _on_unit_sphere(curvature, modes.T @ (s.rho * gain.T @ (z - u)))
        w = inverse @ (cross @ b + s.rho * (z - u))
        w = s.relaxation * w + (1.0 - s.relaxation) * z
        z = soft_threshold(w + u, s.lam / s.rho)
        u = u + w - z
        if np.linalg.norm(w - previous) < s.delta:
            return z, "converged", k
    return z, "max_iterations", s.max_iterations


def _on_unit_sphere(curvature: Array, pull: Array) -> Array:
    """Minimise 1/2 b'Hb - h'b with ||b|| = 1 in the eigenbasis of H: (H + mu) b = h."""
    margin = 1e-14 * (1.0 + abs(curvature[0]))
    low = -curvature[0] + margin
    high = low + float(np.linalg.norm(pull))
    b: Array = pull / (curvature + low)
    if b @ b < 1.0:  # the hard case: what is missing goes along the lowest mode
        b[0] = np.sqrt(max(0.0, 1.0 - float(b[1:] @ b[1:])))
        return b
    for _ in range(60):
        middle = 0.5 * (low + high)
        b = pull / (curvature + middle)
        low, high = (middle, high) if b @ b > 1.0 else (low, middle)
    b /= np.linalg.norm(b)
    return b


def _refit(basis: Array, Y: Array, whitening: Array) -> tuple[Array, Array, float]:
    """Return alpha, beta and the error of the best fit with ||Y beta|| = 1 for centred Y."""
    scaled = np.linalg.solve(whitening.T, Y.T).T
    sizes = np.linalg.norm(basis, axis=0)  # columns of very different size would be cut off
    coefficients = np.linalg.lstsq(basis / sizes, scaled, rcond=None)[0] / sizes[:, None]
    _, errors, modes = np.linalg.svd(scaled - basis @ coefficients, full_matrices=False)
    b = modes[-1]
    beta = np.linalg.solve(whitening, b)
    sign = -1.0 if beta[0] < 0.0 else 1.0
    return sign * (coefficients @ b), sign * beta, float(errors[-1])


# ---- individuals ---------------------------------------------------------------------------------


def random_matrix(rng: random.Random, library: Library, n_features: int) -> IntegerMatrix:
    """Return a random basis matrix by the paper's rules (Section 3.3.2, Table 9)."""
    s = _core.Settings()
    rows = rng.randint(s.min_factors, s.max_factors)
    return [_random_row(rng, len(library), n_features, s) for _ in range(rows)]


def _random_row(rng: random.Random, size: int, n_features: int, s: _core.Settings) -> list[int]:
    n_v = rng.randint(s.min_multiplicity, s.max_multiplicity)
    first = [rng.randrange(size), rng.randrange(3), rng.randint(1, n_features)]
    return first + [rng.randint(0, n_features) for _ in range(n_v - 1)]


def evaluate_plain(matrix: IntegerMatrix, library: Library, X: Array) -> Array:
    """Return the values of a basis function that the paper could have, over the rows of X."""
    product = np.ones(len(X))
    values = np.empty(len(X))
    for code, kind, *variables in matrix:
        used = [X[:, v - 1] for v in (variables if kind else variables[:1]) if v]
        argument = used[0]
        for column in used[1:]:
            argument = argument * column if kind == PRODUCT else argument + column
        FUNCTIONS[library.names[code]](argument, values)
        product *= values
    return product


class NumPyValues(Values):
    """Evaluates rows by NumPy's functions instead of the core's."""

    def transformed(self, code: int, argument: Array) -> Array:
        """Return T(argument)."""
        assert self.library is not None
        out = np.empty(len(self.X))
        FUNCTIONS[self.library.names[code]](argument, out)
        return out


def evaluate(matrix: IntegerMatrix, library: Library, X: Array) -> Array:
    """Return the values of any basis function over the rows of X."""
    return NumPyValues(X, library).basis_function(factors(matrix, library))


def random_columns(library: Library, X: Array, count: int, draw: Draw) -> Array:
    """Return columns of random basis functions that are defined and differ on the data."""
    weights = _weights(len(X))
    columns: list[Array] = []
    prints: list[float] = []
    for _ in range(TRIES_PER_SLOT * count + 10):
        values = evaluate_plain(draw(), library, X)
        norm = float(np.linalg.norm(values))
        if not 0.0 < norm < np.inf or np.ptp(values) == 0.0:
            continue
        fingerprint = abs(float(values @ weights)) / norm
        if all(abs(fingerprint - other) > DUPLICATE for other in prints):
            columns.append(values)
            prints.append(fingerprint)
        if len(columns) == count:
            break
    return np.column_stack(columns)


@lru_cache(maxsize=8)
def _weights(n: int) -> Array:
    return np.random.default_rng(0).uniform(-0.5, 0.5, n)


def random_individual(
    rng: random.Random, library: Library, target_library: Library, X: Array, y: Array
) -> WellPosed:
    """Make a random individual, evaluate and solve it, as the search does."""
    s = _core.Settings()

    def phi() -> IntegerMatrix:
        return random_matrix(rng, library, X.shape[1])

    def psi() -> IntegerMatrix:
        return [[rng.randrange(len(target_library)), 0, 1]]

    with np.errstate(all="ignore"):
        columns = random_columns(library, X, s.n_phi, phi)
        targets = random_columns(target_library, y[:, None], s.n_psi, psi)
    return admm_well_posed(columns, targets, s.admm)
