"""One rank alone; the guard around the program of a rank."""

import subprocess
import sys

import numpy as np
import pytest
import transport_checks

from gsr.exceptions import GSRError
from gsr.islands.transport import CRASHED, INTERRUPTED, WRONG_INPUT, Alone, guarded


@pytest.mark.parametrize("check", transport_checks.CHECKS, ids=lambda check: check.__name__)
def test_alone(check):
    check(Alone())


def test_alone_knows_no_other_rank():
    with pytest.raises(ValueError, match="no rank 1"):
        Alone().send(1, b"")


@pytest.mark.parametrize("share", [Alone.share, Alone.share_array])
def test_rank_0_must_give_what_is_shared(share):
    with pytest.raises(ValueError, match="rank 0 must give"):
        share(Alone(), None)


def test_objects_are_not_shared():
    with pytest.raises(ValueError, match="only numbers and texts"):
        Alone().share_array(np.array([{}, None]))


class Second(Alone):
    """Looks like the second of three ranks."""

    def __init__(self):
        super().__init__()
        self.rank, self.size = 1, 3


def fail_with(error):
    def main(transport):
        raise error

    return main


@pytest.mark.parametrize("code", [0, 1, 143])
def test_an_agreed_end_is_no_failure(code, capsys):
    assert guarded(lambda transport: code, Second()) == code
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "error, code, text",
    [
        (GSRError("data.path is missing\nname it"), WRONG_INPUT, "data.path is missing\nname it\n"),
        (KeyboardInterrupt(), INTERRUPTED, "interrupted\n"),
        (SystemExit(5), 5, ""),
        (SystemExit("no file"), 1, "no file\n"),
    ],
)
def test_a_failure_with_a_reason(error, code, text, capsys):
    with pytest.raises(SystemExit) as ended:
        guarded(fail_with(error), Alone())
    assert ended.value.code == code
    assert capsys.readouterr().err == text


def test_a_crash_shows_its_rank_on_every_line(capsys):
    with pytest.raises(SystemExit) as ended:
        guarded(fail_with(ZeroDivisionError("by zero")), Second())
    lines = capsys.readouterr().err.splitlines()
    assert ended.value.code == CRASHED
    assert all(line.startswith("rank 1: ") for line in lines)
    assert lines[0] == "rank 1: Traceback (most recent call last):"
    assert lines[-1] == "rank 1: ZeroDivisionError: by zero"


@pytest.mark.parametrize("code", [0, None])
def test_leaving_without_an_error_is_an_end(code):
    assert guarded(fail_with(SystemExit(code)), Second()) == 0


def test_no_transport_without_mpi_imports_it():
    program = "import sys, gsr, gsr.islands.transport; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert b"mpi4py" not in loaded.stdout.split()
