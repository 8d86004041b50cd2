"""What the commands of the command line share: arguments, exit codes, output."""

from __future__ import annotations

import argparse
import contextlib
import csv
import logging
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsr import files

if TYPE_CHECKING:
    from rich.console import Console

    from gsr.estimator import GSRRegressor
    from gsr.table import EquationRow, EquationTable

Parsers = Any  # what argparse returns for sub-commands has no public type
OK, NO_LAW, FAILED, NOT_WRITTEN, INTERRUPTED = 0, 1, 2, 3, 130
#: What commands do, and the module that adds them, which may add several.
COMMANDS = {
    "demo": ("find a law in data that come with the package", "program"),
    "fit": ("find a law in a table", "fit"),
    "app": ("find laws, watch a search or inspect a run in the browser", "app"),
    "predict": ("apply a law to a table", "models"),
    "show": ("print the laws of a model or a run", "models"),
    "export": ("write a law as source code that needs no gsr", "models"),
    "plot": ("draw the law of a run with its data, or another picture", "models"),
    "report": ("make a web page of a run: laws, front, pictures, settings", "models"),
    "islands": ("search with many islands, on one machine or many (MPI)", "islands"),
    "mcp": ("offer fit, front and predictions to programs (Model Context Protocol)", "mcp"),
    "status": ("print how a run is doing, or how it ended", "status"),
    "config": ("print an example of a settings file", "program"),
    "bench": ("run benchmarks", "bench"),
    "doctor": ("check what works on this machine, and what to do about the rest", "program"),
    "info": ("print which build of the core is in use", "program"),
}

# ---- arguments -----------------------------------------------------------------------------------


def add_command(
    commands: Parsers,
    name: str,
    run: Callable[[argparse.Namespace], int],
    epilog: str | None = None,
    description: str = "",
) -> Any:
    """Add a command to the parser of `gsr`, and return its parser."""
    about = COMMANDS[name][0]
    parser = commands.add_parser(
        name,
        description=description or f"{about[0].upper()}{about[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=run)
    return parser


def at_least(kind: type[int] | type[float], low: int) -> Callable[[str], float]:
    """Return a reader of numbers that are at least `low`, and finite."""
    what = "a whole number" if kind is int else "a number"
    return _reader(kind, lambda value: low <= value < math.inf, f"{what} of at least {low}")


def between(low: float, high: float) -> Callable[[str], float]:
    """Return a reader of numbers between two others."""
    what = f"a number between {low:g} and {high:g}"
    return _reader(float, lambda value: low < value < high, what)


def _reader(
    kind: type[int] | type[float], accepts: Callable[[float], bool], what: str
) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not accepts(value):
            raise argparse.ArgumentTypeError(f"must be {what}, got {text!r}")
        return value

    return read


def writable_file(text: str) -> Path:
    """Read the path of a file that can be made."""
    path = Path(text)
    folder = path.absolute().parent
    if path.is_dir() or not folder.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: no such folder, or a folder")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: no permission")
    return path


def add_overwrite(parser: Any, about: str = "replace a file that exists") -> None:
    """Add the option without which no command replaces a file."""
    parser.add_argument("--overwrite", action="store_true", help=about)


def add_output(parser: Any, about: str) -> None:
    """Add the options of a command that can write its result to a file."""
    parser.add_argument("-o", "--output", type=writable_file, metavar="FILE", help=about)
    add_overwrite(parser)


def add_top(parser: Any) -> None:
    """Add the options that say how many laws of the front are printed."""
    told = (
        "number of laws of the front to print: the chosen one, its neighbours, and those that gain "
        "most for their complexity"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--top", metavar="N", type=at_least(int, 1), help=told)
    shown.add_argument(
        "--all", dest="top", action="store_const", const=sys.maxsize, help="print the whole front"
    )


def listed(text: str) -> list[str]:
    """Read names separated by commas; one with a comma in it stands in double quotes."""
    rows = list(csv.reader([text], skipinitialspace=True))
    names = [name.strip() for name in (rows[0] if rows else [])]
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"must be names separated by commas, got {text!r}")
    return names


def paired(text: str) -> dict[str, str]:
    """Read pairs such as ``x1=m,y=s``."""
    pairs = [name.rpartition("=")[::2] for name in listed(text)]
    if not all(name and value for name, value in pairs):
        raise argparse.ArgumentTypeError(f"must be pairs such as x1=m,y=s, got {text!r}")
    return {name.strip(): value.strip() for name, value in pairs}


# ---- output --------------------------------------------------------------------------------------


def console() -> Console:
    """Return the console that tables are printed on."""
    from rich.console import Console

    return Console(highlight=False)


def counted(number: int, what: str) -> str:
    """Return a number with what is counted: one island, two islands."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def complain(message: str) -> None:
    """Print a message on standard error, if that is open."""
    with contextlib.suppress(OSError, ValueError):
        print(files.printable(f"gsr: {message}"), file=sys.stderr)


def complain_of(error: Exception) -> int:
    """Print an error on standard error, and return the exit code."""
    complain(str(error))
    return NOT_WRITTEN if isinstance(error, files.WritingError) else FAILED


def show(text: str) -> None:
    """Print a result; `WritingError` if standard output cannot take it.

    A pipe that nobody reads is a `BrokenPipeError`.
    """
    if sys.stdout.isatty():
        text = files.printable(text)
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        silence()
        raise files.WritingError(f"cannot write to standard output: {error.strerror}") from error
    except UnicodeEncodeError:
        sys.stdout.buffer.write((files.printable(text) + "\n").encode("utf-8"))


def show_or_write(text: str, path: Path | None) -> None:
    """Print a result, or write it to a file."""
    if path is None:
        show(text)
    else:
        files.write(path, text)


def silence() -> None:
    """Let nothing more be written to standard output, not even at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class TerminalHandler(logging.Handler):
    """Prints messages as ``gsr: ...``, with the rank of ranks other than 0."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self._rank = f"rank {rank}: " if rank else ""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        level = f"{record.levelname}: " if record.levelno >= logging.WARNING else ""
        complain(f"{level}{self._rank}{record.getMessage()}")


@contextlib.contextmanager
def show_log(level: str = "info", rank: int = 0) -> Iterator[TerminalHandler]:
    """Print the log of gsr on standard error, from a level on."""
    logger = logging.getLogger("gsr")
    handler, before = TerminalHandler(rank), logger.level
    handler.setLevel(level.upper())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


# ---- interruptions -------------------------------------------------------------------------------


@contextlib.contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Let a SIGTERM end a search as Ctrl-C does, with its result kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def uninterrupted() -> contextlib.AbstractContextManager[None]:
    """Put off a first Ctrl-C or SIGTERM while results are made or written."""
    from gsr import search

    return search.uninterrupted(complain, (signal.SIGINT, signal.SIGTERM))


# ---- laws ----------------------------------------------------------------------------------------


def laws_text(
    model: GSRRegressor,
    table: EquationTable,
    top: int | None = None,
    more: str = "--all",
    rows: int | None = None,
    seed: int | None = None,
) -> str:
    """Return the law, the front, laws of other kinds and a summary of a fitted model.

    The front is shortened to `top` laws: the chosen one, its neighbours and those that gain most
    for their complexity. `more` is the option or command that shows all of them.
    """
    from gsr._table_forms import RANKED

    shown = table.short() if top is None else table.short(top)
    is_held = all(row.entry.held_out is not None for row in shown)
    names = ("pick", "index", "complexity", "rmse", *["held_out"] * is_held, "equation")
    front = _as_table(shown, names)
    if left := len(table) - len(shown):
        front += f"\n      and {left} more; {more} shows all"
    groups = getattr(model.equation_, "groups", None)
    parts = ["\n".join(table[table.best_index].forms), *([] if groups is None else [str(groups)])]
    parts.append(front)
    others = [row for row in table.top() if math.isfinite(row.bits)]
    if len(others) > 1:
        parts.append(_as_table(others, RANKED))
    return "\n\n".join([*parts, _summary(model, rows, seed)])


def motion_text(model: Any) -> list[str]:
    """Return the simulation error of each state, if the model has equations of motion."""
    left = getattr(model, "simulation_error_", None)
    if not left:
        return []
    told = (f"{name} {error:.3g} (noise {model.noise_[name]:.3g})" for name, error in left.items())
    return [f"simulation error: {', '.join(told)}"]


def _as_table(rows: Sequence[EquationRow], names: tuple[str, ...]) -> str:
    from gsr._table_forms import TERMINAL, as_text, terminal_width

    return as_text(rows, names, TERMINAL, terminal_width() if sys.stdout.isatty() else None)


def _summary(model: GSRRegressor, rows: int | None, seed: int | None) -> str:
    """Return why the law was chosen, the verdict on its residuals and how the search went."""
    from gsr.selection.entry import WEIGHTED
    from gsr.wording import LEVELS, ending

    entry = model.get_best()
    residual = LEVELS[model.level_].phrase
    if model.level_ == "ambiguous":
        residual += f" (probability of this one: {100 * model.support_:.0f} %)"
    error = f"{entry.rmse:.3g}" + (f" on {rows:,} rows" if rows is not None else "")
    so_far = "so far" if model.status_ == "running" else f"until {ending(model.status_)}"
    parts = {
        "chosen": model.why_,
        "residual": residual,
        "noise": model.noise_,
        "RMSE": error + (f", {WEIGHTED}" if entry.is_weighted else ""),
        "search": f"{model.n_evaluations_:,} evaluations in {model.fit_time_:.2f} s, {so_far}",
    }
    if seed is not None:
        parts["seed"] = str(seed)
    return "\n".join(f"{name:<10}{text}" for name, text in parts.items())
