"""What `gsr doctor` says about machines of all kinds."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gsr
from gsr.cli import doctor, main


def finding(name: str) -> doctor.Finding:
    return next(each for each in doctor.examine() if each.name == name)


def test_this_machine_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("ok") and gsr.__version__ in line for line in lines)
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = {each["name"] for each in found}
    assert {"Python", "CPU build", "numpy", "mpi4py", "C++ compiler", "SLURM", "cores"} <= names
    assert all(each["advice"] for each in found if each["status"] != "ok")


def test_a_missing_package_is_broken_and_an_extra_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    version = doctor._version
    gone = {"pyarrow"}
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in gone else version(name))
    assert main(["doctor"]) == 0
    assert "for Parquet tables: pip install pyarrow\n" in capsys.readouterr().out
    gone.add("scipy")
    assert main(["doctor"]) == 2
    assert "pip install scipy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("version", "named"),
    [
        ("12.2.0", "GCC 12.2.0"),
        ("4.8.5 20150623 (Red Hat 4.8.5-44)", "GCC 4.8.5 20150623 (Red Hat 4.8.5-44)"),
        ("Clang 17.0.6", "Clang 17.0.6"),
        ("4.2.1 Compatible Apple LLVM 9.0", "4.2.1 Compatible Apple LLVM 9.0"),
    ],
)
def test_the_compiler_has_a_name(version: str, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    info = {**gsr.core_info(), "compiler": version}
    monkeypatch.setattr("gsr.info.core_info", lambda: info)
    assert finding("gsr").found == f"{gsr.__version__}, built with {named}"


def test_a_core_that_does_not_load_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ImportError("no such symbol")

    monkeypatch.setattr("gsr.info.core_info", fail)
    found = finding("gsr core")
    assert (found.status, found.found) == ("broken", "ImportError: no such symbol")


@pytest.mark.parametrize(
    ("launcher", "library", "status"),
    [
        ("mpiexec (OpenRTE) 4.1.4", "Open MPI v4.1.4, package: Debian", "ok"),
        ("HYDRA build details:\n Version: 4.2", "MPICH Version: 4.2.1", "ok"),
        ("mpirun (Open MPI) 5.0.1", "MPICH Version: 4.2.1", "warning"),
        ("HYDRA build details:", "Open MPI v5.0.1", "warning"),
        ("Intel(R) MPI Library for Linux", "Intel(R) MPI Library 2021.9", "ok"),
        ("something else", "MPICH Version: 4.2.1", "ok"),
    ],
)
def test_launcher_and_library_must_match(
    launcher: str, library: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(doctor, "_said", lambda *_, whole=False: launcher)
    monkeypatch.setattr(doctor, "_mpi_library", lambda: library)
    found = {each.name: each for each in doctor._mpi()}
    assert found["MPI launcher"].status == "ok"
    assert found["MPI library"].status == status
    assert ("every process would be alone" in found["MPI library"].advice) == (status != "ok")


def test_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    present = {"sbatch", "squeue"}

    def which(name: str) -> str | None:
        return f"/bin/{name}" if name in present else None

    monkeypatch.setattr(doctor.shutil, "which", which)
    monkeypatch.setattr(doctor, "_said", lambda *_, **__: "slurm 23.11.4")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    (found,) = doctor._slurm()
    assert (found.status, found.found) == ("warning", "slurm 23.11.4, inside job 17")
    assert found.advice.startswith("srun not found")
    present.add("srun")
    assert [each.status for each in doctor._slurm()] == ["ok"]


def test_a_temporary_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(doctor.tempfile, "NamedTemporaryFile", fail)
    (found,) = doctor._temporary()
    assert (found.status, found.found) == ("warning", "Read-only file system")
    assert "TMPDIR" in found.advice


def test_programs_that_fail_say_nothing() -> None:
    assert doctor._said("/no/such/program") == ""
