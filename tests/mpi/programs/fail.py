"""All ranks wait for the last one, which fails in the way that is named."""

import sys
from pathlib import Path
from threading import Event

import numpy as np

from gsr.exceptions import GSRError
from gsr.islands.mpi import MPITransport
from gsr.islands.transport import guarded


def main(transport):
    transport.share_array(np.zeros(200_000) if transport.rank == 0 else None)
    transport.wait()
    Path(f"here-{transport.rank}").touch()
    if transport.rank == transport.size - 1:
        fail(sys.argv[1])
    transport.wait()
    return 0


def fail(how):
    if how == "raise":
        raise ZeroDivisionError("broken")
    if how == "refuse":
        raise GSRError("data.path is missing")
    if how == "exit":
        sys.exit(7)
    if how == "interrupt":
        raise KeyboardInterrupt
    Event().wait()  # until a signal ends it


sys.exit(guarded(main, MPITransport()))
