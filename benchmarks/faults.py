"""Fault injection: kills, full disks, stopped ranks, clock jumps, difficult data, malicious files.

    python -m benchmarks.faults                         # everything, in an hour or two
    python -m benchmarks.faults --short                 # a minute
    python -m benchmarks.faults --only data,files --seed 7

A trial fails if the program ends with a traceback, hangs, loses its results, leaves files of two
runs in one folder, or prints NumPy warnings. The exit code is 1 if any trial fails.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks import nasty
from benchmarks.command import console, parse_arguments, parser_of
from gsr import GSRError, GSRRegressor, files, load, tables
from gsr.islands.checkpoints import Checkpoints
from gsr.runs import config, run_folder

ROOT = Path(__file__).parents[1]
#: Seconds after which a trial counts as hanging.
HANGS = 600
#: Accepted exit codes: done, no law, invalid input, not written, interrupted, terminated.
ENDS = (0, 1, 2, 3, 130, 143)
#: Printed when the command is about to start, so that no signal arrives while Python starts.
READY = "ready"
PROGRAM = (
    f"import sys; from gsr.cli import main, fit; {{}}print({READY!r}, flush=True); main_ = main"
)
CALL = "; raise SystemExit(main_(sys.argv[1:]))"
JUMPING = "import time, random; now = time.time; time.time = lambda: now() + random.choice(JUMPS); "
JUMPS = (0.0, 3600.0, -3600.0, 1e8, -1e9)
ISLANDS = """\
[data]
path = "data.csv"
target = "y"
[checkpoint]
interval = 0.3
[run]
output = "islands"
max_evals = 2000
seed = 1
"""


class Failure(Exception):  # noqa: N818
    """The failure of a trial."""


@dataclass
class Scene:
    """A scratch folder with a table, and its random generator."""

    folder: Path
    draw: random.Random
    n_runs: int = 0
    memory: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = np.random.default_rng(0).uniform(1, 2, (40, 3))
        rows[:, 2] = rows[:, 0] ** 2 * np.sin(rows[:, 1]) + rows[:, 1]
        header = {"header": "a,b,y", "comments": ""}
        np.savetxt(self.folder / "data.csv", rows, "%.17g", ",", **header)
        (self.folder / "islands.toml").write_text(ISLANDS)

    def start(self, *arguments: str, before: str = "", limit: int | None = None) -> Started:
        """Start a command, with statements before it and a limit for the size of files."""
        return Started(
            [sys.executable, "-c", PROGRAM.format(before) + CALL, *arguments], self.folder, limit
        )

    def fit(self, **options: Any) -> Started:
        """Start a fit into the folder ``run``, with a seed of its own."""
        self.n_runs += 1
        limits = ["--max-evals", "500", "--seed", str(self.n_runs)]
        return self.start(
            "fit", "data.csv", "--target", "y", "-o", "run", "--overwrite", *limits, **options
        )

    def check_run(self) -> None:
        """Raise an error if the files of the folder ``run`` come from different runs."""
        folder = self.folder / "run"
        found = run_folder.read(folder)
        model = run_folder.load_model(folder)
        saved = config.read(folder / "config.toml")
        require(str(model.equation_) == found["equation"], "model and result are of two runs")
        require(saved.get("run", "seed") == found["seed"], "settings and result are of two runs")


class Started:
    """A running command."""

    def __init__(self, command: list[str], folder: Path, limit: int | None) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(
            ["bash", "-c", f'ulimit -f {limit or "unlimited"}; exec "$@"', "-", *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def end(self, *codes: int) -> str:
        """Wait for the end, which must be one of some exit codes, and return what was said."""
        try:
            said = "".join(self.process.communicate(timeout=HANGS))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise Failure("it hangs") from None
        require("Traceback" not in said, said[-600:])
        require(self.process.returncode in codes, f"exit {self.process.returncode}: {said[-300:]}")
        return said


def require(holds: bool, message: str) -> None:
    """Raise `Failure` unless something holds."""
    if not holds:
        raise Failure(message)


# ---- trials with processes -----------------------------------------------------------------------


def kill(scene: Scene) -> None:
    """Kill a fit, half of the time while it writes its results."""
    if not (scene.folder / "run").exists():
        scene.fit().end(0)
    started = scene.fit()
    if scene.draw.random() < 0.5:
        time.sleep(scene.draw.uniform(0, 2))
    else:
        drafts = (scene.folder / "run").glob
        ends = time.monotonic() + HANGS
        while started.process.poll() is None and not any(drafts(".gsr-*.*/model.json")):
            require(time.monotonic() < ends, "it hangs")
        time.sleep(scene.draw.uniform(0, 0.01))
    started.process.kill()
    started.process.communicate()
    scene.check_run()


def send_signal(scene: Scene) -> None:
    """Send one or two signals to a fit at random moments."""
    started = scene.fit()
    for _ in range(scene.draw.choice([1, 2])):
        time.sleep(scene.draw.uniform(0, 1))
        started.process.send_signal(scene.draw.choice([signal.SIGINT, signal.SIGTERM]))
    # At the start, and after the results are written, signals have their usual effect.
    started.end(0, 1, 130, 143, -signal.SIGTERM, -signal.SIGINT)
    if (scene.folder / "run" / "result.json").exists():
        scene.check_run()


def fill_disk(scene: Scene) -> None:
    """Let no file grow beyond some size, or write where nothing can be written."""
    if not (scene.folder / "run").exists():
        scene.fit().end(0)
    kind = scene.draw.randrange(3)
    if kind == 0:
        scene.fit(limit=scene.draw.randrange(0, 20)).end(0, 3)
        scene.check_run()
    elif kind == 1:
        limit = scene.draw.randrange(0, 20)
        scene.start("islands", "islands.toml", "--overwrite", limit=limit).end(0, 2, 3)
    else:
        place = scene.draw.choice(["/proc/run", "/dev/null", "/sys/run"])
        scene.start("fit", "data.csv", "-o", place, "--max-evals", "100").end(2, 3)


def jump(scene: Scene) -> None:
    """Let the clock of the day jump back and forth at every read."""
    before = JUMPING.replace("JUMPS", repr(JUMPS))
    if scene.draw.random() < 0.5:
        scene.fit(before=before).end(0)
        scene.check_run()
    else:
        scene.start("islands", "islands.toml", before=before).end(0)
        said = scene.start("status", "islands", before=before).end(0)
        require("finished" in said, said)


def stop(scene: Scene) -> None:
    """Stop a rank for a while, and let it go on."""
    launchers = _launchers()
    asked = ["-m", "gsr.islands", "islands.toml", "--set", "checkpoint.resume=false", "--overwrite"]
    job = launchers.Job(2, asked, "mpich", cwd=scene.folder, timeout=HANGS)
    try:
        processes = job.until(lambda: len(found := job.ranks()) == 2 and found)
        time.sleep(scene.draw.uniform(0, 2))
        chosen = scene.draw.choice(list(processes.values()))
        with contextlib.suppress(ProcessLookupError):
            os.kill(chosen, signal.SIGSTOP)
            time.sleep(scene.draw.uniform(0.5, 3))
            os.kill(chosen, signal.SIGCONT)
        done = job.finish()
        require(done.returncode == 0, launchers.told(done)[-600:])
    finally:
        job.kill()


def _launchers() -> Any:
    sys.path.insert(0, str(ROOT / "tests" / "mpi"))
    return import_module("launchers")


def torture(mode: str) -> Callable[[Scene], None]:
    """Return a trial that kills ranks, or their launcher, twice, and resumes the run."""

    def trial(scene: Scene) -> None:
        program = ROOT / "tests" / "mpi" / "torture.py"
        seed = str(scene.draw.randrange(10**6))
        command = [sys.executable, str(program), "--kills", "2", "--mode", mode, "--seed", seed]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        require(done.returncode == 0, done.stderr[-600:])

    return trial


# ---- trials in this process ----------------------------------------------------------------------


def fit_nasty(scene: Scene) -> None:
    """Fit a table of extreme values, and use the model."""
    draw = np.random.default_rng(scene.draw.randrange(2**32))
    X, y = nasty.table(draw)
    with limited(HANGS), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = GSRRegressor(max_evals=300, random_state=0, n_jobs=1).fit(X, y)
        except GSRError:
            return
        finally:
            _no_numeric(caught)
        path = scene.folder / "model.json"
        require(bool(str(model.equations_)), "there is no front")
        model.save(path)
        values = (each.predict(X) for each in (model, load(path)))
        np.testing.assert_array_equal(*values)
        _no_numeric(caught)


def _no_numeric(caught: Sequence[warnings.WarningMessage]) -> None:
    for each in caught:
        if each.category is RuntimeWarning:
            raise Failure(f"{each.filename}:{each.lineno}: {each.message}")


def damage_run(scene: Scene) -> None:
    """Damage a file of a run folder, and let every command read it."""
    folder = scene.folder / "run"
    if not folder.exists():
        scene.fit().end(0)
        Checkpoints(folder / "checkpoints").write(0, 1, bytes(1000))
        manifest = '{"format":"gsr checkpoints","version":1,"fingerprint":"a","islands":2,'
        manifest += '"ranks":2,"seed":1,"mode":"throughput"}'
        (folder / "checkpoints" / "manifest.json").write_text(manifest)
        (folder / "status.json").write_text('{"state": "running", "time": 1, "seconds": 2}')
    path = scene.draw.choice([each for each in sorted(folder.rglob("*")) if each.is_file()])
    content = path.read_bytes()
    if path.suffix == ".json" and scene.draw.random() < 0.8:
        changed = nasty.damaged_json(content.decode(), scene.draw).encode()
    else:
        changed = nasty.damaged_bytes(content, scene.draw)
    path.write_bytes(changed)
    try:
        for command in scene.draw.sample(("status", "show", "predict", "report"), 2):
            more = {"predict": [str(scene.folder / "data.csv")], "report": ["-o", os.devnull]}
            _call([command, str(folder), *more.get(command, [])])
    finally:
        path.write_bytes(content)


def _call(arguments: Sequence[str]) -> None:
    """Call the command line in this process; what it prints must be clean."""
    from gsr.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
        code = main(arguments)
    require(code in ENDS, f"{arguments[0]} ends with {code}")
    require(not re.search(r"Traceback|\x1b", printed.getvalue()), printed.getvalue()[:300])


def damage_table(scene: Scene) -> None:
    """Damage a table or a configuration of any format, and read it."""
    if "tables" not in scene.memory:
        scene.memory["tables"] = _tables(scene.folder)
    name, content = scene.draw.choice(list(scene.memory["tables"].items()))
    path = scene.folder / f"damaged-{name}"
    path.write_bytes(nasty.damaged_bytes(content, scene.draw))
    with contextlib.suppress(GSRError):
        config.read(path) if name.endswith("toml") else tables.read(path)


def _tables(folder: Path) -> dict[str, bytes]:
    """Return a table in each format that can be written here, and a configuration."""
    import gzip

    import pandas as pd

    text = (folder / "data.csv").read_bytes()
    frame = pd.read_csv(folder / "data.csv")
    np.save(folder / "t.npy", frame.to_numpy())
    np.savez(folder / "t.npz", X=frame.to_numpy()[:, :2], y=frame["y"].to_numpy())
    found = {"csv": text, "csv.gz": gzip.compress(text), "toml": config.default_toml().encode()}
    for name, write in (("parquet", frame.to_parquet), ("xlsx", frame.to_excel)):
        with contextlib.suppress(ImportError):
            write(folder / f"t.{name}")
    for path in folder.glob("t.*"):
        found[path.name] = path.read_bytes()
    return found


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `Failure` in what takes longer."""

    def raise_failure(*_: object) -> None:
        raise Failure(f"it takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, raise_failure)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# ---- the campaign --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Campaign:
    """Trials of a kind: how many there are, and how many in the short form."""

    about: str
    trial: Callable[[Scene], None]
    full: int
    short: int


CAMPAIGNS = {
    "kills": Campaign("gsr fit -o killed", kill, 100, 4),
    "throughput": Campaign("ranks killed twice, throughput", torture("throughput"), 50, 1),
    "deterministic": Campaign("ranks killed twice, deterministic", torture("deterministic"), 50, 0),
    "signals": Campaign("SIGINT and SIGTERM at random moments", send_signal, 100, 2),
    "disks": Campaign("full and read-only disks", fill_disk, 100, 3),
    "stops": Campaign("a rank stopped for a while", stop, 20, 1),
    "clocks": Campaign("clock of the day jumps", jump, 20, 1),
    "data": Campaign("fits of nasty tables", fit_nasty, 1000, 15),
    "runs": Campaign("damaged files of run folders", damage_run, 1000, 20),
    "tables": Campaign("damaged tables and configurations", damage_table, 10_000, 300),
}


@dataclass
class Tally:
    """The outcome of the trials of a campaign."""

    name: str
    tried: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def run(name: str, n: int, seed: int) -> Tally:
    """Run the trials of a campaign."""
    tally, start = Tally(name), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gsr-faults-") as folder:
        scene = Scene(Path(folder), random.Random(f"{name} {seed}"))
        for trial in range(n):
            tally.tried += 1
            try:
                CAMPAIGNS[name].trial(scene)
            except Exception as error:
                told = str(error) if isinstance(error, Failure) else traceback.format_exc()
                tally.failures.append(f"trial {trial}: {files.printable(told)}")
    tally.seconds = time.monotonic() - start
    return tally


def main(argv: Sequence[str] | None = None) -> int:
    """Run the campaign, and print a table."""
    parser = parser_of("faults", __doc__)
    parser.add_argument("--short", action="store_true", help="a short run of about a minute")
    parser.add_argument(
        "--only", metavar="NAME,...", help=f"run only these of {', '.join(CAMPAIGNS)}"
    )
    parser.add_argument(
        "--trials", type=int, metavar="N", help="trials of each campaign; default: its own number"
    )
    parser.add_argument("--seed", type=int, default=0)
    asked = parse_arguments(parser, argv)
    names = asked.only.split(",") if asked.only else list(CAMPAIGNS)
    without = _launchers().missing("mpich")
    if without:
        print(f"ranks are left out: {without}")
        names = [name for name in names if name not in ("throughput", "deterministic", "stops")]
    tallies = []
    for name in names:
        campaign = CAMPAIGNS[name]
        n = asked.trials or (campaign.short if asked.short else campaign.full)
        if n:
            tallies.append(run(name, n, asked.seed))
            print(f"{name}: {n} trials, {len(tallies[-1].failures)} failures", flush=True)
    _show(tallies)
    if asked.json:
        files.write(asked.json, json.dumps([asdict(each) for each in tallies], indent=1))
    return int(any(each.failures for each in tallies))


def _show(tallies: Sequence[Tally]) -> None:
    shown = Table("campaign", "what", "trials", "failures", "seconds")
    for each in tallies:
        numbers = f"{each.tried:,}", str(len(each.failures)), f"{each.seconds:.0f}"
        shown.add_row(each.name, CAMPAIGNS[each.name].about, *numbers)
    console().print(shown)
    for each in tallies:
        for failure in each.failures[:5]:
            print(f"{each.name}, {failure}")


if __name__ == "__main__":
    sys.exit(main())
