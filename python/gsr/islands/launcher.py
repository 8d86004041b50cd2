"""Which launcher started this process, and whether it fits the MPI library.

The launcher of another MPI starts single ranks that do not know of each other. Only the variables
that launchers set reveal this.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from gsr.exceptions import GSRError

OPEN_MPI, SRUN = "mpirun of Open MPI", "srun"
#: Name, and the variables with the number of ranks and the own rank. The first that is set counts:
#: a launcher may have been started by one further down the list, rarely the other way round.
VARIABLES = (
    (OPEN_MPI, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("mpirun of MVAPICH2", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("jsrun", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"),
    ("flux run", "FLUX_JOB_SIZE", "FLUX_TASK_RANK"),
    ("PMI", "PMI_SIZE", "PMI_RANK"),
)
#: These set only the own rank.
RANKS_ALONE = (("a PMIx launcher", "PMIX_RANK"), ("PALS", "PALS_RANKID"))
#: In the names of libraries that the launcher of Open MPI cannot start.
LIKE_MPICH = ("MPICH", "Intel(R) MPI", "MVAPICH")
#: Set by users whose Open MPI was built for PMI-1 or PMI-2, which cannot be detected.
BUILT_FOR_PMI = "GSR_OPEN_MPI_WITH_PMI"
#: Seconds that other ranks wait while the first one reports an error: launchers end all ranks when
#: one of them fails.
PATIENCE = 5.0
#: Seconds that the first one waits for the others to get that far.
LAG = 1.0
WRONG_INPUT = 2


@dataclass(frozen=True)
class Launch:
    """How this process was started: by what, on how many ranks (None: unknown), and as which."""

    name: str
    size: int | None
    rank: int


def find(environment: Mapping[str, str]) -> Launch | None:
    """Return the launcher that started this process, None if there was none."""
    for name, size_name, rank_name in VARIABLES:
        size, rank = _number(environment, size_name), _number(environment, rank_name)
        if size is not None and rank is not None:
            is_pmi = name == "PMI"
            return _with_pmi(environment, size, rank) if is_pmi else Launch(name, size, rank)
    step = _slurm_step(environment)
    for name, rank_name in RANKS_ALONE:
        rank = _number(environment, rank_name)
        if rank is not None and (step is None or step.rank != rank):
            return Launch(name, None, rank)
    return step


def check_library(
    launch: Launch | None, library: str, environment: Mapping[str, str] = os.environ
) -> None:
    """Refuse an MPI library that cannot work under the launcher, before it is started.

    Most libraries that do not know their launcher start a single rank, which `check` notices. Those
    named here end the process with a message of their own. `library` is the text of
    `MPI.Get_library_version`.
    """
    if launch is None:
        return
    if launch.name == OPEN_MPI and any(family in library for family in LIKE_MPICH):
        _refuse(launch, f"mpi4py uses another MPI ({_first_line(library)})", _advice(launch))
    has_pmi = "PMIX_RANK" in environment or BUILT_FOR_PMI in environment
    if launch.name == SRUN and "Open MPI" in library and not has_pmi:
        _refuse(
            launch,
            f"the MPI of mpi4py ({_first_line(library)}) needs PMIx to find the others",
            "use srun --mpi=pmix (in the scripts of cluster/: GSR_MPI=pmix) or the mpirun of Open "
            "MPI; srun --mpi=list tells what there is. If your Open MPI was built for PMI-1 or "
            f"PMI-2, set {BUILT_FOR_PMI}=1",
        )


def check(launch: Launch | None, size: int | None, library: str = "") -> None:
    """Refuse to run if ranks that were started together do not see each other.

    `size` is the number of ranks of the communicator, None without mpi4py; `library` describes the
    MPI library, or why it could not be loaded.
    """
    if launch is None or launch.size == (size or 1):
        return
    if size is None:
        _refuse(
            launch,
            "mpi4py is missing or finds no MPI" + (f" ({_first_line(library)})" if library else ""),
            "install it (pip install mpi4py) and an MPI, or start one process without launcher",
        )
    if launch.size is not None or launch.rank >= size:
        of = f" ({_first_line(library)})" if library else ""
        seen = "each of them alone" if size == 1 else f"{size} of them"
        _refuse(launch, f"the MPI of mpi4py{of} sees {seen}", _advice(launch))


def _refuse(launch: Launch, what: str, advice: str) -> NoReturn:
    if launch.rank != 0:
        _leave_quietly()
    time.sleep(LAG)
    number = "several" if launch.size is None else launch.size
    raise GSRError(f"{launch.name} started {number} processes, but {what}; {advice}")


def _leave_quietly() -> NoReturn:
    """End after the first rank, with its exit code even if the launcher ends this rank first."""

    def leave(*_: object) -> NoReturn:
        raise SystemExit(WRONG_INPUT)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        time.sleep(PATIENCE)
    finally:
        signal.signal(signal.SIGTERM, before)
    leave()


def _advice(launch: Launch) -> str:
    if launch.name == SRUN:
        return (
            "use srun --mpi=pmi2 (MPICH, Intel MPI) or srun --mpi=pmix (Open MPI), or the mpirun "
            "of that MPI; srun --mpi=list tells what there is"
        )
    return "use the mpirun that belongs to that MPI, or install mpi4py for the MPI of the launcher"


def _first_line(library: str) -> str:
    first = library.strip("\0 \n").partition("\n")[0]
    return " ".join(first.partition(",")[0].split())


def _slurm_step(environment: Mapping[str, str]) -> Launch | None:
    """Return the job step; a batch script has a rank, but is no job step."""
    size = _number(environment, "SLURM_STEP_NUM_TASKS")
    rank = _number(environment, "SLURM_PROCID")
    if "SLURM_STEP_ID" not in environment or size is None or rank is None:
        return None
    return Launch(SRUN, size, rank)


def _with_pmi(environment: Mapping[str, str], size: int, rank: int) -> Launch:
    """Return the launch by one of the launchers that share the variables of PMI."""
    if "MPI_LOCALNRANKS" in environment:
        return Launch("mpirun of MPICH or Intel MPI", size, rank)
    step = _slurm_step(environment)
    return step if step == Launch(SRUN, size, rank) else Launch("a PMI launcher", size, rank)


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None
