"""The command `python -m gsr.islands` as a user starts it, under real launchers."""

import json
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from launchers import missing, told

from gsr.islands.checkpoints import Checkpoints

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parent / "programs" / "command.py"
COMMAND = ("-m", "gsr.islands")
#: Two islands in three cannot write the law.
SHORT_SIGHTED = "islands.variants=[{F}, {F}, {}]".replace("F", "forbid={'*'=['sin', 'cos', 'tan']}")
#: A search that only a signal ends, with migrations all the time.
ENDLESS = ("data.path=noisy.csv", "run.max_time=inf", "islands.interval=200")


@pytest.fixture
def run(launch, start, tmp_path):
    """Return a run in a folder of its own, with tables of an exact and of a noisy law."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1.0, 3.0, (2, 60))
    law = a * np.sin(b) + 0.5 * b**2
    for name, y in (("exact", law), ("noisy", law + rng.normal(0.0, 0.1, 60))):
        header = dict(header="a,b,y", comments="", delimiter=",", fmt="%.17g")
        np.savetxt(tmp_path / f"{name}.csv", np.column_stack([a, b, y]), **header)
    (tmp_path / "config.toml").write_text('[data]\npath = "exact.csv"\ntarget = "y"\n')
    return Run(tmp_path, launch, start)


class Run:
    """A configuration, and what the command makes of it."""

    def __init__(self, folder, launch, start):
        self.folder = folder
        self._launch, self._start = launch, start

    def command(self, *how, **options):
        """Run the command to its end; see `start`."""
        return self._with(self._launch, *how, **options)

    def start(self, *how, **options):
        """Start the command, on so many ranks and with settings such as `run.seed=1`."""
        return self._with(self._start, *how, **options)

    def _with(self, begin, ranks, *changes, program=COMMAND, output="run", **options):
        settings = ("run.seed=1", f"run.output={output}", *changes)
        arguments = [*program, "config.toml", *(f"--set={each}" for each in settings)]
        return begin(ranks, *arguments, **{"cwd": self.folder, "timeout": 120, **options})

    def read(self, name, output="run"):
        return (self.folder / output / name).read_text("utf-8")

    def result(self, output="run"):
        return json.loads(self.read("result.json", output))

    def metrics(self, rank):
        lines = self.read(f"metrics/rank-{rank:05d}.jsonl").splitlines()
        return [json.loads(line) for line in lines]

    def checkpoints(self, islands):
        """Return the newest checkpoint of each island; None for one that has none yet."""
        saved = Checkpoints(self.folder / "run" / "checkpoints")
        return [saved.latest(number) for number in range(islands)]

    def evaluations(self):
        """Return how far a run under way is."""
        try:
            return json.loads(self.read("status.json"))["evaluations"]
        except FileNotFoundError:
            return 0


def assert_complete(run, ranks, done):
    """The run has found the law, and every rank has left its traces."""
    result = run.result()
    assert (result["status"], result["ranks"], result["islands"]) == ("exact", ranks, ranks)
    assert result["equation"] in done.stdout
    assert result["front"][-1]["rmse"] < 1e-10
    assert all(run.metrics(rank)[-1]["event"] == "stop" for rank in range(ranks))
    assert None not in run.checkpoints(ranks)
    assert "Traceback" not in done.stderr, told(done)


def test_a_law_is_found(run, job):
    mpi, ranks = job
    assert_complete(run, ranks, run.command(ranks, mpi=mpi))


def test_a_law_is_found_on_64_ranks(run):
    done = run.command(64, program=(PROGRAM, "tell_what_is_loaded"), timeout=300)
    assert_complete(run, 64, done)
    # The planning rank needs them; if it did not, this would tell nothing about the others.
    assert re.search(r"rank 0 has loaded .*'sklearn'", done.stdout)
    assert done.stdout.count("has loaded []") == 63


def test_a_law_is_found_without_a_launcher_and_once(run):
    assert_complete(run, 1, run.command(1, mpi=None))
    before = run.read("result.json")
    assert "is finished" in run.command(1, mpi=None).stderr
    assert run.read("result.json") == before


def test_the_rank_that_finds_the_law_stops_all(run):
    run.command(3, SHORT_SIGHTED, "islands.topology=unconnected", "run.max_time=inf")
    assert run.result()["status"] == "exact"
    found = [saved.about["rmse"] < 1e-6 for saved in run.checkpoints(3)]
    assert found == [False, False, True]


def test_migrants_travel(run, mpi):
    run.command(3, "data.path=noisy.csv", "islands.interval=100", "run.max_evals=3000", mpi=mpi)
    figures = [line for rank in range(3) for line in run.metrics(rank) if "received" in line]
    assert {line["sent"] > 0 for line in figures} == {True, False}
    name, binding = run.result()["mpi"].split("; ")
    assert name.isprintable()  # no zero at its end
    assert binding.startswith("mpi4py ")


# ---- the same front ------------------------------------------------------------------------------

STEPS = (
    "data.path=noisy.csv", "islands.mode=deterministic", "islands.interval=200",
    "run.max_time=inf", "run.max_evals=3000", "checkpoint.interval=inf",
)  # fmt: skip


def front(run, output):
    """Return everything about the laws, to the last digit."""
    result = run.result(output)
    return result["front"], result["evaluations"], run.read("equations.csv", output)


def test_the_same_front_again(run, mpi):
    """Also by another MPI; the limit of work is what ends it."""
    for output, by in (("first", "mpich"), ("second", mpi)):
        run.command(2, *STEPS, output=output, mpi=by)
    assert front(run, "first") == front(run, "second")
    assert run.result("first")["status"] == "max_evals"


def test_the_same_front_after_an_interruption(run, mpi):
    run.command(2, *STEPS, output="whole", mpi=mpi)
    run.command(2, *STEPS, program=(PROGRAM, "end_in_the_middle"), mpi=mpi, code=143)
    assert 0 < run.result()["evaluations"] < run.result("whole")["evaluations"]
    assert "going on" in run.command(2, *STEPS, mpi=mpi).stderr
    assert front(run, "run") == front(run, "whole")


# ---- signals -------------------------------------------------------------------------------------


def test_sigusr1_to_the_launcher_saves(run, mpi):
    job = run.start(3, *ENDLESS, "checkpoint.interval=inf", mpi=mpi)
    job.until(lambda: run.evaluations() > 0)
    assert run.checkpoints(3) == [None, None, None]
    job.send_signal(signal.SIGUSR1)
    job.until(lambda: None not in run.checkpoints(3))
    seen = run.evaluations()
    job.until(lambda: run.evaluations() > seen)
    job.send_signal(signal.SIGINT, rank=0)
    done = job.finish()
    assert done.returncode == 130, told(done)
    assert run.result()["status"] == "interrupted"


def test_sigterm_to_the_launcher_saves_and_stops(run):
    job = run.start(3, *ENDLESS, "checkpoint.interval=inf")
    job.until(lambda: run.evaluations() > 0)
    job.send_signal(signal.SIGTERM)
    done = job.finish()
    assert done.returncode == 143, told(done)
    assert None not in run.checkpoints(3)
    assert run.result()["status"] == "terminated"


# ---- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["break_main_thread", "break_island"])
def test_an_exception_on_a_rank_ends_all(run, mpi, fault):
    done = run.command(3, *ENDLESS, program=(PROGRAM, fault), mpi=mpi, code=70)
    assert "rank 1: Traceback (most recent call last):" in done.stderr
    assert "rank 1: ZeroDivisionError: broken" in done.stderr


def best(run, islands):
    return min(saved.about["rmse"] for saved in run.checkpoints(islands) if saved is not None)


def sequences(run, islands):
    return [0 if saved is None else saved.sequence for saved in run.checkpoints(islands)]


def test_killed_and_resumed_on_other_numbers_of_ranks(run, mpi):
    """What was saved is never lost, whoever is killed and however many go on."""
    best_so_far = np.inf
    for ranks, victim in ((3, 1), (2, None), (4, 0)):
        before = max(sequences(run, 4))
        job = run.start(ranks, *ENDLESS, "checkpoint.interval=0.1", mpi=mpi)
        job.until(lambda ranks=ranks, before=before: min(sequences(run, ranks)) > before + 1)
        job.send_signal(signal.SIGKILL, rank=victim)
        job.until_gone()
        assert best(run, 4) <= best_so_far
        best_so_far = best(run, 4)
    assert "going on from the checkpoints" in run.command(1, *ENDLESS, "run.max_time=1").stderr
    assert best(run, 1) <= best_so_far


def test_levels_of_the_log_are_those_of_all_ranks(run):
    short = ("data.path=noisy.csv", "islands.interval=100")
    run.command(2, *short, "run.max_evals=1000")
    for level in ("error", "warning"):
        folder = run.folder / "run" / "checkpoints" / "island-00001"
        newest = max(folder.iterdir())
        newest.write_bytes(newest.read_bytes()[:-1])
        further = f"run.max_evals={run.result()['evaluations'] + 1000}"
        told = run.command(2, *short, further, f"log.level={level}").stderr
        assert ("is not used: it is cut off" in told) == (level == "warning"), told


def test_a_launcher_of_another_mpi_is_told(run, mpi):
    others = {"openmpi": f"{sys.prefix}/lib/libmpi.so.12", "mpich": "libmpi.so.40"}
    if missing("mpich") or missing("openmpi"):
        pytest.skip("it takes two MPIs")
    done = run.command(3, mpi=mpi, env={"MPI4PY_LIBMPI": others[mpi]}, code=2)
    assert len(re.findall("gsr: ", done.stderr)) == 1, told(done)
    assert "mpirun" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (run.folder / "run").exists()


def test_a_missing_library_is_told_once(run):
    done = run.command(3, env={"MPI4PY_LIBMPI": "/none/libmpi.so"}, code=2)
    assert done.stderr.count("finds no MPI (cannot load MPI library)") == 1, told(done)
    assert "Traceback" not in done.stderr


def test_the_exit_code_is_that_of_rank_0_alone(run, mpi):
    """Other ranks that fail too could be killed by the launcher, or make it report a kill."""
    table = np.random.default_rng(0).normal(size=(300, 2))
    np.savetxt(run.folder / "exact.csv", table, delimiter=",", header="a,y", comments="")
    done = run.command(3, "run.max_evals=300", program=(PROGRAM, "tell_exit_code"), mpi=mpi, code=1)
    codes = dict(re.findall(r"rank (\d) exits with (\d+)", done.stdout))
    assert codes == {"0": "1", "1": "0", "2": "0"}, told(done)
    assert "no law better than a constant" in done.stderr


def test_a_wrong_setting_is_told_once(run):
    done = run.command(3, "islands.topology=rnig", code=2)
    assert done.stderr.count("rnig") == 1, told(done)
    assert "ring" in done.stderr
    assert not (run.folder / "run").exists()
