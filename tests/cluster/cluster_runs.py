"""Where the scripts and programs of a run are, and what it has left in its folder."""

import json
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "cluster"
PROGRAMS = Path(sys.executable).parent


def result(run):
    return json.loads((run / "result.json").read_text())


def n_saved(run):
    """Return how many islands have a checkpoint."""
    return len({path.parent for path in (run / "checkpoints").glob("island-*/*.gsr")})


def events(run):
    """Return what happened, as the first rank has noted it."""
    lines = (run / "metrics" / "rank-00000.jsonl").read_text().splitlines()
    return [line["event"] for line in map(json.loads, lines) if "event" in line]
