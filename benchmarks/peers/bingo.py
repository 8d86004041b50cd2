"""bingo's search, for `python -m benchmarks.against`.

The settings are those that bingo hands to SRBench. Its C++ part is not in its package, so this is
its Python part.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.oracle import Oracle

Array = npt.NDArray[np.float64]

OPERATORS = ("+", "-", "*", "/", "sin", "cos", "exp", "log", "sqrt")
POPULATION, STACK = 500, 24
CROSSOVER, MUTATION = 0.3, 0.45
TOLERANCE = 1e-5


def search(X: Array, y: Array, seed: int, oracle: Oracle) -> None:
    """Let bingo search in one process until the oracle is satisfied or the time is up.

    Parameters
    ----------
    X, y : arrays
        Training rows.
    seed : int
        Of the global random states of Python and NumPy, which bingo draws from.
    oracle : Oracle
        Sees the best equation of every generation, with its constants fitted again.
    """
    random.seed(seed)
    np.random.seed(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        island = _island(X, y)
        best = np.inf
        while True:
            island.evolve(1)
            found = island.get_best_individual()
            if found.fitness < best:
                best = found.fitness
                with oracle.looking():
                    _look(found.copy(), X, y, oracle)
            if oracle.done:
                return


def _look(equation: Any, X: Array, y: Array, oracle: Oracle) -> None:
    from bingo.symbolic_regression.equation_regressor import EquationRegressor

    state = np.random.get_state()
    model = EquationRegressor(equation)
    model.fit(X, y[:, None])
    np.random.set_state(state)
    oracle.judge(model.predict(oracle.X).ravel(), str(equation))


def _island(X: Array, y: Array) -> Any:
    with _without_mpi():
        from bingo.evaluation.evaluation import Evaluation
        from bingo.evolutionary_algorithms.age_fitness import AgeFitnessEA
        from bingo.evolutionary_optimizers.island import Island
        from bingo.local_optimizers.local_opt_fitness import LocalOptFitnessFunction
        from bingo.local_optimizers.scipy_optimizer import ScipyOptimizer
        from bingo.symbolic_regression.agraph.component_generator import ComponentGenerator
        from bingo.symbolic_regression.agraph.crossover import AGraphCrossover
        from bingo.symbolic_regression.agraph.generator import AGraphGenerator
        from bingo.symbolic_regression.agraph.mutation import AGraphMutation
        from bingo.symbolic_regression.explicit_regression import (
            ExplicitRegression,
            ExplicitTrainingData,
        )

    parts = ComponentGenerator(X.shape[1])
    for operator in OPERATORS:
        parts.add_operator(operator)
    generate = AGraphGenerator(STACK, parts, use_python=True, use_simplification=True)
    error = ExplicitRegression(training_data=ExplicitTrainingData(X, y[:, None]), metric="mse")
    fitness = LocalOptFitnessFunction(error, ScipyOptimizer(error, method="lm", tol=TOLERANCE))
    algorithm = AgeFitnessEA(
        Evaluation(fitness),
        generate,
        AGraphCrossover(),
        AGraphMutation(parts),
        CROSSOVER,
        MUTATION,
        POPULATION,
    )
    return Island(algorithm, generate, POPULATION)


@contextmanager
def _without_mpi() -> Iterator[None]:
    """Hide mpi4py: bingo starts MPI when imported, and fails where there is no MPI library."""
    hidden = {name: None for name in ("mpi4py", "mpi4py.MPI")}
    kept = {name: sys.modules[name] for name in hidden if name in sys.modules}
    sys.modules.update(hidden)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
        sys.modules.update(kept)
