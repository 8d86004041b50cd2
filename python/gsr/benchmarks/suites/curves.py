"""Standard curves of science with constants inside, and the kinds of measurement error.

The judge of a fitted law needs the noise-free family only, so a curve is its formula, the values
of its constants, and where its rows lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gsr.benchmarks.suites.problem import Array, compiled, rows_of, stream
from gsr.exceptions import suggestion

#: Kinds of measurement error, as `Curve.train` explains them.
ERRORS = ("none", "constant", "relative", "sigma")
#: Standard deviation of constant errors, relative to the standard deviation of y.
CONSTANT = 0.02
#: Standard deviation of relative errors, relative to |y|.
RELATIVE = 0.05
#: The errors of kind ``sigma`` are smaller or larger than constant ones by up to this factor.
SIGMA_FACTOR = 3.0
#: How far outside of the training rows the family is compared, relative to the range.
MARGIN = 0.15
#: A positive feature goes down to its least value divided by this, where poles may be near.
LOWEST = 1.25


@dataclass(frozen=True)
class Feature:
    """Where the values of a feature lie."""

    name: str
    low: float
    high: float
    #: linspace, geomspace: even steps, also of the logarithm; uniform, loguniform: drawn at random.
    rule: str = "linspace"

    @property
    def is_logarithmic(self) -> bool:
        """Whether values are even in the logarithm."""
        return self.rule in ("geomspace", "loguniform")

    def values(self, n: int, rng: np.random.Generator) -> Array:
        """Return n values by the rule."""
        if self.rule in ("linspace", "geomspace"):
            return self._scaled(np.linspace(0.0, 1.0, n))
        return self.drawn(n, rng)

    def drawn(self, n: int, rng: np.random.Generator, margin: float = 0.0) -> Array:
        """Return n random values in the range widened by a margin; signs do not change."""
        found = self._scaled(rng.uniform(-margin, 1.0 + margin, n))
        least = self.low / LOWEST if self.low >= 0 else -np.inf
        return np.where(found >= least, found, self._scaled(rng.uniform(0.0, 1.0, n)))

    def _scaled(self, part: Array) -> Array:
        if self.is_logarithmic:
            return np.asarray(self.low * (self.high / self.low) ** part)
        return np.asarray(self.low + (self.high - self.low) * part)


def box(names: Sequence[str], X: Array) -> tuple[Feature, ...]:
    """Return features that lie where given columns do; wide positive ranges are logarithmic."""
    features = []
    for name, values in zip(names, X.T, strict=True):
        low, high = float(values.min()), float(values.max())
        wide = low > 0 and high > 10 * low
        features.append(Feature(name, low, high, "loguniform" if wide else "uniform"))
    return tuple(features)


class Sample(NamedTuple):
    """Rows of a curve; `sigma` holds the standard deviations passed to the fit, if any."""

    X: Array
    y: Array
    sigma: Array | None


@dataclass(frozen=True)
class Curve:
    """A law with named constants."""

    name: str
    #: The right side of y = ..., as SymPy text in the features and the constants.
    formula: str
    #: Values of the constants; as many as can be told from y.
    constants: Mapping[str, float]
    #: In the order of the columns.
    features: tuple[Feature, ...]
    #: Training rows.
    n_rows: int

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature.name for feature in self.features)

    @property
    def n_constants(self) -> int:
        """How many constants a law of this family needs."""
        return len(self.constants)

    def values(self, X: Array, constants: Mapping[str, float] | None = None) -> Array:
        """Return the true y, with other constants if they are given."""
        function = compiled(self.formula, (*self.variables, *self.constants), real=True)
        with np.errstate(all="ignore"):
            y = function(*X.T, *(constants or self.constants).values())
        return np.asarray(np.broadcast_to(y, (len(X),)), dtype=np.float64)

    def train(self, seed: int = 0, errors: str = "none") -> Sample:
        """Return the training rows of one run, with errors of a kind.

        ``constant``: Gaussian, with 2 % of the standard deviation of y. ``relative``: Gaussian,
        with 5 % of |y|. ``sigma``: like constant errors, but those of each row are smaller or
        larger by a factor of up to 3, which is passed to the fit.
        """
        rng = self.generator(seed, "rows")
        X = np.column_stack([feature.values(self.n_rows, rng) for feature in self.features])
        y = self.values(X)
        noise = self.generator(seed, "noise")
        size = self.sizes(y, errors, noise)
        noisy = y + size * noise.standard_normal(len(y))
        return Sample(X, noisy, size if errors == "sigma" else None)

    def sizes(self, y: Array, errors: str, rng: np.random.Generator) -> Array:
        """Return the standard deviation of the error of each row."""
        if errors not in ERRORS:
            raise ValueError(f"errors must be among {', '.join(ERRORS)}, got {errors!r}")
        if errors == "none":
            return np.zeros(len(y))
        if errors == "relative":
            return np.asarray(RELATIVE * np.abs(y))
        size = np.full(len(y), CONSTANT * float(np.std(y)))
        return size if errors == "constant" else size * SIGMA_FACTOR ** rng.uniform(-1, 1, len(y))

    def test(self, seed: int = 0, n: int = 200) -> tuple[Array, Array]:
        """Return fresh noise-free rows in the same box."""
        X = self._drawn(n, seed, "test")
        return X, self.values(X)

    def family(self, n: int = 200) -> tuple[Array, Array]:
        """Return noise-free rows in a slightly larger box, to compare a law's family with."""
        X = self._drawn(2 * n, 0, "family", MARGIN)
        y = self.values(X)
        fine = np.isfinite(y)
        return X[fine][:n], y[fine][:n]

    def generator(self, seed: int, purpose: str) -> np.random.Generator:
        """Return a random stream of its own for every curve, seed and purpose."""
        return stream(self.name, purpose, seed)

    def _drawn(self, n: int, seed: int, purpose: str, margin: float = 0.0) -> Array:
        rng = self.generator(seed, purpose)
        return np.column_stack([feature.drawn(n, rng, margin) for feature in self.features])


def constants_of(text: str) -> dict[str, float]:
    """Return the values in text such as ``Vmax=12.3 Km=4.2``."""
    pairs = (part.split("=") for part in text.split())
    return {name: float(value) for name, value in pairs}


def _feature(text: str) -> Feature:
    name, low, high, rule = text.split(":")
    return Feature(name, float(low), float(high), rule)


CURVES = tuple(
    Curve(
        row["name"],
        row["formula"],
        constants_of(row["constants"]),
        tuple(map(_feature, row["features"].split())),
        int(row["rows"]),
    )
    for row in rows_of("curves")
)

_BY_NAME = {curve.name: curve for curve in CURVES}


def select_curves(names: Iterable[str]) -> list[Curve]:
    """Return the curves of these names, all curves without names."""
    named = [name.lower() for name in names]
    for name in named:
        if name not in _BY_NAME:
            raise ValueError(f"unknown curve {name!r}{suggestion(name, _BY_NAME)}")
    return [_BY_NAME[name] for name in dict.fromkeys(named)] or list(CURVES)
