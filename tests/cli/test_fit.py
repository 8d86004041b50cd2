"""`gsr fit` and the commands that use what it found."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gsr
from gsr import GSRRegressor
from gsr.cli import main

X = np.random.default_rng(0).uniform(1, 3, (15, 2))
Y = 2 * X[:, 0] * X[:, 1]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    lines = [f"r,{a!r},{b!r},{y!r}" for a, b, y in np.c_[X, Y].tolist()]
    path.write_text("\n".join(["name,a,b,y", *lines]) + "\n")
    return path


@pytest.fixture
def fit(data: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*options: str, table: str | None = None, code: int = 0) -> Any:
        arguments = ["fit", table or str(data), "--drop", "name", "--seed", "0", *options]
        assert main(arguments) == code, capsys.readouterr().err
        return capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder on noisy data, with several laws."""
    folder = tmp_path_factory.mktemp("runs")
    noisy = Y + np.random.default_rng(1).normal(0, 0.01, len(Y))
    np.savetxt(folder / "data.csv", np.c_[X, noisy], "%.17g", ",", header="a,b,y", comments="")
    options = ["--target", "y", "--seed", "0", "--max-time", "0.5", "-q"]
    assert main(["fit", str(folder / "data.csv"), *options, "-o", str(folder / "run")]) == 0
    return folder / "run"


# ---- fit -------------------------------------------------------------------------------------


def test_a_law_is_printed_and_nothing_written(fit: Any, data: Path) -> None:
    told = fit("--target", "y")
    law, _, head, *_ = told.out.splitlines()
    assert law == "y = 2 a b"
    assert head.split() == ["#", "nodes", "RMSE", "law"]
    assert sum(line.startswith(">") for line in told.out.splitlines()) == 1
    assert "exact: only rounding errors are left" in told.out
    assert "until an exact law was found" in told.out
    assert told.err == ""
    assert [path.name for path in data.parent.iterdir()] == ["data.csv"]


@pytest.mark.parametrize("target", ["y", "4", None])
def test_the_target_is_named_numbered_or_last(fit: Any, target: str | None) -> None:
    told = fit("-q", *(["--target", target] if target else []))
    assert told.out == "y = 2 a b\n"
    noted = fit(*(["--target", target] if target else [])).err
    assert ("the target is the last column, 'y'" in noted) == (target is None)


def test_tables_without_a_header(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data.with_name("plain.txt")
    np.savetxt(path, np.c_[Y, X], "%.17g")
    assert main(["fit", str(path), "--target", "1", "--seed", "0", "-q"]) == 0
    assert capsys.readouterr().out == "y = 2 x2 x3\n"


def test_json_is_the_result(fit: Any, data: Path) -> None:
    found = json.loads(fit("--target", "y", "--json").out)
    assert found["equation"] == found["explicit"] == "y = 2 a b"
    assert (found["status"], found["level"], found["rows"], found["seed"]) == (
        "exact", "rounding", 15, 0,
    )  # fmt: skip
    assert found["front"][found["best_index"]]["equation"] == "y = 2 a b"
    assert found["data"] == {"path": str(data), "sha256": None}


def test_options_reach_the_estimator(fit: Any, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def record(
        self: GSRRegressor, X: Any, y: Any, weights: Any, sigma: Any, groups: Any
    ) -> GSRRegressor:
        seen.update(self.get_params(), rows=len(X), weights=weights, names=self._table_names)
        raise KeyboardInterrupt

    monkeypatch.setattr(GSRRegressor, "fit", record)
    config = data.with_name("c.toml")
    config.write_text('[search]\npoles = "forbid"\ndepth = 2\n[run]\nmax_time = 7\nn_jobs = 1\n')
    fit(
        "--config", str(config), "--set", "search.n_phi=9", "--max-time", "inf", "--jobs", "2",
        "--preset", "paper", "--library", "sin,identity", "--target-library", "all",
        "--features", "a", "--target", "y", "--weights", "b", "--criterion", "bic",
        "--units", "a=m,y=m/s", "--allow", "a=sin", "--allow", "y=ln,exp", "--forbid", "a=cos",
        "--max-evals", "100", "--max-terms", "3", "--s-gsr", "--validation", "0.2", "-v",
        code=130,
    )  # fmt: skip
    expected = {
        "poles": "forbid", "depth": 2, "max_time": None, "n_jobs": 2, "preset": "paper",
        "library": ["sin", "identity"], "target_library": "all", "criterion": "bic",
        "units": {"a": "m", "y": "m/s"}, "allow": {"a": ["sin"], "y": ["ln", "exp"]},
        "forbid": {"a": ["cos"]}, "max_evals": 100, "max_terms": 3, "transform_target": False,
        "validation_fraction": 0.2, "verbose": True, "random_state": 0,
        "hyperparameters": {"n_phi": 9}, "rows": 15, "names": (("a",), ("y",)),
    }  # fmt: skip
    assert {name: seen[name] for name in expected} == expected
    np.testing.assert_array_equal(seen["weights"], X[:, 1])


def test_wrong_settings_are_told_together(fit: Any, data: Path) -> None:
    told = fit("--max-time", "soon", "--poles", "forbit", "--missing", "keep", code=2).err
    assert "--max-time must be a number of at least 0, got 'soon'" in told
    assert "--poles must be 'avoid' or 'forbid' or 'allow', got 'forbit'; did you mean" in told
    assert "--missing must be 'raise' or 'drop', got 'keep'" in told
    assert "no column 'z'" in fit("--target", "z", code=2).err
    assert "is among those to drop" in fit("--target", "name", code=2).err
    assert "both target and weights" in fit("--target", "y", "--weights", "y", code=2).err


def test_missing_rows_can_be_left_out(fit: Any, data: Path) -> None:
    data.write_text(data.read_text() + "r,1,,2\n")
    told = fit("--target", "y", "--missing", "drop")
    assert told.out.startswith("y = 2 a b\n")
    assert "1 of 16 rows have missing values, in 'b', and are left out" in told.err


def test_rows_without_weight_or_held_out_are_not_counted(fit: Any, data: Path) -> None:
    lines = data.read_text().splitlines()
    lines = [f"{line},{'w' if k == 0 else int(k > 3)}" for k, line in enumerate(lines)]
    data.write_text("\n".join(lines))
    options = ("--target", "y", "--weights", "w")
    assert " on 12 rows\n" in fit(*options).out
    held = json.loads(fit("--target", "y", "--validation", "0.2", "--drop", "name,w", "--json").out)
    assert (held["rows"], held["rows_used"]) == (15, 12)


def test_limits_are_called_limits(fit: Any, data: Path) -> None:
    noisy = Y + np.random.default_rng(1).normal(0, 0.1, len(Y))
    rows = ["name,a,b,y", *(f"r,{a},{b},{y}" for a, b, y in np.c_[X, noisy].tolist())]
    data.write_text("\n".join(rows))
    assert "until the limit of evaluations was reached" in fit("--max-evals", "50").out


def test_a_run_can_be_repeated_from_its_folder(fit: Any, data: Path) -> None:
    run, again = data.with_name("run"), data.with_name("again")
    fit("--target", "y", "-o", str(run))
    assert main(["fit", "--config", str(run / "config.toml"), "-o", str(again)]) == 0
    first, second = ((f / "equations.csv").read_text() for f in (run, again))
    assert first == second
    sums = [json.loads((f / "result.json").read_text())["data"]["sha256"] for f in (run, again)]
    assert sums[0] == sums[1] and len(sums[0]) == 64
    assert "holds the result of a run" in fit("--target", "y", "-o", str(run), code=2).err
    fit("--target", "y", "-o", str(run), "--overwrite", code=0)


def test_sections_of_cluster_runs_are_noted(fit: Any, data: Path) -> None:
    config = data.with_name("c.toml")
    config.write_text("[islands]\ninterval = 5\n")
    told = fit("--target", "y", "--config", str(config))
    assert "the section [islands] is for cluster runs" in told.err


# ---- several targets -------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A table with two targets."""
    path = tmp_path / "two.csv"
    rows = np.c_[X, Y, X[:, 0] - X[:, 1]]
    np.savetxt(path, rows, "%.17g", ",", header="a,b,y,z", comments="")
    return path


def test_each_of_several_targets_gets_its_law(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, again = two.with_name("run"), two.with_name("again")
    options = ["--target", "z,y", "--seed", "0", "-q", "--units", "a=m,b=m,y=m^2,z=m"]
    assert main(["fit", str(two), *options, "-o", str(folder)]) == 0
    assert capsys.readouterr().out == "z = a - b\ny = 2 a b\n"
    result = json.loads((folder / "result.json").read_text())
    assert [each["equation"] for each in result["targets"]] == ["z = a - b", "y = 2 a b"]
    assert (result["status"], result["features"]) == ("exact", ["a", "b"])
    with (folder / "equations.csv").open(newline="") as stream:
        picked = [(row["target"], row["equation"]) for row in csv.DictReader(stream)]
    assert {("z", "z = a - b"), ("y", "y = 2 a b")} <= set(picked)
    assert (folder / "sample.csv").read_text().startswith("a,b,z,y\n")
    assert main(["report", str(folder), "-o", str(two.with_name("r.html"))]) == 0
    assert "Laws for z and y" in two.with_name("r.html").read_text()
    assert main(["fit", "--config", str(folder / "config.toml"), "-o", str(again), "-q"]) == 0
    first, second = ((f / "equations.csv").read_text() for f in (folder, again))
    assert first == second


def test_models_of_several_targets_are_used(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(two.with_name("model.json"))
    assert main(["fit", str(two), "--target", "y,z", "--seed", "0", "--save", model]) == 0
    told = capsys.readouterr().out
    assert told.count("on 15 rows") == 2 and told.startswith("y = 2 a b\n")
    assert main(["predict", model, str(two)]) == 0
    found = predictions(capsys.readouterr().out)
    predicted = [(row["y predicted"], row["z predicted"]) for row in found]
    np.testing.assert_allclose(predicted, np.c_[Y, X[:, 0] - X[:, 1]])
    assert main(["predict", model, str(two), "--target", "z", "--index", "0"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(",z predicted")
    assert main(["predict", model, str(two), "--index", "0"]) == 2
    assert main(["show", model, "--target", "z"]) == 0
    assert "y" not in capsys.readouterr().out.splitlines()[0]
    assert main(["export", model]) == 2
    assert "choose a --target of y, z" in capsys.readouterr().err
    assert main(["export", model, "--target", "z"]) == 0
    assert main(["export", model, "--target", "w"]) == 2
    assert "--target must be among 'y', 'z', got 'w'" in capsys.readouterr().err


def test_an_interruption_keeps_the_targets_before_it(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    conclude = GSRRegressor._conclude

    def interrupted(self: GSRRegressor, *arguments: Any) -> None:
        self.status_ = "interrupted" if self._target_name == "z" else self.status_
        conclude(self, *arguments)

    monkeypatch.setattr(GSRRegressor, "_conclude", interrupted)
    folder = two.with_name("run")
    assert main(["fit", str(two), "--target", "y,z,b", "--seed", "0", "-o", str(folder)]) == 130
    assert "no search was run for target 'b'" in capsys.readouterr().err
    assert list(gsr.load(folder / "model.json").models_) == ["y", "z"]
    assert (folder / "sample.csv").read_text().startswith("a,y,z\n")


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ("y,y", "a target is there twice: 'y', 'y'"),
        ("a,b,y,z", "no feature beside the target 'a', 'b', 'y', 'z'"),
        ("y,c", "the target c is constant"),
    ],
)
def test_wrong_targets_are_told_before_the_search(
    targets: str,
    message: str,
    two: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "c" in targets:
        head, *lines = two.read_text().splitlines()
        two.write_text("\n".join([f"{head},c", *(f"{line},1" for line in lines)]))

    def search(*_: Any) -> None:
        raise AssertionError("the search was started")

    monkeypatch.setattr("gsr.search.run", search)
    assert main(["fit", str(two), "--target", targets]) == 2
    assert message in capsys.readouterr().err


# ---- what was found --------------------------------------------------------------------------


def test_predictions_stand_beside_the_columns_of_the_table(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "named.csv"
    table.write_text('# new rows\nsample,b,a,y\nfirst, 1.50,2,9\n\n"second, last",2,1.5,8\n')
    assert main(["predict", str(run), str(table)]) == 0
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))
    law = gsr.load(run / "model.json").equation_
    expected = law.predict([[2, 1.5], [1.5, 2]])
    assert rows[0] == ["sample", "b", "a", "y", "y predicted"]
    given = [["first", "1.50", "2", "9"], ["second, last", "2", "1.5", "8"]]
    assert [row[:4] for row in rows[1:]] == given
    np.testing.assert_allclose([float(row[4]) for row in rows[1:]], expected)


def test_constants_of_a_law_are_shown_with_their_intervals(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(run), "--all"]) == 0
    shown = capsys.readouterr().out
    assert "95 % interval" in shown and " more; " not in shown
    model = gsr.load(run / "model.json")
    for name in model.intervals(0.95):
        assert f"\n{name} " in shown
    assert main(["show", str(run), "--index", "0"]) == 0
    assert str(model.front_[0].equation) in capsys.readouterr().out


def predictions(text: str) -> list[dict[str, float]]:
    rows = csv.DictReader(io.StringIO(text))
    return [{name: float(value) for name, value in row.items()} for row in rows]


def test_predictions_are_those_of_the_model(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = run.parent / "data.csv"
    expected = gsr.load(run / "model.json").equation_.predict(X)
    assert main(["predict", str(run), str(table), "--interval", "0.9"]) == 0
    found = predictions(capsys.readouterr().out)
    assert [row["y predicted"] for row in found] == expected.tolist()
    assert all(row["y lower"] < row["y predicted"] < row["y upper"] for row in found)
    out = run.parent / "out.csv"
    model = str(run / "model.json")
    assert main(["predict", model, str(table), "--index", "0", "-o", str(out)]) == 0
    assert len({row["y predicted"] for row in predictions(out.read_text())}) == 1
    assert capsys.readouterr() == ("", "")


def test_predictions_for_other_tables(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("b,other,a\n2,9,1\n,9,1\n")
    assert main(["predict", str(run), str(table)]) == 0
    told = capsys.readouterr()
    one, two = csv.DictReader(io.StringIO(told.out))
    assert float(one["y predicted"]) == pytest.approx(4, abs=0.1)
    assert two["b"] == "" and two["y predicted"] == "nan"
    assert "1 of 2 rows have missing values" in told.err
    table.write_text("1,2\n3,4\n")
    assert main(["predict", str(run), str(table)]) == 0
    assert "taken in their order, as a, b" in capsys.readouterr().err
    table.write_text("u,b,w\n1,2,3\n")
    assert main(["predict", str(run), str(table)]) == 2
    assert "there is no column 'a'; name the columns of 'a', 'b'" in capsys.readouterr().err
    assert main(["predict", str(run), str(table), "--features", "u,b"]) == 0


def test_laws_are_shown_exported_and_reported(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    law = str(gsr.load(run / "model.json").equation_)
    assert main(["show", str(run)]) == 0
    assert capsys.readouterr().out.startswith(law + "\n")
    assert main(["show", str(run), "--latex"]) == 0
    assert "\\begin{tabular}" in capsys.readouterr().out
    source = run.parent / "law.py"
    assert main(["export", str(run), "--language", "numpy", "-o", str(source)]) == 0
    space: dict[str, Any] = {}
    exec(source.read_text(), space)  # its own product
    assert main(["export", str(run), "--index", "99"]) == 2
    assert "index must be from 0" in capsys.readouterr().err
    page = run.parent / "page.html"
    assert main(["report", str(run), "-o", str(page)]) == 0
    assert "<html" in page.read_text()
    assert main(["report", str(run.parent / "none")]) == 2


# ---- errors ----------------------------------------------------------------------------------


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A line with standard deviations in the column s."""
    rng = np.random.default_rng(3)
    x, s = np.linspace(1, 9, 30), np.where(np.arange(30) % 2, 0.05, 0.5)
    path = tmp_path / "measured.csv"
    rows = np.c_[x, s, 3 * x + s * rng.standard_normal(30)]
    np.savetxt(path, rows, "%.17g", ",", header="x,s,y", comments="")
    return path


ERRORS = ["--max-evals", "300", "--seed", "0", "--target", "y"]


def test_errors_name_a_column_of_standard_deviations(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = measured.with_name("run")
    assert main(["fit", str(measured), *ERRORS, "--errors", "s", "-o", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "noise     scatter is as large as the given errors say" in told
    assert gsr.load(folder / "model.json").equation_.feature_names == ("x",)
    assert main(["fit", "--config", str(folder / "config.toml"), "-q"]) == 0
    assert capsys.readouterr().out == told.splitlines()[0] + "\n"
    assert main(["predict", str(folder), str(measured), "--interval", "0.9", "--errors", "s"]) == 0
    found = predictions(capsys.readouterr().out)
    widths = [float(row["y upper"]) - float(row["y lower"]) for row in found]
    assert 7 < widths[0] / widths[1] < 12


def test_errors_name_a_kind(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["fit", str(measured), *ERRORS, "--drop", "s"]
    assert main([*options, "--errors", "relative"]) == 0
    assert "noise     scatter grows with y" in capsys.readouterr().out
    config = measured.with_name("c.toml")
    config.write_text('[data]\nerrors = "constant"\n')
    assert main([*options, "--config", str(config)]) == 0
    assert "noise     scatter is the same everywhere" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--errors", "t"], "no column 't'"),
        (["--errors", "relativ"], "or one of auto, constant, relative, poisson"),
        (["--errors", "s", "--weights", "x"], "either weights or a column of errors, not both"),
        (["--errors", "y"], "'y' is both target and errors"),
        (["--errors", "s", "--features", "x,s"], "the errors 's' is also among --features"),
        (["--errors", "s", "--target", "y,x"], "one target"),
    ],
)
def test_wrong_errors_are_told(
    measured: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["fit", str(measured), *ERRORS, *options]) == 2
    assert message in capsys.readouterr().err


def test_a_column_named_like_a_kind_of_errors(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured.write_text(measured.read_text().replace("x,s,y", "x,relative,y"))
    options = ["fit", str(measured), *ERRORS, "--errors", "relative"]
    assert main(options) == 2
    assert "is a kind of errors and a column" in capsys.readouterr().err
    assert main([*options, "--drop", "relative"]) == 0


def test_standard_deviations_are_positive(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured.write_text(measured.read_text() + "3,-1,9\n")
    assert main(["fit", str(measured), *ERRORS, "--errors", "s"]) == 2
    told = capsys.readouterr().err
    assert "line 32, column 's': a standard deviation must be positive, got -1" in told


def test_predict_takes_errors_of_models_that_know_them(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(measured.with_name("model.json"))
    assert main(["fit", str(measured), *ERRORS, "--drop", "s", "--save", model]) == 0
    asked = ["predict", model, str(measured), "--errors", "s"]
    assert main(asked) == 2
    assert "--errors is of use with --interval only" in capsys.readouterr().err
    assert main([*asked, "--interval", "0.9"]) == 2
    assert "was not fitted with standard deviations" in capsys.readouterr().err


def test_cluster_runs_take_errors_too(measured: Path) -> None:
    from gsr.cli.island_plan import pose
    from gsr.runs import config

    text = '[data]\npath = "measured.csv"\ntarget = "y"\nerrors = "s"\n'
    posed = pose(config.parse(text, folder=measured.parent), "run.toml", 1)
    assert posed.data.names == ("x",)
    assert posed.problem.noise.kind == "given"
    wrong = config.parse(text.replace('"s"', '"t"'), folder=measured.parent)
    with pytest.raises(gsr.GSRError, match=r"line 4: data.errors: .* no column 't'"):
        pose(wrong, "run.toml", 1)


# ---- implicit laws -------------------------------------------------------------------------------


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path, angle = tmp_path / "ring.csv", np.linspace(0, 6, 60)
    columns = np.c_[2 * np.cos(angle), np.sin(angle)]
    np.savetxt(path, columns, "%.17g", ",", header="x,y", comments="")
    return path


def test_an_implicit_law(ring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = ring.with_name("model.json")
    assert main(["fit", str(ring), "--implicit", "--save", str(model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "y^2 + 0.25 x^2 = 1"
    assert "residual: exact: only rounding errors are left" in lines
    assert str(gsr.load(model).equation_) == lines[0]
    assert main(["show", str(model)]) == 2
    assert "has no law of a GSRRegressor" in capsys.readouterr().err


def test_an_implicit_law_as_json(ring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(ring), "--implicit", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["laws"][-1]["equation"] == "y^2 + 0.25 x^2 = 1"
    assert found["laws"][-1]["chosen"]


@pytest.mark.parametrize(
    ("flag", "value", "told"),
    [
        ("--target", "y", "data.target: choose the columns with --features or --drop"),
        ("--groups", "y", "data.groups"),
        ("--weights", "y", "data.weights"),
        ("--time", "y", "data.time: leave the column out with --drop"),
        ("-o", "run", "run.output: --save FILE writes the model"),
    ],
)
def test_an_implicit_law_has_no_target(
    ring: Path, capsys: pytest.CaptureFixture[str], flag: str, value: str, told: str
) -> None:
    assert main(["fit", str(ring), "--implicit", flag, value]) == 2
    assert f"--implicit cannot be combined with {told}" in capsys.readouterr().err
