"""What is wrong with a configuration: sections, keys and values against the schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from gsr.exceptions import GSRError, suggestion
from gsr.options import Choice, Range
from gsr.runs.kinds import Kind, Tables
from gsr.runs.settings import schema
from gsr.runs.toml_text import shown

Values = dict[str, dict[str, Any]]


def check(section: str, name: str, value: Any, label: str) -> str | None:
    """Return what is wrong with a value, None if it is allowed; `label` is how to call it."""
    return _mismatch(schema()[section][name].kind, value, label)


def _mismatch(kind: Kind, value: Any, label: str) -> str | None:
    if kind.holds(value):
        return None
    hint = ""
    if isinstance(value, str) and isinstance(kind, Choice):
        hint = suggestion(value, map(str, kind.values))
    if isinstance(value, int) and isinstance(kind, Range) and value > kind.high:
        hint = f"; at most {kind.high:.0f} is allowed"
    return f"{label} must be {kind}, got {shown(value)}{hint}"


def in_file(content: Mapping[str, Any], places: Places) -> tuple[Values, list[str]]:
    """Return the settings of a file, and all that is wrong with them, with lines."""
    values: Values = {}
    told: list[str] = []
    for section, keys in content.items():
        line = places.line(section)
        if section not in schema():
            told.append(f"{line}: {unknown_section(section, keys)}")
        elif not isinstance(keys, dict):
            told.append(f"{line}: {section} must be a section, [{section}], got {shown(keys)}")
        else:
            for name, value in keys.items():
                found = in_key(section, name, value)
                told += [f"{places.line(*path)}: {wrong}" for path, wrong in found]
                values.setdefault(section, {})[name] = value
    return values, told


def in_key(section: str, name: str, value: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what is wrong with a key and its value, each with the path to where it stands."""
    path = (section, name)
    if unknown := _unknown_key(section, name):
        yield path, unknown
        return
    kind = schema()[section][name].kind
    if isinstance(kind, Tables) and _is_tables(value):
        yield from _in_tables(kind, path, value)
    elif wrong := check(section, name, value, f"{section}.{name}"):
        yield path, wrong


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(table, Mapping) for table in value)


def _in_tables(
    kind: Tables, path: tuple[str, ...], tables: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[tuple[str, ...], str]]:
    for number, table in enumerate(tables, start=1):
        for name, value in table.items():
            where = (*path, str(number), name)
            label = f"{'.'.join(path)}, table {number}:"
            if name not in kind.kinds:
                hint = suggestion(name, kind.kinds, otherwise_list=True)
                yield where, f"{label} {name!r} is none of the {kind.of} that differ{hint}"
            elif wrong := _mismatch(kind.kinds[name], value, f"{label} {name}"):
                yield where, wrong


def missing(values: Values, required: Sequence[tuple[str, str]]) -> list[str]:
    """Return what is not set though it must be."""
    return [
        f"{section}.{name} is missing: {schema()[section][name].help}"
        for section, name in required
        if name not in values.get(section, {})
    ]


def contradictions(values: Values, places: Places) -> list[str]:
    """Return what does not go together, with lines."""
    islands = values.get("islands", {})
    has_edges, is_edges = "edges" in islands, islands.get("topology") == "edges"
    if is_edges and not has_edges:
        where = places.where("islands", "topology")
        advice = "name them with islands.edges, as [[0, 1], [1, 0]]"
        return [f'{where}: islands.topology is "edges": {advice}']
    if has_edges and not is_edges:
        where = places.where("islands", "edges")
        return [f'{where}: islands.edges are used only if islands.topology is "edges"']
    return []


def unknown_section(section: str, keys: Any) -> str:
    """Return what to say about a section that there is not."""
    if not isinstance(keys, dict):
        homes = [name for name, known in schema().items() if section in known]
        hint = f"it belongs below [{homes[0]}]" if homes else "write it below a [section]"
        return f"{section!r} stands outside a section; {hint}"
    near = get_close_matches(section, list(schema()), n=1)
    hint = f"did you mean [{near[0]}]?" if near else f"there are {', '.join(schema())}"
    return f"there is no section [{section}]; {hint}"


def _unknown_key(section: str, name: str) -> str | None:
    keys = schema()[section]
    if name in keys:
        return None
    homes = [other for other, known in schema().items() if name in known]
    if homes:
        return f"[{section}] has no key {name!r}; it belongs below [{homes[0]}]"
    return f"[{section}] has no key {name!r}{suggestion(name, keys, otherwise_list=True)}"


def error(origin: str, told: Sequence[str]) -> GSRError:
    """Return all that is wrong with a configuration as one error."""
    count = f"{len(told)} mistakes" if len(told) > 1 else "a mistake"
    return GSRError("\n  ".join([f"{origin}: {count}", *told]))


class Places:
    """Lines of a TOML file in which sections and keys stand."""

    def __init__(self, text: str = "") -> None:
        self._overridden: set[tuple[str, ...]] = set()
        self._found: dict[tuple[str, ...], int] = {}
        section: tuple[str, ...] = ()
        tables: Counter[tuple[str, ...]] = Counter()
        for number, line in enumerate(text.splitlines(), start=1):
            if head := re.match(r"\s*(\[+)([^\]]+)\]", line):
                section = _parts(head[2])
                if head[1] == "[[":
                    tables[section] += 1
                    section = (*section, str(tables[section]))
                self._note(section, number)
            elif key := re.match(r"""\s*((?:[\w\s.-]|"[^"]*"|'[^']*')+?)\s*=""", line):
                self._note((*section, *_parts(key[1])), number)

    def _note(self, path: tuple[str, ...], number: int) -> None:
        for depth in range(1, len(path) + 1):
            self._found.setdefault(path[:depth], number)

    def override(self, section: str, name: str) -> None:
        """Note that a key is set elsewhere than in the file."""
        self._overridden.add((section, name))

    def where(self, *path: str) -> str:
        """Return where a key is set: its line, ``--set``, or its name if that is not known."""
        return "--set" if path[:2] in self._overridden else self.line(*path)

    def line(self, *path: str) -> str:
        """Return the line of a key, or of the table around it."""
        around = (path[:depth] for depth in range(len(path), 0, -1))
        known = next((each for each in around if each in self._found), None)
        return f"line {self._found[known]}" if known is not None else ".".join(path)


def _parts(dotted: str) -> tuple[str, ...]:
    found = re.findall(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*\.?""", dotted)
    return tuple("".join(part) for part in found)
