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

from importlib.resources import files
from typing import TYPE_CHECKING

from gsr.wording import ending

if TYPE_CHECKING:
    import pandas
    from rich.console import Console

FEATURES = ["distance", "eccentricity", "radius"]
TARGET = "period"
#: Evaluations, so that the result does not depend on the speed of the machine.
EFFORT = 1000


def planets() -> pandas.DataFrame:
    """Read the data that come with the package."""
    import pandas

    with (files("gsr") / "data" / "planets.csv").open(encoding="utf-8") as stream:
        return pandas.read_csv(stream)


def run(console: Console, seed: int | None, max_time: float) -> None:
    """Search for the law of the planets and print it on a console; progress goes to stderr."""
    from gsr._table_forms import TERMINAL, as_text
    from gsr.estimator import GSRRegressor

    data = planets()
    X, y = data[FEATURES], data[TARGET]
    bodies = data["body"].tolist()
    console.print(
        f"How does the {TARGET} of a body that orbits the Sun depend on "
        f"{', '.join(FEATURES[:-1])} and {FEATURES[-1]}?\n"
        f"{len(bodies)} bodies, from {bodies[0]} to {bodies[-1]}.\n"
    )
    search = GSRRegressor(random_state=seed, max_evals=EFFORT, max_time=max_time, verbose=True)
    model = search.fit(X, y)
    table = model.equations_
    chosen = table[table.best_index]
    law = chosen.explicit or chosen.equation
    console.print(f"  [bold]{law}[/bold]     R2 = {model.score(X, y):.8f}\n")
    console.print(
        "Kepler's third law: the period is the distance to the power 3/2, in years and\n"
        "astronomical units. Eccentricity and radius have no effect."
    )
    names = ("pick", "complexity", "rmse", "equation")
    console.print(as_text(table.short(), names, TERMINAL, console.width), markup=False)
    console.print(
        f"\n> marks the choice among {len(table)} laws: the shortest description of law and data."
        f"\n{model.n_evaluations_:,} evaluations in {model.fit_time_:.1f} s, until "
        f"{ending(model.status_)}.\n"
        "With your own data:  [bold]gsr fit data.csv --target y[/bold]"
    )
