"""Tables in text files: separated by commas, semicolons, tabs or blanks."""

from __future__ import annotations

import codecs
import itertools
import math
import shlex
from collections.abc import Collection, Iterable, Iterator
from io import BytesIO, StringIO
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.tables import Array, Column, Columns, Table, check_names, select
from gsr.tables.text_layout import (
    BLANKS,
    DECIMAL_COMMA,
    DELIMITERS,
    MISSING,
    Cells,
    Layout,
    Lines,
    Rows,
    layout_of,
    number,
)

if TYPE_CHECKING:
    import pandas

#: Bytes that are read at once, and rows of them if they are read one by one.
PIECE, BLOCK = 1 << 23, 20_000
ALL = bytes(range(256))
#: What pandas reads in its own way. A column in which all values are words for yes and no it takes
#: for ones and zeros, so there is one in the first line.
SPECIAL, YES_OR_NO = (b'"', b"#", b"\0"), (b"true", b"false")
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


class _Reader:
    """Reads the rows below the header in pieces of the file.

    pandas reads a piece whose lines are all whole rows of numbers. Any other piece is read row by
    row with the module `csv`, which skips comments and blank lines and names mistakes.

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
        self._options = _pandas_options(layout.delimiter, self.width, chosen, point)

    def read(self, stream: IO[bytes]) -> tuple[Array, Indices]:
        """Return the numbers, and the line of each row."""
        found = list(self._pieces(_pieces(stream, self.layout.skip)))
        values, lines = map(np.concatenate, zip(*found, strict=True))
        return np.ascontiguousarray(values), lines

    def _pieces(self, pieces: Iterator[tuple[int, int, bytes]]) -> Iterator[tuple[Array, Indices]]:
        for before, n_lines, piece in pieces:
            values = self._by_pandas(piece, n_lines)
            if values is not None:
                yield values, np.arange(before + 1, before + 1 + len(values))
                continue
            # A quoted field may go on in the next piece.
            rest = [each for *_, each in pieces] if b'"' in piece else []
            yield from self._by_row(_lines([piece, *rest]), before)

    def _by_pandas(self, piece: bytes, n_lines: int) -> Array | None:
        """Return the numbers of a piece; None unless each of its lines is one whole row."""
        import pandas

        if not piece.isascii():
            piece.decode()  # raises an error if this is no UTF-8
        special = (*SPECIAL, b".") if self.point == "," else SPECIAL
        first = piece[: piece.index(b"\n")].lower()
        if (
            self._options is None
            or any(each in piece for each in special)
            or any(word in first for word in YES_OR_NO)
        ):
            return None
        try:
            frame = pandas.read_csv(BytesIO(piece), **self._options)
        except MemoryError:
            raise
        except Exception:  # it fails in any way where lines differ in their number of fields
            return None
        if not self._is_whole(frame, piece, n_lines):
            return None
        return np.asarray(frame[self.chosen].to_numpy(dtype=np.float64))

    def _is_whole(self, frame: pandas.DataFrame, piece: bytes, n_lines: int) -> bool:
        """Whether each line is a row without a missing field, which pandas would fill in."""
        if len(frame) != n_lines:
            return False
        if frame.shape[1] == self.width and not frame[self.width - 1].isna().any():
            return True
        if self.layout.delimiter == BLANKS:
            return False
        ends = self.layout.delimiter.encode()
        marks = piece.translate(None, ALL.translate(None, ends + b"\n"))
        return marks == n_lines * ((self.width - 1) * ends + b"\n")

    def _by_row(self, lines: Iterable[str], before: int) -> Iterator[tuple[Array, Indices]]:
        rows = iter(Rows(Lines(lines, self.name, before), self.layout.delimiter, self.name))
        while block := list(itertools.islice(rows, BLOCK)):
            yield np.array([self._row(*each) for each in block]), np.array([n for n, _ in block])

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


def _pandas_options(
    delimiter: str, width: int, chosen: list[int], point: str
) -> dict[str, Any] | None:
    """Return how pandas reads a piece; None for a delimiter that it does not take literally."""
    import pandas

    if delimiter not in (*DELIMITERS, "|"):
        return None
    blanks = delimiter == BLANKS
    # The version that deprecates the option reads all numbers exactly without it.
    is_exact = tuple(map(int, pandas.__version__.split(".")[:2])) >= (3, 1)
    return {
        "sep": r"\s+" if blanks else delimiter,
        "header": None,
        # With all columns, rows that are too long are errors.
        "usecols": None if blanks or len(chosen) == width else chosen,
        "dtype": {c: np.float64 if c in chosen else object for c in range(width)},
        "na_values": [form for word in MISSING for form in (word, word.upper(), word.title())]
        + ["NaN"],
        "keep_default_na": False,
        "decimal": point,
        "low_memory": False,
        **({} if is_exact else {"float_precision": "round_trip"}),
    }


def _pieces(stream: IO[bytes], skip: int) -> Iterator[tuple[int, int, bytes]]:
    """Return pieces of whole lines: the number of lines before, that of its own, and the bytes."""
    before = 0
    while piece := stream.read(PIECE):
        piece += stream.readline()
        if before == 0:
            piece = piece.removeprefix(codecs.BOM_UTF8)
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not piece.endswith(b"\n"):
            piece += b"\n"
        n_lines = piece.count(b"\n")
        gone = min(max(skip - before, 0), n_lines)
        if gone < n_lines:
            yield before + gone, n_lines - gone, piece.split(b"\n", gone)[-1] if gone else piece
        before += n_lines


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    for piece in pieces:
        yield from StringIO(piece.decode())


def _numbers(source: Source, layout: Layout, chosen: list[int], point: str) -> Table:
    with source.binary() as stream:
        values, lines = _Reader(source.name, layout, chosen, point).read(stream)
    notes: tuple[str, ...] = (
        () if point == "." else (f"{source.name}: read with decimal commas (1,5 is 1.5)",)
    )
    names = tuple(layout.names[c] for c in chosen)
    if names[0] == "column 1" and np.array_equal(values[:, 0], np.arange(len(values))):
        notes += (f"{source.name}: column 1 has no name and counts the rows; is it data?",)
    return Table(names, values, source.name, layout.header, notes, lines)


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
