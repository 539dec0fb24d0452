"""A passive party's splitting matrix in one node, without ever making it (cpp/smm/cells.h).

Its columns are the candidates of the tree in their secret order: M is n_node x c. A candidate that the node may not use
(tree/candidates.py) is a column of zeros.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.tree.candidates import CandidateList


def first_cells(n_bins: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where the cells of each feature begin: its bins, and one for missing values. The last entry counts all cells."""
    return np.concatenate([[0], np.cumsum(n_bins.astype(np.int64) + 1)])


class FeatureColumns:
    """The bins of all features of a party, feature by feature, made once per run: uint16[features, rows]."""

    def __init__(self, bins: _native.gbdt.Bins) -> None:
        self._bins = bins

    @cached_property
    def _columns(self) -> NDArray[np.uint16]:
        columns = np.empty((self._bins.n_features, self._bins.n_rows), dtype=np.uint16)
        for feature in range(self._bins.n_features):
            columns[feature] = self._bins.column(feature)
        return columns

    def node(
        self,
        candidates: CandidateList,
        rows: NDArray[np.int32],
        available: NDArray[np.bool_] | None,
        threads: int,
    ) -> "NodeMatrix":
        """The matrix of a node. `available`: bool[c] in true order, None for all."""
        bins = np.empty((len(candidates.features), len(rows)), dtype=np.uint16)
        for place, feature in enumerate(candidates.features.tolist()):
            np.take(self._columns[feature], rows, out=bins[place])
        feature, bin_, default_left = candidates.listed()
        shown = np.ones(len(candidates), dtype=np.bool_)
        if available is not None:
            shown = available if candidates.order is None else available[candidates.order]
        return NodeMatrix(bins, candidates.n_bins, feature, bin_, default_left, shown, threads)


@dataclass(frozen=True)
class NodeMatrix:
    """`bins`: uint16[F, n], `n_bins`: int32[F].

    Column j: the rows left of bin[j] of feature[j], missing ones too if default_left[j]; zeros unless shown[j].
    """

    bins: NDArray[np.uint16]
    n_bins: NDArray[np.int32]
    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    default_left: NDArray[np.bool_]
    shown: NDArray[np.bool_]
    threads: int

    @property
    def rows(self) -> int:
        """n."""
        return int(self.bins.shape[1])

    @property
    def columns(self) -> int:
        """How many columns are not zero by rule."""
        return int(self.shown.sum())

    def merged(self) -> tuple[NDArray[np.uint16], NDArray[np.int32], NDArray[np.bool_]]:
        """Bins uint16[F, n] without the cuts that no shown column has, bins per feature, and which have a missing cell.

        Missing rows that no shown column has on its left count as the last bin.
        """
        bins, widths = np.empty_like(self.bins), np.empty_like(self.n_bins)
        apart = np.zeros(len(self.n_bins), dtype=np.bool_)
        for feature, n_bins in enumerate(self.n_bins.tolist()):
            own = self.shown & (self.feature == feature)
            cuts = np.unique(self.bin[own])
            apart[feature] = self.default_left[own].any()
            widths[feature] = len(cuts) + 1
            # The number of kept cuts below each bin: a row is left of cut c if its bin is at most c.
            below = np.searchsorted(cuts, np.arange(n_bins + 1), side="left").astype(np.uint16)
            below[n_bins] = len(cuts) + apart[feature]
            np.take(below, self.bins[feature], out=bins[feature])
        return bins, widths, apart

    def left_shares(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """M^T X, float64[c, r], of the vectors X^T, float64[r, n]: cell sums, then prefix sums."""
        if len(self.feature) == 0:
            return np.zeros((0, len(vectors)))
        cells = _native.smm.cell_sums(self.bins, self.n_bins, vectors, self.threads)
        first = first_cells(self.n_bins)
        left = np.empty((len(self.feature), len(vectors)))
        for feature in range(len(self.n_bins)):
            own = np.flatnonzero(self.feature == feature)
            reached = np.cumsum(cells[first[feature] : first[feature + 1] - 1], axis=0)
            missing = cells[first[feature + 1] - 1]
            left[own] = reached[self.bin[own]] + self.default_left[own, None] * missing
        left[~self.shown] = 0.0
        return left

    def products(
        self, shares: NDArray[np.float64], basis: NDArray[np.float64], first: int, count: int
    ) -> NDArray[np.float64]:
        """Rows first .. first + count - 1 of W = M^T - (M^T Z) Z^T, given shares = M^T Z and basis = Z^T."""
        part = slice(first, first + count)
        out = np.empty((count, self.rows))
        _native.smm.combine(-shares[part], basis, out, False, self.threads)
        if self.shown[part].all():
            self._add(np.arange(first, first + count), out)
        else:
            kept = np.flatnonzero(self.shown[part])
            rows = np.ascontiguousarray(out[kept])
            self._add(first + kept, rows)
            out[:] = 0.0
            out[kept] = rows
        return out

    def _add(self, candidates: NDArray[np.intp], out: NDArray[np.float64]) -> None:
        _native.smm.add_left(
            self.bins,
            self.n_bins,
            self.feature[candidates],
            self.bin[candidates],
            self.default_left[candidates],
            out,
            self.threads,
        )
