"""Two JSON files of the same benchmark, compared problem by problem."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType

from gsr.benchmarks import measured
from gsr.exceptions import GSRError

Record = dict[str, Any]
Key = tuple[Any, ...]

#: Changes of what is not explained, 1 - R2, and of a residual sum that are worth a line: by this
#: factor, and for R2 by this amount.
FACTOR = 1.5
R2_CHANGE = 1e-3


def read(path: str | os.PathLike[str]) -> dict[Key, Record]:
    """Return the runs in a JSON file of `gsr bench`."""
    try:
        records = json.loads(Path(path).read_text("utf-8"))
        return dict(map(_keyed, records))
    except (ValueError, TypeError, KeyError) as error:
        raise GSRError(f"{os.fspath(path)}: not the JSON of a benchmark") from error


def _keyed(record: Record) -> tuple[Key, Record]:
    setting = record.get("errors") or record.get("noise") or ""
    return (record["suite"], record["problem"], setting, record["seed"]), record


def tables(old: dict[Key, Record], new: dict[Key, Record]) -> RenderableType:
    """Return what got better, what got worse, and the sums; only what is in both is compared."""
    both = [key for key in old if key in new]
    parts: list[RenderableType] = []
    for title, sign in (("Better", True), ("Worse", False)):
        rows = []
        for key in both:
            said = [text for better, text in _changes(old[key], new[key]) if better == sign]
            if said:
                laws = dict.fromkeys(each[key].get("equation", "") for each in (old, new))
                rows.append((*map(str, key[1:]), "; ".join(said), "  ->  ".join(laws)))
        titles = ("problem", "errors", "seed>", "old -> new", "laws")
        parts.append(measured.table(f"{title}: {len(rows)}", titles, rows))
    alone = len(old) + len(new) - 2 * len(both)
    caption = f"{alone} runs are in one of the files only, and are not counted." if alone else ""
    return Group(*parts, _sums(old, new, both, caption))


def _changes(old: Record, new: Record) -> Iterator[tuple[bool, str]]:
    """Yield (better, what changed)."""
    for field, (name, good) in _FLAGS.items():
        was, now = _flag(old, field), _flag(new, field)
        if was != now:
            yield now == good, f"{name}: {'yes' if now else 'no'}"
    if "r2" in new and "r2" in old:
        before, after = _number(old["r2"], -math.inf), _number(new["r2"], -math.inf)
        if abs(before - after) >= R2_CHANGE and _differ(1 - before, 1 - after):
            yield after > before, f"R2: {before:.5g} -> {after:.5g}"
    if "ratio" in new and "ratio" in old:
        before, after = _number(old["ratio"], math.inf), _number(new["ratio"], math.inf)
        if before != after and _differ(before, after):
            yield after < before, f"residual sum: {before:.4g} -> {after:.4g}"


def _flag(record: Record, field: str) -> bool:
    if field == "found" and field not in record:  # suites of known laws say it in two fields
        return bool(record.get("recovered") or record.get("structure"))
    return bool(record.get(field))


def _differ(before: float, after: float) -> bool:
    part = after / before if before and math.isfinite(before) else math.inf
    return not 1 / FACTOR < part < FACTOR


def _number(value: Any, missing: float) -> float:
    return missing if value is None else float(value)


#: Fields of a run, their names, and which value is good.
_FLAGS = {
    "found": ("found", True),
    "on_front": ("on front", True),
    "false_verdict": ("false verdict", False),
    "error": ("failed", False),
}


def _sums(
    old: dict[Key, Record], new: dict[Key, Record], both: Sequence[Key], caption: str
) -> RenderableType:
    rows = []
    for suite, setting in dict.fromkeys((key[0], key[2]) for key in both):
        keys = [key for key in both if (key[0], key[2]) == (suite, setting)]
        pairs = [[records[key] for key in keys] for records in (old, new)]
        figures = [
            " -> ".join(str(sum(_flag(r, field) for r in each)) for each in pairs)
            for field in _FLAGS
        ]
        seconds = [
            measured.median(_number(r.get("seconds"), math.nan) for r in each) for each in pairs
        ]
        times = " -> ".join(f"{each:.2f}" for each in seconds)
        rows.append((f"{suite} {setting}".strip(), str(len(keys)), *figures, times))
    titles = ("suite", "runs>", *(f"{name}>" for name, _ in _FLAGS.values()), "median s>")
    return measured.table("Old -> new", titles, rows, caption)
