"""Signals of a run: save now, save and stop, stop with a result."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gsr.islands.archipelago import Wishes

#: Seconds in which a second Ctrl-C is that of the same hand: launchers pass it on once more.
SAME = 1.0
#: Names that not every system has.
SAVE = ("SIGUSR1",)


@contextmanager
def heard(wishes: Wishes) -> Iterator[None]:
    """Turn signals into wishes while a run goes on.

    SIGUSR1 asks for a checkpoint; SIGTERM for one and for the end; SIGINT for the end, and at once
    if it comes again after a second.

    Parameters
    ----------
    wishes : Wishes
        What they become. A handler does nothing else: it may run in the middle of anything.
    """
    interrupted: list[float] = []

    def on_signal(number: int, _: Any) -> None:
        name = signal.Signals(number).name
        if name == "SIGINT":
            interrupted.append(time.monotonic())
            if interrupted[-1] - interrupted[0] >= SAME:
                raise KeyboardInterrupt
            wishes.stop("interrupted")
        else:
            wishes.save_now = True
            if name == "SIGTERM":
                wishes.stop("terminated")
        wishes.signals.append(name)

    with _handled((*SAVE, "SIGTERM", "SIGINT"), on_signal):
        yield


@contextmanager
def harmless() -> Iterator[None]:
    """Keep a wish for a checkpoint from ending the program while there is no search to save."""
    with _handled(SAVE, signal.SIG_IGN):
        yield


@contextmanager
def _handled(names: Sequence[str], handler: Any) -> Iterator[None]:
    known = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = [(each, signal.signal(each, handler)) for each in known]
    try:
        yield
    finally:
        for each, earlier in before:
            signal.signal(each, earlier)
