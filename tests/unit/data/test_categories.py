"""Categories and dates: what becomes of columns that hold no numbers."""

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from vfxgb.data.categories import ColumnKinds, coded, days_of, from_values, recode
from vfxgb.data.table import Table
from vfxgb.errors import ColumnNameError, ColumnTypeError

COLOURS = ["red", None, "blue", "red", "green"]


def frame(package: str, values: list[Any]) -> Any:
    """A frame with the column `colour` as categories."""
    if package == "pandas":
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame({"colour": pandas.Categorical(values)})
    if package.startswith("polars"):
        polars = pytest.importorskip("polars")
        kind = polars.Enum(["blue", "green", "red"]) if package == "polars-enum" else polars.Categorical
        return polars.DataFrame({"colour": polars.Series(values, dtype=kind)})
    arrow = pytest.importorskip("pyarrow")
    halves = [arrow.array(values[:2]).dictionary_encode(), arrow.array(values[2:]).dictionary_encode()]
    return arrow.table({"colour": arrow.chunked_array(halves)})


@pytest.mark.parametrize("package", ["pandas", "polars", "polars-enum", "pyarrow"])
def test_frames_bring_their_categories(package: str) -> None:
    table = Table.read(frame(package, COLOURS))
    encoding = table.encoding(0)
    assert encoding is not None
    assert sorted(map(str, encoding)) == ["blue", "green", "red"]
    held = [None if np.isnan(code) else encoding[int(code)] for code in table.column(0)]
    assert held == COLOURS


def test_categories_that_are_named_are_texts_in_order(tmp_path: Any) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,job,kind\n1,clerk,7\n2,,8\n3,boss,\n")
    table = Table.read(file, kinds=ColumnKinds(categorical=("job", "kind")))
    assert table.names == ("x", "job", "kind")
    assert table.encodings == (None, ("boss", "clerk"), ("7", "8"))
    np.testing.assert_array_equal(table.column("job"), np.array([1, np.nan, 0], np.float32))
    np.testing.assert_array_equal(table.column("kind"), np.array([0, 1, np.nan], np.float32))


def test_numbers_with_gaps_name_the_same_categories_as_texts() -> None:
    texts = from_values(["1", "", "12"], "k", "here")
    floats = from_values([1.0, float("nan"), 12.0], "k", "here")
    assert texts.encoding == floats.encoding == ("1", "12")
    np.testing.assert_array_equal(texts.codes, floats.codes)


def test_a_secret_orders_categories_the_same_way_each_time_and_unlike_the_alphabet() -> None:
    values = [f"v{i:02}" for i in range(40)]
    first, again = from_values(values, "c", "here", b"one"), from_values(values[::-1], "c", "here", b"one")
    other, column = from_values(values, "c", "here", b"two"), from_values(values, "d", "here", b"one")
    assert first.encoding == again.encoding
    assert len({first.encoding, other.encoding, column.encoding, tuple(values)}) == 4


def test_codes_of_another_table_are_those_of_training_and_the_unseen_are_missing() -> None:
    codes = np.array([0, 1, 2, np.nan], np.float32)
    np.testing.assert_array_equal(recode(codes, ("a", "b", "z"), ("b", "a")), np.array([1, 0, np.nan, np.nan]))
    # A text never equals a number.
    np.testing.assert_array_equal(recode(codes[:1], ("1",), (1,)), np.array([np.nan]))


def test_missing_values_say_nothing_of_codes() -> None:
    table = Table.read({"x": [0.0, 1.0], "c": ["u", "v"]}, kinds=ColumnKinds(categorical=("c",)), missing=0.0)
    np.testing.assert_array_equal(table.column("x"), np.array([np.nan, 1.0]))
    np.testing.assert_array_equal(table.column("c"), np.array([0.0, 1.0]))


def test_tables_below_each_other_have_the_codes_of_the_first() -> None:
    kinds = ColumnKinds(categorical=("c",))
    first, second = (Table.read({"c": values}, kinds=kinds) for values in (["b", "c"], ["a", "c"]))
    stacked = Table.stack([first, second])
    np.testing.assert_array_equal(stacked.column("c"), np.array([0, 1, np.nan, 1], np.float32))


@pytest.mark.parametrize(("held", "trained"), [("numbers", (("a",),)), ("categories", (None,))])
def test_a_column_that_was_something_else_in_training_is_refused(held: str, trained: Any) -> None:
    values: Any = {"c": [1.0]} if held == "numbers" else {"c": ["a"]}
    kinds = ColumnKinds(categorical=() if held == "numbers" else ("c",))
    with pytest.raises(ColumnTypeError, match=f"reading prediction: column 'c' holds {held}.*as in training"):
        Table.read(values, kinds=kinds).coded_as(trained, "prediction")


def test_text_without_a_name_says_how_to_name_it() -> None:
    with pytest.raises(ColumnTypeError, match=r"wanted real numbers or categories.*astype.*`categorical` of \[data\]"):
        Table.read({"c": np.array(["a", "b"])})


def test_dates_without_a_name_say_what_to_do() -> None:
    with pytest.raises(ColumnTypeError, match=r"days since 1970-01-01.*`dates` of \[data\]"):
        Table.read({"d": np.array(["2024-01-01"], dtype="datetime64[D]")})


def test_names_that_the_table_lacks_are_refused() -> None:
    with pytest.raises(ColumnNameError, match="'sort'"):
        Table.read({"x": [1.0]}, kinds=ColumnKinds(categorical=("sort",)))


def test_categories_are_not_numbers_of_a_matrix() -> None:
    with pytest.raises(ColumnTypeError, match="column 'c' holds categories, wanted numbers"):
        Table.read({"c": ["a"]}, kinds=ColumnKinds(categorical=("c",))).matrix()


@pytest.mark.parametrize(
    ("value", "days"),
    [
        ("1970-01-02", 1.0),
        ("1969-12-31", -1.0),
        ("2024-05-31T18:00:00", 19874.75),
        ("2024-05-31T18:00:00Z", 19874.75),
        ("2024-05-31T20:00:00+02:00", 19874.75),
        (date(1970, 1, 11), 10.0),
        (datetime(1970, 1, 1, 12), 0.5),
        (datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 0.0),
    ],
)
def test_a_date_is_days_since_1970(value: Any, days: float) -> None:
    assert days_of([value, None, ""], "d", "here")[0] == days


def test_dates_of_numpy_and_of_frames_are_the_same_days() -> None:
    texts = ["2024-05-31", "1999-12-31T06:00:00"]
    wanted = days_of(texts, "d", "here")
    stamps = np.array([*texts, "NaT"], dtype="datetime64[s]")
    np.testing.assert_array_equal(days_of(stamps, "d", "here"), [*wanted, np.nan])
    pandas = pytest.importorskip("pandas")
    column = pandas.DataFrame({"d": pandas.to_datetime(pandas.Series(texts), format="ISO8601")})
    zoned = column.assign(d=column["d"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    for held in (column, zoned):
        read = Table.read(held, kinds=ColumnKinds(dates=("d",)))
        np.testing.assert_array_equal(read.column("d"), wanted.astype(np.float32))


def test_what_is_no_date_is_refused_by_row() -> None:
    with pytest.raises(ColumnTypeError, match="column 'd' holds 'soon' in row 1, wanted a date such as"):
        days_of(["2024-01-01", "soon"], "d", "reading a table")


def test_categories_of_no_plain_type_are_refused() -> None:
    with pytest.raises(ColumnTypeError, match=r"category .* of type tuple, wanted text or numbers"):
        coded(np.zeros(1, np.int64), [(1, 2)], "c", "here")
