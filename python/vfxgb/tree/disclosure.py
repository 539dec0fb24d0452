"""How many of the sums a passive party shows are over few rows.

Left sums of neighbouring candidates differ by the sum of one bucket, so whoever sees them all sees every bucket's sum.
A sum over a handful of rows can be solved for the rows themselves (ERRATA E62); the ledger therefore counts the
buckets of fewer than FEW_ROWS rows. Empty buckets say nothing and do not count.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.protocols.base import PassiveNodes, PassiveTree
from vfxgb.tree.candidates import merged_buckets

FEW_ROWS = 20


class SmallSums:
    """Counts for one tree of one passive party, level by level."""

    def __init__(
        self,
        bins: _native.Bins,
        tree: PassiveTree,
        min_bucket_rows: int,
        threads: int,
    ) -> None:
        self._bins = bins
        self._tree = tree
        self._least = min_bucket_rows
        self._threads = threads
        self._n_bins = np.ascontiguousarray(bins.n_bins[tree.features])
        self._nodes = np.zeros(0, dtype=np.int32)
        self._counts = np.zeros((0, int(self._n_bins.sum())), dtype=np.int64)

    def count(self, nodes: PassiveNodes) -> int:
        """Buckets of the level's nodes, missing ones included, that hold 1 to FEW_ROWS - 1 rows."""
        if len(self._n_bins) == 0 or self._least >= FEW_ROWS:
            return 0
        partition = self._tree.partition
        rows = partition.counts(nodes.nodes)[:, 0]
        counts = self._all_counts(nodes)
        starts = np.append(0, np.cumsum(self._n_bins)[:-1])
        missing = rows[:, None] - np.add.reduceat(counts, starts, axis=1)
        if self._least > 1:
            return _small_merged(counts, rows, missing, self._n_bins, self._least)
        return int(_few(counts).sum() + _few(missing).sum())

    def _all_counts(self, nodes: PassiveNodes) -> NDArray[np.int64]:
        """Rows per bin of every node: of built nodes from their rows, of a built node's sibling by subtraction."""
        m = len(nodes.nodes)
        derived = np.zeros(m, dtype=np.bool_)
        sibling = above = np.zeros(m, dtype=np.int64)
        if len(nodes.build) and len(self._nodes):
            built_parents = nodes.parents[nodes.build]
            order = np.argsort(built_parents, kind="stable")
            place = np.searchsorted(built_parents, nodes.parents, sorter=order)
            sibling = nodes.build[order[np.minimum(place, len(order) - 1)]]
            above = np.minimum(np.searchsorted(self._nodes, nodes.parents), len(self._nodes) - 1)
            derived = (nodes.parents[sibling] == nodes.parents) & (self._nodes[above] == nodes.parents)
            derived[nodes.build] = False
        direct = np.flatnonzero(~derived)
        counts = np.empty((m, self._counts.shape[1]), dtype=np.int64)
        counts[direct] = _native.histogram_counts(
            self._bins,
            self._tree.partition,
            np.ascontiguousarray(nodes.nodes[direct]),
            self._tree.features,
            self._threads,
        )
        counts[derived] = self._counts[above[derived]] - counts[sibling[derived]]
        self._nodes, self._counts = nodes.nodes, counts
        return counts


def _few(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (counts > 0) & (counts < FEW_ROWS)


def _small_merged(
    counts: NDArray[np.int64],
    rows: NDArray[np.int64],
    missing: NDArray[np.int64],
    n_bins: NDArray[np.int32],
    least: int,
) -> int:
    """The same after merging: a bucket is what lies between two ends; few missing rows belong to the last one."""
    ends, apart = merged_buckets(counts, rows, n_bins, least)
    small = int(_few(np.where(apart, missing, 0)).sum())
    first = 0
    for feature, width in enumerate(n_bins.tolist()):
        reached = np.cumsum(counts[:, first : first + width], axis=1)
        for node in range(len(rows)):
            marks = np.flatnonzero(ends[node, feature, :width])
            total = reached[node, -1] + (0 if apart[node, feature] else missing[node, feature])
            groups = np.diff(np.concatenate([[0], reached[node, marks], [total]]))
            small += int(_few(groups).sum())
        first += width
    return small
