"""The table of equations."""

import csv
import io
import math
import pickle
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
import sympy

from fitted_laws import LIBRARY, ONE, law
from gsr.equation import Equation
from gsr.exceptions import GSRError
from gsr.selection import FrontEntry, simplify
from gsr.selection.fitted import Training
from gsr.selection.refit import refit
from gsr.table import EquationTable

X = np.random.default_rng(0).uniform(0.5, 2, (40, 2))
Y = np.sqrt(X[:, 0] ** 3 + 2 * X[:, 1] + 1)
X1, X2, CUBE, IDENTITY, SQUARE = [[1, 0, 1]], [[1, 0, 2]], [[4, 0, 1]], [[1]], [[3]]
#: Nodes, phi, psi, whether it is exact.
LAWS = [
    (3, [ONE], IDENTITY, False),
    (5, [X1], IDENTITY, False),
    (9, [X1, X2, ONE], SQUARE, False),
    (14, [X2, CUBE, ONE], SQUARE, True),
]


def make_front(names=("x1", "a_1 & <b>"), laws=LAWS):
    data = Training(LIBRARY, LIBRARY, X, Y)

    def equation(found):
        sides = found.psi, found.beta, found.phi, found.alpha
        return Equation.from_data(LIBRARY, LIBRARY, *sides, X, Y, feature_names=list(names))

    entries = []
    for nodes, phi, psi, exact in laws:
        found = refit(law(phi, [1.0] * len(phi), [psi], exact=exact), data)
        entries.append(
            FrontEntry(nodes, found.rmse, found.exact, len(phi), 30.0, equation, found, data)
        )
    return entries


@pytest.fixture
def table():
    return EquationTable(make_front(), 3)


def test_is_a_sequence_of_rows(table):
    assert len(table) == 4
    assert table[3] is table[-1] is list(table)[3]
    assert table[1:3] == (table[1], table[2])
    assert table["complexity"] == [3, 5, 9, 14]
    assert table["pick"] == [False, False, False, True]
    assert table["index"] == [0, 1, 2, 3]
    assert table[3].equation == "y^2 = 2 `a_1 & <b>` + x1^3 + 1"
    assert table[3].explicit == "y = sqrt(2 `a_1 & <b>` + x1^3 + 1)"
    assert table[3].level == "rounding"
    assert isinstance(table[3].sympy, sympy.Eq)
    np.testing.assert_allclose(table[3].predict(X), Y, rtol=1e-12)
    np.testing.assert_allclose(table["predict"][3](X), Y, rtol=1e-12)


def test_a_short_table_has_the_choice_its_neighbours_and_the_elbows():
    laws = [(3 + k, [X1], IDENTITY, False) for k in range(20)]
    errors = [2.0**-k for k in range(5)] + [0.01 * 0.99**k for k in range(15)]
    front = [replace(e, rmse=r) for e, r in zip(make_front(laws=laws), errors, strict=True)]
    table = EquationTable(front, 12)
    shown = [row.index for row in table.short()]
    assert len(shown) == 7 and {11, 12, 13, 5} < set(shown)
    assert [row.index for row in table.short(3)] == [11, 12, 13]
    assert "and 13 more; to_pandas() returns all" in str(table)
    assert "13 more" in table._repr_html_()
    assert len(table.to_pandas()) == 20


def test_what_is_not_there_is_named(table):
    with pytest.raises(IndexError, match="row must be from 0 to 3, got 4"):
        table[4]
    with pytest.raises(GSRError, match=r"a column must be one of pick, .*, got 'loss'"):
        table["loss"]
    with pytest.raises(GSRError, match="best_index must be from 0 to 3, got 4"):
        EquationTable(make_front(), 4)
    with pytest.raises(GSRError, match="digits must be a whole number"):
        table.latex(digits=0)


def test_scores_are_those_of_pysr_and_finite(table):
    loss = np.square(table["rmse"])
    assert table["score"][0] == 0.0
    for k in (1, 2):
        nodes = table[k].complexity - table[k - 1].complexity
        assert table[k].score == pytest.approx(-np.log(loss[k] / loss[k - 1]) / nodes)
    assert max(table["score"][:3]) < table[3].score < 100
    perfect = replace(table[3].entry, rmse=0.0)
    assert math.isfinite(EquationTable([table[2].entry, perfect], 1)[1].score)


def test_held_out_errors():
    entry = make_front()[1]
    unknown = replace(entry, data=None)
    remembered = replace(entry, data=None)
    remembered.__dict__["left_out"] = 0.25
    given = replace(entry, data=None, held_out=0.5)
    found = EquationTable([entry, unknown, remembered, given], 0)["held_out"]
    assert found[0] == pytest.approx(entry.left_out)
    assert found[0] > entry.rmse
    assert math.isnan(found[1])
    assert found[2:] == [0.25, 0.5]


def test_held_out_errors_are_shown_of_all_laws_or_none(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    entry = make_front()[1]
    whole, gap = EquationTable([entry], 0), EquationTable([entry, replace(entry, data=None)], 0)
    assert "held_out" in whole.columns
    assert "held_out" in str(whole) and "held out" in whole._repr_html_()
    assert "held out" in whole.latex() and "held_out" in (whole.to_csv() or "")
    assert "held_out" not in gap.columns
    assert "held_out" not in str(gap) and "held out" not in gap._repr_html_()
    assert "held out" not in gap.latex() and "held_out" not in (gap.to_csv() or "")
    assert "held_out" not in gap.to_pandas().columns


def test_printed_with_the_pick_marked(table, monkeypatch):
    monkeypatch.setattr(simplify, "explicit", None)  # it takes time, and is not shown
    monkeypatch.setenv("COLUMNS", "120")
    head, *lines = str(table).splitlines()
    names = ["#", "complexity", "rmse", "held_out", "score", "level", "equation"]
    assert head.split() == names
    assert [line.startswith(">>>") for line in lines] == [False, False, False, True]
    assert [line[head.index("equation") :] for line in lines] == table["equation"]
    monkeypatch.setenv("COLUMNS", "80")
    head, *lines = str(table).splitlines()
    assert head.split() == ["#", "complexity", "rmse", "score", "equation"]
    assert lines[3].endswith(table[3].equation)
    monkeypatch.setenv("COLUMNS", "50")
    head, *lines = str(table).splitlines()
    assert head.split() == ["#", "complexity", "rmse", "equation"]
    assert lines[2].endswith("...")
    assert lines[3].endswith(table[3].equation)


def test_a_front_without_training_data_prints_the_same(table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    entries = [row.entry for row in table]
    for entry in entries:
        entry.left_out  # noqa: B018
    loaded = EquationTable(pickle.loads(pickle.dumps(entries)), 3)
    assert loaded[0].entry.data is None
    assert str(loaded) == str(table)
    assert loaded["explicit"] == table["explicit"]


def test_csv_keeps_all_digits(table, tmp_path):
    text = table.to_csv()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["rmse"]) for row in rows] == table["rmse"]
    assert [row["explicit"] for row in rows] == table["explicit"]
    assert rows[3]["pick"] == "True"
    assert table.to_csv(tmp_path / "front.csv") is None
    assert (tmp_path / "front.csv").read_bytes() == text.encode()


def test_pandas(table):
    frame = table.to_pandas()
    assert list(frame.columns) == list(table.columns)
    assert frame.equation.tolist() == table["equation"]
    assert frame.rmse.dtype == float
    assert frame[frame.pick].explicit.item() == table[3].explicit


def test_latex(table):
    lines = table.latex(digits=3).splitlines()
    assert lines[0] == r"\begin{tabular}{rrrrrl}"
    assert [lines[1], lines[3], lines[8]] == [r"\toprule", r"\midrule", r"\bottomrule"]
    unescaped = [line.replace(r"\&", "").count("&") for line in (lines[2], *lines[4:8])]
    assert unescaped == [5] * 5
    assert lines[7].startswith(r"$\rightarrow$ & $14$ & $")
    assert lines[7].endswith(
        r"$y^{2} = 2 \, \text{a\_1 \& \textless{}b\textgreater{}} + x_{1}^{3} + 1$ \\"
    )
    assert table.latex(["complexity", "level"]).splitlines()[4] == r"$3$ & above \\"


def test_html_is_well_formed_and_names_are_text(table):
    page = ET.fromstring(table._repr_html_())
    laws = ["".join(row[-1].itertext()) for row in page.find("tbody")]
    assert laws[3] == "y2 = 2 a_1 & <b> + x13 + 1"
    assert page.find("tbody")[3][-1].find("sup").text == "2"
    styled = ["style" in row.attrib for row in page.find("tbody")]
    assert styled == [False, False, False, True]


def test_a_law_is_written_alike_alone_and_in_the_table():
    shared = [[-1, 3, 1, 30000, 1.0, 0.5]]
    power = [[10, 3, 30002, 1.7], [11, 0, 1]]
    front = make_front(laws=[(9, [shared, shared], IDENTITY, False), (9, [power], SQUARE, False)])
    for entry, row in zip(front, EquationTable(front, 1), strict=True):
        assert row.equation == str(entry.equation) == str(entry.label("noise"))
        assert "exp" not in row.equation
        again = pickle.loads(pickle.dumps(entry))
        assert str(again.equation) == row.equation
        assert str(again.rounded_equation) == str(entry.rounded_equation)
        assert again.equation.sample is None


NOTE = "rmse is weighted: rows with less noise or more weight count more"


def test_weighted_errors_are_called_so(table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for shown in (str(table), table._repr_html_(), str(table.top()), table.latex()):
        assert "weighted" not in shown
    entries = [
        replace(row.entry, data=replace(row.entry.data, weights=np.linspace(0.5, 1.5, len(Y))))
        for row in table
    ]
    for laws in (entries, pickle.loads(pickle.dumps(entries))):
        found = EquationTable(laws, 1)
        assert str(found).splitlines()[-1] == str(found.top()).splitlines()[-1] == NOTE
        assert "weighted RMSE" in found._repr_html_() and NOTE in found._repr_html_()
        assert "weighted RMSE" in found.latex()
