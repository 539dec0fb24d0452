"""Tables: every source gives the same columns, and every kind of bad input its own error."""

import gzip
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb.data.table import Table
from vfxgb.errors import (
    ColumnNameError,
    ColumnTypeError,
    ColumnValueError,
    MissingPackageError,
    TableError,
)

VALUES = np.array([[1.0, 0.5], [2.0, np.nan], [3.0, -4.25]])
CSV = "age,income\n1,0.5\n2,\n3,-4.25\n"


def from_numpy(folder: Path) -> Any:
    return VALUES


def from_mapping(folder: Path) -> Any:
    return {"age": [1, 2, 3], "income": [0.5, None, -4.25]}


def from_pandas(folder: Path) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"age": [1, 2, 3], "income": VALUES[:, 1]})


def from_pandas_nullable(folder: Path) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"age": [1, 2, 3], "income": [0.5, None, -4.25]}).astype(
        {"age": "Int64", "income": "Float64"}
    )


def from_polars(folder: Path) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"age": [1, 2, 3], "income": [0.5, None, -4.25]})


def from_arrow(folder: Path) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({"age": [1, 2, 3], "income": [0.5, None, -4.25]})


def from_csv(folder: Path) -> Any:
    (folder / "t.csv").write_text(CSV)
    return folder / "t.csv"


def from_gzip(folder: Path) -> Any:
    with gzip.open(folder / "t.csv.gz", "wt") as file:
        file.write(CSV.replace("2,\n", "2,NA\n"))
    return str(folder / "t.csv.gz")


def from_parquet(folder: Path) -> Any:
    pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(from_arrow(folder), folder / "t.parquet")
    return folder / "t.parquet"


SOURCES = [
    from_numpy,
    from_mapping,
    from_pandas,
    from_pandas_nullable,
    from_polars,
    from_arrow,
    from_csv,
    from_gzip,
    from_parquet,
]


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_columns(source: Any, tmp_path: Path) -> None:
    names = ["age", "income"] if source is from_numpy else None
    table = Table.read(source(tmp_path), names=names, party="bank")
    assert table.names == ("age", "income")
    assert (table.n_rows, table.n_features, table.party) == (3, 2, "bank")
    np.testing.assert_array_equal(table.matrix(), VALUES.astype(np.float32))
    column = table.column("income")
    assert column.dtype == np.float32
    assert column.flags.c_contiguous


@pytest.mark.parametrize("source", [from_mapping, from_pandas, from_polars, from_arrow, from_csv, from_parquet])
def test_columns_can_be_picked(source: Any, tmp_path: Path) -> None:
    assert Table.read(source(tmp_path), columns=["income"]).names == ("income",)
    with pytest.raises((ColumnNameError, TableError), match=r"salary|column"):
        Table.read(source(tmp_path), columns=["salary"])


def test_optional_packages_are_not_imported() -> None:
    code = (
        "import sys, numpy as np\nfrom vfxgb.data.table import Table\nimport vfxgb.data.impute, vfxgb.metric\n"
        "Table.read(np.zeros((2, 2))); Table.read({'a': [1.0]})\n"
        "print([p for p in ('pandas', 'polars', 'pyarrow', 'sklearn', 'xgboost') if p in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_an_array_copies_nothing() -> None:
    array = np.zeros((5, 2), dtype=np.float32)
    table = Table.read(array)
    assert table.names == ("f0", "f1")
    assert np.shares_memory(table.pieces[0][0], array)
    table.column(0)[:] = 7
    assert not array.any()


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float16, np.float32, np.float64, object])
def test_numeric_types(dtype: Any) -> None:
    assert Table.read(np.array([[0, 1], [1, 0]], dtype=dtype)).matrix().tolist() == [[0, 1], [1, 0]]


def test_missing_value() -> None:
    table = Table.read([[1.0, -999.0], [math.nan, 3.0]], missing=-999)
    np.testing.assert_array_equal(np.isnan(table.matrix()), [[False, True], [True, False]])
    assert np.isnan(Table.read([[math.inf]], missing=math.inf).column(0)[0])


@pytest.mark.parametrize(
    ("value", "words"), [(math.inf, "infinite"), (-math.inf, "infinite"), (1e39, "too large for dtype float32")]
)
def test_infinite_values_name_party_column_and_row(value: float, words: str) -> None:
    with pytest.raises(ColumnValueError, match=f"column 'f1' of party 'shop': row 2 holds .*{words}"):
        Table.read([[0.0, 0.0], [0.0, 1.0], [0.0, value]], party="shop")


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (np.zeros(3), TableError, "Expected 2D array, got 1D"),
        (np.zeros((2, 2, 2)), TableError, "got 3D"),
        (np.zeros((0, 3)), TableError, r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (np.zeros((3, 0)), TableError, r"0 feature\(s\)"),
        ({}, TableError, r"0 feature\(s\)"),
        ([[1.0, 2.0], [3.0]], TableError, "different length"),
        ({"a": [1, 2], "b": [1]}, TableError, "column 'b' has 1 rows"),
        ({"a": [[1], [2]]}, TableError, "column 'a' has shape"),
        (np.zeros((2, 2), dtype=complex), TableError, "Complex data not supported"),
        (np.array([["x", "y"]]), ColumnTypeError, "column 'f0' holds"),
        ({"a": ["1", "2"]}, ColumnTypeError, "column 'a' holds"),
        ({"a": np.array([1, "2"], dtype=object)}, ColumnTypeError, "the text '2' in row 1"),
        ({"a": np.array([{}, 1], dtype=object)}, ColumnTypeError, "argument must be a string or a real number"),
        ({"a": np.array(["2020-01-01"], dtype="datetime64[D]")}, ColumnTypeError, "datetime64"),
    ],
)
def test_bad_tables(data: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Table.read(data)


def test_bad_frames() -> None:
    pandas = pytest.importorskip("pandas")
    twice = pandas.DataFrame(np.zeros((2, 2)), columns=["a", "a"])
    with pytest.raises(ColumnNameError, match="party 'bank': column 'a' appears more than once"):
        Table.read(twice, party="bank")
    for column in (
        pandas.Series(["x", "y"]),
        pandas.to_datetime(["2020"] * 2),
    ):
        with pytest.raises(ColumnTypeError, match="column 'a' holds"):
            Table.read(pandas.DataFrame({"a": column}))


def test_bad_polars_and_arrow() -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(ColumnTypeError, match="column 'a' holds String"):
        Table.read(polars.DataFrame({"a": ["x"]}))
    with pytest.raises(TableError, match="collect"):
        Table.read(polars.DataFrame({"a": [1]}).lazy())
    with pytest.raises(ColumnTypeError, match="column 'a' holds string"):
        Table.read(pyarrow.table({"a": ["x"]}))
    assert Table.read(polars.DataFrame({"a": [True, None]})).column(0).tolist()[0] == 1.0
    assert Table.read(pyarrow.table({"a": [True, False]})).column(0).tolist() == [1.0, 0.0]
    nulls = Table.read(pyarrow.table({"a": pyarrow.array([True, None]), "b": pyarrow.array([None, 7])})).matrix()
    np.testing.assert_array_equal(nulls, np.array([[1, np.nan], [np.nan, 7]], dtype=np.float32))


def test_sparse_is_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ColumnTypeError, match="sparse"):
        Table.read(sparse.eye(3, format="csr"))


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", TableError, "empty"),
        ("a,b\n", TableError, r"0 sample\(s\)"),
        ("a,b\n1,2\n3\n", TableError, "line 3 has 1 cells, wanted 2"),
        ("a,b\n1,2\n\n3,4\n", TableError, "line 3 has 0 cells"),
        ("a,a\n1,2\n", ColumnNameError, "column 'a' appears more than once"),
        ("a,b\n1,2\n1,x\n", ColumnTypeError, "column 'b' holds 'x' in line 3"),
        ('a,b\n1,"2\n', TableError, "no CSV"),
        ("a\ninf\n", ColumnValueError, "column 'a'"),
    ],
)
def test_bad_csv(text: str, error: type[Exception], words: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(error, match=words):
        Table.read(tmp_path / "t.csv")


def test_csv_of_one_column_and_blank_end(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\ufeffa\n1\n\n3\n\n")
    np.testing.assert_array_equal(
        Table.read(tmp_path / "t.csv").column("a"), np.array([1, np.nan, 3], dtype=np.float32)
    )


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no file"):
        Table.read(tmp_path / "none.csv")
    for name, content in (("t.xlsx", b""), ("t.csv.gz", b"plain text"), ("t.csv", b"a\n\xff\xfe\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TableError, match=r"wanted \.csv|no CSV"):
            Table.read(tmp_path / name)


def test_parquet_without_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_bytes(b"x")
    for package in ("pyarrow", "pyarrow.parquet", "polars"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match="pip install pyarrow"):
        Table.read(tmp_path / "t.parquet")


def test_select_take_stack_align() -> None:
    table = Table.read({"a": [1, 2, 3], "b": [4, -1, 6]}, missing=-1, party="bank")
    np.testing.assert_array_equal(table.select(["b"]).matrix()[:, 0], np.array([4, np.nan, 6], dtype=np.float32))
    np.testing.assert_array_equal(table.take(np.array([1])).matrix(), np.array([[2, np.nan]], dtype=np.float32))
    stacked = Table.stack([table, table.select(["a", "b"])])
    assert stacked.n_rows == 6
    np.testing.assert_array_equal(stacked.column("b"), np.tile(table.column("b"), 2))
    assert table.align(["b", "a"], "eval set 0").names == ("b", "a")
    with pytest.raises(ColumnNameError, match=r"eval set 0 of party 'bank'.*absent \['c'\], unexpected \['b'\]"):
        table.align(["a", "c"], "eval set 0")
    with pytest.raises(ColumnNameError, match="no column 'bb'; did you mean 'b'"):
        table.select(["bb"])
    with pytest.raises(ColumnNameError, match="more than once"):
        table.select(["a", "a"])
    with pytest.raises(TableError, match="stacking"):
        Table.stack([table, table.select(["b", "a"])])


def test_names() -> None:
    with pytest.raises(ColumnNameError, match="1 names for 2 columns"):
        Table.read(np.zeros((1, 2)), names=["a"])
    with pytest.raises(ColumnNameError, match="of its own"):
        Table.read({"a": [1]}, names=["b"])
