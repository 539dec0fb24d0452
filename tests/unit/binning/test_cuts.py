"""Cut points: exact for few values, balanced for many."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.binning.cuts import _at_even_ranks, check_cuts, cuts_with_missing, make_cuts
from vfxgb.errors import CutsError

COLUMNS = st.lists(st.floats(-100, 100, width=32) | st.integers(-3, 3).map(float) | st.just(float("nan")), max_size=300)


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def test_few_values_have_a_bin_each() -> None:
    assert make_cuts(floats(3, 1, np.nan, 2, 1), 3).tolist() == [2, 3]
    assert make_cuts(floats(5, 5), 256).tolist() == []
    assert make_cuts(floats(np.nan), 256).tolist() == []


@given(COLUMNS, st.integers(2, 40))
def test_properties(values: list[float], max_bin: int) -> None:
    column = np.array(values, dtype=np.float32)
    cuts = make_cuts(column, max_bin)
    distinct = np.unique(column[~np.isnan(column)])
    assert cuts.dtype == np.float32
    assert len(cuts) <= max_bin - 1
    if len(distinct) <= max_bin:
        assert cuts.tolist() == distinct[1:].tolist()
    assert (np.diff(cuts) > 0).all()
    assert np.isin(cuts, distinct[1:]).all()
    # No bin is empty.
    bins = np.searchsorted(cuts, column[~np.isnan(column)], side="right")
    assert len(np.unique(bins)) == (len(cuts) + 1 if len(distinct) else 0)


def test_bins_hold_about_the_same_number_of_rows() -> None:
    column = np.random.default_rng(0).normal(size=10_000).astype(np.float32)
    counts = np.bincount(np.searchsorted(make_cuts(column, 32), column, side="right"))
    assert len(counts) == 32
    assert counts.min() >= 311
    assert counts.max() <= 314


@pytest.mark.parametrize("heavy", [-10.0, 0.0, 10.0])
def test_a_heavy_value_is_alone_in_its_bin_or_starts_it(heavy: float) -> None:
    tail = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    column = np.concatenate([np.full(5000, heavy, dtype=np.float32), tail])
    cuts = make_cuts(column, 32)
    counts = np.bincount(np.searchsorted(cuts, tail, side="right"), minlength=len(cuts) + 1)
    assert 15 <= len(cuts) <= 31
    assert counts.max() <= 2 * 10_000 / 32


def naive_choice(counts: list[int], n_bins: int) -> list[int]:
    """_at_even_ranks, one goal after the other."""
    high = np.cumsum(counts)
    low = high - counts
    chosen = []
    for k in range(1, n_bins):
        goal = high[0] + k * (low[-1] - high[0]) / n_bins
        i = 0
        while i < len(counts) - 2 and 2 * goal >= low[i + 1] + high[i + 1]:
            i += 1
        chosen.append(i if 2 * goal < high[i] + low[i + 1] else i + 1)
    return chosen


@given(st.lists(st.integers(1, 50), min_size=6, max_size=80), st.integers(2, 5))
def test_choice_agrees_with_the_naive_one(counts: list[int], n_bins: int) -> None:
    start = np.append(0, np.cumsum(counts[:-1])).astype(np.int32)
    assert _at_even_ranks(start, n_bins).tolist() == naive_choice(counts, n_bins)


def test_row_order_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    column = rng.gamma(1.0, size=5000).astype(np.float32).round(2)
    np.testing.assert_array_equal(make_cuts(column, 16), make_cuts(rng.permutation(column), 16))


def test_cut_above_all_values() -> None:
    largest = np.finfo(np.float32).max
    assert cuts_with_missing(make_cuts(floats(1, 2, np.nan), 16)).tolist() == [2, largest]
    assert cuts_with_missing(make_cuts(floats(np.nan), 16)).tolist() == [largest]
    assert cuts_with_missing(make_cuts(floats(0, largest, np.nan), 16)).tolist() == [largest]


BAD_CUTS: list[dict[str, Any]] = [
    {},
    {"a": [[1.0]]},
    {"a": [2.0, 1.0]},
    {"a": [1.0, 1.0]},
    {"a": [1.0, 1.0 + 1e-12]},
    {"a": [np.nan]},
    {"a": [np.inf]},
    {"a": ["x"]},
    {"a": np.arange(70_000)},
]


@pytest.mark.parametrize("cuts", BAD_CUTS)
def test_imposed_cuts_that_cannot_be_used(cuts: Any) -> None:
    with pytest.raises(CutsError, match="column 'a' of party 'bank'"):
        check_cuts(cuts, ["a"], "bank")


def test_imposed_cuts() -> None:
    assert check_cuts({"a": [], "b": [1]}, ["a"])["a"].tolist() == []
