"""The count of sums over few rows, against a slow twin over every node of a growing tree."""

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.protocols.base import PassiveNodes, PassiveTree
from vfxgb.tree.disclosure import FEW_ROWS, SmallSums

CUTS = [np.linspace(-2, 2, 9), np.array([-1.5, 0.0]), np.linspace(-3, 3, 5)]


def _naive(X: np.ndarray, rows: np.ndarray, features: list[int]) -> int:
    small = 0
    for feature in features:
        values = X[rows, feature]
        bins = np.searchsorted(CUTS[feature], values[~np.isnan(values)], side="right")
        counts = [*np.bincount(bins).tolist(), int(np.isnan(values).sum())]
        small += sum(0 < count < FEW_ROWS for count in counts)
    return small


@pytest.mark.parametrize("features", [[0, 1, 2], [0, 2], []])
@pytest.mark.parametrize("build", ["left", "right", "both", "none"])
def test_against_a_naive_twin(features, build) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    bins = _native.Bins(400, CUTS)
    for feature in range(3):
        bins.fill(feature, np.ascontiguousarray(X[:, feature]))
    tree = PassiveTree(0, np.array(features, np.int32), _native.RowPartition(400))
    counter = SmallSums(bins, tree, 1, 1)
    members = {0: np.arange(400)}
    parents = {0: -1}
    expected = 0
    for depth in range(3):
        nodes = sorted(members)
        positions = {
            "left": np.arange(0, len(nodes), 2),
            "right": np.arange(1, len(nodes), 2),
            "both": np.arange(len(nodes)),
            "none": np.zeros(0, np.int64),
        }[build if len(nodes) > 1 else "both"]
        level = PassiveNodes(
            0, np.array(nodes, np.int32), np.array([parents[node] for node in nodes], np.int32), positions, None
        )
        counter.note(level)
        expected += sum(_naive(X, members[node], features) for node in nodes)
        if depth == 2:
            break
        grown = {}
        for node in nodes:
            left = rng.random(len(members[node])) < 0.3
            first = max([*members, *grown]) + 1
            tree.partition.split(
                *(np.array([one], np.int32) for one in (node, first, first + 1)), np.packbits(left, bitorder="little")
            )
            grown |= {first: members[node][left], first + 1: members[node][~left]}
            parents |= {first: node, first + 1: node}
        members = grown
    assert counter.count() == expected


def test_merged_buckets_leave_fewer_small_sums() -> None:
    rng = np.random.default_rng(8)
    bins = _native.Bins(200, CUTS)
    for feature in range(3):
        bins.fill(feature, rng.normal(size=200))
    tree = PassiveTree(0, np.arange(3, dtype=np.int32), _native.RowPartition(200))
    root = PassiveNodes(0, np.zeros(1, np.int32), np.full(1, -1, np.int32), np.zeros(1, np.int64), None)
    counters = [SmallSums(bins, tree, least, 1) for least in (1, 5, 12, FEW_ROWS)]
    for counter in counters:
        counter.note(root)
    found = [counter.count() for counter in counters]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1] == 0
