"""Pages of the documentation site that are made from the source, when MkDocs builds it.

The reference is made from the installed package: the public API has one entry for each name of
`gsr.__all__`, and the command line what `--help` prints. Files outside `docs` that pages link to
become pages as well.
"""

from __future__ import annotations

import argparse
import os
import re
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Files outside `docs`, and their pages.
OUTSIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "cluster/README.md": "scripts.md",
}
WIDTH = 96
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)]*)?\))")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made here."""
    from mkdocs.structure.files import File

    made = {"reference/python.md": python_page, "reference/command-line.md": command_page}
    pages = {path: page() for path, page in made.items()}
    for source, path in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        pages[path] = moved(text, Path(source).parent, ".")
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links that leave `docs` lead to the pages of the site."""
    if page.file.generated_by:
        return markdown
    folder = Path("docs", page.file.src_path).parent
    return moved(markdown, folder, str(Path(page.file.src_path).parent))


def moved(text: str, folder: Path, page_folder: str) -> str:
    """Rewrite the links of a file in a folder of the repository for its place on the site.

    Links to files that have no page become the name of the file.
    """

    def rewritten(found: re.Match[str]) -> str:
        path = os.path.normpath(folder / found[2]).replace(os.sep, "/")
        inside = OUTSIDE.get(path) or path.removeprefix("docs/")
        if path in OUTSIDE or path.startswith("docs/"):
            target = os.path.relpath(inside, page_folder).replace(os.sep, "/")
            return f"{found[1]}{target}{found[3]}"
        return found[0]

    text = LINK.sub(rewritten, text)
    # What has no page: the file's name alone.
    return re.sub(
        r"\[([^\]]+)\]\(([^)#:\s]+)(?:#[^)]*)?\)",
        lambda m: m[0] if _is_on_site(m[2], page_folder) else m[1],
        text,
    )


def _is_on_site(target: str, page_folder: str) -> bool:
    path = os.path.normpath(os.path.join(page_folder, target)).replace(os.sep, "/")
    made = {*OUTSIDE.values(), "reference/python.md", "reference/command-line.md"}
    file = ROOT / "docs" / path
    return path in made or (file.is_file() and file.suffix in (".md", ".png"))


# ---- reference -----------------------------------------------------------------------------------


def python_page() -> str:
    """Return the reference of the public API."""
    import gsr

    lines = ["# Python", "", "Everything public is imported from `gsr`.", ""]
    for name in gsr.__all__:
        if name == "__version__":
            lines += ["## `gsr.__version__`", "", "The version, as text.", ""]
        else:
            home = getattr(gsr, name).__module__
            lines += [f"::: {home}.{name}", ""]
    lines += ["::: gsr.table.EquationTable", "", "::: gsr.table.EquationRow", ""]
    return "\n".join(lines)


def command_page() -> str:
    """Return what `--help` prints of each command."""
    from gsr.cli import program, terminal

    parts = ["# Command line\n", "See also the [guide](../howto/command-line.md).\n"]
    for command in (None, *terminal.COMMANDS):
        parser = program._parser(command)
        shown = parser
        if command is not None:
            (actions,) = (a for a in parser._actions if a.choices and a.dest != "version")
            shown = actions.choices[command]
        shown.formatter_class = partial(argparse.RawDescriptionHelpFormatter, width=WIDTH)
        title = f"gsr {command}" if command else "gsr"
        parts.append(f"## {title}\n\n```text\n{shown.format_help().rstrip()}\n```\n")
    return "\n".join(parts)
