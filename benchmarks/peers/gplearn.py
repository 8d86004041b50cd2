"""gplearn's search, for `python -m benchmarks.against`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.oracle import Oracle

Array = npt.NDArray[np.float64]

POPULATION = 1000
#: exp and square are finite up to here; gplearn asks for closed functions.
LARGEST = 1e6


def search(X: Array, y: Array, seed: int, oracle: Oracle) -> None:
    """Let gplearn search on one thread until the oracle is satisfied or the time is up.

    Parameters
    ----------
    X, y : arrays
        Training rows.
    seed : int
        Of gplearn's random state.
    oracle : Oracle
        Sees the best program of every generation.
    """
    model = _regressor(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while not oracle.done:
            model.set_params(generations=model.generations + 1)
            model.fit(X, y)
            with oracle.looking():
                oracle.judge(model.predict(oracle.X), str(model._program))


def _regressor(seed: int) -> Any:
    from gplearn.functions import make_function
    from gplearn.genetic import SymbolicRegressor

    own = [
        make_function(function=_exp, name="exp", arity=1, wrap=False),
        make_function(function=_square, name="square", arity=1, wrap=False),
    ]
    return SymbolicRegressor(
        population_size=POPULATION,
        generations=0,
        function_set=("add", "sub", "mul", "div", "sin", "cos", "log", "sqrt", *own),
        metric="rmse",
        const_range=(-5.0, 5.0),
        parsimony_coefficient=1e-4,
        stopping_criteria=0.0,
        warm_start=True,
        n_jobs=1,
        random_state=seed,
    )


def _exp(t: Array) -> Array:
    return np.asarray(np.exp(np.minimum(t, np.log(LARGEST))))


def _square(t: Array) -> Array:
    return np.asarray(np.clip(t, -np.sqrt(LARGEST), np.sqrt(LARGEST)) ** 2)
