"""Rows in shards, seen from the party's own process: a RowStore whose rows are where an engine works on them.

Sums are integers, so they do not depend on how the rows are divided.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.code import PairCode
from vfxgb.engine import shard
from vfxgb.engine.base import Engine, ShardHandle, join_all, run_each
from vfxgb.engine.ciphers import ShardedCiphers
from vfxgb.engine.encrypted_columns import ShardedEncrypted
from vfxgb.engine.held_masks import ShardedHeld
from vfxgb.engine.integers import ShardedIntegers
from vfxgb.engine.owned_masks import ShardedOwned
from vfxgb.engine.parts import Division, ShardedPairs, ShardedPartition, not_here
from vfxgb.engine.split_bits import ShardedSplitBits
from vfxgb.engine.values import ShardedValues, encode
from vfxgb.lattice import ColumnSetup
from vfxgb.rows.ciphers import CipherRound
from vfxgb.rows.columns import RightBins
from vfxgb.rows.integers import integer_pairs
from vfxgb.rows.listing import Listing
from vfxgb.rows.masks import MaskForest
from vfxgb.rows.memory import bin_numbers
from vfxgb.rows.parts import Nodes
from vfxgb.rows.split_bits import Splits


@dataclass(frozen=True, eq=False)
class ShardedRows:
    """See RowStore. `parts`: per shard a handle of _native.gbdt.Bins. `n_bins`: int32 per feature.

    `heaviest`: int32 per feature, the bin that most training rows lie in, n_bins for missing ones.
    """

    engine: Engine
    division: Division
    parts: Sequence[ShardHandle]
    n_bins: NDArray[np.int32]

    @property
    def n_rows(self) -> int:
        """Count all rows."""
        return self.division.n_rows

    @property
    def n_features(self) -> int:
        """Count the features."""
        return len(self.n_bins)

    @property
    def bins(self) -> _native.gbdt.Bins:
        """See RowStore. Raises EngineError."""
        raise not_here("bins")

    @property
    def columns(self) -> None:
        """See RowStore: categories are refused where rows are in shards (train/categories.py)."""
        return

    @cached_property
    def heaviest(self) -> NDArray[np.int32]:
        """See the class."""
        root = np.zeros(1, dtype=np.int32)
        counts = self.histogram_counts(self.partition(None), root, None)[0]
        heaviest_bin = np.empty(self.n_features, dtype=np.int32)
        first = 0
        for feature, bins in enumerate(self.n_bins.tolist()):
            held = counts[first : first + bins]
            missing = self.division.n_train - int(held.sum())
            heaviest_bin[feature] = bins if missing > int(held.max(initial=0)) else int(held.argmax())
            first += bins
        return heaviest_bin

    def partition(self, sampled: Nodes | None) -> ShardedPartition:
        """See RowStore."""
        return ShardedPartition(self.engine, self.division, sampled)

    def pairs(self, pairs: NDArray[np.int64]) -> ShardedPairs:
        """See RowStore."""
        engine, used = self.engine, self.division.train_sizes.tolist()
        parts = [engine.keep(s, pairs[first : first + used[s]]) for s, (first, _) in enumerate(self.division.ranges())]
        return ShardedPairs(engine, tuple(parts))

    def left_bits(
        self,
        partition: ShardedPartition,
        nodes: Nodes,
        features: Nodes,
        split_bins: Nodes,
        default_left: NDArray[np.bool_],
    ) -> bytes:
        """See RowStore."""
        asked = (nodes, features, split_bins, default_left, self.engine.threads)
        parts = run_each(self.engine, shard.left_bits, (self.parts, partition.parts), *asked)
        return _native.gbdt.join_left_bits(self.engine.get(parts), partition.counts_by_shard(nodes))

    def row_bits(self, features: Nodes, split_bins: Nodes, default_left: NDArray[np.bool_]) -> bytes:
        """See RowStore."""
        everyone = self.partition(np.arange(self.n_rows, dtype=np.int32))
        return self.left_bits(everyone, np.zeros_like(features), features, split_bins, default_left)

    def set_bits(self, feature: int, right: RightBins, default_left: bool) -> bytes:  # noqa: ARG002
        """See RowStore."""
        raise not_here("sets of bins")

    def split_bits(self, splits: Splits) -> ShardedSplitBits:
        """See RowStore."""
        return ShardedSplitBits(splits, self.engine, self.division, self.parts)

    def integer_pairs(self, integers: ShardedIntegers) -> ShardedPairs:
        """See RowStore."""
        return ShardedPairs(self.engine, tuple(run_each(self.engine, integer_pairs, [integers.parts])))

    def encrypted_columns(self, setup: ColumnSetup) -> ShardedEncrypted:
        """See RowStore."""
        return ShardedEncrypted(setup, self.engine, self.division)

    def histogram(
        self, partition: ShardedPartition, nodes: Nodes, pairs: ShardedPairs, features: Nodes | None
    ) -> NDArray[np.int64]:
        """See RowStore."""
        own, engine = (self.parts, partition.parts, pairs.parts), self.engine
        return self._sum(run_each(engine, shard.histogram, own, nodes, features, engine.threads))

    def histogram_counts(self, partition: ShardedPartition, nodes: Nodes, features: Nodes | None) -> NDArray[np.int64]:
        """See RowStore."""
        asked = (nodes, features, self.engine.threads)
        return self._sum(run_each(self.engine, shard.histogram_counts, (self.parts, partition.parts), *asked))

    def node_sums(self, partition: ShardedPartition, nodes: Nodes, pairs: ShardedPairs) -> NDArray[np.int64]:
        """See RowStore."""
        return partition.node_sums(nodes, pairs)

    def left_sums(
        self, partition: ShardedPartition, nodes: Nodes, pairs: ShardedPairs, listing: Listing
    ) -> NDArray[np.int64]:
        """See RowStore."""
        features = None if len(listing.features) == self.n_features else listing.features
        sums = self.histogram(partition, nodes, pairs, features)
        # Totals are read only where values are missing.
        missing = bool(listing.has_missing.any())
        totals = self.node_sums(partition, nodes, pairs) if missing else np.zeros((len(nodes), 2), dtype=np.int64)
        shape = (listing.n_bins, listing.has_missing, listing.order)
        return _native.gbdt.left_sums(sums, totals, *shape, self.engine.threads)

    def prepare_ciphers(self) -> None:
        """See RowStore: which buckets are the heaviest."""
        _ = self.heaviest

    def ciphers(self, of: CipherRound) -> ShardedCiphers:
        """See RowStore."""
        return ShardedCiphers(of, self.engine, self.division, self.parts, self.heaviest)

    def values(
        self, pairs: Sequence[ShardedPairs], sampled: Nodes | None, code: PairCode, step: float
    ) -> ShardedValues:
        """See RowStore."""
        return ShardedValues(pairs, sampled, code, step, self.engine, self.division)

    def encoded(self, pairs: ShardedPairs, code: PairCode, step: float) -> ShardedPairs:
        """See RowStore."""
        return ShardedPairs(self.engine, tuple(run_each(self.engine, encode, [pairs.parts], code, step)))

    def bin_numbers(self, features: Nodes, first: int, stop: int) -> NDArray[np.uint16]:
        """See RowStore."""
        engine, asked = self.engine, []
        for s, (begin, end) in enumerate(self.division.ranges()):
            a, b = max(first, begin), min(stop, end)
            if a < b:
                asked.append(engine.run(s, bin_numbers, self.parts[s], features, a - begin, b - begin))
        return np.concatenate([np.zeros((len(features), 0), dtype=np.uint16), *engine.get(asked)], axis=1)

    def owned_masks(self, forest: MaskForest, delta: bytes, keep_leaves: bool) -> ShardedOwned:
        """See RowStore."""
        return ShardedOwned(forest, delta, keep_leaves, self.engine, self.division)

    def held_masks(self, forest: MaskForest, keep_leaves: bool) -> ShardedHeld:
        """See RowStore."""
        return ShardedHeld(forest, keep_leaves, self.engine, self.division)

    def _sum(self, parts: list[ShardHandle]) -> NDArray[np.int64]:
        (total,) = self.engine.get([join_all(self.engine, parts, shard.add_arrays)])
        sums: NDArray[np.int64] = total
        return sums
