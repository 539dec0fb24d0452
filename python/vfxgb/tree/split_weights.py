"""The weights of candidate splits under split_rule='centred': integers that their owner knows from counts alone.

With k of all N training rows on the left, a candidate's weight is 4 N / sqrt(k (N - k)), rounded to the nearest
integer, and at most 32: the square root of 1 / (share left times share right), in quarters. It does not change during a
run. CENTRED.md says why, and what was measured.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.rows.base import RowStore

LEAST_WEIGHT, MOST_WEIGHT = 8, 32
# No weight w of a candidate with at most a share a of the rows on one side has w^2 a above this (test_split_weights).
WEIGHT_SQUARED_SHARE = 32


def split_weights(left: NDArray[np.int64], n_rows: int) -> NDArray[np.uint8]:
    """The weights, uint8, of candidates with so many of `n_rows` rows on the left; int64, 0 to n_rows.

    The weight is the largest integer w of at most MOST_WEIGHT with (2 w - 1)^2 k (N - k) <= 64 N^2, which is
    4 N / sqrt(k (N - k)) rounded to the nearest one. It is MOST_WEIGHT where one side is empty.
    """
    product = left * (n_rows - left)
    weights = np.full(len(left), LEAST_WEIGHT, dtype=np.uint8)
    for weight in range(LEAST_WEIGHT + 1, MOST_WEIGHT + 1):
        # Whole numbers of any size, so that nothing is rounded.
        weights += product <= 64 * n_rows**2 // (2 * weight - 1) ** 2
    return weights


class SplitWeights:
    """The weights of all candidates of a party's binned rows, from counts over all training rows."""

    def __init__(self, rows: RowStore, has_missing: NDArray[np.bool_]) -> None:
        self._features = self._weigh(rows, has_missing)

    @staticmethod
    def _weigh(rows: RowStore, has_missing: NDArray[np.bool_]) -> list[NDArray[np.uint8]]:
        everyone, root = rows.partition(None), np.zeros(1, dtype=np.int32)
        n_rows = int(everyone.counts(root)[0, 0])
        counts = rows.histogram_counts(everyone, root, None)
        # Counts take the place of gradient sums.
        pairs = np.ascontiguousarray(np.repeat(counts[:, :, None], 2, axis=2))
        totals = np.full((1, 2), n_rows, dtype=np.int64)
        left = _native.gbdt.left_sums(pairs, totals, rows.n_bins, np.ascontiguousarray(has_missing))[0, :, 0]
        per_feature = (rows.n_bins.astype(np.int64) - 1) * (1 + has_missing)
        return np.split(split_weights(left, n_rows), np.cumsum(per_feature)[:-1])

    def of(self, features: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Those of the candidates of `features` (ascending), in the order of `_native.gbdt.candidates`."""
        chosen = [self._features[feature] for feature in features.tolist()]
        return np.concatenate([np.zeros(0, dtype=np.uint8), *chosen])
