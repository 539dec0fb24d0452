"""How many of the sums a passive party shows, or lets the active party derive, are over few rows.

Left sums of neighbouring candidates differ by the sum of one bucket, so whoever sees them all sees every bucket's sum.
A sum over a handful of rows can be solved for the rows themselves (ERRATA E62); the ledger therefore counts the
buckets of fewer than FEW_ROWS rows. Empty buckets say nothing and do not count.

Sums are derived by subtraction: a node's are its parent's minus its sibling's, and a parent's are its children's
together. A node whose sums nobody asked for, or a feature that column sampling withheld in it, counts where that is
possible. Everything else that follows within a tree is a sum of buckets counted here (shown_cuts.py). Rows are those
that the passive party takes for the sample: under GOSS without `told_sample` that is all training rows.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveNodes, PassiveTree
from vfxgb.rows.base import RowStore
from vfxgb.runtime.ledger import FEW_ROWS


class SmallSums:
    """Counts for one tree of one passive party: `note` each level whose sums are shown, `count` once in the end.

    Without merged buckets rows are looked at only once, where they end up; a node that was split holds what its
    children hold.
    """

    def __init__(self, rows: RowStore, tree: PassiveTree) -> None:
        self._rows = rows
        self._tree = tree
        self._n_bins = np.ascontiguousarray(rows.n_bins[tree.features])
        self._levels: list[PassiveNodes] = []
        self._shown: list[NDArray[np.bool_]] = []
        self._few: list[NDArray[np.int64]] = []

    def note(self, nodes: PassiveNodes, shown: NDArray[np.int64] | None = None) -> None:
        """The sums of these nodes are shown: those at the positions `shown`, None for all. Every level is noted."""
        is_shown = np.ones((len(nodes.nodes), len(self._n_bins)), dtype=np.bool_)
        if shown is not None:
            is_shown[:] = False
            is_shown[shown] = True
        if nodes.allowed is not None:
            is_shown &= nodes.allowed
        self._levels.append(nodes)
        self._shown.append(is_shown)
        cuts = self._tree.cuts
        if cuts is not None and cuts.least > 1:
            self._few.append(cuts.few(nodes.nodes, FEW_ROWS))

    def count(self) -> int:
        """Buckets of the noted nodes, missing ones included, that hold 1 to FEW_ROWS - 1 rows."""
        if len(self._n_bins) == 0 or not any(shown.any() for shown in self._shown):
            return 0
        known = self._known()
        few = self._few if self._few else self._unmerged()
        return int(sum(small[seen].sum() for small, seen in zip(few, known, strict=True)))

    def _known(self) -> list[NDArray[np.bool_]]:
        """Say per level, bool[m, F], whether the active party has the sums of a feature in a node, shown or derived."""
        if all(shown.all() for shown in self._shown):
            return self._shown
        known = [shown.copy() for shown in self._shown]
        families = [_families(above, level) for above, level in zip(self._levels, self._levels[1:], strict=False)]
        # First what children tell about their parents, from the bottom up; then what is left of a parent.
        for depth in reversed(range(len(families))):
            parent, first, second = families[depth]
            known[depth][parent] |= known[depth + 1][first] & known[depth + 1][second]
        for depth, (parent, first, second) in enumerate(families):
            above, below = known[depth][parent], known[depth + 1]
            first_child, second_child = below[first], below[second]
            below[first] |= above & second_child
            below[second] |= above & first_child
        return known

    def _unmerged(self) -> list[NDArray[np.int64]]:
        """Count per level, int64[m, F], the bins of few rows, and few missing ones, of each node."""
        partition = self._tree.partition
        last = partition.nodes()
        nodes = np.unique(np.concatenate([last, *(level.nodes for level in self._levels)]))
        held = np.searchsorted(nodes, last)
        counts = np.zeros((len(nodes), int(self._n_bins.sum())), dtype=np.int64)
        rows = np.zeros(len(nodes), dtype=np.int64)
        counts[held] = self._rows.histogram_counts(partition, last, self._tree.features)
        rows[held] = partition.counts(last)[:, 0]
        # The deepest level first: a node that was split holds what its two children hold.
        places = [np.searchsorted(nodes, level.nodes) for level in self._levels]
        for depth in reversed(range(len(places) - 1)):
            parent, first, second = _families(self._levels[depth], self._levels[depth + 1])
            above, below = places[depth][parent], places[depth + 1]
            counts[above] = counts[below[first]] + counts[below[second]]
            rows[above] = rows[below[first]] + rows[below[second]]
        starts = np.append(0, np.cumsum(self._n_bins)[:-1])
        missing = rows[:, None] - np.add.reduceat(counts, starts, axis=1)
        few = np.add.reduceat(_few(counts).astype(np.int64), starts, axis=1) + _few(missing)
        return [few[place] for place in places]


def _families(
    above: PassiveNodes, level: PassiveNodes
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Positions of parents in the level `above`, and of the two children of each in `level`."""
    order = np.argsort(level.parents, kind="stable")
    pairs = order.reshape(-1, 2)
    return np.searchsorted(above.nodes, level.parents[pairs[:, 0]]), pairs[:, 0], pairs[:, 1]


def _few(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (counts > 0) & (counts < FEW_ROWS)
