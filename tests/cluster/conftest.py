"""A real SLURM for the tests of the batch scripts."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
from cluster_runs import PROGRAMS, SCRIPTS
from slurm import Slurm, missing

import gsr


@pytest.fixture(scope="session")
def mpi():
    """Skip where the running environment has no MPI of its own."""
    if not (PROGRAMS / "mpirun").exists() or importlib.util.find_spec("mpi4py") is None:
        pytest.skip("needs the packages mpich and mpi4py")


@pytest.fixture(scope="session")
def environment(mpi):
    """Return the variables with which a job finds this Python, its MPI and gsr."""
    path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    return {"PATH": path, "PYTHONPATH": str(Path(gsr.__file__).parents[1])}


@pytest.fixture(scope="session")
def slurm(environment):
    """Return a SLURM of four nodes, the same for all tests."""
    if not SCRIPTS.is_dir():
        pytest.skip("the folder cluster is not here")
    if why := missing():
        pytest.skip(f"needs SLURM: {why}")
    slurm = Slurm.started()
    slurm.environment.update(environment)
    yield slurm
    slurm.stop()


@pytest.fixture
def place(tmp_path):
    """Return a folder with data and a configuration."""
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 3, (50, 2))
    laws = {"law": x[:, 0] ** 2 / x[:, 1], "other": x[:, 0] + 2 * x[:, 1]}
    laws["noisy"] = laws["law"] + 0.1 * rng.normal(size=50)
    for name, y in laws.items():
        table = np.column_stack([x, y])
        np.savetxt(tmp_path / f"{name}.csv", table, delimiter=",", header="a,b,y", comments="")
    (tmp_path / "config.toml").write_text(
        "[data]\npath = 'law.csv'\ntarget = 'y'\n"
        "[run]\noutput = 'run'\nseed = 1\nmax_time = 60\n"
        "[checkpoint]\ninterval = 3600\n"
    )
    return tmp_path
