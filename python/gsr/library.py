"""Mapping tables: which transformation a code in the first column of a basis matrix means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gsr import _core
from gsr.exceptions import GSRError
from gsr.traits import TRAITS, Traits
from gsr.transformation import (
    BUILTINS,
    Symbolic,
    Transformation,
    apply_symbolic,
    check_on_data,
)

Entry = str | Transformation


class Library:
    """A mapping table (Tables 2 and 13 of the paper): position k holds transformation k.

    Parameters
    ----------
    entries : sequence of str or Transformation
        Names of built-in transformations, and own ones. ``"one"`` is put first if absent.
    name : str, optional
        Shown when the library is printed.
    """

    def __init__(self, entries: Sequence[Entry], name: str | None = None) -> None:
        if not isinstance(entries, Iterable):
            raise GSRError(
                f"a library is a sequence of names and Transformation objects, not {entries!r}"
            )
        entries = (entries,) if isinstance(entries, str) else tuple(entries)
        if not entries:
            raise GSRError("a library needs at least one transformation, got none")
        for entry in entries:
            _check_entry(entry)
        self.entries: tuple[Entry, ...] = entries if "one" in entries else ("one", *entries)
        self.names = tuple(e if isinstance(e, str) else e.name for e in self.entries)
        self.name = name
        if len(self.names) == 1:
            raise GSRError("a library of 'one' alone has no functions to build a law from")
        twice = sorted({n for n in self.names if self.names.count(n) > 1})
        if twice:
            raise GSRError(f"a library holds each transformation once, but {twice[0]!r} is twice")

    @cached_property
    def table(self) -> Any:
        """The table for the compiled core."""
        return _core.Table([BUILTINS[e] if isinstance(e, str) else e.core() for e in self.entries])

    @cached_property
    def traits(self) -> tuple[Traits, ...]:
        """What is known of each transformation beside its values."""
        return tuple(TRAITS[e] if isinstance(e, str) else e.traits for e in self.entries)

    @property
    def own(self) -> list[int]:
        """The codes of the user's own transformations."""
        return [k for k, entry in enumerate(self.entries) if isinstance(entry, Transformation)]

    def code(self, name: str) -> int:
        """Return the code of a transformation."""
        if name not in self.names:
            raise GSRError(_unknown(name, self.names, "is not in this library"))
        return self.names.index(name)

    def sympy(self, code: int, argument: Any) -> Any:
        """Return the transformation of a SymPy expression."""
        return apply_symbolic(self._symbolic(code, "sympy"), argument)

    def inverse_sympy(self, code: int) -> Symbolic | None:
        """Return the SymPy form of the inverse, None without a closed form."""
        return self._symbolic(code, "inverse_sympy") or None

    def text(self, code: int, argument: str) -> str:
        """Return the transformation of an argument that is already text.

        The argument is put in as it is; brackets are the caller's.
        """
        return str(self.table[code].text).replace("{}", argument)

    def check(self, x: npt.ArrayLike, what: str = "X") -> None:
        """Try the own transformations on data, so that a search does not fail half-way.

        Parameters
        ----------
        x : array
            A column or a table of columns.
        what : str
            How messages call it.

        Raises
        ------
        ValueError
            Names the transformation and what is wrong with it.
        """
        table = np.asarray(x, dtype=float)
        columns = [np.ascontiguousarray(c) for c in table.reshape(len(table), -1).T]
        for entry in self.entries:
            if isinstance(entry, Transformation):
                check_on_data(entry, columns, what)

    def _symbolic(self, code: int, label: str) -> Symbolic:
        entry = self.entries[code]
        form: Symbolic = getattr(BUILTINS[entry] if isinstance(entry, str) else entry, label)
        return form

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Library) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(self.names)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("table", "traits")}

    def __repr__(self) -> str:
        forms = [self.text(code, "•") for code in range(len(self))]
        widths = [max(len(name), len(form)) for name, form in zip(self.names, forms, strict=True)]
        rows = (
            ("code", [str(k) for k in range(len(self))]),
            ("name", list(self.names)),
            ("T", forms),
        )
        lines = [
            f"{label:<5}" + "  ".join(f"{c:<{w}}" for c, w in zip(cells, widths, strict=True))
            for label, cells in rows
        ]
        title = f"Library {self.name}" if self.name else "Library"
        return "\n".join([title, *(line.rstrip() for line in lines)])


def _check_entry(entry: object) -> None:
    if isinstance(entry, Transformation):
        return
    if not isinstance(entry, str):
        raise GSRError(f"a library takes names and Transformation objects, not {entry!r}")
    if entry not in BUILTINS:
        raise GSRError(_unknown(entry, tuple(BUILTINS), "is not a built-in transformation"))


def _unknown(name: str, known: Sequence[str], what: str) -> str:
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are: {known}"
    return f"{name!r} {what}; {hint}"


TABLE_2 = Library(["one", "identity", "cos", "sin", "exp", "ln"], name="table2")
TABLE_13 = Library(
    ["one", "identity", "inverse", "square", "cube", "cos", "sin", "exp", "ln", "sqrt"],
    name="table13",
)
PRESETS = {"table2": TABLE_2, "table13": TABLE_13, "all": Library(list(BUILTINS), name="all")}


def resolve(spec: Library | str | Sequence[Entry]) -> Library:
    """Return the library meant by a Library, a preset's name, or a sequence of entries."""
    if isinstance(spec, Library):
        return spec
    if isinstance(spec, str):
        if spec not in PRESETS:
            raise GSRError(_unknown(spec, tuple(PRESETS), "is not a preset library"))
        return PRESETS[spec]
    return Library(spec)


__all__ = ["PRESETS", "TABLE_2", "TABLE_13", "Library", "Transformation", "resolve"]
