"""Configuration files: TOML with one schema for `gsr fit` and for cluster runs.

All mistakes in a file are reported at once, with their lines. The keys are those of `gsr.options`.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gsr import options
from gsr.exceptions import GSRError, suggestion
from gsr.options import OPTIONS, schema
from gsr.value_types import Choice, ListOf, Record, shown

if TYPE_CHECKING or sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Found = TypeVar("Found")
KeyPath = tuple[str, ...]
Values = dict[str, dict[str, Any]]

#: Limits of the characters of a file and of the parts of a key.
LONGEST, DEEPEST = 1_000_000, 100
_DEEP_KEY = re.compile(rf"""(?<![\w"'-])(?:[\w"'-]+[ \t]*\.[ \t]*){{{DEEPEST}}}""")
_WORD = re.compile(r"(?:[^\W\d]|[./~])[\w ./:%+~-]*")
OF_THE_PAPER = "# hyper-parameters of the paper"
HEAD = """\
# Settings of a gsr run. What is commented out is not set; the value shown is then the default, or
# an example where the comment tells the default. Use it with
#   gsr fit --config FILE                   on one machine
#   mpirun -n 64 gsr islands FILE           on several: islands that exchange laws
#   srun --mpi=pmi2 gsr islands FILE        the same as a job step of SLURM (Open MPI: --mpi=pmix)
"""


class Places:
    """Where keys are set: their lines in a TOML file, or the flags that override it."""

    def __init__(self, text: str = "") -> None:
        self._flags: dict[KeyPath, str] = {}
        self._lines: dict[KeyPath, int] = {}
        section: KeyPath = ()
        tables: Counter[KeyPath] = Counter()
        for number, line in enumerate(text.splitlines(), start=1):
            if head := re.match(r"\s*(\[+)([^\]]+)\]", line):
                section = _parts(head[2])
                if head[1] == "[[":
                    tables[section] += 1
                    section = (*section, str(tables[section]))
                self._note(section, number)
            elif key := re.match(r"""\s*((?:[\w\s.-]|"[^"]*"|'[^']*')+?)\s*=""", line):
                self._note((*section, *_parts(key[1])), number)

    def _note(self, path: KeyPath, number: int) -> None:
        for depth in range(1, len(path) + 1):
            self._lines.setdefault(path[:depth], number)

    def override(self, section: str, name: str, flag: str = "--set") -> None:
        """Note that a key is set by a flag instead of the file."""
        self._flags[section, name] = flag

    def is_in_file(self, *path: str) -> bool:
        """Whether a key is set in the file, and by no flag."""
        return path in self._lines and path not in self._flags

    def where(self, *path: str) -> str:
        """Return where a key is set: its line, its flag, or its name if that is not known."""
        return self._flags.get(path[:2]) or self.line(*path)

    def located(self, path: KeyPath, message: str) -> str:
        """Return a message about a key, with the key and where it is set."""
        name, where = ".".join(path[:2]), self.where(*path)
        return f"{where}: {message}" if where == name else f"{where}: {name}: {message}"

    def line(self, *path: str) -> str:
        """Return the line of a key, or of the table around it."""
        for depth in range(len(path), 0, -1):
            if path[:depth] in self._lines:
                return f"line {self._lines[path[:depth]]}"
        return ".".join(path)


def _parts(dotted: str) -> KeyPath:
    found = re.findall(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*\.?""", dotted)
    return tuple("".join(part) for part in found)


@dataclass(frozen=True)
class Config:
    """Settings of a run: what was set, over the defaults."""

    #: What was set, by section and key.
    values: Values = field(default_factory=dict)
    #: What `data.path` is relative to.
    folder: Path = Path()
    places: Places = field(default_factory=Places, compare=False, repr=False)
    #: What it was read from.
    file: Path | None = field(default=None, compare=False)

    def get(self, section: str, key: str) -> Any:
        """Return a setting, or its default."""
        return self.values.get(section, {}).get(key, schema()[section][key].default)

    def section(self, section: str) -> dict[str, Any]:
        """Return all settings of a section, defaults among them."""
        return {key: self.get(section, key) for key in schema()[section]}

    def is_set(self, section: str, key: str) -> bool:
        """Whether a key is set, be it to its default."""
        return key in self.values.get(section, {})

    def data_path(self) -> str:
        """Return where the table is; ``"-"`` is standard input."""
        path = self.get("data", "path")
        if path is None:
            raise GSRError("no data: name a table, or set data.path in the configuration")
        return str(path) if path == "-" else os.path.normpath(self.folder / path)

    def inputs(self) -> list[str | Path]:
        """Return the files that a run reads."""
        return [self.data_path(), *([] if self.file is None else [self.file])]

    def changed(self, changes: Mapping[tuple[str, str], Any]) -> Config:
        """Return a configuration with some settings changed, unchecked."""
        values = {section: dict(keys) for section, keys in self.values.items()}
        for (section, key), value in changes.items():
            values.setdefault(section, {})[key] = value
        return replace(self, values=values)

    def without(self, *keys: tuple[str, str]) -> Config:
        """Return a configuration in which some keys are not set."""
        values = {
            section: {name: each for name, each in found.items() if (section, name) not in keys}
            for section, found in self.values.items()
        }
        return replace(self, values=values)

    def key_of(self, error: GSRError) -> tuple[str, str] | None:
        """Return the section and key, among those that are set, that an error is about."""
        known = options.by_parameter()
        for name in error.options:
            section, _, key = (known[name].key if name in known else name).partition(".")
            if self.is_set(section, key):
                return section, key
        return None

    @contextmanager
    def locating(self) -> Iterator[None]:
        """Let errors raised inside name the line or the flag that sets what they are about."""
        try:
            yield
        except GSRError as error:
            key = self.key_of(error)
            if key is None:
                raise
            if self.places.is_in_file(*key):
                found = [self.places.located(key, str(error))]
                raise _all_mistakes(str(self.file), found) from error
            raise GSRError(f"{self.places.where(*key)}: {error}", *error.options) from error

    def estimator_options(self) -> dict[str, Any]:
        """Return what was set of the estimator's parameters, but for those of cluster runs."""
        chosen: dict[str, Any] = {}
        for option in OPTIONS:
            name = option.parameter
            is_used = option.section in options.OF_FIT and self.is_set(option.section, option.name)
            if name is None or not is_used:
                continue
            value = self.values[option.section][option.name]
            if name == "errors" and value not in options.ERRORS:
                continue  # a column, which `fit` takes
            if option.hyper:
                chosen.setdefault("hyperparameters", {})[name] = value
            else:
                chosen[name] = None if name == "max_time" and math.isinf(value) else value
        return chosen

    def ignored(self) -> list[str]:
        """Return the sections that are set and that `gsr fit` has no use for."""
        return [section for section in self.values if section not in options.OF_FIT]

    def to_toml(self) -> str:
        """Return what was set as a file."""
        parts = []
        for section in schema():
            if keys := self.values.get(section):
                lines = [f"{_toml_name(key)} = {toml_value(value)}" for key, value in keys.items()]
                parts.append("\n".join([f"[{section}]", *lines]) + "\n")
        return "\n".join(parts)


class Mistakes:
    """Collects in `found` the mistakes that show only when a configuration is used.

    A key with a mistake is left out of `config` from then on, so that others show.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.found: list[str] = []

    def attempt(
        self, use: Callable[[Config], Found], otherwise: tuple[str, str] | None = None
    ) -> Found | None:
        """Return what `use` makes of the configuration, and note what is wrong with it.

        An error that is about no key that is set is noted as one about the key `otherwise`; None is
        returned then.
        """
        while True:
            try:
                return use(self.config)
            except GSRError as error:
                key = self.config.key_of(error)
                if key is not None:
                    self.note(key, str(error))
                    self.config = self.config.without(key)
                    continue
                if otherwise is None:
                    self.found.append(str(error))
                else:
                    self.note(otherwise, str(error))
                return None

    def note(self, path: KeyPath, message: str) -> None:
        """Note what is wrong with a key."""
        self.found.append(self.config.places.located(path, message))

    def raise_found(self, origin: str) -> None:
        """Raise an error that names all mistakes, if there are any."""
        if self.found:
            raise _all_mistakes(origin, self.found)


# ---- reading ---------------------------------------------------------------------------------


def read(
    path: str | os.PathLike[str], overrides: Sequence[str] = (), required: Sequence[str] = ()
) -> Config:
    """Read a configuration file; an error names all mistakes in it, with lines.

    `overrides` such as ``"run.max_time=60"`` count more than the file, and `required` are keys that
    must be set.
    """
    try:
        with open(path, "rb") as stream:
            text = stream.read(LONGEST + 1).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GSRError(f"{path}: byte {error.start} is not UTF-8: this is no TOML file") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GSRError(f"cannot read the configuration {path}: {reason}") from error
    found = parse(text, overrides, str(path), Path(path).parent, required)
    return replace(found, file=Path(path))


def parse(
    text: str,
    overrides: Sequence[str] = (),
    origin: str = "configuration",
    folder: Path = Path(),
    required: Sequence[str] = (),
) -> Config:
    """Read a configuration from text; see `read`."""
    try:
        content = _loaded(text)
    except ValueError as error:
        raise GSRError(f"{origin}: {error}") from error
    places = Places(text)
    values, found = _checked(content, places)
    for override in overrides:
        found += _apply(override, values, places)
    for key in required:
        section, _, name = key.partition(".")
        if name not in values.get(section, {}):
            found.append(f"{key} is missing: {schema()[section][name].help}")
    found += [] if found else _contradictions(values, places)
    if found:
        raise _all_mistakes(origin, found)
    return Config(values, folder, places)


def _loaded(text: str) -> dict[str, Any]:
    """Return the content of TOML text; `ValueError` if it is invalid or exceeds the limits."""
    if len(text) > LONGEST:
        raise ValueError(f"a configuration may have at most {LONGEST:,} characters")
    if deep := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep.start()) + 1
        raise ValueError(f"line {line}: a key has more than {DEEPEST} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # from Python's reader of integers
        raise ValueError("a whole number has thousands of digits") from error
    except RecursionError as error:
        raise ValueError("its values are nested too deep") from error


def _apply(override: str, values: Values, places: Places) -> list[str]:
    """Set what an override says, or return what is wrong with it."""
    target, equals, text = override.partition("=")
    section, dot, name = target.strip().partition(".")
    if not equals or not dot:
        return [f"--set: must be section.key=value, got {override!r}"]
    if section not in schema():
        return [f"--set {target}: {_unknown_section(section, {})}"]
    try:
        value = _toml_or_word(text.strip())
    except GSRError as error:
        return [f"--set {target}: {error}"]
    found = [f"--set: {wrong}" for _, wrong in _wrong_in_key(section, name, value)]
    if not found:
        values.setdefault(section, {})[name] = value
        places.override(section, name)
    return found


def _toml_or_word(text: str) -> Any:
    """Return a TOML value; a word without quotes is text."""
    try:
        found = _loaded(f"value = {text}\n")
        if list(found) == ["value"]:
            return found["value"]
    except ValueError:
        if _WORD.fullmatch(text):
            return text
    raise GSRError(f"{text!r} is no TOML value; text with signs in it needs quotes")


# ---- mistakes --------------------------------------------------------------------------------


def _all_mistakes(origin: str, found: Sequence[str]) -> GSRError:
    """Return all that is wrong with a configuration as one error."""
    count = f"{len(found)} mistakes" if len(found) > 1 else "a mistake"
    return GSRError("\n  ".join([f"{origin}: {count}", *found]))


def _checked(content: Mapping[str, Any], places: Places) -> tuple[Values, list[str]]:
    """Return the settings of a file, and all that is wrong with them, with lines."""
    values: Values = {}
    found: list[str] = []
    for section, keys in content.items():
        line = places.line(section)
        if section not in schema():
            found.append(f"{line}: {_unknown_section(section, keys)}")
        elif not isinstance(keys, dict):
            found.append(f"{line}: {section} must be a section, [{section}], got {shown(keys)}")
        else:
            if keys:
                values[section] = dict(keys)
            for name, value in keys.items():
                wrong = _wrong_in_key(section, name, value)
                found += [f"{places.line(*path)}: {message}" for path, message in wrong]
    return values, found


def _wrong_in_key(section: str, name: str, value: Any) -> Iterator[tuple[KeyPath, str]]:
    """Yield what is wrong with a key and its value, each with the path to where it stands."""
    path, known = (section, name), schema()
    if name not in known[section]:
        homes = [other for other in known if name in known[other]]
        hint = suggestion(name, known[section], otherwise_list=True)
        hint = f"; it belongs below [{homes[0]}]" if homes else hint
        yield path, f"[{section}] has no key {name!r}{hint}"
        return
    kind = known[section][name].type
    is_tables = isinstance(value, list) and all(isinstance(table, Mapping) for table in value)
    if isinstance(kind, ListOf) and isinstance(kind.type, Record) and is_tables:
        yield from _wrong_in_tables(kind.type, path, value)
    elif wrong := kind.mismatch(value):
        yield path, f"{section}.{name} {wrong}"


def _wrong_in_tables(
    record: Record, path: KeyPath, tables: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[KeyPath, str]]:
    for number, table in enumerate(tables, start=1):
        label = f"{'.'.join(path)}, table {number}:"
        for name, value in table.items():
            where = (*path, str(number), name)
            if name not in record.fields:
                hint = suggestion(name, record.fields, otherwise_list=True)
                yield where, f"{label} {name!r} is none of the {record.of} that differ{hint}"
            elif wrong := record.fields[name].mismatch(value):
                yield where, f"{label} {name} {wrong}"


def _contradictions(values: Values, places: Places) -> list[str]:
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


def _unknown_section(section: str, keys: Any) -> str:
    """Return the message about a section that does not exist."""
    if not isinstance(keys, dict):
        homes = [name for name, known in schema().items() if section in known]
        hint = f"it belongs below [{homes[0]}]" if homes else "write it below a [section]"
        return f"{section!r} stands outside a section; {hint}"
    near = get_close_matches(section, list(schema()), n=1)
    hint = f"did you mean [{near[0]}]?" if near else f"there are {', '.join(schema())}"
    return f"there is no section [{section}]; {hint}"


# ---- writing ---------------------------------------------------------------------------------


def toml_value(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which JSON leaves alone.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = (f"{_toml_name(key)} = {toml_value(each)}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return repr(float(value)) if isinstance(value, float) else str(int(value))


def _toml_name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_value(key)


def default_toml() -> str:
    """Return an example file with every key, its meaning and its default."""
    from gsr.core_settings import settings_of

    defaults = settings_of({"preset": "default"})
    parts = [HEAD]
    for section, keys in schema().items():
        lines = [f"# {options.SECTIONS[section]}", f"[{section}]"]
        for name, option in keys.items():
            if option.hyper and OF_THE_PAPER not in lines:
                lines.append(OF_THE_PAPER)
            text = option.help
            if isinstance(option.type, Choice) and not option.hyper:
                text += f" ({', '.join(option.type.values)})"
            lines += textwrap.wrap(text, 98, initial_indent="# ", subsequent_indent="# ")
            known = (option.example, option.default, defaults.get(name))
            value = next(each for each in known if each is not None)
            is_set = option.key in options.OF_ISLANDS
            lines.append(f"{'' if is_set else '#'}{name} = {toml_value(value)}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
