"""Laws and fronts as plain text for the terminal."""

from __future__ import annotations

import math
import shutil
import sys
from typing import TYPE_CHECKING, Any

from gsr._table_forms import bits_text
from gsr.search import ENDINGS
from gsr.selection.choice import WEIGHTED

if TYPE_CHECKING:
    from gsr.estimator import GSRRegressor
    from gsr.table import EquationTable

LEVELS = {
    "rounding": "nothing but rounding: the law is exact",
    "noise": "noise without structure",
    "ambiguous": "noise, as do laws of other kinds: the rows do not determine the law",
    "above": "more than noise: the law is an approximation",
    "unknown": "not known: too few rows to tell",
}
NARROWEST = 40


def front(table: EquationTable, top: int | None = None, more: str = "--top {all}") -> str:
    """Return the front as lines: number, nodes, errors and laws, with the choice marked.

    Parameters
    ----------
    table : EquationTable
        Of a fitted model.
    top : int, optional
        Laws to show: those that gain most for their complexity, and the chosen one; all unless
        given.
    more : str
        What shows all laws.

    Returns
    -------
    str
    """
    rows = list(table)
    shown = sorted(_best(rows, table.best_index, top))
    held = all(rows[k].entry.held_out is not None for k in shown)
    titles = ["", "#", "nodes", "RMSE", *(["held out"] if held else []), "law"]
    lines = [titles]
    for k in shown:
        row = rows[k]
        errors = [row.rmse, *([row.entry.held_out] if held else [])]
        mark = ">" if k == table.best_index else ""
        cells = [mark, str(row.index), str(row.complexity), *map(_number, errors), row.equation]
        lines.append(cells)
    widths = [max(len(line[c]) for line in lines) for c in range(len(titles) - 1)]
    text = "\n".join(_line(line, widths) for line in lines)
    left = len(rows) - len(shown)
    hint = more.replace("{all}", str(len(rows)))
    return f"{text}\n      and {left} more; {hint} shows all" if left else text


def everything(
    model: GSRRegressor,
    table: EquationTable,
    top: int | None = None,
    more: str = "--top {all}",
    rows: int | None = None,
    seed: int | None = None,
) -> str:
    """Return the law, the front, laws of other kinds and a summary.

    Parameters
    ----------
    model : GSRRegressor
        Fitted.
    table : EquationTable
        Of the model.
    top, more
        As for `front`.
    rows, seed
        As for `summary`.

    Returns
    -------
    str
    """
    parts = [str(model.equation_), front(table, top, more), alternatives(table)]
    return "\n\n".join([*filter(None, parts), summary(model, rows, seed)])


def alternatives(table: EquationTable) -> str:
    """Return the laws worth a look, the chosen one first, if there are any beside it."""
    found = [row for row in table.top() if math.isfinite(row.bits)]
    if len(found) < 2:
        return ""
    lines = [["", "#", "bits", "RMSE", "verdict", "law"]]
    for row in found:
        numbers = [str(row.index), bits_text(row.bits), _number(row.rmse)]
        lines.append([">" if row.pick else "", *numbers, row.verdict, row.equation])
    widths = [max(len(line[c]) for line in lines) for c in range(5)]
    return "\n".join(_line(line, widths) for line in lines)


def summary(model: GSRRegressor, rows: int | None = None, seed: int | None = None) -> str:
    """Return why the law was chosen, what it leaves and how the search went."""
    entry = model.get_best()
    parts = {
        "chosen": model.why_,
        "leaves": LEVELS.get(model.level_, model.level_) + _support(model),
        "noise": model.noise_,
        "RMSE": _number(entry.rmse)
        + (f" on {rows:,} rows" if rows is not None else "")
        + (f", {WEIGHTED}" if entry.is_weighted else ""),
        "search": f"{model.n_evaluations_:,} candidates in {model.fit_time_:.2f} s, "
        f"{_ending(model)}",
    }
    if seed is not None:
        parts["seed"] = str(seed)
    return "\n".join(f"{name:<8}{text}" for name, text in parts.items())


def _support(model: GSRRegressor) -> str:
    if model.level_ != "ambiguous":
        return ""
    return f" (probability of this one: {100 * model.support_:.0f} %)"


def _ending(model: GSRRegressor) -> str:
    if model.status_ == "running":
        return "so far"
    return f"until {ENDINGS.get(model.status_, model.status_)}"


def _best(rows: list[Any], chosen: int, top: int | None) -> list[int]:
    if top is None or top >= len(rows):
        return list(range(len(rows)))
    others = [k for k in range(len(rows)) if k != chosen]
    others.sort(key=lambda k: -rows[k].score if math.isfinite(rows[k].score) else math.inf)
    return [chosen, *others[: top - 1]]


def _line(cells: list[str], widths: list[int]) -> str:
    start = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=False))
    law = cells[-1]
    if sys.stdout.isatty():
        room = max(NARROWEST, shutil.get_terminal_size().columns - len(start) - 2)
        law = law if len(law) <= room else law[: room - 3] + "..."
    return f"{start}  {law}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
