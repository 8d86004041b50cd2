"""Time limits for loops and blocks of Python code, on the clock of `time.perf_counter`."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

T = TypeVar("T")

#: Seconds after the end in which more than one item may still be looked at.
GRACE = 0.1


def is_late(until: float | None) -> bool:
    """Whether the time is up."""
    return until is not None and time.perf_counter() > until


def in_time(items: Iterable[T], until: float | None, least: int = 1) -> Iterator[T]:
    """Yield items, the best ones first, until the time is up.

    `least` items are yielded though it is late, but within `GRACE` seconds; the first of them in
    any case.
    """
    end = None if until is None else until + GRACE
    remaining = iter(items)
    for k in count():
        # Before the next item is made, which may take long.
        if (k >= least and is_late(until)) or (0 < k < least and is_late(end)):
            return
        try:
            item = next(remaining)
        except StopIteration:
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
