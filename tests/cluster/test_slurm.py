"""The scripts of cluster/, submitted unchanged to a real SLURM of four nodes."""

import ctypes

import numpy as np
import pytest
from cluster_runs import SCRIPTS, events, n_saved, result
from slurm import Slurm, kill

pytestmark = pytest.mark.slow

#: A search that ends by its time limit only, and saves only when it is told to.
ENDLESS = ("--set=data.path=noisy.csv", "--set=run.max_time=600")
SHORT = ("--set=data.path=noisy.csv", "--set=run.max_time=5")
OFTEN = "--set=checkpoint.interval=1"
TWO_NODES = ("--nodes=2", "--ntasks-per-node=1")


def started(slurm, job, run):
    """Wait until a run is under way."""
    slurm.wait_for((run / "status.json").exists, "the start of the run", during=job)


def saved(slurm, job, run):
    """Wait until both islands have a checkpoint."""
    slurm.wait_for(lambda: n_saved(run) == 2, "the checkpoints", during=job)


def long_run(slurm, place, *arguments, options=TWO_NODES, **environment):
    """Submit long_run.sbatch, with little patience."""
    patience = {"GSR_SAVE_SECONDS": "1", "GSR_RETRY_SECONDS": "1", **environment}
    script = SCRIPTS / "long_run.sbatch"
    return slurm.submit(
        script, "config.toml", *arguments, options=options, folder=place, **patience
    )


def output(place, job):
    return (place / f"gsr-{job}.out").read_text()


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_one_job_over_four_nodes_finds_the_law(slurm, place, launcher):
    script = SCRIPTS / f"one_job_{launcher}.sbatch"
    job = slurm.submit(script, "config.toml", options=["--ntasks-per-node=2"], folder=place)
    shown = slurm.end_of(job)
    assert shown["JobState"] == "COMPLETED", slurm.logs()
    assert shown["NumNodes"] == "4"
    found = result(place / "run")
    assert found["equation"] == "y = a^2/b"
    assert found["ranks"] == 8


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_a_wrong_kind_of_mpi_is_told(slurm, place, library):
    own = {"GSR_MPI": "none", **(open_mpi(slurm) if library == "openmpi" else {})}
    script = SCRIPTS / "one_job_srun.sbatch"
    job = slurm.submit(script, "config.toml", options=TWO_NODES, folder=place, **own)
    assert slurm.end_of(job)["ExitCode"] == "2:0", slurm.logs()
    assert output(place, job).count("srun started 2 processes") == 1
    assert ("use srun --mpi=pmix (" in output(place, job)) == (library == "openmpi")
    assert not (place / "run").exists()


def open_mpi(slurm):
    """Return the variables for jobs with Open MPI."""
    try:
        ctypes.CDLL("libmpi.so.40")
    except OSError as error:
        pytest.skip(f"needs Open MPI: {error}")
    if "pmix" not in slurm.run("srun", "--mpi=list"):
        pytest.skip("needs a SLURM that knows PMIx")
    return {"MPI4PY_LIBMPI": "libmpi.so.40"}


def test_srun_is_told_which_mpi_there_is(slurm, place):
    """With Open MPI too the script needs no setting, and the exit code is the program's."""
    table = np.random.default_rng(0).normal(size=(300, 3))
    np.savetxt(place / "law.csv", table, delimiter=",", header="a,b,y", comments="")
    script = SCRIPTS / "one_job_srun.sbatch"
    arguments = ("config.toml", "--set=run.max_evals=300")
    own = open_mpi(slurm)
    job = slurm.submit(script, *arguments, options=TWO_NODES, folder=place, **own)
    assert slurm.end_of(job)["ExitCode"] == "1:0", slurm.logs()
    found = result(place / "run")
    assert found["ranks"] == 2
    assert found["mpi"].startswith("Open MPI")
    assert "no law better than a constant" in output(place, job)


def test_srun_writes_the_results_before_the_time_limit(slurm, place):
    script = SCRIPTS / "one_job_srun.sbatch"
    job = slurm.submit(script, "config.toml", *ENDLESS, options=TWO_NODES, folder=place)
    started(slurm, job, place / "run")
    slurm.run("scancel", "--signal=INT", job)  # what --signal=INT@120 does
    assert slurm.end_of(job)["ExitCode"] == "130:0"
    assert result(place / "run")["equation"]


def test_mpirun_saves_before_the_time_limit_and_goes_on(slurm, place):
    script = SCRIPTS / "one_job_mpirun.sbatch"
    job = slurm.submit(script, "config.toml", *ENDLESS, options=TWO_NODES, folder=place)
    started(slurm, job, place / "run")
    slurm.run("scancel", "--batch", "--signal=USR1", job)  # what --signal=B:USR1@120 does
    saved(slurm, job, place / "run")
    assert slurm.job(job)["JobState"] == "RUNNING"
    slurm.run("scancel", job)
    assert slurm.end_of(job)["JobState"] == "CANCELLED"


def test_an_array_goes_through_its_list(slurm, place):
    (place / "list.txt").write_text(
        "data.path=law.csv run.output=runs/law\ndata.path=other.csv run.output=runs/other\n"
    )
    script = SCRIPTS / "array.sbatch"
    job = slurm.submit(script, "config.toml", "list.txt", options=["--array=1-2"], folder=place)
    for task in (1, 2):
        assert slurm.end_of(f"{job}_{task}")["JobState"] == "COMPLETED", slurm.logs()
    assert result(place / "runs" / "law")["equation"] == "y = a^2/b"
    assert result(place / "runs" / "other")["equation"] == "y = a + 2 b"


def test_a_long_run_saves_goes_back_to_the_queue_and_ends(slurm, place):
    job = long_run(slurm, place, *SHORT)
    started(slurm, job, place / "run")
    slurm.run("scancel", "--batch", "--signal=USR1", job)
    shown = slurm.end_of(job)
    assert (shown["JobState"], shown["Restarts"]) == ("COMPLETED", "1"), slurm.logs()
    assert "time limit is near" in output(place, job)
    assert {"start", "resume"} <= set(events(place / "run"))
    assert result(place / "run")["equation"]


def test_the_time_limit_of_slurm_makes_a_long_run_save(slurm, place):
    # SLURM looks at limits every 30 s and rounds down: the signal comes after 5 to 35 s.
    job = long_run(slurm, place, *ENDLESS, options=[*TWO_NODES, "--time=1", "--signal=B:USR1@25"])
    slurm.wait_for(lambda: slurm.job(job)["Restarts"] == "1", "the job to be requeued")
    saved(slurm, job, place / "run")
    slurm.run("scancel", job)
    assert slurm.end_of(job)["JobState"] == "CANCELLED"


def test_a_site_that_does_not_requeue_is_told_and_the_run_goes_on(slurm, place):
    job = long_run(slurm, place, *ENDLESS, options=[*TWO_NODES, "--no-requeue"])
    started(slurm, job, place / "run")
    slurm.run("scancel", "--batch", "--signal=USR1", job)
    slurm.wait_for(lambda: "submit again" in output(place, job), "a word", during=job)
    saved(slurm, job, place / "run")
    assert slurm.job(job)["JobState"] == "RUNNING"
    slurm.run("scancel", job)
    assert slurm.end_of(job)["JobState"] == "CANCELLED"


def test_scancel_ends_a_long_run_which_saves(slurm, place):
    job = long_run(slurm, place, *ENDLESS)
    started(slurm, job, place / "run")
    slurm.run("scancel", job)
    shown = slurm.end_of(job)
    assert (shown["JobState"], shown["Restarts"]) == ("CANCELLED", "0")
    slurm.wait_for(lambda: not slurm.processes(f"SLURM_JOB_ID={job}"), "the last rank to end")
    assert n_saved(place / "run") == 2


@pytest.mark.parametrize("lost", ["BatchHost", "other"])
def test_a_lost_node_does_not_end_a_long_run(slurm, place, lost):
    job = long_run(slurm, place, *SHORT, OFTEN)
    saved(slurm, job, place / "run")
    shown = slurm.job(job)
    nodes = slurm.run("scontrol", "show", "hostnames", shown["NodeList"]).split()
    node = shown["BatchHost"] if lost == "BatchHost" else nodes[1]
    slurm.fail_node(node)
    try:
        assert slurm.end_of(job)["JobState"] == "COMPLETED", slurm.logs()
    finally:
        slurm.repair_node(node)
    assert "resume" in events(place / "run")
    assert result(place / "run")["equation"]


def test_a_killed_rank_does_not_end_a_long_run(slurm, place):
    job = long_run(slurm, place, *SHORT, OFTEN)
    saved(slurm, job, place / "run")
    kill(slurm.tasks(f"SLURM_JOB_ID={job}", "SLURM_PROCID=1"))
    shown = slurm.end_of(job)
    assert (shown["JobState"], shown["Restarts"]) == ("COMPLETED", "1"), slurm.logs()
    assert "broke down" in output(place, job)
    assert "resume" in events(place / "run")


def test_a_run_that_breaks_down_at_once_is_not_tried_again(slurm, place):
    broken = place / "broken.sh"
    broken.write_text("#!/bin/sh\nexit 9\n")
    broken.chmod(0o755)
    job = long_run(slurm, place, GSR_COMMAND=str(broken), GSR_RETRY_SECONDS="300")
    shown = slurm.end_of(job)
    assert (shown["JobState"], shown["Restarts"], shown["ExitCode"]) == ("FAILED", "0", "9:0")
    assert "not tried again" in output(place, job)


def test_another_slurm_runs_beside_and_leaves_nothing(slurm):
    other = Slurm.started()
    try:
        assert sorted(other.run("srun", "--nodes=4", "printenv", "SLURMD_NODENAME").split()) == (
            ["n1", "n2", "n3", "n4"]
        )
    finally:
        other.stop()
    assert not other.folder.exists()
    assert other.processes() == []
