"""Left sums that the active party opened, tree by tree, with the rows of their nodes: what `solve` calculates with.

A node of a tree gives, for every candidate cut of the passive party, the sums of g and of h over the node's rows that
go left there. The active party knows g, h and the rows, so both are linear equations in one unknown per training row: 1
if the row goes left at that cut and 0 otherwise. The unknowns of a cut are the same in all nodes and all trees.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.nodes import NodeSet
from vfxgb.audit.view import AttackerView

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class OpenedTree:
    """One tree. Candidates stand at c positions, which may be in another order than those of the next tree.

    `nodes`: those whose sums were sent, the root first; `left`: int64[k, c, 2], their sums; `shown`: bool[k, c], false
    where a sum was withheld. `siblings`, `derived`, `derived_shown`: the same of nodes that were not sent, by
    subtraction from their parent. `pairs`: int64[n, 2], (g, h) of all training rows.
    """

    round: int
    tree: int
    nodes: list[NodeSet]
    left: NDArray[np.int64]
    shown: Flags
    siblings: list[NodeSet]
    derived: NDArray[np.int64]
    derived_shown: Flags
    pairs: NDArray[np.int64]

    @property
    def n_candidates(self) -> int:
        """How many cuts stand in each of its nodes."""
        return int(self.left.shape[1])

    @property
    def n_equations(self) -> int:
        """Equations about every cut, if nothing is withheld: two for each node that was sent."""
        return 2 * len(self.nodes)

    def equations(self) -> tuple[Matrix, Matrix, Flags]:
        """A float64[2k, n], right sides float64[2k, c] and which of them are known; rows of A have length 1."""
        rows = np.zeros((2 * len(self.nodes), len(self.pairs)))
        for place, node in enumerate(self.nodes):
            rows[2 * place : 2 * place + 2, node.rows] = self.pairs[node.rows].T
        size = np.linalg.norm(rows, axis=1, keepdims=True)
        size[size == 0.0] = 1.0
        sums = self.left.transpose(0, 2, 1).reshape(len(rows), self.n_candidates)
        return rows / size, sums / size, np.repeat(self.shown, 2, axis=0)

    def totals(self) -> tuple[Matrix, Matrix]:
        """Sums of (g, h) and of their squares, float64[nodes, 2]: of the nodes that were sent, then their siblings."""
        held = [self.pairs[node.rows].astype(np.float64) for node in (*self.nodes, *self.siblings)]
        return np.array([part.sum(axis=0) for part in held]), np.array([(part**2).sum(axis=0) for part in held])

    def shares(self) -> Matrix:
        """Which share of the root's h lies left of each candidate, float64[c]; NaN where that sum was withheld."""
        total = float(self.pairs[self.nodes[0].rows, 1].sum()) or 1.0
        return np.where(self.shown[0], self.left[0, :, 1] / total, np.nan)


def opened_trees(view: AttackerView, peer: str) -> list[OpenedTree]:
    """The trees whose sums of `peer` were opened, in order of growth; without those that have no candidate."""
    groups: dict[tuple[int, int], list[NodeSet]] = {}
    for node in view.nodes(peer):
        groups.setdefault((node.round, node.tree), []).append(node)
    trees = [_opened_tree(view, peer, nodes) for nodes in groups.values()]
    return [tree for tree in trees if tree is not None]


def _opened_tree(view: AttackerView, peer: str, nodes: list[NodeSet]) -> OpenedTree | None:
    round_index, tree = nodes[0].round, nodes[0].tree
    pairs = view.note("pairs", round_index, tree)
    built: list[NodeSet] = []
    parts = []
    for depth in sorted({node.depth for node in nodes}):
        opened = view.note(f"left-sums:{depth}:{peer}", round_index, tree)
        if opened is not None:
            built += [node for node in nodes if node.built and node.depth == depth]
            parts.append(opened)
    if pairs is None or not parts or parts[0].shape[1] == 0:
        return None
    left = np.concatenate(parts)
    partly = view.setup.min_bucket_rows > 1
    shown = np.ones(left.shape[:2], dtype=np.bool_)
    for place, node in enumerate(built):
        # A sum of zero is one that was withheld, where any may be; a node without any other was not opened at all.
        if partly or node.allowed is not None or not left[place].any():
            shown[place] = (left[place] != 0).any(axis=1)
    kept = np.flatnonzero(shown.any(axis=1))
    built, left, shown = [built[place] for place in kept.tolist()], left[kept], shown[kept]
    if not built or built[0].parent >= 0:
        return None
    return OpenedTree(round_index, tree, built, left, shown, *_siblings(nodes, built, left, shown), pairs)


def _siblings(
    nodes: list[NodeSet], built: list[NodeSet], left: NDArray[np.int64], shown: Flags
) -> tuple[list[NodeSet], NDArray[np.int64], Flags]:
    """The sums of nodes that were not sent but follow from their parent's and their sibling's."""
    sums = {node.node: left[place] for place, node in enumerate(built)}
    known = {node.node: shown[place] for place, node in enumerate(built)}
    children: dict[int, list[int]] = {}
    for node in nodes:
        children.setdefault(node.parent, []).append(node.node)
    family: list[NodeSet] = []
    for node in sorted(nodes, key=lambda node: node.depth):
        pair = children[node.parent]
        if node.node in sums or node.parent not in sums or len(pair) != 2:
            continue
        other = pair[0] if pair[1] == node.node else pair[1]
        if other in sums:
            sums[node.node] = sums[node.parent] - sums[other]
            known[node.node] = known[node.parent] & known[other]
            family.append(node)
    if not family:
        return [], left[:0], shown[:0]
    return family, np.stack([sums[node.node] for node in family]), np.stack([known[node.node] for node in family])
