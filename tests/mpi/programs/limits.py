"""What only MPI has: an agreement that is not reached, a message too long, naps, light imports."""

import sys
import time
from math import inf

import pytest

from gsr.exceptions import GSRError
from gsr.islands import mpi

HEAVY = {"sklearn", "scipy", "pandas", "sympy"}
assert not HEAVY & set(sys.modules), "a rank has loaded what it does not need"


def one_agreement_at_a_time(transport):
    """Rank 0 begins; the other does so only when rank 0 has tried another one."""
    if transport.rank == 0:
        agreement = transport.agree([1], [1])
        assert agreement.result() is None
        with pytest.raises(RuntimeError, match="not reached"):
            transport.agree([1], [1])
        transport.send(1, b"now")
    else:
        while not transport.receive():
            time.sleep(0.001)
        agreement = transport.agree([2], [2])
    while (result := agreement.result()) is None:
        time.sleep(0.001)
    assert result == agreement.result() == ([2.0], [3.0])


def close_ends_an_agreement(transport):
    agreement = transport.agree([transport.rank], [])
    transport.close()
    assert agreement.result() == ([1.0], [])


def a_message_too_long_is_refused(transport, most):
    mpi.MOST_BYTES = 10
    with pytest.raises(GSRError, match="fewer individuals"):
        transport.send(0, bytes(11))
    mpi.MOST_BYTES = most


def waiting_is_sleeping(naps, sleep):
    time.sleep = naps.append
    looks = iter([False] * 30 + [True])
    mpi._politely(looks.__next__)
    time.sleep = sleep
    assert len(naps) == 30
    assert naps == sorted(naps)
    assert (naps[0], naps[-1]) == (mpi.SHORT_NAP, mpi.LONG_NAP)


def main():
    transport = mpi.MPITransport()
    one_agreement_at_a_time(transport)
    a_message_too_long_is_refused(transport, mpi.MOST_BYTES)
    waiting_is_sleeping([], time.sleep)
    assert transport.agree([-inf], []).result() in (None, ([-inf], []))
    transport.close()
    close_ends_an_agreement(mpi.MPITransport())


main()
