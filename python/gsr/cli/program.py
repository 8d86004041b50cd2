"""The command line: `gsr fit`, `gsr predict`, `gsr report`, `gsr bench` and the rest.

A command is imported when it is asked for, so that `gsr --help` answers at once.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import gsr
from gsr.cli import terminal
from gsr.exceptions import GSRError

EXAMPLES = """\
examples:
  gsr demo                              find Kepler's third law, in seconds
  gsr fit data.csv --target y           find a law in a table of yours
  gsr fit data.csv --target y -o run    ... and keep everything in the folder run
  gsr report run -o run.html            ... as a web page
  gsr predict run new.csv               ... applied to other rows
  gsr export run --language c           ... as source code
  gsr config -o run.toml                an example of a settings file, for gsr fit --config
  gsr bench nguyen --runs 5             a suite of the paper, beside its printed figures
  gsr doctor                            what works on this machine, and what to do about the rest

in Python:
  from gsr import GSRRegressor
  print(GSRRegressor().fit(X, y).equation_)

exit codes:
  0 done   1 no law better than a constant   2 wrong input or usage
  3 a result could not be written   130 interrupted

Results go to standard output, everything else to standard error.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with arguments, by default those of the process; return the exit code.

    It is 0; 1 if no law was found; 2 after wrong input; 3 if a result could not be written; 130
    after Ctrl-C.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _run(sys.argv[1:] if argv is None else argv)


def _run(argv: Sequence[str]) -> int:
    try:
        parser = _parser(argv[0] if argv and argv[0] in terminal.COMMANDS else None)
        arguments = parser.parse_args(argv)
        if arguments.command is None:
            parser.print_help()
            return terminal.OK
        code = int(arguments.command(arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        terminal.complain("interrupted")
        return terminal.INTERRUPTED
    except BrokenPipeError:  # whoever read has seen enough
        terminal.silence()
        return terminal.OK
    except (GSRError, OSError) as error:
        return terminal.complain_of(error)
    except MemoryError:
        terminal.complain("there is not enough memory; use fewer rows or columns")
        return terminal.FAILED


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    terminal.complain(str(message))


def _parser(command: str | None) -> argparse.ArgumentParser:
    """Return the parser, with the arguments of one command; the others are names with a help."""
    parser = argparse.ArgumentParser(
        prog="gsr",
        description="Finds laws in data: generalized symbolic regression, g(y) = f(x).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gsr {gsr.__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="command", title="commands")
    module = terminal.COMMANDS[command][1] if command else None
    if module is not None:
        import_module(f"gsr.cli.{module}").add(commands)
    for name, (about, other) in terminal.COMMANDS.items():
        if other != module:
            commands.add_parser(name, help=about)
    return parser


# ---- small commands ------------------------------------------------------------------------------


def add(commands: terminal.Parsers) -> None:
    """Add the commands of this module to the parser."""
    demo = terminal.add_command(commands, "demo", _demo)
    seed, seconds = terminal.at_least(int, 0), terminal.at_least(float, 0)
    demo.add_argument("--seed", type=seed, default=0, metavar="N", help="default: 0")
    told = "seconds at most; default: 10"
    demo.add_argument("--max-time", type=seconds, default=10.0, metavar="S", help=told)
    about = "Print an example of a settings file, with every key, its meaning and its default."
    examples = "examples:\n  gsr config -o run.toml\n  gsr fit --config run.toml"
    config = terminal.add_command(commands, "config", _config, examples, about)
    terminal.add_output(config, "write it there instead")
    doctor = terminal.add_command(commands, "doctor", _doctor)
    doctor.add_argument("--json", action="store_true", help="print it as JSON")
    terminal.add_command(commands, "info", _info)


def _demo(arguments: argparse.Namespace) -> int:
    from gsr.cli import demo

    demo.run(terminal.console(), arguments.seed, arguments.max_time)
    return terminal.OK


def _config(arguments: argparse.Namespace) -> int:
    from gsr import files
    from gsr.runs.config import default_toml

    files.check_output(arguments.output, overwrite=arguments.overwrite)
    terminal.show_or_write(default_toml(), arguments.output)
    return terminal.OK


def _doctor(arguments: argparse.Namespace) -> int:
    from gsr.cli import doctor

    findings = doctor.examine()
    if arguments.json:
        terminal.show(json.dumps([vars(finding) for finding in findings], indent=1))
    else:
        terminal.show(doctor.as_text(findings))
    is_broken = any(finding.status == "broken" for finding in findings)
    return terminal.FAILED if is_broken else terminal.OK


def _info(arguments: argparse.Namespace) -> int:
    from gsr.info import core_info

    terminal.show("\n".join(f"{key:<12} {value}" for key, value in core_info().items()))
    return terminal.OK
