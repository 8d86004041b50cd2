"""The command `gsr islands`, which is `python -m gsr.islands` too: a search over many ranks.

Rank 0 reads and plans; the others need little more than NumPy and the core, so that a thousand of
them start as quickly as one.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from gsr.cli import terminal
from gsr.exceptions import GSRError
from gsr.islands import launcher

if TYPE_CHECKING:
    from gsr.cli.island_plan import PlannedRun
    from gsr.islands.rank_run import RankRun
    from gsr.islands.transport import Transport
    from gsr.search import Progress

log = logging.getLogger(__name__)
ABOUT = """\
Search with many islands: searches that run side by side, share their work and exchange what they
find. Started by itself it is one process; under mpirun, mpiexec or srun it is one rank of many."""

EPILOG = """\
examples:
  gsr islands --init run.toml                 write an example of a configuration
  gsr islands run.toml --dry-run              say what would happen
  gsr islands run.toml                        one process
  mpirun -n 64 gsr islands run.toml           64 ranks
  srun --mpi=pmi2 python -m gsr.islands run.toml --set run.max_time=3600

The run goes on by itself from the checkpoints in its folder, on any number of ranks.

signals:
  SIGUSR1  saves a checkpoint    SIGTERM  saves one and stops    SIGINT  stops with a result

exit codes:
  0    done, or done already
  1    no law better than a constant was found
  2    the configuration, the data or the launcher are wrong; nothing was searched
  3    a result could not be written (it is kept in a temporary folder)
  70   something in the program failed; the traceback is printed
  130  interrupted (SIGINT); 143: terminated (SIGTERM); the run goes on when started again
"""


def add(commands: terminal.Parsers) -> None:
    """Add the command to the parser of `gsr`."""
    _fill(terminal.add_command(commands, "islands", _command, EPILOG, ABOUT))


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``python -m gsr.islands``."""
    parser = argparse.ArgumentParser(
        prog="python -m gsr.islands",
        description=ABOUT,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _fill(parser)
    return _command(parser.parse_args(argv))


def _fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", metavar="CONFIG", help="settings, a TOML file")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="section.key=value"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would happen, and stop")
    parser.add_argument(
        "--init",
        nargs="?",
        const="-",
        metavar="FILE",
        help="write an example configuration, and stop; to standard output unless a file is named",
    )
    terminal.add_overwrite(parser, "replace a file that exists, and the results in the run folder")


def _command(arguments: argparse.Namespace) -> int:
    from gsr.islands.transport import guarded
    from gsr.islands.watch import ignore_sigusr1

    try:
        if arguments.init is not None:
            return _init(arguments)
        transport = connect()
    except (GSRError, OSError) as error:
        return terminal.complain_of(error)
    # The ranks are connected: one that fails from now on must end the others.
    with ignore_sigusr1(), terminal.show_log(rank=transport.rank) as output:
        return guarded(lambda connected: _run(arguments, connected, output), transport)


def _init(arguments: argparse.Namespace) -> int:
    from gsr import files
    from gsr.runs.config import default_toml

    path = arguments.init
    if path == "-":
        terminal.show(default_toml())
        return terminal.OK
    inputs = [] if arguments.config is None else [arguments.config]
    files.check_output(path, inputs, arguments.overwrite)
    files.write(path, default_toml())
    terminal.complain(f"{path} is written; set data.path and data.target in it")
    return terminal.OK


def connect() -> Transport:
    """Connect the ranks; mpi4py is imported only under a launcher, whose library it must use."""
    launch = launcher.find(os.environ)
    if launch is None or launch.size == 1:
        from gsr.islands.transport import Alone

        return Alone()
    try:
        from gsr.islands import mpi
    except (ImportError, RuntimeError) as error:  # RuntimeError: mpi4py finds no library
        launcher.check(launch, None, str(error))
        raise
    return mpi.connect(launch)


# ---- every rank ----------------------------------------------------------------------------------


def _run(
    arguments: argparse.Namespace, transport: Transport, output: terminal.TerminalHandler
) -> int:
    """Plan on rank 0, and search on all ranks unless the plan ends with an exit code."""
    plan: PlannedRun | int | None = None
    content = b""
    with ExitStack() as locks:
        if transport.rank == 0:
            plan = _planned(arguments, transport.size, output, locks)
            shared = [plan, None] if isinstance(plan, int) else [None, asdict(plan.spec)]
            content = json.dumps([*shared, logging.getLevelName(output.level)]).encode()
        code, spec, level = json.loads(transport.share(content))
        output.setLevel(level)
        if not isinstance(plan, int) and code is None:
            code = _search(plan, spec, transport)
    transport.close()
    return transport.leave(int(code))


def _search(plan: PlannedRun | None, spec: dict[str, Any], transport: Transport) -> int:
    """Search on this rank, and return the exit code of the run."""
    from gsr import search
    from gsr.islands.rank_run import RankRun, RunSpec, share_blueprint

    blueprint = share_blueprint(None if plan is None else plan.blueprint, transport)
    run = RankRun(RunSpec(**spec), blueprint, transport)
    with run.signals_as_requests():  # to the end: nothing may interrupt the writing of results
        code = terminal.OK
        if plan is not None:
            plan.problem.blueprint = blueprint
            code = _lead(plan, run)
        else:
            search.run(run, None)
            run.finish()
            run.watcher.close()
        return int(json.loads(transport.share(json.dumps(code).encode())))


# ---- rank 0 --------------------------------------------------------------------------------------


def _planned(
    arguments: argparse.Namespace, ranks: int, output: terminal.TerminalHandler, locks: ExitStack
) -> PlannedRun | int:
    """Return the plan, with its run folder locked; an exit code if there is nothing to search."""
    from gsr.cli import island_plan

    try:
        if arguments.config is None:
            raise GSRError("name a configuration; gsr islands --init writes an example")
        overwrite = ["run.overwrite=true"] if arguments.overwrite else []
        config = island_plan.read_config(arguments.config, [*arguments.set, *overwrite])
        output.setLevel(config.get("log", "level").upper())
        plan = island_plan.plan_run(config, ranks)
        if arguments.dry_run:
            terminal.show(island_plan.describe(plan, ranks))
            return terminal.OK
        if plan.finished is not None:
            return _already_finished(plan, plan.finished)
        locks.callback(island_plan.prepare(plan).release)
        return plan
    except (GSRError, OSError) as error:
        return terminal.complain_of(error)


def _already_finished(plan: PlannedRun, result: dict[str, Any]) -> int:
    status = result["status"]
    more = "" if status == "exact" else "raise its limits to go on, or "
    terminal.complain(
        f"the run in {plan.spec.folder} is finished ({status}); {more}set checkpoint.resume to "
        "false to begin anew"
    )
    terminal.show(str(result["equation"]))
    return terminal.OK


def _lead(plan: PlannedRun, run: RankRun) -> int:
    """Search, show the progress, and write what all ranks have found."""
    from gsr import search
    from gsr.cli import island_results as results
    from gsr.progress import reporter

    def write_law() -> str:
        return plan.problem.current(run.islands[0].front)

    _greet(run)
    run.watcher.describe(_facts(run), write_law)
    history: list[Progress] = []
    verbose = plan.config.get("log", "verbose")
    loud = plan.config.get("log", "level") == "info"
    with reporter(loud if verbose is None else verbose, None) as report:
        record = search.recorded(report, history)
        search.run(run, None, lambda progress: record(_of_whole_run(progress, run)), write_law)
    run.finish()
    found = search.SearchResult.of(run, run.status, run.state.seconds, history)
    more = {"mpi": run.transport.library, "migration_of_rank_0": vars(run.counts)}
    outcome = results.conclude(plan, found, run.transport.size, more)
    written = results.write(plan, outcome)
    code = results.exit_code(outcome, written)
    how = "stopped" if run.status in ("interrupted", "terminated") else "finished"
    run.watcher.write_status(run.state, how, str(outcome.first.equation_))
    run.watcher.close()
    results.print_law(outcome, plan.spec.folder)
    return code


def _greet(run: RankRun) -> None:
    spec, resumed = run.spec, run.resumed
    counts = terminal.counted(run.n_islands, "island"), terminal.counted(run.transport.size, "rank")
    log.info("%s on %s, seed %s, run folder %s", *counts, spec.seed, spec.folder)
    if resumed.islands:
        saved = terminal.counted(resumed.islands, "island")
        log.info("going on from the checkpoints of %s after %.1f s", saved, resumed.seconds)


def _facts(run: RankRun) -> dict[str, Any]:
    """Return what the status of a run tells beside the state of the search."""
    return {
        "ranks": run.transport.size,
        "islands": run.n_islands,
        "mode": run.spec.islands["mode"],
        "max_time": run.spec.max_time,
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }


def _of_whole_run(progress: Progress, run: RankRun) -> Progress:
    """Return the progress with the time before a resumption, and the limit of the run."""
    seconds = run.seconds if progress.status == "running" else run.state.seconds
    return replace(progress, seconds=seconds, max_time=run.spec.max_time)
