"""Configuration files: TOML with one schema for `gsr fit` and for cluster runs.

Every mistake in a file is told at once, with its line. The schema is in `gsr.runs.settings`.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsr.exceptions import GSRError, suggestion
from gsr.options import Choice
from gsr.runs import settings
from gsr.runs.settings import Key, schema

if TYPE_CHECKING or sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Values = dict[str, dict[str, Any]]
_WORD = re.compile(r"[^\W\d][\w ./:%+-]*")
HEAD = """\
# Settings of a gsr run. What is commented out is not set; the value shown is then the default, or
# an example where the comment tells the default. Use it with
#   gsr fit --config FILE
"""


@dataclass(frozen=True)
class Config:
    """Settings of a run: what was set, over the defaults.

    Parameters
    ----------
    values : dict
        What was set, by section and key.
    folder : Path
        What `data.path` is relative to.
    """

    values: Values = field(default_factory=dict)
    folder: Path = Path()

    def get(self, section: str, key: str) -> Any:
        """Return a setting, or its default."""
        return self.values.get(section, {}).get(key, schema()[section][key].default)

    def section(self, section: str) -> dict[str, Any]:
        """Return all settings of a section, defaults among them."""
        return {key: self.get(section, key) for key in schema()[section]}

    def is_set(self, section: str, key: str) -> bool:
        """Whether a setting differs from nothing said."""
        return key in self.values.get(section, {})

    def data_path(self) -> str:
        """Return where the table is; ``"-"`` is standard input."""
        path = self.get("data", "path")
        if path is None:
            raise GSRError("no data: name a table, or set data.path in the configuration")
        return str(path) if path == "-" else os.path.normpath(self.folder / path)

    def changed(self, changes: Mapping[tuple[str, str], Any]) -> Config:
        """Return a configuration with some settings changed, unchecked."""
        values = {section: dict(keys) for section, keys in self.values.items()}
        for (section, key), value in changes.items():
            values.setdefault(section, {})[key] = value
        return Config(values, self.folder)

    def estimator_options(self) -> dict[str, Any]:
        """Return what was set of the estimator's parameters."""
        parameters = settings.parameters()
        chosen: dict[str, Any] = {}
        for section, name, key in _each_key():
            if key.parameter is None or not self.is_set(section, name):
                continue
            value = self.values[section][name]
            if key.parameter in parameters:
                endless = name == "max_time" and math.isinf(value)
                chosen[key.parameter] = None if endless else value
            else:
                chosen.setdefault("hyperparameters", {})[key.parameter] = value
        return chosen

    def ignored(self) -> list[str]:
        """Return the sections that are set and that `gsr fit` has no use for."""
        return [section for section in self.values if section not in settings.OF_FIT]

    def to_toml(self) -> str:
        """Return what was set as a file."""
        parts = []
        for section in schema():
            keys = self.values.get(section)
            if keys:
                lines = [f"{_name(key)} = {toml_value(value)}" for key, value in keys.items()]
                parts.append("\n".join([f"[{section}]", *lines]) + "\n")
        return "\n".join(parts)


# ---- reading ---------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Config:
    """Read a configuration file.

    Parameters
    ----------
    path : str or path
        The file.
    overrides : sequence of str
        Settings such as ``"run.max_time=60"``, which count more than the file.

    Returns
    -------
    Config

    Raises
    ------
    GSRError
        Tells every mistake in the file and the overrides, with line, key and what is allowed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise GSRError(f"{path}: byte {error.start} is not UTF-8: this is no TOML file") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GSRError(f"cannot read the configuration {path}: {reason}") from error
    return parse(text, overrides, str(path), Path(path).parent)


def parse(
    text: str, overrides: Sequence[str] = (), origin: str = "configuration", folder: Path = Path()
) -> Config:
    """Read a configuration from text; see `read`."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise GSRError(f"{origin}: {str(error) or 'too deep'}") from error
    values, mistakes = _checked(content, _Places(text))
    for override in overrides:
        _apply(override, values, mistakes)
    if mistakes:
        count = f"{len(mistakes)} mistakes" if len(mistakes) > 1 else "a mistake"
        raise GSRError("\n  ".join([f"{origin}: {count}", *mistakes]))
    return Config(values, folder)


def check(section: str, name: str, value: Any, label: str) -> str | None:
    """Return what is wrong with a value, None if it is allowed; `label` is how to call it."""
    kind = schema()[section][name].kind
    if kind.holds(value):
        return None
    hint = ""
    if isinstance(value, str) and isinstance(kind, Choice):
        hint = suggestion(value, map(str, kind.values))
    return f"{label} must be {kind}, got {_shown(value)}{hint}"


def _checked(content: Mapping[str, Any], places: _Places) -> tuple[Values, list[str]]:
    values: Values = {}
    mistakes: list[str] = []
    for section, keys in content.items():
        line = places.line(section)
        if section not in schema():
            mistakes.append(f"{line}: {_unknown_section(section, keys)}")
        elif not isinstance(keys, dict):
            mistakes.append(f"{line}: {section} must be a section, [{section}], got {_shown(keys)}")
        else:
            for name, value in keys.items():
                where = places.line(section, name)
                wrong = _unknown_key(section, name) or check(
                    section, name, value, f"{section}.{name}"
                )
                if wrong:
                    mistakes.append(f"{where}: {wrong}")
                values.setdefault(section, {})[name] = value
    return values, mistakes


def _apply(override: str, values: Values, mistakes: list[str]) -> None:
    target, equals, text = override.partition("=")
    section, dot, name = target.strip().partition(".")
    if not equals or not dot:
        mistakes.append(f"--set: must be section.key=value, got {override!r}")
        return
    if section not in schema():
        mistakes.append(f"--set {target}: {_unknown_section(section, {})}")
        return
    try:
        value = _value(text.strip())
    except GSRError as error:
        mistakes.append(f"--set {target}: {error}")
        return
    wrong = _unknown_key(section, name) or check(section, name, value, f"{section}.{name}")
    if wrong:
        mistakes.append(f"--set: {wrong}")
    else:
        values.setdefault(section, {})[name] = value


def _value(text: str) -> Any:
    """Return a TOML value; a word without quotes is text."""
    try:
        found = tomllib.loads(f"value = {text}\n")
        if list(found) == ["value"]:
            return found["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        if _WORD.fullmatch(text):
            return text
    raise GSRError(f"{text!r} is no TOML value; text with signs in it needs quotes")


def _unknown_section(section: str, keys: Any) -> str:
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


class _Places:
    """Lines of a TOML file in which sections and keys stand."""

    def __init__(self, text: str) -> None:
        self._found: dict[tuple[str, ...], int] = {}
        section: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), start=1):
            if head := re.match(r"\s*\[+([^\]]+)\]", line):
                section = _parts(head[1])
                self._note(section, number)
            elif key := re.match(r"""\s*((?:[\w\s.-]|"[^"]*"|'[^']*')+?)\s*=""", line):
                self._note((*section, *_parts(key[1])), number)

    def _note(self, path: tuple[str, ...], number: int) -> None:
        for depth in range(1, len(path) + 1):
            self._found.setdefault(path[:depth], number)

    def line(self, *path: str) -> str:
        return f"line {self._found[path]}" if path in self._found else ".".join(path)


def _parts(dotted: str) -> tuple[str, ...]:
    found = re.findall(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*\.?""", dotted)
    return tuple("".join(part) for part in found)


# ---- writing ---------------------------------------------------------------------------------


def default_toml() -> str:
    """Return an example file with every key, its meaning and its default."""
    parts = [HEAD]
    for section, keys in schema().items():
        lines = [f"# {settings.ABOUT.get(section, section)}", f"[{section}]"]
        told = ""
        for name, key in keys.items():
            if key.help != told:  # keys of a group share their explanation
                lines += textwrap.wrap(key.help, 98, initial_indent="# ", subsequent_indent="# ")
            told = key.help
            lines += [f"# {key.detail}"] if key.detail else []
            required = (section, name) in (("data", "path"), ("data", "target"))
            lines.append(f"{'' if required else '#'}{name} = {toml_value(key.shown)}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def toml_value(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which JSON leaves alone.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_name(k)} = {toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return repr(float(value)) if isinstance(value, float) else str(int(value))


def _name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_value(key)


def _shown(value: Any) -> str:
    text = toml_value(value) if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


def _each_key() -> Iterator[tuple[str, str, Key]]:
    for section, keys in schema().items():
        for name, key in keys.items():
            yield section, name, key
