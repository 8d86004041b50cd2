"""Pictures of a fitted model: its front, its fit, its residuals, how it was found, its terms.

They are drawn into `ax`, or into a figure of their own that belongs to no window; the figure is
shown in a notebook and written with ``savefig``. Needs matplotlib (``pip install matplotlib``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.plotting import drawing, pictures
from gsr.plotting.pictures import Rows
from gsr.selection import FrontEntry
from gsr.transformation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (5.2, 3.6)
SUMMARY_SIZE = (11.0, 9.6)
LONGEST_LAW = 100
KINDS = ("summary", "front", "fit", "residuals", "convergence", "terms")


def plot(
    model: Any,
    kind: str = "summary",
    X: npt.ArrayLike | None = None,
    y: npt.ArrayLike | None = None,
    index: int | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw one picture of a fitted model, or all.

    Parameters
    ----------
    model : GSRRegressor
        A fitted model.
    kind : {"summary", "front", "fit", "residuals", "convergence", "terms"}
        What to draw.
    X, y : array, optional
        Rows to draw; the training rows unless given. A model that was loaded has none.
    index : int, optional
        Number of the law in `equations_`; the chosen one unless given.
    ax : matplotlib Axes, optional
        Where to draw; a new figure unless given. A summary is a figure of its own.

    Returns
    -------
    matplotlib Figure, or Axes if `ax` was given
    """
    if kind not in KINDS:
        raise GSRError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    if kind == "summary" and ax is not None:
        raise GSRError("a summary is several plots: it makes its own figure and takes no ax")
    entry = model._entry(None if kind == "convergence" else index)
    draw = _drawings(model, kind, entry, X, y)
    if kind == "summary":
        return _summary(model, entry, draw)
    figure = drawing.new_figure(*SIZE) if ax is None else None
    place: Any = ax if figure is None else figure.add_subplot()
    draw[kind](place)
    if kind == "front":
        pictures.label_front(place, model.front_, entry)
    return ax if figure is None else figure


def _drawings(
    model: Any, kind: str, entry: FrontEntry, X: Any, y: Any
) -> dict[str, Callable[[Any], None]]:
    """Return what draws each picture; rows are looked at only if the kind needs them."""
    exact = any(each.exact for each in model.front_)
    history = getattr(model, "history_", None) or []
    name = entry.equation.target_name
    draw: dict[str, Callable[[Any], None]] = {
        "front": partial(pictures.front, entries=model.front_, entry=entry),
        "convergence": partial(pictures.convergence, history=history, exact=exact, name=name),
    }
    if kind in ("summary", "fit", "residuals"):
        rows = _rows(model, entry, X, y)
        draw["fit"] = partial(pictures.fit, entry=entry, rows=rows)
        draw["residuals"] = partial(pictures.residuals, entry=entry, rows=rows)
        draw["terms"] = partial(pictures.terms, entry=entry, X=rows.X)
    elif kind == "terms":
        table = pictures.sampled(_training(entry)[0] if X is None else _table(model, X))
        draw["terms"] = partial(pictures.terms, entry=entry, X=table)
    return draw


def _summary(model: Any, entry: FrontEntry, draw: dict[str, Callable[[Any], None]]) -> Any:
    """Draw all pictures in one figure, with the law above them."""
    figure = drawing.new_figure(*SUMMARY_SIZE)
    figure.set_layout_engine("constrained", h_pad=0.12, w_pad=0.08)
    grid = figure.add_gridspec(3, 2)
    above = figure.add_subplot(grid[0, :])
    draw["front"](above)
    for k, kind in enumerate(("fit", "residuals", "terms", "convergence")):
        draw[kind](figure.add_subplot(grid[1 + k // 2, k % 2]))
    figure.suptitle(
        drawing.plain(entry.equation, LONGEST_LAW), x=0.01, ha="left", fontsize=13,
        color=drawing.INK, fontweight="bold", parse_math=False, usetex=False,
    )  # fmt: skip
    pictures.label_front(above, model.front_, entry)
    return figure


# ---- rows --------------------------------------------------------------------------------------


def _rows(model: Any, entry: FrontEntry, X: Any, y: Any) -> Rows:
    if (X is None) != (y is None):
        raise GSRError(f"X and y go together, but {'X' if X is None else 'y'} is missing")
    table, target = _training(entry) if X is None else (_table(model, X), _target(y))
    if len(table) != len(target):
        raise GSRError(f"X has {len(table)} rows, but y has {len(target)}")
    return Rows.of(entry, table, target)


def _training(entry: FrontEntry) -> tuple[Array, Array]:
    if entry.data is None:
        raise GSRError(
            "the model was loaded without its training rows: pass rows to draw as X and y"
        )
    return entry.data.X, entry.data.y


def _table(model: Any, X: Any) -> Array:
    from sklearn.utils.validation import validate_data

    table: Array = validate_data(model, X, dtype=np.float64, reset=False, ensure_all_finite=False)
    return table


def _target(y: Any) -> Array:
    target: Array = np.asarray(y, dtype=float)
    if target.ndim != 1:
        raise GSRError(f"y must have one dimension, but its shape is {target.shape}")
    return target
