"""FFX, for `python -m benchmarks.against`.

FFX has no operator set and no clock of its own: it fits elastic nets over its own bases
(variables, hinges, absolute values, logarithms, products of two, quotients of sums) and stops at
a training error of 1 %. It is deterministic. Its ways of combining bases are tried one by one, in
its order, until the time is up.
"""

from __future__ import annotations

import io
import itertools
import signal
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.oracle import Oracle

Array = npt.NDArray[np.float64]

#: FFX leaves combinations of more kinds of bases out.
MAX_KINDS = 3


def search(X: Array, y: Array, seed: int, oracle: Oracle) -> None:
    """Let FFX build its models until the oracle is satisfied or the time is up.

    Parameters
    ----------
    X, y : arrays
        Training rows.
    seed : int
        Not used.
    oracle : Oracle
        Sees every model of every path, from simple to complex.
    """
    for approach in _approaches():
        models = _models(X, y, approach)
        with oracle.looking():
            for model in models:
                oracle.judge(model.predict(oracle.X), str(model))
        if oracle.done:
            return


def _approaches() -> Iterator[Any]:
    """Yield what FFX tries: products always, powers never beside them."""
    from ffx.core import Approach

    for quotients, functions, hinges in itertools.product((0, 1), repeat=3):
        approach = Approach(1, quotients, 0, functions, hinges)
        if approach.num_feature_types <= MAX_KINDS:
            yield approach


def _models(X: Array, y: Array, approach: Any) -> list[Any]:
    from ffx.core import FFXBuildStrategy, FFXModelFactory

    names = [f"X{k + 1}" for k in range(X.shape[1])]
    try:
        with redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(FFXModelFactory().build(X, y, FFXBuildStrategy(approach), names))
    except SystemExit as end:  # what FFX does with a table that its regression refuses
        raise RuntimeError("FFX gave up") from end
    finally:
        if hasattr(signal, "alarm"):
            signal.alarm(0)  # FFX leaves its alarm set when a regression fails
