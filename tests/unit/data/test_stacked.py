"""Tables and labels below each other: read as if they were one."""

import math
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb.data.column_files import ColumnFiles
from vfxgb.data.parquet import ParquetSource
from vfxgb.data.shards import part_ranges, shard_ranges
from vfxgb.data.source import Source, StackedSource
from vfxgb.data.table import Table
from vfxgb.data.target import ArrayTarget, ColumnTarget, StackedTarget
from vfxgb.errors import ColumnNameError, ColumnValueError, LabelError, TableError, WeightError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 40
ENDS = (0, 17, 18, ROWS)
RANGES = [(0, 40), (0, 17), (17, 18), (16, 19), (3, 9), (18, 40), (39, 40), (0, 0), (20, 20)]


def whole() -> Table:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    return Table.read(X, names=["a", "b"], party="bank")


@pytest.fixture
def stacked(tmp_path: Path) -> StackedSource:
    """Three tables of different kinds: Parquet in row groups of 5 rows, one row in memory, files of columns."""
    table = whole()
    first, second, third = (table.take(np.arange(*ends)) for ends in pairwise(ENDS))
    columns = {name: first.column(name) for name in first.names} | {"y": [f"c{row % 3}" for row in range(17)]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=5)
    return StackedSource(
        (
            ParquetSource.open(tmp_path / "t.parquet", columns=["a", "b"], party="bank"),
            second,
            ColumnFiles.write(third, tmp_path / "columns"),
        )
    )


def test_columns_are_those_of_one_table(stacked: StackedSource) -> None:
    source: Source = pickle.loads(pickle.dumps(stacked))
    assert (source.names, source.n_rows, source.party) == (("a", "b"), ROWS, "bank")
    assert math.isnan(source.missing)
    assert source.parts == (0, 5, 10, 15, 17, 18, ROWS)
    table = whole()
    for feature, name in enumerate(source.names):
        wanted = table.column(name)
        for first, stop in RANGES:
            for found in (source.column(feature, first, stop), source.column(name, first, stop)):
                assert found.dtype == np.float32
                assert found.flags.c_contiguous
                assert found.flags.writeable
                assert np.array_equal(found.view(np.uint32), wanted[first:stop].view(np.uint32))
            assert np.array_equal(source.values(name, first, stop), wanted[first:stop], equal_nan=True)


def test_shards_end_with_tables_where_they_can(stacked: StackedSource) -> None:
    assert shard_ranges(stacked, 22) == [(0, 18), (18, ROWS)]
    assert part_ranges(stacked.parts, 22) == [(0, 18), (18, ROWS)]


def test_stacks_within_stacks(stacked: StackedSource) -> None:
    nested = StackedSource((stacked, whole(), stacked))
    assert nested.parts == (*stacked.parts, 80, *(80 + edge for edge in stacked.parts[1:]))
    column = whole().column("b")
    assert np.array_equal(nested.column("b", 30, 90), np.r_[column[30:], column, column[:10]], equal_nan=True)


def test_what_cannot_be_stacked(stacked: StackedSource) -> None:
    with pytest.raises(TableError, match="stacking tables: found none"):
        StackedSource(())
    other = Table.read({"a": [1.0], "c": [2.0]})
    with pytest.raises(TableError, match=r"party 'bank': table 2 has columns \['a', 'c'\].*the first, \['a', 'b'\]"):
        StackedSource((stacked, other))
    swapped = whole().select(["b", "a"])
    with pytest.raises(TableError, match=r"table 2 has columns \['b', 'a'\]"):
        StackedSource((stacked, swapped))
    zero = Table.read({"a": [1.0], "b": [2.0]}, missing=0.0)
    with pytest.raises(TableError, match=r"table 2 .*missing=0.0, wanted .*missing=nan; read them alike"):
        StackedSource((stacked, zero))
    assert StackedSource((zero, zero)).missing == 0.0


def test_what_is_not_there(stacked: StackedSource) -> None:
    for first, stop in [(-1, 5), (5, 4), (0, 41)]:
        with pytest.raises(TableError, match=f"party 'bank': asked for rows {first} to {stop}, .* 0 to 40"):
            stacked.column(0, first, stop)
        with pytest.raises(TableError, match=f"asked for rows {first} to {stop}"):
            stacked.values("a", first, stop)
    with pytest.raises(ColumnNameError, match="asked for feature 2, wanted one of 0 to 1"):
        stacked.column(2, 0, 1)
    with pytest.raises(ColumnNameError, match="no column 'y'"):
        stacked.values("y", 0, 40)
    assert stacked.values("y", 0, 3).tolist() == ["c0", "c1", "c2"]


def test_a_refused_value_is_named_with_its_table(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1.0, math.inf]}), tmp_path / "t.parquet")
    stacked = StackedSource((Table.read({"a": [1.0, 2.0]}), ParquetSource.open(tmp_path / "t.parquet")))
    assert stacked.column("a", 0, 3).tolist() == [1, 2, 1]
    with pytest.raises(ColumnValueError, match=r"^table 2 of 2: reading column 'a': row 1 holds inf"):
        stacked.column("a", 0, 4)


def test_values_of_different_kinds_stay_as_they_stand(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"numbers": [1, 2], "text": ["x", "y"], "truth": [True, False]}
    sources = []
    for name, values in columns.items():
        pq.write_table(pa.table({"a": [1.0, 2.0], "y": values}), tmp_path / f"{name}.parquet")
        sources.append(ParquetSource.open(tmp_path / f"{name}.parquet", columns=["a"]))
    assert StackedSource(tuple(sources)).values("y", 0, 6).tolist() == [1, 2, "x", "y", True, False]
    numbers = StackedSource((sources[0], sources[2])).values("y", 0, 4)
    assert (numbers.dtype, numbers.tolist()) == (np.int64, [1, 2, 1, 0])


def labels_and_weights(tmp_path: Path) -> tuple[np.ndarray, np.ndarray, tuple[Any, Any, Any]]:
    """One target of each kind, of 17, 1 and 22 rows; the one in the middle has no weights."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, ROWS).astype(np.float32)
    w = rng.random(ROWS).astype(np.float32)
    w[17] = 1.0
    pq.write_table(pa.table({"a": y[18:], "y": [f"c{one:.0f}" for one in y[18:]], "w": w[18:]}), tmp_path / "t.parquet")
    source = ParquetSource.open(tmp_path / "t.parquet", columns=["a"], party="bank")
    parts = (
        ArrayTarget(y[:17], w[:17], "bank"),
        ArrayTarget(y[17:18].astype(np.int64), None, "bank"),
        ColumnTarget(source, "y", "w", ("c0", "c1", "c2")),
    )
    return y, w, parts


def test_targets_below_each_other(tmp_path: Path) -> None:
    y, w, parts = labels_and_weights(tmp_path)
    target = pickle.loads(pickle.dumps(StackedTarget(tuple(zip(parts, (17, 1, 22), strict=True)))))
    assert (target.party, target.weighted) == ("bank", True)
    for first, stop in RANGES:
        labels, weights = target.read(first, stop)
        assert np.array_equal(labels, y[first:stop])
        assert weights is not None
        assert weights.dtype == np.float32
        assert np.array_equal(weights, w[first:stop])


def test_targets_without_weights(tmp_path: Path) -> None:
    y, _, (first, second, third) = labels_and_weights(tmp_path)
    plain = ArrayTarget(first.labels, None).write(tmp_path)
    assert isinstance(plain.labels, str)
    target = StackedTarget(((plain, 17), (second, 1), (ColumnTarget(third.source, "a"), 22)))
    assert not target.weighted
    labels, weights = target.read(10, 30)
    assert np.array_equal(labels, y[10:30])
    assert weights is None
    # One with weights, elsewhere, is enough: a reader of other rows gets some, too.
    _, ones = StackedTarget(((target, ROWS), (first, 17))).read(10, 30)
    assert ones is not None
    assert ones.tolist() == [1.0] * 20


def test_targets_that_are_wrong(tmp_path: Path) -> None:
    _, _, (first, _, third) = labels_and_weights(tmp_path)
    with pytest.raises(LabelError, match="stacking labels: found none"):
        StackedTarget(())
    target = StackedTarget(((first, 17), (third, 22)))
    for begin, end in [(-1, 5), (5, 4), (0, 40)]:
        with pytest.raises(LabelError, match=f"party 'bank': asked for rows {begin} to {end}, wanted .* 0 to 39"):
            target.read(begin, end)
    unknown = StackedTarget(((first, 17), (ColumnTarget(third.source, "y", None, ("c0", "x")), 22)))
    with pytest.raises(LabelError, match="found the class"):
        unknown.read(0, 39)


def test_some_rows_of_a_column_may_have_no_weight(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "w": [0.0, 0.0, -1.0]}), tmp_path / "t.parquet")
    target = ColumnTarget(ParquetSource.open(tmp_path / "t.parquet", columns=["a"]), "a", "w")
    _, weights = target.read(0, 2)
    assert weights is not None
    assert weights.tolist() == [0, 0]
    with pytest.raises(WeightError, match="row 1 has weight -1"):
        target.read(1, 3)
