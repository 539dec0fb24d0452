"""Who goes left at some splits, of rows in shards (rows/split_bits.py): made from the bins whenever it is asked for.

Where all splits are asked for from the first row to the last, a window of rows ahead is fetched at once.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.engine.base import Engine, ShardHandle, join_all
from vfxgb.engine.parts import Division
from vfxgb.engine.shard import add_arrays
from vfxgb.rows.split_bits import Splits, bits_of_rows

# Bits of all splits that are here at a time.
WINDOW_BYTES = 1 << 22
COUNTED_ROWS = 1 << 16


class ShardedSplitBits:
    """See SplitBits. `bins`: per shard a handle of _native.gbdt.Bins."""

    def __init__(self, splits: Splits, engine: Engine, division: Division, bins: Sequence[ShardHandle]) -> None:
        self._splits = splits
        self._engine = engine
        self._division = division
        self._bins = bins
        # First row and row after the last of the window, and its bits.
        self._window = (0, 0, np.zeros((len(splits), 0), dtype=np.uint8))

    def part(self, first: int, stop: int, places: NDArray[np.integer] | None = None) -> NDArray[np.uint8]:
        """See SplitBits."""
        if places is not None:
            return self._fetch(self._splits.only(places), first, stop)
        begin, end, bits = self._window
        if not begin <= first <= stop <= end:
            begin, end = first, min(max(stop, first + self._window_rows), self._division.n_rows)
            bits = self._fetch(self._splits, begin, end)
            self._window = begin, end, bits
        part = bits[:, (first - begin) // 8 : -(-(stop - begin) // 8)].copy()
        if (stop - begin) % 8:
            part[:, -1] &= (1 << (stop - begin) % 8) - 1
        return part

    @property
    def _window_rows(self) -> int:
        return max(8, 8 * WINDOW_BYTES // max(1, len(self._splits)) // 8 * 8)

    def _fetch(self, splits: Splits, first: int, stop: int) -> NDArray[np.uint8]:
        engine, asked, counts = self._engine, [], []
        for number, (begin, end) in enumerate(self._division.ranges()):
            a, b = max(first, begin), min(stop, end)
            if a < b:
                asked.append(engine.run(number, shard_bits, self._bins[number], splits, a - begin, b - begin))
                counts.append((b - a, 0))
        if not len(splits) or not asked:
            return np.zeros((len(splits), -(-(stop - first) // 8)), dtype=np.uint8)
        parts = [part.tobytes() for part in engine.get(asked)]
        held = np.tile(np.array(counts, dtype=np.int64), (len(splits), 1, 1))
        joined = _native.gbdt.join_left_bits(parts, held)
        return np.frombuffer(joined, dtype=np.uint8).reshape(len(splits), -1)

    def left_counts(self) -> NDArray[np.int64]:
        """See SplitBits."""
        engine, used = self._engine, self._division.train_sizes.tolist()
        parts = [
            engine.run(number, count_left, held, self._splits, used[number])
            for number, held in enumerate(self._bins)
            if used[number]
        ]
        (counts,) = engine.get([join_all(engine, parts, add_arrays)])
        total: NDArray[np.int64] = counts
        return total


def shard_bits(bins: _native.gbdt.Bins, splits: Splits, first: int, stop: int) -> NDArray[np.uint8]:
    """The bits of some rows of a shard."""
    bits = bits_of_rows(bins, splits, first, stop)
    bins.drop()
    return bits


def count_left(bins: _native.gbdt.Bins, splits: Splits, rows: int) -> NDArray[np.int64]:
    """How many of a shard's first `rows` rows go left at each split."""
    counts = np.zeros(len(splits), dtype=np.int64)
    for first in range(0, rows, COUNTED_ROWS):
        bits = bits_of_rows(bins, splits, first, min(rows, first + COUNTED_ROWS))
        counts += np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    bins.drop()
    return counts
