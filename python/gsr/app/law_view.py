"""A law as HTML and pictures, made from the components of the report."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

from gsr import plotting, report
from gsr.report import content
from gsr.report.content import MOST_ROWS, Target
from gsr.search import Progress
from gsr.selection import FrontEntry
from gsr.table import EquationRow, EquationTable
from gsr.threads import one_thread
from gsr.transformation import Array

#: The settings of matplotlib are shared by all threads.
DRAWING = threading.Lock()
#: Side of the clickable square around a point of the front, in points.
CLICKABLE = 16


@dataclass(frozen=True)
class ShownLaw:
    """A law with its front, in the form of a model that the report accepts."""

    front_: Sequence[FrontEntry]
    best_index_: int
    level_: str
    status_: str = "running"


def target_of(
    table: EquationTable,
    row: EquationRow,
    history: Sequence[Progress] = (),
    rows: tuple[Array, Array] | None = None,
) -> Target:
    """Return the content of the report for a law of a table, as if it were the chosen one.

    `rows` are the features and the target to draw, if the law does not have its training rows.
    """
    entries = [each.entry for each in table]
    if row.entry not in entries:
        entries.append(row.entry)
    data, name = row.entry.data, row.entry.equation.target_name
    model = ShownLaw(entries, entries.index(row.entry), row.level)
    rows = rows if data is None else (data.X, data.y)
    if rows is None:
        return Target(name, model, None, None, history)
    columns = plotting.columns_of(row.entry, rows[0])
    X, y = (plotting.sampled(values, MOST_ROWS) for values in (columns, rows[1]))
    return Target(name, model, X, y, history)


def formula(entry: FrontEntry, large: bool = False) -> str:
    """Return a typeset law."""
    return str(report.pieces().formula(content.law(entry.equation), large))


def details(target: Target) -> str:
    """Return the law with its verdict, constants and other forms."""
    pieces = report.pieces()
    with one_thread():
        return str(pieces.law_section(target, "law") + pieces.meaning_section(target))


def pictures(target: Target) -> str:
    """Return the pictures of a law; each point of the front is a link to its law."""
    links = partial(_draw_links, entries=target.model.front_, entry=target.entry)
    with DRAWING, one_thread():
        return str(report.pieces().figures(content.pictures(target, "law", {"front": links})))


def _draw_links(ax: Any, entries: Sequence[FrontEntry], entry: FrontEntry) -> None:
    plotting.front(ax, entries, entry)
    for node, height, k in plotting.front_points(entries):
        ax.plot([node], [height], "s", markersize=CLICKABLE, alpha=0.0, zorder=9, url=f"#{k}")


def comparison(rows: Sequence[EquationRow]) -> str:
    """Return a table of laws side by side."""
    facts = {
        "law": [formula(row.entry) for row in rows],
        rows[0].entry.error_name: [f"{row.rmse:.4g}" for row in rows],
        "left-out rows": [f"{row.held_out:.4g}" for row in rows],
        "complexity": [f"{row.complexity} nodes" for row in rows],
        "constants": [str(row.entry.n_constants) for row in rows],
        "verdict": [row.verdict for row in rows],
        "constants, 95 %": [_constants(row.entry) for row in rows],
    }
    head = "".join(f'<th scope="col">law {row.index}{" (chosen)" * row.pick}</th>' for row in rows)
    lines = (
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for name, cells in facts.items()
    )
    return (
        f'<div class="scroll" tabindex="0"><table class="compared"><thead><tr><td></td>{head}</tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _constants(entry: FrontEntry) -> str:
    known = content.constants(entry)
    if known is None:
        return "not known"
    short = content.limited
    return "<br>".join(
        f"{escape(name)}: {short(value)} ({short(low)} to {short(high)})"
        for name, (value, low, high) in known.items()
    )
