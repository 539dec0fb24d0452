"""Sums over randomised buckets, corrected to be unbiased.

A row of bucket b is reported in b with probability p and in each other bucket with q. Of a node with total T the noisy
sum over L buckets has the mean L q T + (p - q) S, S the true sum. So S is estimated by (noisy - L q T) / (p - q): the
inverse of the response matrix, applied to all sums left of a candidate at once. This holds where the node does not
depend on the randomised values of the feature itself: at the root and below splits of other features.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.protocols.federboost.params import FederBoostParams

_LARGEST = 2.0**61


class Correction:
    """Corrects sums of the candidates, in true order, of features with `n_bins` buckets and one for missing values."""

    def __init__(self, params: FederBoostParams, n_bins: NDArray[np.int32]) -> None:
        feature, split, default_left = _native.gbdt.candidates(n_bins, np.ones(len(n_bins), dtype=np.bool_))
        responses = [params.response(int(bins) + 1, len(n_bins)) for bins in n_bins]
        other = np.array([response.other_probability for response in responses])
        kept = np.array([response.keep_probability - response.other_probability for response in responses])
        left = split.astype(np.int64) + 1 + default_left
        self._spread = (left * other[feature])[None, :, None]
        self._kept = kept[feature][None, :, None]

    def apply(
        self, left: NDArray[np.int64], totals: NDArray[np.int64], available: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """Estimate the true left sums from int64[m, c, 2], for nodes with totals int64[m, 2].

        What is not `available` becomes 0.
        """
        estimate: NDArray[np.float64] = (left - self._spread * totals[:, None, :]) / self._kept
        if available is not None:
            estimate[~available] = 0.0
        return np.rint(np.clip(estimate, -_LARGEST, _LARGEST)).astype(np.int64)
