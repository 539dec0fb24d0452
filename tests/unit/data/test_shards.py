"""Shards: they cover all rows, keep their bounds and end where parts end."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.data.shards import shard_ranges
from vfxgb.errors import ParameterError


def source(*sizes: int) -> Any:
    parts = [0]
    for size in sizes:
        parts.append(parts[-1] + size)
    return SimpleNamespace(n_rows=parts[-1], parts=tuple(parts))


def sizes(*arguments: Any) -> list[int]:
    return [stop - first for first, stop in shard_ranges(*arguments)]


SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=30)


@given(SIZES, st.none() | st.integers(1, 200), st.integers(1, 40))
def test_properties(parts: list[int], at_most: int | None, fewest: int) -> None:
    table = source(*parts)
    ranges = shard_ranges(table, at_most, fewest)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == table.n_rows
    assert all(left[1] == right[0] for left, right in pairwise(ranges))
    assert all(first < stop for first, stop in ranges)
    assert len(ranges) >= min(fewest, table.n_rows)
    limit = table.n_rows if at_most is None else at_most
    assert all(stop - first <= limit for first, stop in ranges)
    # No more than twice the shards that the bounds ask for: two neighbours could otherwise be joined.
    assert len(ranges) <= max(fewest, 2 * -(-table.n_rows // limit))


@given(SIZES, st.integers(1, 20))
def test_balanced_to_within_one_part(parts: list[int], fewest: int) -> None:
    table = source(*parts)
    even = table.n_rows / min(fewest, table.n_rows)
    assert all(abs(size - even) <= max(parts) for size in sizes(table, None, fewest))


@given(SIZES, st.integers(60, 300))
def test_parts_that_fit_are_not_cut(parts: list[int], at_most: int) -> None:
    table = source(*parts)
    assert {stop for _, stop in shard_ranges(table, at_most)} <= set(table.parts)


def test_known_divisions() -> None:
    assert shard_ranges(source(10), None) == [(0, 10)]
    assert sizes(source(100), None, 4) == [25, 25, 25, 25]
    assert sizes(source(100), 30) == [25, 25, 25, 25]
    assert sizes(source(10, 10, 10, 10, 10, 10), None, 3) == [20, 20, 20]
    assert sizes(source(10, 10, 10, 10, 10), None, 2) in ([20, 30], [30, 20])
    assert sizes(source(10, 10, 10, 10, 10), 25) == [20, 10, 20]
    assert sizes(source(5, 1_000_000, 5), 300_000) == pytest.approx([250_000] * 4, rel=0.1)
    assert sizes(source(2, 2, 2, 1), None, 5) == pytest.approx([1.4] * 5, abs=1)
    assert sizes(source(3), None, 8) == [1, 1, 1]


def test_bounds_that_cannot_be() -> None:
    for at_most, fewest in [(0, 1), (5, 0), (-1, 1)]:
        with pytest.raises(ParameterError, match="dividing rows into shards"):
            shard_ranges(source(10), at_most, fewest)
