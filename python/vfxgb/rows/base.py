"""What a RowStore is: the binned rows of one party, and all that trees and protocols ask of them.

A party's rows are in the memory of its process, or in shards that an engine works on. Whoever grows trees or answers
for a protocol holds a RowStore and does not know which:

    who                                       asks for
    tree/ (growing, local_features,           partition, left_sums, histogram_counts, node_sums, left_bits
      candidates, disclosure), shown_cuts
    train/passive_shown.py                    partition, left_bits
    protocols/plain                           pairs; where nodes are hidden also row_bits
    protocols/sealed                          split_bits (a passive party's), encrypted_columns (the active party's)
    protocols/he                              ciphers (a passive party's), values (the active party's)
    protocols/ot_shares                       held_masks and bin_numbers (a passive party's), owned_masks and encoded
                                              (the active party's)
    protocols that need all rows here         bins, Partition.here (these leave ProtocolSpec.sharded out)

There are two: MemoryRows (memory.py) calls the native kernels, and ShardedRows (engine/sharded.py) has every shard call
them and adds up. Sums are integers, so both give the same. Only who sets a run up (train/placing.py) chooses one.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.code import PairCode
from vfxgb.lattice import ColumnSetup
from vfxgb.rows.ciphers import CipherRound, RowCiphers
from vfxgb.rows.columns import BinColumns, RightBins
from vfxgb.rows.encrypted_columns import EncryptedColumns
from vfxgb.rows.integers import OwnIntegers
from vfxgb.rows.listing import Listing
from vfxgb.rows.masks import HeldMasks, MaskForest, OwnedMasks
from vfxgb.rows.parts import Nodes, OwnPairs, OwnPartition, Pairs, Partition
from vfxgb.rows.split_bits import SplitBits, Splits
from vfxgb.rows.values import RowValues


class RowStore(Protocol):
    """The binned rows of one party: training rows, which come first, and those of eval sets."""

    @property
    def n_rows(self) -> int:
        """Count all rows."""

    @property
    def n_features(self) -> int:
        """Count the features."""

    @property
    def n_bins(self) -> NDArray[np.int32]:
        """Bins per feature without the missing one, int32[n_features]."""

    @property
    def columns(self) -> BinColumns | None:
        """What the features of the bins stand for; None where each is a feature of the party."""

    @property
    def bins(self) -> _native.gbdt.Bins:
        """The bins themselves, for protocols that need all rows here. Raises EngineError where they are not."""

    def partition(self, sampled: Nodes | None) -> Partition:
        """All rows in node 0, of which `sampled` (ascending; None: all training rows) count."""

    def pairs(self, pairs: NDArray[np.int64]) -> Pairs:
        """Pairs int64[n_train, 2] of all training rows, taken to where the rows are."""

    def left_bits(
        self, partition: OwnPartition, nodes: Nodes, features: Nodes, split_bins: Nodes, default_left: NDArray[np.bool_]
    ) -> bytes:
        """See _native.gbdt.left_bits."""

    def row_bits(self, features: Nodes, split_bins: Nodes, default_left: NDArray[np.bool_]) -> bytes:
        """Say of every row, whatever node it is in, whether it goes left at each of k splits.

        The bits of a split are in row order, lowest bit of a byte first, and fill ceil(n_rows / 8) bytes; spare bits
        are 0. This is what `Partition.gather_bits` takes.
        """

    def set_bits(self, feature: int, right: RightBins, default_left: bool) -> bytes:
        """Say the same of a split by a set of bins, `right`. Raises EngineError where rows are in shards."""

    def split_bits(self, splits: Splits) -> SplitBits:
        """The same in parts, for splits of which bits are asked for again and again."""

    def integer_pairs(self, integers: OwnIntegers) -> Pairs:
        """Integers of all training rows (Partition.centred) in the form of pairs, whose second number is 0."""

    def encrypted_columns(self, setup: ColumnSetup) -> EncryptedColumns:
        """Room for the encrypted columns that this (active) party gets from a passive one."""

    def histogram(
        self, partition: OwnPartition, nodes: Nodes, pairs: OwnPairs, features: Nodes | None
    ) -> NDArray[np.int64]:
        """See _native.gbdt.histogram."""

    def histogram_counts(self, partition: OwnPartition, nodes: Nodes, features: Nodes | None) -> NDArray[np.int64]:
        """See _native.gbdt.histogram_counts."""

    def node_sums(self, partition: OwnPartition, nodes: Nodes, pairs: OwnPairs) -> NDArray[np.int64]:
        """See _native.gbdt.node_sums."""

    def left_sums(self, partition: OwnPartition, nodes: Nodes, pairs: OwnPairs, listing: Listing) -> NDArray[np.int64]:
        """Sums of pairs over the sampled rows of each node that go left, int64[len(nodes), c, 2], as listed."""

    def prepare_ciphers(self) -> None:
        """Find out before training what sums of ciphertexts need: later it would wait behind what else there is."""

    def ciphers(self, of: CipherRound) -> RowCiphers:
        """Room for the ciphertexts that the rows of this (passive) party get in a round."""

    def values(self, pairs: Sequence[OwnPairs], sampled: Nodes | None, code: PairCode, step: float) -> RowValues:
        """The encoded gradients of this (active) party in a round, from the pairs of each output.

        `step`: the value of the integer 1. Raises CapacityError for gradients that the code has no room for.
        """

    def encoded(self, pairs: OwnPairs, code: PairCode, step: float) -> Pairs:
        """The pairs of one output as the code has them. Raises CapacityError, now or when they are used."""

    def bin_numbers(self, features: Nodes, first: int, stop: int) -> NDArray[np.uint16]:
        """Bins of rows first to stop - 1, uint16[len(features), stop - first], n_bins where a value is missing."""

    def owned_masks(self, forest: MaskForest, delta: bytes, keep_leaves: bool) -> OwnedMasks:
        """Room for the trees of masks that this (active) party owns; `delta`: 16 bytes, the secret of all of them.

        `keep_leaves`: keep their leaves in place of the roots. Raises EngineError where the engine may not hold
        secrets.
        """

    def held_masks(self, forest: MaskForest, keep_leaves: bool) -> HeldMasks:
        """Room for the trees of masks that this (passive) party holds."""
