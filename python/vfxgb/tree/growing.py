"""One tree while it grows, at the active party: its nodes, their sums, and who is in them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import LevelNodes
from vfxgb.model.shares import TreeShape
from vfxgb.rows.base import RowStore
from vfxgb.rows.parts import Pairs
from vfxgb.tree.skeleton import NONE, NodeSplits, TreeSkeleton


@dataclass(frozen=True)
class OwnedSplits(NodeSplits):
    """The splits that one party won. `bits` say who goes left, as RowPartition.split takes it.

    `gain` is float64[k] where gains became known only after the party was chosen (LeftRows), else None.
    """

    bits: bytes | memoryview
    gain: NDArray[np.float64] | None = None

    def only(self, places: NDArray[np.int64], level: LevelNodes) -> "OwnedSplits":
        """Those of the splits, of nodes of `level`, that stand at `places`."""
        nodes = np.ascontiguousarray(level.nodes[self.positions])
        ends = np.cumsum(((level.partition.counts(nodes) + 7) // 8).sum(axis=1)).tolist()
        bits = memoryview(self.bits)
        return OwnedSplits(
            self.party,
            self.positions[places],
            self.left_sums[places],
            self.constraint[places],
            self.records[places],
            b"".join(bits[ends[place - 1] if place else 0 : ends[place]] for place in places.tolist()),
        )


@dataclass(frozen=True)
class AppliedSplits:
    """OwnedSplits after the children got their numbers; all int32[k]."""

    party: int
    nodes: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    bits: bytes | memoryview
    records: NDArray[np.int32]


class GrowingTree:
    """A tree of output `tree`, at first a root with all rows.

    `pairs` are int64[n_train, 2] and lie where `rows` are; of these rows `sampled` count, None for all training rows.
    `rule` scores and weighs, and `step` is the value of the integer 1. `bounded` says that the run has monotone
    constraints. With `subtract` sums are made for the smaller child only.
    """

    def __init__(
        self,
        tree: int,
        rows: RowStore,
        pairs: Pairs,
        sampled: NDArray[np.int32] | None,
        rule: _native.gbdt.SplitRule,
        step: float,
        bounded: bool,
        subtract: bool,
    ) -> None:
        self.tree = tree
        self.pairs = pairs
        self.partition = rows.partition(sampled)
        self._rule = rule
        self._subtract = subtract
        totals = rows.node_sums(self.partition, np.zeros(1, dtype=np.int32), pairs)
        self._skeleton = TreeSkeleton(totals, rule, step, bounded)
        every = np.zeros(1, dtype=np.int64)
        self.level = self._open(every, np.array([NONE], dtype=np.int64))
        self.applied: list[AppliedSplits] = []

    def split(self, owned: list[OwnedSplits], gain: NDArray[np.float64], last: bool) -> None:
        """Apply the splits of a level; afterwards `level` holds the next one, without nodes if nothing was split.

        `gain`: float64[m], of every node of the level. `last`: the children are leaves, by depth.
        """
        above = self.level.nodes
        self.applied = []
        for split, left in zip(owned, self._skeleton.split(owned, gain, last), strict=True):
            nodes = np.ascontiguousarray(above[split.positions])
            applied = AppliedSplits(split.party, nodes, left, left + np.int32(1), split.bits, split.records)
            self.partition.split(nodes, applied.left, applied.right, split.bits)
            self.applied.append(applied)
        self.level = self._open(*self._to_build(self._skeleton.nodes))

    def _open(self, build: NDArray[np.int64], sibling: NDArray[np.int64]) -> LevelNodes:
        tree = self._skeleton
        return LevelNodes(
            self.tree, tree.nodes, tree.totals, tree.bounds, build, sibling, tree.parents, self._rule, self.partition
        )

    def _to_build(self, nodes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of the nodes to make sums for (the left of two equals), and the sibling of each other node."""
        sibling = np.full(len(nodes), NONE, dtype=np.int64)
        if not self._subtract or len(nodes) == 0:
            return np.arange(len(nodes), dtype=np.int64), sibling
        rows = self.partition.counts(nodes)[:, 0]
        first = np.arange(0, len(nodes), 2, dtype=np.int64)
        build = first + (rows[0::2] > rows[1::2])
        sibling[build ^ 1] = build
        return build, sibling

    def weigh_leaves(self, rows: RowStore, pairs: Pairs, rule: _native.gbdt.SplitRule) -> None:
        """Make the weights of the leaves from other gradients than those that chose the splits."""
        leaves = self.partition.nodes()
        self._skeleton.set_weights(leaves, rows.node_sums(self.partition, leaves, pairs), rule)

    def shape(self, learning_rate: float) -> TreeShape:
        """Return the finished tree."""
        return self._skeleton.shape(learning_rate)
