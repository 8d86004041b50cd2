"""The scripts of cluster/ as texts, and the templates for other queues, run by hand."""

import os
import re
import shutil
import subprocess

import pytest
from runs import n_saved, result

from conftest import PROGRAMS, SCRIPTS

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
    """Return a function that runs a template as its queue would."""
    (place / "nodes").write_text("localhost\nlocalhost\n")
    queue = place / "qsub"
    queue.write_text('#!/bin/sh\necho "$@" >submitted\n')
    queue.chmod(0o755)

    def run(name, arguments, seconds=None):
        script = (SCRIPTS / name).read_text()
        if seconds:
            script = re.sub(r"^limit=.*", f"limit={180 + seconds}", script, flags=re.M)
        variables = {**os.environ, **environment, **QUEUES[name]}
        variables.update(GSR_CLUSTER=str(SCRIPTS), GSR_SAVE_SECONDS="2", GSR_ARGUMENTS=arguments)
        variables["PATH"] = f"{place}:{variables['PATH']}"
        return subprocess.run(
            ["bash", "-c", script], cwd=place, env=variables, capture_output=True, text=True
        )

    return run


@pytest.mark.parametrize("name", QUEUES)
def test_a_template_finds_the_law(template, place, name):
    done = template(name, "config.toml --set run.seed=2")
    assert done.returncode == 0, done.stderr
    assert result(place / "run")["equation"] == "y = a^2/b"
    assert result(place / "run")["ranks"] == 2


@pytest.mark.parametrize("name", QUEUES)
def test_a_template_saves_before_its_limit_and_asks_for_more(template, place, name):
    arguments = "config.toml --set data.path=noisy.csv --set run.max_time=600"
    done = template(name, arguments, seconds=4)
    assert done.returncode == (99 if name == "lsf.lsf" else 0), done.stderr
    assert n_saved(place / "run") == 2
    if name == "pbs.pbs":
        asked = (place / "submitted").read_text()
        assert asked == f"-v GSR_ARGUMENTS={arguments} {SCRIPTS / name}\n"
