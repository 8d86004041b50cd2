"""Work through benchmark tasks, in this process or in several, and keep what is finished."""

from __future__ import annotations

import json
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

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gsr import files

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
