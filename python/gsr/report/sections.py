"""What the sections of a report say and show about a target and about the data."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gsr import plotting
from gsr._table_forms import PAGE, VERDICTS
from gsr.encoding.writing import number as digits
from gsr.encoding.writing import shown_name
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.plotting import determination, drawing
from gsr.plotting.drawing import number
from gsr.report import mathml
from gsr.report.origin import Source, Target
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.selection.choice import WEIGHTED
from gsr.selection.constant_names import CONSTANT
from gsr.table import EquationTable
from gsr.wording import LEVELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

View = dict[str, Any]


def target(found: Target, k: int) -> View:
    """Return what the page shows of a target; `k` makes its names unique."""
    entry, level = found.entry, found.model.level_
    equation = entry.equation
    return {
        "name": found.name,
        "key": f"target-{k}",
        "law": {**_law(equation), "latex": equation.latex()},
        "verdict": LEVELS[level].sentence,
        "care": level not in ("rounding", "noise"),
        "cautions": cautions(found),
        "numbers": _numbers(found),
        "solved": _solved(equation),
        "is_solved": str(equation).startswith(f"{shown_name(equation.target_name)} = ")
        and len(equation.explicit()) == 1,
        "rounded": _rounded(entry),
        "constants": _constants(entry),
        "front": _front(found.model.equations_),
        "pictures": _pictures(found, f"p{k}"),
        "has_rows": found.X is not None,
    }


def _formula(text: str, parts: Sequence[str]) -> View:
    return {"text": text, "parts": parts}


def _law(equation: Equation) -> View:
    return _formula(str(equation), mathml.lines(equation))


def _pictures(found: Target, key: str) -> list[Any] | None:
    if find_spec("matplotlib") is None:
        return None
    return pictures(found, key)


# ---- the law -----------------------------------------------------------------------------------


def _numbers(target: Target) -> dict[str, str]:
    entry = target.entry
    found = {
        f"{entry.error_name} of {target.name}": "0, to rounding"
        if entry.exact
        else f"{entry.rmse:.4g}",
        "leaves": VERDICTS[target.model.level_],
        "complexity": f"{entry.complexity} nodes",
        "constants": f"{entry.n_constants}",
    }
    if entry.held_out is not None:
        found["RMSE on held-out rows"] = f"{entry.held_out:.4g}"
    rows = target.rows
    if rows is not None and not rows.n_missing and np.ptp(rows.y) > 0:
        spread = float(np.sum((rows.y - rows.y.mean()) ** 2))
        error = float(np.sum((rows.y - rows.prediction) ** 2))
        found["R²"] = determination(error / spread)
    return found


def cautions(target: Target) -> list[tuple[str, str]]:
    """Return what to take care of, as (heading, sentence)."""
    entry, found = target.entry, []
    poles = entry.poles
    if poles.verdict == "unsafe":
        where = "" if poles.where is None else f", for example at {_point(entry, poles.where)}"
        found.append(
            ("Pole.", f"Within the range of the training rows the law is undefined or unbounded"
             f"{where}: {poles.reason}. Do not trust it near there.")
        )  # fmt: skip
    elif poles.verdict == "unknown":
        reason = f": {poles.reason}" if poles.reason else ""
        found.append(
            ("Poles.", "It is not known whether the law is defined everywhere within the range of "
             f"the training rows{reason}.")
        )  # fmt: skip
    rows = target.rows
    if rows is not None and rows.n_missing:
        told = f"For {rows.n_missing} of {rows.n_rows} rows the law gives none."
        found.append(("No prediction.", told))
    if getattr(target.model, "status_", "") == "interrupted":
        found.append(("Interrupted.", "The search was stopped early: these are its best so far."))
    return found


def _point(entry: FrontEntry, where: Any) -> str:
    names = zip(entry.equation.feature_names, where, strict=False)
    return ", ".join(f"{name} = {number(float(value))}" for name, value in names)


# ---- forms and constants -----------------------------------------------------------------------


def _solved(equation: Equation) -> list[View]:
    name = equation.target_name
    forms = equation.explicit()
    return [_formula(f"{name} = {form}", mathml.solved(name, form)) for form in forms]


def _rounded(entry: FrontEntry) -> View | None:
    try:
        found, equation = entry.rounded, entry.rounded_equation
    except GSRError:
        return None
    if not found.any:
        return {"remark": "No constant is near a simple number that the data agree with."}
    if str(equation) == str(entry.equation):
        return {"remark": "The constants are simple numbers already."}
    errors = "" if entry.exact else f"RMSE {found.law.rmse:.4g}, against {entry.rmse:.4g}"
    return {"remark": "", "law": _law(equation), "errors": errors}


def _constants(entry: FrontEntry) -> list[View] | None:
    try:
        found = entry.intervals(0.95)
    except GSRError:
        return None
    return [
        {
            **_constant_name(name),
            **dict(zip(("value", "low", "high"), map(_limited, ends), strict=True)),
        }
        for name, ends in found.items()
    ]


def _constant_name(name: str) -> View:
    """Return the name of a constant as words and a term."""
    words = "coefficient of "
    if name.startswith(words):
        return {"words": words, "term": name.removeprefix(words)}
    return {"words": name, "term": ""} if name == CONSTANT else {"words": "", "term": name}


def _limited(value: float) -> str:
    return digits(float(value)).replace("-", "−") if math.isfinite(value) else "not determined"


# ---- the front ---------------------------------------------------------------------------------


def _front(laws: EquationTable) -> View:
    held = all(row.entry.held_out is not None for row in laws)
    names = ("index", "complexity", "rmse", *(["held_out"] if held else []))
    heads = [PAGE.heading(name, laws) for name in names]
    rows = [
        {
            "pick": row.pick,
            "cells": [
                (head, PAGE.cell(row, name)) for head, name in zip(heads, names, strict=True)
            ],
            "law": _law(row.entry.equation),
        }
        for row in laws
    ]
    is_weighted = any(row.entry.is_weighted for row in laws)
    return {"heads": heads, "rows": rows, "note": f" Errors are {WEIGHTED}." * is_weighted}


# ---- the data ----------------------------------------------------------------------------------


def data(source: Source) -> View:
    """Return rows, columns and their ranges."""
    targets = {target.name for target in source.targets}
    kept = max((len(values) for values in source.columns.values()), default=0)
    if kept:
        some = f" The ranges are those of {kept:,} of them." if kept < source.n_rows else ""
        size = f"{source.n_rows:,} rows, {len(source.columns)} columns.{some}"
    elif source.n_rows:
        size = f"{source.n_rows:,} rows; none of them is kept here."
    else:
        size = "The rows are not kept here."
    columns = [_column(name, values, targets) for name, values in source.columns.items()]
    return {"origin": _origin(source), "size": size, "columns": columns if kept else []}


def _origin(source: Source) -> dict[str, str]:
    found = source.result.get("data")
    facts = found if isinstance(found, dict) else {"path": found} if found else {}
    names = {"path": "File", "sha256": "SHA-256"}
    return {name: str(facts[key]) for key, name in names.items() if facts.get(key)}


def _column(name: str, values: Any, targets: set[str]) -> View:
    finite = values[np.isfinite(values)]
    ends = (finite.min(), np.median(finite), finite.max()) if len(finite) else (math.nan,) * 3
    kind = "target" if name in targets else "feature"
    return {"name": name, "kind": kind, "ends": list(map(_limited, ends))}


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
