"""The log of gsr on standard error."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from gsr.cli.terminal import complain


class TerminalHandler(logging.Handler):
    """Prints messages as ``gsr: ...``, with the rank of ranks other than 0."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self._rank = f"rank {rank}: " if rank else ""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        level = f"{record.levelname}: " if record.levelno >= logging.WARNING else ""
        complain(f"{level}{self._rank}{record.getMessage()}")

    def set_level(self, name: str) -> None:
        """Set the lowest level to print: ``"info"``, ``"warning"`` or ``"error"``."""
        self.setLevel(name.upper())


@contextmanager
def terminal_output(level: str = "info", rank: int = 0) -> Iterator[TerminalHandler]:
    """Print the log of gsr on standard error."""
    logger = logging.getLogger("gsr")
    handler, before = TerminalHandler(rank), logger.level
    handler.set_level(level)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
