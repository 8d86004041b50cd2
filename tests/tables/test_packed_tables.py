"""Tables in Excel workbooks and ZIP archives, and files of every kind that are damaged."""

from __future__ import annotations

import contextlib
import datetime
import gzip
import io
import os
import random
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gsr import files, tables
from gsr.cli import main
from gsr.exceptions import GSRError

openpyxl = pytest.importorskip("openpyxl")
ROWS = [["a", "b", "y"], *([k + 1, 0.5 * k, 2.0 * (k + 1) + k] for k in range(12))]
VALUES = np.array(ROWS[1:], dtype=float)


def workbook(*sheets: list[list[Any]], titles: tuple[str, ...] = ()) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for k, rows in enumerate(sheets):
        sheet = book.create_sheet(titles[k] if titles else f"Sheet{k + 1}")
        for row in rows:
            sheet.append(row)
    return saved(book)


def saved(book: Any) -> bytes:
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def text(rows: list[list[Any]]) -> bytes:
    lines = (",".join("" if cell is None else str(cell) for cell in row) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def zipped(packing: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return stream.getvalue()


def npy(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def read(content: bytes, tmp_path: Path, name: str = "t.xlsx", **options: Any) -> tables.Table:
    path = tmp_path / name
    path.write_bytes(content)
    return tables.read(path, **options)


# ---- Excel -------------------------------------------------------------------------------------


def test_the_first_sheet_is_read(tmp_path: Path) -> None:
    found = read(workbook(ROWS), tmp_path)
    assert found.names == ("a", "b", "y")
    np.testing.assert_array_equal(found.values, VALUES)
    assert found.named and not found.notes
    assert found.place(0) == "row 2"


def test_a_sheet_is_chosen_by_its_name(tmp_path: Path) -> None:
    book = workbook([["c", "d"], [1, 2]], ROWS, titles=("other", "my data"))
    first = read(book, tmp_path)
    assert first.names == ("c", "d")
    assert first.notes == (
        f"{tmp_path / 't.xlsx'}: read the first sheet, 'other'; --sheet chooses another",
    )
    chosen = read(book, tmp_path, sheet="my data")
    np.testing.assert_array_equal(chosen.values, VALUES)
    assert chosen.notes == ()
    with pytest.raises(GSRError, match=r"no sheet 'x'; there are 'other', 'my data'"):
        read(book, tmp_path, sheet="x")
    with pytest.raises(GSRError, match=r"is no Excel workbook: it has no sheet 'x'"):
        read(text(ROWS), tmp_path, "t.csv", sheet="x")


GAPS: list[list[Any]] = [["a", None, "y"], [1, 2, None], [None, 5.5, "NA"], ["7", " 8e1 ", 9]]


@pytest.mark.parametrize("header", [None, True, False])
@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [[1, 2.5, 4], [3, 4.5, 7]],
        GAPS,
        [["# a remark"], *ROWS],
        [["a", 2020, "y"], [1, 2, 3]],
        [["a", 1, 2], ["b", 3, 4]],
        [[1, 2], [3, 4]],
    ],
)
def test_a_sheet_is_read_like_text(rows: Any, header: bool | None, tmp_path: Path) -> None:
    try:
        expected = read(text(rows), tmp_path, "t.csv", header=header)
    except GSRError:
        with pytest.raises(GSRError, match="is not a number"):
            read(workbook(rows), tmp_path, header=header)
        return
    found = read(workbook(rows), tmp_path, header=header)
    assert found.names == expected.names
    assert found.named == expected.named
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.lines, expected.lines)


def test_empty_rows_and_columns_around_a_table_are_no_part_of_it(tmp_path: Path) -> None:
    rows: list[list[Any]] = [[], [None, None, *ROWS[0]], [None], [None, "", *ROWS[1], None]]
    found = read(workbook([*rows, [None, None, 1, "x", 2]][:-1]), tmp_path)
    assert found.names == ("a", "b", "y")
    np.testing.assert_array_equal(found.values, VALUES[:1])
    assert found.place(0) == "row 4"
    with pytest.raises(GSRError, match=r"cell D5, column 'b': 'x' is not a number"):
        read(workbook([*rows, [None, None, 1, "x", 2]]), tmp_path)


def test_merged_cells_have_one_value(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    found = read(saved(book), tmp_path)
    assert np.isnan(found.values[1, 0])
    assert found.values[0, 0] == VALUES[0, 0]


def test_the_size_that_a_sheet_states_is_not_believed(tmp_path: Path) -> None:
    source, stream = zipfile.ZipFile(io.BytesIO(workbook(ROWS))), io.BytesIO()
    with zipfile.ZipFile(stream, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, content.replace(b'ref="A1:C13"', b'ref="A1"'))
    assert b'ref="A1"' in zipfile.ZipFile(stream).read("xl/worksheets/sheet1.xml")
    np.testing.assert_array_equal(read(stream.getvalue(), tmp_path).values, VALUES)


DAY = datetime.datetime(2024, 1, 5)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (DAY, "cell A2, column 'a': '2024-01-05T00:00:00' is not a number; to leave"),
        (DAY.date(), "'2024-01-05T00:00:00' is not a number"),
        (datetime.time(1, 2), "'01:02:00' is not a number"),
        (True, "'TRUE' is not a number"),
        ("five", "'five' is not a number; to leave the column out use --drop a"),
        ("#DIV/0!", "'#DIV/0!' is not a number"),
        ("1_000", "'1_000' is not a number"),
        ("=B2*2", "cell A2: a formula without a stored value; open the workbook"),
    ],
)
def test_cells_that_hold_no_number_are_named(cell: Any, message: str, tmp_path: Path) -> None:
    content = workbook([["a", "b", "y"], [cell, 1, 2], [3, 4, 5]])
    with pytest.raises(GSRError) as told:
        read(content, tmp_path)
    assert message in str(told.value)
    assert str(told.value).startswith(f"{tmp_path / 't.xlsx'}, sheet 'Sheet1', cell A2")
    assert read(content, tmp_path, columns=["b", "y"]).names == ("b", "y")
    assert read(content, tmp_path, columns=["y", 2]).names == ("y", "b")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the sheet holds no rows"),
        ([["# nothing"], [None]], "the sheet holds no rows"),
        ([["a", "b"]], "there is a header, but there are no rows below it"),
        ([["a", "a"], [1, 2]], "columns 1 and 2 are both named 'a'"),
    ],
)
def test_sheets_without_a_table(rows: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(GSRError, match=message):
        read(workbook(rows), tmp_path)


def test_a_workbook_without_openpyxl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(GSRError, match=r"Excel workbooks need openpyxl; pip install openpyxl$"):
        read(workbook(ROWS), tmp_path)


def test_a_workbook_is_fitted_and_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, run = tmp_path / "d.xlsx", str(tmp_path / "run")
    path.write_bytes(workbook([["notes"]], ROWS, titles=("about", "data")))
    asked = ["fit", str(path), "--sheet", "data", "--max-evals", "300", "--seed", "0", "-o", run]
    assert main(asked) == 0
    assert main(["fit", "--config", f"{run}/config.toml", "-q"]) == 0  # data.sheet is in it
    assert main(["predict", run, str(path), "--sheet", "data"]) == 0
    capsys.readouterr()
    assert main(["predict", run, str(path)]) == 2
    assert "sheet 'about'" in capsys.readouterr().err


# ---- archives ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t_csv", text(ROWS)),
        ("folder__t_csv", text(ROWS)),
        ("t_csv_gz", gzip.compress(text(ROWS), mtime=0)),
        ("t_xlsx", workbook(ROWS)),
    ],
)
def test_the_one_table_in_an_archive_is_read(
    name: str, content: bytes, packing: int, tmp_path: Path
) -> None:
    hidden = {"__MACOSX__._t_csv": b"x", "_DS_Store": b"x"}
    found = read(zipped(packing, **{name: content}, **hidden), tmp_path, "t.csv.zip")
    assert found.names == ("a", "b", "y")
    np.testing.assert_array_equal(found.values, VALUES)


def test_arrays_in_archives(tmp_path: Path) -> None:
    one = zipped(t_npy=npy(VALUES))
    assert read(one, tmp_path, "t.zip").names == ("x1", "x2", "x3")
    assert read(one, tmp_path, "t.npz").names == ("t1", "t2", "t3")
    several = zipped(X_npy=npy(VALUES[:, :2]), y_npy=npy(VALUES[:, 2]))
    assert read(several, tmp_path, "t.zip").names == ("x1", "x2", "y")
    assert read(zipped(t_npz=several), tmp_path, "t.zip").names == ("x1", "x2", "y")
    assert read(gzip.compress(several), tmp_path, "t.npz.gz").names == ("x1", "x2", "y")


def test_mistakes_in_archives_name_the_member(tmp_path: Path) -> None:
    with pytest.raises(GSRError, match=r"t\.zip \(t\.csv\), line 3, column 'a'"):
        read(zipped(t_csv=b"a,b\n1,2\nx,3\n"), tmp_path, "t.zip")
    with pytest.raises(GSRError, match=r"t\.zip \(t\.csv\), line 2: byte 0xff"):
        read(zipped(t_csv=b"a,b\n1,\xff\n"), tmp_path, "t.zip")


MANY = {f"t{k}_csv": text(ROWS) for k in range(12)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(a_csv=text(ROWS), b_txt=b"x"), r"with 2 files \('a.csv', 'b.txt'\); one with"),
        (zipped(**MANY), r"with 12 files \('t0.csv', .*'t9.csv', \.\.\.\)"),
        (zipped(), "is a ZIP archive without files"),
        (zipped(_hidden=b"x"), "is a ZIP archive without files"),
        (zipped(t_csv=b""), r"\(t.csv\): the file is empty"),
        (zipped(t_zip=zipped(t_csv=text(ROWS))), "is a ZIP archive inside another"),
        (zipped(mimetype=b"x", content_xml=b"<x/>"), r"an OpenDocument file \(\.ods\): save it"),
        (zipped(xl__workbook_bin=b""), r"\(\.xlsb\): save it as \.xlsx or CSV"),
        (zipped(word__document_xml=b""), "a Word document"),
        (zipped(xl__workbook_xml=b"<x"), "is not a readable Excel workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), r"\.xls.*save it as \.xlsx"),
    ],
)
def test_archives_that_hold_no_table(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(GSRError, match=message):
        read(content, tmp_path, "t.zip")


def test_an_encrypted_archive_is_told(tmp_path: Path) -> None:
    content = bytearray(zipped(t_csv=text(ROWS)))
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(magic) + place] |= 1
    with pytest.raises(GSRError, match="has a password; unpack it first"):
        read(bytes(content), tmp_path, "t.zip")


@pytest.mark.parametrize("pack", [gzip.compress, lambda content: zipped(t_csv=content)])
def test_what_unpacks_without_end_is_not_unpacked(
    pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_UNPACKED", 1 << 20)
    content = pack(b"1,2\n" * (1 << 20))
    with pytest.raises(GSRError, match="unpacks to more than 200 times its size"):
        read(content, tmp_path, "t.zip")
    with pytest.raises(GSRError, match="unpacks to more than 200 times its size"):
        read(pack(bytes(1 << 24)), tmp_path, "t.zip")
    monkeypatch.setattr(files, "MOST_UNPACKED", 1 << 23)
    assert len(read(content, tmp_path, "t.zip").values) == 1 << 20


def test_a_workbook_that_unpacks_without_end_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_UNPACKED", 1 << 16)
    stream = io.BytesIO(workbook(ROWS))
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", bytes(1 << 24))
    with pytest.raises(GSRError, match="unpacks to more than 200 times its size"):
        read(stream.getvalue(), tmp_path)


# ---- any bytes -----------------------------------------------------------------------------------


def parquet() -> bytes:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    stream = io.BytesIO()
    columns = {name: VALUES[:, k] for k, name in enumerate(ROWS[0])}
    parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


def whole() -> dict[str, bytes]:
    """Return a table in each kind of file."""
    plain = text(ROWS)
    return {
        "csv": plain,
        "tsv": plain.replace(b",", b"\t"),
        "txt": plain.replace(b",", b" "),
        "csv.gz": gzip.compress(plain, mtime=0),
        "npy": npy(VALUES),
        "npy.gz": gzip.compress(npy(VALUES), mtime=0),
        "npz": zipped(X_npy=npy(VALUES[:, :2]), y_npy=npy(VALUES[:, 2])),
        "parquet": parquet(),
        "xlsx": workbook(ROWS),
        "zip": zipped(t_csv=plain),
        "csv.zip": zipped(t_csv=plain),
        "xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000),
        "ods": zipped(mimetype=b"application/vnd", content_xml=b"<a/>"),
    }


def damaged(content: bytes) -> dict[str, bytes]:
    """Return what may become of a file; no table is left of any."""
    draw = random.Random(0)
    garbled = bytearray(content)
    for _ in range(len(content) // 4 + 1):
        garbled[draw.randrange(len(garbled))] = draw.randrange(128, 256)
    return {
        "empty": b"",
        "cut off": content[: len(content) // 2] + b"\n,",
        "start": content[:6],
        "garbled": bytes(garbled),
        "garbled start": b"\x00\x01" + content,
        "binary": draw.randbytes(3000),
        "NUL": bytes(3000),
        "UTF-16": "a,b\n1,2\n3,4\n".encode("utf-16"),
        "UTF-16 without mark": "a,b\n1,2\n3,4\n".encode("utf-16-le"),
        "latin 1": b"a,b\n1,\xe4\n",
        "quote": b'a,b\n1,"2\n' + content,
        "words": b"lorem ipsum\ndolor sit amet\n",
        "one line": b"x" * 300_000,
        "magic only": content[:4],
    }


KINDS = ["csv", "tsv", "txt", "csv.gz", "npy", "npy.gz", "npz", "parquet", "xlsx", "zip", "csv.zip"]


@pytest.mark.parametrize("kind", [*KINDS, "xls", "ods"])
def test_damaged_files_end_in_a_message(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for case, content in damaged(whole()[kind]).items():
        path = tmp_path / f"{case}.{kind}"
        path.write_bytes(content)
        code = main(["fit", str(path), "--max-evals", "100", "--missing", "drop"])
        told = capsys.readouterr()
        assert code == 2, (case, told)
        assert told.err.startswith("gsr: "), case
        assert "Traceback" not in told.err
        assert told.out == "", case
        assert main(["predict", str(path), str(path)]) == 2, case  # it is no model either
        assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_changed_bytes_raise_no_other_error(kind: str, tmp_path: Path) -> None:
    content, path = whole()[kind], tmp_path / f"t.{kind}"
    draw = random.Random(kind)
    for _ in range(150):
        changed = bytearray(content)
        for _ in range(draw.choice((1, 2, 8))):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        cut = draw.choice((len(changed), draw.randrange(len(changed))))
        path.write_bytes(bytes(changed[:cut]))
        with contextlib.suppress(GSRError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tables.read(path)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_files_are_tables(kind: str, tmp_path: Path) -> None:
    assert read(whole()[kind], tmp_path, f"t.{kind}").values.shape == VALUES.shape
    assert not [name for name in os.listdir(tmp_path) if name != f"t.{kind}"]
