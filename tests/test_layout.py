"""The layout against docs/architecture.md: all modules are in its flow, and imports go one way."""

import ast
import re
from pathlib import Path

import pytest

import gsr

PACKAGE = Path(gsr.__file__).parent
PAGE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
#: Stands outside the flow: the choice of the compiled core, and the benchmarks.
OUTSIDE = {"_core", "_cpu", "benchmarks"}

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not here")


def flow():
    """Return the modules of Python in the order of the page."""
    rows = re.findall(r"^\|[^|]*\|[^|]*\|([^|]*)\|[^|]*\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    found = []
    for cell in rows[2:]:
        if "benchmarks/" in cell:
            continue
        for name, inside in re.findall(r"`(\w+)/?`(?: \(((?:`\w+`(?:, )?)+)\))?", cell):
            found += [name, *(f"{name}.{part}" for part in re.findall(r"\w+", inside))]
    return found


def modules():
    """Return the modules that there are, with their paths; a package is its `__init__`."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name and parts[0] not in OUTSIDE and parts[-1] != "__main__":
            found[name] = path
    return found


def imported(path):
    """Return the names of the modules of gsr that a module needs to be imported."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "gsr":
            module = node.module.removeprefix("gsr").removeprefix(".")
            for alias in node.names:
                whole = f"{module}.{alias.name}".removeprefix(".")
                found.add(whole if whole in MODULES else module)
    return {name for name in found if name in MODULES}


MODULES = modules()
ORDER = flow() if PAGE.is_file() else []


def test_every_module_is_in_the_flow_once():
    assert sorted(ORDER) == sorted(MODULES)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_leans_on_what_stands_before_it(name):
    package = name.partition(".")[0]
    for other in imported(MODULES[name]):
        if other.partition(".")[0] != package:
            assert ORDER.index(other) < ORDER.index(package), f"{name} imports {other}"
        elif package not in (name, other):
            assert ORDER.index(other) < ORDER.index(name), f"{name} imports {other}"
