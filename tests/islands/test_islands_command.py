"""The command `gsr islands` in one process: plans, results, resumption, signals, troubles."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import island_problems
import numpy as np
import pytest

from gsr import cli, load
from gsr.cli import island_plan, island_results
from gsr.cli.islands import main
from gsr.cli.status import as_text, examine
from gsr.islands.checkpoints import Checkpoints

CONFIG = """\
[data]
path = "exact.csv"
target = "y"
[islands]
per_rank = 2
interval = 200
[run]
seed = 1
max_time = 30
"""
#: A search that ends when it has tried enough.
SHORT = ("data.path=noisy.csv", "run.max_evals=1500")
FURTHER = 1000
#: A search that a signal ends.
ENDLESS = ("data.path=noisy.csv", "run.max_time=inf", "checkpoint.interval=inf")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, the working directory, with a configuration and two tables."""
    monkeypatch.chdir(tmp_path)
    for name in ("exact", "noisy"):
        X, y = getattr(island_problems, name)()
        header = {"header": "a,b,y", "comments": ""}
        np.savetxt(tmp_path / f"{name}.csv", np.c_[X, y], "%.17g", ",", **header)
    (tmp_path / "config.toml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def command(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return a function that runs the command with settings, and returns what it prints."""

    def run(*settings: str, code: int = 0, more: tuple[str, ...] = ()) -> Any:
        capsys.readouterr()
        found = main(["config.toml", *(f"--set={each}" for each in settings), *more])
        told = capsys.readouterr()
        assert found == code, told.err
        return told

    return run


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run" / "result.json").read_text())
    return found


def further(folder: Path) -> str:
    """Return the setting with which the run in a folder goes on for a little."""
    return f"run.max_evals={result(folder)['evaluations'] + FURTHER}"


def checkpoints(folder: Path) -> Checkpoints:
    return Checkpoints(folder / "run" / "checkpoints")


def best_saved(folder: Path) -> float:
    found = [checkpoints(folder).latest(number) for number in range(2)]
    return min(float(each.about["rmse"]) for each in found if each is not None)


def saved_evaluations(folder: Path) -> int:
    found = [checkpoints(folder).latest(number) for number in range(2)]
    return sum(int(each.about["evaluations"]) for each in found if each is not None)


# ---- before anything starts --------------------------------------------------------------------


def test_the_example_is_a_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--init"]) == 0
    text = capsys.readouterr().out
    for section in ("data", "library", "search", "islands", "checkpoint", "run", "log"):
        assert re.search(rf"^#? ?\[{section}\]", text, re.M), section
    assert main(["--init", "new.toml"]) == 0
    assert (folder / "new.toml").read_text().strip() == text.strip()
    asked = ["--set=data.path=exact.csv", "--set=data.target=y", "--dry-run"]
    assert main(["new.toml", *asked]) == 0, capsys.readouterr().err


def test_an_example_replaces_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--init", "config.toml"]) == 2
    assert "config.toml exists; choose another name, or use --overwrite" in capsys.readouterr().err
    assert (folder / "config.toml").read_text() == CONFIG
    assert main(["--init", "nowhere/config.toml"]) == 3
    assert "cannot write nowhere/config.toml" in capsys.readouterr().err


def test_a_dry_run_tells_and_writes_nothing(command: Any, folder: Path) -> None:
    before = sorted(folder.iterdir())
    told = command("islands.topology=ring", more=("--dry-run",)).out
    assert re.search(r"^data .*exact\.csv: 30 rows$", told, re.M)
    assert re.search(r"^law +g\(y\) = f\(a, b\)$", told, re.M)
    assert re.search(r"^islands +2 on 1 rank, ", told, re.M)
    assert re.search(r"^migration +ring, p2p, 3 best every 200 ", told, re.M)
    assert re.search(r"^seed +1$", told, re.M)
    assert told.rstrip().endswith("the run begins anew")
    assert sorted(folder.iterdir()) == before


def test_all_mistakes_are_told_at_once_with_their_lines(command: Any, folder: Path) -> None:
    text = CONFIG.replace("per_rank = 2", "per_rank = 0\ntopology = 'rign'\nfoo = 1")
    (folder / "config.toml").write_text(text.replace('target = "y"\n', ""))
    told = command("checkpoint.interval=never", "islands.mode=fast", code=2).err
    assert "line 4: islands.per_rank must be a whole number from 1 to 1024, got 0" in told
    assert re.search(r"line 5: islands.topology must be 'ring' or .* did you mean 'ring'\?", told)
    assert "line 6: [islands] has no key 'foo'" in told
    assert "checkpoint.interval must be a number of at least 0.1" in told
    assert "islands.mode must be 'throughput' or 'deterministic', got 'fast'" in told
    assert "data.target is missing" in told
    assert "6 mistakes" in told
    assert not (folder / "run").exists()


@pytest.mark.parametrize(
    "section, told",
    [
        ('[library]\nfeatures = ["sine"]', "line 11: library.features: 'sine' is not a built-in"),
        ("[search]\nmin_factors = 5\nmax_factors = 2", "line 11: search.min_factors: "),
        ('[search]\ncriterion = "best"', "line 11: search.criterion: criterion must be"),
        ('[search]\nconstraints = {q = "increasing"}', "line 11: search.constraints: "),
        ('[search]\nstart = "y = q*zz"', "line 11: search.start: "),
        ('[library]\nforbid = {q = ["sin"]}', "line 11: library.forbid: "),
        (
            '[[islands.variants]]\ndepth = 1\n[[islands.variants]]\nforbid = {q = ["sin"]}',
            "line 13: islands.variants: table 2: ",
        ),
    ],
)
def test_mistakes_that_need_the_data_have_keys_and_lines(
    command: Any, folder: Path, section: str, told: str
) -> None:
    (folder / "config.toml").write_text(f"{CONFIG}{section}\n")
    assert f"config.toml: a mistake\n  {told}" in command(code=2, more=("--dry-run",)).err
    assert not (folder / "run").exists()


def test_groups_are_for_a_fit_without_islands(command: Any) -> None:
    told = command("data.groups=1", code=2, more=("--dry-run",)).err
    assert "data.groups: groups need gsr fit" in told


def test_mistakes_that_need_the_data_are_told_together(command: Any, folder: Path) -> None:
    (folder / "config.toml").write_text(
        f"{CONFIG}[library]\nfeatures = ['sine']\ntarget = ['cosine']\n"
        '[search]\nrequired_terms = ["q"]\n'
    )
    told = command('search.start="y = zz"', 'data.drop=["none"]', code=2).err
    assert "5 mistakes" in told
    for each in (
        "line 11: library.features: ",
        "line 12: library.target: ",
        "line 14: search.required_terms: ",
        "--set: search.start: ",
        "--set: data.drop: ",
    ):
        assert each in told, each


def test_wrong_edges_have_a_key(command: Any) -> None:
    told = command("islands.topology=edges", "islands.edges=[[1, 1]]", code=2).err
    assert "--set: islands.edges: the edge [1, 1] leads from an island to itself" in told


@pytest.mark.parametrize(
    "output, code, told",
    [
        ("exact.csv", 2, "--set: run.output: the run folder exact.csv is a file"),
        ("/proc/none", 3, "--set: run.output: cannot write /proc/none"),
    ],
)
def test_a_dry_run_sees_where_nothing_can_be_written(
    command: Any, folder: Path, output: str, code: int, told: str
) -> None:
    before = sorted(folder.iterdir())
    assert told in command(f"run.output={output}", code=code, more=("--dry-run",)).err
    assert sorted(folder.iterdir()) == before


def test_a_run_does_not_replace_its_table(command: Any, folder: Path) -> None:
    os.rename(folder / "exact.csv", folder / "sample.csv")
    told = command("data.path=sample.csv", "run.output=.", code=2).err
    assert "sample.csv is read by this command and would be replaced by the run's" in told


def test_lock_step_tells_that_a_clock_will_end_it(command: Any) -> None:
    mode, dry = "islands.mode=deterministic", {"more": ("--dry-run",)}
    told = command(mode, **dry).err
    assert "run.max_time (30 s) ends this run by the clock" in told
    assert command(mode, "run.max_time=inf", **dry).err == ""
    assert command(mode, "run.max_evals=100", **dry).err == ""


@pytest.mark.parametrize(
    "settings, word",
    [
        (("data.path=none.csv",), "--set: data.path: none.csv: there is no such file"),
        (("data.path=.",), "--set: data.path: . is a folder, not a file"),
        (("data.target=z",), "--set: data.target: exact.csv: there is no column 'z'"),
        (('data.target=["a", "y"]',), "data.target: it must be one column here"),
        (("islands.topology=edges",), "edges"),
        (('islands.variants=[{n_psi = "many"}]',), "n_psi"),
        (("islands.variants=[{n_survivors = 1000000}]",), "n_survivors"),
        (('islands.variants=[{forbid = {q = ["sin"]}}]',), "'q'"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    command: Any, folder: Path, settings: tuple[str, ...], word: str
) -> None:
    told = command(*settings, code=2)
    assert word in told.err
    assert "Traceback" not in told.err
    assert told.out == ""
    assert not (folder / "run").exists()


def test_a_configuration_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "name a configuration" in capsys.readouterr().err


# ---- results -----------------------------------------------------------------------------------


def test_an_exact_law_ends_the_run(command: Any, folder: Path) -> None:
    told = command()
    assert told.out.startswith("y = 2 a b\n")
    found = result(folder)
    assert (found["status"], found["equation"]) == ("exact", "y = 2 a b")
    assert (found["ranks"], found["islands"], found["mode"]) == (1, 2, "throughput")
    assert len(set(found["seeds"])) == 2
    assert found["seed"] == 1
    assert found["front"][found["best_index"]]["equation"] == "y = 2 a b"
    assert found["evaluations"] > 0
    assert found["settings"]["islands"] == {"per_rank": 2, "interval": 200}
    assert {"gsr", "numpy"} <= set(found["versions"])
    assert found["migration_of_rank_0"]["dropped"] == 0
    assert len(found["data"]["sha256"]) == 64
    assert "y = 2 a b" in (folder / "run" / "equations.csv").read_text()
    model = load(folder / "run" / "model.json")
    assert model.equation_.predict(np.array([[2.0, 3.0]])) == pytest.approx([12.0])
    status = json.loads((folder / "run" / "status.json").read_text())
    assert (status["state"], status["reason"], status["law"]) == ("finished", "exact", "y = 2 a b")


def test_gsr_islands_is_the_same_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["islands", "config.toml"]) == 0
    assert capsys.readouterr().out.startswith("y = 2 a b\n")


def test_a_constant_is_no_law(command: Any, folder: Path) -> None:
    draw = np.random.default_rng(0)
    header = {"header": "a,y", "comments": ""}
    np.savetxt(folder / "exact.csv", draw.normal(size=(300, 2)), "%.17g", ",", **header)
    told = command("run.max_evals=300", code=1)
    assert "no law better than a constant was found" in told.err
    assert result(folder)["uses_features"] is False


def test_levels_of_the_log(command: Any) -> None:
    assert "2 islands on 1 rank" in command().err
    edges = ("islands.topology=edges", "islands.edges=[[0, 1], [1, 0], [0, 7]]")
    assert command("run.output=other", "log.level=error", *edges).err == ""


OWN = f"# Mine; do not touch.\n{CONFIG}output = '.'\n"


def test_a_run_beside_its_configuration_leaves_it_alone(command: Any, folder: Path) -> None:
    (folder / "config.toml").write_text(OWN.replace("seed = 1\n", ""))
    command(*SHORT)
    assert (folder / "config.toml").read_text() == OWN.replace("seed = 1\n", "")
    first = json.loads((folder / "result.json").read_text())
    copy = (folder / "config.run.toml").read_text()
    again = "gsr islands --set run.output=again"
    assert copy.startswith(f"# repeats the run: {again} {folder.name}/config.run.toml\n")
    assert f"seed = {first['seed']}" in copy
    told = command(*SHORT, f"run.max_evals={first['evaluations'] + FURTHER}").err
    assert "going on from the checkpoints of 2 islands" in told
    assert cli.main(["report", str(folder)]) == 0
    assert "config.run.toml" in (folder / "report.html").read_text()


def test_the_configuration_of_a_run_starts_it_again(
    command: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(*SHORT, "checkpoint.resume=false")
    text = (folder / "run" / "config.toml").read_text()
    assert "resume" not in text
    capsys.readouterr()
    assert main(["run/config.toml"]) == 0
    assert "is finished (max_evals)" in capsys.readouterr().err
    assert main(["run/config.toml", f"--set={further(folder)}"]) == 0
    assert "going on from" in capsys.readouterr().err
    assert (folder / "run" / "config.toml").read_text() == text
    again = (folder / "run" / "config.run.toml").read_text()
    assert again.startswith("# repeats the run: ")
    assert again != text


def test_a_result_without_checkpoints_is_not_replaced(command: Any, folder: Path) -> None:
    command()
    shutil.rmtree(folder / "run" / "checkpoints")
    told = command(code=2).err
    assert "holds the result of a run; choose another, or use --overwrite" in told
    command("run.overwrite=true")
    shutil.rmtree(folder / "run" / "checkpoints")
    command(more=("--overwrite",))


# ---- going on ----------------------------------------------------------------------------------


def test_a_finished_run_is_left_alone(command: Any, folder: Path) -> None:
    command()
    before = {path: path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()}
    told = command()
    assert told.out == "y = 2 a b\n"
    assert "is finished (exact)" in told.err
    after = {path: path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize("mode", ["throughput", "deterministic"])
def test_a_larger_limit_lets_a_run_go_on(command: Any, folder: Path, mode: str) -> None:
    more = (*SHORT, f"islands.mode={mode}")
    command(*more)
    first = result(folder)
    assert first["status"] == "max_evals"
    assert "is finished (max_evals)" in command(*more).err
    told = command(*more, further(folder)).err
    assert "going on from the checkpoints of 2 islands" in told
    second = result(folder)
    assert second["evaluations"] >= first["evaluations"] + FURTHER
    assert second["seconds"] > first["seconds"]
    assert min(each["rmse"] for each in second["front"]) <= (
        min(each["rmse"] for each in first["front"]) * (1 + 1e-6)
    )


@pytest.mark.parametrize("mode", ["throughput", "deterministic"])
def test_time_that_is_used_up_is_used_up(command: Any, folder: Path, mode: str) -> None:
    more = ("data.path=noisy.csv", "run.max_time=0.3", f"islands.mode={mode}")
    command(*more)
    assert result(folder)["status"] == "max_time"
    assert "is finished (max_time)" in command(*more).err


def test_lock_step_that_is_cut_ends_with_the_same_laws(command: Any, folder: Path) -> None:
    mode = "islands.mode=deterministic"
    command(*SHORT, mode, "run.max_evals=5000", "run.output=whole")
    whole = json.loads((folder / "whole" / "result.json").read_text())
    # A limit of evaluations shortens the epochs before it, so that time has to cut the run.
    command("data.path=noisy.csv", mode, "checkpoint.interval=0.1", "run.max_time=0.05")
    assert result(folder)["evaluations"] < 5000
    command(*SHORT, mode, "run.max_evals=5000")
    cut = result(folder)
    assert (cut["front"], cut["evaluations"]) == (whole["front"], whole["evaluations"])


def test_another_problem_in_the_folder_is_refused(command: Any, folder: Path) -> None:
    command(*SHORT)
    told = command(*SHORT, "search.max_terms=2", code=2).err
    assert "are of another problem" in told
    assert "checkpoint.resume to false" in told
    assert result(folder)["status"] == "max_evals"


def test_a_run_can_begin_anew(command: Any, folder: Path) -> None:
    command(*SHORT)
    anew = ("checkpoint.resume=false", "search.max_terms=2")
    told = command(*SHORT, *anew).err
    assert "going on" not in told
    assert result(folder)["settings"]["search"]["max_terms"] == 2
    (aside,) = (folder / "run").glob("checkpoints.old-*")
    assert (aside / "manifest.json").exists()
    assert (aside / "result.json").exists()


def test_edges_to_islands_that_are_not_there_are_left_out(command: Any) -> None:
    edges = ("islands.topology=edges", "islands.edges=[[0, 1], [1, 0], [0, 7]]")
    assert "1 edge of islands.edges left out" in command(*SHORT, *edges).err


def test_an_older_result_is_not_that_of_a_new_run(command: Any, folder: Path) -> None:
    command(*SHORT)
    old = (folder / "run" / "result.json").read_text()
    command(*SHORT, "checkpoint.resume=false", "search.max_terms=2")
    (folder / "run" / "result.json").write_text(old)
    told = command(*SHORT, "search.max_terms=2").err
    assert "is finished" not in told


def test_a_run_keeps_the_seed_that_was_drawn(command: Any, folder: Path) -> None:
    (folder / "config.toml").write_text(CONFIG.replace("seed = 1\n", ""))
    command(*SHORT)
    seed = result(folder)["seed"]
    assert "going on" in command(*SHORT, further(folder)).err
    assert result(folder)["seed"] == seed


def test_fewer_islands_keep_the_best(command: Any, folder: Path) -> None:
    command(*SHORT, "islands.per_rank=4")
    best = min(each["rmse"] for each in result(folder)["front"])
    fewer = (*SHORT, "islands.per_rank=2", "checkpoint.keep=1")
    told = command(*fewer, further(folder)).err
    assert "going on from the checkpoints of 4 islands" in told
    assert best_saved(folder) <= best * (1 + 1e-6)
    manifest = checkpoints(folder).read_manifest()
    assert manifest is not None
    assert manifest.islands == 2
    done = result(folder)["evaluations"]
    command(*fewer, f"run.max_evals={done + 1}")
    assert result(folder)["evaluations"] > done  # of the absorbed islands too


def test_fewer_islands_keep_the_best_past_damage(command: Any, folder: Path) -> None:
    """The file before the absorption needs the islands that were absorbed."""
    command(*SHORT, "islands.per_rank=4")
    command(*SHORT, "islands.per_rank=1", further(folder))
    for number in range(4):
        assert checkpoints(folder).sequences(number), number
    damage(folder, 0)
    told = command(*SHORT, "islands.per_rank=1", further(folder)).err
    assert "is not used: it is cut off" in told
    assert "going on from the checkpoints of 4 islands" in told


def damage(folder: Path, number: int) -> None:
    """Cut off the newest checkpoint of an island."""
    saved = checkpoints(folder)
    path = saved.island_folder(number) / f"{saved.sequences(number)[-1]:012d}.gsr"
    path.write_bytes(path.read_bytes()[:-1])


def test_a_damaged_checkpoint_is_told(command: Any, folder: Path) -> None:
    command(*SHORT)
    damage(folder, 1)
    told = command(*SHORT, further(folder)).err
    assert "is not used: it is cut off" in told
    assert "going on from the checkpoints of 1 island " in told


# ---- signals -----------------------------------------------------------------------------------


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Any]]:
    """Return a function that starts the command in a process of its own."""
    started = []

    def begin(*settings: str) -> Any:
        asked = [f"--set={each}" for each in settings]
        process = subprocess.Popen(
            [sys.executable, "-m", "gsr.islands", "config.toml", *asked],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        )  # fmt: skip
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def until(process: Any, condition: Callable[[], Any]) -> Any:
    """Return what the condition gives, as soon as that is true; the process must still run."""
    ends = time.monotonic() + 60
    while not (found := condition()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.02)
    return found


def searches(folder: Path) -> bool:
    path = folder / "run" / "status.json"
    return path.exists() and json.loads(path.read_text())["evaluations"] > 0


def test_signals_save_stop_and_let_the_run_go_on(start: Any, command: Any, folder: Path) -> None:
    saved = checkpoints(folder)
    process = start(*ENDLESS)
    until(process, lambda: searches(folder))
    assert saved.sequences(0) == []
    process.send_signal(signal.SIGUSR1)
    until(process, lambda: saved.sequences(0) and saved.sequences(1))
    first = saved.sequences(0)[-1]

    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert saved.sequences(0)[-1] > first
    found = result(folder)
    assert found["status"] == "terminated"
    assert out.startswith(f"{found['equation']}\n")
    assert json.loads((folder / "run" / "status.json").read_text())["state"] == "stopped"
    lines = (folder / "run" / "metrics" / "rank-00000.jsonl").read_text().splitlines()
    heard = [line["signal"] for line in map(json.loads, lines) if line.get("event") == "signal"]
    assert heard == ["SIGUSR1", "SIGTERM"]
    # One for the first signal, one or two for the second: the last is what the islands came to.
    assert len(saved.sequences(0)) <= 3
    assert saved_evaluations(folder) == found["evaluations"]

    best = best_saved(folder)
    told = command(*ENDLESS, further(folder), "log.verbose=true").err
    assert "going on from the checkpoints of 2 islands" in told
    first_line = re.search(r"([0-9,]+) evaluations  best rmse (\S+)", told)
    assert first_line is not None
    assert int(first_line[1].replace(",", "")) >= found["evaluations"]
    assert float(first_line[2]) <= best * 1.01
    assert best_saved(folder) <= best * (1 + 1e-6)


def test_a_request_to_save_before_and_after_the_search_is_harmless(
    command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch system may send it at any time; by default it would end the program."""

    def with_signal(function: Callable[..., Any]) -> Callable[..., Any]:
        def send_and_go_on(*arguments: Any, **options: Any) -> Any:
            os.kill(os.getpid(), signal.SIGUSR1)
            return function(*arguments, **options)

        return send_and_go_on

    monkeypatch.setattr(island_plan, "plan_run", with_signal(island_plan.plan_run))
    monkeypatch.setattr(island_results, "write", with_signal(island_results.write))
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))
    try:
        command()
        os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard == [signal.SIGUSR1]  # the last one: the command has given the signal back


@pytest.mark.parametrize("mode", ["throughput", "deterministic"])
def test_the_log_ends_with_what_the_result_says(command: Any, folder: Path, mode: str) -> None:
    told = command(*SHORT, f"islands.mode={mode}", "log.verbose=true").err
    evaluations = f"{result(folder)['evaluations']:,} evaluations"
    ends = [line for line in told.splitlines() if line.startswith("max_evals: ")]
    assert [evaluations in line for line in ends] == [True], told


def test_a_second_ctrl_c_of_the_same_hand_is_the_first(start: Any, folder: Path) -> None:
    """A launcher may pass on what the terminal has sent already."""
    process = start(*ENDLESS)
    until(process, lambda: searches(folder))
    process.send_signal(signal.SIGINT)
    time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert result(folder)["status"] == "interrupted"
    assert json.loads((folder / "run" / "status.json").read_text())["state"] == "stopped"
    assert checkpoints(folder).sequences(0)


@pytest.mark.parametrize("mode", ["throughput", "deterministic"])
def test_ctrl_c_stops_with_a_result(start: Any, folder: Path, mode: str) -> None:
    process = start(*ENDLESS, f"islands.mode={mode}")
    until(process, lambda: searches(folder))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    found = result(folder)
    assert found["status"] == "interrupted"
    assert out.startswith(f"{found['equation']}\n")
    assert checkpoints(folder).sequences(0)


# ---- company ----------------------------------------------------------------------------------


def test_a_folder_is_of_one_run(start: Any, folder: Path) -> None:
    runs = [start(*ENDLESS) for _ in range(3)]
    ends = time.monotonic() + 60
    while sum(run.poll() is None for run in runs) > 1 and time.monotonic() < ends:
        time.sleep(0.05)
    (left,) = (run for run in runs if run.poll() is None)
    for run in runs:
        if run is not left:
            err = run.communicate()[1]
            assert run.returncode == 2
            assert re.search(rf"another run writes to .*run \(.*, process {left.pid}\)", err), err
    assert not list((folder / "run").glob("checkpoints.old-*"))


def test_a_killed_run_is_told_and_taken_up_at_once(start: Any, folder: Path) -> None:
    process = start(*ENDLESS, "checkpoint.interval=0.1")
    until(process, lambda: checkpoints(folder).sequences(0) and searches(folder))
    assert examine(folder / "run")["state"] == "running"
    process.kill()
    process.communicate()
    found = examine(folder / "run")
    assert found["state"] == "silent"
    assert "its process is gone; start it again" in as_text(found)
    process = start(*ENDLESS)
    lines = (process.stderr.readline() for _ in range(2))
    assert any("going on from the checkpoints" in line for line in lines)


def test_a_report_of_a_run_that_was_taken_up_again_is_of_what_it_has_now(
    start: Any, command: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(*SHORT)
    before = result(folder)
    process = start(*ENDLESS, "checkpoint.interval=0.1")
    wanted = before["evaluations"] + FURTHER
    until(process, lambda: sum(evaluated(folder)) > wanted)
    assert result(folder) == before
    capsys.readouterr()
    assert cli.main(["report", "run"]) == 0
    assert "has gone on since its result" in capsys.readouterr().err
    (told,) = re.findall(r"([\d,]+) evaluations", (folder / "run" / "report.html").read_text())[:1]
    assert int(told.replace(",", "")) > wanted


def evaluated(folder: Path) -> list[int]:
    found = [checkpoints(folder).latest(number) for number in range(2)]
    return [int(each.about["evaluations"]) for each in found if each is not None]


# ---- a disk that does not take it --------------------------------------------------------------


@contextmanager
def paused(process: Any) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    yield
    process.send_signal(signal.SIGCONT)


def test_checkpoints_that_cannot_be_written_do_not_end_a_search(start: Any, folder: Path) -> None:
    process = start(*ENDLESS, "checkpoint.interval=0.1")
    saved, run = checkpoints(folder), folder / "run"
    until(process, lambda: saved.sequences(0) and searches(folder))

    with paused(process):
        os.rename(run / "checkpoints", run / "elsewhere")
        (run / "checkpoints").write_text("in the way")
    until(process, lambda: "cannot be written" in (run / "status.json").read_text())
    with paused(process):
        os.remove(run / "checkpoints")
        os.rename(run / "elsewhere", run / "checkpoints")
    until(process, lambda: "can be written again" in (run / "status.json").read_text())
    last = saved.sequences(0)[-1]
    until(process, lambda: saved.sequences(0)[-1] > last)

    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143
    # Each kind of failure is told once: a file that was being written fails in its own way.
    assert 1 <= err.count("checkpoints cannot be written") <= 2
    assert err.count("checkpoints can be written again") == 1


def test_a_run_folder_that_is_removed_comes_back(start: Any, folder: Path) -> None:
    process = start(*ENDLESS, "checkpoint.interval=0.1")
    saved, run = checkpoints(folder), folder / "run"
    until(process, lambda: saved.sequences(0) and saved.sequences(1))
    with paused(process):
        os.rename(run, folder / "elsewhere")
        shutil.rmtree(folder / "elsewhere")
    until(process, lambda: saved.read_manifest() is not None and saved.sequences(1))
    until(process, (run / "metrics" / "rank-00000.jsonl").exists)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert "manifest.json was removed; it is written again" in err
    assert result(folder)["status"] == "terminated"


def test_results_that_cannot_be_written_are_kept_elsewhere(
    command: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gsr.runs import run_folder

    monkeypatch.setattr(island_results, "PAUSE", 0.0)
    kept = folder / "temporary"
    kept.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(kept))
    write = run_folder.write

    def refuse(path: Any, outcome: Any) -> Path:
        if kept not in Path(path).parents:
            from gsr.files import WritingError

            raise WritingError("cannot write run: no space left")
        return write(path, outcome)

    monkeypatch.setattr(run_folder, "write", refuse)
    told = command(code=3)
    assert told.out.startswith("y = 2 a b\n")
    assert told.err.count("no space left") == island_results.TRIES
    (rescued,) = kept.glob("gsr-run-*")
    assert f"the run is kept in {rescued}" in told.err
    assert json.loads((rescued / "result.json").read_text())["equation"] == "y = 2 a b"


def test_a_run_folder_that_cannot_be_made_is_told_at_once(command: Any, folder: Path) -> None:
    (folder / "run").write_text("a file")
    assert "the run folder run is a file" in command(code=2).err.replace(f"{folder}/", "")
    told = command("run.output=config.toml/run", code=3)
    assert "cannot write" in told.err
    assert told.out == ""
