"""Readers of tables: what they accept, what they say, and that nothing else comes out."""

from __future__ import annotations

import gzip
import io
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gsr import tables
from gsr.exceptions import GSRError
from gsr.tables import Table
from gsr.tables import text as tables_text

NAN = math.nan


def read(folder: Path, content: str | bytes, name: str = "t.csv", **options: Any) -> Table:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return tables.read(path, **options)


# ---- text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2.5\n-3,4e2\n", ("a", "b")),
        ("a;b\n1;2.5\n-3;4e2", ("a", "b")),
        ("a\tb\r\n1\t2.5\r\n-3\t4e2\r\n", ("a", "b")),
        ("a  b\n 1   2.5 \n-3 \t 4e2\n", ("a", "b")),
        ("a,b\r1,2.5\r-3,4e2\r", ("a", "b")),
        ("1,2.5\n-3,4e2\n", ("x1", "x2")),
        ("\ufeffa,b\n1,2.5\n-3,4e2\n", ("a", "b")),
        ("# made today\n\n# by hand\na, b\n1, 2.5\n# pause\n\n-3, 4e2\n", ("a", "b")),
        ('"a, in m","b ""q"""\n"1","2.5"\n-3,4e2\n', ("a, in m", 'b "q"')),
        ('"a b" µ\n1 2.5\n-3 4e2\n', ("a b", "µ")),
        ("a;b\n1;2,5\n-3;4e2\n", ("a", "b")),
        ("a b\n1,0 2,5\n-3,0 400,0\n", ("a", "b")),
        ("t,2020\n1,2.5\n-3,4e2\n", ("t", "2020")),
        (" a , b \n 1 , 2.5 \n -3 , 4e2 \n", ("a", "b")),
    ],
)
def test_text_is_read_however_it_is_written(
    text: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    table = read(tmp_path, text)
    assert table.names == names
    np.testing.assert_array_equal(table.values, [[1, 2.5], [-3, 400]])
    assert table.named == (names[0] != "x1")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_missing_values_are_nan(delimiter: str, tmp_path: Path) -> None:
    rows = ["a|b|c", "1||3", "|NA|null", "N/A|nan|", "7|None|-inf", "|2|"]
    table = read(tmp_path, "\n".join(rows).replace("|", delimiter))
    expected = [[1, NAN, 3], [NAN] * 3, [NAN] * 3, [7, NAN, -math.inf], [NAN, 2, NAN]]
    np.testing.assert_array_equal(table.values, expected)


def test_lines_of_rows_are_known(tmp_path: Path) -> None:
    table = read(tmp_path, "# c\na,b\n1,2\n\n# c\n3,\n")
    assert [table.place(row) for row in range(2)] == ["line 3", "line 6"]


def test_big_files_are_read_in_blocks(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(50_000, 3))
    rows = [",".join(map(repr, row)) for row in values.tolist()]
    rows[30_000] = ",,"
    rows[45_000] = '"1","2","3"'
    values[30_000], values[45_000] = NAN, (1, 2, 3)
    table = read(tmp_path, "\n".join(["a,b,c", *rows]))
    np.testing.assert_array_equal(table.values, values)
    assert table.place(49_999) == "line 50001"
    with pytest.raises(GSRError, match=r"line 40002, column 'b' \(2\): 'oops' is not a number"):
        read(tmp_path, "\n".join(["a,b,c", *rows[:40_000], "1,oops,2", *rows[40_000:]]))


def test_header_and_delimiter_can_be_forced(tmp_path: Path) -> None:
    years = "2020,2021\n1,2\n3,4\n"
    assert len(read(tmp_path, years).values) == 3
    assert read(tmp_path, years, header=True).names == ("2020", "2021")
    assert read(tmp_path, "1|2\n3|4\n", delimiter="|").values.tolist() == [[1, 2], [3, 4]]
    assert read(tmp_path, "1 2\n3 4\n", delimiter="space").values.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(GSRError, match="delimiter must be ',', ';', 'tab'"):
        read(tmp_path, years, delimiter="::")
    with pytest.raises(GSRError, match="line 1, column 'x1'"):
        read(tmp_path, "a,b\n1,2\n", header=False)


def test_a_first_row_of_text_and_numbers_is_data(tmp_path: Path) -> None:
    table = read(tmp_path, "Mercury,0.4\nVenus,0.7\n", columns=[2])
    assert (table.names, table.values.tolist()) == (("x2",), [[0.4], [0.7]])


def test_columns_are_chosen_by_name_or_number(tmp_path: Path) -> None:
    text = "body,a,b,2\nEarth,1,2,3\nMars,4,5,6\n"
    assert read(tmp_path, text, columns=["b", "a"]).values.tolist() == [[2, 1], [5, 4]]
    assert read(tmp_path, text, columns=[3, "2"]).names == ("b", "2")
    assert read(tmp_path, text, columns=lambda names: names[2:]).names == ("b", "2")
    with pytest.raises(GSRError, match="no column 'bb'; did you mean 'b'"):
        read(tmp_path, text, columns=["bb"])
    with pytest.raises(GSRError, match="no column 9; columns are 1 to 4"):
        read(tmp_path, text, columns=[9])
    with pytest.raises(GSRError, match="no column is left"):
        read(tmp_path, text, columns=[])


def test_a_chosen_column_does_not_hide_a_ragged_row(tmp_path: Path) -> None:
    with pytest.raises(GSRError, match="line 3: 4 fields, but the header has 3"):
        read(tmp_path, "n,a,b\nu,1,2\nv,w,3,4\n", columns=["a", "b"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n \n# nothing\n", "holds no rows"),
        (b"a,b\n", "there is a header, but there are no rows below it"),
        (b"a,b\n1,2\n3\n", "line 3: 1 field, but the header has 2"),
        (b"1,2\n3,4,5\n", "line 2: 3 fields, but the first row has 2"),
        (b"a,b\n1,2\n3,x y\n", "line 3, column 'b' (2): 'x y' is not a number"),
        (b"a,b c\n1,2\n3,x\n", "use --drop 'b c', or choose columns with --features"),
        (b"a,b\n1,1_000\n", "'1_000' is not a number"),
        (b"a,b\n1,2\n3," + 99 * b"z", f"'{40 * 'z'}...' is not a number"),
        (b"a,b,a\n1,2,3\n", "columns 1 and 3 are both named 'a'"),
        (b"a,b\n1,2\n\xff,4\n", "line 3: byte 0xff is not UTF-8"),
        (b"a,b\n1,2\n1\x002,4\n", "line 3: a NUL byte"),
        (b"a,b\n1,2\n1\x00,4\n", "line 3: a NUL byte"),
        (b'a,b\n1,2\n"3,4\n5,6\n', "line 3: a quote is not closed"),
        (b'a,b\n"' + 200_000 * b"1" + b'",2\n', "line 2: field larger than field limit"),
        (b"a;b\n1,5;2\n1.5;2\n", "decimal points and decimal commas are mixed"),
        (b"\xff\xfea\x00", "UTF-16: save it as UTF-8"),
        (b"\x89HDF\r\n\x1a\n....", "an HDF5 file"),
        (b"PK\x03\x04 not a zip", "damaged, cut off or cannot be unpacked"),
        (b"\x93NUMPY\x01\x00", "not a readable NPY or NPZ"),
        (b"PAR1 garbage", "not a readable Parquet file"),
        (gzip.compress(b"a,b\n1,2\n" * 999, mtime=0)[:-20], "damaged or cut off"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
    ],
)
def test_mistakes_are_named(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(GSRError) as error:
        read(tmp_path, content)
    assert str(error.value).startswith(str(tmp_path / "t.csv"))
    assert message in str(error.value)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(GSRError, match="is a folder, not a file"):
        tables.read(tmp_path)
    with pytest.raises(GSRError, match="there is no such file"):
        tables.read(tmp_path / "none.csv")


def test_an_index_column_is_told(tmp_path: Path) -> None:
    table = read(tmp_path, ",a\n0,5\n1,6\n")
    assert table.names == ("column 1", "a")
    assert "counts the rows" in table.notes[0]


def test_decimal_commas_are_told(tmp_path: Path) -> None:
    assert "decimal commas" in read(tmp_path, "a;b\n1;2\n3;4,5\n").notes[0]


# ---- two readers of text ---------------------------------------------------------------------


def outcome(path: Path, **options: Any) -> Any:
    try:
        table = tables.read(path, **options)
    except GSRError as error:
        return str(error)
    lines = None if table.lines is None else table.lines.tolist()
    return table.names, [[repr(v) for v in row] for row in table.values.tolist()], lines


TRICKY = [
    "a,b\n1,2\n3,4,5\n6\n",
    "a,b\n1,2,\n3,4,\n",
    "a,b\n1, 2 \n ,4\n  \n5,nAn\n",
    "a,b\n1,2\r3,4\r\n5,\r\n",
    "a b\n1 2\n3\n4 5 6\n",
    "a b\n1 2\n \t3  nan \n4 5\n",
    "a;b\n1;2,5\n3;4\n",
    "a\tb\n1\t\n\t2\n",
    "a,b\n1e400,-inf\n+5,.5\n5.,Infinity\n",
    "a,b\n1d5,2\n",
    "a,b\n0x10,2\n",
    "a,b\n1e,2\n",
    "a,b\nTrue,2\n",
    'a,b\n1,2\n"3",4\n5,6\n',
    'a,b\n1,2\n"3,\n4",4\n5,6\n',
    "a,b\n1,2\n# c\n3,4 # d\n",
    "a\n1\n\n2\n",
    "n,a\nu,1\nv\nw,2,3\n",
    "n a\nu 1\nv 2\n",
    "n,a\nü,1\nv,2\n",
]


@settings(max_examples=400)
@given(
    st.text("0123456789.,;\t \n\r\"#'eE+-naNA_xif\0", max_size=60),
    st.sampled_from([None, ",", ";", "tab", "space"]),
    st.sampled_from([None, [1], [2, 1]]),
    st.sampled_from([7, 1 << 20]),
)
@example("".join(TRICKY), None, None, 7)
def test_pandas_and_csv_read_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    delimiter: str | None,
    columns: list[int] | None,
    piece: int,
) -> None:
    check_readers(tmp_path_factory.getbasetemp(), text, piece, delimiter, columns)


@pytest.mark.parametrize("text", TRICKY)
def test_pandas_and_csv_read_tricky_files_the_same(text: str, tmp_path: Path) -> None:
    for piece, columns in itertools.product((7, 1 << 20), (None, [2], [2, 1])):
        check_readers(tmp_path, text, piece, None, columns)


def check_readers(folder: Path, text: str, piece: int, delimiter: Any, columns: Any) -> None:
    path = folder / "both"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables_text, "PIECE", piece)
        by_pandas = outcome(path, delimiter=delimiter, columns=columns)
        patch.setattr(tables_text._Reader, "_by_pandas", lambda *_: None)
        patch.setattr(tables_text, "PIECE", 1 << 20)
        assert by_pandas == outcome(path, delimiter=delimiter, columns=columns)


# ---- binary ----------------------------------------------------------------------------------


def saved(write: Any, *values: Any, **named: Any) -> bytes:
    stream = io.BytesIO()
    write(stream, *values, **named)
    return stream.getvalue()


STRUCTURED = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f4")])
X = np.array([[1.0, 2.5], [3.0, 4.5]])


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (saved(np.save, X), ("x1", "x2")),
        (saved(np.save, STRUCTURED), ("a", "b")),
        (saved(np.savez, X), ("arr_01", "arr_02")),
        (saved(np.savez_compressed, X=X[:, :1], y=X[:, 1]), ("x1", "y")),
        (saved(np.savez, u=X[:, 0].astype(int), v=X[:, 1]), ("u", "v")),
        (gzip.compress(saved(np.save, X), mtime=0), ("x1", "x2")),
    ],
)
def test_numpy_files(content: bytes, names: tuple[str, ...], tmp_path: Path) -> None:
    table = read(tmp_path, content, "t.bin")
    assert table.names == names
    np.testing.assert_array_equal(table.values, X)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (saved(np.save, np.array(["a", "b"])), "<U1 values are not numbers"),
        (saved(np.save, np.zeros((2, 2, 2))), "must have one or two dimensions"),
        (saved(np.save, np.array([{}], dtype=object)), "allow_pickle"),
        (saved(np.savez, a=np.zeros(2), b=np.zeros(3)), "differ in their number of rows"),
        (saved(np.save, np.zeros((0, 3))), "the table has no rows"),
        (saved(np.save, X)[:-3], "not a readable NPY"),
    ],
)
def test_numpy_files_that_do_not_do(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(GSRError, match=message):
        read(tmp_path, content)


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    columns = {"n": ["u", "v"], "a": [1, None], "b": [True, False], "c": pa.array([0.5, 1.5])}
    parquet.write_table(pa.table(columns), path)
    table = tables.read(path, columns=["a", "b", "c"])
    assert table.names == ("a", "b", "c")
    np.testing.assert_array_equal(table.values, [[1, 1, 0.5], [NAN, 0, 1.5]])
    with pytest.raises(GSRError, match="column 'n': string values are not numbers"):
        tables.read(path)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(GSRError, match=r"Parquet needs pyarrow; pip install pyarrow$"):
        read(tmp_path, b"PAR1....PAR1")


# ---- anything --------------------------------------------------------------------------------


def only_told(content: bytes, folder: Path) -> None:
    try:
        table = read(folder, content, "any")
    except (GSRError, OSError):
        return
    assert table.values.ndim == 2 and table.values.dtype == np.float64
    assert table.values.shape[1] == len(table.names) == len(set(table.names))
    assert len(table.values) > 0


VALID = [
    b"a,b\n1,2.5\n,4\n5,NA\n",
    b'"a x";b\n1;2,5\n3;4,5\n',
    b"1 2 3\n4 5 6\n",
    gzip.compress(b"a\tb\n1\t2\n3\t4\n", mtime=0),
    saved(np.save, X),
    saved(np.savez, X=X, y=X[:, 0]),
    saved(np.save, STRUCTURED),
]


@settings(max_examples=400)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@example(b"\x1f\x8b")
@example(b"0,\n,")
@example(b'"')
@example("\u2028,\x0b\n1,2".encode())
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    only_told(content, tmp_path_factory.getbasetemp())


@settings(max_examples=300)
@given(st.text("0123456789.,;\t \n\r\"#'eE+-naNA_x\0", max_size=80))
def test_any_text_that_looks_like_a_table(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    only_told(text.encode(), tmp_path_factory.getbasetemp())


@settings(max_examples=500)
@given(
    st.sampled_from(VALID),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4), st.integers(0, 4)), max_size=3),
    st.floats(0, 2),
)
def test_mutated_files(
    tmp_path_factory: pytest.TempPathFactory,
    content: bytes,
    changes: list[tuple[float, bytes, int]],
    kept: float,
) -> None:
    for where, put, gone in changes:
        at = int(where * len(content))
        content = content[:at] + put + content[at + gone :]
    only_told(content[: int(kept * len(content))], tmp_path_factory.getbasetemp())


@settings(max_examples=100)
@given(
    st.lists(st.lists(st.floats(), min_size=3, max_size=3), min_size=1, max_size=5),
    st.sampled_from([",", ";", "\t", " "]),
)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[float]], delimiter: str
) -> None:
    lines = [delimiter.join("abc"), *(delimiter.join(map(repr, row)) for row in rows)]
    table = read(tmp_path_factory.getbasetemp(), "\n".join(lines))
    np.testing.assert_array_equal(table.values, rows)
