"""`gsr fit --groups`, and the commands that use what it found."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest

from gsr.cli import main

SCALES = np.array([1.0, 2.0, 3.0, 5.0])


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    codes = np.repeat(range(4), 8)
    frame = pd.DataFrame({"x": rng.uniform(1, 4, 32), "site": np.array(list("pqrs"))[codes]})
    frame["y"] = SCALES[codes] * frame["x"] ** 2
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_groups_from_fit_to_predictions(table, tmp_path, capsys):
    run = str(tmp_path / "run")
    options = ["--target", "y", "--groups", "site", "--seed", "0", "-o", run]
    options += ["--max-evals", "3000", "--max-time", "inf"]
    assert main(["fit", str(table), *options]) == 0
    told = capsys.readouterr().out
    assert "site  a" in told and "differ by more than their errors: a" in told
    assert main(["predict", run, str(table)]) == 0
    predicted = pd.read_csv(StringIO(capsys.readouterr().out))
    assert predicted["y predicted"].tolist() == pytest.approx(
        pd.read_csv(table)["y"].tolist(), rel=1e-6
    )
    assert main(["show", run]) == 0
    assert "site  a" in capsys.readouterr().out
    assert main(["export", run, "--language", "c"]) == 0
    assert "constants of a group" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_with_groups_is_shown_drawn_and_reported(table, tmp_path, capsys):
    frame = pd.read_csv(table).replace({"site": {"p": "01", "q": "NA"}})
    frame.assign(err=0.01).to_csv(table, index=False)
    run = str(tmp_path / "run")
    options = ["--target", "y", "--groups", "site", "--errors", "err", "--seed", "0", "-o", run]
    assert main(["fit", str(table), *options, "--max-evals", "3000", "--max-time", "inf"]) == 0
    sample = pd.read_csv(tmp_path / "run" / "sample.csv", keep_default_na=False)
    read = pd.read_csv(table, keep_default_na=False)
    assert sample.to_dict() == read[["site", "x", "y"]].to_dict()
    assert main(["show", run]) == 0
    assert "a[NA]" in capsys.readouterr().out
    for kind in ("law", "summary", "residuals", "terms"):
        assert main(["plot", run, "--kind", kind, "-o", str(tmp_path / f"{kind}.svg")]) == 0
        assert "against a" not in (tmp_path / f"{kind}.svg").read_text()
    assert capsys.readouterr().err == ""
    assert main(["report", run, "-o", str(tmp_path / "run.html")]) == 0
    page = (tmp_path / "run.html").read_text()
    assert "a[NA]" in page and "Predicted against measured" in page and "left out" not in page
    assert "Best error against time" not in page  # errors of searches on different targets
    assert "What is missing" not in page and "y as a law of x, for each site" in page
    assert "table[[&#34;x&#34;, &#34;site&#34;]]" in page
    assert "fit(X, y, sigma=table[&#39;err&#39;], groups=&#39;site&#39;)" in page


def test_mistakes_are_named(table, tmp_path, capsys):
    assert main(["fit", str(table), "--target", "y"]) == 2
    assert "if it labels groups of rows, --groups site" in capsys.readouterr().err
    assert main(["fit", str(table), "--target", "y", "--groups", "sit"]) == 2
    assert "'sit'; did you mean 'site'" in capsys.readouterr().err
    assert main(["fit", str(table), "--target", "y", "--groups", "y"]) == 2
    assert "both target and groups" in capsys.readouterr().err
    text = table.read_text().replace(",q,", ",,", 1)
    (tmp_path / "gap.csv").write_text(text)
    assert main(["fit", str(tmp_path / "gap.csv"), "--target", "y", "--groups", "site"]) == 2
    assert "line 10: the label is missing" in capsys.readouterr().err
