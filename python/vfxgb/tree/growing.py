"""One tree while it grows, at the active party: its nodes, their sums, and who is in them.

Nodes get the numbers XGBoost's depth-wise growth gives them: level by level, the children of the level's split nodes in
the order of their parents, left before right.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.model.shares import LEAF, TreeShape
from vfxgb.protocols.base import LevelNodes

NONE = -1


@dataclass(frozen=True)
class OwnedSplits:
    """The splits that one party won in one level of a tree: k of them.

    `party`: its position in party order. `positions`: int64[k], ascending, in the level's nodes; `left_sums`: int64[k,
    2]; `constraint`: int8[k]; `records`: int32[k]; `bits`: who goes left, as RowPartition.split takes it.
    """

    party: int
    positions: NDArray[np.int64]
    left_sums: NDArray[np.int64]
    constraint: NDArray[np.int8]
    records: NDArray[np.int32]
    bits: bytes | memoryview


@dataclass(frozen=True)
class AppliedSplits:
    """OwnedSplits after the children got their numbers; all int32[k]."""

    party: int
    nodes: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    bits: bytes | memoryview


class GrowingTree:
    """A tree of output `tree`, at first a root with all rows.

    `pairs`: int64[n_train, 2]; `partition` holds all rows in node 0. `rule` scores and weighs; `step` is the value of
    the integer 1; `bounded`: the run has monotone constraints. `subtract`: make sums for the smaller child only.
    """

    def __init__(
        self,
        tree: int,
        pairs: NDArray[np.int64],
        partition: _native.RowPartition,
        rule: _native.SplitRule,
        step: float,
        bounded: bool,
        subtract: bool,
        threads: int,
    ) -> None:
        self.tree = tree
        self.pairs = pairs
        self.partition = partition
        self._rule = rule
        self._step = step
        self._subtract = subtract
        self._threads = threads
        root = np.zeros(1, dtype=np.int32)
        totals = _native.node_sums(partition, root, pairs, threads)
        bounds = np.array([[-np.inf, np.inf]]) if bounded else None
        self._party = [np.array([LEAF], dtype=np.int16)]
        self._record = [np.array([NONE], dtype=np.int32)]
        self._children = [np.array([[NONE, NONE]], dtype=np.int32)]
        self._parent = [np.array([NONE], dtype=np.int32)]
        self._weight = [rule.weights(totals, bounds)]
        self._gain = [np.zeros(1)]
        self._totals = [totals]
        self._n_nodes = 1
        every = np.zeros(1, dtype=np.int64)
        none = np.array([NONE], dtype=np.int64)
        self.level = LevelNodes(tree, root, totals, bounds, every, none, none, rule, partition)
        self.applied: list[AppliedSplits] = []

    def split(self, owned: list[OwnedSplits], gain: NDArray[np.float64], last: bool) -> None:
        """Apply the splits of a level; afterwards `level` holds the next one, without nodes if nothing was split.

        `gain`: float64[m], of every node of the level. `last`: the children are leaves, by depth.
        """
        level = self.level
        positions = np.concatenate([one.positions for one in owned]) if owned else np.zeros(0, np.int64)
        order = np.argsort(positions, kind="stable")
        k = len(positions)
        # Where each owner's splits stand among all of the level, which are numbered by node.
        place = np.empty(k, dtype=np.int64)
        place[order] = np.arange(k)
        left = (self._n_nodes + 2 * place).astype(np.int32)
        self.applied = []
        begin = 0
        for one in owned:
            end = begin + len(one.positions)
            nodes = np.ascontiguousarray(level.nodes[one.positions])
            applied = AppliedSplits(one.party, nodes, left[begin:end], left[begin:end] + np.int32(1), one.bits)
            self.partition.split(nodes, applied.left, applied.right, one.bits, self._threads)
            self._party[-1][one.positions] = one.party
            self._record[-1][one.positions] = one.records
            self._children[-1][one.positions, 0] = applied.left
            self._children[-1][one.positions, 1] = applied.right
            self.applied.append(applied)
            begin = end
        self._gain[-1][positions] = gain[positions]
        self._add_children(owned, positions, order, last)

    def _add_children(
        self, owned: list[OwnedSplits], positions: NDArray[np.int64], order: NDArray[np.int64], last: bool
    ) -> None:
        level = self.level
        k = len(positions)
        parents = positions[order]
        totals = np.empty((2 * k, 2), dtype=np.int64)
        bounds = None
        weights = np.zeros(0)
        if k:
            totals[0::2] = np.concatenate([one.left_sums for one in owned])[order]
            totals[1::2] = level.totals[parents] - totals[0::2]
            inherited = None if level.bounds is None else np.repeat(level.bounds[parents], 2, axis=0)
            # As in XGBoost a child's weight is bounded by its parent's limits; its own bind its children.
            weights = self._rule.weights(totals, inherited)
            if inherited is not None:
                bounds = _child_bounds(inherited, weights, np.concatenate([one.constraint for one in owned])[order])
        nodes = np.arange(self._n_nodes, self._n_nodes + 2 * k, dtype=np.int32)
        self._n_nodes += 2 * k
        if k:
            self._party.append(np.full(2 * k, LEAF, dtype=np.int16))
            self._record.append(np.full(2 * k, NONE, dtype=np.int32))
            self._children.append(np.full((2 * k, 2), NONE, dtype=np.int32))
            self._parent.append(np.repeat(level.nodes[parents], 2))
            self._weight.append(weights)
            self._gain.append(np.zeros(2 * k))
            self._totals.append(totals)
        if last:
            nodes, totals, parents = nodes[:0], totals[:0], parents[:0]
            bounds = None if bounds is None else bounds[:0]
        build, sibling = self._to_build(nodes)
        self.level = LevelNodes(
            self.tree,
            nodes,
            totals,
            bounds,
            build,
            sibling,
            np.repeat(parents, 2).astype(np.int64),
            self._rule,
            self.partition,
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

    def shape(self, learning_rate: float) -> TreeShape:
        """The finished tree. Values are float32 products, as XGBoost's."""
        children = np.concatenate(self._children)
        value = np.concatenate(self._weight).astype(np.float32) * np.float32(learning_rate)
        return TreeShape(
            party=np.concatenate(self._party),
            record=np.concatenate(self._record),
            left=np.ascontiguousarray(children[:, 0]),
            right=np.ascontiguousarray(children[:, 1]),
            parent=np.concatenate(self._parent),
            value=value.astype(np.float64),
            gain=np.concatenate(self._gain),
            cover=np.concatenate(self._totals)[:, 1].astype(np.float64) * self._step,
        )


def _child_bounds(
    inherited: NDArray[np.float64], weights: NDArray[np.float64], constraint: NDArray[np.int8]
) -> NDArray[np.float64]:
    """Limits float64[2k, 2] of the children's own children: a constrained split parts the range at the middle."""
    bounds = inherited.copy()
    left, right = weights[0::2].astype(np.float32), weights[1::2].astype(np.float32)
    middle = ((left + right) / np.float32(2)).astype(np.float64)
    rising, falling = constraint > 0, constraint < 0
    bounds[0::2, 1][rising] = middle[rising]
    bounds[1::2, 0][rising] = middle[rising]
    bounds[0::2, 0][falling] = middle[falling]
    bounds[1::2, 1][falling] = middle[falling]
    return bounds
