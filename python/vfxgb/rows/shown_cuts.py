"""Which cuts the nodes of a tree show under `min_bucket_rows`, so that no sum over fewer rows can be derived.

The bins of a feature are merged into buckets; a cut inside a bucket is not shown. A node's left sums at two
neighbouring cuts differ by the sum of one bucket, and the active party subtracts not only neighbours: parent minus
child is the sibling, even where nobody asked for the sibling's sums. The rule therefore looks at whole families.

    Root       cuts are kept so that every bucket holds at least `least` rows.
    Children   a cut is shown in a child only if it was shown in the parent and if, between the cuts that are shown,
               every bucket of both children is empty or holds at least `least` rows. Siblings show the same cuts.

Rows with a missing value are a bucket of their own, after the last bin, as long as that bucket obeys the same rule in
both children and in all their ancestors (`apart`); else they belong to the last bucket, and no candidate sends them
left. A child that is too small to obey leaves no cut to its sibling either, and none to anything below the two.

Why this is enough within a tree. Fix a feature, let S_v be the cuts that node v shows and T_b the nodes that show cut
b. S_v is a subset of the parent's set and equals the sibling's, so T_b is a tree that contains both children of a
node or none, and its leaves part the root's rows. Let the active party add up shown sums and totals of nodes with any
weights. That gives every row of a node, bin by bin, a weight that changes only at cuts, and changes at b by the same
amount on all of a leaf of T_b. Suppose that all weights are 0 or 1, so that the result is the sum over a set A of
rows. Let row r of A be in bin k, in an undivided node of which A does not hold all rows. Then the weight of that node
changes somewhere, say it falls to 0 at a cut q right of k (the other case is a mirror image). Let v be the leaf of
T_q that holds r: just left of q, all of v is in A. Let p be the smallest cut such that all of v between p and q is in
A. The rows that enter at p fill a leaf of T_p, which lies within v or contains it; in either case v shows p. If p is
left of k, the bucket of v between p and q lies in A. If not, r is in another leaf of T_p, a part of v, that does not
change at p and is all in A just left of it: go on with that leaf and p in the place of v and q. This ends, since the
leaf gets smaller. So A holds a bucket of some node between two cuts that it shows, with r in it, and thus at least
`least` rows.

What is not covered. An empty bucket tells that no row of the node lies there, and a node with all of its rows in one
bucket tells that, too; who knows from elsewhere that a bucket is empty which the rule merged may subtract further.
The rule knows one tree: nodes of other trees, or of other samples of the same rows, may differ from a node by a few
rows (docs/ledger.md). Column sampling by level or node withholds more and so takes nothing away from the argument.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.rows.base import RowStore
from vfxgb.rows.parts import Partition

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


class ShownCuts:
    """The cuts that one tree's nodes show, for the features `features` (int32, ascending) of a party's bins.

    `open` a level before asking for its cuts. `least`: min_bucket_rows; 1 shows everything and keeps nothing. The state
    is that of one level.
    """

    def __init__(self, rows: RowStore, features: NDArray[np.int32], least: int) -> None:
        self._rows = rows
        self.least = least
        self._n_bins = np.ascontiguousarray(rows.n_bins[features])
        self._features = None if len(features) == rows.n_features else features
        self._nodes = np.zeros(0, dtype=np.int32)
        self._counts = np.zeros((0, 0, 0), dtype=np.int64)
        self._missing = np.zeros((0, 0), dtype=np.int64)
        self._ends = np.zeros((0, 0, 0), dtype=np.bool_)
        self._apart = np.zeros((0, 0), dtype=np.bool_)

    def open(self, partition: Partition, nodes: NDArray[np.int32], parents: NDArray[np.int64]) -> None:
        """The next level: the root, or both children of nodes of the level opened before.

        `nodes`: int32[m], ascending; `parents`: int64[m], positions in the level before, -1 for the root. Raises
        ValueError for a child without its sibling.
        """
        if self.least == 1:
            return
        counts, missing = self._count(partition, nodes)
        if parents.tolist() == [-1]:
            members = np.zeros((1, 1), dtype=np.int64)
            above = inner_cuts(self._n_bins)[None], np.ones((1, len(self._n_bins)), dtype=np.bool_)
        else:
            members = siblings(parents)
            above = self._ends[parents[members[:, 0]]], self._apart[parents[members[:, 0]]]
        ends, apart = merged_cuts(counts[members], missing[members], *above, self.least)
        self._nodes, self._counts, self._missing = nodes, counts, missing
        self._ends, self._apart = np.empty(counts.shape, dtype=np.bool_), np.empty(missing.shape, dtype=np.bool_)
        self._ends[members], self._apart[members] = ends[:, None], apart[:, None]

    def shown(self, nodes: NDArray[np.int32]) -> tuple[Mask, Mask]:
        """Return ends bool[m, F, most bins], true at cuts that nodes of the open level show, and apart bool[m, F]."""
        places = np.searchsorted(self._nodes, nodes)
        return self._ends[places], self._apart[places]

    def few(self, nodes: NDArray[np.int32], below: int) -> Counts:
        """Buckets of nodes of the open level that hold 1 to below - 1 rows, int64[m, F]; 0 where no cut is shown."""
        places = np.searchsorted(self._nodes, nodes)
        ends, apart, missing = self._ends[places], self._apart[places], self._missing[places]
        return _native.gbdt.count_few(self._counts[places], missing, ends, apart, below)

    def _count(self, partition: Partition, nodes: NDArray[np.int32]) -> tuple[Counts, Counts]:
        """Rows per bin, int64[m, F, most bins], and with missing values, int64[m, F]."""
        n_features, widest = len(self._n_bins), int(self._n_bins.max(initial=0))
        padded = np.zeros((len(nodes), n_features, widest), dtype=np.int64)
        if n_features:
            flat = self._rows.histogram_counts(partition, nodes, self._features)
            padded[:, np.arange(widest)[None, :] < self._n_bins[:, None]] = flat
        return padded, partition.counts(nodes)[:, :1] - padded.sum(axis=2)


def inner_cuts(n_bins: NDArray[np.int32]) -> Mask:
    """bool[F, most bins]: the bins that a cut can follow, which are all but the last of a feature."""
    widest = int(n_bins.max(initial=0))
    return np.arange(widest)[None, :] < n_bins[:, None] - 1


def siblings(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[m / 2, 2]: the positions of the children of each parent. Raises ValueError unless each has two."""
    order = np.argsort(parents, kind="stable")
    sorted_parents = parents[order]
    if (
        len(order) % 2
        or (sorted_parents[0::2] != sorted_parents[1::2]).any()
        or (np.diff(sorted_parents[::2]) == 0).any()
    ):
        raise ValueError("children are opened together with their siblings")
    return order.reshape(-1, 2)


def merged_cuts(counts: Counts, missing: Counts, cuts: Mask, apart: Mask, least: int) -> tuple[Mask, Mask]:
    """The cuts that families may show: of m families with k members each (the root alone, or two siblings).

    counts: int64[m, k, F, W], rows per bin; missing: int64[m, k, F]. cuts: bool[m, F, W] and apart: bool[m, F], what
    the parents showed. Returns the same two for the members. Bins are merged from the left; what is left over at the
    right end is merged into the bucket before it until it obeys the rule.
    """
    return _native.gbdt.merge_cuts(counts, missing, cuts, apart, least)
