"""`gsr status`: the state of a run, or how it ended, from the files in its folder."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gsr.cli.terminal import OK, Parsers, add_command, counted, show
from gsr.exceptions import GSRError

#: Seconds after which a run that should be running counts as silent.
SILENT = 60.0
GONE = "its process is gone"
#: Larger numbers are taken for corrupted values.
LARGEST = 1e300
#: Warnings that are shown.
MOST_WARNINGS = 10
NUMBERS = (
    "time", "ranks", "islands", "seconds", "max_time", "evaluations", "evaluations_per_second",
    "rmse", "checkpoint",
)  # fmt: skip
TEXTS = ("state", "reason", "mode", "law")


def add(commands: Parsers) -> None:
    """Add the command to the parser."""
    about = "Tell how a run is doing, or how it ended."
    examples = "examples:\n  gsr status run\n  gsr status run --json"
    parser = add_command(commands, "status", _status, examples, about)
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def _status(arguments: argparse.Namespace) -> int:
    found = examine(arguments.run)
    show(json.dumps(found, indent=1, ensure_ascii=False) if arguments.json else as_text(found))
    return OK


# ---- reading the folder ------------------------------------------------------------------------


def examine(folder: str | Path, now: float | None = None) -> dict[str, Any]:
    """Return the state of a run, in the folder of a run that goes on or has ended.

    There are the entries of `NUMBERS` and `TEXTS` that are known, ``run``, ``warnings``, and
    ``checkpointed``: the islands that have checkpoints. The state is ``"running"``, ``"silent"``,
    ``"finished"`` or ``"stopped"``. Times are seconds since 1970, as is `now`.
    """
    from gsr.islands.journal import read_status
    from gsr.runs.folder_lock import is_gone

    path = Path(folder)
    problems: list[str] = []
    status = read_status(path)
    result = _usable(_result, path, problems)
    checkpoints = _usable(_checkpoints, path, problems)
    if not problems and result is status is checkpoints is None:
        reason = "there is no run in it" if path.is_dir() else "there is no such folder"
        raise GSRError(f"{path} is not a run folder: {reason}")
    status, result = status or {}, result or {}
    written = _known(status)
    # A result is of an earlier piece of the run, unless the run is finished.
    is_finished = written.get("state", "finished") == "finished"
    latest = {**written, **result} if is_finished else {**result, **written}
    found: dict[str, Any] = {"run": str(path), "state": "stopped", **(checkpoints or {}), **latest}
    if found["state"] == "running" and is_gone(status):
        found |= {"state": "silent", "reason": GONE}
    elif found["state"] == "running" and _age(found, now) >= SILENT:
        found["state"] = "silent"
    seconds, evaluations = found.get("seconds"), found.get("evaluations")
    if seconds and evaluations is not None:
        found.setdefault("evaluations_per_second", evaluations / seconds)
    return {**found, "warnings": [*problems, *_warnings(path, status)]}


def _usable(
    read: Callable[[Path], dict[str, Any] | None], folder: Path, problems: list[str]
) -> dict[str, Any] | None:
    try:
        return read(folder)
    except GSRError as error:
        problems.append(str(error))
        return None


def _known(status: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a status that can be shown."""
    numbers = {key: status[key] for key in NUMBERS if _is_number(status.get(key))}
    texts = {key: status[key] for key in TEXTS if isinstance(status.get(key), str)}
    return numbers | texts


def _is_number(value: object) -> bool:
    """Whether a value is a number of reasonable size; damaged files may contain anything."""
    return isinstance(value, int | float) and abs(value) <= LARGEST


def _age(found: dict[str, Any], now: float | None) -> float:
    """Return the seconds since the run has written its status."""
    return (time.time() if now is None else now) - float(found.get("time", 0.0))


def _result(folder: Path) -> dict[str, Any] | None:
    from gsr.runs import run_folder

    if not run_folder.has_result(folder):
        return None
    result = run_folder.read(folder)
    several = _tables(result.get("targets")) or [result]
    law = "\n".join(str(each.get("equation")) for each in several)
    front = _tables(several[0].get("front")) if len(several) == 1 else []
    rmse = min((each["rmse"] for each in front if _is_number(each.get("rmse"))), default=None)
    facts = {"state": "finished", "reason": result.get("status"), "law": law, "rmse": rmse}
    return _known({**result, **facts})


def _tables(found: object) -> list[dict[str, Any]]:
    """Return the dictionaries in a value that should be a list of dictionaries."""
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _checkpoints(folder: Path) -> dict[str, Any] | None:
    """Return what the checkpoints tell: ranks, islands, and the time of the last one."""
    from gsr.islands.checkpoints import Checkpoints
    from gsr.runs import run_folder

    checkpoints = Checkpoints(folder / "checkpoints")
    manifest = checkpoints.read_manifest()
    if manifest is None:
        return None
    found = {"ranks": manifest.ranks, "islands": manifest.islands, "mode": manifest.mode}
    folders = checkpoints.folder.glob("island-*")
    times = [run_folder.last_changed(each.glob("*.gsr")) for each in folders]
    known = [each for each in times if each is not None]
    return {**found, **({"checkpoint": max(known), "checkpointed": len(known)} if known else {})}


def _warnings(folder: Path, status: dict[str, Any]) -> list[str]:
    """Return the last warnings of all ranks, each once."""
    from gsr.islands.journal import METRICS, tail

    listed = status.get("warnings")
    found = [str(each) for each in listed] if isinstance(listed, list) else []
    for path in sorted((folder / METRICS).glob("rank-*.jsonl")):
        warned = (line for line in tail(path) if line.get("event") == "warning")
        found += [str(line.get("message", "")) for line in warned]
    return list(dict.fromkeys(filter(None, found)))[-MOST_WARNINGS:]


# ---- as text -----------------------------------------------------------------------------------


def as_text(found: dict[str, Any], now: float | None = None) -> str:
    """Return the state of a run as lines."""
    lines = [f"{name:<12}{text}" for name, text in facts(found, now)]
    return "\n".join([*lines, *(f"warning     {each}" for each in found["warnings"])])


def facts(found: dict[str, Any], now: float | None = None) -> Iterator[tuple[str, str]]:
    """Yield the known facts about the state of a run as pairs of name and text."""
    now = time.time() if now is None else now
    yield "run", found["run"]
    yield "state", _state(found, now)
    if "ranks" in found:
        yield "ranks", f"{found['ranks']:,}"
    if "islands" in found:
        mode = f", {found['mode']}" if "mode" in found else ""
        yield "islands", f"{found['islands']:,}{mode}"
    if "seconds" in found:
        limit = found.get("max_time")
        of = "" if limit is None else f" of {limit:,.1f} s"
        yield "search", f"{found['seconds']:,.1f} s{of}"
    if "evaluations" in found:
        rate = found.get("evaluations_per_second")
        yield "evaluations", f"{found['evaluations']:,}" + (f", {rate:,.0f} /s" if rate else "")
    if "rmse" in found:
        yield "best RMSE", f"{found['rmse']:.3g}"
    if found.get("law"):
        yield "law", found["law"].replace("\n", "\n" + " " * 12)
    if "checkpoint" in found:
        of = f" ({counted(found['checkpointed'], 'island')})" if "checkpointed" in found else ""
        yield "checkpoint", f"{_span(now - found['checkpoint'])} ago{of}"


def _state(found: dict[str, Any], now: float) -> str:
    from gsr.wording import ending

    state, reason = found["state"], found.get("reason")
    if state != "silent":
        return f"{state}: {ending(reason)}" if reason and state != "running" else state
    why = GONE
    if reason != GONE:
        since = _span(_age(found, now)) if "time" in found else "an unknown time"
        why = f"no sign of life for {since}"
    return f"{why}; start it again, and it goes on from its checkpoints"


def _span(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"
