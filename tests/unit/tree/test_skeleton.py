"""Sums of an open level that are revised: the weights follow, and monotone splits stay monotone."""

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.tree.skeleton import NodeSplits, TreeSkeleton


def root(constraint: int | None) -> TreeSkeleton:
    """A tree of one split, left sums (2, 4) of (0, 8): weights -0.4 and 0.4 with lambda 1."""
    rule = _native.gbdt.SplitRule(1.0, 1.0, 0.0, 0.0, 0.0)
    tree = TreeSkeleton(np.array([[0, 8]]), rule, 1.0, constraint is not None)
    one = np.zeros(1, dtype=np.int64)
    direction = np.array([constraint or 0], dtype=np.int8)
    split = NodeSplits(0, one, np.array([[2, 4]]), direction, np.zeros(1, dtype=np.int32))
    (left,) = tree.split([split], np.ones(1), False)
    assert left.tolist() == [1]
    assert tree.nodes.tolist() == [1, 2]
    assert tree.totals.tolist() == [[2, 4], [-2, 4]]
    return tree


def test_equal_sums_change_nothing() -> None:
    tree = root(1)
    before = tree.shape(1.0)
    tree.revise(tree.totals.copy())
    assert tree.shape(1.0).value.tolist() == before.value.tolist() == pytest.approx([0, -0.4, 0.4])


def test_weights_and_covers_follow_the_sums() -> None:
    tree = root(None)
    tree.revise(np.array([[2, 3], [-2, 4]]))
    shape = tree.shape(1.0)
    assert shape.value.tolist() == pytest.approx([0, -0.5, 0.4])
    assert shape.cover.tolist() == [8, 3, 4]


def test_a_monotone_split_stays_monotone() -> None:
    """With other rows the left child would weigh more than the right one: both stop at the middle."""
    tree = root(1)
    tree.revise(np.array([[-3, 4], [3, 4]]))
    shape = tree.shape(1.0)
    assert shape.value[1] <= shape.value[2]
    assert shape.value.tolist() == pytest.approx([0, 0, 0])
