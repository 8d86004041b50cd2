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
    from rich.table import Table

    from gsr.estimator import GSRRegressor

FEATURES = ["distance", "eccentricity", "radius"]
TARGET = "period"


def planets() -> pandas.DataFrame:
    """Read the data that come with the package."""
    import pandas

    with (files("gsr") / "data" / "planets.csv").open(encoding="utf-8") as stream:
        return pandas.read_csv(stream)


def run(console: Console, seed: int | None, max_time: float) -> None:
    """Search for the law of the planets and print it on a console; progress goes to stderr."""
    from gsr.estimator import GSRRegressor

    data = planets()
    X, y = data[FEATURES], data[TARGET]
    bodies = data["body"].tolist()
    console.print(
        f"How does the {TARGET} of a body that goes round the Sun depend on "
        f"{', '.join(FEATURES[:-1])} and {FEATURES[-1]}?\n"
        f"{len(bodies)} bodies, from {bodies[0]} to {bodies[-1]}.\n"
    )
    model = GSRRegressor(random_state=seed, max_time=max_time, verbose=True).fit(X, y)
    r2 = model.score(X, y)
    console.print(f"  [bold]{model.equation_}[/bold]     R2 = {r2:.8f}\n")
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
        table.add_row(*cells, str(entry.equation), style="bold" if chosen else "")
    return table
