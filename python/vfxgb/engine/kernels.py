"""The kernels of trees over a party's rows, wherever they lie: in this process, or in shards.

Bins, partition and pairs of one call are all of one kind.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.engine.sharded import ShardedBins, ShardedPairs, ShardedPartition

Bins: TypeAlias = _native.gbdt.Bins | ShardedBins
Partition: TypeAlias = _native.gbdt.RowPartition | ShardedPartition
Pairs: TypeAlias = NDArray[np.int64] | ShardedPairs
Nodes: TypeAlias = NDArray[np.int32]


def make_partition(bins: Bins, n_train: int, sampled: Nodes | None) -> Partition:
    """All rows in node 0, of which `sampled` (ascending; None: the first n_train) count."""
    if isinstance(bins, ShardedBins):
        return ShardedPartition(bins.engine, bins.division, sampled)
    if sampled is None and n_train < bins.n_rows:
        sampled = np.arange(n_train, dtype=np.int32)
    return _native.gbdt.RowPartition(bins.n_rows, sampled)


def left_bits(
    bins: Bins,
    partition: Partition,
    nodes: Nodes,
    features: Nodes,
    split_bins: Nodes,
    default_left: NDArray[np.bool_],
    threads: int,
) -> bytes:
    """See _native.gbdt.left_bits."""
    if isinstance(bins, ShardedBins):
        return bins.left_bits(_in_shards(partition), nodes, features, split_bins, default_left)
    return _native.gbdt.left_bits(bins, in_memory(partition), nodes, features, split_bins, default_left, threads)


def histogram(
    bins: Bins, partition: Partition, nodes: Nodes, pairs: Pairs, features: Nodes | None, threads: int
) -> NDArray[np.int64]:
    """See _native.gbdt.histogram."""
    if isinstance(bins, ShardedBins):
        return bins.histogram(_in_shards(partition), nodes, _pairs_in_shards(pairs), features)
    return _native.gbdt.histogram(bins, in_memory(partition), nodes, array_of(pairs), features, threads)


def histogram_counts(
    bins: Bins, partition: Partition, nodes: Nodes, features: Nodes | None, threads: int
) -> NDArray[np.int64]:
    """See _native.gbdt.histogram_counts."""
    if isinstance(bins, ShardedBins):
        return bins.histogram_counts(_in_shards(partition), nodes, features)
    return _native.gbdt.histogram_counts(bins, in_memory(partition), nodes, features, threads)


def node_sums(partition: Partition, nodes: Nodes, pairs: Pairs, threads: int) -> NDArray[np.int64]:
    """See _native.gbdt.node_sums."""
    if isinstance(partition, ShardedPartition):
        return partition.node_sums(nodes, _pairs_in_shards(pairs))
    return _native.gbdt.node_sums(partition, nodes, array_of(pairs), threads)


def pairs_here(pairs: Pairs) -> NDArray[np.int64]:
    """All pairs in this process, wherever they were."""
    return array_of(pairs) if not isinstance(pairs, ShardedPairs) else np.concatenate(pairs.engine.get(pairs.parts))


def pairs_like(bins: Bins, pairs: NDArray[np.int64]) -> Pairs:
    """Pairs of all training rows, taken to where the bins are."""
    if not isinstance(bins, ShardedBins):
        return pairs
    engine, division = bins.engine, bins.division
    used = division.train_sizes.tolist()
    parts = [engine.keep(s, pairs[first : first + used[s]]) for s, (first, _) in enumerate(division.ranges())]
    return ShardedPairs(engine, division, tuple(parts))


def in_memory(partition: Partition) -> _native.gbdt.RowPartition:
    """A partition of rows in this process; for protocols that have no other (ProtocolSpec.sharded)."""
    assert isinstance(partition, _native.gbdt.RowPartition)  # noqa: S101 - the engine fits the protocol
    return partition


def array_of(pairs: Pairs) -> NDArray[np.int64]:
    """Pairs of rows in this process."""
    assert isinstance(pairs, np.ndarray)  # noqa: S101 - as above
    return pairs


def _in_shards(partition: Partition) -> ShardedPartition:
    assert isinstance(partition, ShardedPartition)  # noqa: S101 - bins and partition are of one kind
    return partition


def _pairs_in_shards(pairs: Pairs) -> ShardedPairs:
    assert isinstance(pairs, ShardedPairs)  # noqa: S101 - as above
    return pairs
