"""Starts programs on several ranks, under the launchers that this machine has."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

#: What an outer launcher or batch system leaves behind, and ours must not see.
FOREIGN = ("PMI_", "PMIX_", "OMPI_", "HYDI_", "SLURM_", "MPI4PY_")
#: The variable by which all processes of a job are known, even when their launcher is dead.
MARK = "GSR_TEST_JOB"
#: Where a rank finds its number.
RANK = {"mpich": "PMI_RANK", "openmpi": "OMPI_COMM_WORLD_RANK"}


def missing(mpi):
    """Return why programs cannot be started with this MPI, or None."""
    try:
        distribution("mpi4py")
        if mpi == "mpich":
            distribution("mpich")
            return None
        ctypes.CDLL("libmpi.so.40")
    except (PackageNotFoundError, OSError) as error:
        return f"{error}"
    return None if shutil.which("mpirun.openmpi") else "there is no mpirun.openmpi"


def command(mpi, ranks):
    """Return the launcher with its options."""
    if mpi == "mpich":
        return [str(Path(sys.executable).parent / "mpirun"), "-n", str(ranks)]
    # Without binding, the threads of a rank may use all cores.
    return ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


def environment(mpi, extra):
    """Return the environment of the launcher: one thread for libraries, and the right MPI."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    kept |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if mpi == "openmpi":
        # The wheel of mpi4py would take the MPICH beside it.
        kept |= {"MPI4PY_LIBMPI": "libmpi.so.40"}
        kept |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return kept | (extra or {})


class Job:
    """A program on several ranks, under way.

    Parameters
    ----------
    ranks : int
        How many.
    arguments : sequence
        What follows `python`: a file, or `-m` and a module, and its arguments.
    mpi : {"mpich", "openmpi", None}
        None: no launcher, one process.
    env : dict, optional
        More variables.
    cwd : path, optional
        Where to run.
    timeout : float
        Seconds until it counts as hanging.
    """

    def __init__(self, ranks, arguments, mpi="mpich", env=None, cwd=None, timeout=60):
        self.mpi = mpi
        self.ends = time.monotonic() + timeout
        self.mark = uuid.uuid4().hex
        self.left_behind = set()
        launcher = command(mpi, ranks) if mpi else []
        self.process = subprocess.Popen(
            [*launcher, sys.executable, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(mpi, env) | {MARK: self.mark},
            cwd=cwd,
            start_new_session=True,
        )

    def members(self):
        """Return the environments of the job's processes that run, by process."""
        found = {}
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                content = path.read_bytes().decode(errors="replace")
                variables = dict(item.partition("=")[::2] for item in content.split("\0"))
                if variables.get(MARK) == self.mark:
                    found[int(path.parent.name)] = variables
        return found

    def ranks(self):
        """Return the processes of the ranks that run, by rank."""
        name = RANK.get(self.mpi)
        return {int(env[name]): pid for pid, env in self.members().items() if name in env}

    def send_signal(self, number, rank=None):
        """Signal the launcher, or a rank."""
        if number == signal.SIGKILL:
            self.note_shared_memory()
        os.kill(self.process.pid if rank is None else self.ranks()[rank], number)

    def note_shared_memory(self):
        """Note the files that this job's ranks map: killed ranks do not remove them."""
        for pid in self.members():
            with suppress(OSError):
                maps = Path(f"/proc/{pid}/maps").read_text()
                self.left_behind |= set(re.findall(r"/dev/shm/(?:mpich|vader)\S+", maps))

    def until(self, condition):
        """Wait until a condition holds, and return its value."""
        while not (result := condition()):
            if self.process.poll() is not None or time.monotonic() > self.ends:
                done = self.finish()
                raise AssertionError(f"it never came to that\n{told(done)}")
            time.sleep(0.02)
        return result

    def until_gone(self):
        """Wait until no process of the job runs."""
        while self.members():
            assert time.monotonic() < self.ends, f"still running: {sorted(self.members())}"
            self.process.poll()
            time.sleep(0.02)

    def finish(self):
        """Wait for the end and return a CompletedProcess; a job that hangs is killed."""
        while True:
            try:
                out, err = self.process.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                self.note_shared_memory()
                if time.monotonic() > self.ends:
                    self.kill()
                    out, err = self.process.communicate()
                    done = subprocess.CompletedProcess(self.process.args, None, out, err)
                    raise AssertionError(f"the job hangs\n{told(done)}") from None
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, out, err)

    def kill(self):
        """Kill what still runs of the job, and clear up after it."""
        self.note_shared_memory()
        while members := self.members():
            for pid in members:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()
            time.sleep(0.01)
        for path in self.left_behind:
            Path(path).unlink(missing_ok=True)


def told(done):
    """Return what a job has said."""
    line = " ".join(map(str, done.args))
    return f"$ {line}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}"
