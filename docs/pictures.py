"""Makes the pictures of the documentation: python docs/pictures.py.

They show Forbes's measurements of 1857, with the searches of docs/tutorial.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from gsr import GSRRegressor

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
DOUBTFUL = "#c8553d"
WAVES = ["sin", "cos", "tan"]


def measurements() -> pd.DataFrame:
    """Return Forbes's table with kelvins, and with the weight 0 for the doubtful row."""
    table = pd.read_csv(DOCS / "data" / "forbes.csv")
    table["T"] = (table["boiling point"] - 32) / 1.8 + 273.15
    line = np.polynomial.Polynomial.fit(table["T"], table["pressure"], 1)
    left = (table["pressure"] - line(table["T"])).abs()
    table["weight"] = np.where(left == left.max(), 0.0, 1.0)
    return table


def searched(table: pd.DataFrame, **options: Any) -> GSRRegressor:
    """Return a search on the table without the doubtful row."""
    model = GSRRegressor(random_state=0, **options)
    return model.fit(table[["T"]], table["pressure"].rename("p"), table["weight"])


def _known(table: pd.DataFrame) -> GSRRegressor:
    """Return the tutorial's search with prior knowledge."""
    waves = {"*": WAVES, "p": WAVES}
    return searched(table, forbid=waves, max_terms=1, max_complexity=10, max_evals=3000)


def first_law(table: pd.DataFrame) -> Figure:
    """Draw the measurements with their law, and the front of the search."""
    law = searched(table, target_library=["ln"], required_terms=["1/T"], max_terms=1, max_evals=300)
    front = _known(table)
    figure = Figure(figsize=(12, 4.5), dpi=100, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.15)
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    law.plot("law", ax=left)
    doubtful = table.loc[table["weight"] == 0, ["T", "pressure"]].to_numpy()[0]
    left.plot(*doubtful, "o", mfc="white", mec=DOUBTFUL, mew=1.8, ms=7, zorder=5)
    left.annotate(
        "left out", doubtful, (-12, 3), textcoords="offset points", ha="right", color=DOUBTFUL
    )
    front.plot("front", ax=right)
    return figure


def straight_line(table: pd.DataFrame) -> Figure:
    """Draw what the first search of the tutorial leaves."""
    X, y = table[["boiling point"]], table["pressure"]
    return GSRRegressor(max_evals=3000, random_state=0).fit(X, y).plot("residuals")


def summary(table: pd.DataFrame) -> Figure:
    """Draw all pictures of the search with prior knowledge."""
    return _known(table).plot("summary")


def main() -> None:
    """Write all pictures."""
    IMAGES.mkdir(exist_ok=True)
    table = measurements()
    pictures = {"tutorial_line": straight_line, "summary": summary, "first_law": first_law}
    with threadpool_limits(1):
        for name, draw in pictures.items():
            dpi = 100 if name == "first_law" else 80
            draw(table).savefig(IMAGES / f"{name}.png", dpi=dpi, metadata={"Software": None})


if __name__ == "__main__":
    main()
