"""Runs of benchmark tasks, in this process or in several; tables of outcomes, and of two files."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from gsr import files
from gsr.exceptions import GSRError

#: Seconds between writes of the JSON file, so that a killed run leaves what it had.
SAVE_EVERY = 10.0


class Work(NamedTuple):
    """What to do with a task. All three are functions of a module, so that they can travel.

    An outcome is a dataclass with the fields `problem` and `found`.
    """

    #: Turns a task into its outcome.
    do: Callable[[Any], Any]
    #: Makes the outcome of a task from what was raised.
    failed: Callable[[Any, str], Any]
    #: Called once in every process with the first task, before any is timed.
    start: Callable[[Any], None]


def run(
    tasks: Sequence[Any],
    work: Work,
    *,
    jobs: int = 1,
    json_path: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> list[Any]:
    """Return the outcomes in the order of the tasks; after Ctrl-C only the finished ones."""
    check_path(json_path)
    done: dict[int, Any] = {}
    save_at = time.monotonic() + SAVE_EVERY
    with _progress(len(tasks), progress) as advance, suppress(KeyboardInterrupt):
        for number, outcome in _outcomes(tasks, work, jobs):
            done[number] = outcome
            advance(outcome)
            if json_path is not None and time.monotonic() > save_at:
                write_json(list(done.values()), json_path)
                save_at = time.monotonic() + SAVE_EVERY
    outcomes = [done[number] for number in sorted(done)]
    if json_path is not None:
        write_json(outcomes, json_path)
    if len(outcomes) < len(tasks):
        Console(stderr=True).print(f"interrupted: {len(outcomes)} of {len(tasks)} runs finished")
    return outcomes


def check_path(json_path: str | os.PathLike[str] | None) -> None:
    """Raise ValueError if the folder of the file does not exist."""
    if json_path is not None and not Path(json_path).absolute().parent.is_dir():
        raise ValueError(f"json_path: the folder of {os.fspath(json_path)!r} does not exist")


def with_cpu_limit(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of the estimator in which `cpu_time` is a callback that ends the search.

    Processor time depends on other work on the machine less than `max_time` does.
    """
    given = dict(options)
    if (limit := given.pop("cpu_time", None)) is not None:
        end = time.process_time() + limit
        given["callback"] = lambda _: time.process_time() > end
    return given


def _outcomes(tasks: Sequence[Any], work: Work, jobs: int) -> Iterator[tuple[int, Any]]:
    if not tasks:
        return
    if jobs > 1:
        yield from _parallel(tasks, work, jobs)
        return
    _warm_up(work, tasks[0])
    for number, task in enumerate(tasks):
        yield number, _one(work, task)


def _parallel(tasks: Sequence[Any], work: Work, jobs: int) -> Iterator[tuple[int, Any]]:
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs, len(tasks)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(work, tasks[0]),
    )
    try:
        futures = {pool.submit(_one, work, task): k for k, task in enumerate(tasks)}
        for future in as_completed(futures):
            number = futures[future]
            yield number, _outcome(future.result, work, tasks[number])
    except BaseException:
        # Runs under way may last long: end the processes of this pool, and no others.
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _one(work: Work, task: Any) -> Any:
    return _outcome(lambda: work.do(task), work, task)


def _outcome(result: Callable[[], Any], work: Work, task: Any) -> Any:
    try:
        return result()
    except Exception as error:  # also if the process died, or the outcome could not travel
        return work.failed(task, f"{type(error).__name__}: {error}")


def _start_worker(work: Work, task: Any) -> None:
    """Leave Ctrl-C to the parent, which ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _warm_up(work, task)


def _warm_up(work: Work, task: Any) -> None:
    """Load code and caches outside the timing; a failure will show again in the runs."""
    with suppress(Exception):
        work.start(task)


@contextmanager
def _progress(total: int, visible: bool) -> Iterator[Callable[[Any], None]]:
    bar = Progress(
        TextColumn("{task.description:<13}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[found]} found"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not visible,
    )
    with bar:
        task = bar.add_task("", total=total, found=0)

        def advance(outcome: Any) -> None:
            found = bar.tasks[task].fields["found"] + outcome.found
            bar.update(task, advance=1, description=outcome.problem, found=found)

        yield advance


def write_json(rows: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Write dataclasses as a JSON list; NaN and infinity become null.

    The file is replaced in one step, so a reader never sees half of it.
    """
    records = [files.plain(asdict(row)) for row in rows]
    files.write(path, json.dumps(records, indent=1, allow_nan=False) + "\n")


# ---- tables --------------------------------------------------------------------------------------

#: From the title of a column to its cell of an outcome.
Columns = Mapping[str, Callable[[Any], str]]


def median(values: Iterable[float]) -> float:
    """Return the median; infinities count, NaN do not."""
    known = sorted(value for value in values if not math.isnan(value))
    return float(np.median(known)) if known else math.nan


def outcome_table(
    title: str, columns: Columns, outcomes: Iterable[Any], caption: str = ""
) -> Table:
    """Return a table with a line for each outcome."""
    rows = [[cell(each) for cell in columns.values()] for each in outcomes]
    return table(title, list(columns), rows, caption)


def table(
    title: str, titles: Sequence[str], rows: Iterable[Sequence[str]], caption: str = ""
) -> Table:
    """Return a table; columns whose title ends in > are aligned to the right.

    Where there is little room the last column, usually a law, is cut.
    """
    made = Table(title=title, box=box.SIMPLE_HEAD, caption=caption, padding=(0, 1, 0, 0))
    for k, each in enumerate(titles):
        made.add_column(
            each.removesuffix(">"),
            justify="right" if each.endswith(">") else "left",
            no_wrap=k < len(titles) - 1 or each.endswith(">"),
        )
    for *row, last in rows:
        made.add_row(*map(escape, row), Text(last, no_wrap=True, overflow="ellipsis"))
    return made


# ---- comparison of two files ---------------------------------------------------------------------

Record = dict[str, Any]
Key = tuple[Any, ...]

#: Changes of what is not explained, 1 - R2, and of a residual sum that are worth a line: by this
#: factor, and for R2 by this amount.
FACTOR = 1.5
R2_CHANGE = 1e-3


def read_json(path: str | os.PathLike[str]) -> dict[Key, Record]:
    """Return the runs in a JSON file of `gsr bench`."""
    try:
        records = json.loads(Path(path).read_text("utf-8"))
        return dict(map(_keyed, records))
    except (ValueError, TypeError, KeyError) as error:
        raise GSRError(f"{os.fspath(path)}: not the JSON of a benchmark") from error


def _keyed(record: Record) -> tuple[Key, Record]:
    setting = record.get("errors") or record.get("noise") or ""
    return (record["suite"], record["problem"], setting, record["seed"]), record


def comparison(old: dict[Key, Record], new: dict[Key, Record]) -> RenderableType:
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
        parts.append(table(f"{title}: {len(rows)}", titles, rows))
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
        seconds = [median(_number(r.get("seconds"), math.nan) for r in each) for each in pairs]
        times = " -> ".join(f"{each:.2f}" for each in seconds)
        rows.append((f"{suite} {setting}".strip(), str(len(keys)), *figures, times))
    titles = ("suite", "runs>", *(f"{name}>" for name, _ in _FLAGS.values()), "median s>")
    return table("Old -> new", titles, rows, caption)
