"""Communication between the ranks of a run, and its replacement for a single rank."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from gsr.exceptions import GSRError

#: Messages to one rank that may be under way at a time. Further ones are dropped, so that a rank
#: that does not receive costs its neighbours no memory.
UNDER_WAY = 4
#: Exit codes of a rank that fails.
WRONG_INPUT, CRASHED, INTERRUPTED = 2, 70, 130


class Agreement(Protocol):
    """Numbers that all ranks are going to agree on."""

    def result(self) -> tuple[list[float], list[float]] | None:
        """Return the maxima and the sums over all ranks, None if they are not known yet."""


class Transport(Protocol):
    """Connects the ranks of a run; only their main threads use it."""

    #: The rank of this process, the number of ranks, and the versions of MPI library and mpi4py.
    rank: int
    size: int
    library: str | None

    def send(self, destination: int, payload: bytes) -> bool:
        """Send a payload to a rank, which may be this one, without waiting."""

    def receive(self) -> list[tuple[int, bytes]]:
        """Return the messages that have arrived: source and payload, in order for each source."""

    def agree(self, maxima: Sequence[float], sums: Sequence[float]) -> Agreement:
        """Start to agree on maxima and sums over all ranks, one agreement at a time.

        Every rank must start it, with as many numbers and all in the same order. A maximum that is
        not a number does not count.
        """

    def share(self, payload: bytes | None) -> bytes:
        """Return rank 0's payload on all ranks; sleeps until it is there."""

    def share_array(self, array: NDArray[Any] | None) -> NDArray[Any]:
        """Return rank 0's array of numbers or texts on all ranks, stored once per node if large.

        It is read-only, in C order, and lives as long as the process. Other ranks give None.
        """

    def merge(self, payload: bytes, join: Callable[[bytes, bytes], bytes]) -> bytes | None:
        """Join the payloads of all ranks on rank 0, in a tree; sleeps meanwhile.

        `join` makes one payload of two, the first of which is of lower ranks; the tree is always
        the same. Returns the joined payload on rank 0, None elsewhere.
        """

    def wait(self) -> None:
        """Sleep until all ranks have called it."""

    def close(self) -> None:
        """Sleep until no message is under way; all ranks must call it.

        `receive` still returns the messages that arrive meanwhile.
        """

    def leave(self, code: int) -> int:
        """End a connection that is closed, and return the exit code of this rank.

        Launchers should see that of rank 0 alone, which ends last. All ranks have agreed on `code`.
        """

    def abort(self, code: int) -> NoReturn:
        """End all ranks now, with an exit code."""


def counted(maxima: Sequence[float]) -> list[float]:
    """Return numbers without NaN, whose maximum is the same on all ranks."""
    return [-inf if isnan(value) else float(value) for value in maxima]


@dataclass(frozen=True)
class Agreed:
    """An agreement of one rank with itself."""

    maxima: list[float]
    sums: list[float]

    def result(self) -> tuple[list[float], list[float]]:
        return self.maxima, self.sums


class Alone:
    """One rank without MPI."""

    def __init__(self) -> None:
        self.rank = 0
        self.size = 1
        self.library: str | None = None
        self._arrived: list[tuple[int, bytes]] = []

    def send(self, destination: int, payload: bytes) -> bool:
        if destination != 0:
            raise ValueError(f"there is no rank {destination}: this is the only one")
        if len(self._arrived) >= UNDER_WAY:
            return False
        self._arrived.append((0, payload))
        return True

    def receive(self) -> list[tuple[int, bytes]]:
        arrived, self._arrived = self._arrived, []
        return arrived

    def agree(self, maxima: Sequence[float], sums: Sequence[float]) -> Agreement:
        return Agreed(counted(maxima), [float(value) for value in sums])

    def share(self, payload: bytes | None) -> bytes:
        if payload is None:
            raise ValueError("rank 0 must give what is shared")
        return payload

    def share_array(self, array: NDArray[Any] | None) -> NDArray[Any]:
        return read_only(given(array))

    def merge(self, payload: bytes, join: Callable[[bytes, bytes], bytes]) -> bytes | None:
        return payload

    def wait(self) -> None:
        """Return at once."""

    def close(self) -> None:
        """Return at once."""

    def leave(self, code: int) -> int:
        return code

    def abort(self, code: int) -> NoReturn:
        raise SystemExit(code)


def given(array: NDArray[Any] | None) -> NDArray[Any]:
    """Return rank 0's array in C order, if its bytes can go to other ranks."""
    if array is None:
        raise ValueError("rank 0 must give what is shared")
    if array.dtype.kind not in "biufcSU":
        raise ValueError(f"an array of {array.dtype} cannot be shared, only numbers and texts")
    return np.asarray(array, order="C")


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def guarded(main: Callable[[Transport], int], transport: Transport) -> int:
    """Run the program of a rank, and return its exit code; a failure ends all ranks.

    After an exception there is no return: the reason is printed, each line with the number of the
    rank in front, and all ranks are ended.
    """
    try:
        return main(transport)
    except BaseException as error:
        text, code = _reason(error)
        if code == 0:
            return 0
        _tell(text, transport)
        transport.abort(code)


def _reason(error: BaseException) -> tuple[str, int]:
    """Return what to print about an exception, and the exit code."""
    if isinstance(error, GSRError):
        return str(error), WRONG_INPUT
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return "", error.code or 0
        return str(error.code), 1
    if type(error).__module__.startswith("mpi4py"):
        # Most often another rank was killed in the middle of a message.
        return f"lost the connection to another rank: {str(error).splitlines()[0]}", CRASHED
    return "".join(traceback.format_exception(error)), CRASHED


def _tell(text: str, transport: Transport) -> None:
    """Print in one write, so that the lines of several ranks do not mix."""
    name = f"rank {transport.rank}: " if transport.size > 1 else ""
    sys.stdout.flush()
    sys.stderr.write("".join(f"{name}{line}\n" for line in text.splitlines()))
    sys.stderr.flush()
