"""What is wrong with a configuration: sections, keys and values, each with the line it is in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from gsr.exceptions import GSRError, suggestion
from gsr.options import schema
from gsr.value_types import ListOf, Record, shown

if TYPE_CHECKING:
    from gsr.runs.config import Config

Found = TypeVar("Found")
Path = tuple[str, ...]
Values = dict[str, dict[str, Any]]


class Mistakes:
    """Collects mistakes that show only when a configuration is used.

    Parameters
    ----------
    config : Config
        What was set; a key with a mistake is left out from then on, so that others show.

    Attributes
    ----------
    found : list of str
        The mistakes, with key and line.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.found: list[str] = []

    def attempt(
        self, use: Callable[[Config], Found], otherwise: tuple[str, str] | None = None
    ) -> Found | None:
        """Use the configuration, and note what is wrong with it.

        Parameters
        ----------
        use : callable
            Raises a `GSRError` with the options that it is about.
        otherwise : pair of str, optional
            The section and key that an error is about if none of its options is set.

        Returns
        -------
        object or None
            What `use` returns; None if it fails for other reasons than keys that are set.
        """
        while True:
            try:
                return use(self.config)
            except GSRError as error:
                key = self.config.key_of(error)
                if key is not None:
                    self.note(key, str(error))
                    self.config = self.config.without(*key)
                    continue
                if otherwise is None:
                    self.found.append(str(error))
                else:
                    self.note(otherwise, str(error))
                return None

    def note(self, path: Path, message: str) -> None:
        """Note what is wrong with a key."""
        self.found.append(self.config.places.located(path, message))

    def raise_found(self, origin: str) -> None:
        """Raise an error that names all mistakes, if there are any."""
        if self.found:
            raise error(origin, self.found)


# ---- against the schema --------------------------------------------------------------------------


def check(section: str, name: str, value: Any, label: str) -> str | None:
    """Return what is wrong with a value, None if it is allowed; `label` is how to call it."""
    wrong = schema()[section][name].type.mismatch(value)
    return wrong and f"{label} {wrong}"


def in_file(content: Mapping[str, Any], places: Places) -> tuple[Values, list[str]]:
    """Return the settings of a file, and all that is wrong with them, with lines."""
    values: Values = {}
    found: list[str] = []
    for section, keys in content.items():
        line = places.line(section)
        if section not in schema():
            found.append(f"{line}: {unknown_section(section, keys)}")
        elif not isinstance(keys, dict):
            found.append(f"{line}: {section} must be a section, [{section}], got {shown(keys)}")
        else:
            for name, value in keys.items():
                wrong = in_key(section, name, value)
                found += [f"{places.line(*path)}: {message}" for path, message in wrong]
                values.setdefault(section, {})[name] = value
    return values, found


def in_key(section: str, name: str, value: Any) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with a key and its value, each with the path to where it stands."""
    path = (section, name)
    if unknown := _unknown_key(section, name):
        yield path, unknown
        return
    kind = schema()[section][name].type
    is_tables = isinstance(value, list) and all(isinstance(table, Mapping) for table in value)
    if isinstance(kind, ListOf) and isinstance(kind.type, Record) and is_tables:
        yield from _in_tables(kind.type, path, value)
    elif wrong := check(section, name, value, f"{section}.{name}"):
        yield path, wrong


def _in_tables(
    record: Record, path: Path, tables: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Path, str]]:
    for number, table in enumerate(tables, start=1):
        for name, value in table.items():
            where = (*path, str(number), name)
            label = f"{'.'.join(path)}, table {number}:"
            if name not in record.fields:
                hint = suggestion(name, record.fields, otherwise_list=True)
                yield where, f"{label} {name!r} is none of the {record.of} that differ{hint}"
            elif wrong := record.fields[name].mismatch(value):
                yield where, f"{label} {name} {wrong}"


def missing(values: Values, required: Sequence[str]) -> list[str]:
    """Return which keys are not set though they must be."""
    known = {f"{section}.{name}" for section, keys in values.items() for name in keys}
    each = {key: schema()[key.partition(".")[0]][key.partition(".")[2]] for key in required}
    return [f"{key} is missing: {each[key].help}" for key in required if key not in known]


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
    """Return the message about a section that does not exist."""
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


def error(origin: str, found: Sequence[str]) -> GSRError:
    """Return all that is wrong with a configuration as one error."""
    count = f"{len(found)} mistakes" if len(found) > 1 else "a mistake"
    return GSRError("\n  ".join([f"{origin}: {count}", *found]))


# ---- lines ---------------------------------------------------------------------------------------


class Places:
    """Lines of a TOML file in which sections and keys stand."""

    def __init__(self, text: str = "") -> None:
        self._overridden: dict[Path, str] = {}
        self._found: dict[Path, int] = {}
        section: Path = ()
        tables: Counter[Path] = Counter()
        for number, line in enumerate(text.splitlines(), start=1):
            if head := re.match(r"\s*(\[+)([^\]]+)\]", line):
                section = _parts(head[2])
                if head[1] == "[[":
                    tables[section] += 1
                    section = (*section, str(tables[section]))
                self._note(section, number)
            elif key := re.match(r"""\s*((?:[\w\s.-]|"[^"]*"|'[^']*')+?)\s*=""", line):
                self._note((*section, *_parts(key[1])), number)

    def _note(self, path: Path, number: int) -> None:
        for depth in range(1, len(path) + 1):
            self._found.setdefault(path[:depth], number)

    def override(self, section: str, name: str, flag: str = "--set") -> None:
        """Note that a key is set by a flag instead of the file."""
        self._overridden[section, name] = flag

    def is_in_file(self, *path: str) -> bool:
        """Whether a key is set in the file, and by no flag."""
        return path in self._found and path not in self._overridden

    def where(self, *path: str) -> str:
        """Return where a key is set: its line, its flag, or its name if that is not known."""
        return self._overridden.get(path[:2]) or self.line(*path)

    def located(self, path: Path, message: str) -> str:
        """Return a message about a key, with the key and where it is set."""
        name, where = ".".join(path[:2]), self.where(*path)
        return f"{where}: {message}" if where == name else f"{where}: {name}: {message}"

    def line(self, *path: str) -> str:
        """Return the line of a key, or of the table around it."""
        around = (path[:depth] for depth in range(len(path), 0, -1))
        known = next((each for each in around if each in self._found), None)
        return f"line {self._found[known]}" if known is not None else ".".join(path)


def _parts(dotted: str) -> Path:
    found = re.findall(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*\.?""", dotted)
    return tuple("".join(part) for part in found)
