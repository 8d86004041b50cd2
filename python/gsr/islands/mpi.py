"""Communication between the ranks of an MPI job. All waiting is polling with pauses."""

from __future__ import annotations

import json
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import mpi4py
import numpy as np
from numpy.typing import NDArray

from gsr.exceptions import GSRError
from gsr.islands import launcher
from gsr.islands.transport import UNDER_WAY, Agreement, counted, given, read_only

# MPI starts when it is known that library and launcher belong together, and ends at exit.
mpi4py.rc.initialize = False
mpi4py.rc.finalize = True
from mpi4py import MPI  # noqa: E402

#: Tags of messages: migrants, and parts of a merge.
MIGRATION, MERGE = 1, 2
#: Seconds between two polls: the first and the longest.
SHORT_NAP, LONG_NAP = 0.0005, 0.01
#: Seconds for the launcher to pass on the output of a rank before that aborts the job.
LAST_WORDS = 0.3
#: Seconds that rank 0 waits for the others to end before it does, with an exit code for the
#: launcher. srun would kill ranks that still run, and report that instead.
LAST_TO_LEAVE = 1.0
#: Bytes of one step of a broadcast: MPI counts in 32 bits, and a large step keeps a rank busy.
STEP = 2**24
#: A message of more bytes is refused: MPI counts in 32 bits.
MOST_BYTES = 2**31 - 1
#: An array of fewer bytes is not worth shared memory.
SMALL = 2**20
#: Bytes of a cache line.
LINE = 64

Bytes = NDArray[np.uint8]
#: A message that is being received: its source, its buffer, and its request.
Incoming = tuple[int, Bytes, MPI.Request]


def initialize() -> None:
    """Start MPI, unless it runs; only in the main thread."""
    if not MPI.Is_initialized():
        MPI.Init_thread(MPI.THREAD_FUNNELED)


def connect(launch: launcher.Launch) -> MPITransport:
    """Connect all ranks of a job."""
    library = MPI.Get_library_version()
    launcher.check_library(launch, library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `check` reports a foreign launcher
        initialize()
    launcher.check(launch, MPI.COMM_WORLD.Get_size(), library)
    return MPITransport()


class MPITransport:
    """The ranks of a communicator."""

    def __init__(self, comm: MPI.Intracomm | None = None) -> None:
        initialize()
        self._outer = MPI.COMM_WORLD if comm is None else comm
        self._comm, duplicated = self._outer.Idup()
        _done(duplicated)
        self.rank = self._comm.Get_rank()
        self.size = self._comm.Get_size()
        # Open MPI counts the zero at the end of its text.
        name = MPI.Get_library_version().strip("\0 \n").splitlines()[0]
        self.library: str | None = f"{name}; mpi4py {mpi4py.__version__}"
        self._sending: dict[int, list[MPI.Request]] = {}
        self._receiving: list[Incoming] = []
        self._arrived: list[tuple[int, bytes]] = []
        self._agreement: MPIAgreement | None = None
        self._closed = False

    def send(self, destination: int, payload: bytes) -> bool:
        under_way = _unfinished(self._sending.get(destination, []))
        taken = len(under_way) < UNDER_WAY
        if taken:
            under_way.append(self._post(destination, payload, MIGRATION))
        self._sending[destination] = under_way
        return taken

    def receive(self) -> list[tuple[int, bytes]]:
        if not self._closed:
            self._look()
        arrived, self._arrived = self._arrived, []
        return arrived

    def agree(self, maxima: Sequence[float], sums: Sequence[float]) -> Agreement:
        if self._agreement is not None and self._agreement.result() is None:
            raise RuntimeError("the last agreement is not reached yet")
        self._agreement = MPIAgreement(self._comm, maxima, sums)
        return self._agreement

    def share(self, payload: bytes | None) -> bytes:
        if self.rank != 0:
            payload = None
        elif payload is None:
            raise ValueError("rank 0 must give what is shared")
        length = np.array([0 if payload is None else len(payload)], dtype=np.int64)
        _done(self._comm.Ibcast(length))
        if payload is not None:
            _broadcast(self._comm, np.frombuffer(payload, np.uint8))
            return payload
        received = np.empty(int(length[0]), np.uint8)
        _broadcast(self._comm, received)
        return received.tobytes()

    def share_array(self, array: NDArray[Any] | None) -> NDArray[Any]:
        source = given(array) if self.rank == 0 else None
        form = None if source is None else json.dumps([source.dtype.str, source.shape]).encode()
        name, shape = json.loads(self.share(form))
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(name).itemsize
        content = None if source is None else source.reshape(-1).view(np.uint8)
        memory = self._shared_by_node(size, content) if size >= SMALL else None
        if memory is None:
            memory = np.empty(size, np.uint8) if content is None else content
            _broadcast(self._comm, memory)
        return read_only(memory.view(name).reshape(shape))

    def merge(self, payload: bytes, join: Callable[[bytes, bytes], bytes]) -> bytes | None:
        distance = 1
        while distance < self.size:
            if self.rank & distance:
                _done(self._post(self.rank - distance, payload, MERGE))
                return None
            if self.rank + distance < self.size:
                payload = join(payload, self._wait_for(self.rank + distance, MERGE))
            distance *= 2
        return payload

    def wait(self) -> None:
        _done(self._comm.Ibarrier())

    def close(self) -> None:
        if self._closed:
            return

        def all_taken() -> bool:
            self._look()
            return not self._sending and (
                self._agreement is None or self._agreement.result() is not None
            )

        def all_here() -> bool:
            self._look()
            return here.Test() and not self._receiving

        _politely(all_taken)
        # When every rank knows that its messages were received, none is under way.
        here = self._comm.Ibarrier()
        _politely(all_here)
        self._closed = True
        self._comm.Free()

    def leave(self, code: int) -> int:
        MPI.Finalize()
        if self.rank != 0:
            return 0
        if code != 0:
            time.sleep(LAST_TO_LEAVE)
        return code

    def abort(self, code: int) -> NoReturn:
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(LAST_WORDS)
        self._outer.Abort(code)

    def _look(self) -> None:
        """Forget what was sent, begin to receive what has come, take what is complete."""
        for destination in list(self._sending):
            self._sending[destination] = _unfinished(self._sending[destination])
            if not self._sending[destination]:
                del self._sending[destination]
        while (incoming := self._next(MPI.ANY_SOURCE, MIGRATION)) is not None:
            self._receiving.append(incoming)
        late: list[Incoming] = []
        for source, payload, request in self._receiving:
            in_order = all(source != other for other, _, _ in late)
            if in_order and request.Test():
                self._arrived.append((source, payload.tobytes()))
            else:
                late.append((source, payload, request))
        self._receiving = late

    def _post(self, destination: int, payload: bytes, tag: int) -> MPI.Request:
        """Begin to send; the request is complete when the other rank has begun to receive."""
        if len(payload) > MOST_BYTES:
            raise GSRError(
                f"a message of {len(payload)} bytes cannot go from rank to rank (the limit is"
                " 2 GB): let fewer individuals migrate, or keep fewer laws"
            )
        return self._comm.Issend([payload, MPI.BYTE], destination, tag)

    def _next(self, source: int, tag: int) -> Incoming | None:
        """Begin to receive the next message, if there is one."""
        status = MPI.Status()
        message = self._comm.Improbe(source, tag, status)
        if message is None:
            return None
        payload = np.empty(status.Get_count(MPI.BYTE), np.uint8)
        return status.Get_source(), payload, message.Irecv([payload, MPI.BYTE])

    def _wait_for(self, source: int, tag: int) -> bytes:
        """Return the next message of a rank."""
        _politely(lambda: self._comm.Iprobe(source, tag))
        incoming = self._next(source, tag)
        assert incoming is not None
        _, payload, request = incoming
        _done(request)
        return payload.tobytes()

    def _shared_by_node(self, size: int, content: Bytes | None) -> Bytes | None:
        """Return memory of the node with rank 0's content; None where a node cannot share."""
        self.wait()  # the calls below block until all ranks have made them
        node = cast(MPI.Intracomm, self._comm.Split_type(MPI.COMM_TYPE_SHARED, self.rank))
        first = node.Get_rank() == 0
        firsts = self._comm.Split(0 if first else MPI.UNDEFINED, self.rank)
        window = _window(node, size) if self._all(_has_room(size)) else None
        memory = None
        if self._all(window is not None) and window is not None:
            memory = _memory(window, size)
            if content is not None:
                memory[:] = content
            if first:
                _broadcast(firsts, memory)
            self.wait()
            window.Fence()
        for comm in (node, firsts):
            if comm != MPI.COMM_NULL:
                comm.Free()
        return memory

    def _all(self, mine: bool) -> bool:
        """Tell whether something holds on all ranks."""
        everywhere = np.array([mine], dtype=np.int32)
        _done(self._comm.Iallreduce(MPI.IN_PLACE, everywhere, MPI.MIN))
        return bool(everywhere[0])


class MPIAgreement:
    """Numbers on which the ranks of a communicator are going to agree."""

    def __init__(self, comm: MPI.Intracomm, maxima: Sequence[float], sums: Sequence[float]) -> None:
        self._maxima = np.array(counted(maxima), dtype=np.float64)
        self._sums = np.array(sums, dtype=np.float64)
        self._requests = [
            comm.Iallreduce(MPI.IN_PLACE, self._maxima, MPI.MAX),
            comm.Iallreduce(MPI.IN_PLACE, self._sums, MPI.SUM),
        ]

    def result(self) -> tuple[list[float], list[float]] | None:
        self._requests = _unfinished(self._requests)
        return None if self._requests else (self._maxima.tolist(), self._sums.tolist())


def _politely(done: Callable[[], bool]) -> None:
    """Sleep until it is done; busy waiting would take the core of a rank that computes."""
    nap = SHORT_NAP
    while not done():
        time.sleep(nap)
        nap = min(1.5 * nap, LONG_NAP)


def _done(request: MPI.Request) -> None:
    _politely(lambda: request.Test())


def _unfinished(requests: list[MPI.Request]) -> list[MPI.Request]:
    return [request for request in requests if not request.Test()]


def _broadcast(comm: MPI.Comm, content: Bytes) -> None:
    """Broadcast the content of a communicator's first rank, in steps."""
    for begin in range(0, len(content), STEP):
        _done(comm.Ibcast([content[begin : begin + STEP], MPI.BYTE]))


def _has_room(size: int) -> bool:
    """Tell whether shared memory is large enough: a page too many would end the process."""
    try:
        return shutil.disk_usage("/dev/shm").free > 2 * size
    except OSError:
        return True


def _window(node: MPI.Intracomm, size: int) -> MPI.Win | None:
    """Return memory that the first rank of a node shares with the others; it is never freed."""
    try:
        mine = size + LINE if node.Get_rank() == 0 else 0
        return MPI.Win.Allocate_shared(mine, comm=node)
    except MPI.Exception:
        return None


def _memory(window: MPI.Win, size: int) -> Bytes:
    """Return the memory of a window from its first whole cache line on."""
    shared: Any = window.Shared_query(0)[0]
    whole: Bytes = np.frombuffer(shared, np.uint8)
    begin = -whole.ctypes.data % LINE  # the same on all ranks: a mapping begins with a page
    return whole[begin : begin + size]
