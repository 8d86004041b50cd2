"""Pictures of a fitted model: its front, its fit, what is left, how it was found, its terms.

Each function draws into `ax`, or makes a figure of its own that belongs to no window; the figure
is shown in a notebook and written with ``savefig``. Needs matplotlib (``pip install matplotlib``).
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
    if kind == "summary":
        if ax is not None:
            raise GSRError("a summary is several plots: it makes its own figure and takes no ax")
        return summary(model, X, y, index)
    if kind == "front":
        return front(model, index=index, ax=ax)
    if kind == "convergence":
        return convergence(model, ax=ax)
    if kind == "terms":
        return terms(model, X, index=index, ax=ax)
    if kind not in ("fit", "residuals"):
        raise GSRError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    draw = fit if kind == "fit" else residuals
    return draw(model, X, y, index=index, ax=ax)


def summary(
    model: Any,
    X: npt.ArrayLike | None = None,
    y: npt.ArrayLike | None = None,
    index: int | None = None,
) -> Any:
    """Draw all pictures in one figure, with the law above them.

    Parameters
    ----------
    model, X, y, index
        As for `plot`.

    Returns
    -------
    matplotlib Figure
    """
    entry = model._entry(index)
    rows = _rows(model, entry, X, y)  # so that a model without rows is told before drawing
    figure = drawing.new_figure(*SUMMARY_SIZE)
    figure.set_layout_engine("constrained", h_pad=0.12, w_pad=0.08)
    grid = figure.add_gridspec(3, 2)
    above = figure.add_subplot(grid[0, :])
    pictures.front(above, model.front_, entry)
    pictures.fit(figure.add_subplot(grid[1, 0]), entry, rows)
    pictures.residuals(figure.add_subplot(grid[1, 1]), entry, rows)
    pictures.terms(figure.add_subplot(grid[2, 0]), entry, rows.X)
    pictures.convergence(figure.add_subplot(grid[2, 1]), **_searched(model))
    figure.suptitle(
        drawing.plain(entry.equation, LONGEST_LAW), x=0.01, ha="left", fontsize=13,
        color=drawing.INK, fontweight="bold", parse_math=False, usetex=False,
    )  # fmt: skip
    pictures.label_front(above, model.front_, entry)
    return figure


def front(model: Any, *, index: int | None = None, ax: Axes | None = None) -> Any:
    """Draw the Pareto front of error against complexity, with a law marked.

    Parameters
    ----------
    model, index, ax
        As for `plot`; `index` is the law that is marked.

    Returns
    -------
    matplotlib Figure, or Axes if `ax` was given
    """
    chosen = {"entries": model.front_, "entry": model._entry(index)}
    drawn = _drawn(partial(pictures.front, **chosen), ax)
    pictures.label_front(drawn.axes[0] if ax is None else ax, **chosen)
    return drawn


def fit(
    model: Any,
    X: npt.ArrayLike | None = None,
    y: npt.ArrayLike | None = None,
    *,
    index: int | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw what the law predicts against what was measured.

    Parameters
    ----------
    model, X, y, index, ax
        As for `plot`.

    Returns
    -------
    matplotlib Figure, or Axes if `ax` was given
    """
    entry = model._entry(index)
    rows = _rows(model, entry, X, y)
    return _drawn(partial(pictures.fit, entry=entry, rows=rows), ax)


def residuals(
    model: Any,
    X: npt.ArrayLike | None = None,
    y: npt.ArrayLike | None = None,
    *,
    index: int | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw what the law leaves against what it predicts, with a histogram.

    Parameters
    ----------
    model, X, y, index, ax
        As for `plot`.

    Returns
    -------
    matplotlib Figure, or Axes if `ax` was given
    """
    entry = model._entry(index)
    rows = _rows(model, entry, X, y)
    return _drawn(partial(pictures.residuals, entry=entry, rows=rows), ax)


def convergence(model: Any, *, ax: Axes | None = None) -> Any:
    """Draw how the best error fell with time.

    Parameters
    ----------
    model, ax
        As for `plot`.

    Returns
    -------
    matplotlib Figure, or Axes if `ax` was given
    """
    return _drawn(partial(pictures.convergence, **_searched(model)), ax)


def terms(
    model: Any,
    X: npt.ArrayLike | None = None,
    *,
    index: int | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw what each term alpha_k phi_k of the law adds to g(y), greatest share first.

    Parameters
    ----------
    model, X, index, ax
        As for `plot`.

    Returns
    -------
    matplotlib Figure, or Axes if `ax` was given
    """
    entry = model._entry(index)
    table = pictures.sampled(_training(entry)[0] if X is None else _table(model, X))
    return _drawn(partial(pictures.terms, entry=entry, X=table), ax)


def _drawn(draw: Callable[[Axes], None], ax: Axes | None) -> Any:
    if ax is not None:
        draw(ax)
        return ax
    figure = drawing.new_figure(*SIZE)
    draw(figure.add_subplot())
    return figure


def _searched(model: Any) -> dict[str, Any]:
    exact = any(entry.exact for entry in model.front_)
    history = getattr(model, "history_", None) or []
    return {"history": history, "exact": exact, "name": model._entry(None).equation.target_name}


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
