"""Reports: one page that says what the run says, is safe, and looks right in a browser."""

import copy
import html
import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import sympy

from gsr import GSRError, GSRRegressor, report
from gsr.plotting import Rows, features
from gsr.report import mathml
from gsr.runs import run_folder
from gsr.runs.config import Config
from gsr.runs.outcome import Outcome
from gsr.selection.poles import Poles

pytest.importorskip("matplotlib")

VOID = {"meta", "br", "wbr", "img", "link", "hr", "input"}
EVIL = ["<script>alert(1)</script>", 'a&b "c"', "100 % $x_1$"]


def evil_table(n=60):
    X = pd.DataFrame(np.random.default_rng(0).uniform(0.2, 2, (n, 3)), columns=EVIL)
    y = (3 * np.sin(X[EVIL[0]]) + X[EVIL[1]] * X[EVIL[2]] ** 2).rename("</title><b>y")
    return X, y + 0.05 * np.random.default_rng(1).normal(size=n)


@pytest.fixture(scope="module")
def model():
    return GSRRegressor(random_state=0, max_generations=40, max_time=None).fit(*evil_table())


@pytest.fixture(scope="module")
def page(model):
    return report.page(model)


@pytest.fixture(scope="module")
def exact():
    X = np.random.default_rng(0).uniform(0, 2, (20, 2))
    return GSRRegressor(random_state=0).fit(X, np.sqrt(X[:, 0] ** 3 + 2 * X[:, 1] + 1))


class Outline(HTMLParser):
    """Checks that tags are balanced; collects text, tags and attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.tags, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def count(self, tag):
        return sum(found == tag for found, _ in self.tags)


# ---- the page --------------------------------------------------------------------------------


def test_page_is_well_formed_and_says_what_the_model_says(page, model):
    outline = Outline(page)
    entry = model.get_best()
    for said in (
        str(model.equation_),
        f"{entry.rmse:.4g}",
        f"{entry.complexity} nodes",
        "60 rows, 4 columns",
        "random_state",
        "max_generations=40",
        "criterion = 'mdl'",
        "the limit of generations was reached",
        *(html.unescape(name) for name in EVIL),
    ):
        assert " ".join(said.split()) in outline.text
    assert len(outline.ids) == len(set(outline.ids))
    assert outline.count("svg") == 5 + n_dependences(model)
    assert all(attrs.get("aria-label") for tag, attrs in outline.tags if tag == "svg")
    marks = [attrs for tag, attrs in outline.tags if tag == "tr" and attrs.get("class") == "pick"]
    assert len(marks) == 2  # among those worth a look, and on the front


def n_dependences(model):
    """Return of how many features there are pictures."""
    entry = model.get_best()
    return len(features(entry, Rows.of(entry, entry.data.X, entry.data.y)))


def test_the_law_comes_first_then_pictures_then_laws_worth_a_look(page, model):
    order = ["The law for", "Pictures", "Laws worth a look", "Constants", "The front"]
    places = [page.index(f"<h2>{title}") for title in order]
    assert places == sorted(places)
    worth = page[places[2] : places[3]]
    assert worth.count("<tr") == 1 + len(model.equations_.top())
    assert html.escape(model.why_, quote=False)[:30] in worth
    assert page[places[4] :].lstrip().partition("</h2>")[2].lstrip().startswith("<details>")


def test_front_is_that_of_the_model(page, model):
    listed = page[page.index("<h2>The front") :].partition("</section>")[0]
    rows = [row for row in re.findall(r"<tr.*?</tr>", listed, re.DOTALL) if "<th" not in row]
    table = model.equations_
    laws = sorted(table, key=lambda row: row not in table.short())
    for row, law in zip(rows, laws, strict=True):
        cells = re.findall(r'<td class="number" data-label="[^"]*">(.*?)</td>', row)
        assert cells[:2] == [str(law.index), str(law.complexity)]
        assert float(cells[2]) == pytest.approx(law.rmse, rel=1e-3)
        assert ('class="pick"' in row) == law.pick
        label = re.search('aria-label="(.*?)"', row)[1]
        assert html.unescape(label) == law.equation


def test_names_cannot_become_tags(page):
    outline = Outline(page)
    assert outline.count("script") == 0
    assert outline.count("title") == 1
    assert outline.count("b") == 0
    assert EVIL[0] in outline.text


def test_page_needs_no_network(page):
    assert "@import" not in page
    for _, attrs in Outline(page).tags:
        for name, value in attrs.items():
            if name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster"):
                assert value.startswith("#")
    assert all(found.startswith("#") for found in re.findall(r"url\(['\"]?([^)]*)", page))


def test_intervals_are_those_of_the_model(page, model):
    text = Outline(page).text
    for value, low, high in model.intervals(0.95).values():
        row = f"{value:.6g} {low:.6g} to {high:.6g}"
        assert row.replace("-", "−") in text


def test_constants_are_named_as_by_the_model(page, model):
    text = Outline(page).text
    for name in model.intervals(0.95):
        assert name in text


def test_forms_of_an_exact_law(exact):
    text = Outline(report.page(exact)).text
    assert "The law is exact" in text
    assert "The constants are already simple numbers." in text
    assert "Solved for y" in text
    assert "0, to rounding" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"poles": Poles("unsafe", "1/x1 is infinite", np.array([0.0, 2.5]))}, "x1 = 0, x2 = 2.5"),
        ({"poles": Poles("unknown", "f is your own")}, "It is not known whether"),
        ({"level": "above"}, "The law is an approximation"),
        ({"level": "unknown"}, "too few rows"),
    ],
)
def test_what_to_take_care_of_is_told(exact, changes, said):
    changed = copy.copy(exact)
    changed.front_ = [copy.copy(entry) for entry in exact.front_]
    changed.get_best().__dict__.update(changes)
    assert said in Outline(report.page(changed)).text


def test_several_targets_have_a_section_each(exact, model):
    both = GSRRegressor()
    both.models_ = {"y": exact, "</title><b>y": model}
    outline = Outline(report.page(both))
    assert outline.count("svg") == 10 + n_dependences(exact) + n_dependences(model)
    assert len(outline.ids) == len(set(outline.ids))
    links = [attrs["href"][1:] for tag, attrs in outline.tags if tag == "a"]
    assert len(links) == 2
    assert set(links) <= set(outline.ids)
    assert str(exact.equation_) in outline.text
    assert str(model.equation_) in outline.text


def test_only_models_and_folders_have_reports(tmp_path):
    with pytest.raises(GSRError, match="run folder or a fitted GSRRegressor, got a int"):
        report.page(3)
    with pytest.raises(GSRError, match="no such folder"):
        report.page(tmp_path / "nothing")
    with pytest.raises(GSRError, match=r"none of model\.json"):
        report.page(tmp_path)


# ---- run folders -----------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, model):
    folder = tmp_path / "a run"
    folder.mkdir()
    X, y = evil_table()
    data = {"path": str(tmp_path / "some <data>.csv"), "target": y.name}
    config = Config({"data": data, "run": {"seed": 7}})
    outcome = Outcome(model, X.to_numpy(), y.to_numpy(), config, "ab12")
    return run_folder.write(folder, outcome)


def test_run_folder_gives_the_same_page_and_how_to_repeat_it(run, model):
    result = json.loads((run / "result.json").read_text()) | {"rows": 5000}
    (run / "result.json").write_text(json.dumps(result))
    outline = Outline(report.page(run))
    assert outline.count("svg") == 5 + n_dependences(model)
    for said in (
        str(model.equation_), "5,000 rows, 4 columns. The ranges are those of 60 of them.",
        "some <data>.csv", "ab12", np.__version__, f"{model.n_evaluations_:,}", "seed 7",
        'target = "</title><b>y"', "the limit of generations was reached",
        f"gsr fit --config '{run}/config.toml' -o '{run}-again'",
    ):  # fmt: skip
        assert said in outline.text
    assert "What is missing" not in outline.text


@pytest.mark.parametrize(
    ("gone", "said", "plots"),
    [
        ("sample.csv", "There is no sample.csv", 2),
        ("result.json", "the run is still going, or ended before its end", 8),
        ("config.toml", "In Python", 8),
        ("model.json", "no law has been written yet", 1),
    ],
)
def test_missing_pieces_are_told(run, gone, said, plots):
    (run / gone).unlink()
    outline = Outline(report.page(run))
    assert said in outline.text
    assert outline.count("svg") == plots


@pytest.mark.parametrize("name", ["model.json", "result.json", "sample.csv", "history.csv"])
@pytest.mark.parametrize("content", ["", "[\x00,\n\x00"])
def test_damaged_pieces_are_told_and_leave_a_page(run, name, content):
    (run / name).write_text(content)
    outline = Outline(report.page(run))
    said = "The model cannot be read" if name == "model.json" else f"{name} "
    assert f"What is missing {said}" in outline.text


# ---- formulas --------------------------------------------------------------------------------


def reading(node):
    """Return MathML as a reader takes it, as a Python expression: rows add no brackets."""
    tag = node.tag.partition("}")[2]
    parts = [reading(child) for child in node]
    text = node.text or ""
    if tag in ("math", "mrow"):
        return "".join(parts)
    if tag == "mfrac":
        return f"(({parts[0]})/({parts[1]}))"
    if tag == "msqrt":
        return f"(({''.join(parts)})**0.5)"
    if tag == "mroot":
        return f"root({parts[0]}, {parts[1]})"
    if tag == "msup" and parts[0] in FUNCTIONS:
        return f"(lambda t: {parts[0]}(t)**({parts[1]}))"
    if tag in ("msup", "msubsup"):
        return f"{''.join(parts[:-1])}**({parts[-1]})"
    if tag == "msub":
        return "".join(parts)
    bars = {"prefix": "(abs(", "postfix": "))"}
    signs = {"\u2062": "*", "\u2061": "", "⋅": "*", "×": "*", "−": "-"}
    return bars[node.get("form")] if text == "|" else signs.get(text, text)


FUNCTIONS = {
    "sin": math.sin, "cos": math.cos, "tanh": math.tanh, "ln": math.log, "arctan": math.atan,
    "root": lambda t, n: math.copysign(abs(t) ** (1 / n), t),
    "exp": math.exp, "sgn": lambda t: math.copysign(1, t), "max": max,
}  # fmt: skip


def at(expression, values):
    return float(expression.subs({s: values[s.name] for s in expression.free_symbols}))


x1, y, distance = sympy.symbols("x1 y distance", real=True)
HERE = {"x1": 1.3, "y": -0.7, "distance": 2.1}
NUMBERS = {"e": math.e, "π": math.pi}
EXPRESSIONS = [
    x1**2 / (1 + distance),
    -x1 / (2 * y),
    sympy.sqrt(x1 + 1),
    (x1 + 1) ** sympy.Rational(1, 3),
    sympy.exp(-(x1**2) / 2),
    sympy.exp(-x1 * y),
    sympy.log(sympy.Abs(y - 1)),
    sympy.log(distance) ** 2 * sympy.sin(x1) ** 2 * y,
    1 / sympy.sqrt(1 - sympy.sin(distance * x1)),
    sympy.Float(4.17627e-10) * x1**2 / (1 + sympy.cos(1 / x1)) ** 2,
    (x1 - y) * (distance - 1),
    1 / sympy.atan(x1),
    2.5 * 3**x1,
    (-y) ** sympy.Float(1.5),
    sympy.sign(y) * sympy.Abs(y) ** sympy.Rational(2, 3),
    sympy.sign(y) * sympy.Abs(y) ** sympy.Rational(1, 3),
    1 / (sympy.sign(y - 1) ** 2 * sympy.Abs(y - 1) ** sympy.Rational(2, 3)),
    sympy.Abs(y) * sympy.atan(y),
    sympy.Float(-0.5) * distance * sympy.sqrt(distance),
    sympy.pi * x1 / 2 - sympy.Rational(3, 4),
    sympy.Max(x1, y),
    x1 - (y - sympy.Float(1e-7)) / (x1 * y),
    sympy.exp(sympy.exp(x1) / y),
    distance**-2.5,
    (sympy.sin(x1) / y) ** 3,
    sympy.Integer(1),
    sympy.Float(0),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_formulas_read_as_what_they_mean(expression):
    tree = ElementTree.fromstring(mathml.term(expression))
    value = eval(reading(tree), {**FUNCTIONS, **NUMBERS, **HERE})
    assert value == pytest.approx(at(expression, HERE), rel=1e-5)


def test_laws_read_as_what_they_mean(exact):
    for entry in exact.front_:
        parts = [reading(ElementTree.fromstring(part)) for part in mathml.lines(entry.equation)]
        left, right = "".join(parts).split("=")
        names = {**FUNCTIONS, **NUMBERS, "x1": 1.3, "x2": 0.4, "y": 1.9}
        law = entry.equation.sympy()
        assert eval(left, dict(names)) == pytest.approx(at(law.lhs, names), rel=1e-5)
        assert eval(right, dict(names)) == pytest.approx(at(law.rhs, names), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    "name", [*EVIL, "x", "x12", "body_mass", "γ", "", "\x00\u202e", "x_1", "2"]
)
def test_names_are_safe_in_formulas(name):
    tree = ElementTree.fromstring(mathml.term(sympy.Symbol(name, real=True)))
    shown = re.sub(r"[\x00\u202e]", "\ufffd", name)
    assert "".join(tree.itertext()) == shown


# ---- a real browser --------------------------------------------------------------------------

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000", "--dump-dom",
)  # fmt: skip
MEASURE = """
const found = {};
for (const frame of document.querySelectorAll("iframe")) {
  const view = frame.contentWindow, page = frame.contentDocument;
  const box = (each) => each.getBoundingClientRect();
  const all = (what) => [...page.querySelectorAll(what)];
  found[frame.width] = {
    inner: view.innerWidth, scroll: page.documentElement.scrollWidth,
    heights: all("math").map((each) => box(each).height),
    fractions: all("mfrac").map((each) => {
      const [above, below] = [...each.children].map(box);
      return below.top - above.top;
    }),
    svg: all("svg").map((each) => [box(each).width, box(each).height]),
    beyond: all("section, figure, h1, .law, pre, .scroll").filter(
      (each) => box(each).right > view.innerWidth + 0.5).length,
    resources: view.performance.getEntriesByType("resource").length,
  };
}
document.getElementById("found").textContent = JSON.stringify(found);
"""


def measured(page, tmp_path, widths):
    """Show the page in frames of some widths, and return what the browser says of each."""
    frames = "".join(
        f'<iframe width="{width}" height="900" srcdoc="{html.escape(page)}"></iframe>'
        for width in widths
    )
    test = tmp_path / "frames.html"
    script = f"<script>window.onload = () => {{{MEASURE}}};</script>"
    test.write_text(f'<!DOCTYPE html><meta charset="utf-8">{frames}<pre id="found"></pre>{script}')
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [CHROMIUM, *OPTIONS, profile, test.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout)
    return {int(width): each for width, each in json.loads(html.unescape(found[1])).items()}


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium to look at the page with")
def test_page_in_a_browser(page, tmp_path, model):
    found = measured(page, tmp_path, (1280, 390))
    assert sorted(found) == [390, 1280]
    for width, each in found.items():
        assert each["inner"] == width
        assert each["scroll"] <= width
        assert each["beyond"] == 0
        assert each["resources"] == 0
        assert len(each["heights"]) > 10
        assert min(each["heights"]) > 8
        assert each["fractions"]
        assert min(each["fractions"]) > 4
        assert len(each["svg"]) == 5 + n_dependences(model)
        assert all(w > 250 and h > 150 for w, h in each["svg"])
