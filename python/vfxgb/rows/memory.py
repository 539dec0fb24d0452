"""Rows in the memory of this process: a RowStore over the native kernels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.code import PairCode
from vfxgb.lattice import ColumnSetup
from vfxgb.rows.ciphers import CipherRound, MemoryCiphers
from vfxgb.rows.columns import BinColumns, RightBins
from vfxgb.rows.encrypted_columns import MemoryEncrypted
from vfxgb.rows.integers import MemoryCentred, integer_pairs, node_places
from vfxgb.rows.listing import Listing
from vfxgb.rows.masks import MaskForest, MemoryHeld, MemoryOwned
from vfxgb.rows.parts import Nodes
from vfxgb.rows.split_bits import MemorySplitBits, Splits
from vfxgb.rows.values import MemoryValues


class MemoryPartition:
    """See Partition. Rows are moved on `threads` threads, when somebody first asks for them after a split.

    So the active party can tell the others of a split before it moves its own rows.
    """

    def __init__(self, here: _native.gbdt.RowPartition, threads: int = 1) -> None:
        self._here = here
        self._threads = threads
        self._settled = True
        # What only nodes and their sizes decide.
        self.n_rows = here.n_rows
        self.nodes, self.has, self.counts, self.left_bits_size = here.nodes, here.has, here.counts, here.left_bits_size

    @property
    def here(self) -> _native.gbdt.RowPartition:
        """See Partition."""
        if not self._settled:
            self._here.settle(self._threads)
            self._settled = True
        return self._here

    def split(self, nodes: Nodes, left: Nodes, right: Nodes, bits: bytes | memoryview) -> None:
        """See Partition."""
        self.here.plan_split(nodes, left, right, bits)
        self._settled = False

    def leaves(self) -> Nodes:
        """See Partition."""
        return self.here.leaves(self._threads)

    def gather_bits(self, nodes: Nodes, bits: bytes | memoryview) -> bytes:
        """See Partition."""
        return self.here.gather_bits(nodes, bits, self._threads)

    def entries(self, nodes: Nodes) -> "MemoryEntries":
        """See Partition."""
        return MemoryEntries(entries_of(self.leaves(), nodes))

    def left_sums(self, nodes: Nodes, bits: bytes | memoryview, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """See Partition."""
        return _native.gbdt.left_node_sums(self.here, nodes, bits, pairs, self._threads)

    def centred(self, nodes: Nodes, totals: NDArray[np.int64], pairs: NDArray[np.int64]) -> MemoryCentred:
        """See Partition."""
        return MemoryCentred(pairs, node_places(self.leaves()[: len(pairs)], nodes), totals, self._threads)


class MemoryEntries:
    """See Entries."""

    def __init__(self, entries: NDArray[np.uint16]) -> None:
        self._entries = entries

    def part(self, first: int, stop: int) -> NDArray[np.uint16]:
        """See Entries."""
        return self._entries[first:stop]


class MemoryRows:
    """See RowStore. `n_train`: how many of the rows are training rows, None for all. Pairs are plain arrays."""

    def __init__(
        self, bins: _native.gbdt.Bins, n_train: int | None = None, threads: int = 1, columns: BinColumns | None = None
    ) -> None:
        self.bins = bins
        self.columns = columns
        self.n_rows, self.n_features, self.n_bins = bins.n_rows, bins.n_features, bins.n_bins
        self._n_train = bins.n_rows if n_train is None else n_train
        self._threads = threads

    def partition(self, sampled: Nodes | None) -> MemoryPartition:
        """See RowStore."""
        counted = training_rows(sampled, self._n_train, self.n_rows)
        return MemoryPartition(_native.gbdt.RowPartition(self.n_rows, counted), self._threads)

    def pairs(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """See RowStore: they are there already."""
        return pairs

    def left_bits(
        self,
        partition: MemoryPartition,
        nodes: Nodes,
        features: Nodes,
        split_bins: Nodes,
        default_left: NDArray[np.bool_],
    ) -> bytes:
        """See RowStore."""
        return _native.gbdt.left_bits(
            self.bins, partition.here, nodes, features, split_bins, default_left, self._threads
        )

    def set_bits(self, feature: int, right: RightBins, default_left: bool) -> bytes:
        """See RowStore."""
        left = np.append(~right, default_left)
        return np.packbits(left[self.bins.column(feature)], bitorder="little").tobytes()

    def row_bits(self, features: Nodes, split_bins: Nodes, default_left: NDArray[np.bool_]) -> bytes:
        """See RowStore."""
        everyone = MemoryPartition(_native.gbdt.RowPartition(self.n_rows))
        return self.left_bits(everyone, np.zeros_like(features), features, split_bins, default_left)

    def split_bits(self, splits: Splits) -> MemorySplitBits:
        """See RowStore."""
        packed = self.row_bits(splits.feature, splits.bin, splits.default_left)
        return MemorySplitBits(packed, len(splits), self.n_rows, self._n_train)

    def integer_pairs(self, integers: NDArray[np.int64]) -> NDArray[np.int64]:
        """See RowStore."""
        return integer_pairs(integers)

    def encrypted_columns(self, setup: ColumnSetup) -> MemoryEncrypted:
        """See RowStore."""
        return MemoryEncrypted(setup, self._threads)

    def histogram(
        self, partition: MemoryPartition, nodes: Nodes, pairs: NDArray[np.int64], features: Nodes | None
    ) -> NDArray[np.int64]:
        """See RowStore."""
        return _native.gbdt.histogram(self.bins, partition.here, nodes, pairs, features, self._threads)

    def histogram_counts(self, partition: MemoryPartition, nodes: Nodes, features: Nodes | None) -> NDArray[np.int64]:
        """See RowStore."""
        return _native.gbdt.histogram_counts(self.bins, partition.here, nodes, features, self._threads)

    def node_sums(self, partition: MemoryPartition, nodes: Nodes, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """See RowStore."""
        return _native.gbdt.node_sums(partition.here, nodes, pairs, self._threads)

    def left_sums(
        self, partition: MemoryPartition, nodes: Nodes, pairs: NDArray[np.int64], listing: Listing
    ) -> NDArray[np.int64]:
        """See RowStore: one call."""
        return _native.gbdt.node_left_sums(self.bins, partition.here, nodes, pairs, listing.native, self._threads)

    def prepare_ciphers(self) -> None:
        """See RowStore: nothing needs to be known."""

    def ciphers(self, of: CipherRound) -> MemoryCiphers:
        """See RowStore."""
        return MemoryCiphers(of, self.bins, training_rows(of.sampled, self._n_train, self.n_rows))

    def values(
        self, pairs: Sequence[NDArray[np.int64]], sampled: Nodes | None, code: PairCode, step: float
    ) -> MemoryValues:
        """See RowStore."""
        return MemoryValues(pairs, sampled, code, step, self._n_train, self._threads)

    def encoded(self, pairs: NDArray[np.int64], code: PairCode, step: float) -> NDArray[np.int64]:
        """See RowStore."""
        return code.encode(pairs, step)

    def bin_numbers(self, features: Nodes, first: int, stop: int) -> NDArray[np.uint16]:
        """See RowStore."""
        return bin_numbers(self.bins, features, first, stop)

    def owned_masks(self, forest: MaskForest, delta: bytes, keep_leaves: bool) -> MemoryOwned:
        """See RowStore."""
        return MemoryOwned(forest, delta, keep_leaves, self._threads)

    def held_masks(self, forest: MaskForest, keep_leaves: bool) -> MemoryHeld:
        """See RowStore."""
        return MemoryHeld(forest, keep_leaves, self._threads)


def bin_numbers(bins: _native.gbdt.Bins, features: Nodes, first: int, stop: int) -> NDArray[np.uint16]:
    """See RowStore.bin_numbers."""
    numbers = np.empty((len(features), stop - first), dtype=np.uint16)
    for place, feature in enumerate(features.tolist()):
        numbers[place] = bins.column(feature, first, stop)
    return numbers


def entries_of(leaves: Nodes, nodes: Nodes) -> NDArray[np.uint16]:
    """See Entries: from the node of every row."""
    entry = np.zeros(max(int(leaves.max(initial=0)), int(nodes.max(initial=0))) + 1, dtype=np.uint16)
    entry[nodes] = np.arange(1, len(nodes) + 1, dtype=np.uint16)
    return entry.take(leaves)


def training_rows(sampled: Nodes | None, n_train: int, n_rows: int) -> Nodes | None:
    """The rows that count, ascending: `sampled`, or the first `n_train`; None for all of `n_rows`."""
    return np.arange(n_train, dtype=np.int32) if sampled is None and n_train < n_rows else sampled
