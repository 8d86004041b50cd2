"""Launchers: who started us, with fake variables and with real launchers of the wrong MPI."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gsr.exceptions import GSRError
from gsr.islands import launcher
from gsr.islands.launcher import BUILT_FOR_PMI, OPEN_MPI, Launch, check, check_library, find

BATCH = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "64", "SLURM_PROCID": "0"}
STEP = {**BATCH, "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "64", "SLURM_PROCID": "5"}
PROXY = {**STEP, "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "1"}
PMI = {"PMI_SIZE": "64", "PMI_RANK": "5"}
HYDRA = {**PMI, "MPI_LOCALNRANKS": "16", "MPI_LOCALRANKID": "5"}
OMPI = {"OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_RANK": "3", "PMIX_RANK": "3"}
OF_HYDRA = "mpirun of MPICH or Intel MPI"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first rank wait for no others."""
    monkeypatch.setattr(launcher, "LAG", 0.0)


@pytest.mark.parametrize(
    ("environment", "launch"),
    [
        ({}, None),
        (BATCH, None),
        (STEP, Launch("srun", 64, 5)),
        (HYDRA, Launch(OF_HYDRA, 64, 5)),
        (PROXY | HYDRA, Launch(OF_HYDRA, 64, 5)),
        (STEP | PMI, Launch("srun", 64, 5)),
        (BATCH | PMI, Launch("a PMI launcher", 64, 5)),
        (STEP | {"PMIX_RANK": "5"}, Launch("srun", 64, 5)),
        (PROXY | {"PMIX_RANK": "5"}, Launch("a PMIx launcher", None, 5)),
        (OMPI, Launch(OPEN_MPI, 8, 3)),
        (BATCH | OMPI, Launch(OPEN_MPI, 8, 3)),
        (STEP | {"PMI_SIZE": "1", "PMI_RANK": "0"} | OMPI, Launch(OPEN_MPI, 8, 3)),
        ({"JSM_NAMESPACE_SIZE": "12", "JSM_NAMESPACE_RANK": "0"}, Launch("jsrun", 12, 0)),
        ({"FLUX_JOB_SIZE": "2", "FLUX_TASK_RANK": "1"}, Launch("flux run", 2, 1)),
        ({"PALS_RANKID": "4"}, Launch("PALS", None, 4)),
        ({"PALS_RANKID": "5"} | PMI, Launch("a PMI launcher", 64, 5)),
        ({"PMI_SIZE": "64", "PMI_RANK": "x"}, None),
        ({"PMI_SIZE": "64"}, None),
        ({"PMI_SIZE": "²", "PMI_RANK": "0"}, None),
    ],
)
def test_the_launcher_shows_in_the_variables(
    environment: dict[str, str], launch: Launch | None
) -> None:
    assert find(environment) == launch


@pytest.mark.parametrize(
    ("launch", "size"),
    [
        (None, 1),
        (None, None),
        (Launch("srun", 64, 0), 64),
        (Launch("srun", 1, 0), 1),
        (Launch("srun", 1, 0), None),
        (Launch("PALS", None, 4), 5),
    ],
)
def test_ranks_that_see_each_other_may_go_on(launch: Launch | None, size: int | None) -> None:
    check(launch, size)


@pytest.mark.parametrize(
    ("launch", "size", "words"),
    [
        (
            Launch("srun", 64, 0),
            1,
            "srun started 64 processes, but the MPI of mpi4py (MPICH Version: 5.0.2) sees each of "
            "them alone; use srun --mpi=pmi2 (MPICH, Intel MPI) or srun --mpi=pmix (Open MPI), or "
            "the mpirun of that MPI; srun --mpi=list tells what there is",
        ),
        (
            Launch(OF_HYDRA, 4, 0),
            2,
            f"{OF_HYDRA} started 4 processes, but the MPI of mpi4py (MPICH Version: 5.0.2) sees 2 "
            "of them; use the mpirun that belongs to that MPI, or install mpi4py for the MPI of "
            "the launcher",
        ),
        (
            Launch(OPEN_MPI, 4, 0),
            None,
            "mpirun of Open MPI started 4 processes, but mpi4py is missing or finds no MPI; "
            "install it (pip install mpi4py) and an MPI, or start one process without launcher",
        ),
        (Launch("PALS", None, 0), None, "PALS started several processes, but mpi4py is missing"),
    ],
)
def test_ranks_that_do_not_are_told(launch: Launch, size: int | None, words: str) -> None:
    with pytest.raises(GSRError) as error:
        library = "MPICH Version:      5.0.2\nMPICH Release date: ..."
        check(launch, size, library if size else "")
    assert str(error.value).startswith(words)


def test_why_there_is_no_mpi_is_told() -> None:
    with pytest.raises(GSRError, match=r"finds no MPI \(cannot load MPI library\); install it"):
        check(Launch("srun", 4, 0), None, "cannot load MPI library\n/none.so: no such file")


def test_other_ranks_end_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(launcher.time, "sleep", waited.append)
    for launch, size in ((Launch("srun", 64, 5), 1), (Launch("PALS", None, 5), 5)):
        with pytest.raises(SystemExit) as end:
            check(launch, size)
        assert end.value.code == 2
    assert waited == 2 * [launcher.PATIENCE]


def test_a_library_that_would_end_the_process_is_refused_before() -> None:
    check_library(None, "MPICH")
    check_library(Launch(OPEN_MPI, 4, 0), "Open MPI v4.1.4, package: Debian")
    check_library(Launch(OF_HYDRA, 4, 0), "Open MPI v4.1.4")
    check_library(Launch("srun", 4, 0), "MPICH Version: 5.0.2", STEP | PMI)
    check_library(Launch("srun", 4, 0), "Open MPI v4.1.4", STEP | {"PMIX_RANK": "5"})
    check_library(Launch("srun", 4, 0), "Open MPI v4.1.4", STEP | {BUILT_FOR_PMI: "1"})
    with pytest.raises(GSRError, match=r"Open MPI v4\.1\.4\) needs PMIx .* use srun --mpi=pmix"):
        check_library(Launch("srun", 4, 0), "Open MPI v4.1.4, package: Debian\0", STEP | PMI)
    with pytest.raises(GSRError, match=r"uses another MPI \(Intel\(R\) MPI Library 2021\)"):
        check_library(Launch(OPEN_MPI, 4, 0), "Intel(R) MPI Library 2021\nfor Linux")


def test_a_launcher_that_ends_the_others_gets_the_same_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sleep(_: float) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("it did not hear")

    monkeypatch.setattr(launcher.time, "sleep", sleep)
    with pytest.raises(SystemExit) as end:
        check(Launch("srun", 64, 5), 1)
    assert end.value.code == 2


# ---- real launchers ----------------------------------------------------------------------------

PROGRAM = """
import os, sys, warnings
warnings.simplefilter("ignore")
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
from gsr.exceptions import GSRError
from gsr.islands.launcher import check, check_library, find
launch = find(os.environ)
try:
    check_library(launch, MPI.Get_library_version())
    MPI.Init_thread(MPI.THREAD_FUNNELED)
    check(launch, MPI.COMM_WORLD.size, MPI.Get_library_version())
except GSRError as error:
    sys.stderr.write(f"told: {error}\\n")
    sys.stderr.flush()
    os._exit(2)
sys.stdout.write(f"rank {launch.rank} of {launch.size}\\n")
sys.stdout.flush()
MPI.Finalize()
"""
LIBRARIES = sorted(Path("/usr/lib").glob("*/libmpi.so.40"))
LAUNCHERS = {
    "mpich": shutil.which("mpirun", path=str(Path(sys.executable).parent)),
    "openmpi": shutil.which("mpirun.openmpi"),
}
SETTINGS = {
    "mpich": {},
    "openmpi": {"MPI4PY_MPIABI": "openmpi", "MPI4PY_LIBMPI": str(LIBRARIES[0])},
} if LIBRARIES else {"mpich": {}}  # fmt: skip


def started(by: str, with_library: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mpi4py", exc_type=ImportError)
    command = LAUNCHERS[by]
    if command is None or LAUNCHERS[with_library] is None or with_library not in SETTINGS:
        pytest.skip("needs MPICH beside Python, and Open MPI of the system")
    options = ["--oversubscribe"] if by == "openmpi" else []
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(
        [command, *options, "-n", "2", sys.executable, "-c", PROGRAM],
        env=os.environ | allowed | SETTINGS[with_library],
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_the_right_launcher_is_recognised(mpi: str) -> None:
    done = started(mpi, mpi)
    assert sorted(done.stdout.splitlines()) == ["rank 0 of 2", "rank 1 of 2"], done.stderr


@pytest.mark.parametrize(
    ("by", "library", "words"),
    [
        ("openmpi", "mpich", "mpi4py uses another MPI (MPICH Version: "),
        ("mpich", "openmpi", "the MPI of mpi4py (Open MPI v"),
    ],
)
def test_the_launcher_of_another_mpi_is_told_once(by: str, library: str, words: str) -> None:
    done = started(by, library)
    told = [line for line in done.stderr.splitlines() if line.startswith("told: ")]
    assert len(told) == 1, done.stderr
    assert " started 2 processes, but " in told[0]
    assert words in told[0]
    assert (done.returncode, done.stdout) == (2, "")
