"""Standard curves of science with constants inside, and the kinds of measurement error.

The judge of a fitted law needs the noise-free family only, so a curve is its formula, the values
of its constants, and where its rows lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gsr.benchmarks.suites.sampling import Array
from gsr.formula import expression

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
    """Where the values of a feature lie.

    Parameters
    ----------
    name : str
        Its name in the formula.
    low, high : float
        The range.
    rule : {"linspace", "geomspace", "uniform", "loguniform"}
        Even steps, even steps of the logarithm, or drawn at random.
    """

    name: str
    low: float
    high: float
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
    """A law with named constants.

    Parameters
    ----------
    name : str
        Its name.
    formula : str
        The right side of y = ..., as SymPy text in the features and the constants.
    constants : mapping
        Values of the constants; as many as can be told from y.
    features : tuple of Feature
        The features, in the order of the columns.
    n_rows : int
        Training rows.
    """

    name: str
    formula: str
    constants: Mapping[str, float]
    features: tuple[Feature, ...]
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
        function = _numeric(self.formula, self.variables, tuple(self.constants))
        with np.errstate(all="ignore"):
            y = function(*X.T, *(constants or self.constants).values())
        return np.asarray(np.broadcast_to(y, (len(X),)), dtype=np.float64)

    def train(self, seed: int = 0, errors: str = "none") -> Sample:
        """Return the training rows of one run.

        Parameters
        ----------
        seed : int
            Number of the run.
        errors : {"none", "constant", "relative", "sigma"}
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
        key = int.from_bytes(f"{self.name}/{purpose}".encode(), "big")
        return np.random.default_rng(np.random.SeedSequence([key, seed]))

    def _drawn(self, n: int, seed: int, purpose: str, margin: float = 0.0) -> Array:
        rng = self.generator(seed, purpose)
        return np.column_stack([feature.drawn(n, rng, margin) for feature in self.features])


@cache
def _numeric(
    formula: str, variables: tuple[str, ...], constants: tuple[str, ...]
) -> Callable[..., Any]:
    import sympy

    symbols = sympy.symbols([*variables, *constants], real=True)
    names = {str(symbol): symbol for symbol in symbols}
    function: Callable[..., Any] = sympy.lambdify(symbols, expression(formula, names), "numpy")
    return function


def _curve(name: str, formula: str, constants: str, rows: int, *features: tuple[Any, ...]) -> Curve:
    pairs = (part.split("=") for part in constants.split())
    values = {key: float(value) for key, value in pairs}
    return Curve(name, formula, values, tuple(Feature(*each) for each in features), rows)


CURVES: tuple[Curve, ...] = (
    # chemistry and biology
    _curve("michaelis-menten", "Vmax*S/(Km + S)", "Vmax=12.3 Km=4.2",
           30, ("S", 0.1, 50, "geomspace")),
    _curve("langmuir", "q*K*c/(1 + K*c)", "q=31.5 K=0.087",
           24, ("c", 0.5, 70, "geomspace")),
    _curve("arrhenius", "A*exp(-E/(8.314*T))", "A=2.5e11 E=75000",
           25, ("T", 280, 360)),
    _curve("second-order decay", "y0/(1 + k*y0*t)", "y0=2.4 k=0.31",
           30, ("t", 0, 15)),
    _curve("hill", "V*x**n/(K**n + x**n)", "V=8.7 K=3.1 n=2.3",
           40, ("x", 0.3, 30, "geomspace")),
    _curve("logistic growth", "K/(1 + exp(-r*(t - t0)))", "K=97 r=0.62 t0=7.3",
           40, ("t", 0, 15)),
    _curve("gompertz", "A*exp(-b*exp(-c*t))", "A=14.2 b=3.9 c=0.41",
           45, ("t", 0, 14)),
    _curve("freundlich", "k*c**(1/n)", "k=3.4 n=2.6",
           25, ("c", 0.2, 60, "geomspace")),
    _curve("van 't hoff", "-H/(8.314*T) + s", "H=-42300 s=-9.7",
           20, ("T", 290, 370)),
    _curve("antoine", "exp(A - B/(C + T))", "A=16.57 B=3985 C=233.4",
           30, ("T", 5, 100)),
    _curve("monod with inhibition", "m*S/(K + S + S**2/Ki)", "m=1.24 K=2.1 Ki=17.5",
           40, ("S", 0.2, 100, "geomspace")),
    _curve("competitive inhibition", "V*S/(Km*(1 + I/Ki) + S)", "V=9.4 Km=1.7 Ki=2.6",
           80, ("S", 0.2, 25, "loguniform"), ("I", 0, 12, "uniform")),
    _curve("binding with linear part", "B*x/(K + x) + n*x", "B=6.8 K=1.9 n=0.083",
           40, ("x", 0.1, 60, "geomspace")),
    _curve("dose and elimination", "a*(exp(-k1*t) - exp(-k2*t))", "a=12.1 k1=0.18 k2=1.4",
           50, ("t", 0, 20)),
    _curve("allometric with offset", "a*x**b + c", "a=0.82 b=1.64 c=3.1",
           60, ("x", 0.5, 10, "uniform")),
    _curve("beer-lambert", "I0*exp(-e*c*l)", "I0=87 e=0.43",
           60, ("c", 0, 3, "uniform"), ("l", 0.2, 2, "uniform")),
    _curve("nernst", "E0 - b*T*log(Q)", "E0=1.1 b=4.308e-5",
           40, ("T", 280, 360, "uniform"), ("Q", 1e-3, 1e3, "loguniform")),
    _curve("rate of temperature and concentration", "k*exp(-E/T)*c**n", "k=5200 E=1830 n=1.37",
           80, ("T", 300, 450, "uniform"), ("c", 0.2, 5, "loguniform")),
    # relaxation
    _curve("exponential approach", "a*(1 - exp(-k*t))", "a=5.3 k=0.37",
           40, ("t", 0.2, 12)),
    _curve("decay with offset", "a*exp(-k*t) + c", "a=6.2 k=0.43 c=1.35",
           50, ("t", 0, 10)),
    _curve("biexponential", "a*exp(-k1*t) + b*exp(-k2*t)", "a=5.6 k1=1.31 b=2.3 k2=0.115",
           80, ("t", 0, 20)),
    _curve("capacitor charge", "U*(1 - exp(-t/(R*C)))", "U=9.1 C=0.47",
           60, ("t", 0.1, 10, "uniform"), ("R", 1, 12, "uniform")),
    _curve("approach with drift", "a*(1 - exp(-k*t)) + d*t", "a=3.9 k=0.95 d=0.21",
           60, ("t", 0, 12)),
    _curve("stretched exponential", "a*exp(-(t/tau)**b)", "a=4.4 tau=3.2 b=0.62",
           50, ("t", 0.05, 15, "geomspace")),
    _curve("hyperbolic decay with offset", "a/(1 + k*t) + c", "a=7.7 k=0.84 c=1.15",
           50, ("t", 0, 20)),
    # physics
    _curve("power law", "a*x**b", "a=1.7 b=0.73",
           100, ("x", 1, 11)),
    _curve("gaussian peak", "a*exp(-(x - m)**2/(2*s**2)) + c", "a=5.1 m=3.7 s=0.85 c=1.2",
           60, ("x", 0, 8)),
    _curve("lorentz peak", "a/(1 + ((x - m)/w)**2)", "a=7.4 m=4.6 w=0.9",
           60, ("x", 0, 10)),
    _curve("resonance", "F/sqrt((w0**2 - w**2)**2 + (g*w)**2)", "F=11.2 w0=3.3 g=0.71",
           60, ("w", 0.3, 8)),
    _curve("damped oscillation", "a*exp(-k*t)*sin(w*t + p) + c", "a=3.1 k=0.23 w=2.07 p=0.7 c=0.55",
           120, ("t", 0, 12)),
    _curve("sinusoid with offset", "a*sin(w*x + p) + c", "a=2.7 w=1.37 p=0.52 c=1.13",
           80, ("x", 0, 10)),
    _curve("diode", "Is*(exp(V/n) - 1)", "Is=2.6 n=0.061",
           40, ("V", -0.15, 0.22)),
    _curve("planck", "a*x**3/(exp(b*x) - 1)", "a=1.9 b=0.87",
           60, ("x", 0.4, 12)),
    _curve("morse", "D*(1 - exp(-a*(r - r0)))**2", "D=4.6 a=1.93 r0=0.74",
           50, ("r", 0.45, 3.2)),
    _curve("magnetisation", "m*tanh(b*H)", "m=6.4 b=0.57",
           40, ("H", -5, 5)),
    _curve("parabola", "a + b*x + c*x**2", "a=2.2 b=-3.4 c=0.71",
           50, ("x", 0, 6)),
    _curve("log law", "a + b*log(x)", "a=1.4 b=2.3",
           40, ("x", 1, 80, "uniform")),
    _curve("inverse square with offset", "a/x**2 + c", "a=38 c=1.7",
           30, ("x", 1, 8)),
    _curve("pendulum", "a*sqrt(L)", "a=2.006",
           20, ("L", 0.1, 2)),
    _curve("lens", "f*x/(x - f)", "f=8.3",
           25, ("x", 12, 60)),
    _curve("stefan", "a*(T**4 - T0**4)", "a=5.1e-8 T0=293",
           30, ("T", 310, 620)),
    _curve("projectile range", "v**2*sin(2*a)/g", "g=9.81",
           40, ("v", 2, 20, "uniform"), ("a", 0.15, 1.4, "uniform")),
    _curve("van der waals", "R*T/(v - b) - a/v**2", "R=0.0821 b=0.043 a=3.6",
           80, ("T", 280, 400, "uniform"), ("v", 0.1, 1.5, "uniform")),
    # engineering
    _curve("rational saturation", "(a + b*x)/(1 + c*x)", "a=0.8 b=3.3 c=0.57",
           50, ("x", 0, 20)),
    _curve("pressure loss", "a*v + b*v**2", "a=1.32 b=0.47",
           30, ("v", 0.3, 6)),
)  # fmt: skip

_BY_NAME = {curve.name: curve for curve in CURVES}


def select_curves(names: Iterable[str]) -> list[Curve]:
    """Return the curves of these names, all of them if there is no name.

    Raises
    ------
    ValueError
        If there is no such curve; the message suggests the nearest name.
    """
    named = [name.lower() for name in names]
    for name in named:
        if name not in _BY_NAME:
            near = get_close_matches(name, _BY_NAME, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"unknown curve {name!r}{hint}")
    return [_BY_NAME[name] for name in dict.fromkeys(named)] or list(CURVES)
