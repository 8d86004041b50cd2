"""One benchmark problem: the true expression, its data and the library to search with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gsr.benchmarks.suites.sampling import Array, Sampling
from gsr.formula import expression

REDRAWS = 1000


@dataclass(frozen=True)
class Problem:
    """A benchmark problem.

    Parameters
    ----------
    suite : str
        One of `gsr.benchmarks.suites.ALL_SUITES`.
    name : str
        Its name, such as ``Nguyen-12*``.
    expression : str
        The true y as SymPy text with exact rationals, in the features x1..xd.
    variables : tuple of str
        The features' names, in the order of the columns.
    sampling : Sampling
        Where the training rows lie.
    library, target_library : tuple of str
        Transformations that the paper allows on x and on y; empty for the estimator's own.
    n_psi : int
        Number of basis functions of y.
    note : str
        Where the problem departs from its source, or where the source leaves a choice.
    test_sampling : Sampling or None
        Where the test rows lie if not where the training rows do.
    provable : bool
        Whether its constants are exact numbers, so that a law can be proved equal to it.
    """

    suite: str
    name: str
    expression: str
    variables: tuple[str, ...]
    sampling: Sampling
    library: tuple[str, ...]
    target_library: tuple[str, ...]
    n_psi: int = 1
    note: str = ""
    test_sampling: Sampling | None = None
    provable: bool = True

    def train(self, seed: int = 0, noise: float = 0.0) -> tuple[Array, Array]:
        """Return the training rows X and targets y of one independent run.

        Parameters
        ----------
        seed : int
            Number of the run.
        noise : float
            Standard deviation of the Gaussian noise in y, as a fraction of its root mean square.
        """
        X, y = self._data(self.sampling, self.generator(seed, "train"))
        if noise:
            size = noise * np.sqrt(np.mean(y**2))
            y = y + size * self.generator(seed, "noise").standard_normal(len(y))
        return X, y

    def test(self, seed: int = 0) -> tuple[Array, Array]:
        """Return the test rows X and targets y, drawn independently of the training rows."""
        return self._data(self.test_sampling or self.sampling, self.generator(seed, "test"))

    def values(self, X: Array) -> Array:
        """Return the true y, NaN or infinite where it is undefined."""
        with np.errstate(all="ignore"):
            y = _numeric(self.expression, self.variables)(*X.T)
        return np.asarray(y, dtype=np.float64)

    def truth(self, **assumptions: bool) -> Any:
        """Return the true y as a SymPy expression whose symbols carry `assumptions`."""
        import sympy

        symbols = {name: sympy.Symbol(name, **assumptions) for name in self.variables}
        return expression(self.expression, symbols)

    def generator(self, seed: int, purpose: str) -> np.random.Generator:
        """Return a random stream of its own for every problem, seed and purpose."""
        key = int.from_bytes(f"{self.name}/{purpose}".encode(), "big")
        return np.random.default_rng(np.random.SeedSequence([key, seed]))

    def _data(self, sampling: Sampling, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw rows; those where the truth is undefined are drawn again."""
        X = sampling.points(len(self.variables), rng)
        y = self.values(X)
        for _ in range(REDRAWS):
            undefined = ~np.isfinite(y)
            if not undefined.any():
                return X, y
            X[undefined] = sampling.points(len(self.variables), rng)[undefined]
            y = self.values(X)
        raise ValueError(f"{self.name}: the truth is undefined at some rows of {sampling}")


@cache
def _numeric(text: str, variables: tuple[str, ...]) -> Callable[..., Any]:
    import sympy

    symbols = sympy.symbols(variables)
    truth = expression(text, dict(zip(variables, symbols, strict=True)))
    function: Callable[..., Any] = sympy.lambdify(
        symbols, truth, modules=[{"harmonic": _harmonic}, "numpy"]
    )
    return function


def _harmonic(x: Array) -> Array:
    """Sum 1/k for k = 1..x at whole numbers x."""
    whole = np.rint(x).astype(np.intp)
    sums: Array = np.cumsum(1.0 / np.arange(1, whole.max() + 1))
    return sums[whole - 1]
