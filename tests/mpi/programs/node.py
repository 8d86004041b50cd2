"""Prints for each rank whether it sees what rank 0 writes into a shared array."""

import ctypes
import sys

import numpy as np

from gsr.islands import mpi

if "no-room" in sys.argv:
    mpi._has_room = lambda size: mpi.MPI.COMM_WORLD.Get_rank() != 1
if "no-windows" in sys.argv:
    mpi._window = lambda node, size: None

transport = mpi.MPITransport()
array = transport.share_array(np.ones((2, 500_000)) if transport.rank == 0 else None)
assert array.shape == (2, 500_000)
assert (array == 1.0).all()
assert array.ctypes.data % 64 == 0 or len(sys.argv) > 1
transport.wait()
if transport.rank == 0:
    ctypes.c_double.from_address(array[1, -1:].ctypes.data).value = 7.0
transport.wait()
print(f"rank {transport.rank}: {array[1, -1]:g}", flush=True)
transport.close()
