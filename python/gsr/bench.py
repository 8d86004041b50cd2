"""Run the estimator on the benchmark suites and set the result beside the published figures."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gsr.suites import PROBLEMS, Problem
from gsr.suites.report import Row, list_problems, tables
from gsr.suites.sampling import Array

__all__ = ["Row", "list_problems", "run", "tables", "write_json"]

#: Test RMSE, relative to the spread of y, below which an unproved law is an approximation.
APPROXIMATE_AT = 1e-6
WARM_UP_SECONDS = 0.2
#: Seconds between writes of the JSON file, so that a killed run leaves what it had.
SAVE_EVERY = 10.0


@dataclass(frozen=True)
class _Task:
    problem: Problem
    seed: int
    options: Mapping[str, Any]


def run(
    problems: Sequence[Problem],
    *,
    preset: str,
    runs: int,
    max_time: float | None,
    jobs: int = 1,
    json_path: str | os.PathLike[str] | None = None,
    estimator_options: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> list[Row]:
    """Fit every problem `runs` times, with the seeds 0..runs-1.

    Parameters
    ----------
    problems : sequence of Problem
        See `gsr.suites.select`.
    preset : str
        Preset of the estimator.
    runs : int
        Independent runs per problem.
    max_time : float or None
        Seconds allowed to one fit.
    jobs : int
        Processes; every fit uses one thread.
    json_path : path-like, optional
        Where the rows are written as a JSON list, also after an interruption.
    estimator_options : mapping, optional
        Further parameters of the estimator; they win over the problem's own.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    list of Row
        In the order of the problems and seeds. A run that raises is a row with its error.
        After Ctrl-C only the finished runs, so fewer than ``len(problems) * runs``.
    """
    if runs < 1 or jobs < 1:
        raise ValueError(f"runs and jobs must be at least 1, got runs={runs} and jobs={jobs}")
    if json_path is not None and not Path(json_path).absolute().parent.is_dir():
        raise ValueError(f"json_path: the folder of {os.fspath(json_path)!r} does not exist")
    options = {"preset": preset, "max_time": max_time, **(estimator_options or {})}
    tasks = [_Task(each, seed, options) for each in problems for seed in range(runs)]
    done: dict[tuple[str, int], Row] = {}
    save_at = time.monotonic() + SAVE_EVERY
    with _progress(len(tasks), progress) as advance, suppress(KeyboardInterrupt):
        for row in _sequential(tasks) if jobs == 1 else _parallel(tasks, jobs):
            done[row.problem, row.seed] = row
            advance(row)
            if json_path is not None and time.monotonic() > save_at:
                write_json(list(done.values()), json_path)
                save_at = time.monotonic() + SAVE_EVERY
    keys = [(task.problem.name, task.seed) for task in tasks]
    rows = [done[key] for key in keys if key in done]
    if json_path is not None:
        write_json(rows, json_path)
    if len(rows) < len(tasks):
        Console(stderr=True).print(f"interrupted: {len(rows)} of {len(tasks)} runs finished")
    return rows


def _sequential(tasks: Sequence[_Task]) -> Iterator[Row]:
    if tasks:
        _warm_up(tasks[0].options)
    yield from map(_one_run, tasks)


def _parallel(tasks: Sequence[_Task], jobs: int) -> Iterator[Row]:
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs, max(len(tasks), 1)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(dict(tasks[0].options) if tasks else {},),
    )
    try:
        futures = {pool.submit(_one_run, task): task for task in tasks}
        for future in as_completed(futures):
            yield _result(future, futures[future])
    except BaseException:
        # Runs under way may last long: end the processes of this pool, and no others.
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _result(future: Future[Row], task: _Task) -> Row:
    try:
        return future.result()
    except Exception as error:  # the process died, or the row could not travel
        return replace(_blank(task), error=_message(error))


def _start_worker(options: Mapping[str, Any]) -> None:
    """Leave Ctrl-C to the parent, which ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _warm_up(options)


def _warm_up(options: Mapping[str, Any]) -> None:
    """Load code and caches outside the timing; a failure will show again in the runs."""
    with suppress(Exception):
        task = _Task(PROBLEMS[0], 0, {**options, "max_time": WARM_UP_SECONDS})
        _estimator(task).fit(*task.problem.train(0))


def _estimator(task: _Task) -> Any:
    from gsr import GSRRegressor

    defaults = {
        "random_state": task.seed,
        "n_jobs": 1,
        "library": task.problem.library,
        "target_library": task.problem.target_library,
        "n_psi": task.problem.n_psi,
    }
    return GSRRegressor(**{**defaults, **task.options})


def _one_run(task: _Task) -> Row:
    row = _blank(task)
    try:
        with warnings.catch_warnings():  # a row says what is to be said
            warnings.simplefilter("ignore")
            X, y = task.problem.train(task.seed)
            model = _estimator(task)
            start = time.perf_counter()
            model.fit(X, y)
            row = replace(row, seconds=time.perf_counter() - start)
            return _judged(row, model, task)
    except Exception as error:
        return replace(row, error=_message(error))


def _judged(row: Row, model: Any, task: _Task) -> Row:
    from gsr import recovery

    X, y = task.problem.train(task.seed)
    X_test, y_test = task.problem.test(task.seed)
    found = recovery.check(model.equation_, task.problem, task.seed)
    rmse_test = _rmse(model.predict(X_test), y_test)
    return replace(
        row,
        recovered=found.recovered,
        rmse_train=_rmse(model.predict(X), y),
        rmse_test=rmse_test,
        equation=str(model.equation_),
        verdict=found.verdict,
        approximation=not found.recovered and rmse_test < APPROXIMATE_AT * float(np.std(y_test)),
    )


def _blank(task: _Task) -> Row:
    return Row(task.problem.suite, task.problem.name, task.seed)


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _rmse(prediction: Any, truth: Array) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean((np.asarray(prediction, dtype=float) - truth) ** 2)))


@contextmanager
def _progress(total: int, visible: bool) -> Iterator[Callable[[Row], None]]:
    bar = Progress(
        TextColumn("{task.description:<13}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[recovered]} recovered"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not visible,
    )
    with bar:
        task = bar.add_task("", total=total, recovered=0)
        recovered = 0

        def advance(row: Row) -> None:
            nonlocal recovered
            recovered += row.recovered
            bar.update(task, advance=1, description=row.problem, recovered=recovered)

        yield advance


def write_json(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Write the rows as a JSON list; NaN and infinity become null.

    The file is replaced in one step, so a reader never sees half of it.
    """
    records = [
        {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(row).items()
        }
        for row in rows
    ]
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    draft.write_text(json.dumps(records, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(draft, target)
