"""The row sets of all nodes, replayed from the messages of training between two parties.

Both ends of a channel know the same: a Level names the splits since the last one with the rows that went left, and the
receiver's own splits stand in its SplitRows. The very last splits of a tree are known to their owner and the active
party only.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract.messages import BeginRound, Choose, EndRound, Level, SplitRows
from vfxgb.train.arrays import unpack_bits, unpack_list

WHAT = "replaying a transcript"


@dataclass(frozen=True, eq=False)
class NodeSet:
    """A node: its sampled rows, ascending. `node` is -1 - i for a leaf below the last level, which has no number.

    `built`: its sums were asked for. `allowed`: bool per feature of the tree at the passive party, None for all.
    `leaf`: it was never split, as far as the two parties know.
    """

    round: int
    tree: int
    node: int
    parent: int
    depth: int
    rows: NDArray[np.int32]
    built: bool
    allowed: NDArray[np.bool_] | None
    leaf: bool = True


class _Tree:
    """A tree while it is replayed; `width`: the features it may use at the passive party."""

    def __init__(self, n_rows: int, sampled: NDArray[np.int32] | None, round_index: int, tree: int, width: int) -> None:
        self.partition = _native.gbdt.RowPartition(n_rows, sampled)
        self.round, self.tree, self.width = round_index, tree, width
        self.parent: dict[int, int] = {0: -1}
        self.depth: dict[int, int] = {0: 0}
        self.sets: dict[int, NodeSet] = {}
        # Splits the passive party has answered and nobody has numbered yet: nodes, and who goes left.
        self.pending: tuple[NDArray[np.int32], bytes] | None = None

    def split(
        self, nodes: NDArray[np.int32], left: NDArray[np.int32], right: NDArray[np.int32], bits: bytes | memoryview
    ) -> None:
        self.partition.split(nodes, left, right, bits)
        for node, *children in zip(nodes.tolist(), left.tolist(), right.tolist(), strict=True):
            if node in self.sets:
                self.sets[node] = replace(self.sets[node], leaf=False)
            for child in children:
                self.parent[child], self.depth[child] = node, self.depth[node] + 1

    def add(self, node: int, built: bool, allowed: NDArray[np.bool_] | None, number: int | None = None) -> None:
        shown = node if number is None else number
        place = (self.round, self.tree, shown, self.parent[node], self.depth[node])
        self.sets[node] = NodeSet(*place, self.partition.rows(node), built, allowed)

    def finish(self) -> list[NodeSet]:
        """All nodes, after the round's last split."""
        hidden: list[int] = []
        if self.pending is not None:
            nodes, bits = self.pending
            first = 1 + max(self.parent)
            left = np.arange(first, first + 2 * len(nodes), 2, dtype=np.int32)
            self.split(nodes, left, left + np.int32(1), bits)
            hidden = np.arange(first, first + 2 * len(nodes)).tolist()
        for node in self.partition.nodes().tolist():
            if node not in self.sets:
                self.add(node, False, None, -1 - hidden.index(node) if node in hidden else None)
        return list(self.sets.values())


def replay(messages: Iterable[Any], n_rows: int, n_train: int, n_features: int) -> list[NodeSet]:
    """The nodes of all trees, from the messages begin-round, level, choose, split-rows and end-round in order.

    `n_features` is how many features the passive party has.
    """
    nodes: list[NodeSet] = []
    trees: list[_Tree] = []
    chosen: dict[int, NDArray[np.int32]] = {}
    for message in messages:
        if isinstance(message, BeginRound):
            trees = _begin(message, n_rows, n_train, n_features)
        elif isinstance(message, Level):
            for part in message.trees:
                _open_level(trees[part.tree], part)
        elif isinstance(message, Choose):
            chosen = {part.tree: unpack_list(part.nodes, np.int32, WHAT) for part in message.trees}
        elif isinstance(message, SplitRows):
            for rows in message.trees:
                trees[rows.tree].pending = (chosen[rows.tree], bytes(rows.bits))
        elif isinstance(message, EndRound):
            for tree in trees:
                nodes += tree.finish()
            trees = []
    return nodes


def _begin(message: BeginRound, n_rows: int, n_train: int, n_features: int) -> list[_Tree]:
    bits = unpack_bits(message.sampled, n_train, WHAT)
    sampled = None if bits is None else np.flatnonzero(bits).astype(np.int32)
    if sampled is None and n_train < n_rows:
        sampled = np.arange(n_train, dtype=np.int32)
    trees = []
    for tree, features in enumerate(message.features):
        chosen = unpack_bits(features, n_features, WHAT)
        width = n_features if chosen is None else int(chosen.sum())
        trees.append(_Tree(n_rows, sampled, message.round, tree, width))
    return trees


def _open_level(tree: _Tree, part: Any) -> None:
    for group in part.splits:
        nodes, left, right = (unpack_list(packed, np.int32, WHAT) for packed in (group.nodes, group.left, group.right))
        bits: bytes | memoryview = group.bits
        if len(bits) == 0 and tree.pending is not None:
            bits = tree.pending[1]
        tree.split(nodes, left, right, bits)
    tree.pending = None
    opened = unpack_list(part.nodes, np.int32, WHAT)
    built = np.zeros(len(opened), dtype=np.bool_)
    built[unpack_list(part.build, np.int64, WHAT)] = True
    allowed = None
    if len(part.allowed):
        flat = np.unpackbits(np.frombuffer(part.allowed, dtype=np.uint8), bitorder="little").astype(np.bool_)
        allowed = flat[: tree.width * len(opened)].reshape(len(opened), tree.width)
    for place, node in enumerate(opened.tolist()):
        tree.add(node, bool(built[place]), None if allowed is None else allowed[place])
