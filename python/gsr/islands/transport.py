"""How the ranks of a run talk to each other, and what one rank alone does instead."""

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

#: Messages to one rank that may be under way at a time. More are dropped, so that a rank which
#: does not receive costs its neighbours no memory.
UNDER_WAY = 4
#: Exit codes of a rank that fails.
WRONG_INPUT, CRASHED, INTERRUPTED = 2, 70, 130


class Agreement(Protocol):
    """Numbers that all ranks are about to agree on."""

    def result(self) -> tuple[list[float], list[float]] | None:
        """Return the maxima and the sums over all ranks, or None: not yet."""


class Transport(Protocol):
    """What the ranks of a run need of each other. All of it is for the main thread alone.

    Attributes
    ----------
    rank : int
        Which rank this is, from 0.
    size : int
        How many ranks there are.
    library : str or None
        The MPI library and mpi4py, with their versions.
    """

    rank: int
    size: int
    library: str | None

    def send(self, destination: int, payload: bytes) -> bool:
        """Send without waiting.

        Parameters
        ----------
        destination : int
            A rank; it may be this one.
        payload : bytes
            The message.

        Returns
        -------
        bool
            False: dropped, because too much to that rank is still under way.
        """

    def receive(self) -> list[tuple[int, bytes]]:
        """Return all that has arrived, as (source, payload); in order for each source."""

    def agree(self, maxima: Sequence[float], sums: Sequence[float]) -> Agreement:
        """Start to agree on numbers, one agreement at a time.

        Parameters
        ----------
        maxima, sums : sequence of float
            What this rank contributes; as many on every rank. A maximum that is not a number does
            not count.

        Returns
        -------
        Agreement
            Every rank must start it, and all in the same order.
        """

    def share(self, payload: bytes | None) -> bytes:
        """Return what rank 0 gives, on all ranks. For the start: it waits, asleep."""

    def share_array(self, array: NDArray[Any] | None) -> NDArray[Any]:
        """Return rank 0's array on all ranks, read-only; a large one is kept once per node.

        Parameters
        ----------
        array : array or None
            Numbers or texts; None on the other ranks.

        Returns
        -------
        array
            In C order. It lives as long as the process.
        """

    def merge(self, payload: bytes, join: Callable[[bytes, bytes], bytes]) -> bytes | None:
        """Join the payloads of all ranks on rank 0, in a tree; it waits, asleep.

        Parameters
        ----------
        payload : bytes
            What this rank contributes.
        join : callable
            Makes one of two: the first is of the lower ranks. The tree is always the same.

        Returns
        -------
        bytes or None
            Everything on rank 0, None elsewhere.
        """

    def wait(self) -> None:
        """Return when all ranks are here; it waits, asleep."""

    def close(self) -> None:
        """Return when nothing is under way; all ranks must call it.

        What arrives meanwhile can still be had from `receive`, once.
        """

    def leave(self, code: int) -> int:
        """End the connection, when it is closed; nothing of it can be used any more.

        Parameters
        ----------
        code : int
            On which all ranks have agreed.

        Returns
        -------
        int
            The exit code of this rank: launchers should see that of rank 0 alone, which goes last.
        """

    def abort(self, code: int) -> NoReturn:
        """End all ranks now, with an exit code."""


def counted(maxima: Sequence[float]) -> list[float]:
    """Return numbers of which a maximum can be taken: no rank may see another one."""
    return [-inf if isnan(value) else float(value) for value in maxima]


@dataclass(frozen=True)
class Agreed:
    """An agreement of one rank with itself."""

    maxima: list[float]
    sums: list[float]

    def result(self) -> tuple[list[float], list[float]]:
        """Return the maxima and the sums."""
        return self.maxima, self.sums


class Alone:
    """One rank without MPI."""

    def __init__(self) -> None:
        self.rank = 0
        self.size = 1
        self.library: str | None = None
        self._arrived: list[tuple[int, bytes]] = []

    def send(self, destination: int, payload: bytes) -> bool:
        """Send to itself; see Transport."""
        if destination != 0:
            raise ValueError(f"there is no rank {destination}: this is the only one")
        if len(self._arrived) >= UNDER_WAY:
            return False
        self._arrived.append((0, payload))
        return True

    def receive(self) -> list[tuple[int, bytes]]:
        """Return all that has arrived."""
        arrived, self._arrived = self._arrived, []
        return arrived

    def agree(self, maxima: Sequence[float], sums: Sequence[float]) -> Agreement:
        """Agree at once."""
        return Agreed(counted(maxima), [float(value) for value in sums])

    def share(self, payload: bytes | None) -> bytes:
        """Return the payload."""
        if payload is None:
            raise ValueError("rank 0 must give what is shared")
        return payload

    def share_array(self, array: NDArray[Any] | None) -> NDArray[Any]:
        """Return the array, read-only."""
        return read_only(given(array))

    def merge(self, payload: bytes, join: Callable[[bytes, bytes], bytes]) -> bytes | None:
        """Return the payload: there is nothing to join it with."""
        return payload

    def wait(self) -> None:
        """Return at once."""

    def close(self) -> None:
        """Return at once."""

    def leave(self, code: int) -> int:
        """Return the code."""
        return code

    def abort(self, code: int) -> NoReturn:
        """Leave the program."""
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
    """Run the program of a rank so that its failure ends all ranks.

    Parameters
    ----------
    main : callable
        The program. What it returns is an end on which the ranks have agreed.
    transport : Transport
        Its connection to the others.

    Returns
    -------
    int
        The exit code of `main`. After an exception there is no return: the reason is printed,
        each line with the number of the rank in front, and all ranks are ended.
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
    """Print in one piece, so that the lines of several ranks do not mix."""
    name = f"rank {transport.rank}: " if transport.size > 1 else ""
    sys.stdout.flush()
    sys.stderr.write("".join(f"{name}{line}\n" for line in text.splitlines()))
    sys.stderr.flush()
