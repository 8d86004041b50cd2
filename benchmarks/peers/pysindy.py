"""PySINDy, for `python -m benchmarks.against`.

PySINDy is made for x' = f(x): y takes the place of the derivative here. It fits what its library
of functions spans and nothing else. A user chooses library and threshold; here they are tried from
small to large, and the oracle sees every fit.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.oracle import Oracle

Array = npt.NDArray[np.float64]

DEGREES = (1, 2, 3, 4, 5, 6)
#: Harmonics of the Fourier library; none is no such library.
HARMONICS = (0, 1, 2)
THRESHOLDS = (0.5, 0.1, 0.02, 1e-3)
#: Ridge of the sparse regression. PySINDy's default, 0.05, drowns small tables.
RIDGE = 1e-8


def search(X: Array, y: Array, seed: int, oracle: Oracle) -> None:
    """Let PySINDy fit library after library until the oracle is satisfied or the time is up.

    Parameters
    ----------
    X, y : arrays
        Training rows.
    seed : int
        Not used.
    oracle : Oracle
        Sees every fit.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for library in _libraries(positive=bool(X.min() > 0)):
            for threshold in THRESHOLDS:
                _fit(library, threshold, X, y, oracle)
                if oracle.done:
                    return


def _libraries(positive: bool) -> Iterator[Any]:
    """Yield polynomials and sines of each variable, without and with exp, ln and sqrt of it."""
    from pysindy import CustomLibrary, FourierLibrary, PolynomialLibrary

    functions = [_exp, _ln, _sqrt] if positive else [_exp]
    names = [lambda x: f"exp({x})", lambda x: f"ln({x})", lambda x: f"sqrt({x})"]
    for degree, harmonics, more in itertools.product(DEGREES, HARMONICS, (False, True)):
        library = PolynomialLibrary(degree=degree)
        if harmonics:
            library = library + FourierLibrary(n_frequencies=harmonics)
        if more:
            library = library + CustomLibrary(functions, names[: len(functions)])
        yield library


def _exp(x: Array) -> Any:
    return np.exp(x)


def _ln(x: Array) -> Any:
    return np.log(x)


def _sqrt(x: Array) -> Any:
    return np.sqrt(x)


def _fit(library: Any, threshold: float, X: Array, y: Array, oracle: Oracle) -> None:
    from pysindy import STLSQ, SINDy

    model = SINDy(optimizer=STLSQ(threshold=threshold, alpha=RIDGE), feature_library=library)
    model.fit(X, t=1.0, x_dot=y[:, None], feature_names=[f"X{k + 1}" for k in range(X.shape[1])])
    with oracle.looking():
        oracle.judge(np.asarray(model.predict(oracle.X)).ravel(), model.equations(6)[0])
