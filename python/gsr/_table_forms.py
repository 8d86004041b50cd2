"""A table of equations as plain text, CSV, LaTeX and HTML."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from gsr.encoding import latex
from gsr.encoding.writing import html
from gsr.exceptions import GSRError
from gsr.selection.entry import WEIGHTED

if TYPE_CHECKING:
    from gsr.table import EquationRow

COLUMNS = (
    "pick",
    "index",
    "complexity",
    "rmse",
    "held_out",
    "score",
    "level",
    "equation",
    "explicit",
    "sympy",
    "predict",
)
#: Columns that are printed, those of a LaTeX table, and those of a file.
SHOWN = ("pick", "index", "complexity", "rmse", "held_out", "score", "level", "equation")
IN_LATEX = ("pick", "complexity", "rmse", "held_out", "score", "equation")
IN_FILES = COLUMNS[:-1]
HEADINGS = {
    "pick": "",
    "index": "#",
    "complexity": "complexity",
    "rmse": "RMSE",
    "held_out": "held out",
    "level": "residual",
    "equation": "law",
    "explicit": "closed form",
    "sympy": "SymPy",
    "predict": "callable",
}
#: What residuals say of a law.
VERDICTS = {
    "rounding": "exact",
    "noise": "within noise",
    "ambiguous": "one of several",
    "above": "structure left",
    "unknown": "too few rows",
}
TEXTUAL = ("level", "verdict", "equation", "explicit", "sympy", "predict")
#: A law has room for so many letters: other columns give way, in this order.
NARROWEST = 36
GIVE_WAY = ("level", "held_out", "score")
#: Columns of laws of different kinds, see `EquationTable.top`.
RANKED = ("pick", "index", "bits", "rmse", "verdict", "equation")
DIGITS = 4
#: Number of laws in the short form of a front.
READ = 7
#: Half transparent, so that it suits light and dark pages.
PICKED = "background:rgba(80,160,255,0.2);font-weight:bold"

Rows = Sequence["EquationRow"]


@dataclass(frozen=True)
class Look:
    """How a table is written: the mark of the chosen law, headings, and digits of numbers.

    A column without a heading is called by its name.
    """

    pick: str
    headings: Mapping[str, str]
    digits: int = DIGITS

    def heading(self, name: str, rows: Rows) -> str:
        """Return the heading of a column."""
        shown = self.headings.get(name, name)
        return f"weighted {shown}" if shown == "RMSE" and note(rows) else shown

    def cell(self, row: EquationRow, name: str) -> str:
        """Return a cell of the table; what is not known is empty."""
        value = getattr(row, name)
        if name == "pick":
            return self.pick if value else ""
        if name == "bits":
            return bits_text(value)
        if name in TEXTUAL:
            return str(value)
        if isinstance(value, float) and math.isnan(value):
            return ""
        return f"{value:.3f}" if name == "score" else f"{value:.{self.digits}g}"


PYTHON = Look(">>>", {"pick": "", "index": "#"})
PYTHON_RANKED = Look(">>>", {"pick": "", "index": "#", "equation": "law"})
TERMINAL = Look(">", {**HEADINGS, "complexity": "nodes"}, 3)
HTML = Look(">>>", HEADINGS)
PAGE = Look("", {**HEADINGS, "index": "number"})


def note(rows: Rows) -> str:
    """Return a line that says what the errors are, if rows do not all count alike in them."""
    return f"rmse is {WEIGHTED}" if any(row.entry.is_weighted for row in rows) else ""


def column(name: str) -> str:
    """Return the name of a column, or raise if it is none."""
    if name not in COLUMNS:
        raise GSRError(f"a column must be one of {', '.join(COLUMNS)}, got {name!r}")
    return name


# ---- plain text --------------------------------------------------------------------------------


def as_text(rows: Rows, names: Sequence[str], look: Look, room: int | None = None) -> str:
    """Return aligned columns.

    If they do not fit into so many letters, columns give way and laws are cut.
    """
    columns = {name: _aligned(rows, name, look) for name in names if name != "equation"}
    laws = [look.headings.get("equation", "equation"), *(row.equation for row in rows)]
    if room is not None:
        for name in ("", *GIVE_WAY):
            columns.pop(name, None)
            left = room - sum(len(cells[0]) + 2 for cells in columns.values())
            if left >= NARROWEST:
                break
        laws = [_shortened(law, max(left, NARROWEST)) for law in laws]
    lines = zip(*columns.values(), laws, strict=True)
    return "\n".join("  ".join(line).rstrip() for line in lines)


def noted(text: str, rows: Rows) -> str:
    """Return a table with its note below."""
    return "\n".join([text, *filter(None, [note(rows)])])


def terminal_width() -> int:
    """Return how many letters fit into a line; 100 where that is not known."""
    return shutil.get_terminal_size((100, 24)).columns


def bits_text(bits: float) -> str:
    """Return by how many bits a description is longer; a dash if that is not a number."""
    if not math.isfinite(bits):
        return "-"
    return f"{bits:+.1f}" if abs(bits) < 100 else f"{bits:+,.0f}"


def _aligned(rows: Rows, name: str, look: Look) -> list[str]:
    cells = [look.headings.get(name, name), *(look.cell(row, name) for row in rows)]
    width = max(map(len, cells))
    return [cell.ljust(width) if name in TEXTUAL else cell.rjust(width) for cell in cells]


def _shortened(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 3].rstrip(" .") + "..."


# ---- LaTeX -------------------------------------------------------------------------------------


def as_latex(rows: Rows, columns: Sequence[str], digits: int) -> str:
    """Return a tabular for booktabs."""
    names = [column(name) for name in columns]
    if not isinstance(digits, int) or digits < 1:
        raise GSRError(f"digits must be a whole number of at least 1, got {digits!r}")
    kinds = "".join("l" if name in TEXTUAL else "r" for name in names)
    lines = [[latex.escaped(HTML.heading(name, rows)) for name in names]]
    lines += [[_latex_cell(row, name, digits) for name in names] for row in rows]
    head, *body = [" & ".join(line) + r" \\" for line in lines]
    begin, end = rf"\begin{{tabular}}{{{kinds}}}", r"\end{tabular}"
    return "\n".join([begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end])


def _latex_cell(row: EquationRow, name: str, digits: int) -> str:
    if name == "equation":
        return f"${row.latex(digits)}$"
    value = getattr(row, name)
    if name == "pick":
        return r"$\rightarrow$" if value else ""
    if name in TEXTUAL:
        return latex.escaped(str(value))
    return latex.quantity(value, digits)


# ---- HTML --------------------------------------------------------------------------------------


def as_html(rows: Rows, names: Sequence[str]) -> str:
    """Return a table in plain HTML, which every notebook renders."""
    head = "".join(f"<th {_align(name)}>{HTML.heading(name, rows)}</th>" for name in names)
    body = "".join(_html_row(row, names) for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + (f"<p>{escape(note(rows))}</p>" if note(rows) else "")


def _html_row(row: EquationRow, names: Sequence[str]) -> str:
    style = f' style="{PICKED}"' if row.pick else ""
    line = f"<tr{style}>"
    for name in names:
        cell = html(row.equation) if name == "equation" else escape(HTML.cell(row, name))
        line += f"<td {_align(name)}>{cell}</td>"
    return f"{line}</tr>"


def _align(name: str) -> str:
    side = "left" if name in TEXTUAL else "right"
    return f'style="text-align:{side};white-space:nowrap;padding:2px 8px"'
