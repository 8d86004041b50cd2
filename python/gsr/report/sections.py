"""What the sections of a report say about a target and about the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from gsr._table_forms import PAGE, VERDICTS
from gsr.encoding.writing import number as digits
from gsr.encoding.writing import shown_name
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.plotting.drawing import number
from gsr.plotting.pictures import Rows, determination
from gsr.report import mathml
from gsr.report.origin import Source, Target
from gsr.selection import FrontEntry
from gsr.selection.entry import CONSTANT, WEIGHTED
from gsr.table import EquationTable
from gsr.wording import LEVELS

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
    from gsr.report.plots import pictures

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
    if target.X is not None and target.y is not None and np.ptp(target.y) > 0:
        rows = Rows.of(entry, target.X, target.y)
        if not rows.n_missing:
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
    if target.X is not None and target.y is not None:
        n = Rows.of(entry, target.X, target.y).n_missing
        if n:
            found.append(("No prediction.", f"For {n} of {len(target.y)} rows the law gives none."))
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
