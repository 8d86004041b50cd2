"""What works on this machine, and what to do about the rest."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Literal

#: Optional packages and what they are for.
EXTRAS = {
    "matplotlib": "plots and pictures in reports",
    "pyarrow": "Parquet tables",
    "openpyxl": "Excel tables",
    "mpi4py": "runs on several machines",
    "nicegui": "the page of gsr app",
}
REQUIRED = ("numpy", "scipy", "scikit-learn", "sympy", "rich")
SLURM = ("sbatch", "srun", "squeue")
LAUNCHERS = ("mpiexec", "mpirun")
#: Families of MPI by what they say of themselves; a launcher starts its own family only.
FAMILIES = {
    "open mpi": "Open MPI",
    "open-mpi": "Open MPI",
    "openrte": "Open MPI",
    "prrte": "Open MPI",
    "intel": "Intel MPI",
    "mpich": "MPICH",
    "hydra": "MPICH",
}
SECONDS = 10
GIB = 2.0**30
LITTLE_MEMORY = 0.5
LITTLE_DISK = 0.1


@dataclass(frozen=True)
class Finding:
    """Something that was looked at, and what to do about it, if anything."""

    name: str
    #: Only something broken keeps gsr from working.
    status: Literal["ok", "missing", "warning", "broken"]
    found: str
    advice: str = ""


def _judged(name: str, found: str, advice: str) -> Finding:
    """Return a finding that is a warning if there is advice."""
    return Finding(name, "warning" if advice else "ok", found, advice)


def examine() -> list[Finding]:
    """Look at everything."""
    parts = (_python, _core, _packages, _compiler, _mpi, _slurm, _cores, _memory, _temporary)
    return [finding for part in parts for finding in part()]


def as_text(findings: list[Finding]) -> str:
    """Return the findings as lines."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for each in findings:
        lines.append(f"{each.status:<8} {each.name:<{width}}  {each.found}")
        if each.advice:
            lines.append(f"{'':<8} {'':<{width}}  -> {each.advice}")
    return "\n".join(lines)


# ---- Python and the package ------------------------------------------------------------------


def _python() -> Iterator[Finding]:
    fine = sys.version_info >= (3, 10)
    found = f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    yield Finding("Python", "ok" if fine else "broken", found, "" if fine else "use 3.10 or newer")


def _core() -> Iterator[Finding]:
    try:
        from gsr.info import core_info

        info = core_info()
    except Exception as error:  # whatever keeps a compiled module from loading
        found = f"{type(error).__name__}: {error}"
        yield Finding("gsr core", "broken", found, "reinstall gsr-learn")
        return
    compiler = info["compiler"]
    if compiler[:1].isdigit() and " Compatible " not in compiler:
        compiler = f"GCC {compiler}"  # the one that tells its number alone
    yield Finding("gsr", "ok", f"{info['gsr']}, built with {compiler}")
    advice = ""
    if info["build"] == "baseline" and info["machine"] in ("x86_64", "AMD64"):
        advice = (
            "GSR_CORE is set: unset it for the faster build"
            if os.environ.get("GSR_CORE")
            else "this processor has no AVX2: searches are slower"
        )
    found = f"{info['build']}, element-wise functions {info['vector_math']}, {info['machine']}"
    yield _judged("CPU build", found, advice)


def _packages() -> Iterator[Finding]:
    for name in (*REQUIRED, *EXTRAS):
        version, is_extra = _version(name), name in EXTRAS
        if version is None:
            advice = f"pip install {name}"
            advice = f"for {EXTRAS[name]}: {advice}" if is_extra else advice
            yield Finding(name, "missing" if is_extra else "broken", "not installed", advice)
            continue
        try:
            if is_extra:
                import_module(name if name != "mpi4py" else "mpi4py.MPI")
            yield Finding(name, "ok", version)
        except Exception as error:  # a shared library that does not load, for instance
            found = f"{version}, but it does not load: {_line(str(error))}"
            yield Finding(name, "warning", found, f"pip install --force-reinstall {name}")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _compiler() -> Iterator[Finding]:
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        path = shutil.which(name) if name else None
        if path:
            yield Finding("C++ compiler", "ok", f"{path}: {_said(path, '--version')}")
            return
    advice = "only to build gsr from source: install GCC or Clang (C++17)"
    yield Finding("C++ compiler", "missing", "none found", advice)


# ---- clusters --------------------------------------------------------------------------------


def _mpi() -> Iterator[Finding]:
    path = next(filter(None, map(shutil.which, LAUNCHERS)), None)
    if path is None:
        advice = "for runs on several cores or machines: pip install mpich, or your system's MPI"
        yield Finding("MPI launcher", "missing", "neither mpiexec nor mpirun", advice)
        return
    said = _said(path, "--version", whole=True)
    yield Finding("MPI launcher", "ok", f"{path}: {_line(said)}")
    library = _mpi_library()
    if library is None:
        return
    ours, theirs = _family(said), _family(library)
    advice = ""
    if ours and theirs and ours != theirs:
        advice = (
            f"mpi4py uses {theirs}, the launcher is {ours}'s: every process would be alone; use "
            f"{theirs}'s mpiexec, or build mpi4py for {ours}"
        )
    yield _judged("MPI library", _line(library), advice)


def _mpi_library() -> str | None:
    """Return what the MPI library of mpi4py calls itself; asked elsewhere, since it may abort."""
    if _version("mpi4py") is None:
        return None
    code = "from mpi4py import MPI; print(MPI.Get_library_version())"
    return _said(sys.executable, "-c", code, whole=True) or None


def _family(said: str) -> str | None:
    return next((name for word, name in FAMILIES.items() if word in said.lower()), None)


def _slurm() -> Iterator[Finding]:
    paths = [path for path in map(shutil.which, SLURM) if path]
    if not paths:
        yield Finding("SLURM", "missing", "no sbatch", "only needed on a cluster that has it")
        return
    job = os.environ.get("SLURM_JOB_ID")
    found = _said(paths[0], "--version") + (f", inside job {job}" if job else "")
    lacking = ", ".join(name for name in SLURM if not shutil.which(name))
    yield _judged("SLURM", found, lacking and f"{lacking} not found: is this a login node?")


# ---- the machine -----------------------------------------------------------------------------


def _cores() -> Iterator[Finding]:
    total = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else total
    found = f"{usable} of {total} may be used"
    limited = os.environ.get("OMP_NUM_THREADS")
    found += f", OMP_NUM_THREADS={limited}" if limited else ""
    share = _cgroup_cores()
    advice = ""
    if share is not None and share < usable:
        advice = f"this container gets the time of {share:g} cores: use --jobs {max(1, int(share))}"
    yield _judged("cores", found, advice)


def _cgroup_cores() -> float | None:
    with contextlib.suppress(OSError, ValueError):
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as stream:
            quota, period = stream.read().split()
        return None if quota == "max" else int(quota) / int(period)
    return None


def _memory() -> Iterator[Finding]:
    try:
        page = os.sysconf("SC_PAGE_SIZE") / GIB
        total, free = (page * os.sysconf(f"SC_{name}_PAGES") for name in ("PHYS", "AVPHYS"))
    except (AttributeError, ValueError, OSError):
        return
    advice = "a search takes some hundred MB" if total < LITTLE_MEMORY else ""
    yield _judged("memory", f"{total:.1f} GB, {free:.1f} GB free", advice)


def _temporary() -> Iterator[Finding]:
    try:
        with tempfile.NamedTemporaryFile(prefix="gsr-") as stream:
            stream.write(bytes(4096))
            stream.flush()
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free / GIB
    except OSError as error:
        advice = "set TMPDIR to a folder that can be written"
        yield Finding("temporary files", "warning", str(error.strerror or error), advice)
        return
    advice = "hardly any space is left" if free < LITTLE_DISK else ""
    yield _judged("temporary files", f"{folder}, {free:.1f} GB free", advice)


def _said(*command: str, whole: bool = False) -> str:
    """Return what a program prints, or its first line; empty if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    text = (done.stdout or done.stderr).strip()
    return text if whole else _line(text)


def _line(text: str) -> str:
    return text.splitlines()[0][:100] if text else ""
