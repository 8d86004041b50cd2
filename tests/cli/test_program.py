"""The command line, called as a function and as a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gsr
from gsr.benchmarks import suite_runs
from gsr.cli import demo, main
from gsr.exceptions import GSRError, InterruptedWarning


def program(
    *arguments: str, code: str = "from gsr.cli import main; raise SystemExit(main())"
) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(Path(gsr.__file__).parents[1])}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


# ---- demo ----------------------------------------------------------------------------------------


def test_the_demo_data_obey_keplers_third_law() -> None:
    data = demo.planets()
    assert len(data) == 16
    assert list(data[demo.FEATURES].dtypes) == [np.float64] * 3
    np.testing.assert_allclose(data[demo.TARGET], data["distance"] ** 1.5, rtol=1e-3)


def test_the_demo_fits_one_screen_and_names_the_law(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--max-time", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 20 and max(map(len, lines)) <= 82
    shown = "\n".join(lines)
    assert "  period = " in shown and "distance" in shown and "R2 = " in shown
    assert "Kepler's third law" in shown
    assert sum(line.startswith("> ") for line in lines) == 2  # and what the mark means
    assert "gsr fit data.csv" in shown


# ---- bench ---------------------------------------------------------------------------------------


def test_bench_runs_a_problem_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.json"
    arguments = ["bench", "nguyen-1", "--runs", "2", "--max-time", "2", "--json", str(path)]
    assert main(arguments) == 0
    assert "Nguyen-1" in capsys.readouterr().out
    rows = json.loads(path.read_text())
    assert [(row["problem"], row["seed"]) for row in rows] == [("Nguyen-1", 0), ("Nguyen-1", 1)]
    assert not any(row["error"] for row in rows)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, Any]]]:
    """Record calls of the runner, which finishes one run of each problem."""
    made: list[tuple[list[str], dict[str, Any]]] = []

    def run(problems: Any, **options: Any) -> list[suite_runs.Run]:
        made.append(([each.name for each in problems], options))
        return [suite_runs.Run(each.suite, each.name, 0, recovered=True) for each in problems]

    monkeypatch.setattr(suite_runs, "run", run)
    return made


def test_bench_has_its_defaults(calls: Any) -> None:
    main(["bench", "jin"])
    (names, options), *_ = calls
    assert names == [f"Jin-{k}" for k in range(1, 7)]
    assert options == {
        "preset": "default",
        "runs": 25,
        "max_time": 10.0,
        "noise": (0.0,),
        "jobs": 1,
        "json_path": None,
        "estimator_options": None,
    }


def test_bench_passes_options_on(calls: Any) -> None:
    arguments = "bench Jin-1 Neat-2 --preset paper --runs 1 --jobs 3 --max-time 0.5 --s-gsr"
    assert main(arguments.split()) == 0
    (names, options), *_ = calls
    assert names == ["Jin-1", "Neat-2"]
    assert (options["preset"], options["runs"], options["jobs"]) == ("paper", 1, 3)
    assert options["max_time"] == 0.5
    assert options["estimator_options"] == {"transform_target": False}


def test_bench_takes_several_levels_of_noise(calls: Any) -> None:
    assert main(["bench", "Jin-1", "--runs", "1", "--noise", "0.001,0.1,0.1"]) == 130
    assert calls[0][1]["noise"] == (0.001, 0.1)


def test_interrupted_bench_shows_what_is_finished(
    calls: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "Jin-1", "--runs", "2"]) == 130
    assert "Jin-1" in capsys.readouterr().out


def test_bench_lists_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list"]) == 0
    everything = capsys.readouterr().out
    assert "Nguyen-1" in everything and "SymSet-17" in everything
    assert main(["bench", "neat", "--list"]) == 0
    some = capsys.readouterr().out
    assert "Neat-9" in some and "Nguyen" not in some


@pytest.mark.parametrize("extra", [[], ["--list"]])
def test_unknown_names_are_told_without_a_traceback(
    extra: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "nguyen-77", *extra]) == 2
    told = capsys.readouterr().err
    assert told.startswith("gsr: unknown problem or suite 'nguyen-77': did you mean")
    assert "Traceback" not in told


# ---- arguments and exit codes --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench"], "name suites or problems"),
        (["bench", "jin", "--runs", "0"], "--runs: must be a whole number of at least 1, got '0'"),
        (["bench", "jin", "--runs", "many"], "got 'many'"),
        (["bench", "jin", "--max-time", "nan"], "--max-time: must be a number"),
        (["bench", "jin", "--json", "no/such/folder/x"], "cannot write 'no/such/folder/x'"),
        (["bench", "jin", "--preset", "best"], "--preset"),
        (["bench", "jin", "--noise", "0.1,much"], "--noise: must be a number of at least 0"),
        (["fitt"], "invalid choice"),
        (["fit", "t.csv", "--top", "0"], "--top: must be a whole number of at least 1"),
        (["fit", "t.csv", "--units", "m"], "must be pairs such as x1=m,y=s, got 'm'"),
        (["fit", "t.csv", "--features", "a,,b"], "must be names separated by commas"),
        (["fit", "t.csv", "--allow", "sin"], "must be like x1=sin,cos, got 'sin'"),
        (["fit", "t.csv", "-q", "-v"], "not allowed with argument"),
        (["predict", "m.json"], "the following arguments are required: TABLE"),
        (["predict", "m.json", "t.csv", "--interval", "1"], "a number between 0 and 1, got '1'"),
        (["export", "m.json", "--language", "fortran"], "invalid choice: 'fortran'"),
    ],
)
def test_wrong_usage_is_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_config_is_printed_or_written_but_replaces_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from gsr.runs import config

    assert main(["config"]) == 0
    printed = capsys.readouterr().out
    assert printed == config.default_toml()
    path = tmp_path / "run.toml"
    path.write_text("mine")
    assert main(["config", "-o", str(path)]) == 2
    assert "exists; choose another name, or use --overwrite" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main(["config", "-o", str(path), "--overwrite"]) == 0
    assert path.read_text() == printed
    assert config.read(path).get("data", "target") == "y"


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown == gsr.core_info()


def test_version_and_help_as_a_program() -> None:
    assert program("--version").stdout == f"gsr {gsr.__version__}\n"
    for arguments in ([], ["--help"]):
        done = program(*arguments)
        assert done.returncode == 0
        assert "examples:" in done.stdout and "gsr demo" in done.stdout
        assert "exit codes:" in done.stdout


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom gsr.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'sklearn', 'sympy', 'rich', 'gsr._core'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = program(code=code)
    assert done.returncode == 0, done.stderr


def test_unknown_name_as_a_program() -> None:
    done = program("bench", "nguyen-77")
    assert done.returncode == 2
    assert done.stderr.startswith("gsr: unknown problem") and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "gsr: interrupted\n"),
        (GSRError("the target is constant"), 2, "gsr: the target is constant\n"),
        (PermissionError(13, "Permission denied", "x"), 2, "gsr: [Errno 13]"),
    ],
)
def test_errors_become_a_line_and_an_exit_code(
    error: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(demo, "run", fail)
    assert main(["demo"]) == code
    assert capsys.readouterr().err.startswith(message)


def test_other_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("a fault of the program")

    monkeypatch.setattr(demo, "run", fail)
    with pytest.raises(ValueError, match="a fault"):
        main(["demo"])


def test_warnings_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import warnings

    def warn(*_: Any) -> None:
        warnings.warn("the best laws so far are kept", InterruptedWarning, stacklevel=1)

    monkeypatch.setattr(demo, "run", warn)
    assert main(["demo"]) == 0
    assert capsys.readouterr().err == "gsr: the best laws so far are kept\n"


COMMANDS = (
    "fit", "predict", "show", "export", "plot", "report", "config", "doctor", "info", "demo",
    "bench", "islands", "status",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"usage: gsr {command}" in capsys.readouterr().out


def test_an_interruption_while_commands_are_imported_prints_no_traceback(monkeypatch, capsys):
    def interrupt(name):
        raise KeyboardInterrupt

    monkeypatch.setattr("gsr.cli.program.import_module", interrupt)
    assert main(["fit", "t.csv"]) == 130
    assert capsys.readouterr().err == "gsr: interrupted\n"
