"""Who goes left at some splits, of all rows of a party whatever nodes they are in: bits, asked for in parts."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.rows.parts import Nodes


@dataclass(frozen=True, eq=False)
class Splits:
    """k splits: left go bins of the feature up to `bin`, and missing values by `default_left`."""

    feature: Nodes
    bin: Nodes
    default_left: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.feature)

    def only(self, places: NDArray[np.integer]) -> "Splits":
        """Some of them."""
        return Splits(self.feature[places], self.bin[places], self.default_left[places])


class SplitBits(Protocol):
    """The bits of all rows, training rows first, at k splits."""

    def part(self, first: int, stop: int, places: NDArray[np.integer] | None = None) -> NDArray[np.uint8]:
        """The bits of rows `first` to `stop` - 1 at the splits that stand at `places`, None for all k.

        uint8[splits, ceil((stop - first) / 8)], lowest bit first, spare bits 0. `first` is a multiple of 8.
        """

    def left_counts(self) -> NDArray[np.int64]:
        """How many training rows go left at each split, int64[k]."""


class MemorySplitBits:
    """See SplitBits: made at once, k bits a row. `packed`: what RowStore.row_bits gives."""

    def __init__(self, packed: bytes, count: int, n_rows: int, n_train: int) -> None:
        self._bits = np.frombuffer(packed, dtype=np.uint8).reshape(count, -(-n_rows // 8))
        self._n_train = n_train

    def part(self, first: int, stop: int, places: NDArray[np.integer] | None = None) -> NDArray[np.uint8]:
        """See SplitBits."""
        own = self._bits[:, first // 8 : -(-stop // 8)]
        bits = own.copy() if places is None else own[places]
        if stop % 8:
            bits[:, -1] &= (1 << stop % 8) - 1
        return bits

    def left_counts(self) -> NDArray[np.int64]:
        """See SplitBits."""
        counts: NDArray[np.int64] = np.bitwise_count(self.part(0, self._n_train)).sum(axis=1, dtype=np.int64)
        return counts


def bits_of_rows(bins: _native.gbdt.Bins, splits: Splits, first: int, stop: int) -> NDArray[np.uint8]:
    """Those of some rows of binned rows, from the bins; as SplitBits.part, but `first` may be any row."""
    bits = np.empty((len(splits), -(-(stop - first) // 8)), dtype=np.uint8)
    n_bins = bins.n_bins
    for feature in np.unique(splits.feature).tolist():
        column = bins.column(feature, first, stop)
        missing = column == n_bins[feature]
        for place in np.flatnonzero(splits.feature == feature).tolist():
            left = column <= splits.bin[place]
            bits[place] = np.packbits(left | missing if splits.default_left[place] else left, bitorder="little")
    return bits
