"""One benchmark problem: the true expression, its data and the library to search with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gsr.benchmarks.suites.formulas import compiled
from gsr.benchmarks.suites.sampling import Array, Sampling
from gsr.formula import expression

REDRAWS = 1000


def stream(name: str, purpose: str, seed: int) -> np.random.Generator:
    """Return a random stream of its own for every problem, purpose and seed."""
    key = int.from_bytes(f"{name}/{purpose}".encode(), "big")
    return np.random.default_rng(np.random.SeedSequence([key, seed]))


@dataclass(frozen=True)
class Problem:
    """A benchmark problem."""

    suite: str
    name: str
    #: The true y as SymPy text in the features x1..xd.
    expression: str
    variables: tuple[str, ...]
    #: Where the training rows lie.
    sampling: Sampling
    #: Transformations that the paper allows on x and on y; empty for the estimator's own.
    library: tuple[str, ...] = ()
    target_library: tuple[str, ...] = ()
    #: Number of basis functions of y.
    n_psi: int = 1
    #: Where the problem departs from its source, or where the source leaves a choice.
    note: str = ""
    #: Where the test rows lie if not where the training rows do.
    test_sampling: Sampling | None = None
    #: Whether its constants are exact numbers, so that a law can be proved equal to it.
    provable: bool = True

    def train(self, seed: int = 0, noise: float = 0.0) -> tuple[Array, Array]:
        """Return the training rows X and targets y of one independent run."""
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
            y = compiled(self.expression, self.variables)(*X.T)
        return np.asarray(y, dtype=np.float64)

    def truth(self, **assumptions: bool) -> Any:
        """Return the true y as a SymPy expression whose symbols carry `assumptions`."""
        import sympy

        symbols = {name: sympy.Symbol(name, **assumptions) for name in self.variables}
        return expression(self.expression, symbols)

    def generator(self, seed: int, purpose: str) -> np.random.Generator:
        """Return a random stream of its own for every problem, seed and purpose."""
        return stream(self.name, purpose, seed)

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


@dataclass(frozen=True)
class SwappedProblem(Problem):
    """A law solved for another variable: its output is a feature, one of its inputs the target."""

    #: The law's own variables, of which the rows are drawn.
    inputs: tuple[str, ...] = ()
    #: The one that becomes the target.
    target: str = ""

    def _data(self, sampling: Sampling, rng: np.random.Generator) -> tuple[Array, Array]:
        drawn = Problem(self.suite, self.name, self.expression, self.inputs, sampling)
        inputs, output = drawn._data(sampling, rng)
        place = self.inputs.index(self.target)
        return np.column_stack([np.delete(inputs, place, axis=1), output]), inputs[:, place]
