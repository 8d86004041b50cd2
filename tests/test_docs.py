"""The documentation against the code: its code runs, and what its tables name exists."""

import doctest
import importlib.util
import json
import os
import re
import shutil
import sys
import warnings
from pathlib import Path

import pytest

import gsr.classifier
import gsr.estimator
import gsr.transformer
from gsr.selection import criteria

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
METHOD = DOCS / "method.md"
MAX_NOTEBOOK = 400_000

pytestmark = pytest.mark.skipif(not METHOD.is_file(), reason="the documentation is not here")


def run_pages():
    """Return the script that runs the code of pages."""
    spec = importlib.util.spec_from_file_location("run_pages", DOCS / "run_pages.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its NamedTuple looks up its module
    spec.loader.exec_module(module)
    return module


RUN_PAGES = run_pages() if METHOD.is_file() else None


@pytest.fixture
def workplace(monkeypatch):
    """Work in a temporary folder with the data of the pages, and draw without a screen."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    with RUN_PAGES.workplace() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield folder


def text_of(page):
    return page.read_text(encoding="utf-8")


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_blocks_run(page, workplace):
    blocks = list(RUN_PAGES.blocks(text_of(page)))
    in_shell = [b for b in blocks if b.language == "sh" and RUN_PAGES.SHELL.search(b.code)]
    if in_shell and shutil.which("bash") is None:
        pytest.skip("needs bash")
    for block, printed in RUN_PAGES.run(text_of(page), str(page)):
        if block.output[0] >= 0:
            assert printed.strip(), f"{page.name}:{block.line} shows an output, but prints nothing"


def test_settings_are_those_of_the_program():
    page = text_of(DOCS / "howto" / "command-line.md")
    assert RUN_PAGES.SETTINGS.search(page)[0] == RUN_PAGES.settings_table(), "run docs/run_pages.py"


def test_criteria_are_all_described():
    names = [name.replace("within x", "within 0.1") for name in criteria.CRITERIA]
    page = text_of(DOCS / "howto" / "noise.md").partition("## Which law is chosen?")[2]
    rows = [line for line in page.partition("```python")[0].splitlines() if line.startswith("|")]
    told = str(gsr.estimator.GSRRegressor.__doc__)
    for name in names:
        assert any(f'`"{name}"`' in row.split("|")[1] for row in rows), name
        assert f'"{name}"' in told


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_run(path, workplace):
    shutil.copytree(DOCS / "data", workplace / "data")
    (workplace / "notebooks").mkdir()
    os.chdir(workplace / "notebooks")
    namespace = {"__name__": "notebook"}
    for k, cell in enumerate(json.loads(text_of(path))["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name}, cell {k}", "exec"), namespace)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_hold_their_outputs(path):
    assert path.stat().st_size < MAX_NOTEBOOK
    cells = [cell for cell in json.loads(text_of(path))["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert all(cell["execution_count"] for cell in cells), "run docs/run_notebooks.py"
    assert any("image/png" in output.get("data", {}) for output in outputs)
    for output in outputs:
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr", output["text"]
        assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users)/", json.dumps(output))


def test_examples_of_the_estimator_give_what_they_say():
    for module in (gsr.estimator, gsr.transformer, gsr.classifier):
        found = doctest.testmod(module)
        assert found.attempted > 0
        assert found.failed == 0


def test_readme_has_examples():
    assert len(list(RUN_PAGES.blocks(text_of(ROOT / "README.md")))) >= 3


def table(heading):
    """Return the cells of the table under a heading of method.md, without its first two lines."""
    section = METHOD.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    section = section.partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


MAPPING = table("8. Where each piece of the paper is") if METHOD.is_file() else []
CONSTANTS = table("9. Constants") if METHOD.is_file() else []


@pytest.mark.parametrize(
    ("path", "names"),
    [(quoted(row[2]), quoted(row[3])) for row in MAPPING],
    ids=[f"{row[0]}: {row[1]}" for row in MAPPING],
)
def test_mapping_names_what_exists(path, names):
    assert len(path) == 1
    assert names
    text = (ROOT / path[0]).read_text(encoding="utf-8")
    for name in names:
        parts = name.split("::")
        for part in parts:
            assert re.search(rf"\b{re.escape(part)}\b", text), f"{name} is not in {path[0]}"


def numbers(first, last):
    return set(range(first, last + 1))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("Equation", numbers(1, 25)), ("Algorithm", {1, 2}), ("Table", numbers(1, 26))],
)
def test_mapping_is_complete(kind, expected):
    found = set()
    for paper, *_ in MAPPING:
        if paper.startswith(kind):
            given = [int(n) for n in re.findall(r"\d+", paper)]
            found |= numbers(*given) if " to " in paper else set(given)
    assert found == expected


def test_mapping_has_all_remarks():
    found = {row[0] for row in MAPPING if row[0].startswith("Remark")}
    assert found == {f"Remark 3.{k}" for k in range(1, 5)}


@pytest.mark.parametrize("row", CONSTANTS, ids=lambda row: row[0].strip("`"))
def test_constants_have_the_values_of_the_code(row):
    (name,), value, (path,) = quoted(row[0]), row[1], quoted(row[2])
    text = (ROOT / path).read_text(encoding="utf-8")
    found = re.search(rf"constexpr [\w:]+ {name} = ([^;]+);", text)
    assert found, f"{name} is not in {path}"
    assert float(found[1]) == float(value)


def test_links_lead_somewhere():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", text):
            # Pages of the reference are made when the site is built, which checks the links too.
            is_made = (page.parent / target).parent == DOCS / "reference"
            assert is_made or (page.parent / target).exists(), f"{page.name}: {target}"
