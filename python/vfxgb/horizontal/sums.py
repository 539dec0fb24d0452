"""How the sums of a tree's nodes stand in a vector.

Per node its total comes first, then the sums of buckets, feature by feature. The last bucket of a feature without
missing values is left out: it is the total minus the others. So are the features that a node may not use.
"""

import numpy as np
from numpy.typing import NDArray


class NodeSums:
    """The layout for the features of one tree: `n_bins` int32[F], `has_missing` bool[F]."""

    def __init__(self, n_bins: NDArray[np.int32], has_missing: NDArray[np.bool_]) -> None:
        self._n_bins = n_bins
        self._has_missing = has_missing
        self._last = np.cumsum(n_bins, dtype=np.int64) - 1
        self._first = self._last + 1 - n_bins
        # Which bins travel, of all bins one after the other.
        self._sent = np.ones(int(n_bins.sum()), dtype=np.bool_)
        self._sent[self._last[~has_missing]] = False
        self._places = np.flatnonzero(self._sent)

    @property
    def n_features(self) -> int:
        """Count the features."""
        return len(self._n_bins)

    def entries(self, n_nodes: int, allowed: NDArray[np.bool_] | None) -> int:
        """Length of the vector of `n_nodes` nodes; `allowed`: bool[n_nodes, F], the features each may use."""
        if allowed is None:
            return 2 * n_nodes * (1 + int(self._sent.sum()))
        return 2 * (n_nodes + int(self._mask(allowed).sum()))

    def pack(
        self,
        sums: NDArray[np.int64],
        totals: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None,
        out: NDArray[np.int64],
    ) -> None:
        """Write histograms int64[m, bins, 2] and totals int64[m, 2] to `out`, int64[entries(m, allowed)]."""
        m = len(totals)
        out[: 2 * m] = totals.reshape(-1)
        rest = out[2 * m :]
        if allowed is None:
            # "clip" spares numpy a buffer; no index is out of range.
            np.take(sums, self._places, axis=1, out=rest.reshape(m, -1, 2), mode="clip")
        else:
            rest[:] = sums[self._mask(allowed)].reshape(-1)

    def unpack(
        self, vector: NDArray[np.int64], n_nodes: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(histograms, totals) of a vector: `pack` undone, features that were not allowed with all rows in one bin."""
        totals = vector[: 2 * n_nodes].reshape(n_nodes, 2)
        sums = np.zeros((n_nodes, len(self._sent), 2), dtype=np.int64)
        if allowed is None:
            sums[:, self._sent] = vector[2 * n_nodes :].reshape(n_nodes, -1, 2)
        else:
            sums[self._mask(allowed)] = vector[2 * n_nodes :].reshape(-1, 2)
        if len(self._n_bins):
            complete = ~self._has_missing
            rest = totals[:, None] - np.add.reduceat(sums, self._first, axis=1)
            sums[:, self._last[complete]] = rest[:, complete]
        return sums, totals

    def _mask(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.repeat(allowed, self._n_bins, axis=1) & self._sent
