"""One tree while it grows, as far as sums tell: its nodes, their numbers, sums and weights. Who is in them is not said.

Nodes get the numbers XGBoost's depth-wise growth gives them: level by level, the children of the level's split nodes in
the order of their parents, left before right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
        # Per level the columns of the finished tree, and the nodes' sums and weights.
        self._levels: list[dict[str, NDArray[Any]]] = []
        # Per level the limits that the weights were made under; empty where there are none.
        self._limits = [] if self.bounds is None else [self.bounds]
        self._add_level(np.array([NONE], dtype=np.int32), totals, rule.weights(totals, self.bounds))

    def _add_level(
        self, parent: NDArray[np.int32], totals: NDArray[np.int64], weight: NDArray[np.float64]
    ) -> NDArray[np.int32]:
        """Add nodes below `parent`, as leaves; returns their numbers."""
        count, first = len(parent), self._n_nodes
        level: dict[str, NDArray[Any]] = {
            name: np.full(count, NONE, dtype=np.int32) for name in ("record", "left", "right")
        }
        level |= {"party": np.full(count, LEAF, dtype=np.int16), "gain": np.zeros(count)}
        self._levels.append(level | {"parent": parent, "totals": totals, "weight": weight})
        self._n_nodes += count
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
        positions = np.concatenate([split.positions for split in splits]) if splits else np.zeros(0, np.int64)
        order = np.argsort(positions, kind="stable")
        k = len(positions)
        # Where each owner's splits stand among all of the level, which are numbered by node.
        place = np.empty(k, dtype=np.int64)
        place[order] = np.arange(k)
        numbers = (self._n_nodes + 2 * place).astype(np.int32)
        left = np.split(numbers, np.cumsum([len(split.positions) for split in splits])[:-1]) if splits else []
        level = self._levels[-1]
        for split in splits:
            level["party"][split.positions] = split.party
            level["record"][split.positions] = split.records
        level["left"][positions], level["right"][positions] = numbers, numbers + np.int32(1)
        level["gain"][positions] = gain[positions]
        self._add_children(splits, positions, order, last)
        return left

    def _add_children(
        self, splits: Sequence[NodeSplits], positions: NDArray[np.int64], order: NDArray[np.int64], last: bool
    ) -> None:
        k = len(positions)
        parents = positions[order]
        nodes = self.nodes[:0]
        totals = np.empty((2 * k, 2), dtype=np.int64)
        bounds = None if self.bounds is None else self.bounds[:0]
        if k:
            totals[0::2] = np.concatenate([split.left_sums for split in splits])[order]
            totals[1::2] = self.totals[parents] - totals[0::2]
            inherited = None if self.bounds is None else np.repeat(self.bounds[parents], 2, axis=0)
            # As in XGBoost a child's weight is bounded by its parent's limits; its own bind its children.
            weights = self._rule.weights(totals, inherited)
            if inherited is not None:
                constraint = np.concatenate([split.constraint for split in splits])[order]
                bounds = _child_bounds(inherited, weights, constraint)
                self._limits.append(inherited)
            nodes = self._add_level(np.repeat(self.nodes[parents], 2), totals, weights)
        if last:
            nodes, totals, parents = nodes[:0], totals[:0], parents[:0]
            bounds = None if bounds is None else bounds[:0]
        self.nodes, self.totals, self.bounds = nodes, totals, bounds
        self.parents = np.repeat(parents, 2).astype(np.int64)

    def set_weights(self, nodes: NDArray[np.int32], totals: NDArray[np.int64], rule: _native.gbdt.SplitRule) -> None:
        """Give nodes of the finished tree the weights of other sums, int64[k, 2], by `rule` and within their limits."""
        weight = np.concatenate([level["weight"] for level in self._levels])
        weight[nodes] = rule.weights(totals, np.concatenate(self._limits)[nodes] if self._limits else None)
        ends = np.cumsum([len(level["weight"]) for level in self._levels])
        for level, changed in zip(self._levels, np.split(weight, ends[:-1]), strict=True):
            level["weight"] = changed

    def shape(self, learning_rate: float) -> TreeShape:
        """The finished tree. Values are float32 products, as XGBoost's."""
        columns = {name: np.concatenate([level[name] for level in self._levels]) for name in self._levels[0]}
        totals, weight = columns.pop("totals"), columns.pop("weight")
        value = weight.astype(np.float32) * np.float32(learning_rate)
        cover = totals[:, 1].astype(np.float64) * self._step
        return TreeShape(**columns, value=value.astype(np.float64), cover=cover)


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
