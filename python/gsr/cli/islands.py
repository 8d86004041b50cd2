"""The command `gsr islands`, which is `python -m gsr.islands` too: a search over many ranks.

Rank 0 reads and plans; the others need little more than NumPy and the core, so that a thousand of
them start as quickly as one.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gsr.cli.terminal import (
    FAILED,
    NOT_WRITTEN,
    OK,
    Parsers,
    add_overwrite,
    complain,
    counted,
    show,
)
from gsr.exceptions import GSRError
from gsr.islands import launcher

if TYPE_CHECKING:
    from gsr.cli.island_plan import Plan
    from gsr.islands.archipelago import State
    from gsr.islands.transport import Transport
    from gsr.islands.voyage import Voyage
    from gsr.search import Progress

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
#: What rank 0 tells the others: orders and how much to say, or that there is nothing to do.
ORDERS, LEVEL, EXIT = "orders", "level", "exit"


def add(commands: Parsers) -> None:
    """Add the command to the parser of `gsr`."""
    _fill(
        commands.add_parser(
            "islands",
            description=ABOUT,
            epilog=EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )


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
    add_overwrite(parser, "replace a file that exists, and the results in the run folder")
    parser.set_defaults(command=_command)


def _command(arguments: argparse.Namespace) -> int:
    # Before ranks are connected: one that fails later must end the others.
    from gsr.islands.signals import harmless
    from gsr.islands.transport import guarded

    try:
        if arguments.init is not None:
            return _init(arguments)
        transport = connect()
    except (GSRError, OSError) as error:
        return _told(error)
    with harmless():
        return guarded(lambda connected: _run(arguments, connected), transport)


def _told(error: GSRError | OSError) -> int:
    """Tell what is wrong, and return the exit code."""
    from gsr.files import WritingError

    complain(str(error))
    return NOT_WRITTEN if isinstance(error, WritingError) else FAILED


def _init(arguments: argparse.Namespace) -> int:
    from gsr import files
    from gsr.runs.config import default_toml

    path = arguments.init
    if path == "-":
        show(default_toml())
        return OK
    inputs = [] if arguments.config is None else [arguments.config]
    files.check_output(path, inputs, arguments.overwrite)
    files.write(path, default_toml())
    complain(f"{path} is written; set data.path and data.target in it")
    return OK


def connect() -> Transport:
    """Return the way to the other ranks; mpi4py is imported only under a launcher.

    Raises
    ------
    GSRError
        If launcher and MPI library do not belong together.
    """
    launch = launcher.find(os.environ)
    if launch is None or launch.size == 1:
        from gsr.islands.transport import Alone

        return Alone()
    try:
        from gsr.islands import mpi
    except (ImportError, RuntimeError) as error:  # the latter: mpi4py has no library to load
        launcher.check(launch, None, str(error))
        raise
    return mpi.connect(launch)


# ---- every rank ----------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace, transport: Transport) -> int:
    plan = None
    orders: dict[str, Any] = {}
    if transport.rank == 0:
        plan, orders = _planned(arguments, transport)
    orders = json.loads(transport.share(json.dumps(orders).encode()))
    if EXIT in orders:
        transport.close()
        return transport.leave(int(orders[EXIT]))
    code = _sail(plan, orders[ORDERS], _teller(orders[LEVEL]), transport)
    if plan is not None:
        plan.lock.release()
    transport.close()
    return transport.leave(code)


def _sail(
    plan: Plan | None, orders: dict[str, Any], tell: Callable[[str], None], transport: Transport
) -> int:
    from gsr.islands.voyage import Orders, Voyage, share_blueprint

    blueprint = share_blueprint(None if plan is None else plan.blueprint, transport)
    if plan is not None:
        plan.problem.blueprint = blueprint
    voyage = Voyage(Orders(**orders), blueprint, transport, tell)
    with voyage.hears():  # to the end: nothing may break into the writing of results
        code = OK
        if plan is not None:
            code = _lead(plan, voyage, tell)
        else:
            voyage.sail()
            voyage.watcher.close()
        return int(json.loads(transport.share(json.dumps(code).encode())))


def _teller(level: str) -> Callable[[str], None]:
    """Return what tells the user what `log.level` lets through."""

    def tell(message: str) -> None:
        grave = message.startswith("WARNING")
        if level == "info" or (grave and level == "warning"):
            complain(message)

    return tell


# ---- rank 0 --------------------------------------------------------------------------------------


def _planned(
    arguments: argparse.Namespace, transport: Transport
) -> tuple[Plan | None, dict[str, Any]]:
    """Return the plan and the orders; orders to exit if there is nothing to search for."""
    try:
        if arguments.config is None:
            raise GSRError("name a configuration; gsr islands --init writes an example")
        from gsr.cli import island_plan

        plan = _plan(arguments, transport.size)
        if arguments.dry_run:
            show(island_plan.describe(plan, transport.size))
            return None, {EXIT: OK}
        if plan.finished is not None:
            return None, {EXIT: _already(plan)}
        island_plan.prepare(plan)
        return plan, {ORDERS: asdict(plan.orders), LEVEL: plan.config.get("log", "level")}
    except (GSRError, OSError) as error:
        return None, {EXIT: _told(error)}


def _plan(arguments: argparse.Namespace, ranks: int) -> Plan:
    """Return the plan; remarks wait until it is known which of them the user wants."""
    from gsr.cli import island_plan

    settings = [*arguments.set, *(["run.overwrite=true"] if arguments.overwrite else [])]
    remarks: list[str] = []
    tell: Callable[[str], None] = complain
    try:
        plan = island_plan.make_plan(arguments.config, settings, ranks, remarks.append)
        tell = _teller(plan.config.get("log", "level"))
        return plan
    finally:
        for each in remarks:
            tell(each)


def _already(plan: Plan) -> int:
    assert plan.finished is not None
    status = plan.finished["status"]
    more = "" if status == "exact" else "raise its limits to go on, or "
    complain(
        f"the run in {plan.orders.folder} is finished ({status}); {more}set checkpoint.resume to "
        "false to begin anew"
    )
    show(str(plan.finished["equation"]))
    return OK


def _lead(plan: Plan, voyage: Voyage, tell: Callable[[str], None]) -> int:
    from gsr.cli import island_results as results
    from gsr.progress import reporter

    _greet(plan, voyage, tell)
    history: list[Progress] = []
    verbose = plan.config.get("log", "verbose")
    loud = plan.config.get("log", "level") == "info"
    with reporter(loud if verbose is None else verbose, None) as report:
        _watch(plan, voyage, report, history)
        state = voyage.sail()
    ranks = voyage.transport.size
    outcome = results.conclude(
        plan, voyage.first, state, history,
        ranks=ranks, counts=voyage.archipelago.counts, library=voyage.transport.library,
    )  # fmt: skip
    written = results.write(plan, outcome, tell)
    code = results.exit_code(outcome, written, tell)
    how = "stopped" if state.status in ("interrupted", "terminated") else "finished"
    voyage.watcher.tell_state(state, how, str(outcome.first.equation_))
    voyage.watcher.close()
    results.print_law(outcome, plan.orders.folder)
    return code


def _greet(plan: Plan, voyage: Voyage, tell: Callable[[str], None]) -> None:
    ranks, before = voyage.transport.size, voyage.before
    tell(
        f"{counted(voyage.n_islands, 'island')} on {counted(ranks, 'rank')}, seed "
        f"{plan.config.get('run', 'seed')}, run folder {plan.orders.folder}"
    )
    if before.islands:
        tell(
            f"going on from the checkpoints of {counted(before.islands, 'island')} after "
            f"{before.seconds:.1f} s of search"
        )


def _watch(plan: Plan, voyage: Voyage, report: Any, history: list[Progress]) -> None:
    from gsr.search import Progress, recorded

    watcher, archipelago = voyage.watcher, voyage.archipelago
    record = recorded(report, history)

    def law() -> str:
        return plan.problem.current(archipelago.residents[0].front)

    def see(state: State) -> None:
        seconds = archipelago.seconds if state.status == "running" else state.seconds
        record(
            Progress(
                seconds,
                plan.orders.max_time,
                state.generation,
                state.evaluations,
                state.rmse,
                state.status,
                law,
            )
        )

    watcher.report = see
    watcher.write_law = law
    watcher.facts = {
        "ranks": voyage.transport.size,
        "islands": voyage.n_islands,
        "mode": plan.orders.islands["mode"],
        "max_time": plan.orders.max_time,
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }
