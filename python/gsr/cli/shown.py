"""Laws and fronts as plain text for the terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gsr._table_forms import RANKED, TERMINAL, as_text, terminal_width
from gsr.selection.entry import WEIGHTED
from gsr.wording import LEVELS, ending

if TYPE_CHECKING:
    from gsr.estimator import GSRRegressor
    from gsr.table import EquationRow, EquationTable


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
    shown = [rows[k] for k in sorted(_best(rows, table.best_index, top))]
    held = all(row.entry.held_out is not None for row in shown)
    names = ("pick", "index", "complexity", "rmse", *(["held_out"] if held else []), "equation")
    text = _as_text(shown, names)
    left = len(rows) - len(shown)
    hint = more.replace("{all}", str(len(rows)))
    return f"{text}\n      and {left} more; {hint} shows all" if left else text


def _as_text(rows: Sequence[EquationRow], names: Sequence[str]) -> str:
    room = terminal_width() if sys.stdout.isatty() else None
    return as_text(rows, names, TERMINAL, room)


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
    return _as_text(found, RANKED) if len(found) > 1 else ""


def summary(model: GSRRegressor, rows: int | None = None, seed: int | None = None) -> str:
    """Return why the law was chosen, what it leaves and how the search went."""
    entry = model.get_best()
    parts = {
        "chosen": model.why_,
        "leaves": LEVELS[model.level_].phrase + _support(model),
        "noise": model.noise_,
        "RMSE": f"{entry.rmse:.3g}"
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
    return f"until {ending(model.status_)}"


def _best(rows: list[Any], chosen: int, top: int | None) -> list[int]:
    if top is None or top >= len(rows):
        return list(range(len(rows)))
    others = [k for k in range(len(rows)) if k != chosen]
    others.sort(key=lambda k: -rows[k].score if math.isfinite(rows[k].score) else math.inf)
    return [chosen, *others[: top - 1]]
