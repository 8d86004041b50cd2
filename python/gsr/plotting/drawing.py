"""How the pictures look: colours, text, scales and labels that do not cover each other."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr.encoding import latex
from gsr.exceptions import GSRError
from gsr.transformation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gsr.equation import Equation

#: Colours that people with any colour vision can tell apart, and greys.
MAIN = "#0072b2"
PICK = "#d55e00"
INK = "#222b34"
MUTED = "#5d6873"
FAINT = "#d9dee3"

#: Points; everything is drawn at the size at which it is read.
TITLE_SIZE = 10.5
LABEL_SIZE = 9.0
SMALL_SIZE = 8.0
LONGEST_NAME = 34
#: Letters of a law that is set as a formula, and digits of its constants.
LONGEST_TYPESET = 70
LAW_DIGITS = 4
#: A law at rounding stands this far below the others, in parts of their range (in decades).
GAP = 0.22
LEAST_GAP = 0.5


def new_figure(width: float, height: float) -> Figure:
    """Return a figure that belongs to no window and shows itself in a notebook."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise GSRError("plots need matplotlib: pip install matplotlib") from error

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            from io import BytesIO

            buffer = BytesIO()
            self.savefig(buffer, format="png", dpi=144)
            return buffer.getvalue()

    return Picture(figsize=(width, height), layout="constrained", facecolor="white")


def plain(name: object, longest: int = LONGEST_NAME) -> str:
    """Return a name or a law as one line of bounded length."""
    shown = "".join(
        " " if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") else letter
        for letter in str(name)
    )
    return shown if len(shown) <= longest else shown[: longest - 1].rstrip() + "…"


def style(ax: Axes, title: str, x: str = "", y: str = "") -> Any:
    """Give the axes a title and labels, which are never parsed, and a quiet frame.

    Returns the text of the title.
    """
    literal: dict[str, Any] = {"parse_math": False, "usetex": False}
    found = ax.set_title(
        title, loc="left", fontsize=TITLE_SIZE, color=INK, fontweight="bold", pad=8, **literal
    )
    ax.set_xlabel(x, fontsize=LABEL_SIZE, color=INK, **literal)
    ax.set_ylabel(y, fontsize=LABEL_SIZE, color=INK, **literal)
    ax.tick_params(which="both", labelsize=SMALL_SIZE, color=FAINT, labelcolor=MUTED, length=3)
    ax.tick_params(which="minor", length=0)
    ax.set_facecolor("none")
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FAINT)
    ax.grid(True, which="major", color=FAINT, linewidth=0.6, alpha=0.6)
    ax.set_axisbelow(True)
    return found


def write(ax: Axes, x: float, y: float, text: str, **options: Any) -> Any:
    """Write literal text, in parts of the axes unless `transform` says otherwise."""
    settings = {
        "transform": ax.transAxes, "fontsize": SMALL_SIZE, "color": MUTED, "parse_math": False,
        "usetex": False, **options,
    }  # fmt: skip
    return ax.text(x, y, text, **settings)


def typeset(place: Any, law: Equation, longest: int = LONGEST_TYPESET) -> None:
    """Put a law in the place of a text, set as a formula if it is short and can be."""
    from matplotlib.mathtext import MathTextParser

    shown = str(law)
    formula = "$" + " = ".join(latex.side(terms, LAW_DIGITS) for terms in law.terms()) + "$"
    place.set_text(plain(shown, longest))
    if len(shown) > longest or not formula.isascii():
        return
    try:
        MathTextParser("path").parse(formula)
    except ValueError:
        return
    place.set_text(formula)
    place.set_parse_math(True)
    place.set_fontsize(1.15 * place.get_fontsize())


def dots(n: int) -> dict[str, Any]:
    """Return how so many measurements are drawn."""
    size = 5.0 if n <= 60 else 3.6 if n <= 600 else 2.6
    alpha = 0.85 if n <= 60 else 0.6 if n <= 600 else 0.35
    return {"color": MAIN, "markersize": size, "alpha": alpha, "markeredgewidth": 0}


def log_heights(errors: Sequence[float], at_rounding: Sequence[bool]) -> tuple[Array, float | None]:
    """Return where errors stand on a logarithmic axis, and where those at rounding do."""
    values = np.asarray(errors, dtype=float)
    low = np.asarray(at_rounding, dtype=bool) | ~(values > 0.0)
    if not low.any():
        return values, None
    if low.all():
        return np.ones(len(values)), 1.0
    above = np.log10(values[~low])
    floor = 10.0 ** float(above.min() - max(LEAST_GAP, GAP * float(np.ptp(above))))
    return np.where(low, floor, values), floor


def log_axis(ax: Axes, heights: Array, floor: float | None) -> None:
    """Make the y axis logarithmic; the tick at `floor` is called exact."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    logs = np.log10(heights)
    margin = max(0.12, 0.07 * float(np.ptp(logs)))
    low, high = 10.0 ** (float(logs.min()) - margin), 10.0 ** (float(logs.max()) + margin)
    ax.set_yscale("log")
    ax.set_ylim(low, high)
    least = low if floor is None else floor * 10.0 ** (0.5 * LEAST_GAP)
    subs = (1.0,) if math.log10(high / least) > 1.5 else (1.0, 2.0, 5.0)
    ticks = [t for t in LogLocator(subs=subs, numticks=8).tick_values(least, high) if t >= least]
    ticks = [t for t in ticks if t <= high]
    if floor is not None:
        ticks.append(floor)
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: "exact" if v == floor else number(v)))


def number(value: float) -> str:
    """Return a number of few digits with a true minus sign, for a tick or a note."""
    shown = f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return shown.replace("-", "\N{MINUS SIGN}")


def number_axis(axis: Any) -> None:
    """Write whole numbers at the ticks of an axis, without a factor at its end."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda v, _: number(v)))


def place_labels(ax: Axes, points: Array, texts: Sequence[str], order: Sequence[int]) -> None:
    """Write texts beside falling points, each where it covers no point, line or other text."""
    figure: Any = ax.figure.figure
    figure.draw_without_rendering()
    seen = ax.transData.transform(points)
    taken: list[Any] = [_around(x, y, 5.0) for x, y in seen]
    for here, there in pairwise(seen):
        steps = max(2, int(np.hypot(*(there - here)) / 4.0))
        taken += [_around(x, y, 1.0) for x, y in np.linspace(here, there, steps)]
    for place, k in enumerate(order):
        # The first is the one that matters: rather shortened than left out.
        lengths = (len(texts[k]), *SHORTER) if place == 0 else (len(texts[k]),)
        tried = (_place(ax, points[k], plain(texts[k], length), taken) for length in lengths)
        taken += islice(filter(None, tried), 1)


SHORTER = (34, 24, 16)
#: Offsets in points, with the side of the text that is held: above right, right, below left.
OFFSETS = (
    (6, 4, "left", "bottom"),
    (9, 0, "left", "center"),
    (6, 9, "left", "bottom"),
    (-6, -6, "right", "top"),
)


def _place(ax: Axes, point: Array, text: str, taken: Sequence[Any]) -> Any:
    inside = ax.get_window_extent().padded(4.0)
    for dx, dy, side, height in OFFSETS:
        label = ax.annotate(
            text, (point[0], point[1]), xytext=(dx, dy), textcoords="offset points", ha=side,
            va=height, fontsize=SMALL_SIZE, color=INK, parse_math=False, usetex=False,
        )  # fmt: skip
        box = label.get_window_extent().padded(1.0)
        held = inside.count_contains([box.min, box.max]) == 2
        if held and not any(box.overlaps(other) for other in taken):
            label.set_in_layout(False)
            return box
        label.remove()
    return None


def _around(x: float, y: float, radius: float) -> Any:
    from matplotlib.transforms import Bbox

    return Bbox([[x - radius, y - radius], [x + radius, y + radius]])
