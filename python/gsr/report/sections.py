"""Sections of a report, as HTML; every text that comes from outside is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from gsr.encoding.writing import number as digits
from gsr.encoding.writing import shown_name
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.plotting.drawing import number
from gsr.plotting.pictures import Rows, determination
from gsr.report import mathml
from gsr.report.origin import Source, Target
from gsr.search import ENDINGS
from gsr.selection import FrontEntry
from gsr.selection.choice import WEIGHTED
from gsr.selection.constant_names import CONSTANT

#: Explicit forms that are typeset at most.
MOST_BRANCHES = 4
LEVELS = {
    "rounding": "The law is exact: what it leaves of these rows is rounding.",
    "noise": "What the law leaves looks like noise: no structure is left in it that the tests see.",
    "ambiguous": "What the law leaves looks like noise, but laws of other kinds describe the rows "
    "about as well: the rows do not determine the law.",
    "above": "The law is an approximation: what it leaves is more than noise, so there is "
    "structure in the data that it does not describe.",
    "unknown": "There are too few rows, or no training rows, to tell whether what the law leaves "
    "is noise.",
}
SHORT_LEVELS = {
    "rounding": "rounding: exact",
    "noise": "noise",
    "ambiguous": "noise, as do laws of other kinds",
    "above": "more than noise",
    "unknown": "unknown",
}


def ending(status: str) -> str:
    """Return a sentence about how the search ended, if it has."""
    if status == "running":
        return "the search is still going"
    return f"the search ended because {ENDINGS.get(status, status)}"


def section(title: str, content: str, key: str = "") -> str:
    """Return a box with a heading."""
    return f"<section{_id(key)}>\n<h2>{escape(title)}</h2>\n{content}\n</section>"


def table(heads: Sequence[str], rows: Iterable[str], numbers: Sequence[int] = ()) -> str:
    """Return a table that scrolls in its own box; `numbers` are columns set to the right."""
    cells = "".join(
        f'<th scope="col"{_class("number") if k in numbers else ""}>{head}</th>'
        for k, head in enumerate(heads)
    )
    head = f"<thead><tr>{cells}</tr></thead>\n" if heads else ""
    body = "\n".join(rows)
    return (
        f'<div class="scroll" tabindex="0"><table>\n{head}<tbody>\n{body}\n</tbody>\n</table></div>'
    )


def told(text: str, care: bool, head: str = "") -> str:
    """Return a remark; one to take care of looks different."""
    lead = f"<strong>{escape(head)}</strong> " if head else ""
    return f'<div class="told{" care" * care}"><p>{lead}{escape(text)}</p></div>'


def typeset(parts: Sequence[str], shown: str, large: bool = False) -> str:
    """Return formulas between which lines may break, with their text for those who listen."""
    kind = "law large" if large else "law"
    label = f'role="math" aria-label="{escape(shown)}" tabindex="0"'
    return f'<div class="{kind}" {label}>{"".join(parts)}</div>'


def _id(key: str) -> str:
    return f' id="{key}"' if key else ""


def _class(name: str) -> str:
    return f' class="{name}"'


# ---- the law -----------------------------------------------------------------------------------


def law(target: Target, key: str) -> str:
    """Return the chosen law, what it leaves and what to take care of."""
    entry = target.entry
    equation = entry.equation
    content = [typeset(mathml.lines(equation), str(equation), large=True)]
    content += [_copied("text", str(equation)), _copied("LaTeX", equation.latex())]
    level = target.model.level_
    content.append(told(LEVELS[level], level not in ("rounding", "noise")))
    content += [told(text, True, head) for head, text in cautions(target)]
    content.append(_numbers(target))
    return section(f"The law for {target.name}", "\n".join(content), key)


def _copied(kind: str, shown: str) -> str:
    return f'<div class="copy"><span>{kind}</span>{_code(shown)}</div>'


def _numbers(target: Target) -> str:
    entry = target.entry
    found = {
        f"{entry.error_name} of {target.name}": "0, to rounding"
        if entry.exact
        else f"{entry.rmse:.4g}",
        "leaves": SHORT_LEVELS[target.model.level_],
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
    parts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in found.items()
    )
    return f'<dl class="numbers">{parts}</dl>'


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


def meaning(target: Target) -> str:
    """Return the other forms of the law, and how well its constants are known."""
    content = [*_explicit(target.entry.equation), *_rounded(target.entry)]
    content.append("<h3>Constants</h3>")
    content.append(_constants(target.entry))
    return section("What it means", "\n".join(content))


def _explicit(equation: Equation) -> list[str]:
    forms = equation.explicit()
    name = equation.target_name
    heading = f"<h3>Solved for {escape(name)}</h3>"
    if not forms:
        shown = "There is no closed form: the law is solved numerically for each prediction."
        return [heading, f"<p>{shown}</p>"]
    if str(equation).startswith(f"{shown_name(name)} = ") and len(forms) == 1:
        return [heading, f"<p>The law above gives {escape(name)} itself.</p>"]
    several = "<p>One for each branch that the data meet:</p>" if len(forms) > 1 else ""
    shown_forms = [
        typeset(mathml.solved(name, form), f"{name} = {form}") for form in forms[:MOST_BRANCHES]
    ]
    return [heading, several, *shown_forms]


def _rounded(entry: FrontEntry) -> list[str]:
    heading = "<h3>With simple numbers</h3>"
    try:
        found, equation = entry.rounded, entry.rounded_equation
    except GSRError:
        return []
    if not found.any:
        return [heading, "<p>No constant is near a simple number that the data agree with.</p>"]
    if str(equation) == str(entry.equation):
        return [heading, "<p>The constants are simple numbers already.</p>"]
    error = f"RMSE {found.law.rmse:.4g}, against {entry.rmse:.4g}"
    note = "" if entry.exact else f'<p class="note">The data agree: {escape(error)}.</p>'
    return [
        heading,
        typeset(mathml.lines(equation), str(equation)),
        _copied("text", str(equation)),
        note,
    ]


def _constants(entry: FrontEntry) -> str:
    try:
        found = entry.uncertainty
    except GSRError:
        return "<p>How well they are known was not stored with the model.</p>"
    if not found.names:
        return "<p>The law has none.</p>"
    rows = [
        f'<tr><th scope="row">{_constant_name(name)}</th>'
        f'<td class="number">{_limited(value)}</td>'
        f'<td class="span">{_limited(low)} to {_limited(high)}</td></tr>'
        for name, (value, low, high) in entry.intervals(0.95).items()
    ]
    heads = ("constant", "value", "95 % interval")
    note = (
        "Intervals are of Student's t, for this law as it stands; that it was searched for is not "
        "in them."
    )
    return table(heads, rows, (1,)) + f'<p class="note">{note}</p>'


def _limited(value: float) -> str:
    return digits(float(value)).replace("-", "−") if math.isfinite(value) else "not determined"


def _constant_name(name: str) -> str:
    """Return the name of a constant as HTML, with the term in it as code."""
    words, term = "coefficient of ", name.removeprefix("coefficient of ")
    if name == CONSTANT or term == name:
        return name if name == CONSTANT else _code(name)
    return words + _code(term)


def _code(shown: str) -> str:
    return f"<code>{escape(shown)}</code>"


# ---- the front ---------------------------------------------------------------------------------


def front(target: Target) -> str:
    """Return the front as a table, with the choice marked."""
    laws = target.model.equations_
    held = any(each.entry.held_out is not None for each in laws)
    rows = [_front_row(each.entry, each.entry is target.entry, held, each.index) for each in laws]
    error_name = target.entry.error_name
    heads = ['<span class="sr">chosen</span>', "number", "complexity", error_name]
    heads += ["held out"] * held + ["law"]
    intro = (
        f"<p>No simpler law that was found has a smaller error in {escape(target.name)}. The "
        'chosen one is marked <span aria-hidden="true">▶</span>.'
        f"{f' Errors are {WEIGHTED}.' if target.entry.is_weighted else ''}</p>"
    )
    listed = f'<div class="front">{table(heads, rows, range(1, 4 + held))}</div>'
    return section("The front: error against complexity", intro + listed)


def _front_row(entry: FrontEntry, chosen: bool, held: bool, index: int) -> str:
    mark = '<span aria-hidden="true">▶</span><span class="sr">chosen</span>' if chosen else ""
    error = "exact" if entry.exact else f"{entry.rmse:.4g}"
    numbers = {"number": str(index), "nodes": str(entry.complexity), entry.error_name: error}
    if held:
        numbers["held out"] = "" if entry.held_out is None else f"{entry.held_out:.4g}"
    cells = f'<td class="mark">{mark}</td>' + "".join(
        f'<td class="number" data-label="{name}">{escape(value)}</td>'
        for name, value in numbers.items()
    )
    shown = typeset(mathml.lines(entry.equation), str(entry.equation))
    return f'<tr{_class("pick") if chosen else ""}>{cells}<td class="wide">{shown}</td></tr>'


# ---- the data ----------------------------------------------------------------------------------


def data(source: Source) -> str:
    """Return rows, columns and their ranges."""
    targets = {target.name for target in source.targets}
    content = _origin(source)
    kept = max((len(values) for values in source.columns.values()), default=0)
    if kept:
        some = f" The ranges are those of {kept:,} of them." if kept < source.n_rows else ""
        content += f"<p>{source.n_rows:,} rows, {len(source.columns)} columns.{some}</p>"
        rows = [_column(name, values, name in targets) for name, values in source.columns.items()]
        content += table(("column", "", "least", "median", "greatest"), rows, (2, 3, 4))
    elif source.n_rows:
        content += f"<p>{source.n_rows:,} rows; none of them is kept here.</p>"
    else:
        content += "<p>The rows are not kept here.</p>"
    return section("The data", content)


def _origin(source: Source) -> str:
    found = source.result.get("data")
    facts = found if isinstance(found, dict) else {"path": found} if found else {}
    lines = [
        f"{escape(name)} {_code(str(facts[key]))}"
        for key, name in (("path", "File"), ("sha256", "SHA-256"))
        if facts.get(key)
    ]
    return f"<p>{'<br>'.join(lines)}</p>" if lines else ""


def _column(name: str, values: Any, is_target: bool) -> str:
    finite = values[np.isfinite(values)]
    ends = (finite.min(), np.median(finite), finite.max()) if len(finite) else (math.nan,) * 3
    cells = "".join(f'<td class="number">{escape(_limited(float(v)))}</td>' for v in ends)
    kind = "target" if is_target else "feature"
    return f'<tr><th scope="row">{_code(name)}</th><td>{kind}</td>{cells}</tr>'
