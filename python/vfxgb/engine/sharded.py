"""Rows in shards, seen from the party's own process: stand-ins for Bins, RowPartition and arrays of pairs.

The party's process knows how many rows of each node lie in each shard, and nothing else that grows with the rows.
Sums are integers, so they do not depend on how the rows are divided.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.engine import shard
from vfxgb.engine.base import Engine, Held, join_all
from vfxgb.engine.shard import add_arrays

Nodes = NDArray[np.int32]


@dataclass(frozen=True)
class Division:
    """How rows are divided: shard s has the rows from edges[s] to edges[s + 1] - 1; training rows come first."""

    edges: NDArray[np.int64]
    n_train: int

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def n_rows(self) -> int:
        """All rows."""
        return int(self.edges[-1])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each shard."""
        return np.diff(self.edges)

    @cached_property
    def train_sizes(self) -> NDArray[np.int64]:
        """Training rows of each shard."""
        return np.clip(self.n_train - self.edges[:-1], 0, self.sizes)

    def ranges(self) -> list[tuple[int, int]]:
        """First row and row after the last of each shard."""
        edges = self.edges.tolist()
        return list(pairwise(edges))

    def used(self, rows: Nodes | None) -> NDArray[np.int64]:
        """How many rows of each shard count: those of `rows`, ascending, or all training rows if that is None."""
        return self.train_sizes if rows is None else np.diff(np.searchsorted(rows, self.edges))

    def hold(self, engine: Engine, rows: Nodes | None) -> list[Held]:
        """Per shard a handle of those of its rows that count, within it; None for all of its training rows."""
        if rows is None:
            return [None] * len(self)
        cuts = np.searchsorted(rows, self.edges)
        held = []
        for s, (first, stop) in enumerate(self.ranges()):
            # As bits they are a burden to nobody on the way.
            marks = np.zeros(stop - first, dtype=np.uint8)
            marks[rows[cuts[s] : cuts[s + 1]] - first] = 1
            held.append(engine.run(s, shard.unpack_rows, np.packbits(marks, bitorder="little").tobytes()))
        return held


@dataclass(frozen=True)
class ShardedPairs:
    """int64[n_train, 2] in parts: per shard a handle of those of its training rows."""

    engine: Engine
    division: Division
    parts: tuple[Held, ...]


class ShardedBins:
    """The bins of a party, shard by shard. `parts`: handles of _native.gbdt.Bins. `n_bins`: int32 per feature.

    `heaviest`: int32 per feature, the bin that most training rows lie in, n_bins for missing ones.
    """

    def __init__(self, engine: Engine, division: Division, parts: Sequence[Held], n_bins: NDArray[np.int32]) -> None:
        self.engine = engine
        self.division = division
        self.parts = tuple(parts)
        self.n_bins = n_bins

    @property
    def n_rows(self) -> int:
        """All rows."""
        return self.division.n_rows

    @property
    def n_features(self) -> int:
        """Features."""
        return len(self.n_bins)

    @cached_property
    def heaviest(self) -> NDArray[np.int32]:
        """See the class."""
        root = np.zeros(1, dtype=np.int32)
        partition = ShardedPartition(self.engine, self.division, None)
        counts = self.histogram_counts(partition, root, None)[0]
        found = np.empty(self.n_features, dtype=np.int32)
        first = 0
        for feature, bins in enumerate(self.n_bins.tolist()):
            held = counts[first : first + bins]
            missing = self.division.n_train - int(held.sum())
            found[feature] = bins if missing > int(held.max(initial=0)) else int(held.argmax())
            first += bins
        return found

    def left_bits(
        self,
        partition: "ShardedPartition",
        nodes: Nodes,
        features: Nodes,
        split_bins: Nodes,
        default_left: NDArray[np.bool_],
    ) -> bytes:
        """See _native.gbdt.left_bits."""
        parts = self._map(partition, shard.left_bits, nodes, features, split_bins, default_left, self.engine.threads)
        return _native.gbdt.join_left_bits(self.engine.get(parts), partition.counts_by_shard(nodes))

    def histogram(
        self, partition: "ShardedPartition", nodes: Nodes, pairs: ShardedPairs, features: Nodes | None
    ) -> NDArray[np.int64]:
        """See _native.gbdt.histogram."""
        engine = self.engine
        parts = [
            engine.run(s, shard.histogram, bins, rows, nodes, values, features, engine.threads)
            for s, (bins, rows, values) in enumerate(zip(self.parts, partition.parts, pairs.parts, strict=True))
        ]
        return self._sum(parts)

    def histogram_counts(
        self, partition: "ShardedPartition", nodes: Nodes, features: Nodes | None
    ) -> NDArray[np.int64]:
        """See _native.gbdt.histogram_counts."""
        return self._sum(self._map(partition, shard.histogram_counts, nodes, features, self.engine.threads))

    def _map(self, partition: "ShardedPartition", function: Callable[..., object], *args: object) -> list[Held]:
        return [
            self.engine.run(s, function, bins, rows, *args)
            for s, (bins, rows) in enumerate(zip(self.parts, partition.parts, strict=True))
        ]

    def _sum(self, parts: list[Held]) -> NDArray[np.int64]:
        (total,) = self.engine.get([join_all(self.engine, parts, add_arrays)])
        found: NDArray[np.int64] = total
        return found


class ShardedPartition:
    """Which node each row is in, in shards: what _native.gbdt.RowPartition is for rows in one place.

    `parts`: handles of _native.gbdt.RowPartition, replaced by new ones with every split.
    """

    def __init__(self, engine: Engine, division: Division, sampled: Nodes | None) -> None:
        self._engine = engine
        self._division = division
        sizes, train = division.sizes.tolist(), division.train_sizes.tolist()
        self.parts = [
            engine.run(s, shard.start_partition, sizes[s], rows, train[s])
            for s, rows in enumerate(division.hold(engine, sampled))
        ]
        used = division.used(sampled)
        # node -> int64[shards, 2]: sampled and other rows.
        self._counts: dict[int, NDArray[np.int64]] = {0: np.stack([used, division.sizes - used], axis=1)}
        self._ever = {0}

    @property
    def n_rows(self) -> int:
        """All rows."""
        return self._division.n_rows

    @property
    def n_sampled(self) -> int:
        """Rows that count."""
        return int(sum(int(held[:, 0].sum()) for held in self._counts.values()))

    def nodes(self) -> Nodes:
        """The nodes that have not been split, ascending."""
        return np.array(sorted(self._counts), dtype=np.int32)

    def has(self, nodes: Nodes) -> bool:
        """Whether every node exists and has not been split."""
        return all(node in self._counts for node in nodes.tolist())

    def counts_by_shard(self, nodes: Nodes) -> NDArray[np.int64]:
        """int64[len(nodes), shards, 2]: sampled rows and other rows."""
        found = [self._counts[node] for node in nodes.tolist()]
        return np.stack(found) if found else np.zeros((0, len(self.parts), 2), dtype=np.int64)

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """int64[len(nodes), 2]: sampled rows and other rows."""
        return np.asarray(self.counts_by_shard(nodes).sum(axis=1))

    def left_bits_size(self, nodes: Nodes) -> int:
        """Bytes of left bits for these nodes."""
        return int(((self.counts(nodes) + 7) // 8).sum())

    def split(self, nodes: Nodes, left: Nodes, right: Nodes, bits: bytes | memoryview, threads: int = 1) -> None:  # noqa: ARG002
        """See _native.gbdt.RowPartition.split; nothing changes when the arguments are refused (ValueError)."""
        parents, children = nodes.tolist(), [*left.tolist(), *right.tolist()]
        if len(left) != len(nodes) or len(right) != len(nodes) or not self.has(nodes):
            raise ValueError("nodes that are not open, or another number of children")
        if len(set(parents)) != len(parents) or len(set(children)) != len(children):
            raise ValueError("a node or a child that appears twice")
        if min(children, default=0) < 0 or self._ever.intersection(children):
            raise ValueError("a child whose number is taken")
        held = self.counts_by_shard(nodes)
        shares, gone_left = _native.gbdt.split_left_bits(bits, held)
        engine = self._engine
        self.parts = [
            engine.run(s, shard.split_rows, rows, nodes, left, right, shares[s], engine.threads)
            for s, rows in enumerate(self.parts)
        ]
        for i, node in enumerate(parents):
            del self._counts[node]
            self._counts[children[i]] = gone_left[i]
            self._counts[children[i + len(parents)]] = held[i] - gone_left[i]
        self._ever.update(children)

    def node_sums(self, nodes: Nodes, pairs: ShardedPairs) -> NDArray[np.int64]:
        """See _native.gbdt.node_sums."""
        engine = self._engine
        parts = [
            engine.run(s, shard.node_sums, rows, nodes, values, engine.threads)
            for s, (rows, values) in enumerate(zip(self.parts, pairs.parts, strict=True))
        ]
        found: NDArray[np.int64] = add_arrays(engine.get(parts))
        return found
