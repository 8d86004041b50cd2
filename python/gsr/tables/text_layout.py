"""How a text file is laid out: what separates its fields, and whether it has a header."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gsr.exceptions import GSRError
from gsr.files import Source

MISSING = ("", "na", "n/a", "nan", "null", "none")
BLANKS = " "
#: The earlier is taken where two are equally likely.
DELIMITERS = ("\t", ";", ",", BLANKS)
SPELLED = {"tab": "\t", "\\t": "\t", "space": BLANKS, "comma": ",", "semicolon": ";"}
SAMPLE = 100
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_WORDS = re.compile(r'"([^"]*)"|(\S+)')

Cells = list[str]


class Lines:
    """The lines of a file that hold rows: not blank, no comment; with their numbers."""

    def __init__(self, stream: Iterable[str], name: str, before: int = 0) -> None:
        self._stream, self._name = stream, name
        self.number = before

    def __iter__(self) -> Iterator[str]:
        for line in self._stream:
            self.number += 1
            if "\0" in line:
                raise GSRError(f"{self._name}, line {self.number}: a NUL byte; this is no text")
            text = line.lstrip()
            if text and text[0] != "#":
                yield line


@dataclass
class Rows:
    """The rows of a file as cells, with the line in which each ends."""

    lines: Lines
    delimiter: str
    name: str

    def __iter__(self) -> Iterator[tuple[int, Cells]]:
        if self.delimiter == BLANKS:
            for line in self.lines:
                yield self.lines.number, _words(line)
            return
        reader = csv.reader(
            iter(self.lines), delimiter=self.delimiter, skipinitialspace=True, strict=True
        )
        before = self.lines.number
        try:
            for cells in reader:
                yield (before := self.lines.number), cells
        except csv.Error as error:
            told = "a quote is not closed" if "end of data" in str(error) else str(error)
            raise GSRError(f"{self.name}, line {before + 1}: {told}") from error


@dataclass(frozen=True)
class Layout:
    """How a file is written.

    Parameters
    ----------
    delimiter : str
        Between fields; a blank stands for any run of blanks.
    header : bool
        Whether the first row holds names.
    names : tuple of str
        Of the columns.
    skip : int
        Lines before the first row of numbers.
    """

    delimiter: str
    header: bool
    names: tuple[str, ...]
    skip: int


def layout_of(source: Source, header: bool | None, delimiter: str | None) -> Layout:
    """Detect how a file is laid out, where that is not given."""
    with source.text() as stream:
        sample = list(itertools.islice(Lines(stream, source.name), SAMPLE))
    if not sample:
        raise GSRError(f"{source.name}: the file holds no rows")
    chosen = _sniff(sample) if delimiter is None else _spelled(delimiter)
    with source.text() as stream:
        lines = Lines(stream, source.name)
        rows = iter(Rows(lines, chosen, source.name))
        first_line, first = next(rows)
        second = next(rows, (0, []))[1]
    named = is_header(first, second) if header is None else header
    if not named:
        names = tuple(f"x{k + 1}" for k in range(len(first)))
        return Layout(chosen, False, names, first_line - 1)
    if not second:
        raise GSRError(f"{source.name}: there is a header, but there are no rows below it")
    return Layout(chosen, True, header_names(first), first_line)


def header_names(cells: Cells) -> tuple[str, ...]:
    """Return the names of the columns; one without a name is called by its number."""
    return tuple(cell.strip() or f"column {k}" for k, cell in enumerate(cells, start=1))


def _spelled(delimiter: str) -> str:
    chosen = SPELLED.get(delimiter.lower(), delimiter)
    if len(chosen) != 1 or chosen in '"\r\n\0#':
        allowed = ", ".join(map(repr, (",", ";", "tab", "space")))
        raise GSRError(f"delimiter must be {allowed} or another character, got {delimiter!r}")
    return chosen


def _sniff(sample: Sequence[str]) -> str:
    best, delimiter = 0.0, ","
    for candidate in DELIMITERS:
        likely = _likelihood(sample, candidate)
        if likely > best:
            best, delimiter = likely, candidate
    return delimiter


def _likelihood(sample: Sequence[str], delimiter: str) -> float:
    """Return how many lines agree in their number of fields, times how many fields are numbers."""
    try:
        rows = [_cells(line, delimiter) for line in sample]
    except csv.Error:
        return 0.0
    (n_fields, n_lines), *_ = Counter(map(len, rows)).most_common(1)
    if n_fields < 2:
        return 0.0
    cells = [cell for row in rows[1:] for cell in row] or ["0"]
    numbers = sum(
        _kind(cell) != "text" or (delimiter != "," and DECIMAL_COMMA.fullmatch(cell) is not None)
        for cell in cells
    )
    return n_lines / len(rows) * (0.05 + numbers / len(cells))


def _cells(line: str, delimiter: str) -> Cells:
    if delimiter == BLANKS:
        return _words(line)
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])


def _words(line: str) -> Cells:
    if '"' not in line:
        return line.split()
    return [quoted or word for quoted, word in _WORDS.findall(line)]


def is_header(first: Cells, second: Cells) -> bool:
    """Whether the first row is names: no numbers, or text where the second has numbers."""
    kinds = [_kind(cell) for cell in first]
    if "text" not in kinds:
        return False
    if "number" not in kinds:
        return not any(DECIMAL_COMMA.fullmatch(cell) for cell in first)
    below = [_kind(cell) for cell in second]
    return any(
        kind == "text" and under == "number" for kind, under in zip(kinds, below, strict=False)
    )


def _kind(cell: str) -> str:
    text = cell.strip()
    if text.lower() in MISSING:
        return "missing"
    return "text" if number(text) is None else "number"


def number(text: str) -> float | None:
    """Return the number that a cell holds, None if it holds none."""
    if "_" in text:  # 1_000 is for Python alone
        return None
    try:
        return float(text)
    except ValueError:
        return None
