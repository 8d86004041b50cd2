"""A time limit for a block of Python code."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds between strikes.
AGAIN = 0.1


class TimeUp(BaseException):
    """Not an Exception, so that the handlers of the code under the limit let it pass."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise TimeUp in this thread after `seconds`.

    Works in any thread and any process, and leaves the signal handlers of the host alone.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    ended = threading.Event()

    def strike() -> None:
        # Again and again: an exception inside a callback of the interpreter is swallowed.
        wait = max(seconds, 0.0)
        while not ended.wait(wait):
            raise_in(thread, ctypes.py_object(TimeUp))
            wait = AGAIN

    timer = threading.Thread(target=strike, daemon=True)
    timer.start()
    try:
        yield
    finally:
        ended.set()
        timer.join()
        raise_in(thread, None)  # nothing may strike after the block
