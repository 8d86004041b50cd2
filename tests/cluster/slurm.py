"""A SLURM of several virtual nodes on loopback, in a scratch folder of its own."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "srun", "scontrol", "scancel")
ENDS = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
CONFIGURATION = """
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
SlurmdTimeout=30
KillWait=5
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Return why no SLURM can be started here, or an empty text."""
    absent = [name for name in (*DAEMONS, *COMMANDS) if not program(name)]
    return f"not installed: {', '.join(absent)}" if absent else ""


def program(name):
    """Return the path of a program; daemons are not on every user's path."""
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"]))


def free_ports(count):
    """Return ports of loopback that nobody listens on, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def own_shared_memory():
    """Return what goes before a command whose /dev/shm is its own and goes with it, if we may.

    Killed ranks leave files there, and no two nodes have theirs in common.
    """
    own = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs shm /dev/shm && exec "$0" "$@"']
    allowed = program("unshare") and subprocess.run([*own, "true"], capture_output=True)
    return own if allowed and allowed.returncode == 0 else []


class Slurm:
    """Virtual nodes n1, n2, ... that take jobs, until `stop`."""

    def __init__(self, n_nodes=4, cpus=16):
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))  # sockets: short paths
        self.nodes = [f"n{k + 1}" for k in range(n_nodes)]
        outer = ("SLURM", "SBATCH", "SRUN", "PMI", "OMPI", "GSR_")  # of a job that runs the tests
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(outer)}
        self.environment["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self._daemons = {}
        self._places = set()
        self._configure(cpus)

    def _configure(self, cpus):
        ports = free_ports(1 + len(self.nodes))
        text = CONFIGURATION.format(
            ports=ports, user=pwd.getpwuid(os.getuid()).pw_name, folder=self.folder
        )
        for node, port in zip(self.nodes, ports[1:], strict=True):
            text += f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 "
            text += f"Port={port} CPUs={cpus} RealMemory=100000\n"
            (self.folder / f"spool-{node}").mkdir()
            (self.folder / f"tmp-{node}").mkdir()
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)

    @classmethod
    def started(cls, attempts=3):
        """Return a SLURM that runs; where another program was quicker to take a port, try again."""
        for attempt in range(attempts):
            slurm = cls()
            try:
                slurm.start()
            except BaseException as error:
                slurm.stop()
                if not isinstance(error, RuntimeError) or attempt == attempts - 1:
                    raise
            else:
                return slurm

    def start(self):
        """Start the daemons and wait for all nodes."""
        files = {"key-file": "key", "socket": "socket", "seed-file": "seed", "pid-file": "pid"}
        options = [f"--{name}={self.folder}/munge.{end}" for name, end in files.items()]
        self._start_daemon("munged", program("munged"), "--foreground", "--force", *options)
        self.wait_for((self.folder / "munge.socket").exists, "munged")
        self._start_daemon("slurmctld", program("slurmctld"), "-D", "-c")
        for node in self.nodes:
            self.start_node(node)
        self.wait_for(self._all_idle, "all nodes")

    def _all_idle(self):
        dead = [name for name, daemon in self._daemons.items() if daemon.poll() is not None]
        if dead:
            raise RuntimeError(f"{dead} did not start\n{self.logs()}")
        shown = self._command("scontrol", "--oneliner", "show", "node").stdout
        return shown.count("State=IDLE ") == len(self.nodes)

    def start_node(self, node):
        self._start_daemon(node, *own_shared_memory(), program("slurmd"), "-D", "-N", node)

    def _start_daemon(self, name, *command):
        with (self.folder / f"{name}.log").open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                command,
                env={**self.environment, "SLURM_TEST_NODE": name},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self):
        """End all jobs and daemons, and remove the folder."""
        for daemon in self._daemons.values():
            daemon.terminate()
        for daemon in self._daemons.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
        kill(self.processes())
        for daemon in self._daemons.values():
            daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def fail_node(self, node):
        """Take a node away as a power cut does, with its daemon, its steps and their tasks."""
        daemons, tasks = f"SLURM_TEST_NODE={node}", f"SLURMD_NODENAME={node}"
        kill(self.processes(daemons) + self.processes(tasks))
        self._daemons.pop(node).wait()
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=power cut")

    def repair_node(self, node):
        self.start_node(node)
        self.wait_for(lambda: self.node(node)["State"] == "IDLE", f"{node} to come back")

    def tasks(self, *variables):
        """Return the processes of this SLURM with all these variables, given as NAME=value."""
        wanted = {os.fsencode(f"SLURM_CONF={self.environment['SLURM_CONF']}")}
        wanted.update(map(os.fsencode, variables))
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if wanted <= set(path.read_bytes().split(b"\0")):
                    found.append(int(path.parent.name))
        return sorted(found)

    def processes(self, *variables):
        """Return `tasks`, and before them their step daemons, whose titles hide their variables."""
        tasks = self.tasks(*variables)
        parents = {parent_of(pid) for pid in tasks}
        return [pid for pid in parents if name_of(pid) == "slurmstepd"] + tasks

    def run(self, *command, **environment):
        """Return what a command of SLURM prints."""
        done = self._command(*command, **environment)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}\n{self.logs()}")
        return done.stdout

    def _command(self, *command, **environment):
        environment = {**self.environment, **environment}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    def submit(self, script, *arguments, options=(), folder, **environment):
        """Submit a script from a folder, where its output goes too; return the job's number."""
        self._places.add(folder)
        command = ("sbatch", "--parsable", f"--chdir={folder}", *options, str(script), *arguments)
        return self.run(*command, **environment).strip()

    def job(self, job):
        """Return what SLURM knows about a job."""
        return self._shown("job", job)

    def node(self, node):
        """Return what SLURM knows about a node."""
        return self._shown("node", node)

    def _shown(self, kind, name):
        printed = self.run("scontrol", "--oneliner", "show", kind, name)
        return dict(word.partition("=")[::2] for word in printed.splitlines()[0].split())

    def end_of(self, job):
        """Wait for the end of a job; return what SLURM knows about it."""
        self.wait_for(lambda: self.job(job)["JobState"] in ENDS, f"the end of job {job}", 120)
        return self.job(job)

    def wait_for(self, condition, what, seconds=60, *, during=None):
        """Wait until a condition holds, during a job; if it does not, tell so with all logs."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"waited {seconds} s for {what}\n{self.logs()}"
            over = during is not None and self.job(during)["JobState"] in ENDS
            assert not over or condition(), f"the job is over before {what}\n{self.logs()}"
            time.sleep(0.1)

    def logs(self, lines=30):
        """Return the ends of all logs and of what the jobs have written."""
        paths = sorted(self.folder.glob("*.log"))
        paths += [path for place in self._places for path in sorted(place.glob("*.out"))]
        return "\n".join(f"--- {path.name}\n{last_lines(path, lines)}" for path in paths)


def last_lines(path, lines):
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def name_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()


def parent_of(pid):
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
