"""Kills a real run again and again, and checks that it always goes on where it was.

    python tests/mpi/torture.py --kills 100

A search that does not end runs on some ranks. A rank, all of them or the launcher is killed with
SIGKILL at a random moment, and the run is started again, at times on another number of ranks. After
every kill the checkpoints must be whole; every start must succeed; and the best error of the
islands that run must never be larger than that of the last complete checkpoints.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import launchers
import numpy as np

from gsr.cli import island_plan
from gsr.islands.checkpoints import Checkpoints

CONFIG = """\
[data]
path = "data.csv"
target = "y"
[islands]
per_rank = 1
interval = 2000
mode = "{mode}"
[checkpoint]
interval = 0.3
[run]
output = "{folder}/run"
max_time = inf
seed = 1
"""
#: How a run is killed: one rank, all ranks, or what has started them.
KINDS = ("rank", "ranks", "launcher")
#: What a run that was taken up well never says.
BAD_WORDS = ("Traceback", "begins anew", "is lost", "is not used")
#: Seconds after the start in which early kills fall, and after new checkpoints for the others.
EARLY, LATE = 2.0, 0.6
#: A law that is better by less than this part is no better, for an island that absorbs another.
ROUNDING = 1e-6


@dataclass
class Torture:
    """A run that is killed again and again.

    Parameters
    ----------
    folder : path
        Of the configuration; the run folder is in it.
    mpi : {"mpich", None}
        The launcher; None: one process.
    mode : str
        Of the islands.
    draw : random.Random
        What is killed, and when.
    """

    folder: Path
    mpi: str | None
    mode: str
    draw: random.Random
    kills: Counter = field(default_factory=Counter)
    ranks: Counter = field(default_factory=Counter)
    n_checked: int = 0
    n_half_written: int = 0
    errors: list = field(default_factory=list)

    def __post_init__(self):
        draw = np.random.default_rng(0)
        X = draw.uniform(1, 3, (60, 3))
        y = X[:, 0] * np.sin(X[:, 1]) / X[:, 2] + np.exp(-X[:, 2]) + draw.normal(0, 0.05, 60)
        text = {"header": "a,b,c,y", "comments": ""}
        np.savetxt(self.folder / "data.csv", np.c_[X, y], "%.17g", ",", **text)
        config = self.folder / "config.toml"
        config.write_text(CONFIG.format(mode=self.mode, folder=self.folder))
        self.plan = island_plan.plan_run(island_plan.read_config(str(config)), 1)
        self.checkpoints = Checkpoints(self.folder / "run" / "checkpoints")

    def cycle(self):
        """Start, kill, and look at what is left."""
        ranks = self._choose_ranks()
        bound = self.best_saved()
        half_written = self._half_written()
        before = {k: max(self.checkpoints.sequences(k), default=0) for k in range(ranks)}
        job = launchers.Job(
            ranks, ["-m", "gsr.islands", "config.toml"], self.mpi, cwd=self.folder, timeout=60
        )
        try:
            job.until(lambda: len(self._processes(job)) == ranks)
            if self.draw.random() < 0.3:
                wait(job, self.draw.uniform(0, EARLY))
            else:
                self._check_going_on(job, before, bound)
                wait(job, self.draw.uniform(0, LATE))
            self._kill(job)
            job.until_gone()
        finally:
            job.kill()
            said = job.process.communicate()[1]
        assert not any(word in said for word in BAD_WORDS), said
        self.ranks[ranks] += 1
        self.n_half_written += not self._half_written() <= half_written
        self.errors.append(self.best_saved())
        check_no_worse(self.errors[-1], bound)

    def best_saved(self):
        """Return the best error of the last complete checkpoints; every one must be whole."""
        manifest = self.checkpoints.read_manifest()
        if manifest is None:
            return float("inf")
        saved = [self._last_complete(k, manifest) for k in range(manifest.islands)]
        assert not self.checkpoints.notes, self.checkpoints.notes
        best = min((each for each in saved if each), key=error, default=None)
        return float("inf") if best is None else self._checked(best)

    def check_the_end(self):
        """Let the run come to an end of its own."""
        asked = ["--set", "run.max_evals=1"]
        job = launchers.Job(
            2 if self.mpi else 1, ["-m", "gsr.islands", "config.toml", *asked], self.mpi,
            cwd=self.folder,
        )  # fmt: skip
        done = job.finish()
        job.kill()
        assert done.returncode == 0, launchers.told(done)
        assert (self.folder / "run" / "result.json").exists()

    def summary(self, seconds):
        """Return what happened."""
        kinds = ", ".join(f"{self.kills[kind]} {kind}" for kind in KINDS)
        ranks = ", ".join(f"{n} on {ranks}" for ranks, n in sorted(self.ranks.items()))
        found = [each for each in self.errors if each < float("inf")]
        n = sum(self.kills.values())
        return (
            f"{n} kills ({kinds}), {self.mode}, starts: {ranks} ranks\n"
            f"every start succeeded; {self.n_checked} were watched until all islands had saved "
            "again, and none had lost anything\n"
            f"{self.n_half_written} kills hit a checkpoint that was being written\n"
            f"best error: {found[0]:.6g} after the first checkpoints, {found[-1]:.6g} at the end\n"
            f"{seconds / n:.1f} s for each kill"
        )

    def _choose_ranks(self):
        if self.mpi is None:
            return 1
        return 3 if self.draw.random() < 0.6 else self.draw.choice((2, 4))

    def _half_written(self):
        return set(self.checkpoints.folder.glob("island-*/.*"))

    def _processes(self, job):
        return job.ranks() if self.mpi else {0: job.process.pid}

    def _check_going_on(self, job, before, bound):
        """Wait until every island has saved again: the best of them are no worse than before."""

        def new():
            newest = [self.checkpoints.sequences(k)[-1:] for k in before]
            return all(each and each[0] > before[k] for k, each in enumerate(newest))

        job.until(new)
        best = min(error(self.checkpoints.latest(k)) for k in before)
        check_no_worse(best, bound)
        self.n_checked += 1

    def _kill(self, job):
        kind = self.draw.choice(KINDS)
        self.kills[kind] += 1
        processes = self._processes(job)
        if kind == "launcher":
            job.send_signal(signal.SIGKILL)
            return
        job.note_shared_memory()
        chosen = [self.draw.choice(list(processes))] if kind == "rank" else list(processes)
        for rank in chosen:
            with suppress(ProcessLookupError):  # gone already, because another rank is
                os.kill(processes[rank], signal.SIGKILL)

    def _last_complete(self, island, manifest):
        """Return an island's last checkpoint; in lock-step the last that all ranks have."""
        numbers = [self.checkpoints.sequences(k)[-1:] for k in range(manifest.ranks)]
        if manifest.mode == "deterministic" and all(numbers):
            common = self.checkpoints.at(island, min(each[0] for each in numbers))
            if common is not None:
                return common
        return self.checkpoints.latest(island)

    def _checked(self, saved):
        """Return the error of a checkpoint, after making an island of it."""
        island = self.plan.blueprint.island()
        island.load(saved.payload)
        assert island.best_rmse == error(saved)
        return error(saved)


def error(checkpoint):
    return float(checkpoint.about["rmse"])


def check_no_worse(best, bound):
    assert best <= bound * (1 + ROUNDING), f"{best} is worse than {bound}"


def wait(job, seconds):
    """Let a job run for some time; it must not end by itself."""
    ends = time.monotonic() + seconds
    job.until(lambda: time.monotonic() >= ends)


def main(arguments=None):
    """Torture a run, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mode", default="throughput", choices=["throughput", "deterministic"])
    asked = parser.parse_args(arguments)
    mpi = None if launchers.missing("mpich") else "mpich"
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        torture = Torture(Path(folder), mpi, asked.mode, random.Random(asked.seed))
        for _ in range(asked.kills):
            torture.cycle()
            print(".", end="", flush=True)
        torture.check_the_end()
        print(f"\n{torture.summary(time.monotonic() - start)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
