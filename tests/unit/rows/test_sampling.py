"""Sampling: sizes, unbiasedness of GOSS, and draws that are a function of the place alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_tests import examples
from vfxgb import _native
from vfxgb.params import TrainParams
from vfxgb.rows.sampling import ColumnSampler, sample_rows

# What the seed 0 draws: a change here changes every sampled model.
PINNED_ROWS = [1, 3, 7, 10, 11, 12, 13, 15]
PINNED_COLUMNS = [3, 4, 7, 8, 9]


def gradients(n: int, outputs: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(n, outputs)), rng.random((n, outputs))


def test_all_rows_by_default() -> None:
    g, h = gradients(10)
    sample = sample_rows(TrainParams(), 0, g, h)
    assert sample.rows is None
    assert sample.gradients is g


def test_subsample_is_bernoulli_ascending_and_repeatable() -> None:
    params = TrainParams(subsample=0.3, random_state=7)
    g, h = gradients(20_000)
    rows = sample_rows(params, 4, g, h).rows
    assert rows is not None
    assert rows.dtype == np.int32
    assert (np.diff(rows) > 0).all()
    assert 0.28 < len(rows) / 20_000 < 0.32
    assert np.array_equal(rows, sample_rows(params, 4, g, h).rows)
    assert not np.array_equal(rows, sample_rows(params, 5, g, h).rows)
    assert not np.array_equal(rows, sample_rows(TrainParams(subsample=0.3, random_state=8), 4, g, h).rows)


def test_subsample_is_never_empty() -> None:
    g, h = gradients(2)
    for index in range(50):
        rows = sample_rows(TrainParams(subsample=1e-6), index, g, h).rows
        assert rows is not None
        assert len(rows) == 1


def test_the_first_draw_is_pinned() -> None:
    g, h = gradients(16)
    rows = sample_rows(TrainParams(subsample=0.5), 0, g, h).rows
    assert rows is not None
    assert rows.tolist() == PINNED_ROWS
    assert ColumnSampler(10, TrainParams(colsample_bytree=0.5)).tree(0, 0).tolist() == PINNED_COLUMNS


@pytest.mark.parametrize("outputs", [1, 3])
def test_goss_keeps_the_largest_and_amplifies_the_rest(outputs: int) -> None:
    g, h = gradients(1000, outputs)
    params = TrainParams(sampling_method="goss", top_rate=0.2, other_rate=0.1)
    sample = sample_rows(params, 0, g, h)
    assert sample.rows is not None
    assert len(sample.rows) == 300
    assert (np.diff(sample.rows) > 0).all()
    top = np.argsort(-np.abs(g).sum(axis=1), kind="stable")[:200]
    assert np.isin(top, sample.rows).all()
    np.testing.assert_array_equal(sample.gradients[top], g[top])
    drawn = np.setdiff1d(sample.rows, top)
    np.testing.assert_allclose(sample.gradients[drawn], g[drawn] * 8.0, rtol=1e-15)
    np.testing.assert_allclose(sample.hessians[drawn], h[drawn] * 8.0, rtol=1e-15)


@given(st.data())
@examples(60)
def test_goss_rows_against_ranking_them_all(data) -> None:
    """Few different magnitudes and words, so that ties decide."""
    n = data.draw(st.integers(1, 40))
    magnitudes = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=n, max_size=n)))
    words = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), dtype=np.uint64)
    n_top = data.draw(st.integers(0, n))
    n_other = data.draw(st.integers(0, n - n_top))
    top, drawn = _native.gbdt.goss_rows(magnitudes, words, n_top, n_other)
    ranked = sorted(range(n), key=lambda row: (-magnitudes[row], row))
    others = sorted(ranked[n_top:], key=lambda row: (words[row], row))
    assert (top.tolist(), drawn.tolist()) == (sorted(ranked[:n_top]), sorted(others[:n_other]))
    with pytest.raises(ValueError, match="no more rows wanted than there are"):
        _native.gbdt.goss_rows(magnitudes, words, n_top, n - n_top + 1)


def test_goss_sums_are_unbiased() -> None:
    g, h = gradients(400)
    params = TrainParams(sampling_method="goss", top_rate=0.1, other_rate=0.2)
    sums = []
    for index in range(400):
        sample = sample_rows(params, index, g, h)
        sums.append(float(sample.hessians[sample.rows].sum()))
    # Sampling error of the mean of 400 sums, each of 80 draws amplified by 4.5.
    error = 4.5 * np.sqrt(80) * h.std() / np.sqrt(400)
    assert abs(np.mean(sums) - h.sum()) < 4 * error


def test_goss_ties_go_to_the_lower_row_and_full_rates_keep_all() -> None:
    ones = np.ones((10, 1))
    sample = sample_rows(TrainParams(sampling_method="goss", top_rate=0.5, other_rate=0.1), 0, ones, ones)
    assert sample.rows is not None
    assert sample.rows[:5].tolist() == [0, 1, 2, 3, 4]
    everything = TrainParams(sampling_method="goss", top_rate=0.5, other_rate=0.5)
    assert sample_rows(everything, 0, ones, ones).rows is None


def test_columns_are_nested_and_sized_as_in_xgboost() -> None:
    params = TrainParams(colsample_bytree=0.5, colsample_bylevel=0.5, colsample_bynode=0.5)
    sampler = ColumnSampler(20, params)
    tree = sampler.tree(3, 1)
    level = sampler.level(3, 1, 2)
    node = sampler.node(3, 1, 2, 9)
    assert [len(tree), len(level), len(node)] == [10, 5, 2]
    assert set(node) <= set(level) <= set(tree)
    assert (np.diff(tree) > 0).all()
    assert len(ColumnSampler(3, TrainParams(colsample_bytree=0.1)).tree(0, 0)) == 1


@pytest.mark.parametrize("rates", [{"colsample_bynode": 0.5}, {"colsample_bylevel": 0.5}, {"colsample_bytree": 0.6}])
def test_columns_of_several_nodes_are_those_of_each(rates) -> None:
    sampler = ColumnSampler(9, TrainParams(**rates))
    usable = sampler.nodes(2, 1, 3, [7, 9, 12])
    assert [np.flatnonzero(row).tolist() for row in usable] == [sampler.node(2, 1, 3, i).tolist() for i in (7, 9, 12)]


def test_column_draws_depend_on_the_place_only() -> None:
    params = TrainParams(colsample_bytree=0.5, colsample_bynode=0.5)
    first, second = ColumnSampler(30, params), ColumnSampler(30, params)
    later = second.node(5, 0, 3, 12)
    assert np.array_equal(first.node(5, 0, 3, 12), later)
    draws = {tuple(first.tree(index, output)) for index in range(5) for output in range(3)}
    assert len(draws) == 15
    assert ColumnSampler(30, TrainParams()).node(0, 0, 0, 0).tolist() == list(range(30))


def test_every_column_is_drawn_about_equally_often() -> None:
    sampler = ColumnSampler(10, TrainParams(colsample_bytree=0.3))
    counts = np.bincount(np.concatenate([sampler.tree(index, 0) for index in range(1000)]), minlength=10)
    assert counts.min() > 240
    assert counts.max() < 360
