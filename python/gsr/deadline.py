"""A time limit for a block of Python code."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
