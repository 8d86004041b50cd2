"""The hand-written stubs against what the compiled modules export."""

import ast
import inspect
import json
import os
import subprocess
import sys
from importlib import resources

import pytest

import gsr._core
import gsr._cpu

LIST_NAMES = """
import json, gsr._core as core
m = core._module
public = [n for n in dir(m) if n[0] != "_"]
members = {n: [k for k in vars(getattr(m, n)) if k[0] != "_"]
           for n in public if isinstance(getattr(m, n), type)}
print(json.dumps([public, members]))
"""


def stub(module):
    text = resources.files("gsr").joinpath(f"{module}.pyi").read_text(encoding="utf-8")
    return ast.parse(text).body


def names_of(nodes):
    """Public names that a module or class body defines."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return {name for name in found if not name.startswith("_")}


def classes(nodes):
    return {n.name: n.body for n in nodes if isinstance(n, ast.ClassDef) and n.name[0] != "_"}


def exported(variant):
    """Names of one build, in a process of its own: two builds cannot share one."""
    run = subprocess.run(
        [sys.executable, "-c", LIST_NAMES],
        env=os.environ | {"GSR_CORE": variant},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


@pytest.mark.parametrize("variant", ["baseline", *(["v3"] if gsr._cpu.supports_v3() else [])])
def test_core_stub_and_builds_hold_the_same_names(variant):
    public, members = exported(variant)
    body = stub("_core")
    assert names_of(body) == set(public)
    described = {name: names_of(nodes) for name, nodes in classes(body).items()}
    assert set(described) == set(members)
    assert described.pop("Settings") == set()  # its fields are got and set by name
    assert described == {name: set(members[name]) for name in described}


def test_cpu_stub_holds_the_same_names():
    assert names_of(stub("_cpu")) == {n for n in dir(gsr._cpu) if n[0] != "_"}


def runtime_signature(function):
    """Parameter names from the first line of a pybind11 docstring; None if they have no names."""
    parsed = ast.parse(f"def {function.__doc__.splitlines()[0]}: ...").body[0]
    names = [a.arg for a in parsed.args.args if a.arg != "self"]
    return None if any(n.startswith("arg") and n[3:].isdigit() for n in names) else names


def stub_functions():
    body = stub("_core")
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, getattr(gsr._core, node.name), node
    for name, nodes in classes(body).items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and (
                node.name == "__init__" or not node.name.startswith("_")
            ):
                yield f"{name}.{node.name}", getattr(getattr(gsr._core, name), node.name), node


def test_stub_parameters_are_those_of_the_functions():
    compared = 0
    for name, function, node in stub_functions():
        if isinstance(function, property) or not inspect.isroutine(function):
            continue
        names = runtime_signature(function)
        if names is not None:
            assert [a.arg for a in node.args.args if a.arg != "self"] == names, name
            compared += 1
    assert compared >= 12


def test_stub_constants_have_their_types():
    for node in stub("_core"):
        if isinstance(node, ast.AnnAssign):
            assert type(getattr(gsr._core, node.target.id)).__name__ == node.annotation.id


def test_package_is_marked_as_typed():
    assert resources.files("gsr").joinpath("py.typed").is_file()
