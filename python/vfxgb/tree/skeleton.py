"""One tree while it grows, as far as sums tell: its nodes, their numbers, sums and weights. Who is in them is not said.

Nodes get the numbers XGBoost's depth-wise growth gives them: level by level, the children of the level's split nodes in
the order of their parents, left before right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.model.shares import LEAF, TreeShape

NONE = -1


@dataclass(frozen=True)
class NodeSplits:
    """The splits that one party won in one level of a tree: k of them.

    `party`: its position in party order. `positions`: int64[k], in the level's nodes; `left_sums`: int64[k,
    2]; `constraint`: int8[k]; `records`: int32[k].
    """

    party: int
    positions: NDArray[np.int64]
    left_sums: NDArray[np.int64]
    constraint: NDArray[np.int8]
    records: NDArray[np.int32]


class TreeSkeleton:
    """A tree that is a root at first, of gradient sums `totals`, int64[1, 2].

    `rule` weighs; `step` is the value of the integer 1; `bounded`: the run has monotone constraints. Of the open level,
    m nodes: `nodes` int32[m]; `totals` int64[m, 2]; `bounds` float64[m, 2], limits of the weights, or None; `parents`
    int64[m], positions in the level before, -1 for the root.
    """

    def __init__(self, totals: NDArray[np.int64], rule: _native.gbdt.SplitRule, step: float, bounded: bool) -> None:
        self._rule = rule
        self._step = step
        self.nodes: NDArray[np.int32] = np.zeros(1, dtype=np.int32)
        self.totals = totals
        self.bounds = np.array([[-np.inf, np.inf]]) if bounded else None
        self.parents: NDArray[np.int64] = np.array([NONE], dtype=np.int64)
        self._n_nodes = 0
        # The first node of the open level.
        self._first = 0
        # Per level the nodes' parents, sums and weights.
        self._levels: list[dict[str, NDArray[Any]]] = []
        # Per level that was split: the split nodes, the owners of their splits, records, left children and gains.
        self._splits: list[tuple[NDArray[Any], ...]] = []
        # Per level the limits that the weights were made under; empty where there are none.
        self._limits = [] if self.bounds is None else [self.bounds]
        self._add_level(np.array([NONE], dtype=np.int32), totals, rule.weights(totals, self.bounds))

    def _add_level(
        self, parent: NDArray[np.int32], totals: NDArray[np.int64], weight: NDArray[np.float64]
    ) -> NDArray[np.int32]:
        """Add nodes below `parent`, as leaves; returns their numbers."""
        first, self._first = self._n_nodes, self._n_nodes
        self._levels.append({"parent": parent, "totals": totals, "weight": weight})
        self._n_nodes += len(parent)
        return np.arange(first, self._n_nodes, dtype=np.int32)

    def revise(self, totals: NDArray[np.int64]) -> None:
        """Replace the sums of the open level, because other rows than before were added up for it.

        The weight of a node whose sums are others follows them, within the node's own limits, so that a constrained
        split above stays monotone.
        """
        changed = np.flatnonzero((totals != self.totals).any(axis=1))
        if len(changed) == 0:
            return
        bounds = None if self.bounds is None else np.ascontiguousarray(self.bounds[changed])
        level = self._levels[-1]
        level["weight"][changed] = self._rule.weights(np.ascontiguousarray(totals[changed]), bounds)
        self.totals = level["totals"] = totals

    def split(self, splits: Sequence[NodeSplits], gain: NDArray[np.float64], last: bool) -> list[NDArray[np.int32]]:
        """Split nodes of the open level; afterwards the next one is open, without nodes if nothing was split.

        `gain`: float64[m], of every node of the level. `last`: the children are leaves, by depth. Returns the left
        children of each entry of `splits`, int32[k]; a right child has the number after its sibling's.
        """
        if not splits:
            self._close()
            return []
        positions = np.concatenate([split.positions for split in splits])
        left_sums = np.concatenate([split.left_sums for split in splits])
        constraint = np.concatenate([split.constraint for split in splits])
        records = np.concatenate([split.records for split in splits])
        place, parents, totals, weights, inherited, bounds = _native.gbdt.make_children(
            self._rule, self.totals, self.bounds, positions, left_sums, constraint
        )
        numbers = place.astype(np.int32) + np.int32(self._n_nodes)
        party = np.repeat(
            np.array([split.party for split in splits], dtype=np.int16), [len(split.positions) for split in splits]
        )
        split_nodes = positions.astype(np.int32) + np.int32(self._first)
        self._splits.append((split_nodes, party, records, numbers, gain[positions]))
        if inherited is not None:
            # As in XGBoost a child's weight is bounded by its parent's limits; its own bind its children.
            self._limits.append(inherited)
        nodes = self._add_level(self.nodes[parents], totals, weights)
        if last:
            self._close()
        else:
            self.nodes, self.totals, self.bounds, self.parents = nodes, totals, bounds, parents
        ends = [0, *np.cumsum([len(split.positions) for split in splits]).tolist()]
        return [numbers[begin:end] for begin, end in pairwise(ends)]

    def _close(self) -> None:
        """No node is open any more."""
        self.nodes, self.totals, self.parents = self.nodes[:0], self.totals[:0], self.parents[:0]
        self.bounds = None if self.bounds is None else self.bounds[:0]

    def set_weights(self, nodes: NDArray[np.int32], totals: NDArray[np.int64], rule: _native.gbdt.SplitRule) -> None:
        """Give nodes of the finished tree the weights of other sums, int64[k, 2], by `rule` and within their limits."""
        weight = np.concatenate([level["weight"] for level in self._levels])
        weight[nodes] = rule.weights(totals, np.concatenate(self._limits)[nodes] if self._limits else None)
        ends = np.cumsum([len(level["weight"]) for level in self._levels])
        for level, changed in zip(self._levels, np.split(weight, ends[:-1]), strict=True):
            level["weight"] = changed

    def shape(self, learning_rate: float) -> TreeShape:
        """The finished tree. Values are float32 products, as XGBoost's."""
        parent, totals, weight = (
            np.concatenate([level[name] for level in self._levels]) for name in ("parent", "totals", "weight")
        )
        value = weight.astype(np.float32) * np.float32(learning_rate)
        cover = totals[:, 1].astype(np.float64) * self._step
        count = self._n_nodes
        record, left, right = (np.full(count, NONE, dtype=np.int32) for _ in range(3))
        party, gain = np.full(count, LEAF, dtype=np.int16), np.zeros(count)
        if self._splits:
            nodes, owner, records, numbers, gains = (np.concatenate(parts) for parts in zip(*self._splits, strict=True))
            party[nodes], record[nodes], gain[nodes] = owner, records, gains
            left[nodes], right[nodes] = numbers, numbers + np.int32(1)
        return TreeShape(
            record=record,
            left=left,
            right=right,
            party=party,
            gain=gain,
            parent=parent,
            value=value.astype(np.float64),
            cover=cover,
        )
