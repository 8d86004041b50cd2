"""No command replaces one of its inputs, nor any file without --overwrite."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import island_costs, island_model, island_parts, island_times
from gsr import files
from gsr.cli import main
from gsr.cli.islands import main as islands_main
from gsr.exceptions import GSRError
from gsr.runs import run_folder

FIT = ("--target", "y", "--max-evals", "300", "--seed", "0", "-q")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, a configuration, a model and a run."""
    folder = tmp_path_factory.mktemp("made")
    X = np.random.default_rng(0).uniform(1, 3, (12, 2))
    rows = [f"{a!r},{b!r},{2 * a * b!r}" for a, b in X.tolist()]
    (folder / "data.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    (folder / "run.toml").write_text('[data]\npath = "data.csv"\ntarget = "y"\n[run]\nseed = 0\n')
    data, model, run = (str(folder / name) for name in ("data.csv", "model.json", "run"))
    assert main(["fit", data, *FIT, "--save", model, "-o", run]) == 0
    return folder


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


INPUTS = [
    ("predict run data.csv -o", "data.csv"),
    ("predict run data.csv -o", "run/model.json"),
    ("predict run data.csv -o", "run/result.json"),
    ("predict model.json data.csv -o", "model.json"),
    ("export model.json -o", "model.json"),
    ("export run -o", "run/model.json"),
    ("report run -o", "run/sample.csv"),
    ("plot run -o", "run/sample.csv"),
    ("report run -o", "run/config.toml"),
    ("fit data.csv --target y --save", "data.csv"),
    ("fit --config run.toml --save", "data.csv"),
    ("fit --config run.toml --save", "run.toml"),
    ("islands run.toml --init", "run.toml"),
]


def reached(path: str, how: str) -> str:
    """Return another path to a file."""
    folder, name = os.path.split(path)
    if how == "relative":
        return os.path.join(folder, "..", os.path.basename(os.path.abspath(folder)), name)
    if how == "same":
        return path
    link = f"link-to-{name}"
    (os.symlink if how == "symlink" else os.link)(os.path.abspath(path), link)
    return link


@pytest.mark.parametrize("how", ["same", "relative", "symlink", "hard link"])
@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
@pytest.mark.parametrize(("command", "path"), INPUTS)
def test_an_input_is_never_replaced(
    command: str,
    path: str,
    overwrite: tuple[str, ...],
    how: str,
    place: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = reached(path, how)
    before = contents(place)
    assert main([*command.split(), target, *overwrite]) == 2
    assert f"{target} is read by this command and is not replaced" in capsys.readouterr().err
    assert contents(place) == before


@pytest.mark.parametrize(
    "command",
    [
        "predict run data.csv -o",
        "export run -o",
        "report run -o",
        "fit data.csv --target y --max-evals 300 --seed 0 -q --save",
        "config -o",
        "bench nguyen-1 --runs 1 --max-time 0.2 --json",
        "islands --init",
    ],
)
def test_an_existing_file_is_replaced_only_if_that_is_wanted(
    command: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place / "notes.txt"
    path.write_text("mine\n")
    asked = [*command.split(), "notes.txt"]
    assert main(asked) == 2
    told = capsys.readouterr()
    assert told.err == "gsr: notes.txt exists; choose another name, or use --overwrite\n"
    assert told.out == ""
    assert path.read_text() == "mine\n"
    assert main([*asked, "--overwrite"]) == 0
    assert path.read_text() != "mine\n"
    path.unlink()
    assert main(asked) == 0
    assert path.is_file()


@pytest.mark.parametrize("kind", ["law", "summary", "convergence"])
def test_a_picture_of_a_run_is_drawn(kind: str, place: Path) -> None:
    assert main(["plot", "run", "--kind", kind, "-o", "picture.svg"]) == 0
    assert "<svg" in (place / "picture.svg").read_text()


def test_mistakes_about_pictures_are_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "run", "-o", "picture.doc"]) == 2
    assert "cannot write picture.doc" in capsys.readouterr().err
    assert main(["plot", "run", "--target", "z"]) == 2
    assert "--target must be among 'y', got 'z'" in capsys.readouterr().err


def test_the_report_of_a_run_is_replaced_only_if_that_is_wanted(place: Path) -> None:
    assert main(["report", "run"]) == 0
    assert main(["report", "run"]) == 2
    assert main(["report", "run", "--overwrite"]) == 0


@pytest.mark.parametrize("program", [island_costs, island_model, island_parts, island_times])
def test_programs_of_the_benchmarks_replace_no_file(
    program: object, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(["--json", "data.csv"])  # type: ignore[attr-defined]
    assert ended.value.code == 2
    assert "data.csv exists" in capsys.readouterr().err


def test_standard_input_is_an_input(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import subprocess
    import sys

    before = contents(place)
    program = [sys.executable, "-c", "from gsr.cli import main; raise SystemExit(main())"]
    with open("data.csv") as stream:
        asked = [*program, "predict", "run", "-", "-o", "data.csv", "--overwrite"]
        environment = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[1])}
        done = subprocess.run(
            asked, stdin=stream, capture_output=True, text=True, check=False, env=environment
        )
    assert done.returncode == 2
    assert "data.csv is read by this command" in done.stderr
    assert contents(place) == before


def test_devices_are_written_without_leave(place: Path) -> None:
    assert main(["predict", "run", "data.csv", "-o", os.devnull]) == 0


# ---- run folders -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in run_folder.FILES if name != "config.toml"])
@pytest.mark.parametrize("link", [None, os.symlink, os.link])
def test_a_run_replaces_no_table_that_it_reads(
    name: str,
    link: Callable[[str, str], None] | None,
    place: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    os.mkdir("mine")
    os.rename("data.csv", f"mine/{name}")
    if link is not None:
        link(os.path.abspath(f"mine/{name}"), "link.csv")
    table = f"mine/{name}" if link is None else "link.csv"
    before = contents(place)
    assert main(["fit", table, *FIT, "-o", "mine", "--overwrite"]) == 2
    told = capsys.readouterr().err
    assert f"mine/{name} is read by this command and would be replaced by the run's {name}" in told
    assert contents(place) == before


def test_the_table_of_a_run_in_its_folder_is_left_alone(place: Path) -> None:
    assert main(["fit", "run/sample.csv", *FIT, "-o", "run", "--overwrite"]) == 2
    assert main(["fit", "run/sample.csv", *FIT, "-o", "other"]) == 0


@pytest.mark.parametrize("name", ["equations.csv", "model.json", "history.csv", "sample.csv"])
def test_a_run_replaces_no_file_of_the_user(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkdir("mine")
    Path("mine", name).write_text("mine\n")
    assert main(["fit", "data.csv", *FIT, "-o", "mine"]) == 2
    told = f"mine has a file {name}, which the run would replace; choose another folder, or use"
    assert told in capsys.readouterr().err
    assert contents(place / "mine") == {name: b"mine\n"}
    shutil.copy("run/config.toml", "mine")
    assert main(["fit", "--config", "mine/config.toml", "-o", "mine"]) == 2
    assert main(["fit", "data.csv", *FIT, "-o", "mine", "--overwrite"]) == 0


def test_the_configuration_of_a_killed_run_is_in_nobody_s_way(place: Path) -> None:
    os.mkdir("killed")
    shutil.copy("run/config.toml", "killed")
    assert main(["fit", "data.csv", *FIT, "-o", "killed"]) == 0
    assert not Path("killed/config.run.toml").exists()


def test_a_run_in_the_folder_of_its_configuration_leaves_that_alone(place: Path) -> None:
    config = place / "run" / "config.toml"
    config.write_text(config.read_text() + "# a remark of mine\n")
    text = config.read_text()
    asked = ["fit", "--config", "run/config.toml", "-o", "run", "--overwrite", "-q"]
    assert main([*asked, "--max-evals", "301"]) == 0
    assert config.read_text() == text
    assert "max_evals = 301" in (place / "run" / "config.run.toml").read_text()
    assert run_folder.saved_config(place / "run") == place / "run" / "config.run.toml"


def test_a_second_configuration_is_neither_replaced_nor_removed(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.rename("run/config.toml", "run/config.run.toml")
    before = contents(place)
    assert main(["fit", "--config", "run/config.run.toml", "-o", "run", "--overwrite"]) == 2
    assert "run/config.run.toml is read by this command" in capsys.readouterr().err
    assert contents(place) == before
    Path("run/config.run.toml").write_text("# mine\n")
    assert main(["fit", "data.csv", *FIT, "-o", "run", "--overwrite"]) == 0
    assert Path("run/config.run.toml").read_text() == "# mine\n"


@pytest.mark.parametrize("name", ["result.json", "model.json", "checkpoints/x.json"])
def test_a_model_is_not_saved_as_a_file_of_the_run(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.makedirs("new/checkpoints")
    assert main(["fit", "data.csv", *FIT, "-o", "new", "--save", f"new/{name}"]) == 2
    assert f"--save: new/{name} is a file of the run folder" in capsys.readouterr().err


def test_files_written_during_the_search_are_kept(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gsr.cli import fit

    search = fit._search

    def and_others_write(*arguments: object) -> object:
        Path("late.json").write_text("mine\n")
        shutil.copytree("run", "late", dirs_exist_ok=True)
        return search(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(fit, "_search", and_others_write)
    assert main(["fit", "data.csv", *FIT, "-o", "late", "--save", "late.json"]) == 3
    told = capsys.readouterr().err
    assert "late holds the result of a run" in told
    assert "late.json exists" in told
    kept = Path(told.rpartition("the run is kept in ")[2].strip())
    assert run_folder.read(kept)["equation"]
    shutil.rmtree(kept)
    assert Path("late.json").read_text() == "mine\n"
    assert contents(place / "late") == contents(place / "run")


def test_islands_replace_neither_table_nor_configuration(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--set", "run.max_evals=300", "--set", "run.output=mine", "--set", "run.seed=0"]
    os.mkdir("mine")
    os.rename("run.toml", "mine/status.json")
    shutil.copy("data.csv", "mine/history.csv")
    tables = (["--set", "data.path=../data.csv"], ["--set", "data.path=history.csv"])
    for table in tables:
        before = contents(place)
        asked = ["mine/status.json", *limits, *table, "--set", "run.overwrite=true"]
        assert islands_main(asked) == 2
        assert "is read by this command and would be replaced" in capsys.readouterr().err
        assert contents(place) == before


def test_islands_that_begin_anew_keep_the_result_of_another_command(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--set", "run.max_evals=300", "--set", "run.output=run"]
    before = contents(place)
    assert islands_main(["run.toml", *limits, "--set", "checkpoint.resume=false"]) == 2
    assert "run holds the result of a run" in capsys.readouterr().err
    assert contents(place) == before


# ---- the rule itself ---------------------------------------------------------------------------


def test_the_rule(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    files.check_output(None)
    files.check_output(path)
    path.write_text("")
    with pytest.raises(GSRError, match="exists; choose another name, or use --overwrite"):
        files.check_output(path, [other])
    files.check_output(path, [other, "-", "\0"], overwrite=True)
    with pytest.raises(GSRError, match="is read by this command"):
        files.check_output(path, [other, path], overwrite=True)


def test_what_python_writes_may_be_replaced(place: Path) -> None:
    import gsr

    model = gsr.load("model.json")
    model.save("model.json")
    assert json.loads(Path("model.json").read_text())["format"] == "gsr model"
