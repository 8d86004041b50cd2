"""Pictures of a fitted model: law, front, fit, residuals, how it was found, terms.

They are drawn into `ax`, or into a figure of their own that belongs to no window; the figure is
shown in a notebook and written with ``savefig``. Needs matplotlib (``pip install matplotlib``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gsr.encoding import evaluate
from gsr.encoding.writing import number as shortened
from gsr.encoding.writing import shown_name
from gsr.exceptions import GSRError
from gsr.groups.labels import labels_for
from gsr.groups.law import GroupedEquation
from gsr.plotting import drawing
from gsr.plotting.dependence import dependence, features
from gsr.plotting.drawing import INK, MAIN, MUTED, PICK, dots, number, plain, style, write
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.transformation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (5.2, 3.6)
SUMMARY_SIZE = (11.0, 13.2)
LAW_WIDTH = 3.9
LONGEST_LAW = 100
WITH_ROWS = ("summary", "law", "fit", "residuals")
KINDS = ("summary", "law", "front", "fit", "residuals", "convergence", "terms")


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
    kind : {"summary", "law", "front", "fit", "residuals", "convergence", "terms"}
        What to draw. ``"law"`` is data, curve and band against the feature; of several features,
        the dependence on each of those that matter most, the others averaged over.
    X, y : array, optional
        Rows to draw; the training rows unless given. A model that was loaded has none.
    index : int, optional
        Number of the law in `equations_`; the chosen one unless given.
    ax : matplotlib Axes, optional
        Where to draw; a new figure unless given. A summary is a figure of its own, and of the
        dependence on several features only the first is drawn into given axes.

    Returns
    -------
    matplotlib Figure, or Axes if `ax` was given
    """
    if kind not in KINDS:
        raise GSRError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    if kind == "summary" and ax is not None:
        raise GSRError("a summary is several plots: it makes its own figure and takes no ax")
    entry = model._entry(None if kind == "convergence" else index)
    rows = _rows(model, entry, X, y) if kind in WITH_ROWS else None
    table = None
    if kind == "terms":
        table = sampled(_training(entry)[0] if X is None else _table(model, entry, X))
    draw = drawings(model, entry, getattr(model, "history_", None) or [], rows, table)
    if kind == "summary":
        return _summary(model, entry, draw)
    if kind == "law" and ax is None:
        return _law(_dependences(draw))
    figure = drawing.new_figure(*SIZE) if ax is None else None
    place: Any = ax if figure is None else figure.add_subplot()
    draw[kind](place)
    if kind == "front":
        label_front(place, model.front_, entry)
    return ax if figure is None else figure


def drawings(
    model: Any,
    entry: FrontEntry,
    history: Sequence[Progress],
    rows: Rows | None = None,
    X: Array | None = None,
) -> dict[str, Callable[[Any], None]]:
    """Return what draws each picture of a law, as far as there are rows for it.

    The dependence on the first feature is ``"law"``, those on others are ``"law 2"`` and so on.
    """
    exact = any(each.exact for each in model.front_)
    name = entry.equation.target_name
    draw: dict[str, Callable[[Any], None]] = {}
    if rows is not None:
        for k, feature in enumerate(features(entry, rows), start=1):
            key = "law" if k == 1 else f"law {k}"
            draw[key] = partial(dependence, entry=entry, rows=rows, feature=feature)
    draw |= {
        "front": partial(front, entries=model.front_, entry=entry),
        "convergence": partial(convergence, history=history, exact=exact, name=name),
    }
    if rows is not None:
        draw["fit"] = partial(fit, entry=entry, rows=rows)
        draw["residuals"] = partial(residuals, entry=entry, rows=rows)
        X = rows.X
    if X is not None:
        draw["terms"] = partial(terms, entry=entry, X=X)
    return draw


def _summary(model: Any, entry: FrontEntry, draw: dict[str, Callable[[Any], None]]) -> Any:
    """Draw all pictures in one figure, with the law above them."""
    figure = drawing.new_figure(*SUMMARY_SIZE)
    figure.set_layout_engine("constrained", h_pad=0.12, w_pad=0.08)
    grid = figure.add_gridspec(4, 2, height_ratios=(1.5, 1.2, 1, 1))
    _draw_beside(figure, grid[0, :], _dependences(draw))
    above = figure.add_subplot(grid[1, :])
    draw["front"](above)
    for k, kind in enumerate(("fit", "residuals", "terms", "convergence")):
        draw[kind](figure.add_subplot(grid[2 + k // 2, k % 2]))
    title = figure.suptitle(
        "", x=0.01, ha="left", fontsize=13, color=INK, fontweight="bold", parse_math=False,
        usetex=False,
    )  # fmt: skip
    drawing.typeset(title, entry.equation, LONGEST_LAW)
    label_front(above, model.front_, entry)
    return figure


def _law(panels: Sequence[Callable[[Any], None]]) -> Any:
    """Draw the dependence on each feature side by side."""
    figure = drawing.new_figure(max(SIZE[0], LAW_WIDTH * len(panels)), SIZE[1])
    _draw_beside(figure, figure.add_gridspec(1, 1)[0], panels)
    return figure


def _dependences(draw: dict[str, Callable[[Any], None]]) -> list[Callable[[Any], None]]:
    return [each for kind, each in draw.items() if kind.startswith("law")]


def _draw_beside(figure: Any, place: Any, draw: Sequence[Callable[[Any], None]]) -> None:
    """Draw pictures side by side into a place of a grid."""
    for spec, each in zip(place.subgridspec(1, len(draw)), draw, strict=True):
        each(figure.add_subplot(spec))


# ---- rows --------------------------------------------------------------------------------------


def _rows(model: Any, entry: FrontEntry, X: Any, y: Any) -> Rows:
    if (X is None) != (y is None):
        raise GSRError(f"X and y go together, but {'X' if X is None else 'y'} is missing")
    table, target = _training(entry) if X is None else (_table(model, entry, X), _target(y))
    if len(table) != len(target):
        raise GSRError(f"X has {len(table)} rows, but y has {len(target)}")
    return Rows.of(entry, table, target, given_sigma(entry) if X is None else None)


def given_sigma(entry: FrontEntry) -> Array | None:
    """Return the standard deviations that were given with the training rows, None if none were."""
    data = entry.data
    if data is None or data.weights is None or not data.noise.absolute:
        return None
    return np.asarray((data.weights * data.noise.precision) ** -0.5)


def _training(entry: FrontEntry) -> tuple[Array, Array]:
    if entry.data is None:
        raise GSRError(
            "the model was loaded without its training rows: pass rows to draw as X and y"
        )
    return entry.data.X, entry.data.y


def columns_of(entry: FrontEntry, X: Any) -> Array:
    """Return the columns of a law; a data frame with labels gets the constants of its groups."""
    equation = entry.equation
    if not isinstance(equation, GroupedEquation) or isinstance(X, np.ndarray):
        return np.asarray(X, dtype=float)
    features, labels = labels_for(X, None, equation)
    return equation.augmented(np.asarray(features, dtype=float), labels)


def _table(model: Any, entry: FrontEntry, X: Any) -> Array:
    from sklearn.utils.validation import validate_data

    if isinstance(entry.equation, GroupedEquation):
        checked: Array = model._table(X, entry)[0]
        return checked
    table: Array = validate_data(model, X, dtype=np.float64, reset=False, ensure_all_finite=False)
    return table


def _target(y: Any) -> Array:
    target: Array = np.asarray(y, dtype=float)
    if target.ndim != 1:
        raise GSRError(f"y must have one dimension, but its shape is {target.shape}")
    return target


# ---- the single pictures -------------------------------------------------------------------------

#: Rows drawn at most; beyond, more points only cover each other.
MOST_POINTS = 4000
#: Terms drawn at most, and the least number of places for them.
MOST_TERMS = 10
LEAST_PLACES = 2
#: Letters of a law beside its point; longer ones are written only if marked.
LONGEST_LABEL = 44
LONGEST_TERM = 48
#: Digits of the numbers in labels, of coefficients and constants alike.
LABEL_DIGITS = 4
#: The part of the width that the histogram has.
HISTOGRAM = 0.18
DECIMALS = re.compile(r"(?<![\w.])\d+\.\d+(?:e-?\d+)?")
DASHED: Any = (0, (4, 3))


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows to draw, with what the law says about them."""

    X: Array
    y: Array
    prediction: Array
    n_missing: int
    n_rows: int
    #: Standard deviations of y, if they are known.
    sigma: Array | None = None

    @classmethod
    def of(cls, entry: FrontEntry, X: Array, y: Array, sigma: Array | None = None) -> Rows:
        """Predict the rows, or a sample of them."""
        table, target = sampled(X), sampled(y)
        prediction = entry.equation.solution(table).values
        good = np.isfinite(prediction) & np.isfinite(target)
        known = None if sigma is None else sampled(sigma)[good]
        n_missing = int((~good).sum())
        return cls(table[good], target[good], prediction[good], n_missing, len(y), known)

    @property
    def r2(self) -> str:
        """R2 with two digits of what it leaves; empty if y does not vary."""
        spread = float(np.sum((self.y - self.y.mean()) ** 2)) if len(self.y) else 0.0
        if not spread > 0.0:
            return ""
        unexplained = float(np.sum((self.y - self.prediction) ** 2)) / spread
        if not unexplained > np.finfo(float).eps:
            return "1"
        digits = max(3, 1 - math.floor(math.log10(unexplained)))
        return f"{1.0 - unexplained:.{digits}f}".replace("-", "\N{MINUS SIGN}")

    @property
    def note(self) -> str:
        """What the title says about rows left out."""
        n, drawn = self.n_missing, self.n_missing + len(self.y)
        told = f" ({n:,} of {drawn:,} rows left out: no prediction)" if n else ""
        return told + (f" (sample of {self.n_rows:,} rows)" if self.n_rows > drawn else "")


def sampled(values: Array, most: int = MOST_POINTS) -> Array:
    """Return the rows to draw, the same of every array."""
    if len(values) <= most:
        return values
    rows = np.random.default_rng(0).choice(len(values), most, replace=False)
    return np.asarray(values[np.sort(rows)])


# ---- the front ---------------------------------------------------------------------------------


def front(ax: Axes, entries: Sequence[FrontEntry], entry: FrontEntry) -> None:
    """Draw error against complexity, with `entry` marked."""
    from matplotlib.ticker import MaxNLocator

    error = f"{entry.error_name} of {_name(entry)}"
    style(ax, "Error against complexity", "complexity (nodes)", error)
    nodes, heights, floor = _places(entries)
    if not len(nodes):
        write(ax, 0.5, 0.5, "no law has a finite error", ha="center")
        return
    ax.plot(nodes, heights, color=MAIN, linewidth=1.2, alpha=0.45, zorder=2)
    ax.plot(nodes, heights, "o", color=MAIN, markersize=5, zorder=3)
    marked = [k for k, each in enumerate(_finite(entries)) if each is entry]
    ax.plot(
        nodes[marked], heights[marked], "o", color=PICK, markersize=9, markeredgecolor=INK,
        markeredgewidth=0.8, zorder=4,
    )  # fmt: skip
    drawing.log_axis(ax, heights, floor)
    room = float(np.ptp(nodes)) or 4.0
    ax.set_xlim(nodes[0] - 0.06 * room, nodes[-1] + 0.2 * room)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def label_front(ax: Axes, entries: Sequence[FrontEntry], entry: FrontEntry) -> None:
    """Write laws beside their points, the marked one first; call it when the layout is done."""
    nodes, heights, _ = _places(entries)
    kept = _finite(entries)
    texts = [_brief(str(each.equation)) for each in kept]
    order = [k for k, each in enumerate(kept) if each is entry]
    order += [k for k in range(len(kept)) if k not in order and len(texts[k]) <= LONGEST_LABEL]
    texts = [plain(each, LONGEST_LABEL) for each in texts]
    if len(nodes):
        drawing.place_labels(ax, np.column_stack([nodes, heights]), texts, order)


def front_points(entries: Sequence[FrontEntry]) -> list[tuple[float, float, int]]:
    """Return where `front` draws each law: its complexity, its height and its place."""
    nodes, heights, _ = _places(entries)
    numbers = [k for k, each in enumerate(entries) if math.isfinite(each.rmse)]
    return list(zip(nodes.tolist(), heights.tolist(), numbers, strict=True))


def _finite(entries: Sequence[FrontEntry]) -> list[FrontEntry]:
    return [each for each in entries if math.isfinite(each.rmse)]


def _places(entries: Sequence[FrontEntry]) -> tuple[Array, Array, float | None]:
    kept = _finite(entries)
    exact = [each.exact for each in kept]
    heights, floor = drawing.log_heights([each.rmse for each in kept], exact)
    return np.array([each.complexity for each in kept], dtype=float), heights, floor


def _brief(law: str) -> str:
    """Return a law with few digits of each number; what is between backticks is a name."""
    parts = law.split("`")
    parts[::2] = [DECIMALS.sub(_shorter, part) for part in parts[::2]]
    return "`".join(parts)


def _shorter(found: re.Match[str]) -> str:
    value = float(found[0])
    short = shortened(value, LABEL_DIGITS)
    # What is not 1 must not read as the 1 that is never written as a factor.
    return f"{value:#.{LABEL_DIGITS}g}" if short == "1" else short


# ---- rows --------------------------------------------------------------------------------------


def fit(ax: Axes, entry: FrontEntry, rows: Rows) -> None:
    """Draw prediction against measurement, with the diagonal."""
    name = _name(entry)
    style(ax, f"Predicted against measured{rows.note}", f"{name}, measured", f"{name}, predicted")
    if not len(rows.y):
        return
    low = min(rows.y.min(), rows.prediction.min())
    high = max(rows.y.max(), rows.prediction.max())
    ends = np.array([low, high]) + np.array([-0.04, 0.04]) * ((high - low) or 1.0)
    ax.plot(ends, ends, color=MUTED, linewidth=0.9, zorder=2)
    ax.plot(rows.y, rows.prediction, "o", zorder=3, **dots(len(rows.y)))
    ax.set(xlim=tuple(ends), ylim=tuple(ends))
    for axis in (ax.xaxis, ax.yaxis):
        drawing.number_axis(axis)
    quality = f"RMSE {number(math.sqrt(float(np.mean((rows.y - rows.prediction) ** 2))))}"
    quality += f"\nR² {rows.r2}" if rows.r2 else ""
    write(ax, 0.04, 0.96, quality, va="top", linespacing=1.5)


def residuals(ax: Axes, entry: FrontEntry, rows: Rows) -> None:
    """Draw what is left against the prediction, with two standard deviations and a histogram."""
    title = "Residuals, at rounding" if entry.exact else "Residuals"
    style(ax, f"{title}{rows.note}", f"{_name(entry)}, predicted", "measured − predicted")
    if not len(rows.y):
        return
    error = rows.y - rows.prediction
    sigma = math.sqrt(float(np.mean(error**2)))
    ax.axhline(0.0, color=MUTED, linewidth=0.9, zorder=2)
    ax.plot(rows.prediction, error, "o", zorder=3, **dots(len(error)))
    reach = 1.15 * max(float(np.abs(error).max()), 2.0 * sigma) or 1.0
    ax.set_ylim(-reach, reach)
    across = ax.get_yaxis_transform()
    for side, label in ((-2.0, "−2σ"), (2.0, "+2σ")) if sigma > 0 else ():
        ax.axhline(side * sigma, color=MUTED, linewidth=0.9, linestyle=DASHED, zorder=2)
        above = "bottom" if side > 0 else "top"
        write(ax, 0.995, side * sigma, label, ha="right", va=above, transform=across)
    for axis in (ax.xaxis, ax.yaxis):
        drawing.number_axis(axis)
    _histogram(ax, rows.prediction, error)


def _histogram(ax: Axes, prediction: Array, error: Array) -> None:
    """Draw the histogram of the residuals into the right of the axes, beyond the points."""
    low, high = float(prediction.min()), float(prediction.max())
    width = (high - low) or 1.0
    margin = 0.04 * width
    ax.set_xlim(low - margin, high + margin + (width + 2 * margin) * HISTOGRAM / (1 - HISTOGRAM))
    ax.set_xticks([tick for tick in ax.get_xticks() if low - margin <= tick <= high + margin])
    beside = ax.inset_axes((1.0 - HISTOGRAM, 0.0, HISTOGRAM, 1.0), sharey=ax)
    bins = int(np.clip(math.sqrt(len(error)), 5, 30))
    counts, *_ = beside.hist(error, bins=bins, orientation="horizontal", color=MAIN, alpha=0.5)
    beside.set_xlim(0.0, 1.35 * float(np.max(counts)))
    beside.set_axis_off()


# ---- time --------------------------------------------------------------------------------------


def convergence(ax: Axes, history: Sequence[Progress], exact: bool, name: str) -> None:
    """Draw the best error against time; the last of an exact law is at rounding."""
    style(ax, "Best error against time", "seconds", f"RMSE of {plain(name)}")
    history = [each for each in history if each.rmse < math.inf]
    if not history:
        write(ax, 0.5, 0.5, "no history was kept", ha="center")
        return
    low = [exact and each.rmse == history[-1].rmse for each in history]
    heights, floor = drawing.log_heights([each.rmse for each in history], low)
    seconds = [each.seconds for each in history]
    ax.step(seconds, heights, where="post", color=MAIN, linewidth=1.6, zorder=3)
    ax.plot(seconds, heights, "o", color=MAIN, markersize=3.5, zorder=3)
    ax.plot(seconds[-1:], heights[-1:], "o", color=PICK, markersize=7, zorder=4)
    drawing.log_axis(ax, heights, floor)
    drawing.number_axis(ax.xaxis)
    ax.set_xlim(0.0, 1.06 * max(seconds) or 1.0)
    told = f"{history[-1].evaluations:,} evaluations in {number(seconds[-1])} s"
    write(ax, 0.97, 0.96, told, ha="right", va="top")


# ---- terms -------------------------------------------------------------------------------------


def terms(ax: Axes, entry: FrontEntry, X: Array) -> None:
    """Draw what each term adds to g(y) over the rows, greatest share first."""
    law = entry.equation
    with np.errstate(all="ignore"):
        values = evaluate(law.phi, law.library, X) * law.alpha if law.phi else np.empty((len(X), 0))
    good = np.isfinite(values).all(axis=1)
    n = int((~good).sum())
    note = f" ({n} of {len(X)} rows left out: undefined)" if n else ""
    left = law.left_side()
    scale = f"contribution to {plain(left)}"
    if left != shown_name(law.target_name):
        scale += ", on the scale of the law's left side"
    style(ax, f"What each term adds{note}", scale)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(False, axis="y")
    if values[good].size:
        names = (plain(_brief(term), LONGEST_TERM) for term in law.feature_terms())
        _spans(ax, [name.replace("-", "−", 1) for name in names], values[good])
    else:
        write(ax, 0.5, 0.5, "nothing to draw", ha="center")


def _spans(ax: Axes, names: Sequence[str], values: Array) -> None:
    """Draw the range, the middle half and the median of each column, with its share."""
    sizes = np.abs(values).mean(axis=0)
    shares = sizes / (sizes.sum() or 1.0)
    order = np.argsort(-shares, kind="stable")[:MOST_TERMS]
    across = ax.get_yaxis_transform()
    for place, k in enumerate(order):
        low, first, middle, third, high = np.quantile(values[:, k], (0, 0.25, 0.5, 0.75, 1))
        height = [place, place]
        ax.plot([0.0, 0.0], [place - 0.2, place + 0.2], color=MUTED, linewidth=0.9, zorder=1)
        ax.plot([low, high], height, color=MAIN, linewidth=1.4, alpha=0.6, zorder=2)
        ax.plot([first, third], height, color=MAIN, linewidth=6, solid_capstyle="butt", zorder=3)
        ax.plot([middle], [place], "o", color=PICK, markersize=5, zorder=4)
        write(ax, 0.0, place - 0.28, names[k], transform=across, color=INK)
        told = f"{100 * float(shares[k]):.3g} %"
        write(ax, 1.0, place - 0.28, told, transform=across, ha="right")
    ax.set_ylim(max(len(order), LEAST_PLACES) - 0.2, -0.8)
    drawing.number_axis(ax.xaxis)
    told = "line: all rows · bar: middle half · dot: median · %: share of the sizes"
    write(ax, 1.0, 0.0, told, ha="right", va="bottom", fontsize=drawing.SMALL_SIZE - 1.5)


def _name(entry: FrontEntry) -> str:
    return plain(entry.equation.target_name)
