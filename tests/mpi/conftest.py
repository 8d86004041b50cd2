"""Fixtures that run programs under real launchers."""

import launchers
import pytest

#: The jobs that every property must hold on: which MPI, how many ranks.
JOBS = [("mpich", 1), ("mpich", 2), ("mpich", 4), ("openmpi", 2), ("openmpi", 4)]


def pytest_generate_tests(metafunc):
    """Run a test that asks for `job` on each of the jobs; `mpi` on each MPI."""
    if "job" in metafunc.fixturenames:
        metafunc.parametrize("job", JOBS, ids=lambda job: f"{job[0]}-{job[1]}")
    if "mpi" in metafunc.fixturenames:
        metafunc.parametrize("mpi", ["mpich", "openmpi"])


@pytest.fixture
def start():
    """Return a function that starts a job; what still runs after the test is killed."""
    jobs = []

    def start(ranks, *arguments, mpi="mpich", **options):
        reason = launchers.missing(mpi) if mpi else None
        if reason:
            pytest.skip(reason)
        jobs.append(launchers.Job(ranks, arguments, mpi, **options))
        return jobs[-1]

    yield start
    for job in jobs:
        job.kill()
        job.process.communicate()


@pytest.fixture
def launch(start):
    """Return a function that runs a job to its end; `code` is the exit code to expect.

    For instance `launch(4, "-m", "gsr.islands", "config.toml", mpi="openmpi", cwd=tmp_path)`.
    """

    def launch(ranks, *arguments, code=0, **options):
        done = start(ranks, *arguments, **options).finish()
        assert code is None or done.returncode == code, launchers.told(done)
        return done

    return launch
