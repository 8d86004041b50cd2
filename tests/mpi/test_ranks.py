"""Many ranks under real launchers: MPICH and Open MPI."""

import re
import signal
from functools import partial
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).parent / "programs"
CHECKS = Path(__file__).parents[1] / "islands" / "transport_checks.py"


def ranks_in(done):
    """Return the ranks that have said so."""
    return sorted(int(rank) for rank in re.findall(r"rank (\d+) of", done.stdout))


def test_the_checks_hold(launch, job):
    mpi, ranks = job
    assert ranks_in(launch(ranks, CHECKS, mpi=mpi)) == list(range(ranks))


@pytest.mark.parametrize("ranks", [3, 5])
def test_the_checks_hold_on_other_numbers(launch, ranks):
    assert ranks_in(launch(ranks, CHECKS)) == list(range(ranks))


def test_the_checks_hold_on_64_ranks(launch):
    assert ranks_in(launch(64, CHECKS, timeout=300)) == list(range(64))


def test_each_rank_by_itself(launch, mpi):
    done = launch(2, CHECKS, "self", mpi=mpi)
    assert done.stdout.count("rank 0 of 1: all checks hold") == 2


def test_without_a_launcher(launch):
    assert ranks_in(launch(1, CHECKS, mpi=None)) == [0]


def test_limits(launch, mpi):
    launch(2, PROGRAMS / "limits.py", mpi=mpi)


def seen(done):
    return [int(value) for _, value in sorted(re.findall(r"rank (\d+): (\d+)", done.stdout))]


def test_a_large_array_is_kept_once(launch, mpi):
    assert seen(launch(4, PROGRAMS / "node.py", mpi=mpi)) == [7, 7, 7, 7]


def test_a_large_array_is_kept_once_per_node(launch):
    nodes = {"MPIR_CVAR_NUM_CLIQUES": "2"}  # MPICH takes odd and even ranks for two nodes
    assert seen(launch(4, PROGRAMS / "node.py", env=nodes)) == [7, 1, 7, 1]


@pytest.mark.parametrize("trouble", ["no-room", "no-windows"])
def test_without_shared_memory_everyone_has_a_copy(launch, mpi, trouble):
    assert seen(launch(3, PROGRAMS / "node.py", trouble, mpi=mpi)) == [7, 1, 1]


@pytest.fixture
def fail(launch, mpi, tmp_path):
    """Return a function that lets the last of three ranks fail while the others wait for it."""
    return partial(launch, 3, PROGRAMS / "fail.py", mpi=mpi, cwd=tmp_path)


def test_an_exception_ends_all_ranks(fail):
    done = fail("raise", code=70)
    told = [line for line in done.stderr.splitlines() if line.startswith("rank ")]
    assert told[0] == "rank 2: Traceback (most recent call last):"
    assert told[-1] == "rank 2: ZeroDivisionError: broken"
    assert all(line.startswith("rank 2: ") for line in told)


@pytest.mark.parametrize(
    "how, code, text",
    [
        ("refuse", 2, "rank 2: data.path is missing\n"),
        ("exit", 7, ""),
        ("interrupt", 130, "rank 2: interrupted\n"),
    ],
    ids=["refuse", "exit", "interrupt"],
)
def test_a_failure_ends_all_ranks(fail, how, code, text):
    done = fail(how, code=code)
    assert text in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_ends_the_job(start, mpi, tmp_path, rank):
    job = start(3, PROGRAMS / "fail.py", "stay", mpi=mpi, cwd=tmp_path)
    job.until(lambda: len(list(tmp_path.glob("here-*"))) == 3)
    job.send_signal(signal.SIGKILL, rank=rank)
    assert job.finish().returncode != 0


def test_a_killed_launcher_leaves_no_rank(start, mpi, tmp_path):
    job = start(3, PROGRAMS / "fail.py", "stay", mpi=mpi, cwd=tmp_path)
    job.until(lambda: len(list(tmp_path.glob("here-*"))) == 3)
    job.send_signal(signal.SIGKILL)
    job.until_gone()
