"""Time limits for loops and blocks of Python code."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def in_time(items: Iterable[T], until: float | None, least: int = 1) -> Iterator[T]:
    """Yield items until the time is up.

    Parameters
    ----------
    items : iterable
        The best ones first.
    until : float, optional
        When to end, on the clock of `time.perf_counter`.
    least : int
        So many are yielded in any case.
    """
    for k, item in enumerate(items):
        if k >= least and until is not None and time.perf_counter() > until:
            return
        yield item


class TimeUp(BaseException):
    """Not an Exception, so that the handlers of the code under the limit let it pass."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise TimeUp in this thread after `seconds`.

    Works in any thread and any process, and leaves the signal handlers of the host alone.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    ended = threading.Lock()  # taken once: by the block that ends or by the timer that fires

    def fire() -> None:
        if ended.acquire(blocking=False):
            raise_in(thread, ctypes.py_object(TimeUp))

    timer = threading.Timer(max(seconds, 0.0), fire)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if not ended.acquire(blocking=False):
            timer.join()
            raise_in(thread, None)  # nothing may strike after the block
