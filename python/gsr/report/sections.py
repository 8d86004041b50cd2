"""What the sections of a report say and show about a target and about the data."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gsr import plotting
from gsr._table_forms import PAGE
from gsr.encoding.writing import number as digits
from gsr.encoding.writing import shown_name
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.plotting import drawing
from gsr.plotting.drawing import number
from gsr.report import mathml
from gsr.report.origin import Target
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.selection.rounding import Rounded
from gsr.transformation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def law(equation: Equation) -> dict[str, Any]:
    """Return a law as text and as formulas between which lines may break."""
    return {"text": str(equation), "parts": mathml.lines(equation)}


def solved(equation: Equation, form: Any) -> dict[str, Any]:
    """Return target = form likewise."""
    name = equation.target_name
    return {"text": f"{name} = {form}", "parts": mathml.solved(name, form)}


def is_solved(equation: Equation) -> bool:
    """Tell whether the left side of a law is the target itself."""
    return str(equation).startswith(f"{shown_name(equation.target_name)} = ")


def rounded(entry: FrontEntry) -> Rounded | None:
    """Return the constants near simple numbers, None if they are not known."""
    try:
        _ = entry.rounded_equation
        return entry.rounded
    except GSRError:
        return None


def constants(entry: FrontEntry) -> dict[str, tuple[float, float, float]] | None:
    """Return the constants with their intervals, None if they are not known."""
    try:
        return entry.intervals(0.95)
    except GSRError:
        return None


def point(entry: FrontEntry, where: Sequence[float]) -> str:
    """Return the values of the features at a point."""
    names = zip(entry.equation.feature_names, where, strict=False)
    return ", ".join(f"{name} = {number(float(value))}" for name, value in names)


def limited(value: float) -> str:
    """Return a number with few digits."""
    return digits(float(value)).replace("-", "−") if math.isfinite(value) else "not determined"


def ends(values: Array) -> tuple[float, ...]:
    """Return the least, the median and the greatest of the values that are known."""
    finite = values[np.isfinite(values)]
    return (finite.min(), np.median(finite), finite.max()) if len(finite) else (math.nan,) * 3


# ---- pictures: SVG that stands in the page and follows its colours -------------------------------

#: Inches; on a telephone the letters are as large as those of a note.
SIZE = (4.4, 3.3)
#: Colours of the pictures, and the page's names for them.
COLOURS = {
    drawing.INK: "ink",
    drawing.MUTED: "muted",
    drawing.FAINT: "line",
    drawing.MAIN: "main",
    drawing.PICK: "pick",
}


class Picture(NamedTuple):
    """An SVG element and what is seen in it."""

    svg: str
    caption: str


#: What is seen in the pictures of a target, which has the place of ``{}``.
CAPTIONS = {
    "front": "Each point is a law: its error in {} against its complexity. The chosen one is "
    "orange.",
    "fit": "What the law predicts for {} against what was measured; on the line they agree.",
    "residuals": "What the law leaves, against what it predicts; between the dashed lines are two "
    "standard deviations. At the right is the histogram.",
    "terms": "What each term adds, on the scale of the law's left side, over the rows.",
    "convergence": "The error of the best law so far, against time.",
}


def pictures(target: Target, key: str) -> list[Picture]:
    """Return all pictures that can be drawn of a target; `key` makes their names unique."""
    front, entry = target.model.front_, target.entry
    draw = plotting.drawings(target.model, entry, target.history, target.rows)
    if not target.history:
        del draw["convergence"]
    finish = {"front": partial(plotting.label_front, entries=front, entry=entry)}
    found = []
    for k, kind in enumerate(each for each in CAPTIONS if each in draw):
        told = CAPTIONS[kind].format(target.name)
        found.append(Picture(_svg(draw[kind], f"{key}-{k}", told, finish.get(kind)), told))
    return found


def history_picture(history: Sequence[Progress], key: str) -> Picture:
    """Return the picture of a search that has no law yet."""
    told = CAPTIONS["convergence"]
    draw = partial(plotting.convergence, history=history, exact=False, name="the target")
    return Picture(_svg(draw, key, told), told)


def _svg(
    draw: Callable[[Axes], None],
    key: str,
    told: str,
    finish: Callable[[Axes], None] | None = None,
) -> str:
    from io import StringIO

    figure = drawing.new_figure(*SIZE)
    import matplotlib

    ax = figure.add_subplot()
    draw(ax)
    if finish is not None:
        finish(ax)
    text = StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inlined(text.getvalue(), key, told)


def _inlined(text: str, key: str, told: str) -> str:
    """Return the SVG element alone, with names of its own and the colours of the page."""
    _, opening, rest = text.partition("<svg ")
    svg = re.sub(r"<metadata>.*?</metadata>", "", opening + rest, flags=re.DOTALL)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None, "matplotlib writes a viewBox"
    label = f'role="img" aria-label="{escape(told)}"'
    head = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {box[0]} {label}>'
    svg = re.sub(r"<svg [^>]*>", lambda _: head, svg, count=1)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{key}-{m[1]}"' * (m[1] in used), svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{key}-", svg)
    for colour, name in COLOURS.items():
        svg = svg.replace(colour, f"var(--{name})")
    return re.sub(r"\n\s*", "\n", svg).strip()


#: What the template calls.
FILTERS: dict[str, Callable[..., Any]] = {
    "law": law,
    "solved": solved,
    "is_solved": is_solved,
    "rounded": rounded,
    "constants": constants,
    "point": point,
    "limited": limited,
    "ends": ends,
    "pictures": pictures,
    "heading": PAGE.heading,
    "cell": lambda row, name: PAGE.cell(row, name),
}
