"""A party's tables that stay in Parquet files are the tables that would be read into memory."""

import numpy as np
import pytest

from vfxgb.data.column_files import ColumnFiles
from vfxgb.data.parquet import ParquetSource
from vfxgb.data.table import Table
from vfxgb.engine.local import LocalEngine
from vfxgb.errors import AlignmentError, ColumnNameError, ColumnTypeError, LabelError, TableError
from vfxgb.party.check import check
from vfxgb.party.config import load_config
from vfxgb.party.logs import Log
from vfxgb.party.serve import Server
from vfxgb.party.tables import agreed, column_names, read_table
from vfxgb.transport.network.certificates import issue, make_authority
from vfxgb.transport.rows import rows_digest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 57
ENGINE = {"memory_limit": "300MB"}


def make_table():
    rng = np.random.default_rng(2)
    return pa.table(
        {
            "id": [f"P{row}" for row in range(N)],
            "a": [None if row == 3 else row for row in range(N)],
            "y": pa.array(rng.integers(0, 2, N), pa.int32()),
            "b": np.where(rng.random(N) < 0.2, -999.0, rng.normal(size=N)),
            "w": rng.random(N),
        }
    )


@pytest.fixture
def files(tmp_path):
    """The same table as one file and as a folder."""
    table = make_table()
    pq.write_table(table, tmp_path / "one.parquet", row_group_size=20)
    (tmp_path / "many").mkdir()
    pq.write_table(table.slice(0, 30), tmp_path / "many" / "0.parquet", row_group_size=11)
    pq.write_table(table.slice(30), tmp_path / "many" / "1.parquet", row_group_size=8)
    return tmp_path


@pytest.fixture
def configure(write, files):
    def make(train, **changes):
        data = {"train": train, "label": "y", "weight": "w", "missing": -999.0, "normalise": ["lower"]}
        return load_config(write(data={**data, **changes.pop("data", {})}, **changes), {})

    return make


@pytest.fixture
def engine(tmp_path):
    made = LocalEngine(300 * 10**6, 1, tmp_path, shards=3)
    yield made
    made.close()


def read(config, **options):
    return read_table(config, config.data.train, "train", labelled=True, **options)


@pytest.mark.parametrize("train", ["one.parquet", "many"])
@pytest.mark.parametrize("in_files", [False, True])
def test_the_same_table(configure, train, in_files):
    wanted = read(configure("one.parquet"))
    table_read = read(configure(train), in_files=in_files)
    assert isinstance(table_read.table, ParquetSource if in_files else Table)
    assert (table_read.table.names, table_read.table.n_rows) == (wanted.table.names, N) == (("a", "b"), N)
    assert np.array_equal(table_read.ids.digests, wanted.ids.digests)
    assert table_read.labels.tolist() == wanted.labels.tolist()
    assert table_read.weights.tolist() == wanted.weights.tolist()
    for name in ("a", "b"):
        column = table_read.table.column(name, 0, N)
        assert np.array_equal(column, wanted.table.column(name), equal_nan=True)
        assert np.isnan(column).any()


@pytest.mark.parametrize("train", ["one.parquet", "many"])
def test_the_same_rows_in_the_agreed_order(configure, engine, train):
    wanted = read(configure("one.parquet")).table
    table_read = read(configure(train), in_files=True).table
    rng = np.random.default_rng(5)
    rows = [rng.permutation(N)[:40], rng.permutation(N)[:7]]
    here = agreed([(wanted, some) for some in rows], b"d" * 32)
    for table in (wanted, table_read):
        there = agreed([(table, some) for some in rows], b"d" * 32, engine)
        assert isinstance(there, ColumnFiles)
        assert engine.folder in there.path(0).parents
        assert rows_digest(there.ids) == rows_digest(here.ids)
        for name in ("a", "b"):
            assert np.array_equal(there.column(name, 0, 47), here.column(name), equal_nan=True)


def test_chosen_features(configure):
    config = configure("many", data={"features": ["b"]})
    assert read(config, in_files=True).table.names == ("b",)
    for features, said in ((["a", "c"], "names 'c', which the table lacks"), (["y"], "the id, label or weight")):
        with pytest.raises(ColumnNameError, match=said):
            read(configure("many", data={"features": features}), in_files=True)


def test_files_that_differ(configure, files):
    assert column_names(files / "many", "here") == ["id", "a", "y", "b", "w"]
    extra = make_table().append_column("c", pa.array(np.arange(N)))
    pq.write_table(extra, files / "many" / "2.parquet")
    with pytest.raises(ColumnNameError, match=r"2\.parquet: there is a column 'c', which 0\.parquet lacks"):
        read(configure("many"), in_files=True)
    pq.write_table(make_table().drop_columns("b"), files / "many" / "2.parquet")
    with pytest.raises(ColumnNameError, match=r"2\.parquet: there is no column 'b'"):
        read(configure("many"), in_files=True)


@pytest.mark.parametrize(
    ("column", "values", "error", "said"),
    [
        ("id", ["P1"] * N, AlignmentError, "row 0 and row 1 have the same id"),
        ("id", [None] * N, AlignmentError, "row 0 has no id"),
        ("y", ["yes"] * N, ColumnTypeError, "column 'y'"),
        ("y", [None] * N, LabelError, "row 0 has no label"),
        ("b", ["x"] * N, ColumnTypeError, "column 'b'"),
    ],
)
@pytest.mark.parametrize("train", ["one.parquet", "many"])
def test_what_is_refused_at_once(configure, files, train, column, values, error, said):
    table = make_table()
    bad = table.set_column(table.column_names.index(column), column, pa.array(values))
    for file in (files / "many").iterdir():
        file.unlink()
    for path in (files / "one.parquet", files / "many" / "0.parquet"):
        pq.write_table(bad, path)
    with pytest.raises(error, match=f"party 'bank'.*{said}"):
        read(configure(train), in_files=True)


def test_a_folder_without_tables(configure, files):
    for file in (files / "many").iterdir():
        file.unlink()
    for in_files in (False, True):
        with pytest.raises(TableError, match=r"holds no \.parquet file"):
            read(configure("many"), in_files=in_files)


@pytest.fixture
def serve(write, files):
    """A passive party over a folder, as it would be served."""
    authority = make_authority(files)
    for party in ("shop", "bank"):
        issue(authority, party, (), 30, files)

    def make(**changes):
        data = {"train": "many", "features": ["a", "b"]}
        return load_config(write("passive", data=data, **changes), {})

    return make


def test_a_served_folder_is_read_again_when_it_has_changed(serve, files):
    server = Server(serve(engine=ENGINE), Log(None))
    first = server.party.table("train")
    assert isinstance(first.table, ParquetSource)
    assert server.party.table("predict") is first
    alone = server.party.table("predict", single_rows=True)
    assert isinstance(alone.table, Table)
    assert server.party.table("predict", single_rows=True) is alone
    pq.write_table(make_table().slice(30, 5), files / "many" / "1.parquet")
    assert (
        server.party.table("train").table.n_rows == server.party.table("predict", single_rows=True).table.n_rows == 35
    )


def test_values_that_training_would_refuse_are_found_before(serve, files):
    config = serve(engine=ENGINE)
    findings = {finding.subject: finding for finding in check(config)}
    assert (findings["data: train"].verdict, findings["data: train"].text) == (
        "good",
        f"{N} rows, 2 features, every id once",
    )
    table = make_table()
    bad = table.set_column(3, "b", pa.array(np.where(np.arange(N) == 41, np.inf, 0.0)))
    pq.write_table(bad.slice(30), files / "many" / "1.parquet", row_group_size=8)
    findings = {finding.subject: finding for finding in check(config)}
    assert findings["data: train"].verdict == "bad"
    assert "column 'b' of party 'shop': row 41 holds inf" in findings["data: train"].text
