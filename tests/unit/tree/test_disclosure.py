"""The count of sums over few rows, against a slow twin over every node of a growing tree."""

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.contract import PassiveNodes, PassiveTree
from vfxgb.rows.memory import MemoryRows
from vfxgb.rows.shown_cuts import ShownCuts
from vfxgb.runtime.ledger import FEW_ROWS
from vfxgb.tree.disclosure import SmallSums

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
    bins = _native.gbdt.Bins(400, CUTS)
    for feature in range(3):
        bins.fill(feature, np.ascontiguousarray(X[:, feature]))
    tree = PassiveTree(0, np.array(features, np.int32), MemoryRows(bins).partition(None))
    counter = SmallSums(MemoryRows(bins), tree)
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


def _bins(rng: np.random.Generator, n: int) -> _native.gbdt.Bins:
    bins = _native.gbdt.Bins(n, CUTS)
    for feature in range(3):
        bins.fill(feature, rng.normal(size=n))
    return bins


def _nodes(nodes: list[int], parents: list[int], allowed: list[list[bool]] | None = None) -> PassiveNodes:
    return PassiveNodes(
        0,
        np.array(nodes, np.int32),
        np.array(parents, np.int32),
        np.arange(len(nodes)),
        None if allowed is None else np.array(allowed),
    )


def _split(partition: _native.gbdt.RowPartition, node: int, left: int, goes: np.ndarray) -> None:
    partition.split(
        *(np.array([one], np.int32) for one in (node, left, left + 1)), np.packbits(goes, bitorder="little")
    )


def test_merged_buckets_leave_fewer_small_sums() -> None:
    bins = _bins(np.random.default_rng(8), 200)
    found = []
    for least in (1, 5, 12, FEW_ROWS):
        partition, features = MemoryRows(bins).partition(None), np.arange(3, dtype=np.int32)
        tree = PassiveTree(0, features, partition, 0, ShownCuts(MemoryRows(bins), features, least))
        tree.cuts.open(partition, np.zeros(1, np.int32), np.full(1, -1))
        counter = SmallSums(MemoryRows(bins), tree)
        counter.note(_nodes([0], [-1]))
        _split(partition, 0, 1, np.arange(200) % 2 == 0)
        tree.cuts.open(partition, np.array([1, 2], np.int32), np.zeros(2, np.int64))
        counter.note(_nodes([1, 2], [0, 0]))
        found.append(counter.count())
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1] == 0


@pytest.mark.parametrize("least", [1, 3])
def test_merged_buckets_against_a_naive_twin(least) -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(120, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    bins, features = _native.gbdt.Bins(120, CUTS), np.arange(3, dtype=np.int32)
    for feature in range(3):
        bins.fill(feature, np.ascontiguousarray(X[:, feature]))
    partition = MemoryRows(bins).partition(None)
    cuts = ShownCuts(MemoryRows(bins), features, least)
    tree = PassiveTree(0, features, partition, 0, cuts)
    cuts.open(partition, np.zeros(1, np.int32), np.full(1, -1))
    counter = SmallSums(MemoryRows(bins), tree)
    counter.note(_nodes([0], [-1]))
    expected = 0
    for feature in range(3):
        column = bins.column(feature)
        ends = (
            range(len(CUTS[feature]))
            if least == 1
            else np.flatnonzero(cuts.shown(np.zeros(1, np.int32))[0][0, feature])
        )
        apart = least == 1 or bool(cuts.shown(np.zeros(1, np.int32))[1][0, feature])
        marks = [*ends, len(CUTS[feature])] if apart else ends
        bucket = np.searchsorted(marks, column)
        counts = np.bincount(bucket)
        expected += int(((counts > 0) & (counts < FEW_ROWS)).sum())
    assert counter.count() == expected > 0


DERIVED = {
    # allowed in the root, in its children 1 and 2, in the children 3 and 4 of 1; wanted: in which nodes sums are known
    "all": ([1], [1, 1], [1, 1], [0, 1, 2, 3, 4]),
    "sibling from the parent": ([1], [1, 0], [0, 0], [0, 1, 2]),
    "parent from the children": ([0], [1, 1], [0, 0], [0, 1, 2]),
    "uncle from the grandparent": ([1], [0, 0], [1, 1], [0, 1, 2, 3, 4]),
    "nothing to subtract from": ([0], [1, 0], [0, 0], [1]),
    "no sibling": ([1], [0, 0], [1, 0], [0, 3]),
}


@pytest.mark.parametrize("case", DERIVED)
def test_what_column_sampling_withholds_may_be_derived(case) -> None:
    *allowed, known = DERIVED[case]
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 1))
    bins = _native.gbdt.Bins(40, CUTS[:1])
    bins.fill(0, np.ascontiguousarray(X[:, 0]))
    tree = PassiveTree(0, np.zeros(1, np.int32), MemoryRows(bins).partition(None))
    counter = SmallSums(MemoryRows(bins), tree)
    members = {0: np.arange(40)}
    levels = [([0], [-1]), ([1, 2], [0, 0]), ([3, 4], [1, 1])]
    for depth, (nodes, parents) in enumerate(levels):
        if depth:
            above = parents[0]
            goes = rng.random(len(members[above])) < 0.5
            _split(tree.partition, above, nodes[0], goes)
            members |= {nodes[0]: members[above][goes], nodes[1]: members[above][~goes]}
        counter.note(_nodes(nodes, parents, [[bool(one)] for one in allowed[depth]]))
    assert counter.count() == sum(_naive(X, members[node], [0]) for node in known)
