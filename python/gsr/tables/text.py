"""Tables in text files: separated by commas, semicolons, tabs or blanks."""

from __future__ import annotations

import itertools
import math
import shlex
import warnings
from collections.abc import Collection, Iterable
from typing import TextIO

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.tables import Array, Column, Columns, Table, check_names, select
from gsr.tables.text_layout import (
    BLANKS,
    DECIMAL_COMMA,
    MISSING,
    Cells,
    Layout,
    Lines,
    Rows,
    layout_of,
    number,
)

#: Lines read at once.
BLOCK = 20_000
#: Characters of a bad value that a message shows.
SHOWN = 40

Indices = npt.NDArray[np.int64]


class _NotANumberError(Exception):
    def __init__(self, line: int, column: int, cell: str) -> None:
        super().__init__(line, column, cell)
        self.line, self.column, self.cell = line, column, cell


def read(
    source: Source,
    columns: Columns,
    drop: Collection[Column],
    header: bool | None,
    delimiter: str | None,
) -> Table:
    """Read a text file; see `gsr.tables.read`."""
    try:
        layout = layout_of(source, header, delimiter)
        check_names(layout.names, source.name)
        chosen = select(layout.names, columns, drop, source.name)
        try:
            return _numbers(source, layout, chosen, ".")
        except _NotANumberError as error:
            if layout.delimiter == "," or not DECIMAL_COMMA.fullmatch(error.cell):
                raise _text_told(source, layout, error) from None
        return _numbers(source, layout, chosen, ",")
    except _NotANumberError as error:
        raise _text_told(source, layout, error) from None
    except UnicodeDecodeError as error:
        raise _bad_encoding(source) from error


# ---- numbers ---------------------------------------------------------------------------------


class _Parser:
    """Reads the rows below the header in blocks of lines.

    NumPy reads a block if it can. Otherwise its missing values are filled in for NumPy; otherwise
    it is read cell by cell, so that mistakes are named.

    Parameters
    ----------
    name : str
        The file.
    layout : Layout
        How it is written.
    chosen : list of int
        The columns to read.
    point : {".", ","}
        Of decimal numbers.
    """

    def __init__(self, name: str, layout: Layout, chosen: list[int], point: str) -> None:
        self.name, self.layout, self.chosen, self.point = name, layout, chosen, point
        self.width = len(layout.names)
        self.everything = chosen == list(range(self.width))
        self._values: list[Array] = []
        self._lines: list[Indices] = []

    def parse(self, stream: TextIO) -> tuple[Array, Indices]:
        """Return the numbers, and the line of each row."""
        for _ in range(self.layout.skip):
            stream.readline()
        before = self.layout.skip
        while block := list(itertools.islice(stream, BLOCK)):
            if any('"' in line or "\0" in line for line in block):
                # A quoted field may go on in the next block.
                self._add_rows(itertools.chain(block, stream), before)
                break
            values = self._numpy(block)
            if values is None:
                self._add_rows(block, before)
            else:
                self._add(values, np.arange(before + 1, before + 1 + len(block)))
            before += len(block)
        return np.concatenate(self._values), np.concatenate(self._lines)

    def _add(self, values: Array, lines: Indices) -> None:
        self._values.append(values)
        self._lines.append(lines)

    def _numpy(self, block: list[str]) -> Array | None:
        if self.point == ",":
            text = "".join(block)
            return None if "." in text else self._loaded(text.replace(",", ".").splitlines(True))
        values = self._loaded(block)
        if values is None:
            filled = _filled("".join(block), self.layout.delimiter)
            values = self._loaded(filled.splitlines(True))
        return values

    def _loaded(self, block: list[str]) -> Array | None:
        """Return the numbers as NumPy reads them; None unless each line is one whole row."""
        blanks = self.layout.delimiter == BLANKS
        if not self.everything and any(  # of rows that are too long, NumPy would take the start
            (len(line.split()) if blanks else line.count(self.layout.delimiter) + 1) != self.width
            for line in block
        ):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                values = np.loadtxt(
                    block,
                    delimiter=None if blanks else self.layout.delimiter,
                    comments=None,
                    usecols=None if self.everything else self.chosen,
                    ndmin=2,
                )
            except (ValueError, UserWarning, OverflowError):
                return None
        return values if values.shape == (len(block), len(self.chosen)) else None

    def _add_rows(self, lines: Iterable[str], before: int) -> None:
        rows = iter(Rows(Lines(lines, self.name, before), self.layout.delimiter, self.name))
        while chunk := list(itertools.islice(rows, BLOCK)):
            values = np.array([self._row(*each) for each in chunk])
            self._add(values, np.array([line for line, _ in chunk]))

    def _row(self, line: int, cells: Cells) -> list[float]:
        if len(cells) != self.width:
            above = "the header has" if self.layout.header else "the first row has"
            raise GSRError(
                f"{self.name}, line {line}: {len(cells)} field{'s' * (len(cells) != 1)}, but "
                f"{above} {self.width}"
            )
        values = []
        for column in self.chosen:
            value = value_of(cells[column], self.point)
            if value is None:
                raise _NotANumberError(line, column, cells[column])
            values.append(value)
        return values


def _numbers(source: Source, layout: Layout, chosen: list[int], point: str) -> Table:
    with source.text() as stream:
        values, lines = _Parser(source.name, layout, chosen, point).parse(stream)
    notes: tuple[str, ...] = (
        () if point == "." else (f"{source.name}: read with decimal commas (1,5 is 1.5)",)
    )
    names = tuple(layout.names[c] for c in chosen)
    if names[0] == "column 1" and np.array_equal(values[:, 0], np.arange(len(values))):
        notes += (f"{source.name}: column 1 has no name and counts the rows; is it data?",)
    return Table(names, values, source.name, layout.header, notes, lines)


def _filled(text: str, delimiter: str) -> str:
    """Return lines with nan for missing values; what is no number stays none."""
    for word in ("N/A", "NA", "null", "NULL", "None"):
        text = text.replace(word, "nan")
    if delimiter == BLANKS:
        return text
    gap, filled = 2 * delimiter, f"{delimiter}nan{delimiter}"
    text = text.replace(gap, filled).replace(gap, filled)
    text = text.replace(f"\n{delimiter}", f"\nnan{delimiter}")
    for end in ("\n", "\r\n"):
        text = text.replace(delimiter + end, f"{delimiter}nan{end}")
    return f"nan{text}" if text.startswith(delimiter) else text


def value_of(cell: str, point: str = ".") -> float | None:
    """Return the number that a cell holds: NaN if it is missing, None if it is no number."""
    text = cell.strip()
    if text.lower() in MISSING:
        return math.nan
    if point == ",":
        return None if "." in text else number(text.replace(",", "."))
    return number(text)


# ---- mistakes --------------------------------------------------------------------------


def _text_told(source: Source, layout: Layout, error: _NotANumberError) -> GSRError:
    name = layout.names[error.column]
    shown = error.cell if len(error.cell) <= SHOWN else error.cell[:SHOWN] + "..."
    mixed = DECIMAL_COMMA.fullmatch(error.cell) or number(error.cell) is not None
    hint = "; decimal points and decimal commas are mixed" if mixed else ""
    return GSRError(
        f"{source.name}, line {error.line}, column {name!r} ({error.column + 1}): {shown!r} is "
        f"not a number{hint}; to leave the column out use --drop {shlex.quote(name)}, or choose "
        f"columns with --features"
    )


def _bad_encoding(source: Source) -> GSRError:
    number = 0
    with source.binary() as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start]
                return GSRError(
                    f"{source.name}, line {number}: byte 0x{byte:02x} is not UTF-8; save the file "
                    f"as UTF-8 (iconv -f latin1 -t utf-8), or it is no text"
                )
    return GSRError(f"{source.name}, line {number}: the text is not UTF-8")
