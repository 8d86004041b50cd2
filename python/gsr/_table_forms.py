"""A table of equations as plain text, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
import math
import shutil
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from gsr.encoding import latex
from gsr.encoding.writing import html
from gsr.exceptions import GSRError
from gsr.selection.choice import WEIGHTED

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
    "score": "score",
    "level": "leaves",
    "equation": "law",
    "explicit": "closed form",
    "sympy": "SymPy",
    "predict": "callable",
}
#: Headings in plain text, where they are not the names of the columns.
PLAIN_HEADINGS = {"pick": "", "index": "#"}
#: What residuals say of a law.
VERDICTS = {
    "rounding": "exact",
    "noise": "within noise",
    "ambiguous": "one of several",
    "above": "structure left",
    "unknown": "too few rows",
}
TEXTUAL = ("level", "equation", "explicit", "sympy", "predict")
PICK = ">>>"
#: A law has room for so many letters: other columns give way, in this order.
NARROWEST = 36
GIVE_WAY = ("level", "held_out", "score")
DIGITS = 4
#: Half transparent, so that it suits light and dark pages.
PICKED = "background:rgba(80,160,255,0.2);font-weight:bold"

Rows = Sequence["EquationRow"]


def note(rows: Rows) -> str:
    """Return a line that says what the errors are, if rows do not all count alike in them."""
    return f"rmse is {WEIGHTED}" if any(row.entry.is_weighted for row in rows) else ""


def _heading(rows: Rows, name: str) -> str:
    weighted = name == "rmse" and any(row.entry.is_weighted for row in rows)
    return f"weighted {HEADINGS[name]}" if weighted else HEADINGS[name]


def column(name: str) -> str:
    """Return the name of a column, or raise if it is none."""
    if name not in COLUMNS:
        raise GSRError(f"a column must be one of {', '.join(COLUMNS)}, got {name!r}")
    return name


# ---- files -------------------------------------------------------------------------------------


def as_csv(rows: Rows, names: Sequence[str] = IN_FILES) -> str:
    """Return comma-separated values with all digits; what is not known is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_plain(getattr(row, name)) for name in names] for row in rows)
    return text.getvalue()


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return str(value)


# ---- plain text --------------------------------------------------------------------------------


def as_text(rows: Rows, names: Sequence[str] = SHOWN) -> str:
    """Return aligned columns; laws are cut to the width of the terminal."""
    columns = {name: [PLAIN_HEADINGS.get(name, name)] for name in names}
    for name, cells in columns.items():
        cells += [_cell(row, name) for row in rows]
    laws = columns.pop("equation")
    room = shutil.get_terminal_size((100, 24)).columns
    for name in ("", *GIVE_WAY):
        columns.pop(name, None)
        left = room - sum(max(map(len, cells)) + 2 for cells in columns.values())
        if left >= NARROWEST:
            break
    aligned = [_aligned(cells, name) for name, cells in columns.items()]
    cut = [_shortened(law, max(left, NARROWEST)) for law in laws]
    lines = ["  ".join(line).rstrip() for line in zip(*aligned, cut, strict=True)]
    return "\n".join([*lines, *filter(None, [note(rows)])])


def ranked_text(rows: Rows) -> str:
    """Return laws with their bits, errors and verdicts, in their order; laws are not cut."""
    lines = [["", "#", "bits", "rmse", "verdict", "law"]]
    for row in rows:
        numbers = [str(row.index), bits_text(row.bits), _number(row.rmse, "rmse")]
        lines.append([PICK if row.pick else "", *numbers, row.verdict, row.equation])
    columns = [list(cells) for cells in zip(*lines, strict=True)]
    names = ("pick", "index", "bits", "rmse", "level", "equation")
    aligned = [_aligned(cells, name) for cells, name in zip(columns, names, strict=True)]
    shown = ["  ".join(line).rstrip() for line in zip(*aligned, strict=True)]
    return "\n".join([*shown, *filter(None, [note(rows)])])


def bits_text(bits: float) -> str:
    """Return by how many bits a description is longer; a dash if that is not a number."""
    if not math.isfinite(bits):
        return "-"
    return f"{bits:+.1f}" if abs(bits) < 100 else f"{bits:+,.0f}"


def _aligned(cells: Sequence[str], name: str) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) if name in TEXTUAL else cell.rjust(width) for cell in cells]


def _cell(row: EquationRow, name: str) -> str:
    value = getattr(row, name)
    if name == "pick":
        return PICK if value else ""
    return _number(value, name) if name not in TEXTUAL else str(value)


def _number(value: float, name: str) -> str:
    if isinstance(value, float) and math.isnan(value):
        return ""
    return f"{value:.3f}" if name == "score" else f"{value:.{DIGITS}g}"


def _shortened(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 3].rstrip(" .") + "..."


# ---- LaTeX -------------------------------------------------------------------------------------


def as_latex(rows: Rows, columns: Sequence[str], digits: int) -> str:
    """Return a tabular for booktabs."""
    names = [column(name) for name in columns]
    if not isinstance(digits, int) or digits < 1:
        raise GSRError(f"digits must be a whole number of at least 1, got {digits!r}")
    kinds = "".join("l" if name in TEXTUAL else "r" for name in names)
    lines = [[latex.escaped(_heading(rows, name)) for name in names]]
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


def as_html(rows: Rows, names: Sequence[str] = SHOWN) -> str:
    """Return a table in plain HTML, which every notebook renders."""
    head = "".join(f"<th {_align(name)}>{_heading(rows, name)}</th>" for name in names)
    body = "".join(_html_row(row, names) for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + (f"<p>{escape(note(rows))}</p>" if note(rows) else "")


def _html_row(row: EquationRow, names: Sequence[str]) -> str:
    style = f' style="{PICKED}"' if row.pick else ""
    cells = (f"<td {_align(name)}>{_html_cell(row, name)}</td>" for name in names)
    return f"<tr{style}>{''.join(cells)}</tr>"


def _html_cell(row: EquationRow, name: str) -> str:
    return html(row.equation) if name == "equation" else escape(_cell(row, name))


def _align(name: str) -> str:
    side = "left" if name in TEXTUAL else "right"
    return f'style="text-align:{side};white-space:nowrap;padding:2px 8px"'
