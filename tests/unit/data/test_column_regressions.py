"""Regressions of columns on a party's other columns, against a slow twin, and what stands in where there is none."""

import warnings

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb.data import column_regressions
from vfxgb.data.column_regressions import (
    LIMIT,
    MAX_COLUMNS,
    NORMAL_SPREAD,
    ONE,
    RIDGE,
    ColumnRegressions,
    fit_regressions,
)
from vfxgb.data.impute import filled
from vfxgb.data.table import Table
from vfxgb.errors import ImputationError, ImputationWarning

ROWS, TRAIN = 400, 300


def drawn(seed: int = 0, columns: int = 5, rate: float = 0.2) -> NDArray[np.float32]:
    """Columns that depend on each other, one of which is mostly 0, with outliers and gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, columns)) @ rng.normal(size=(columns, columns)) * 10.0 ** rng.integers(-3, 4, columns)
    X[:, -1] = np.where(X[:, -1] > np.quantile(X[:, -1], 0.95), X[:, -1], 0.0)
    X[rng.integers(0, ROWS, 3), 0] *= 1e6
    X[rng.random(X.shape) < rate] = np.nan
    return X.astype(np.float32)


def same(a: ColumnRegressions, b: ColumnRegressions) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in a.__struct_fields__)


def naive_scaled(X: NDArray[np.float32], n_train: int) -> NDArray[np.float64]:
    """Cell by cell."""
    z = np.zeros(X.shape)
    for column in range(X.shape[1]):
        present = sorted(float(x) for x in X[:n_train, column] if not np.isnan(x))
        low, mid, high = (float(np.quantile(present, share)) for share in (0.1, 0.5, 0.9))
        spread = (high - low) / NORMAL_SPREAD if high > low else float(np.std(present))
        for row, x in enumerate(X[:, column].tolist()):
            if not np.isnan(x) and spread > 0:
                z[row, column] = round(min(max((x - mid) / spread, -LIMIT), LIMIT) * ONE)
    return z


@pytest.mark.parametrize("seed", range(4))
def test_every_column_is_the_ridge_regression_on_all_others(seed: int) -> None:
    X = drawn(seed)
    regressions = fit_regressions(Table.read(X), TRAIN)
    z = naive_scaled(X, TRAIN)[:TRAIN]
    covariance = np.cov(z.T, bias=True)
    ridge = RIDGE + X.shape[1] / TRAIN
    for column in range(X.shape[1]):
        others = [k for k in range(X.shape[1]) if k != column]
        inner = covariance[np.ix_(others, others)]
        wanted = np.linalg.solve(inner + ridge * np.diag(np.diag(inner)), covariance[others, column])
        found = regressions.weights.reshape(X.shape[1], -1)[column]
        assert found[column] == 0
        assert np.abs(found[others] - wanted * ONE).max() <= 1.0
        # The line from weighted sums to z, over rows that have a value.
        sums = np.floor(z @ found / ONE + 0.5)
        present = ~np.isnan(X[:TRAIN, column])
        slope, offset = np.polyfit(sums[present], z[present, column], 1)
        assert regressions.slope[column] == pytest.approx(slope, rel=1e-6)
        assert regressions.offset[column] == pytest.approx(offset, abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_filled_cells_are_those_of_the_slow_twin_and_no_others_change(seed: int) -> None:
    X = drawn(seed)
    table, regressions = filled(Table.read(X), "regression", TRAIN)
    assert isinstance(regressions, ColumnRegressions)
    z, found = naive_scaled(X, TRAIN), table.matrix()
    weights = regressions.weights.reshape(X.shape[1], -1)
    for row, column in zip(*np.nonzero(np.isnan(X)), strict=True):
        steps = int(np.floor(float(z[row] @ weights[column]) / ONE + 0.5))
        score = min(max((regressions.offset[column] + regressions.slope[column] * steps) / ONE, -LIMIT), LIMIT)
        value = regressions.median[column] + regressions.spread[column] * score
        present = X[:TRAIN, column][~np.isnan(X[:TRAIN, column])]
        assert found[row, column] == np.float32(min(max(value, float(present.min())), float(present.max())))
    assert np.array_equal(found[~np.isnan(X)], X[~np.isnan(X)])
    again = X.astype(np.float64)
    regressions.fill_matrix(again)
    assert np.array_equal(again.astype(np.float32), found)


def test_the_order_of_rows_and_their_parts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X = drawn(7)
    whole = fit_regressions(Table.read(X), ROWS)
    assert same(whole, fit_regressions(Table.read(X[np.random.default_rng(1).permutation(ROWS)]), ROWS))
    expected = filled(Table.read(X), "regression", ROWS)[0].matrix()
    monkeypatch.setattr(column_regressions, "CHUNK", 17)
    assert same(whole, fit_regressions(Table.read(X), ROWS))
    assert np.array_equal(filled(Table.read(X), "regression", ROWS)[0].matrix(), expected)


def test_only_training_rows_count() -> None:
    X = drawn(2)
    other = X.copy()
    other[TRAIN:] += 1000.0
    assert same(fit_regressions(Table.read(X), TRAIN), fit_regressions(Table.read(other), TRAIN))


def test_a_column_that_follows_from_another_is_found_again() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=2000)
    X = np.stack([a, 2 * a + 1, rng.normal(size=2000)], axis=1).astype(np.float32)
    true = X[:500, 1].copy()
    X[:500, 1] = np.nan
    found = filled(Table.read(X), "regression", 2000)[0].column(1)[:500]
    assert np.abs(found - true).mean() < 0.1 * np.abs(true - np.median(true)).mean()


@pytest.mark.parametrize(
    ("columns", "words", "expected"),
    [
        ({"a": [1, 2, 4, np.nan]}, "columns 'a': no other column.*their median stands in", [1, 2, 4, 2]),
        ({"a": [1, 2, 4, np.nan], "b": [5, 5, 5, 5]}, "columns 'a': no other column", [1, 2, 4, 2]),
        (
            {"a": [np.nan] * 4, "b": [1, 2, 3, 4], "c": [1, 2, 2, 4]},
            "columns 'a': no training row has a value.*stay missing",
            [np.nan] * 4,
        ),
    ],
)
def test_a_column_without_a_regression_is_named(columns: dict, words: str, expected: list[float]) -> None:
    with pytest.warns(ImputationWarning, match=f"party 'shop': {words}"):
        table, _ = filled(Table.read(columns, party="shop"), "regression", 4)
    assert np.array_equal(table.column("a"), np.array(expected, np.float32), equal_nan=True)


def test_columns_whose_values_are_all_equal_take_that_value_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X = {"a": [3, 3, np.nan, 3], "b": [1, 2, 3, 4], "c": [1, 3, 3, 4]}
        table, _ = filled(Table.read(X), "regression", 4)
    assert table.column("a").tolist() == [3, 3, 3, 3]


def test_another_value_that_counts_as_missing_is_not_read_into_filled_cells() -> None:
    X = drawn(3)
    marked = np.where(np.isnan(X), np.float32(0.0), X)
    expected = filled(Table.read(np.where(marked == 0.0, np.nan, marked)), "regression", TRAIN)[0].matrix()
    table, _ = filled(Table.read(marked, missing=0.0), "regression", TRAIN)
    assert np.array_equal(table.matrix(), expected)
    # An expected value of exactly 0 stays one.
    even = {"a": [-1, 1, 0, -1, 1], "b": [-2, 2, 0, -2, 2]}
    table, _ = filled(Table.read(even, missing=0.0), "regression", 5)
    assert table.matrix()[2].tolist() == [0.0, 0.0]


def test_too_many_columns() -> None:
    wide = Table.read(np.zeros((2, MAX_COLUMNS + 1)), party="shop")
    with pytest.raises(ImputationError, match="party 'shop': found 1001 columns, wanted at most 1000"):
        fit_regressions(wide, 2)


def test_regressions_are_bounded_whatever_the_values() -> None:
    X = np.array([[1e38, -1e38], [-1e38, 1e38], [0, 0], [1, np.nan]], dtype=np.float32)
    regressions = fit_regressions(Table.read(X), 4)
    for array in msgspec.structs.astuple(regressions):
        assert np.isfinite(array).all()
    assert np.isfinite(filled(Table.read(X), "regression", 4)[0].matrix()).all()
