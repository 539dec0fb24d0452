"""Cut points from shards: those of the whole column to the bit, however it is divided."""

import pickle
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.binning.binned import BinnedTable
from vfxgb.binning.cuts import LARGEST, cuts_with_missing, make_cuts
from vfxgb.binning.keys import floats_of, keys_of
from vfxgb.binning.sketch import CutSearch, RankSearch, Survey, refine, survey
from vfxgb.data.table import Table
from vfxgb.errors import CutsError

RNG = np.random.default_rng(3)
N = 4000
COLUMNS = {
    "normal": RNG.normal(size=N),
    "wide": np.exp(12 * RNG.normal(size=N)) * RNG.choice([-1, 1], N),
    "whole": RNG.integers(-2000, 2000, N),
    "just 16 bits": RNG.integers(0, 64, N),
    "close": 1 + RNG.integers(0, 5000, N) * 2.0**-23,
    "heavy": np.where(RNG.random(N) < 0.95, 0.0, RNG.normal(size=N)),
    "heavy ends": np.clip(RNG.normal(size=N), -0.1, 0.1),
    "zeros of both signs": np.where(RNG.random(N) < 0.5, -0.0, RNG.choice([0.0, 1.0, -1e-45, 1e-45], N)),
    "extremes": np.concatenate([[-LARGEST, LARGEST], RNG.normal(size=N)]),
    "missing": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(size=N)),
    "missing and largest": np.array([np.nan, 1.0, LARGEST]),
    "only missing": np.full(20, np.nan),
    "constant": np.full(20, -3.5),
    "constant and missing": np.array([2.0, np.nan, 2.0]),
    "single": np.array([1.0]),
}


def shards_of(column: np.ndarray, edges: list[int]) -> list[np.ndarray]:
    return np.split(column, sorted(min(edge, len(column)) for edge in edges))


def counts_of(shards: list[np.ndarray], search: CutSearch | RankSearch) -> np.ndarray:
    assert search.wanted is not None
    return reduce(np.add, (refine(shard, search.wanted, search.level) for shard in shards))


def searched(shards: list[np.ndarray], max_bin: int) -> np.ndarray:
    """The cuts as several processes find them."""
    parts = [pickle.loads(pickle.dumps(survey(shard))) for shard in shards]
    search = CutSearch(Survey.join(parts), max_bin)
    levels = []
    while search.wanted is not None:
        assert search.wanted.dtype == np.uint32
        assert (np.diff(search.wanted.astype(np.int64)) > 0).all()
        assert 0 < len(search.wanted) <= max_bin
        levels.append(search.level)
        search.refine(counts_of(shards, search))
    assert levels in ([], [1, 2])
    return search.cuts()


def whole(column: np.ndarray, max_bin: int) -> np.ndarray:
    cuts = make_cuts(column, max_bin)
    return cuts_with_missing(cuts) if np.isnan(column).any() else cuts


def equal_bits(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.dtype == wanted.dtype == np.float32
    assert found.view(np.uint32).tolist() == wanted.view(np.uint32).tolist()


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("max_bin", [2, 3, 17, 64, 256, 5000])
def test_cuts_are_those_of_the_whole_column(name: str, max_bin: int) -> None:
    column = COLUMNS[name].astype(np.float32)
    for edges in ([], [1], [3, 700, 701, 3000]):
        equal_bits(searched(shards_of(column, edges), max_bin), whole(column, max_bin))


ANY = st.floats(width=32, allow_nan=False, allow_infinity=False)
TIES = st.integers(-3, 3).map(float) | st.sampled_from([-0.0, float(LARGEST), 1e-45, float("nan")])
CLOSE = st.integers(0, 600).map(lambda step: 1 + step * 2.0**-23)


@given(
    st.lists(ANY | TIES, max_size=120) | st.lists(TIES, max_size=60) | st.lists(CLOSE, max_size=150),
    st.integers(2, 40),
    st.lists(st.integers(0, 120), max_size=4),
)
def test_cuts_of_any_column_in_any_division(values: list[float], max_bin: int, edges: list[int]) -> None:
    column = np.array(values, dtype=np.float32)
    equal_bits(searched(shards_of(column, edges), max_bin), whole(column, max_bin))


@given(st.lists(st.integers(1, 30), min_size=2, max_size=60), st.integers(2, 40))
def test_cuts_of_heavy_values(counts: list[int], max_bin: int) -> None:
    column = np.repeat(np.arange(len(counts)), counts).astype(np.float32)
    halves = [column[half::2].copy() for half in (0, 1)]
    equal_bits(searched(halves, max_bin), whole(column, max_bin))


def test_cuts_are_those_of_a_binned_table() -> None:
    table = Table.read(np.column_stack([COLUMNS[name] for name in ("normal", "missing", "whole")]))
    binned = BinnedTable.build(table, 3000, 32)
    for feature in range(3):
        column = table.column(feature)[:3000]
        search = CutSearch(survey(column), 32)
        assert search.has_missing == binned.has_missing[feature]
        equal_bits(searched(shards_of(column, [10, 2000]), 32), binned.cuts[feature])


@pytest.mark.parametrize("name", COLUMNS)
def test_a_survey_counts_what_it_says(name: str) -> None:
    column = COLUMNS[name].astype(np.float32)
    keys = keys_of(column[~np.isnan(column)])
    found = survey(column)
    assert (found.rows, found.present) == (len(column), len(keys))
    low, high = (int(keys.min()), int(keys.max())) if len(keys) else (0, 0)
    assert (found.smallest, found.largest) == (low, high)
    assert (found.smallest_rows, found.largest_rows) == (int((keys == low).sum()), int((keys == high).sum()))
    prefixes, counts = np.unique(keys >> np.uint32(16), return_counts=True)
    assert found.prefixes.tolist() == prefixes.tolist()
    assert found.counts.tolist() == counts.tolist()


@given(st.lists(ANY | st.just(float("nan")), max_size=60), st.data())
def test_any_numbers_are_counted(values: list[float], data: st.DataObject) -> None:
    column = np.array(values, dtype=np.float32)
    keys = keys_of(column[~np.isnan(column)]).astype(np.int64)
    assert survey(column).counts.sum() == len(keys)
    for level, shift in ((1, 16), (2, 8)):
        some = data.draw(st.sets(st.sampled_from([0, 1, 255, 256, (1 << (32 - shift)) - 1, *(keys >> shift).tolist()])))
        wanted = np.array(sorted(some), dtype=np.uint32)
        found = refine(column, wanted, level)
        for row, prefix in enumerate(wanted.tolist()):
            nexts = (keys[keys >> shift == prefix] >> (shift - 8)) & 255
            assert found[row].tolist() == np.bincount(nexts, minlength=256).tolist()


@pytest.mark.parametrize(
    ("prefixes", "level", "said"),
    [
        ([2, 1], 1, "ascend"),
        ([1, 1], 1, "ascend"),
        ([1 << 16], 1, "16 bits"),
        ([1 << 24], 2, "24 bits"),
        ([1], 3, "level"),
    ],
)
def test_prefixes_that_are_none(prefixes: list[int], level: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        refine(np.zeros(3, dtype=np.float32), np.array(prefixes, dtype=np.uint32), level)


@pytest.mark.parametrize("level", [1, 2])
def test_refinement_counts_what_it_says(level: int) -> None:
    column = COLUMNS["missing"].astype(np.float32)
    keys = keys_of(column[~np.isnan(column)]).astype(np.int64)
    shift = 24 - 8 * level
    prefixes = np.unique(keys >> shift)[::3].astype(np.uint32)
    found = refine(column, prefixes, level)
    assert found.shape == (len(prefixes), 256)
    assert found.dtype == np.int64
    for row, prefix in enumerate(prefixes):
        nexts = (keys[keys >> shift == prefix] >> (shift - 8)) & 255
        assert found[row].tolist() == np.bincount(nexts, minlength=256).tolist()


def test_surveys_add_up() -> None:
    parts = [survey(np.array(values, dtype=np.float32)) for values in ([2, 1, np.nan], [np.nan], [], [1, 5, 5], [2])]
    total = Survey.join(parts)
    assert (total.rows, total.missing, total.present) == (8, 2, 6)
    assert (total.smallest_rows, total.largest_rows) == (2, 2)
    assert floats_of(np.array([total.smallest, total.largest], dtype=np.uint32)).tolist() == [1, 5]
    assert total.counts.sum() == 6
    assert Survey.join([]).rows == 0
    assert CutSearch(Survey.join([]), 16).cuts().tolist() == []


@given(st.lists(ANY | TIES.filter(lambda x: x == x), min_size=1, max_size=80), st.data())
def test_ranks(values: list[float], data: st.DataObject) -> None:
    column = np.array(values, dtype=np.float32)
    ranks = np.array(data.draw(st.lists(st.integers(0, len(column) - 1), max_size=10)), dtype=np.int64)
    every = data.draw(st.integers(0, 20))
    search = RankSearch(survey(column), ranks, every)
    while search.wanted is not None:
        assert len(search.wanted) <= max(every, len(ranks))
        search.refine(counts_of([column], search))
    assert search.values().tolist() == np.sort(column)[ranks].tolist()
    distinct = np.unique(column)
    assert (search.distinct is not None) == (len(distinct) <= every)
    if search.distinct is not None:
        assert search.distinct.tolist() == distinct.tolist()


def test_data_that_changes_between_passes() -> None:
    column = COLUMNS["normal"].astype(np.float32)
    search = CutSearch(survey(column), 16)
    with pytest.raises(CutsError, match="pass 2 is missing"):
        search.cuts()
    with pytest.raises(CutsError, match=r"counts of pass 2 are of .* leave the data alone"):
        search.refine(counts_of([column[1:] + 1], search))
    assert search.wanted is not None
    with pytest.raises(CutsError, match="pass 2"):
        search.refine(np.zeros((1, 256), dtype=np.int64))


def test_keys_keep_the_order() -> None:
    values = np.array([-np.inf, -LARGEST, -1.5, -1e-45, 0.0, 1e-45, 1.5, LARGEST, np.inf], dtype=np.float32)
    keys = keys_of(values)
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    assert floats_of(keys).tolist() == values.tolist()
    assert keys_of(np.array([-0.0], dtype=np.float32)).tolist() == [1 << 31]
