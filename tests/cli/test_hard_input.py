"""Input that breaks programs: each ends in a clear message, and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gsr
from gsr import GSRRegressor, files, fit_formula, search
from gsr.cli import main
from gsr.exceptions import DomainWarning, GSRError
from gsr.files import printable

PROGRAM = [sys.executable, "-c", "from gsr.cli import main; raise SystemExit(main())"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gsr.__file__).parents[1])}


def table(n: int = 12, seed: int = 0) -> str:
    X = np.random.default_rng(seed).uniform(1, 3, (n, 2))
    rows = [f"{a!r},{b!r},{2 * a * b!r}" for a, b in X.tolist()]
    return "\n".join(["a,b,y", *rows]) + "\n"


def noise(n: int = 60) -> str:
    values = np.random.default_rng(1).normal(size=(n, 3))
    return "\n".join(["a,b,y", *(",".join(map(repr, row)) for row in values.tolist())])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(table())
    return path


def start(*arguments: str, **options: Any) -> Any:
    return subprocess.Popen(
        [*PROGRAM, *arguments],
        env=ENVIRONMENT,
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


# ---- tables ----------------------------------------------------------------------------------

ROWS = table().splitlines()
CASES = {
    "empty": ("", "the file is empty"),
    "header only": ("a,b,y\n", "there are no rows below it"),
    "one row": ("\n".join(ROWS[:2]), "a law needs at least 5"),
    "text": ("\n".join([*ROWS, "1,two,3"]), "line 14, column 'b' (2): 'two' is not a number"),
    "1e308": ("\n".join([*ROWS, "1e308,1,1"]), "a, goes up to 1e+308, too far to square"),
    "1e308 target": ("\n".join([*ROWS[:9], "1,1,1e308"]), "y, goes up to 1e+308"),
    "infinity": ("\n".join([*ROWS, "1,inf,3"]), "line 14, column 'b': an infinite value"),
    "overflow": ("\n".join([*ROWS, "1,1e999,3"]), "line 14, column 'b': an infinite value"),
    "missing": ("\n".join([*ROWS, "1,,3"]), "line 14: a missing value; 1 of 13 rows"),
    "duplicate": (table().replace("a,b,y", "a,a,y"), "columns 1 and 2 are both named 'a'"),
    "constant target": ("a,y\n" + "".join(f"{k},7\n" for k in range(9)), "is constant"),
    "all constant": ("a,y\n" + "".join(f"7,{k}\n" for k in range(9)), "no feature varies ('a')"),
    "one column": ("y\n1\n2\n3\n4\n5\n", "there is no feature beside the target 'y'"),
    "the same rows": ("a,y\n" + 9 * "1,2\n", "no feature varies"),
    "all missing": ("a,y\n" + 9 * ",2\n", "9 of 9 rows have missing values, in 'a'"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_tables_are_told_in_a_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, message = CASES[case]
    path = tmp_path / "data.csv"
    path.write_text(content)
    run = tmp_path / "run"
    assert main(["fit", str(path), "--target", "y", "--max-time", "1", "-o", str(run)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err and told.err.startswith("gsr: ")
    assert not (run / "result.json").exists()


def test_a_folder_is_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(tmp_path)]) == 2
    assert capsys.readouterr() == ("", f"gsr: {tmp_path} is a folder, not a file\n")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.empty((0, 2)), np.empty(0), "0 sample"),
        (np.ones((1, 2)), np.ones(1), "at least 5"),
        (np.full((9, 1), 1e308), np.arange(9.0), r"goes up to 1e\+308"),
        (np.arange(9.0)[:, None], np.full(9, 1e-320), "is constant|too far to square"),
        (np.array([["a"]] * 9), np.arange(9.0), "could not convert string"),
        (np.arange(9.0)[:, None], np.array([1.0, np.nan] * 4 + [1.0]), "NaN"),
    ],
)
def test_bad_arrays_are_told(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GSRRegressor(max_time=0.1).fit(X, y)


@pytest.mark.parametrize("seed", range(6))
def test_extreme_magnitudes_are_fitted_and_predicted(seed: int) -> None:
    draw = np.random.default_rng(seed)
    X = 10.0 ** draw.uniform(-52, 56, (6, 1 + seed % 4))
    X *= draw.choice([-1.0, 1.0], X.shape) if seed % 2 else 1.0
    y = 10.0 ** draw.uniform(41, 92, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GSRRegressor(max_evals=2000, max_time=None, random_state=seed, n_jobs=1).fit(X, y)
        for equation in (entry.equation for entry in model.front_):
            assert equation.predict(X).shape == y.shape
            assert all(map(str, equation.explicit()))
    assert np.isfinite(model.predict(X)).all()


def test_ten_thousand_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).uniform(1, 2, (30, 10_000))
    rows = np.column_stack([X, 3 * X[:, 1234]])
    path = tmp_path / "wide.csv"
    header = ",".join([*(f"c{k}" for k in range(10_000)), "y"])
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.17g")
    code = main(["fit", str(path), "--target", "y", "--max-time", "2", "-q"])
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert (code, told.out) == (0, "y = 3 c1234\n")


def test_a_constant_column_is_noted_and_left_out(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = data.read_text().splitlines()
    rows = ["c," + lines[0], *("5," + line for line in lines[1:])]
    data.write_text("\n".join(rows))
    assert main(["fit", str(data), "--target", "y", "--json"]) == 0
    told = capsys.readouterr()
    assert "left out, since the same in every row: 'c'" in told.err
    assert json.loads(told.out)["features"] == ["a", "b"]


@pytest.mark.parametrize(("factor", "words"), [(1, "a copy of"), (-4, "-4 times")])
def test_a_target_inside_the_features_is_named(
    factor: int, words: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *lines = data.read_text().splitlines()
    rows = [f"{line},{factor * float(line.split(',')[2])!r}" for line in lines]
    data.write_text("\n".join([head + ",z", *rows]))
    assert main(["fit", str(data), "--target", "y", "--seed", "0"]) == 0
    assert f"WARNING: the feature 'z' is {words} the target 'y'" in capsys.readouterr().err
    assert main(["fit", str(data), "--target", "y", "--features", "a,y"]) == 2
    assert "the target 'y' is also among --features" in capsys.readouterr().err


def test_no_law_has_an_exit_code_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "noise.csv"
    path.write_text(noise())
    code = main(["fit", str(path), "--target", "y", "--max-evals", "500", "--seed", "0"])
    told = capsys.readouterr()
    assert code == 1
    assert "no law better than a constant was found" in told.err
    assert told.out.startswith("y = ")


# ---- models ----------------------------------------------------------------------------------


def test_damaged_models_are_told(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, run = data.with_name("model.json"), data.with_name("run")
    fit = ["fit", str(data), "--target", "y", "--seed", "0", "-q"]
    assert main([*fit, "--save", str(model), "-o", str(run)]) == 0
    capsys.readouterr()
    whole = model.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"\xff\xfe", b"[]", whole.replace(b"1", b"2")):
        model.write_bytes(content)
        (run / "model.json").write_bytes(content)
        for place in (model, run):
            for command in (["predict", str(place), str(data)], ["show", str(place)]):
                assert main(command) == 2
                told = capsys.readouterr()
                assert told.out == "" and str(place) in told.err
    (run / "result.json").write_text("{")
    (run / "model.json").write_bytes(whole)  # all that is needed
    assert main(["predict", str(run), str(data)]) == 0
    (run / "model.json").unlink()
    assert main(["predict", str(run), str(data)]) == 2
    assert "result.json is damaged" in capsys.readouterr().err
    assert main(["show", str(data.parent / "none")]) == 2
    assert "none" in capsys.readouterr().err


# ---- interrupted -----------------------------------------------------------------------------


def check_interrupted(run: Path, out: str, err: str) -> None:
    assert "Traceback" not in err and "interrupted" in err
    result = json.loads((run / "result.json").read_text())
    assert result["status"] == "interrupted"
    assert result["equation"] == out.splitlines()[0]
    assert gsr.load(run / "model.json").status_ == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_result(
    number: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_search = search.run
    senders: list[threading.Thread] = []

    def interrupted(evolution: Any, *arguments: Any) -> Any:
        def send() -> None:
            while evolution.evaluations == 0:
                time.sleep(0.05)
            os.kill(os.getpid(), number)

        if not senders:  # a search runs in pieces: the signal comes once
            senders.append(threading.Thread(target=send))
            senders[0].start()
        return run_search(evolution, *arguments)

    monkeypatch.setattr(search, "run", interrupted)
    path, run = tmp_path / "noise.csv", tmp_path / "run"
    path.write_text(noise())
    assert main(["fit", str(path), "--max-time", "300", "-o", str(run)]) == 130
    check_interrupted(run, *capsys.readouterr())


def test_an_interrupted_program_keeps_its_result(tmp_path: Path) -> None:
    path, run = tmp_path / "noise.csv", tmp_path / "run"
    path.write_text(noise())
    process = start("fit", str(path), "--max-time", "300", "-v", "-o", str(run))
    for line in process.stderr:
        if "s  " in line:  # the first line of progress: it searches
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    check_interrupted(run, out, err)


def test_an_interruption_after_the_search_loses_nothing(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    conclude = GSRRegressor._conclude
    times = 1

    def interrupted(self: GSRRegressor, *arguments: Any) -> None:
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        conclude(self, *arguments)

    monkeypatch.setattr(GSRRegressor, "_conclude", interrupted)
    fit = ["fit", str(data), "--target", "y", "--seed", "0", "-q"]
    assert main(fit) == 0
    told = capsys.readouterr()
    assert told.out == "y = 2 a b\n"
    assert "its results are being kept" in told.err
    times = 2
    assert main(fit) == 130
    assert capsys.readouterr().out == ""


# ---- disks and pipes -------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_is_told_before_the_search(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*_: Any) -> None:
        raise AssertionError("the search was started")

    monkeypatch.setattr("gsr.cli.fit._search", search)
    fit = ["fit", str(data), "--target", "y"]
    assert main([*fit, "-o", str(data)]) == 2
    assert "is a file" in capsys.readouterr().err
    assert main([*fit, "-o", str(data / "below")]) == 3
    assert f"cannot write {data / 'below'}: Not a directory" in capsys.readouterr().err
    assert main([*fit, "-o", "/proc/run"]) == 3
    assert "cannot write /proc/run" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main([*fit, "--save", "/no/such/folder/model.json"])
    assert stop.value.code == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """Mount a disk of 512 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a disk is not permitted")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(400_000))
    fit = ["fit", str(data), "--target", "y", "--seed", "0", "-o", str(small_disk / "run")]
    assert main(fit) == 3
    told = capsys.readouterr()
    assert told.err.splitlines()[-1] == (
        f"gsr: cannot write {small_disk / 'run'}: No space left on device"
    )
    assert not any(small_disk.glob("run/*"))


def test_a_disk_that_fills_during_the_search(
    small_disk: Path,
    data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gsr.cli import fit as fit_cli

    run, elsewhere = small_disk / "run", data.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    fit = ["fit", str(data), "--target", "y", "--seed", "0", "-q"]
    assert main([*fit, "-o", str(run)]) == 0
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    search = fit_cli._search

    def and_fill(*arguments: Any) -> Any:
        model = search(*arguments)
        with (small_disk / "filler").open("wb", buffering=0) as stream:
            try:
                while True:
                    stream.write(bytes(1024))
            except OSError:
                pass
        return model

    monkeypatch.setattr(fit_cli, "_search", and_fill)
    capsys.readouterr()
    model = small_disk / "model.json"
    assert main([*fit, "-o", str(run), "--overwrite", "--save", str(model)]) == 3
    told = capsys.readouterr()
    assert told.out == "y = 2 a b\n"
    assert "No space left on device" in told.err and str(run) in told.err
    assert not model.exists()
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    (kept,) = elsewhere.iterdir()
    assert f"the run is kept in {kept}" in told.err
    assert str(gsr.load(kept / "model.json").equation_) == "y = 2 a b"


def test_nothing_can_be_written_anywhere(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_whole", full)
    fit = ["fit", str(data), "--target", "y", "--seed", "0", "-q"]
    assert main([*fit, "-o", str(data.parent / "run")]) == 3
    told = capsys.readouterr()
    assert told.out == "y = 2 a b\n"
    assert "only what is printed is left" in told.err


FULL = pytest.param("/dev/full", 3, marks=pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="there is no /dev/full"
))  # fmt: skip


@pytest.fixture
def output(request: pytest.FixtureRequest) -> Any:
    """Open a full disk, or a pipe that nobody reads."""
    if request.param == "pipe":
        reading, writing = os.pipe()
        os.close(reading)
    else:
        writing = os.open(request.param, os.O_WRONLY)
    stream = os.fdopen(writing, "w")
    yield stream
    with contextlib.suppress(OSError):
        stream.close()


@pytest.mark.parametrize(("output", "code"), [FULL, ("pipe", 0)], indirect=["output"])
def test_a_result_that_cannot_be_printed(
    output: Any,
    code: int,
    data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = data.with_name("run")
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", output)
        assert main(["fit", str(data), "--target", "y", "-o", str(run)]) == code
    said = "gsr: cannot write to standard output: No space left on device\n"
    assert capsys.readouterr().err == (said if code else "")
    assert (run / "result.json").exists()


@pytest.mark.parametrize(("output", "code"), [FULL, ("pipe", 0)], indirect=["output"])
def test_nothing_is_said_of_it_when_the_program_ends(output: Any, code: int) -> None:
    process = start("info", stdout=output)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert err == ("gsr: cannot write to standard output: No space left on device\n" * bool(code))


def test_a_table_from_standard_input(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with data.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert main(["fit", "-", "--target", "y", "-q", "--seed", "0"]) == 0
    assert capsys.readouterr() == ("y = 2 a b\n", "")


def test_rows_in_which_y_cannot_be_squared_are_left_out() -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([random.uniform(0.1, 2.0, 200), random.uniform(-5.0, 5.0, 200)])
    X[:9, 1] = np.linspace(360.0, 440.0, 9)
    y = X[:, 0] * np.exp(X[:, 1])
    with pytest.warns(DomainWarning, match="9 of 200 rows in which y is beyond 1e\\+150"):
        model = GSRRegressor(random_state=0, n_jobs=1, max_time=20).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)


def test_a_target_of_which_most_rows_cannot_be_squared_is_an_error() -> None:
    X = np.linspace(1.0, 5.0, 40)[:, None]
    with pytest.raises(GSRError, match="goes up to 5e\\+200, too far to square"):
        GSRRegressor().fit(X, 1e200 * X[:, 0])


ESCAPES = "\x1b]0;title\x07\x9b31m\u202e"


def test_escapes_in_names_do_not_reach_the_terminal(tmp_path, monkeypatch, capsys):
    table = tmp_path / "t.csv"
    rows = "\n".join(f"{k},{2 * k}" for k in range(1, 20))
    table.write_text(f'"{ESCAPES}",y\n{rows}\n')
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(["fit", str(table), "--max-evals", "500"]) == 0
    assert main(["fit", str(tmp_path / ESCAPES)]) == 2
    printed = "".join(capsys.readouterr())
    assert "y = 2 `\\u001b]0;title\\u0007\\u009b31m\\u202e`" in printed
    assert not set(ESCAPES[:1] + ESCAPES[9:11] + ESCAPES[-1]) & set(printed)


def test_json_means_the_same_without_control_characters():
    assert json.loads(printable(json.dumps(ESCAPES, ensure_ascii=False))) == ESCAPES


def test_a_folder_with_a_newline_in_its_name_repeats_a_run(tmp_path):
    table, folder = tmp_path / "t.csv", tmp_path / "new\nline"
    table.write_text("x,y\n" + "\n".join(f"{k},{2 * k}" for k in range(1, 20)))
    limit = ["--max-evals", "500", "-o"]
    assert main(["fit", str(table), *limit, str(folder)]) == 0
    assert main(["fit", "--config", str(folder / "config.toml"), *limit, str(tmp_path / "b")]) == 0


def test_names_that_are_not_utf8_are_refused_before_the_search(tmp_path, capsys):
    table = tmp_path / "t.csv"
    table.write_text("x,y\n1,2\n2,4\n3,6\n")
    other = tmp_path / "t\udcff.csv"
    other.write_bytes(table.read_bytes())
    assert main(["fit", str(table), "-o", str(tmp_path / "run\udcff")]) == 2
    assert main(["fit", str(other), "-o", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.count("is not UTF-8; rename it") == 2
    with pytest.raises(GSRError, match=r"the name 'a\\ud800' is not UTF-8"):
        fit_formula("y = k x1", np.ones((9, 1)), np.ones(9), ["a\ud800"])
