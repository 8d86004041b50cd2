"""Two JSON files of the same benchmark, compared problem by problem."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
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
        return {_key(record): record for record in records}
    except (ValueError, TypeError, KeyError) as error:
        raise GSRError(f"{os.fspath(path)}: not the JSON of a benchmark") from error


def _key(record: Record) -> Key:
    setting = record.get("errors") or record.get("noise") or ""
    return record["suite"], record["problem"], setting, record["seed"]


def tables(old: dict[Key, Record], new: dict[Key, Record]) -> RenderableType:
    """Return what got better, what got worse, and the sums."""
    both = [key for key in old if key in new]
    parts: list[RenderableType] = []
    for title, sign in (("Better", True), ("Worse", False)):
        rows = []
        for key in both:
            said = [text for better, text in _changes(old[key], new[key]) if better == sign]
            if said:
                rows.append((*_shown(key), "; ".join(said), _laws(old[key], new[key])))
        titles = ("problem", "errors", "seed>", "old -> new", "laws")
        parts.append(measured.table(f"{title}: {len(rows)}", titles, rows))
    alone = len(old) + len(new) - 2 * len(both)
    caption = f"{alone} runs are in one of the files only, and are not counted." if alone else ""
    return Group(*parts, _sums(old, new, both, caption))


def _shown(key: Key) -> tuple[str, str, str]:
    _, problem, setting, seed = key
    return problem, str(setting), str(seed)


def _laws(old: Record, new: Record) -> str:
    laws = old.get("equation", ""), new.get("equation", "")
    return laws[1] if laws[0] == laws[1] else f"{laws[0]}  ->  {laws[1]}"


def _changes(old: Record, new: Record) -> Iterator[tuple[bool, str]]:
    """Yield (better, what changed)."""
    for test, good, name in _FLAGS:
        flags = test(old), test(new)
        if flags[0] != flags[1]:
            yield flags[1] == good, f"{name}: {'yes' if flags[1] else 'no'}"
    if "r2" in new and "r2" in old:
        before, after = _number(old["r2"], -math.inf), _number(new["r2"], -math.inf)
        if _r2_changed(before, after):
            yield after > before, f"R2: {before:.5g} -> {after:.5g}"
    if "ratio" in new and "ratio" in old:
        before, after = _number(old["ratio"], math.inf), _number(new["ratio"], math.inf)
        if before != after and not 1 / FACTOR < _part(after, before) < FACTOR:
            yield after < before, f"residual sum: {before:.4g} -> {after:.4g}"


def _r2_changed(before: float, after: float) -> bool:
    if before == after or abs(before - after) < R2_CHANGE:
        return False
    return not 1 / FACTOR < _part(1 - after, 1 - before) < FACTOR


def _part(a: float, b: float) -> float:
    return a / b if b and math.isfinite(b) else math.inf


def _number(value: Any, missing: float) -> float:
    return missing if value is None else float(value)


def _found(record: Record) -> bool:
    """Return whether the law was found; runs on suites of known laws say it in two fields."""
    if "found" in record:
        return bool(record["found"])
    return bool(record.get("recovered") or record.get("structure"))


def _flag(name: str) -> Callable[[Record], bool]:
    return lambda record: bool(record.get(name))


#: Tests of a run, what is good, and their names.
_FLAGS: tuple[tuple[Callable[[Record], bool], bool, str], ...] = (
    (_found, True, "found"),
    (_flag("on_front"), True, "on front"),
    (_flag("false_verdict"), False, "false verdict"),
    (_flag("error"), False, "failed"),
)


def _sums(
    old: dict[Key, Record], new: dict[Key, Record], both: Sequence[Key], caption: str
) -> RenderableType:
    rows = []
    for group in dict.fromkeys((key[0], key[2]) for key in both):
        keys = [key for key in both if (key[0], key[2]) == group]
        pairs = [[records[key] for key in keys] for records in (old, new)]
        figures = [
            *(" -> ".join(str(sum(map(test, each))) for each in pairs) for test, _, _ in _FLAGS),
            " -> ".join(f"{_seconds(each):.2f}" for each in pairs),
        ]
        rows.append((f"{group[0]} {group[1]}".strip(), str(len(keys)), *figures))
    titles = ("suite", "runs>", *(f"{name}>" for _, _, name in _FLAGS), "median s>")
    return measured.table("Old -> new", titles, rows, caption)


def _seconds(records: Sequence[Record]) -> float:
    return measured.median(_number(record.get("seconds"), math.nan) for record in records)
