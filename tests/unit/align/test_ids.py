import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vfxgb.align import Ids, join_ids, make_ids, read_ids
from vfxgb.align.ids import refuse_duplicates
from vfxgb.errors import AlignmentError, ColumnNameError, TableError

NUMBERS = [7, 12345678901234567890, -3]


@pytest.mark.parametrize(
    "values",
    [
        ["7", "12345678901234567890", "-3"],
        NUMBERS,
        np.array(NUMBERS, dtype=object),
        np.array(["7", "12345678901234567890", "-3"]),
        pd.Series(NUMBERS, dtype=object),
        pd.Series(["7", "12345678901234567890", "-3"], dtype="string"),
        pl.Series(["7", "12345678901234567890", "-3"]),
        pa.chunked_array([["7"], ["12345678901234567890", "-3"]]),
        tuple(NUMBERS),
    ],
    ids=lambda values: type(values).__module__.partition(".")[0] + "-" + type(values).__name__,
)
def test_text_and_integers_are_the_same_ids(values: object) -> None:
    ids = make_ids(values, "bank")
    assert (ids.digests == make_ids(["7", "12345678901234567890", "-3"]).digests).all()
    assert (len(ids), ids.party) == (3, "bank")


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
def test_integer_arrays(dtype: str) -> None:
    assert (make_ids(np.array([1, 20, 3], dtype=dtype)).digests == make_ids(["1", "20", "3"]).digests).all()


def test_text_stays_as_it_stands() -> None:
    spellings = ["7", "07", " 7", "7 ", "7.0", "VII", "é", "e\u0301"]
    assert len(np.unique(make_ids(spellings).digests, axis=0)) == len(spellings)


def test_normalised() -> None:
    assert (make_ids([" A7", "b8 "], normalise=["strip", "lower"]).digests == make_ids(["a7", "b8"]).digests).all()


@pytest.mark.parametrize(
    ("values", "steps", "wanted"),
    [
        (["a", 1.0], (), "row 1 holds a float"),
        (np.array([1.0, 2.0]), (), "row 0 holds a float"),
        (pd.Series([1, None]), (), "row 0 holds a float"),
        (["a", float("nan")], (), "row 1 has no id; drop"),
        (["a", None], (), "row 1 has no id"),
        (pd.Series([1, None], dtype="Int64"), (), "row 1 has no id"),
        (pa.chunked_array([["a", None]]), (), "row 1 has no id"),
        (["a", "b", ""], (), "row 2 has no id; drop"),
        (["a", " "], ("strip",), "row 1 has no id after normalisation"),
        (["a", True], (), "row 1 holds a bool"),
        ([b"a"], (), "row 0 holds a bytes"),
        (["a", "\ud800"], (), "row 1 is no valid Unicode"),
        (["a", "b", "c", "b", "a"], (), "row 1 and row 3 have the same id"),
        (["A", "b", "a"], ("lower",), "row 0 and row 2 have the same id"),
        ([7, "7"], (), "row 0 and row 1 have the same id"),
    ],
)
def test_refused(values: object, steps: tuple[str, ...], wanted: str) -> None:
    with pytest.raises(AlignmentError, match=f"party 'bank'.*{wanted}") as caught:
        make_ids(values, "bank", steps)
    assert "same id" not in str(caught.value) or "'b'" not in str(caught.value)


def test_parts_of_a_column() -> None:
    parts = [pa.array(["b", "A"]), np.array([7, 9]), [], ["c"]]
    joined = join_ids(parts, "bank", ["lower"])
    assert (joined.digests == make_ids(["b", "a", "7", "9", "c"]).digests).all()
    assert (joined.party, joined.steps) == ("bank", ("lower",))
    assert len(join_ids([])) == 0


@pytest.mark.parametrize(
    ("last", "wanted"),
    [
        ([1.0], "row 3 holds a float"),
        (["x", None], "row 4 has no id"),
        (["x", ""], "row 4 has no id"),
        (["x", "\ud800"], "row 4 is no valid Unicode"),
        (["x", "a"], "row 0 and row 4 have the same id"),
    ],
)
def test_rows_are_numbered_over_all_parts(last: object, wanted: str) -> None:
    with pytest.raises(AlignmentError, match=f"party 'bank'.*{wanted}"):
        join_ids([["a", "b"], ["c"], last], "bank")


def test_groups_are_disjoint() -> None:
    groups = [make_ids(["a", "b"]), make_ids(["c"]), make_ids(["d", "b"])]
    with pytest.raises(AlignmentError, match="row 1 of group 0 and row 1 of group 2 have the same id"):
        refuse_duplicates(groups, "test")
    refuse_duplicates([groups[0], groups[1]], "test")


def test_take() -> None:
    ids = make_ids(["a", "b", "c"], "bank", ["strip"])
    some = ids.take(np.array([2, 0]))
    assert (some.digests == make_ids(["c", "a"]).digests).all()
    assert some.steps == ids.steps
    assert len(ids.take(np.array([True, False, True]))) == 2


def test_repr_shows_no_id() -> None:
    assert repr(make_ids(["secret"], "bank")) == "Ids(party='bank', n=1, steps=[])"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    text = "x,customer\n1,007\n2, a\n3,NA\n"
    (tmp_path / "t.csv").write_text(text)
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(text)
    pq.write_table(pa.table({"x": [1, 2, 3], "customer": ["007", " a", "NA"]}), tmp_path / "t.parquet")
    return {path.name: path for path in tmp_path.iterdir()}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_files(files: dict[str, Path], name: str) -> None:
    ids = read_ids(files[name], "customer", "bank")
    assert isinstance(ids, Ids)
    assert (ids.digests == make_ids(["007", " a", "NA"]).digests).all()


def test_bad_files(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ColumnNameError, match="no column 'id'"):
        read_ids(files["t.csv"], "id", "bank")
    with pytest.raises(TableError, match=r"party 'bank'.*there is no file"):
        read_ids(tmp_path / "none.csv", "id", "bank")
    (tmp_path / "t.txt").write_text("id\n1\n")
    with pytest.raises(TableError, match=r"wanted \.csv"):
        read_ids(tmp_path / "t.txt", "id")
    (tmp_path / "ragged.csv").write_text("id,x\n1,2\n3\n")
    with pytest.raises(TableError, match="line 3 has 1 cells"):
        read_ids(tmp_path / "ragged.csv", "id")
    (tmp_path / "binary.csv").write_bytes(b"id\n\xff\xfe\n")
    with pytest.raises(TableError, match="no CSV in UTF-8"):
        read_ids(tmp_path / "binary.csv", "id")
    (tmp_path / "hole.csv").write_text("id,x\na,2\n,3\n")
    with pytest.raises(AlignmentError, match="row 1 has no id"):
        read_ids(tmp_path / "hole.csv", "id")
    (tmp_path / "float.parquet").write_bytes(b"no parquet")
    with pytest.raises(TableError, match="cannot be read"):
        read_ids(tmp_path / "float.parquet", "id")
