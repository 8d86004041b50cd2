"""Makes the pictures of the documentation: python docs/pictures.py.

They show Forbes's measurements of 1857, with the searches of docs/tutorial.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from gsr import GSRRegressor

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
INK, MUTED, ACCENT, DOUBTFUL = "#1f2933", "#7b8794", "#0b6e99", "#c8553d"
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
    _fit(left, table, law)
    _front(right, front, law)
    return figure


def _fit(ax: Any, table: pd.DataFrame, law: GSRRegressor) -> None:
    T = np.linspace(table["T"].min() - 0.8, table["T"].max() + 0.8, 200)
    curve = pd.DataFrame({"T": T})
    low, high = law.predict_interval(curve, 0.95).T
    ax.fill_between(T, low, high, color=ACCENT, alpha=0.15, lw=0)
    ax.plot(T, law.predict(curve), color=ACCENT, lw=2)
    used = table["weight"] > 0
    ax.plot(*table.loc[used, ["T", "pressure"]].T.to_numpy(), "o", color=INK, ms=5.5)
    doubtful = table.loc[~used, ["T", "pressure"]].to_numpy()[0]
    ax.plot(*doubtful, "o", mfc="white", mec=DOUBTFUL, mew=1.8, ms=7)
    ax.annotate(
        "left out", doubtful, (-12, 3), textcoords="offset points", ha="right", color=DOUBTFUL
    )
    shown = f"${law.equations_[law.best_index_].latex(4)}$"
    ax.text(0.04, 0.94, shown, transform=ax.transAxes, va="top", color=ACCENT, fontsize=16)
    band = "with the 95 % interval of a new measurement"
    ax.text(0.04, 0.8, band, transform=ax.transAxes, va="top", color=MUTED, fontsize=10)
    ax.set_title("Where water boils, 17 places in the Alps and Scotland", loc="left")
    ax.set_xlabel("temperature, K")
    ax.set_ylabel("pressure, inches of mercury")


#: Where the label of a law stands beside its point, by nodes.
PLACES: dict[int, dict[str, Any]] = {
    3: {"xytext": (0, 12), "ha": "left"},
    5: {"xytext": (0, 12), "ha": "left"},
    7: {"xytext": (10, 4), "ha": "left"},
    8: {"xytext": (-10, -4), "ha": "right"},
    9: {"xytext": (10, -16), "ha": "left"},
}


def _front(ax: Any, front: GSRRegressor, law: GSRRegressor) -> None:
    rows = [row for row in front.equations_ if row.complexity in PLACES]
    points = [row.complexity for row in rows], [row.rmse for row in rows]
    ax.plot(*points, "-o", color=MUTED, mfc="white", mec=INK, ms=7, lw=1)
    for row in rows:
        _label(ax, row, INK, **PLACES[row.complexity])
    chosen = law.equations_[law.best_index_]
    ax.plot(chosen.complexity, chosen.rmse, "o", color=ACCENT, ms=8)
    _label(ax, chosen, ACCENT, xytext=(10, 6), ha="left")
    ax.set_yscale("log")
    ax.set_ylim(0.03, 7)
    ax.set_xlim(2.6, 12.2)
    ax.set_xticks(range(3, 13))
    ax.set_title("The shortest formulas: three have the same error", loc="left")
    ax.set_xlabel("nodes of the formula")
    ax.set_ylabel("RMSE, inches of mercury")


def _label(ax: Any, row: Any, color: str, **place: Any) -> None:
    at = (row.complexity, row.rmse)
    ax.annotate(f"${row.latex(4)}$", at, textcoords="offset points", color=color, **place)


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
    style = {
        "font.size": 11, "axes.edgecolor": MUTED, "axes.labelcolor": INK, "axes.titlesize": 12,
        "axes.titlecolor": INK, "axes.titleweight": "bold", "xtick.color": MUTED,
        "ytick.color": MUTED, "axes.spines.top": False, "axes.spines.right": False,
    }  # fmt: skip
    table = measurements()
    pictures = {"tutorial_line": straight_line, "summary": summary, "first_law": first_law}
    with threadpool_limits(1), mpl.rc_context(style):
        for name, draw in pictures.items():
            dpi = 100 if name == "first_law" else 80
            draw(table).savefig(IMAGES / f"{name}.png", dpi=dpi, metadata={"Software": None})


if __name__ == "__main__":
    main()
