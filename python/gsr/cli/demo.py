"""A first law to find: how long a body takes to go round the Sun.

The data (`data/planets.csv`) are the eight planets, Pluto, three more dwarf planets beyond
Neptune, Ceres and three asteroids:

- ``distance``: semi-major axis of the orbit in astronomical units;
- ``eccentricity`` of the orbit, and mean ``radius`` of the body in km, which the law must leave
  out;
- ``period``: sidereal period in Julian years (365.25 days).

Distances of planets and Pluto are mean elements at J2000, their periods those of NASA's planetary
fact sheets; the other bodies have osculating elements as in JPL's small-body data base, rounded,
whose periods follow from their distances. The planets pull on each other, so that the law holds
to about 0.07 %.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gsr.wording import ending

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from gsr.equation import Equation
    from gsr.estimator import GSRRegressor

FEATURES = ("distance", "eccentricity", "radius")
TARGET = "period"


@dataclass(frozen=True, eq=False)
class Planets:
    """The data: names of the bodies, features (one column each) and periods."""

    bodies: tuple[str, ...]
    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]


def planets() -> Planets:
    """Read the data that come with the package."""
    text = (files("gsr") / "data" / "planets.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    X = np.array([[float(row[name]) for name in FEATURES] for row in rows])
    y = np.array([float(row[TARGET]) for row in rows])
    return Planets(tuple(row["body"] for row in rows), X, y)


def run(console: Console, seed: int | None, max_time: float) -> None:
    """Search for the law of the planets and print it on a console; progress goes to stderr."""
    from gsr.estimator import GSRRegressor

    data = planets()
    console.print(
        f"How does the {TARGET} of a body that goes round the Sun depend on "
        f"{', '.join(FEATURES[:-1])} and {FEATURES[-1]}?\n"
        f"{len(data.bodies)} bodies, from {data.bodies[0]} to {data.bodies[-1]}.\n"
    )
    model = GSRRegressor(random_state=seed, max_time=max_time, verbose=True).fit(data.X, data.y)
    r2 = model.score(data.X, data.y)
    console.print(f"  [bold]{_named(model.equation_)}[/bold]     R2 = {r2:.8f}\n")
    functions = ", ".join(name for name in model.equation_.library if name != "one")
    console.print(
        f"Searched g({TARGET}) = f({', '.join(FEATURES)}) with {functions}:\n"
        f"{model.n_evaluations_:,} candidates in {model.n_generations_:,} generations and "
        f"{model.fit_time_:.1f} s, until {ending(model.status_)}."
    )
    console.print(_front(model))
    console.print(
        "For data of your own:  [bold]gsr.GSRRegressor().fit(X, y).equation_[/bold]", soft_wrap=True
    )


def _named(equation: Equation) -> Equation:
    """Return the law with the columns' names, which only data frames carry through `fit`."""
    return replace(equation, feature_names=FEATURES, target_name=TARGET)


def _front(model: GSRRegressor) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(
        title="Error against complexity",
        caption="> is the choice: law and data together are shortest to describe.",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("")
    table.add_column("nodes", justify="right")
    table.add_column("RMSE", justify="right", no_wrap=True)
    table.add_column("law", overflow="fold")
    for i, entry in enumerate(model.front_):
        chosen = i == model.best_index_
        cells = (">" if chosen else "", str(entry.complexity), f"{entry.rmse:.2e}")
        table.add_row(*cells, str(_named(entry.equation)), style="bold" if chosen else "")
    return table
