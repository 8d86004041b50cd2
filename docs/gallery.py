"""Write the gallery: `python docs/gallery.py` writes docs/gallery.md and its pictures.

Each law is found from the table alone, with the options of `SEARCH`.
"""

from __future__ import annotations

import sys
import warnings
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from threadpoolctl import threadpool_limits

from gsr import GSRRegressor

DOCS = Path(__file__).resolve().parent
SEARCH = {"max_evals": 3000, "max_time": None, "random_state": 0}
DPI = 90


class Law(NamedTuple):
    """A table and what is known about it."""

    name: str
    title: str
    features: list[str]
    target: str
    #: The measurements, and where they are printed.
    source: str
    #: What the textbook says.
    known: str


LAWS = [
    Law(
        "planets", "Kepler: periods of the planets", ["distance", "eccentricity", "radius"],
        "period", "Sixteen bodies of the solar system, included in the package; distances in "
        "astronomical units, periods in years.",
        "Kepler's third law (1619): the square of the period is the cube of the distance.",
    ),
    Law(
        "galileo", "Galileo: balls from a ramp", ["height"], "distance",
        "Galileo's folio 116v of 1608, in punti, read by S. Drake (1973); used by D. A. Dickey "
        "and J. T. Arnold, J. Statistics Education 3 (1995).",
        "Without friction, the distance grows as the square root of the height of release.",
    ),
    Law(
        "boyle", "Boyle: the spring of the air", ["volume"], "pressure",
        "R. Boyle, A Defence of the Doctrine Touching the Spring and Weight of the Air (1662): "
        "length of a column of air, and pressure in inches of mercury.",
        "Boyle's law: pressure times volume is constant.",
    ),
    Law(
        "forbes", "Forbes: boiling water in the mountains", ["boiling point"], "pressure",
        "J. D. Forbes (1857), in S. Weisberg, Applied Linear Regression: degrees Fahrenheit and "
        "inches of mercury. One row is a known outlier; see the [tutorial](tutorial.md).",
        "Clausius-Clapeyron: the logarithm of the pressure is linear in 1/T, with T in kelvins.",
    ),
    Law(
        "mercury", "Vapour pressure of mercury", ["temperature"], "pressure",
        "R. C. Weast (ed.), Handbook of Chemistry and Physics (1973), the data set `pressure` of "
        "R: degrees Celsius and millimetres of mercury.",
        "Antoine's equation: the logarithm of the pressure is a - b/(temperature + c).",
    ),
    Law(
        "balmer", "Balmer: lines of hydrogen", ["n"], "wavelength",
        "J. J. Balmer, Annalen der Physik 261 (1885): wavelengths in ångström, measured by "
        "Ångström, Vogel and Huggins.",
        "Balmer's formula: 3645.6 n^2/(n^2 - 4).",
    ),
    Law(
        "hubble", "Hubble: receding nebulae", ["distance"], "velocity",
        "E. Hubble, PNAS 15 (1929), table 1: distance in megaparsecs, velocity in km/s.",
        "Hubble's law: velocity is proportional to distance, with about 500 km/s per megaparsec "
        "in his distances.",
    ),
    Law(
        "cars", "Stopping distances of cars", ["speed"], "distance",
        "M. Ezekiel, Methods of Correlation Analysis (1930), the data set `cars` of R: miles per "
        "hour and feet.",
        "The reaction distance grows with the speed, the braking distance with its square; the "
        "scatter is large.",
    ),
    Law(
        "puromycin", "An enzyme with puromycin", ["concentration"], "rate",
        "M. A. Treloar (1974), in D. M. Bates and D. G. Watts, Nonlinear Regression Analysis "
        "(1988): ppm, counts per minute squared.",
        "Michaelis-Menten: rate = V c/(K + c), with V = 212.7 and K = 0.0641.",
    ),
    Law(
        "misra1a", "Adsorption of a monolayer", ["pressure"], "volume",
        "D. Misra (1978), Misra1a of the NIST Statistical Reference Datasets.",
        "NIST fits 238.94 (1 - exp(-0.00055016 pressure)).",
    ),
]  # fmt: skip

HEAD = """\
# Gallery: ten laws from measured data

Historical measurements published in the literature, and the law that `gsr` {version} finds in each with the options `{options}` and no units or hints. The textbook law is given for comparison, also if the search found a different one. `python docs/gallery.py` generates this page and its pictures; the tables are in `docs/data`.

The verdict summarises tests of the residuals. *One of several* means that laws of other kinds describe the rows about as well, which is common with few or noisy rows.
"""  # noqa: E501
ENTRY = """
## {title}

{source}

![{title}: measurements, law and band](images/gallery_{name}.png)

| | |
|---|---|
| law found | {law} |
| solved for {target} | {solved} |
| rows, R² | {rows}, {r2:.6f} |
| verdict | {verdict} |
| next best of another kind | {second} |
| textbook | {known} |
"""


def table_of(name: str) -> pd.DataFrame:
    """Return the measurements."""
    if name == "planets":
        with (files("gsr") / "data" / "planets.csv").open(encoding="utf-8") as stream:
            return pd.read_csv(stream)
    return pd.read_csv(DOCS / "data" / f"{name}.csv")


def entry(law: Law) -> str:
    """Search for a law, draw it, and return its part of the page."""
    from gsr._table_forms import VERDICTS

    table = table_of(law.name)
    X, y = table[law.features], table[law.target]
    model = GSRRegressor(**SEARCH).fit(X, y)
    figure = model.plot("law")
    path = DOCS / "images" / f"gallery_{law.name}.png"
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    chosen = model.equations_[model.best_index_]
    others = model.equations_.top(2)[1:]
    return ENTRY.format(
        **law._asdict(),
        law=code(chosen.equation),
        solved=code(chosen.explicit) if chosen.explicit else "no closed form",
        rows=len(table),
        r2=model.score(X, y),
        verdict=VERDICTS[model.level_],
        second=code(others[0].equation) if others else "none",
    )


def code(text: str) -> str:
    """Return a formula as code in a table of Markdown."""
    ticks, room = ("``", " ") if "`" in text else ("`", "")
    return f"{ticks}{room}{text}{room}{ticks}".replace("|", "\\|")


def main() -> None:
    """Write the page and its pictures."""
    from gsr import __version__

    options = ", ".join(f"{name}={value}" for name, value in SEARCH.items())
    parts = [HEAD.format(version=__version__, options=options)]
    with threadpool_limits(1):
        for law in LAWS:
            print(law.name, file=sys.stderr)
            parts.append(entry(law))
    (DOCS / "gallery.md").write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
