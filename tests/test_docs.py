"""The documentation against the code: its code blocks run, and what its tables name exists."""

import doctest
import re
from pathlib import Path

import pytest

import gsr.estimator

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
METHOD = ROOT / "docs" / "method.md"

pytestmark = pytest.mark.skipif(not METHOD.is_file(), reason="the documentation is not here")


def blocks(page):
    """Yield (line, code) of each Python block."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield text[: match.start(1)].count("\n"), match[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore::gsr.DomainWarning")
def test_code_blocks_run(page):
    namespace = {"__name__": page.stem}
    for line, code in blocks(page):
        exec(compile("\n" * line + code, str(page), "exec"), namespace)


def test_examples_of_the_estimator_give_what_they_say():
    found = doctest.testmod(gsr.estimator)
    assert found.attempted > 0
    assert found.failed == 0


def test_readme_has_examples():
    assert len(list(blocks(ROOT / "README.md"))) >= 3


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
    found = re.search(rf"constexpr \w+ {name} = ([^;]+);", text)
    assert found, f"{name} is not in {path}"
    assert float(found[1]) == float(value)


def test_links_lead_somewhere():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
