"""What every transport must do; the same checks for one rank alone and for many over MPI.

As a program it runs them on all ranks of a job, or with the argument `self` on each by itself.
"""

import random
import sys
import time
from math import inf, nan
from zlib import crc32

import numpy as np

from gsr.islands.transport import UNDER_WAY, guarded


def until(step):
    """Return the first result of `step` that is true."""
    while not (result := step()):
        time.sleep(0.001)
    return result


def agreed(transport, maxima, sums):
    return until(transport.agree(maxima, sums).result)


def receive(transport, count):
    """Return the next messages, when at least so many are here."""
    found = []
    until(lambda: found.extend(transport.receive()) or len(found) >= count)
    return found


def check_share(transport):
    for payload in (b"", b"a table", bytes(range(256)) * 99):
        given = payload if transport.rank == 0 else None
        assert transport.share(given) == payload


def check_share_leaves_out_what_other_ranks_give(transport):
    assert transport.share(f"from {transport.rank}".encode()) == b"from 0"


def check_share_array(transport):
    arrays = [
        np.arange(12.0).reshape(3, 4),
        np.asfortranarray(np.arange(12).reshape(4, 3)),
        np.array(["a", "Straße"]),
        np.array([True, False]),
        np.array(3.5),
        np.empty((0, 2)),
        np.arange(300_000.0).reshape(2, -1)[:, ::2],
        np.arange(400_000.0).reshape(2, -1),
    ]
    for array in arrays:
        shared = transport.share_array(array if transport.rank == 0 else None)
        assert shared.dtype == array.dtype
        assert np.array_equal(shared, array)
        assert shared.flags.c_contiguous
        assert not shared.flags.writeable


def check_agree(transport):
    for turn in range(5):
        maxima, sums = agreed(transport, [transport.rank + turn, -inf], [1, turn, 0.5])
        assert maxima == [transport.size - 1 + turn, -inf]
        assert sums == [transport.size, turn * transport.size, 0.5 * transport.size]


def check_agree_on_nothing(transport):
    maxima, sums = agreed(transport, [], [])
    assert (maxima, sums) == ([], [])


def check_not_a_number_is_no_maximum(transport):
    mine = nan if transport.rank == 0 else 7.0
    assert agreed(transport, [mine], [])[0] == [-inf if transport.size == 1 else 7.0]


def check_everyone_agrees_on_the_same(transport):
    # Sums of such numbers depend on their order.
    maxima, sums = agreed(transport, [0.1 * transport.rank], [0.1**transport.rank] * 3)
    mine = repr((maxima, sums)).encode()
    assert transport.share(mine) == mine


def tree(first, distance, size):
    """Return how a merge must join the ranks from `first` to before `first + distance`."""
    if distance == 1:
        return f"{first}"
    half = distance // 2
    left = tree(first, half, size)
    return left if first + half >= size else f"({left} {tree(first + half, half, size)})"


def check_merge(transport):
    for _ in range(2):
        merged = transport.merge(b"%d" % transport.rank, lambda low, high: b"(%s %s)" % (low, high))
        expected = tree(0, 1 << (transport.size - 1).bit_length(), transport.size)
        assert merged == (expected.encode() if transport.rank == 0 else None)


def check_messages_arrive_in_order(transport):
    payloads = [b"%d " % transport.rank + b"x" * length for length in (300_000, 0, 5, 70_000)]
    for payload in payloads:
        assert transport.send((transport.rank + 1) % transport.size, payload)
    left = (transport.rank - 1) % transport.size
    expected = [(left, b"%d " % left + payload.split(b" ", 1)[1]) for payload in payloads]
    assert receive(transport, len(payloads)) == expected
    assert transport.receive() == []
    transport.wait()


def check_too_much_is_dropped(transport):
    """Whoever does not receive loses messages; nobody waits for it."""
    transport.wait()
    right = (transport.rank + 1) % transport.size
    taken = [transport.send(right, b"%d" % turn) for turn in range(3 * UNDER_WAY)]
    assert taken == [True] * UNDER_WAY + [False] * 2 * UNDER_WAY
    transport.wait()
    left = (transport.rank - 1) % transport.size
    expected = [(left, b"%d" % turn) for turn in range(UNDER_WAY)]
    assert receive(transport, UNDER_WAY) == expected
    transport.wait()
    until(lambda: transport.send(right, b"again"))
    assert receive(transport, 1) == [(left, b"again")]
    transport.wait()


def check_nothing_is_lost_at_close(transport):
    """Random messages to random ranks; what was sent and what came must be the same."""
    other = type(transport)()
    draw = random.Random(transport.rank)
    sent, received = [], []
    for _ in range(draw.randrange(10_000 // transport.size)):
        payload = draw.randbytes(int(10 ** draw.uniform(0, 4)))
        if other.send(draw.randrange(other.size), payload):
            sent.append(payload)
        elif draw.random() < 0.5:
            received += other.receive()
    other.close()
    received += other.receive()
    assert other.receive() == []
    mine = [len(sent), sum(map(crc32, sent)), len(received), sum(crc32(x) for _, x in received)]
    _, (count, total, count_received, total_received) = agreed(transport, [], mine)
    assert (count, total) == (count_received, total_received)
    assert count > 0


def check_close_twice(transport):
    other = type(transport)()
    other.close()
    other.close()
    assert other.receive() == []


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]


def main(transport):
    for check in CHECKS:
        check(transport)
        transport.wait()
    transport.close()
    print(f"rank {transport.rank} of {transport.size}: all checks hold", flush=True)
    return 0


if __name__ == "__main__":
    from gsr.islands import mpi

    class OnSelf(mpi.MPITransport):
        def __init__(self):
            super().__init__(mpi.MPI.COMM_SELF)

    mpi.STEP = 1000  # several steps
    sys.exit(guarded(main, OnSelf() if "self" in sys.argv else mpi.MPITransport()))
