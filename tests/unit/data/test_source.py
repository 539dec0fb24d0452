"""Sources: any rows of any column are those of the table in memory, and what is wrong has its own error."""

import math
import pickle
import stat
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb.data.column_files import ColumnFiles
from vfxgb.data.labels import read_labels
from vfxgb.data.parquet import ParquetSource
from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.errors import (
    ColumnNameError,
    ColumnTypeError,
    ColumnValueError,
    LabelError,
    MissingPackageError,
    TableError,
)

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 100
# Row groups of these many rows, in two files, the second in a nested folder.
GROUPS = ((30, 30, 5), (30, 5))
EDGES = (0, 30, 60, 65, 95, 100)


def frame(rows: int = ROWS) -> Any:
    """A table with one column of each type."""
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 100, rows)
    large = rng.integers(-(2**62), 2**62, rows)
    holes = [None if row % 7 == 3 else row for row in range(rows)]
    late = [None if row == rows - 1 else int(value) for row, value in enumerate(large)]
    return pa.table(
        {
            "f32": pa.array(rng.normal(size=rows).astype(np.float32)),
            "f64": pa.array([None if row == 2 else float(row) / 3 for row in range(rows)], pa.float64()),
            "f16": pa.array(rng.normal(size=rows).astype(np.float16)),
            "i8": pa.array(whole.astype(np.int8)),
            "i64": pa.array(large),
            "i64_late_null": pa.array(late, pa.int64()),
            "u16_nulls": pa.array(holes, pa.uint16()),
            "bool": pa.array(whole > 50),
            "bool_nulls": pa.array([None if row is None else row % 2 == 0 for row in holes], pa.bool_()),
            "decimal": pa.array([None if row is None else Decimal(row) / 8 for row in holes], pa.decimal128(10, 4)),
            "nothing": pa.nulls(rows),
        }
    )


def with_extras(table: Any) -> Any:
    text = [f"class {row % 3}" for row in range(table.num_rows)]
    table = table.append_column("label", pa.array(text))
    table = table.append_column("id", pa.array([f"p{row}" for row in range(table.num_rows)]).dictionary_encode())
    return table.append_column("holes", pa.array([None if row == 70 else "x" for row in range(table.num_rows)]))


def write(table: Any, path: Path, groups: tuple[int, ...]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    start = 0
    with pq.ParquetWriter(path, table.schema) as writer:
        for rows in groups:
            writer.write_table(table.slice(start, rows), row_group_size=max(rows, 1))
            start += rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tables")
    whole = with_extras(frame())
    write(whole.slice(0, 65), place / "t" / "a.parquet", GROUPS[0])
    write(whole.slice(65), place / "t" / "b" / "a.parquet", GROUPS[1])
    write(whole, place / "one.parquet", (ROWS,))
    (place / "t" / "_metadata.parquet").write_bytes(b"not data")
    (place / "t" / ".hidden").mkdir()
    (place / "t" / ".hidden" / "x.parquet").write_bytes(b"not data")
    (place / "t" / "notes.txt").write_text("not data")
    return place


FEATURES = tuple(frame(5).column_names)


def parquet(folder: Path, **options: Any) -> ParquetSource:
    return ParquetSource.open(folder / "t", columns=FEATURES, **options)


def in_memory(folder: Path, **options: Any) -> Table:
    return Table.read(folder / "one.parquet", columns=FEATURES, **options)


def of_table(folder: Path, **options: Any) -> Source:
    table = in_memory(folder, **options)
    halves = [table.take(np.arange(33)), table.take(np.arange(33, ROWS))]
    return Table.stack(halves)


def of_files(folder: Path, **options: Any) -> Source:
    return ColumnFiles.write(in_memory(folder, **options), folder / "columns")


SOURCES = [parquet, of_table, of_files]


def same(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype == np.float32
    assert found.flags.c_contiguous
    assert found.flags.owndata
    assert found.flags.writeable
    np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize("make", SOURCES)
@pytest.mark.parametrize("missing", [math.nan, 4.0, math.inf])
def test_columns_are_those_of_the_table(make: Any, missing: float, folder: Path) -> None:
    source = pickle.loads(pickle.dumps(make(folder, missing=missing, party="bank")))
    table = in_memory(folder, missing=missing)
    assert (source.names, source.n_rows, source.party) == (FEATURES, ROWS, "bank")
    for feature, name in enumerate(FEATURES):
        wanted = table.column(name)
        for first, stop in [(0, 100), (0, 30), (29, 31), (40, 97), (60, 65), (99, 100), (64, 66), (50, 50)]:
            same(source.column(feature, first, stop), wanted[first:stop].copy())
        same(source.column(name, 3, 90), wanted[3:90].copy())


@pytest.mark.parametrize("make", SOURCES)
def test_what_is_not_there(make: Any, folder: Path) -> None:
    source = make(folder, party="bank")
    for first, stop in [(-1, 5), (5, 4), (0, 101)]:
        with pytest.raises(TableError, match=f"party 'bank': asked for rows {first} to {stop}"):
            source.column(0, first, stop)
    for bad in (-1, len(FEATURES)):
        with pytest.raises(ColumnNameError, match=f"asked for feature {bad}, wanted one of 0 to 10"):
            source.column(bad, 0, 1)
    with pytest.raises(ColumnNameError, match="no column 'f33'; did you mean 'f32'"):
        source.column("f33", 0, 1)
    with pytest.raises(ColumnNameError, match="no column 'f33'"):
        source.values("f33", 0, 1)


def test_parts(folder: Path) -> None:
    assert parquet(folder).parts == EDGES
    assert of_table(folder).parts == of_files(folder).parts == (0, ROWS)
    several = ParquetSource.open([folder / "one.parquet", str(folder / "t" / "b")], columns=["i8"])
    assert several.parts == (0, 100, 130, 135)
    i8 = in_memory(folder).column("i8")
    same(several.column(0, 90, 110), np.concatenate([i8[90:], i8[65:75]]))


def test_empty_row_groups_are_no_parts(tmp_path: Path) -> None:
    write(frame(10), tmp_path / "t.parquet", (4, 0, 6))
    source = ParquetSource.open(tmp_path / "t.parquet")
    assert source.parts == (0, 4, 10)
    same(source.column("i8", 2, 8), Table.read(tmp_path / "t.parquet").column("i8")[2:8].copy())


def test_other_columns_as_they_stand(folder: Path) -> None:
    source = ParquetSource.open(folder / "t", columns=["f32"])
    assert source.values("label", 28, 67).tolist() == [f"class {row % 3}" for row in range(28, 67)]
    assert source.values("id", 64, 66).tolist() == ["p64", "p65"]
    assert source.values("bool", 0, 100).dtype == np.bool_
    assert source.values("i64", 60, 70).tolist() == frame()["i64"].to_pylist()[60:70]
    assert source.values("label", 7, 7).shape == (0,)
    assert of_table(folder).values("i8", 30, 40).tolist() == in_memory(folder).column("i8")[30:40].tolist()
    assert of_table(folder).values("i8", 80, 81).tolist() == in_memory(folder).column("i8")[80:81].tolist()


@pytest.mark.parametrize("name", ["holes", "u16_nulls", "bool_nulls", "decimal", "f64", "nothing"])
def test_labels_that_are_not_there_are_refused(name: str, folder: Path) -> None:
    with pytest.raises(LabelError, match="has no label"):
        read_labels(parquet(folder).values(name, 0, ROWS), ROWS)


def test_a_dictionary_does_not_hide_what_is_missing(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"x": pa.array(["a", None, "b"]).dictionary_encode(), "y": [1, 2, 3]}), tmp_path / "t.parquet"
    )
    assert ParquetSource.open(tmp_path / "t.parquet", columns=["y"]).values("x", 0, 3).tolist() == ["a", None, "b"]


@pytest.mark.parametrize(("bad", "kind"), [(np.inf, "infinite"), (-1e300, "too large")])
def test_values_that_float32_cannot_hold(bad: float, kind: str, tmp_path: Path) -> None:
    column = np.arange(100.0)
    column[77] = bad
    write(pa.table({"x": column}), tmp_path / "t.parquet", (40, 40, 20))
    with pytest.raises(ColumnValueError) as wanted:
        Table.read(tmp_path / "t.parquet", party="bank")
    source = ParquetSource.open(tmp_path / "t.parquet", party="bank")
    for first in (0, 70, 77):
        with pytest.raises(ColumnValueError, match=kind) as found:
            source.column("x", first, 100)
        assert str(found.value) == str(wanted.value)
    assert source.column("x", 78, 100).tolist() == column[78:].tolist()


def test_features_that_are_no_numbers(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ColumnTypeError, match=r"from a\.parquet: column 'label' holds string, wanted real numbers"):
        ParquetSource.open(folder / "t")
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["1", "2"]}), tmp_path / "b.parquet")
    with pytest.raises(ColumnTypeError, match=r"party 'bank' from b\.parquet: column 'x' holds string"):
        ParquetSource.open(tmp_path, party="bank")


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2], "y": [1.0, 2.0], "z": ["a", "b"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1.5], "z": [3]}), tmp_path / "b.parquet")
    with pytest.raises(ColumnNameError, match=r"from b\.parquet: there is no column 'y'"):
        ParquetSource.open(tmp_path, columns=["x", "y"])
    with pytest.raises(ColumnTypeError, match=r"from b\.parquet: column 'z' holds int64 and in a\.parquet string"):
        ParquetSource.open(tmp_path, columns=["x"])
    pq.write_table(pa.table({"x": [1.5], "z": pa.nulls(1)}), tmp_path / "b.parquet")
    source = ParquetSource.open(tmp_path, columns=["x"])
    assert source.column("x", 0, 3).tolist() == [1, 2, 1.5]
    assert source.values("z", 0, 3).tolist() == ["a", "b", None]
    with pytest.raises(ColumnNameError, match="no column 'y'"):
        source.values("y", 0, 3)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    with pytest.raises(ColumnNameError, match=r"b\.parquet: there is a column 'z', which a\.parquet lacks"):
        ParquetSource.open(tmp_path)


def test_paths_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no file or folder"):
        ParquetSource.open(tmp_path / "none")
    with pytest.raises(TableError, match=r"holds no \.parquet file"):
        ParquetSource.open(tmp_path)
    with pytest.raises(TableError, match="empty list of files"):
        ParquetSource.open([])
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(TableError, match=r"ends in '\.csv', wanted \.parquet"):
        ParquetSource.open(tmp_path / "t.csv")
    (tmp_path / "t.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(TableError, match=r"from t\.parquet: the Parquet file cannot be read"):
        ParquetSource.open(tmp_path / "t.parquet")
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"0 sample\(s\)"):
        ParquetSource.open(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"0 feature\(s\)"):
        ParquetSource.open(tmp_path / "t.parquet", columns=[])
    with pytest.raises(ColumnNameError, match="more than once"):
        ParquetSource.open(tmp_path / "t.parquet", columns=["x", "x"])


def test_files_that_change_or_go(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1, 2, 3]}), path)
    source = ParquetSource.open(path)
    pq.write_table(pa.table({"x": [1, 2, 3, 4]}), path)
    with pytest.raises(TableError, match=r"from t\.parquet: the file is another one than when it was opened"):
        source.column(0, 0, 3)
    path.unlink()
    with pytest.raises(TableError, match="wherever it is read"):
        source.column(0, 0, 3)


def test_without_pyarrow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingPackageError, match="pip install pyarrow"):
        ParquetSource.open(folder / "one.parquet")


def test_relative_paths_stay_valid_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    source = ParquetSource.open("one.parquet", columns=["i8"])
    monkeypatch.chdir("/")
    assert len(source.column(0, 0, ROWS)) == ROWS


def test_only_the_row_groups_concerned_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[int, list[str]]] = []
    whole = pq.ParquetFile.read_row_group

    def spy(self: Any, group: int, columns: list[str], **options: Any) -> Any:
        read.append((group, columns))
        return whole(self, group, columns=columns, **options)

    source = parquet(folder)
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", spy)
    source.column("f32", 30, 61)
    assert read == [(1, ["f32"]), (2, ["f32"])]


def test_column_files_are_the_owners_alone(folder: Path, tmp_path: Path) -> None:
    files = ColumnFiles.write(in_memory(folder), tmp_path / "new" / "columns")
    assert stat.S_IMODE(Path(files.folder).stat().st_mode) == 0o700
    (tmp_path / "new" / "columns" / "column-00000.f32").chmod(0o644)
    files = ColumnFiles.write(in_memory(folder), tmp_path / "new" / "columns")
    assert {stat.S_IMODE(file.stat().st_mode) for file in Path(files.folder).iterdir()} == {0o600}
    assert sum(file.stat().st_size for file in Path(files.folder).iterdir()) == 4 * ROWS * len(FEATURES)
    files.remove()
    assert list(Path(files.folder).iterdir()) == []


def test_column_files_that_are_damaged(folder: Path, tmp_path: Path) -> None:
    files = ColumnFiles.write(in_memory(folder, party="bank"), tmp_path / "columns")
    with files.path(1).open("ab") as file:
        file.write(b"x")
    with pytest.raises(TableError, match=r"party 'bank' from column-00001\.f32: the file has 401 bytes, wanted 400"):
        files.column("f64", 0, 1)
    files.path(2).unlink()
    with pytest.raises(TableError, match=r"column-00002.*cannot be read.*No such file"):
        files.column(2, 0, 1)


def test_column_files_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(TableError, match=r"writing a table into .*file'.*4400 bytes of room"):
        ColumnFiles.write(in_memory(folder), tmp_path / "file")


def test_column_files_hold_filled_values(tmp_path: Path) -> None:
    table = Table.read({"x": [1.0, None, 3.0]}).with_fills([2.0])
    assert ColumnFiles.write(table, tmp_path).column("x", 0, 3).tolist() == [1, 2, 3]
    assert table.column("x", 1, 2).tolist() == [2]


@pytest.mark.parametrize("kind", ["memory", "parquet"])
def test_rows_in_another_order(folder: Path, tmp_path: Path, kind: str) -> None:
    """Some rows of two tables, in any order, are what indexing the columns gives."""
    rng = np.random.default_rng(1)
    source: Source = in_memory(folder) if kind == "memory" else parquet(folder)
    some, others = rng.permutation(ROWS)[:70], rng.integers(0, ROWS, 9)
    ids = (np.array(["digest"]),)
    files = ColumnFiles.arrange([(source, some), (source, others)], tmp_path / "columns", ids)
    assert (files.names, files.n_rows, files.ids) == (source.names, 79, ids)
    for name in source.names:
        whole = source.column(name, 0, ROWS)
        assert np.array_equal(files.column(name, 0, 79), whole[np.concatenate([some, others])], equal_nan=True)


def test_tables_that_do_not_stand_below_each_other(folder: Path, tmp_path: Path) -> None:
    rows = np.arange(2)
    parts = [(ParquetSource.open(folder / "t", columns=[name]), rows) for name in ("i8", "f16")]
    with pytest.raises(TableError, match=r"table 2 has columns \['f16'\]"):
        ColumnFiles.arrange(parts, tmp_path / "columns")
    assert not (tmp_path / "columns").exists()


def test_what_cannot_be_read_leaves_no_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"good": [1.0, 2.0], "bad": [1.0, math.inf]}), tmp_path / "t.parquet")
    source = ParquetSource.open(tmp_path / "t.parquet", party="bank")
    with pytest.raises(ColumnValueError, match=r"column 'bad' of party 'bank': row 1 holds inf"):
        ColumnFiles.arrange([(source, np.arange(1))], tmp_path / "columns")
    assert list((tmp_path / "columns").iterdir()) == []


def test_features_can_be_chosen_later(folder: Path) -> None:
    source = parquet(folder)
    chosen = source.select(["i8", "f32"])
    assert chosen.names == ("i8", "f32")
    assert np.array_equal(chosen.column(1, 0, ROWS), source.column("f32", 0, ROWS))
    with pytest.raises(ColumnNameError, match="did you mean 'f32'"):
        source.select(["f23"])
    with pytest.raises(ColumnNameError, match="more than once"):
        source.select(["i8", "i8"])


def test_a_column_by_row_groups(folder: Path) -> None:
    groups = list(ParquetSource.open(folder / "t", columns=["i8"]).groups("i64_late_null"))
    assert tuple(np.cumsum([0, *map(len, groups)])) == EDGES
    values = [value for group in groups for value in group.to_pylist()]
    assert values == frame()["i64_late_null"].to_pylist()
    with pytest.raises(ColumnNameError, match="there is no column 'idd'"):
        parquet(folder).groups("idd")
