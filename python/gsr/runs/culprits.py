"""Mistakes that show only when a configuration is used: whose key is to blame."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gsr.exceptions import GSRError
from gsr.runs import mistakes
from gsr.runs.config import Config

Found = TypeVar("Found")
Key = tuple[str, str]


class Culprits:
    """Collects mistakes in the values of a configuration.

    Who raises an error knows the value, not the key. The key is found by leaving keys out, one
    after the other: that without which all is well is to blame. If there are several mistakes, it
    is one that the message names, and without which the message is another.

    Parameters
    ----------
    config : Config
        What was set; keys that are told are left out from then on.

    Attributes
    ----------
    told : list of str
        The mistakes, with key and line.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.told: list[str] = []

    def attempt(
        self, use: Callable[[Config], Found], sections: Sequence[str], otherwise: Key | None = None
    ) -> Found | None:
        """Use the configuration, and tell what is wrong with it.

        Parameters
        ----------
        use : callable
            Raises a `GSRError` about what is wrong.
        sections : sequence of str
            Whose keys may be to blame.
        otherwise : pair of str, optional
            The section and key to blame if it is none of these.

        Returns
        -------
        object or None
            What `use` returns; None if it fails whatever is left out.
        """
        while True:
            try:
                return use(self.config)
            except GSRError as error:
                key = self._culprit(use, str(error), sections)
                if key is None:
                    self._tell_otherwise(otherwise, str(error))
                    return None
                self.tell(key, str(error))
                self.config = self.config.without(*key)

    def _tell_otherwise(self, key: Key | None, message: str) -> None:
        if key is None:
            self.told.append(message)
        else:
            self.tell(key, message)

    def tell(self, path: tuple[str, ...], message: str) -> None:
        """Tell what is wrong with a key."""
        name = ".".join(path[:2])
        where = self.config.places.where(*path)
        self.told.append(f"{where}: {message}" if where == name else f"{where}: {name}: {message}")

    def raise_told(self, origin: str) -> None:
        """Raise an error that tells everything, if there is anything."""
        if self.told:
            raise mistakes.error(origin, self.told)

    def _culprit(
        self, use: Callable[[Config], object], message: str, sections: Sequence[str]
    ) -> Key | None:
        values = self.config.values
        keys = [(section, name) for section in sections for name in values.get(section, {})]
        keys = [key for key in keys if key != ("data", "path")]  # nothing works without it
        named = {key for key in keys if _names(message, key[1], values[key[0]][key[1]])}
        keys.sort(key=lambda key: key not in named)
        others = {key: _message(use, self.config.without(*key)) for key in keys}
        freed = [key for key, other in others.items() if other is None]
        changed = [key for key, other in others.items() if key in named and other != message]
        return next(iter([*freed, *changed]), None)


def _names(message: str, name: str, value: Any) -> bool:
    """Tell whether a message names a key, or a word of its value."""
    return name in message or any(repr(each) in message for each in _words(value))


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value
        yield from _words(list(value.values()))
    elif isinstance(value, list):
        for each in value:
            yield from _words(each)


def _message(use: Callable[[Config], object], config: Config) -> str | None:
    """Return what is wrong when a configuration is used; None: nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            use(config)
        except GSRError as error:
            return str(error)
    return None
