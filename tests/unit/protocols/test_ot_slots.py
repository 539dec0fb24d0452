"""Columns that share a tree of masks: which do, what a row's leaf is, and sums of one column from those of leaves."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_tests import examples
from vfxgb.protocols.ot_shares.slots import Slots


def slots_of(leaves: list[int], joint_leaves: int, missing: bool = False) -> Slots:
    count = len(leaves)
    return Slots(np.array(leaves, np.int32) - missing, np.full(count, missing), joint_leaves)


@pytest.mark.parametrize(
    ("leaves", "joint_leaves", "groups"),
    [
        ([], 64, []),
        ([9], 64, [[0]]),
        ([8, 8], 64, [[0, 1]]),
        ([8, 9], 64, [[0], [1]]),
        ([33, 2, 32, 2, 3, 2, 3], 64, [[0], [1, 3, 4, 5], [2], [6]]),
        ([2] * 13, 64, [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [12]]),
        ([2, 2, 2], 1, [[0], [1], [2]]),
        ([2, 2, 2], 7, [[0, 1], [2]]),
    ],
)
def test_which_columns_come_together(leaves: list[int], joint_leaves: int, groups: list[list[int]]) -> None:
    assert [list(group) for group in slots_of(leaves, joint_leaves).groups] == groups


@examples(60)
@given(
    st.lists(st.integers(2, 9), min_size=1, max_size=7),
    st.integers(1, 100),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_slots_hold_what_their_columns_do(leaves: list[int], joint: int, missing: bool, seed: int) -> None:
    """Every column is in one slot, no shared one is too large; leaves and sums are those of the definition."""
    leaves = [count + missing for count in leaves]
    slots = slots_of(leaves, joint, missing)
    assert sorted(column for group in slots.groups for column in group) == list(range(len(leaves)))
    assert all(prod(leaves[column] for column in group) <= joint for group in slots.groups if len(group) > 1)
    assert slots.leaves.tolist() == [prod(leaves[column] for column in group) for group in slots.groups]
    rng = np.random.default_rng(seed)
    bins = np.stack([rng.integers(0, count, 20) for count in leaves]).astype(np.uint16)
    holes = slots.holes(bins)
    for slot, group in enumerate(slots.groups):
        combinations = list(product(*(range(leaves[column]) for column in group)))
        assert [combinations[hole] for hole in holes[slot]] == list(
            zip(*(bins[column] for column in group), strict=True)
        )
    # One row per sum: left sums of a column are those of its own bins.
    values = rng.integers(0, 2**63, (20, 2), dtype=np.uint64)
    columns = np.flatnonzero(rng.random(len(leaves)) < 0.7).astype(np.int32)
    used = slots.of_columns(columns)
    cells = np.zeros((1, int(slots.leaves[used].sum()), 2), dtype=np.uint64)
    first = 0
    for slot in used:
        np.add.at(cells[0], first + holes[slot].astype(np.int64), values)
        first += int(slots.leaves[slot])
    left = slots.left_shares(cells, used, columns)[0]
    wanted = []
    for column in columns.tolist():
        cuts = leaves[column] - missing - 1
        below = [values[bins[column] <= cut].sum(axis=0, dtype=np.uint64) for cut in range(cuts)]
        absent = values[bins[column] == leaves[column] - 1].sum(axis=0, dtype=np.uint64)
        wanted += [*below, *((some + absent for some in reversed(below)) if missing else ())]
    assert left.tolist() == [some.tolist() for some in wanted]
    assert len(left) == int(slots.candidates[columns].sum())


def test_other_groups_are_not_the_same() -> None:
    one = slots_of([2, 2, 8], 64)
    assert one.same(slots_of([2, 2, 8], 32))
    assert not one.same(slots_of([2, 2, 8], 4))
    assert not one.same(slots_of([2, 2, 4], 64))
