"""Columns of several parties, labels, weights, imputation."""

from typing import Any

import numpy as np
import pytest

from vfxgb.data.impute import filled, fit_fills
from vfxgb.data.labels import read_labels, read_weights
from vfxgb.data.parties import check_parties, split_by_party
from vfxgb.data.table import Table
from vfxgb.errors import (
    ColumnNameError,
    ImputationError,
    LabelError,
    LengthMismatchError,
    TableError,
    UnknownNameError,
    WeightError,
)

TABLE = Table.read({"a": [1, 2], "b": [3, 4], "c": [5, 6]})


def test_split_by_party_keeps_the_given_order() -> None:
    parts = split_by_party(TABLE, {"bank": ["c", "a"], "shop": [1]}, "bank")
    assert list(parts) == ["bank", "shop"]
    assert parts["bank"].names == ("c", "a")
    assert (parts["shop"].names, parts["shop"].party) == (("b",), "shop")


@pytest.mark.parametrize(
    ("parties", "active", "error", "words"),
    [
        (
            {"bank": ["a", "b"], "shop": ["b", "c"]},
            "bank",
            ColumnNameError,
            "'b' belongs to party 'bank' and to party 'shop'",
        ),
        ({"bank": ["a"], "shop": ["b"]}, "bank", ColumnNameError, "'c' belongs to no party"),
        ({"bank": ["a", "a"], "shop": ["b", "c"]}, "bank", ColumnNameError, "'a' appears more than once"),
        ({"bank": ["a", "x"], "shop": ["b", "c"]}, "bank", ColumnNameError, "party 'bank' asks for column 'x'"),
        ({"bank": [0, 3], "shop": [1]}, "bank", ColumnNameError, "from 0 to 2"),
        ({"bank": "abc"}, "bank", ColumnNameError, "wanted a list"),
        ({"bank": ["a", "b", "c"], "shop": []}, "bank", TableError, "'shop' has no columns"),
        ({"bank": ["a", "b", "c"]}, "shop", TableError, "active party 'shop'"),
    ],
)
def test_bad_divisions(parties: Any, active: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        split_by_party(TABLE, parties, active)


def test_tables_that_come_divided() -> None:
    short = Table.read({"d": [1]})
    check_parties({"bank": TABLE, "shop": Table.read({"d": [1, 2]})}, "bank")
    with pytest.raises(LengthMismatchError, match="'shop' has 1 rows and party 'bank' has 2"):
        check_parties({"bank": TABLE, "shop": short}, "bank")
    with pytest.raises(ColumnNameError, match="column 'a'"):
        check_parties({"bank": TABLE, "shop": TABLE}, "bank")
    with pytest.raises(TableError, match="active party"):
        check_parties({"bank": TABLE}, "shop")


@pytest.mark.parametrize(
    "labels", [None, [1, 2], [[1, 2, 3]], [1, np.nan, 3], np.array(["a", None, "b"], dtype=object), [1j, 2, 3]]
)
def test_bad_labels(labels: Any) -> None:
    with pytest.raises(LabelError, match="party 'bank'"):
        read_labels(labels, 3, "bank")


def test_labels() -> None:
    assert read_labels(["x", "y"], 2).tolist() == ["x", "y"]
    assert read_labels([[1], [2]], 2).tolist() == [1, 2]


@pytest.mark.parametrize(
    "weights", [[1, 2], [[1, 2, 3]], [1, -1, 1], [1, np.nan, 1], [1, np.inf, 1], [0, 0, 0], ["a"] * 3]
)
def test_bad_weights(weights: Any) -> None:
    with pytest.raises(WeightError, match="sample weights of party 'bank'"):
        read_weights(weights, 3, "bank")


def test_weights() -> None:
    assert read_weights(None, 3) is None
    scalar = read_weights(2, 3)
    assert scalar is not None
    assert scalar.tolist() == [2, 2, 2]


@pytest.mark.parametrize(("strategy", "value"), [("mean", 3.0), ("median", 2.0), ("mode", 1.0)])
def test_imputation_uses_training_rows_only(strategy: str, value: float) -> None:
    table = Table.read({"a": [1, 1, np.nan, 3, 7, 1000, np.nan]}, party="shop")
    assert fit_fills(table, strategy, 5) == (value,)
    whole, fills = filled(table, strategy, 5)
    assert fills == (value,)
    assert whole.column("a").tolist() == [1, 1, value, 3, 7, 1000, value]
    assert np.isnan(table.column("a")[2])
    assert filled(table, "learned", 5) == (table, None)


def test_equally_frequent_values_take_the_lowest() -> None:
    assert fit_fills(Table.read({"a": [5, 2, 5, 2]}), "mode", 4) == (2.0,)


def test_imputation_errors() -> None:
    empty = Table.read({"a": [np.nan, 1.0]}, party="shop")
    with pytest.raises(ImputationError, match="column 'a' of party 'shop'"):
        fit_fills(empty, "mean", 1)
    with pytest.raises(UnknownNameError, match="no strategy 'max'"):
        fit_fills(empty, "max", 2)
