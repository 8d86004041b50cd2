"""Signals to a run: save now, save and stop, stop with a result."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gsr.islands.archipelago import Requests

#: Repeated Ctrl-C within this many seconds counts once: launchers pass it on a second time.
SAME = 1.0
#: Signals that not every system has.
SAVE = ("SIGUSR1",)


@contextmanager
def signals_as_requests(requests: Requests) -> Iterator[None]:
    """Turn signals into requests while a run goes on.

    SIGUSR1 asks for a checkpoint; SIGTERM for one and for the end; SIGINT for the end, and at once
    if it comes again after a second. A handler only sets requests, since it may run at any point of
    the main thread.
    """
    interrupted: list[float] = []

    def on_signal(number: int, _: Any) -> None:
        name = signal.Signals(number).name
        if name == "SIGINT":
            interrupted.append(time.monotonic())
            if interrupted[-1] - interrupted[0] >= SAME:
                raise KeyboardInterrupt
            requests.stop("interrupted")
        else:
            requests.save_now = True
            if name == "SIGTERM":
                requests.stop("terminated")
        requests.signals.append(name)

    with _handled((*SAVE, "SIGTERM", "SIGINT"), on_signal):
        yield


@contextmanager
def ignore_sigusr1() -> Iterator[None]:
    """Ignore a request for a checkpoint while there is no search to save."""
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
