"""Tables in sheets of Excel workbooks (.xlsx), read as the same table in a text file is."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gsr.exceptions import GSRError
from gsr.files import Source
from gsr.tables import Columns, Table, not_a_number, select
from gsr.tables.text import names_of, value_of

#: A number, text, or None for an empty cell.
Cell = float | str | None
#: A row of the sheet: its number, and its cells.
Row = tuple[int, list[Cell]]


def read(source: Source, columns: Columns, header: bool | None, sheet: str | None) -> Table:
    """Read a sheet; see `gsr.tables.read`."""
    title, others, rows = _sheet(source, sheet)
    origin = f"{source.name}, sheet {title!r}"
    rows, before = _trimmed(rows)
    if not rows:
        raise GSRError(f"{origin}: the sheet holds no rows")
    first = [_text(cell) for cell in rows[0][1]]
    second = [_text(cell) for cell in rows[1][1]] if len(rows) > 1 else []
    names, named = names_of(first, second, header, origin)
    rows = rows[1:] if named else rows
    chosen = select(names, columns, origin)
    places = [(c, c + before + 1) for c in chosen]
    values = np.array(
        [[_number(cells[c], k, p, names[c], origin) for c, p in places] for k, cells in rows]
    )
    _check_formulas(source, title, origin, rows, places)
    note = f"{source.name}: read the first sheet, {title!r}; --sheet chooses another"
    notes = (note,) if sheet is None and others else ()
    numbers = np.array([k for k, _ in rows])
    return Table(tuple(names[c] for c in chosen), values, origin, named, notes, numbers, "row")


@contextmanager
def _opened(source: Source, values: bool) -> Iterator[Any]:
    """Open a workbook to read the values of its cells, or their formulas."""
    try:
        import openpyxl
    except ImportError as error:
        told = f"{source.name}: Excel workbooks need openpyxl; pip install openpyxl"
        raise GSRError(told) from error
    try:
        with source.seekable() as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and other things that no table needs
            book = openpyxl.load_workbook(
                stream, read_only=True, data_only=values, keep_links=False
            )
            try:
                yield book
            finally:
                book.close()
    except (GSRError, MemoryError):
        raise
    except Exception as error:  # a damaged file fails in any way
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise GSRError(f"{source.name} is not a readable Excel workbook: {reason}") from error


def _sheet(source: Source, wanted: str | None) -> tuple[str, bool, list[Row]]:
    """Return the title of a sheet, whether there are others, and its rows."""
    with _opened(source, values=True) as book:
        sheets = {each.title: each for each in book.worksheets}
        if not sheets:
            raise GSRError(f"{source.name}: the workbook has no sheet")
        title = next(iter(sheets)) if wanted is None else wanted
        if title not in sheets:
            there = ", ".join(map(repr, sheets))
            raise GSRError(f"{source.name}: there is no sheet {wanted!r}; there are {there}")
        return title, len(sheets) > 1, list(_rows(sheets[title]))


def _cells(sheet: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    sheet.reset_dimensions()  # what a file says about its size may be wrong
    return enumerate(sheet.iter_rows(), start=1)


def _rows(sheet: Any) -> Iterator[Row]:
    """Return the rows that are neither empty nor a comment."""
    for number, found in _cells(sheet):
        cells = [_cell(each.value) for each in found]
        first = next((each for each in cells if each not in (None, "")), None)
        is_comment = isinstance(first, str) and first.startswith("#")
        is_error = any(each.data_type == "e" for each in found)
        if first is not None and (is_error or not is_comment):
            yield number, cells


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str):
        return None if value is None else value.strip()
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return float(value) if isinstance(value, int | float) else str(value)


def _trimmed(rows: list[Row]) -> tuple[list[Row], int]:
    """Return rows of equal length without the empty columns around the table; how many before."""
    filled = [[c for c, cell in enumerate(cells) if cell not in (None, "")] for _, cells in rows]
    if not filled:
        return [], 0
    first, end = min(each[0] for each in filled), max(each[-1] for each in filled) + 1
    padded = ((k, [*cells, *[None] * (end - len(cells))]) for k, cells in rows)
    return [(k, cells[first:end]) for k, cells in padded], first


def _text(cell: Cell) -> str:
    """Return what a text file would hold."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return "" if cell is None else str(cell)


def _number(cell: Cell, row: int, column: int, name: str, origin: str) -> float:
    if isinstance(cell, float):
        return cell
    value = value_of(cell or "")
    if value is None:
        where = f"{origin}, cell {_place(row, column)}, column {name!r}"
        raise not_a_number(where, cell or "", name)
    return value


def _place(row: int, column: int) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column)}{row}"


def _check_formulas(
    source: Source, title: str, origin: str, rows: list[Row], places: list[tuple[int, int]]
) -> None:
    """Raise if a cell without a value has a formula: no program has ever worked it out."""
    empty = {(k, p) for k, cells in rows for c, p in places if cells[c] is None}
    if not empty:
        return
    with _opened(source, values=False) as book:
        for row, cells in _cells(book[title]):
            for column, cell in enumerate(cells, start=1):
                if (row, column) in empty and cell.data_type == "f":
                    raise GSRError(
                        f"{origin}, cell {_place(row, column)}: a formula without a stored value; "
                        f"open the workbook in a spreadsheet program and save it, or save it as CSV"
                    )
