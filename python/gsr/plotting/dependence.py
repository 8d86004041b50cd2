"""Data, curve and band against a feature; against one of several, its partial dependence."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr.exceptions import GSRError, PredictionWarning
from gsr.groups.law import GroupedEquation
from gsr.plotting.drawing import (
    MAIN,
    MUTED,
    PICK,
    SMALL_SIZE,
    dots,
    number_axis,
    plain,
    style,
    typeset,
    write,
)
from gsr.selection import FrontEntry
from gsr.selection.fitted import FAILURES
from gsr.transformation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gsr.plotting import Rows

#: Places along a feature, and rows that a partial dependence averages over.
PLACES, AVERAGED = 200, 100
#: Features that have a picture.
MOST_FEATURES = 4
#: Groups that a legend lists.
MOST_LABELS = 10
LEVEL = 0.95
#: Part of the range by which the curve goes on beyond the data.
BEYOND = 0.03


def features(entry: FrontEntry, rows: Rows) -> list[int]:
    """Return the features of the law, the one with the greatest effect on y first."""
    n = entry.equation.n_features
    if n == 1 or not len(rows.y):
        return [0]
    curves = (_average(entry, rows, k, _along(rows.X[:, k])) for k in range(n))
    effects = [_range(curve) for curve in curves]
    ranked = sorted(range(len(effects)), key=lambda k: -effects[k])
    return [k for k in ranked if effects[k] > 0.0][:MOST_FEATURES] or ranked[:1]


def dependence(ax: Axes, entry: FrontEntry, rows: Rows, feature: int) -> None:
    """Draw the rows and the law against one feature.

    With several features, the others are averaged over, and each measurement is shifted so that its
    distance to the curve is its residual.
    """
    law = entry.equation
    name, target = plain(law.feature_names[feature]), plain(law.target_name)
    is_alone = len(law.feature_names) == 1
    title = style(ax, f"{target} against {name}{rows.note}", name, target)
    if not len(rows.y):
        return
    if isinstance(law, GroupedEquation) and law.table.letters and law.n_features == 1:
        _draw_groups(ax, entry, law, rows)
        return
    places = _along(rows.X[:, feature])
    if is_alone:
        curve, measured = _predicted(entry, places[:, None]), rows.y
        _band(ax, entry, places, curve)
    else:
        curve = _average(entry, rows, feature, places)
        there = np.interp(rows.X[:, feature], places, curve)
        measured = rows.y - rows.prediction + there
        ax.set_ylabel(f"{target}, averaged over the other features")
    ax.plot(places, curve, color=PICK, linewidth=1.8, zorder=3)
    ax.plot(rows.X[:, feature], measured, "o", zorder=4, **dots(len(measured)))
    _finish(ax, rows, rows.X[:, feature], measured, curve)
    if is_alone:
        typeset(title, entry.equation)


def _draw_groups(ax: Axes, entry: FrontEntry, law: GroupedEquation, rows: Rows) -> None:
    """Draw the rows and the curve of each group, in one colour."""
    places, table = _along(rows.X[:, 0]), law.table
    curves = [_predicted(entry, law.augmented(places[:, None], [k] * PLACES)) for k in table.labels]
    own = (rows.X[:, None, 1:] == table.values).all(axis=2)
    for label, curve, mine in zip(table.labels, curves, own.T, strict=True):
        (line,) = ax.plot(places, curve, linewidth=1.6, zorder=3, label=plain(label))
        look = dots(len(rows.y)) | {"color": line.get_color()}
        ax.plot(rows.X[mine, 0], rows.y[mine], "o", zorder=4, **look)
    _finish(ax, rows, rows.X[:, 0], rows.y, np.concatenate(curves))
    if len(table.labels) <= MOST_LABELS:
        title = plain(table.column)
        ax.legend(title=title, frameon=False, fontsize=SMALL_SIZE, title_fontsize=SMALL_SIZE)


def _finish(ax: Axes, rows: Rows, x: Array, measured: Array, curve: Array) -> None:
    """Draw the errors of the measurements, and limit the axes to what was drawn."""
    if rows.sigma is not None:
        look: dict[str, Any] = {"fmt": "none", "ecolor": MUTED, "elinewidth": 0.8, "zorder": 2}
        ax.errorbar(x, measured, rows.sigma, **look)
    _limit(ax, np.concatenate([measured, curve]))
    for axis in (ax.xaxis, ax.yaxis):
        number_axis(axis)


def _along(values: Array) -> Array:
    """Return places over the range of a feature, spread as its values are."""
    low, high = float(values.min()), float(values.max())
    margin = BEYOND * (high - low)
    if low > 0.0 and high > 100.0 * low:
        return np.geomspace(low, high, PLACES)
    return np.linspace(
        max(low - margin, 0.0) if low >= 0.0 else low - margin, high + margin, PLACES
    )


def _predicted(entry: FrontEntry, X: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PredictionWarning)
        return entry.equation.predict(X)


def _average(entry: FrontEntry, rows: Rows, feature: int, places: Array) -> Array:
    """Return the mean prediction over some rows, with the feature at each of the places."""
    some = rows.X[:: max(1, len(rows.X) // AVERAGED)]
    table = np.repeat(some[None], len(places), axis=0)
    table[:, :, feature] = places[:, None]
    values = _predicted(entry, table.reshape(-1, rows.X.shape[1])).reshape(len(places), -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of places without any prediction
        return np.asarray(np.nanmean(values, axis=1))


def _band(ax: Axes, entry: FrontEntry, places: Array, curve: Array) -> None:
    """Draw the interval of a new measurement, if it is known and wider than rounding."""
    from gsr.selection.uncertainty import prediction_interval

    good = np.isfinite(curve)
    if entry.exact or not good.any():
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PredictionWarning)
            low, high = prediction_interval(entry, places[good, None], LEVEL).T
    except (*FAILURES, GSRError):
        return
    ax.fill_between(places[good], low, high, color=MAIN, alpha=0.13, linewidth=0, zorder=1)
    told = f"band: {100 * LEVEL:g} % of new measurements"
    write(ax, 0.98, 0.03, told, ha="right", va="bottom")


def _limit(ax: Axes, values: Array) -> None:
    """Show all measurements and the curve, but not where it runs away."""
    low, high = np.nanquantile(values, [0.0, 1.0])
    margin = 0.08 * (high - low) or 1.0
    ax.set_ylim(low - margin, high + margin)


def _range(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(np.ptp(known)) if len(known) else 0.0
