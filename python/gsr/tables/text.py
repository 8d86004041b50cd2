"""Tables in text files: separated by commas, semicolons, tabs or blanks.

`layout_of` detects what separates the fields, and whether there is a header. pandas then reads the
pieces of the file whose lines are all whole rows of numbers. Any other piece is read row by row
with the module `csv`, which skips comments and blank lines and names mistakes.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.tables import Array, Columns, Table, not_a_number, select

if TYPE_CHECKING:
    import pandas

Cells = list[str]
Indices = npt.NDArray[np.int64]

MISSING = ("", "na", "n/a", "nan", "null", "none")
BLANKS = " "
#: The earlier is taken where two are equally likely.
DELIMITERS = ("\t", ";", ",", BLANKS)
SPELLED = {"tab": "\t", "\\t": "\t", "space": BLANKS, "comma": ",", "semicolon": ";"}
SAMPLE = 100
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_WORDS = re.compile(r'"([^"]*)"|(\S+)')
#: Bytes that are read at once, and rows of them if they are read one by one.
PIECE, BLOCK = 1 << 23, 20_000
ALL = bytes(range(256))
#: What pandas reads in its own way. A column in which all values are words for yes and no it takes
#: for ones and zeros, so there is one in the first line.
SPECIAL, YES_OR_NO = (b'"', b"#", b"\0"), (b"true", b"false")


class _NotANumberError(Exception):
    def __init__(self, line: int, column: int, cell: str) -> None:
        super().__init__(line, column, cell)
        self.line, self.column, self.cell = line, column, cell


def read(source: Source, columns: Columns, header: bool | None, delimiter: str | None) -> Table:
    """Read a text file; see `gsr.tables.read`."""
    try:
        layout = layout_of(source, header, delimiter)
        chosen = select(layout.names, columns, source.name)
        try:
            return _table(source, layout, chosen, ".")
        except _NotANumberError as error:
            if layout.delimiter == "," or not DECIMAL_COMMA.fullmatch(error.cell):
                raise
        return _table(source, layout, chosen, ",")
    except _NotANumberError as error:
        name, cell = layout.names[error.column], error.cell
        where = f"{source.name}, line {error.line}, column {name!r} ({error.column + 1})"
        is_mixed = DECIMAL_COMMA.fullmatch(cell) or number(cell) is not None
        hint = "; decimal points and decimal commas are mixed" if is_mixed else ""
        raise not_a_number(where, cell, name, hint) from None
    except UnicodeDecodeError as error:
        raise _bad_encoding(source) from error


def cells(
    source: Source, header: bool | None, delimiter: str | None
) -> tuple[tuple[str, ...], list[Cells]]:
    """Return the names of all columns, and the rows as they are written."""
    layout = layout_of(source, header, delimiter)
    with source.text() as stream:
        rows = _rows(_Lines(stream, source.name), layout.delimiter)
        return layout.names, [row for line, row in rows if line > layout.skip]


def _table(source: Source, layout: Layout, chosen: list[int], point: str) -> Table:
    with source.binary() as stream:
        values, lines = _Reader(source.name, layout, chosen, point).read(stream)
    notes = [] if point == "." else [f"{source.name}: read with decimal commas (1,5 is 1.5)"]
    names = tuple(layout.names[c] for c in chosen)
    if names[0] == "column 1" and np.array_equal(values[:, 0], np.arange(len(values))):
        notes.append(f"{source.name}: column 1 has no name and counts the rows; is it data?")
    return Table(names, values, source.name, layout.header, tuple(notes), lines)


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


# ---- layout --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """How a file is written."""

    #: Between fields; a blank stands for any run of blanks.
    delimiter: str
    #: Whether the first row holds names.
    header: bool
    names: tuple[str, ...]
    #: Lines before the first row of numbers.
    skip: int


def layout_of(source: Source, header: bool | None, delimiter: str | None) -> Layout:
    """Detect how a file is laid out, where that is not given."""
    with source.text() as stream:
        sample = list(itertools.islice(_Lines(stream, source.name), SAMPLE))
    if not sample:
        raise GSRError(f"{source.name}: the file holds no rows")
    chosen = _sniff(sample) if delimiter is None else _spelled(delimiter)
    with source.text() as stream:
        rows = _rows(_Lines(stream, source.name), chosen)
        first_line, first = next(rows)
        second = next(rows, (0, []))[1]
    names, named = names_of(first, second, header, source.name)
    return Layout(chosen, named, names, first_line if named else first_line - 1)


def names_of(
    first: Cells, second: Cells, header: bool | None, origin: str
) -> tuple[tuple[str, ...], bool]:
    """Return the names of the columns, and whether the first row holds them.

    A column without a name in a header is called by its number.
    """
    named = _is_header(first, second) if header is None else header
    if not named:
        return tuple(f"x{k + 1}" for k in range(len(first))), False
    if not second:
        raise GSRError(f"{origin}: there is a header, but there are no rows below it")
    return tuple(cell.strip() or f"column {k}" for k, cell in enumerate(first, start=1)), True


def _spelled(delimiter: str) -> str:
    chosen = SPELLED.get(delimiter.lower(), delimiter)
    if len(chosen) != 1 or chosen in '"\r\n\0#':
        allowed = ", ".join(map(repr, (",", ";", "tab", "space")))
        raise GSRError(f"delimiter must be {allowed} or another character, got {delimiter!r}")
    return chosen


def _sniff(sample: Sequence[str]) -> str:
    likely = {each: _likelihood(sample, each) for each in DELIMITERS}
    return max(likely, key=likely.__getitem__) if any(likely.values()) else ","


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


def _is_header(first: Cells, second: Cells) -> bool:
    """Whether the first row is names: no numbers, or text where the second has numbers."""
    kinds = [_kind(cell) for cell in first]
    if "text" not in kinds:
        return False
    if "number" not in kinds:
        return not any(DECIMAL_COMMA.fullmatch(cell) for cell in first)
    pairs = zip(kinds, map(_kind, second), strict=False)
    return any(kind == "text" and below == "number" for kind, below in pairs)


def _kind(cell: str) -> str:
    text = cell.strip()
    if text.lower() in MISSING:
        return "missing"
    return "text" if number(text) is None else "number"


# ---- cells ---------------------------------------------------------------------------------------


def number(text: str) -> float | None:
    """Return the number that a text is, None if it is none."""
    if "_" in text:  # 1_000 is for Python alone
        return None
    try:
        return float(text)
    except ValueError:
        return None


def value_of(cell: str, point: str = ".") -> float | None:
    """Return the number that a cell holds: NaN if it is missing, None if it is no number."""
    text = cell.strip()
    if text.lower() in MISSING:
        return math.nan
    if point == ",":
        return None if "." in text else number(text.replace(",", "."))
    return number(text)


class _Lines:
    """The lines of a file that hold rows: not blank, no comment; with their numbers."""

    def __init__(self, stream: Iterable[str], name: str, before: int = 0) -> None:
        self._stream, self.name = stream, name
        self.number = before

    def __iter__(self) -> Iterator[str]:
        for line in self._stream:
            self.number += 1
            if "\0" in line:
                raise GSRError(f"{self.name}, line {self.number}: a NUL byte; this is no text")
            text = line.lstrip()
            if text and text[0] != "#":
                yield line


def _rows(lines: _Lines, delimiter: str) -> Iterator[tuple[int, Cells]]:
    """Yield the rows of a file as cells, with the line in which each ends."""
    if delimiter == BLANKS:
        for line in lines:
            yield lines.number, _words(line)
        return
    reader = csv.reader(iter(lines), delimiter=delimiter, skipinitialspace=True, strict=True)
    before = lines.number
    try:
        for cells in reader:
            yield (before := lines.number), cells
    except csv.Error as error:
        told = "a quote is not closed" if "end of data" in str(error) else str(error)
        raise GSRError(f"{lines.name}, line {before + 1}: {told}") from error


# ---- numbers -------------------------------------------------------------------------------------


class _Reader:
    """Reads the chosen columns of the rows below the header, in pieces of the file."""

    def __init__(self, name: str, layout: Layout, chosen: list[int], point: str) -> None:
        self.name, self.layout, self.chosen, self.point = name, layout, chosen, point
        self.width = len(layout.names)
        self._options = _pandas_options(layout.delimiter, self.width, chosen, point)

    def read(self, stream: IO[bytes]) -> tuple[Array, Indices]:
        """Return the numbers, and the line of each row."""
        found = list(self._blocks(_pieces(stream, self.layout.skip)))
        values, lines = map(np.concatenate, zip(*found, strict=True))
        return np.ascontiguousarray(values), lines

    def _blocks(self, pieces: Iterator[tuple[int, int, bytes]]) -> Iterator[tuple[Array, Indices]]:
        for before, n_lines, piece in pieces:
            values = self._by_pandas(piece, n_lines)
            if values is not None:
                yield values, np.arange(before + 1, before + 1 + len(values))
                continue
            # A quoted field may go on in the next piece.
            rest = [each for *_, each in pieces] if b'"' in piece else []
            lines = (line for each in (piece, *rest) for line in StringIO(each.decode()))
            rows = _rows(_Lines(lines, self.name, before), self.layout.delimiter)
            while block := list(itertools.islice(rows, BLOCK)):
                numbers = np.array([line for line, _ in block])
                yield np.array([self._row(*each) for each in block]), numbers

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
