"""The command with a fault, or with a look behind the scenes: `command.py WHAT CONFIG ...`."""

import os
import signal
import sys

from gsr.cli.islands import main
from gsr.islands.archipelago import Archipelago
from gsr.islands.migration import LocalIsland

HEAVY = {"sklearn", "scipy", "pandas", "sympy"}
#: The rank, and with one island for each the island, to which something happens.
CHOSEN = 1


def break_main_thread():
    """Let a rank fail in its main thread, when the others are well under way."""
    beat = Archipelago._beat

    def broken(self):
        beat(self)
        if self.transport.rank == CHOSEN and self.state.evaluations > 0:
            raise ZeroDivisionError("broken beat")

    Archipelago._beat = broken


def break_island():
    """Let a rank fail in the thread of its island."""
    turn = LocalIsland.turn

    def broken(self, *how):
        if self.number == CHOSEN and self.epoch > 0:
            raise ZeroDivisionError("broken island")
        return turn(self, *how)

    LocalIsland.turn = broken


def end_in_the_middle():
    """Let a rank be told to end, in its fifth epoch."""
    turn = LocalIsland.turn

    def told(self, *how):
        if self.number == CHOSEN and self.epoch == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return turn(self, *how)

    LocalIsland.turn = told


def tell_exit_code():
    """Print with which code each rank exits."""
    from gsr.islands.mpi import MPITransport  # loads MPI, which other faults may not want

    leave = MPITransport.leave

    def told(self, code):
        rank, found = self.rank, leave(self, code)
        sys.stdout.write(f"rank {rank} exits with {found}\n")
        return found

    MPITransport.leave = told


def tell_what_is_loaded():
    """Print what each rank has loaded when its search begins."""
    steps = Archipelago.steps

    def told(self):
        loaded = sorted(HEAVY & set(sys.modules))
        print(f"rank {self.transport.rank} has loaded {loaded}", flush=True)
        return steps(self)

    Archipelago.steps = told


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
