"""Threads of linear algebra."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra runs on one thread.

    Matrices are narrow here: to start threads for them costs more than they save.
    """
    context: AbstractContextManager[Any] = _controller().limit(limits=1)
    return context


@cache
def _controller() -> ThreadpoolController:
    # To look for the libraries takes milliseconds, and NumPy and SciPy bring theirs when imported.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
