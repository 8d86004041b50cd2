"""Pictures of a report: SVG that stands in the page and follows its colours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from gsr.plotting import drawing
from gsr.plotting import pictures as drawn
from gsr.report.origin import Target
from gsr.search import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def pictures(target: Target, key: str) -> list[Picture]:
    """Return all pictures that can be drawn of a target; `key` makes their names unique."""
    return [
        Picture(_svg(draw, f"{key}-{k}", told, finish), told)
        for k, (draw, told, finish) in enumerate(_drawings(target))
    ]


def history_picture(history: Sequence[Progress], key: str) -> Picture:
    """Return the picture of a search that has no law yet."""
    told = "The error of the best law so far, against time."
    draw = partial(drawn.convergence, history=history, exact=False, name="the target")
    return Picture(_svg(draw, key, told), told)


Drawing = tuple[Callable[[Any], None], str, Callable[[Any], None] | None]


def _drawings(target: Target) -> Iterator[Drawing]:
    entry, name = target.entry, target.name
    shown: dict[str, Any] = {"entries": target.model.front_, "entry": entry}
    yield (
        partial(drawn.front, **shown),
        f"Each point is a law: its error in {name} against its complexity. The chosen one is "
        "orange.",
        partial(drawn.label_front, **shown),
    )
    if target.X is not None and target.y is not None:
        rows = drawn.Rows.of(entry, target.X, target.y)
        yield (
            partial(drawn.fit, entry=entry, rows=rows),
            f"What the law predicts for {name} against what was measured; on the line they agree.",
            None,
        )
        yield (
            partial(drawn.residuals, entry=entry, rows=rows),
            "What the law leaves, against what it predicts; between the dashed lines are two "
            "standard deviations. At the right is the histogram.",
            None,
        )
        yield (
            partial(drawn.terms, entry=entry, X=rows.X),
            "What each term adds, on the scale of the law's left side, over the rows.",
            None,
        )
    if target.history:
        exact = any(each.exact for each in target.model.front_)
        yield (
            partial(drawn.convergence, history=target.history, exact=exact, name=name),
            "The error of the best law so far, against time.",
            None,
        )


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
