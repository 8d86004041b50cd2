"""Configuration files: TOML with one schema for `gsr fit` and for cluster runs.

All mistakes in a file are reported at once, with their lines. The keys are those of `gsr.options`.
"""

from __future__ import annotations

import math
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gsr import options
from gsr.exceptions import GSRError
from gsr.options import OPTIONS, Option, schema
from gsr.runs import mistakes
from gsr.runs.mistakes import Places, Values
from gsr.runs.mistakes import check as check
from gsr.runs.toml_text import toml_name
from gsr.runs.toml_text import toml_value as toml_value
from gsr.value_types import Choice

if TYPE_CHECKING or sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_WORD = re.compile(r"(?:[^\W\d]|[./~])[\w ./:%+~-]*")
#: Where the arguments of `GSRRegressor.fit` come from, which errors may be about.
OF_FIT_ARGUMENTS = {
    "X": "data.path",
    "y": "data.target",
    "sample_weight": "data.weights",
    "sigma": "data.errors",
}
OF_THE_PAPER = "# hyper-parameters of the paper"
HEAD = """\
# Settings of a gsr run. What is commented out is not set; the value shown is then the default, or
# an example where the comment tells the default. Use it with
#   gsr fit --config FILE                   on one machine
#   mpirun -n 64 gsr islands FILE           on several: islands that exchange laws
#   srun --mpi=pmi2 gsr islands FILE        the same as a job step of SLURM (Open MPI: --mpi=pmix)
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
    places : Places
        Where in the file keys are set.
    file : Path, optional
        What it was read from.
    """

    values: Values = field(default_factory=dict)
    folder: Path = Path()
    places: Places = field(default_factory=Places, compare=False, repr=False)
    file: Path | None = field(default=None, compare=False)

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
        return replace(self, values=values)

    def without(self, section: str, key: str) -> Config:
        """Return a configuration in which something is not set."""
        values = {name: dict(keys) for name, keys in self.values.items()}
        values.get(section, {}).pop(key, None)
        return replace(self, values=values)

    def key_of(self, error: GSRError) -> tuple[str, str] | None:
        """Return the section and key, among those that are set, that an error is about."""
        homes = {each.parameter: (each.section, each.name) for each in OPTIONS}
        for option in error.options:
            key = homes.get(OF_FIT_ARGUMENTS.get(option, option)) or option.partition(".")[::2]
            if self.is_set(*key):
                return key[0], key[1]
        return None

    @contextmanager
    def locating(self) -> Iterator[None]:
        """Let errors raised inside name where the option is set that they are about.

        That is the key and its line in the file, or the flag.
        """
        try:
            yield
        except GSRError as error:
            key = self.key_of(error)
            if key is None:
                raise
            if self.places.is_in_file(*key):
                found = [self.places.located(key, str(error))]
                raise mistakes.error(str(self.file), found) from error
            raise GSRError(f"{self.places.where(*key)}: {error}", *error.options) from error

    def estimator_options(self) -> dict[str, Any]:
        """Return what was set of the estimator's parameters, but for those of cluster runs."""
        chosen: dict[str, Any] = {}
        for option in OPTIONS:
            if option.section not in options.OF_FIT or option.parameter is None:
                continue
            if not self.is_set(option.section, option.name):
                continue
            value = self.values[option.section][option.name]
            if option.parameter == "errors" and value not in options.ERRORS:
                continue  # a column, which `fit` takes
            if option.hyper:
                chosen.setdefault("hyperparameters", {})[option.parameter] = value
            else:
                endless = option.parameter == "max_time" and math.isinf(value)
                chosen[option.parameter] = None if endless else value
        return chosen

    def ignored(self) -> list[str]:
        """Return the sections that are set and that `gsr fit` has no use for."""
        return [section for section in self.values if section not in options.OF_FIT]

    def to_toml(self) -> str:
        """Return what was set as a file."""
        parts = []
        for section in schema():
            keys = self.values.get(section)
            if keys:
                lines = [f"{toml_name(key)} = {toml_value(value)}" for key, value in keys.items()]
                parts.append("\n".join([f"[{section}]", *lines]) + "\n")
        return "\n".join(parts)


# ---- reading ---------------------------------------------------------------------------------


def read(
    path: str | os.PathLike[str],
    overrides: Sequence[str] = (),
    required: Sequence[str] = (),
) -> Config:
    """Read a configuration file.

    Parameters
    ----------
    path : str or path
        The file.
    overrides : sequence of str
        Settings such as ``"run.max_time=60"``, which count more than the file.
    required : sequence of str
        Keys that must be set, such as `gsr.options.OF_ISLANDS`.

    Returns
    -------
    Config

    Raises
    ------
    GSRError
        Names every mistake in the file and the overrides, with line, key and what is allowed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
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
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise GSRError(f"{origin}: {str(error) or 'too deep'}") from error
    places = Places(text)
    values, found = mistakes.in_file(content, places)
    for override in overrides:
        found += _apply(override, values, places)
    found += mistakes.missing(values, required)
    found += mistakes.contradictions(values, places) if not found else []
    if found:
        raise mistakes.error(origin, found)
    return Config(values, folder, places)


def _apply(override: str, values: Values, places: Places) -> list[str]:
    """Set what an override says, or return what is wrong with it."""
    target, equals, text = override.partition("=")
    section, dot, name = target.strip().partition(".")
    if not equals or not dot:
        return [f"--set: must be section.key=value, got {override!r}"]
    if section not in schema():
        return [f"--set {target}: {mistakes.unknown_section(section, {})}"]
    try:
        value = _value(text.strip())
    except GSRError as error:
        return [f"--set {target}: {error}"]
    found = [f"--set: {wrong}" for _, wrong in mistakes.in_key(section, name, value)]
    if not found:
        values.setdefault(section, {})[name] = value
        places.override(section, name)
    return found


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


# ---- writing ---------------------------------------------------------------------------------


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
            text = option.help + ("" if option.hyper else _allowed(option))
            lines += textwrap.wrap(text, 98, initial_indent="# ", subsequent_indent="# ")
            known = (option.example, option.default, defaults.get(name))
            value = next(each for each in known if each is not None)
            is_set = option.key in options.OF_ISLANDS
            lines.append(f"{'' if is_set else '#'}{name} = {toml_value(value)}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _allowed(option: Option) -> str:
    """Return the words that are allowed, in brackets."""
    return f" ({', '.join(option.type.values)})" if isinstance(option.type, Choice) else ""
