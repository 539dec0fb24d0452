"""How many of the sums a passive party shows are over few rows.

Left sums of neighbouring candidates differ by the sum of one bucket, so whoever sees them all sees every bucket's sum.
A sum over a handful of rows can be solved for the rows themselves (ERRATA E62); the ledger therefore counts the
buckets of fewer than FEW_ROWS rows. Empty buckets say nothing and do not count.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.engine import kernels
from vfxgb.protocols.base import PassiveNodes, PassiveTree
from vfxgb.tree.candidates import merged_buckets

FEW_ROWS = 20


class SmallSums:
    """Counts for one tree of one passive party: `note` each level whose sums are shown, `count` once in the end.

    Rows are looked at only once, where they end up; a node that was split holds what its children hold.
    """

    def __init__(
        self,
        bins: kernels.Bins,
        tree: PassiveTree,
        min_bucket_rows: int,
        threads: int,
    ) -> None:
        self._bins = bins
        self._tree = tree
        self._least = min_bucket_rows
        self._threads = threads
        self._n_bins = np.ascontiguousarray(bins.n_bins[tree.features])
        self._levels: list[PassiveNodes] = []
        self._shown: list[NDArray[np.int32]] = []

    def note(self, nodes: PassiveNodes, shown: NDArray[np.int64] | None = None) -> None:
        """The sums of these nodes are shown: those at the positions `shown`, None for all. Every level is noted."""
        self._levels.append(nodes)
        self._shown.append(nodes.nodes if shown is None else nodes.nodes[shown])

    def count(self) -> int:
        """Buckets of the noted nodes, missing ones included, that hold 1 to FEW_ROWS - 1 rows."""
        if len(self._n_bins) == 0 or self._least >= FEW_ROWS or not any(len(shown) for shown in self._shown):
            return 0
        partition = self._tree.partition
        last = partition.nodes()
        nodes = np.unique(np.concatenate([last, *(level.nodes for level in self._levels)]))
        held = np.searchsorted(nodes, last)
        counts = np.zeros((len(nodes), int(self._n_bins.sum())), dtype=np.int64)
        rows = np.zeros(len(nodes), dtype=np.int64)
        counts[held] = kernels.histogram_counts(self._bins, partition, last, self._tree.features, self._threads)
        rows[held] = partition.counts(last)[:, 0]
        # Children have higher numbers than their parents: the deepest level first.
        for level in reversed(self._levels):
            inner = level.parents >= 0
            child, parent = np.searchsorted(nodes, level.nodes[inner]), np.searchsorted(nodes, level.parents[inner])
            np.add.at(counts, parent, counts[child])
            np.add.at(rows, parent, rows[child])
        shown = np.searchsorted(nodes, np.concatenate(self._shown))
        return self._small(counts[shown], rows[shown])

    def _small(self, counts: NDArray[np.int64], rows: NDArray[np.int64]) -> int:
        starts = np.append(0, np.cumsum(self._n_bins)[:-1])
        missing = rows[:, None] - np.add.reduceat(counts, starts, axis=1)
        if self._least > 1:
            return _small_merged(counts, rows, missing, self._n_bins, self._least)
        return int(_few(counts).sum() + _few(missing).sum())


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
