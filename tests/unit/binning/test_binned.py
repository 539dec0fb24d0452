"""Binned tables against numpy's searchsorted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.binning.binned import BinnedTable
from vfxgb.data.table import Table
from vfxgb.errors import CutsError


def naive(cuts: np.ndarray, column: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(column), len(cuts) + 1, np.searchsorted(cuts, column, side="right"))


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 8, 255, 256, 300]), st.integers(1, 2))
def test_bins_are_what_searchsorted_says(seed: int, max_bin: int, threads: int) -> None:
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(700, 3)).astype(np.float32)
    data[rng.random(data.shape) < 0.1] = np.nan
    data[:, 2] = np.nan_to_num(data[:, 2]).round(1)
    table = Table.read(data)
    binned = BinnedTable.build(table, 500, max_bin, threads=threads)
    assert binned.n_rows == 700
    assert binned.has_missing.tolist() == [True, True, False]
    assert binned.offsets.tolist() == [0, *np.cumsum(binned.n_bins).tolist()]
    for feature, cuts in enumerate(binned.cuts):
        assert binned.n_bins[feature] == len(cuts) + 1
        assert len(cuts) <= max_bin - 1 + int(binned.has_missing[feature])
        np.testing.assert_array_equal(binned.bins.column(feature), naive(cuts, data[:, feature]))


def test_cuts_come_from_training_rows_only() -> None:
    column = np.concatenate([np.arange(100), np.arange(10_000, 10_100)]).astype(np.float32)
    binned = BinnedTable.build(Table.read(column[:, None]), 100, 256)
    assert binned.cuts[0].max() == 99
    assert not binned.has_missing[0]


def test_missing_in_eval_rows_only_adds_no_cut() -> None:
    binned = BinnedTable.build(Table.read([[1.0], [2.0], [np.nan]]), 2, 256)
    assert binned.cuts[0].tolist() == [2.0]
    assert binned.bins.column(0).tolist() == [0, 1, 2]


def test_imposed_cuts_are_taken_as_they_are() -> None:
    table = Table.read({"a": [1, 2, np.nan]}, party="bank")
    binned = BinnedTable.build(table, 3, 2, cuts={"a": [1.5, 1.75, 9.0]})
    assert binned.cuts[0].tolist() == [1.5, 1.75, 9.0]
    assert binned.bins.column(0).tolist() == [0, 2, 4]
    with pytest.raises(CutsError, match="column 'a' of party 'bank'"):
        BinnedTable.build(table, 3, 2, cuts={"b": [1.0]})


def test_constant_and_empty_columns() -> None:
    binned = BinnedTable.build(Table.read([[7.0, np.nan], [7.0, np.nan]]), 2, 256)
    assert binned.n_bins.tolist() == [1, 2]
    assert binned.bins.column(1).tolist() == [2, 2]
