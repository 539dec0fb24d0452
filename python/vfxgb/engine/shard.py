"""What is done to one shard, where it lies. Every function changes nothing and returns something new (base.py).

Rows are counted within the shard. The native call uses `threads` threads.
"""

import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.binning.sketch import Survey, refine, survey
from vfxgb.data.source import Source
from vfxgb.files import naming
from vfxgb.rows.memory import entries_of, training_rows
from vfxgb.rows.parts import Nodes


def survey_columns(source: Source, first: int, stop: int) -> list[Survey]:
    """Survey rows first to stop - 1, column by column."""
    return [survey(source.column(feature, first, stop)) for feature in range(len(source.names))]


def refine_columns(
    source: Source, first: int, stop: int, wanted: Sequence[tuple[int, NDArray[np.uint32], int]]
) -> list[NDArray[np.int64]]:
    """sketch.refine for each (feature, prefixes, level)."""
    return [refine(source.column(feature, first, stop), prefixes, level) for feature, prefixes, level in wanted]


def make_bins(
    source: Source, first: int, stop: int, cuts: list[NDArray[np.float64]], folder: str | None, threads: int
) -> _native.gbdt.Bins:
    """The bins of a shard; in a file of `folder` if that is given."""
    bins = _native.gbdt.Bins(stop - first, cuts, None if folder is None else new_file(folder))
    for feature in range(len(cuts)):
        bins.fill(feature, source.column(feature, first, stop), 0, threads)
    bins.drop()
    return bins


def new_file(folder: str) -> str:
    """A name that no file of `folder` has."""
    return str(Path(folder) / uuid.uuid4().hex)


def unpack_rows(bits: bytes) -> Nodes:
    """The rows whose bits are set, lowest bit of a byte first."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")).astype(np.int32)


def start_partition(n_rows: int, sampled: Nodes | None, n_train: int) -> _native.gbdt.RowPartition:
    """All rows in node 0; `sampled` count, or the first `n_train` where that is None."""
    return _native.gbdt.RowPartition(n_rows, training_rows(sampled, n_train, n_rows))


def split_rows(
    partition: _native.gbdt.RowPartition, bits: bytes, nodes: Nodes, left: Nodes, right: Nodes, threads: int
) -> _native.gbdt.RowPartition:
    """The partition after nodes were split."""
    after = partition.copy()
    after.split(nodes, left, right, bits, threads)
    return after


def leaves(partition: _native.gbdt.RowPartition, threads: int) -> Nodes:
    """The node of every row."""
    return partition.leaves(threads)


def gather_bits(partition: _native.gbdt.RowPartition, bits: bytes, nodes: Nodes, threads: int) -> bytes:
    """Pick the bits of each node's rows out of bits of all rows of the shard."""
    return partition.gather_bits(nodes, bits, threads)


def left_bits(
    bins: _native.gbdt.Bins,
    partition: _native.gbdt.RowPartition,
    nodes: Nodes,
    features: Nodes,
    split_bins: Nodes,
    default_left: NDArray[np.bool_],
    threads: int,
) -> bytes:
    """Say in bits who goes left."""
    bits = _native.gbdt.left_bits(bins, partition, nodes, features, split_bins, default_left, threads)
    bins.drop()
    return bits


def histogram(
    bins: _native.gbdt.Bins,
    partition: _native.gbdt.RowPartition,
    pairs: NDArray[np.int64],
    nodes: Nodes,
    features: Nodes | None,
    threads: int,
) -> NDArray[np.int64]:
    """Sums per node and bin."""
    sums = _native.gbdt.histogram(bins, partition, nodes, pairs, features, threads)
    bins.drop()
    return sums


def histogram_counts(
    bins: _native.gbdt.Bins, partition: _native.gbdt.RowPartition, nodes: Nodes, features: Nodes | None, threads: int
) -> NDArray[np.int64]:
    """Rows per node and bin."""
    counts = _native.gbdt.histogram_counts(bins, partition, nodes, features, threads)
    bins.drop()
    return counts


def node_sums(
    partition: _native.gbdt.RowPartition, pairs: NDArray[np.int64], nodes: Nodes, threads: int
) -> NDArray[np.int64]:
    """Sum the pairs of each node."""
    return _native.gbdt.node_sums(partition, nodes, pairs, threads)


def left_node_sums(
    partition: _native.gbdt.RowPartition, pairs: NDArray[np.int64], bits: bytes, nodes: Nodes, threads: int
) -> NDArray[np.int64]:
    """Sum the pairs of each node's rows that go left."""
    return _native.gbdt.left_node_sums(partition, nodes, bits, pairs, threads)


def node_entries(partition: _native.gbdt.RowPartition, nodes: Nodes, threads: int) -> NDArray[np.uint16]:
    """The place of every row's node in `nodes`, from 1 on; 0 for none of them."""
    return entries_of(partition.leaves(threads), nodes)


def some_rows(values: NDArray[np.uint16], first: int, stop: int) -> NDArray[np.uint16]:
    """The values of rows `first` to `stop` - 1."""
    return values[first:stop]


def add_arrays(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Add up arrays of one shape."""
    return np.asarray(sum(parts[1:], parts[0]))


def write_file(path: str, data: bytes) -> str:
    """Write a file of the run's folder at once: who reads it sees the whole or nothing. Returns its name."""
    fresh = f"{path}.{uuid.uuid4().hex}"
    with naming(Path(path)):
        Path(fresh).write_bytes(data)
        Path(fresh).replace(path)
    return path
