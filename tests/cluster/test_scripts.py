"""The scripts of cluster/ as texts, and the templates for other queues, run by hand."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cluster_runs import PROGRAMS, SCRIPTS, n_saved, result

NAMES = sorted(path.name for path in SCRIPTS.glob("*") if path.suffix != ".md")
#: What a queue tells a job of two ranks, beside the folder from which it was submitted.
QUEUES = {
    "pbs.pbs": {"PBS_O_WORKDIR": ".", "PBS_NODEFILE": "nodes"},
    "lsf.lsf": {"LS_SUBCWD": ".", "LSB_DJOB_NUMPROC": "2"},
}

SHELLCHECK = shutil.which("shellcheck", path=f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}")

pytestmark = pytest.mark.skipif(not NAMES, reason="the folder cluster is not here")


@pytest.mark.parametrize("name", NAMES)
def test_a_shell_can_read_it(name):
    done = subprocess.run(["bash", "-n", SCRIPTS / name], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(SHELLCHECK is None, reason="needs shellcheck")
@pytest.mark.parametrize("name", NAMES)
def test_shellcheck_has_nothing_to_say(name):
    command = [SHELLCHECK, "--external-sources", name]
    done = subprocess.run(command, cwd=SCRIPTS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_the_page_tells_about_it(name):
    assert f"[{name}]({name})" in (SCRIPTS / "README.md").read_text("utf-8")


@pytest.fixture
def template(place, environment):
    """Yield a function that starts a template as its queue would."""
    (place / "nodes").write_text("localhost\nlocalhost\n")
    queue = place / "qsub"
    queue.write_text('#!/bin/sh\necho "$@" >submitted\n')
    queue.chmod(0o755)
    variables = {**os.environ, **environment, "GSR_CLUSTER": str(SCRIPTS), "GSR_SAVE_SECONDS": "3"}
    variables["PATH"] = f"{place}:{variables['PATH']}"

    with contextlib.ExitStack() as stack:

        def start(name, arguments, **more):
            # `timeout 0` has no limit: the test says when it is reached.
            script = re.sub(r"^limit=.*", "limit=180", (SCRIPTS / name).read_text(), flags=re.M)
            own = {**variables, **QUEUES[name], "GSR_ARGUMENTS": arguments, **more}
            command = ["bash", "-c", script]
            shell = subprocess.Popen(command, cwd=place, env=own, start_new_session=True)
            stack.callback(end, shell)
            return shell

        yield start


def end(shell):
    """End a template that a failed test has left."""
    if shell.poll() is None:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def timeout_of(shell):
    """Return the process of the program timeout that a shell has started."""
    for pid in Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split():
        if Path(f"/proc/{pid}/comm").read_text().strip() == "timeout":
            return int(pid)


@pytest.mark.parametrize("name", QUEUES)
def test_a_template_finds_the_law(template, place, name):
    assert template(name, "config.toml --set run.seed=2").wait(120) == 0
    assert result(place / "run")["equation"] == "y = a^2/b"
    assert result(place / "run")["ranks"] == 2


@pytest.mark.parametrize("name", QUEUES)
def test_a_template_that_ends_at_its_limit_has_ended(template, place, name):
    arguments = "config.toml --set data.path=noisy.csv --set run.max_time=4"
    shell = template(name, arguments, GSR_SAVE_SECONDS="100")
    while not (place / "run" / "status.json").exists():
        assert shell.poll() is None
        time.sleep(0.1)
    os.kill(timeout_of(shell), signal.SIGALRM)
    assert shell.wait(120) == 0
    assert result(place / "run")["status"] == "max_time"
    assert not (place / "submitted").exists()


@pytest.mark.parametrize("name", QUEUES)
def test_a_template_saves_at_its_limit_and_asks_for_more(template, place, name):
    arguments = "config.toml --set data.path=noisy.csv --set run.max_time=600"
    shell = template(name, arguments)
    while not (place / "run" / "status.json").exists():
        assert shell.poll() is None
        time.sleep(0.1)
    os.kill(timeout_of(shell), signal.SIGALRM)  # what its clock does
    assert shell.wait(120) == (99 if name == "lsf.lsf" else 0)
    assert n_saved(place / "run") == 2
    if name == "pbs.pbs":
        asked = (place / "submitted").read_text()
        assert asked == f"-v GSR_ARGUMENTS={arguments} {SCRIPTS / name}\n"


@pytest.mark.parametrize("arguments", ["", " c.toml --set run.max_time=1"])
@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".sbatch")])
def test_the_settings_of_a_site_are_found_in_a_path_with_spaces(name, arguments, tmp_path):
    folder, tools = tmp_path / "my cluster scripts", tmp_path / "bin"
    folder.mkdir()
    tools.mkdir()
    shutil.copy(SCRIPTS / name, folder)
    (folder / "site.sh").write_text("echo found; exit 9\n")
    scontrol = tools / "scontrol"
    scontrol.write_text(f"#!/bin/sh\necho '   Command={folder / name}{arguments}'\n")
    scontrol.chmod(0o755)
    variables = {"PATH": f"{tools}:{os.environ['PATH']}", "SLURM_JOB_ID": "1"}
    done = subprocess.run(
        ["bash", folder / name, "c.toml"], env=variables, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (9, "found\n")
