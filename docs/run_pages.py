"""Runs the code of the documentation, and writes what it prints into the pages.

    python docs/run_pages.py                      all tutorials and how-to pages
    python docs/run_pages.py docs/howto/noise.md  some
    python docs/run_pages.py --settings           only the table of settings; nothing is run

A ``text`` block right after a block of code is what that code prints. Blocks of a page share their
variables and a temporary folder, in which the files of docs/data are. `gsr` commands run in this
process, unless a block needs a shell.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
SETTINGS = re.compile(r"(?<=<!-- settings -->\n).*?(?=<!-- end of settings -->)", re.S)
#: What a line has that only a shell can run.
SHELL = re.compile(r"[|&;<>$]|^(?:if|for|while|then|fi|do|done)\b", re.M)


class Block(NamedTuple):
    """A block of code: its language, the line before it, the code, and where its output is."""

    language: str
    line: int
    code: str
    output: tuple[int, int]


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a page that are run: Python, and shell blocks that start with gsr."""
    for match in BLOCK.finditer(text):
        if match[1] == "python" or match[2].startswith("gsr "):
            yield Block(match[1], text[: match.start(2)].count("\n"), match[2], match.span(3))


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """Work in a temporary folder with the data of the pages."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for file in (DOCS / "data").glob("*.csv"):
            shutil.copy(file, folder)
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            yield Path(folder)
        finally:
            sys.path.remove(folder)
            os.chdir(before)


def run(text: str, name: str) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in the current folder; yield each with what it prints."""
    namespace: dict[str, Any] = {"__name__": "page"}
    for block in blocks(text):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if block.language == "python":
                exec(compile("\n" * block.line + block.code, name, "exec"), namespace)
            elif SHELL.search(block.code):
                print(_shell(block.code), end="")
            else:
                _commands(block.code, f"{name}:{block.line + 1}")
        yield block, printed.getvalue()


def _commands(code: str, where: str) -> None:
    from gsr.cli import main

    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["gsr"] and words[1:2] != ["bench"] and main(words[1:]) != 0:
            raise RuntimeError(f"{where}: {line} failed")


def _shell(code: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        command = Path(folder) / "gsr"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gsr.cli "$@"\n')
        command.chmod(0o755)
        path = os.pathsep.join([folder, str(Path(sys.executable).parent), os.environ["PATH"]])
        lines = ["bash", "-euo", "pipefail", "-c", code]
        done = subprocess.run(lines, env={**os.environ, "PATH": path}, stdout=-1, text=True)
    done.check_returncode()
    return done.stdout


# ---- writing -----------------------------------------------------------------------------------


def settings_table() -> str:
    """Return the keys of a configuration file as a table, as the program knows them."""
    from gsr.options import OPTIONS

    lines = ["| key | value | default | |", "|---|---|---|---|"]
    for option in OPTIONS:
        if not option.hyper:
            default = "" if option.default is None else f"`{str(option.default).lower()}`"
            lines.append(f"| `{option.key}` | {option.type} | {default} | {option.help} |")
    paper = ", ".join(f"`{option.name}`" for option in OPTIONS if option.hyper)
    end = f"In `search` the hyper-parameters of the paper stand too: {paper}."
    return "\n".join([*lines, "", end, ""])


def filled(text: str, name: str) -> str:
    """Return a page with what its code prints, and with the table of settings."""
    text = SETTINGS.sub(lambda _: settings_table(), text)
    with workplace():
        outputs = [(block.output, printed) for block, printed in run(text, name)]
    for (start, end), printed in reversed(outputs):
        if start >= 0:
            lines = [line.rstrip() for line in printed.splitlines()]
            text = text[:start] + "\n".join([*lines, ""]) + text[end:]
    return text


def main() -> None:
    """Run the pages that are named, or all, and write them."""
    if sys.argv[1:] == ["--settings"]:
        page = DOCS / "howto" / "command-line.md"
        text = page.read_text(encoding="utf-8")
        page.write_text(SETTINGS.sub(lambda _: settings_table(), text), encoding="utf-8")
        return
    named = [Path(argument).resolve() for argument in sys.argv[1:]]
    for page in named or [DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md"))]:
        print(page.name, file=sys.stderr)
        page.write_text(filled(page.read_text(encoding="utf-8"), page.name), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
