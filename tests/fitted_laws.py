"""Laws with constants, rows for them, and their front, as tests of the selection need them."""

import numpy as np

from gsr import selection
from gsr.encoding import complexity, encode, encode_target, evaluate
from gsr.equation import Equation
from gsr.library import PRESETS
from gsr.selection.fitted import FittedLaw, Training

LIBRARY = PRESETS["all"]
ONE = [[0, 0, 0]]
X1, SQUARE, CUBE, INVERSE = [[1, 0, 1]], [[3, 0, 1]], [[4, 0, 1]], [[2, 0, 1]]


def law(phi, alpha, psi=([[1]],), beta=(1.0,), exact=True):
    return FittedLaw(
        tuple(phi),
        tuple(psi),
        np.array(alpha, float),
        np.array(beta, float),
        9,
        1.0,
        1.0,
        exact,
        30.0,
    )


def training(X, y):
    return Training(LIBRARY, LIBRARY, X, y)


def root_law(n, seed=0):
    """y = sqrt(x1^3 + 2 x2 + 1), and its law for y^2 with coefficients that are off."""
    X = np.random.default_rng(seed).uniform(0, 2, (n, 2))
    y = np.sqrt(X[:, 0] ** 3 + 2 * X[:, 1] + 1)
    found = law([[[4, 0, 1]], [[1, 0, 2]], ONE], [1.1, 1.9, 0.7], [[[3]]])
    return found, training(X, y)


def plain_law(texts, X, y, weights=None):
    """Return y = sum alpha phi + c fitted by least squares, with its rows."""
    d = X.shape[1]
    phi = [*(encode(text, LIBRARY, d) for text in texts), [[0] + [0] * (d + 1)]]
    columns = evaluate(phi, LIBRARY, X)
    root = np.ones(len(y)) if weights is None else np.sqrt(weights)
    sizes = np.linalg.norm(columns, axis=0)
    alpha = np.linalg.lstsq(columns / sizes * root[:, None], y * root, rcond=None)[0] / sizes
    found = FittedLaw(
        tuple(phi), (encode_target("y", LIBRARY),), alpha, np.ones(1), 9, 1.0, 1.0, False, 0.0
    )
    return found, Training(LIBRARY, LIBRARY, X, y, weights)


def noisy_exponential(n=200, noise=0.1, seed=0):
    """exp(y) = 1 + 2 x, with noise in y, which biases a fit of exp(y)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 20, (n, 1))
    y = np.log(1 + 2 * X[:, 0]) + noise * rng.standard_normal(n)
    return law([ONE, [[1, 0, 1]]], [1.0, 2.0], [[[10]]], exact=False), training(X, y)


def equation_for(data):
    def equation(found):
        return Equation.from_data(
            data.library, data.target_library, found.psi, found.beta, found.phi, found.alpha,
            data.X, data.y,
        )  # fmt: skip

    return equation


def fitted(phi, data):
    """Return y = sum alpha phi, fitted."""
    columns = evaluate(phi, LIBRARY, data.X)
    sizes = np.linalg.norm(columns, axis=0)
    alpha = np.linalg.lstsq(columns / sizes, data.y, rcond=None)[0] / sizes
    nodes = 1 + sum(2 if m == ONE else 3 + complexity(m, LIBRARY, data.X.shape[1]) for m in phi)
    left = data.y - columns @ alpha
    return FittedLaw.of(
        law(phi, alpha, exact=False), complexity=nodes, rmse=float(np.sqrt(np.mean(left**2)))
    )


def front(phis, data):
    return selection.front([fitted(phi, data) for phi in phis], equation_for(data), data)


def sample(function, n=20, low=-1.0, high=1.0, noise=0.01, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(low, high, (n, 1))
    y = function(X[:, 0])
    return training(X, y + noise * np.sqrt(np.mean(y**2)) * rng.standard_normal(n))
