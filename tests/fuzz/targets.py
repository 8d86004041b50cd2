"""What is fuzzed: functions of bytes from files or users, which only raise `GSRError`."""

from __future__ import annotations

import json
from pathlib import Path

from gsr import saving, tables
from gsr.encoding import encode
from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.islands.checkpoints import Manifest, unpack
from gsr.library import resolve
from gsr.prior import units
from gsr.runs import config

CORPUS = Path(__file__).parent / "corpus"
LIBRARY = resolve("all")


class Content(Source):
    """A file of bytes."""

    def __init__(self, content: bytes) -> None:
        self.path, self.name, self._content = Path("table"), "table", content


def formulas(content: bytes) -> None:
    encode(content.decode(errors="replace"), LIBRARY, 3)


def unit(content: bytes) -> None:
    units.parse(content.decode(errors="replace"))


def settings(content: bytes) -> None:
    config.parse(content.decode(errors="surrogateescape"))


def table(content: bytes) -> None:
    tables.read(Content(content))


def models(content: bytes) -> None:
    """Models without their checksum, which damage would not pass."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict):
        saving._model(document, {})


def checkpoints(content: bytes) -> None:
    for read in (unpack, Manifest.from_json):
        try:
            read(content)
        except GSRError:
            continue


TARGETS = {
    "formulas": formulas,
    "units": unit,
    "settings": settings,
    "tables": table,
    "models": models,
    "checkpoints": checkpoints,
}


def refused(name: str, content: bytes) -> bool:
    """Whether a target refuses bytes; anything but a `GSRError` is raised."""
    try:
        TARGETS[name](content)
    except GSRError:
        return True
    return False
