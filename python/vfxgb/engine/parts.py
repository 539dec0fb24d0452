"""What ShardedRows make of rows in shards: how these are divided, pairs in parts, partitions in parts.

The party's process knows how many rows of each node lie in each shard, and nothing else that grows with the rows.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.engine import shard
from vfxgb.engine.base import Engine, ShardHandle, run_each
from vfxgb.engine.integers import ShardedCentred
from vfxgb.errors import EngineError
from vfxgb.rows.parts import Nodes


@dataclass(frozen=True)
class Division:
    """How rows are divided: shard s has the rows from edges[s] to edges[s + 1] - 1; training rows come first."""

    edges: NDArray[np.int64]
    n_train: int

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def n_rows(self) -> int:
        """Count all rows."""
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

    def train_ranges(self) -> list[tuple[int, int]]:
        """First training row of each shard and the one after the last; an empty range where it has none."""
        return [
            (first, first + count)
            for first, count in zip(self.edges[:-1].tolist(), self.train_sizes.tolist(), strict=True)
        ]

    def used(self, rows: Nodes | None) -> NDArray[np.int64]:
        """How many rows of each shard count: those of `rows`, ascending, or all training rows if that is None."""
        return self.train_sizes if rows is None else np.diff(np.searchsorted(rows, self.edges))

    def hold(self, engine: Engine, rows: Nodes | None) -> list[ShardHandle]:
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
    """See Pairs. `parts`: per shard a handle of int64[n, 2], those of its training rows."""

    engine: Engine
    parts: tuple[ShardHandle, ...]

    def __array__(self, dtype: None = None, copy: bool | None = None) -> NDArray[np.int64]:
        """All of them, here: always a copy."""
        return np.concatenate(self.engine.get(self.parts))


class ShardedPartition:
    """See Partition. `parts`: handles of _native.gbdt.RowPartition, replaced by new ones with every split."""

    def __init__(self, engine: Engine, division: Division, sampled: Nodes | None) -> None:
        self._engine = engine
        self._division = division
        sizes, train = division.sizes.tolist(), division.train_sizes.tolist()
        self.parts = run_each(engine, shard.start_partition, (sizes, division.hold(engine, sampled), train))
        used = division.used(sampled)
        # node -> int64[shards, 2]: sampled and other rows.
        self._counts: dict[int, NDArray[np.int64]] = {0: np.stack([used, division.sizes - used], axis=1)}
        self._ever = {0}

    @property
    def n_rows(self) -> int:
        """Count all rows."""
        return self._division.n_rows

    @property
    def here(self) -> _native.gbdt.RowPartition:
        """See Partition. Raises EngineError."""
        raise not_here("a partition")

    def nodes(self) -> Nodes:
        """The nodes that have not been split, ascending."""
        return np.array(sorted(self._counts), dtype=np.int32)

    def has(self, nodes: Nodes) -> bool:
        """Whether every node exists and has not been split."""
        return all(node in self._counts for node in nodes.tolist())

    def counts_by_shard(self, nodes: Nodes) -> NDArray[np.int64]:
        """int64[len(nodes), shards, 2]: sampled rows and other rows."""
        counts = [self._counts[node] for node in nodes.tolist()]
        return np.stack(counts) if counts else np.zeros((0, len(self.parts), 2), dtype=np.int64)

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """int64[len(nodes), 2]: sampled rows and other rows."""
        return np.asarray(self.counts_by_shard(nodes).sum(axis=1))

    def left_bits_size(self, nodes: Nodes) -> int:
        """Bytes of left bits for these nodes."""
        return int(((self.counts(nodes) + 7) // 8).sum())

    def split(self, nodes: Nodes, left: Nodes, right: Nodes, bits: bytes | memoryview) -> None:
        """See Partition; nothing changes when the arguments are refused (ValueError)."""
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
        self.parts = run_each(engine, shard.split_rows, (self.parts, shares), nodes, left, right, engine.threads)
        for i, node in enumerate(parents):
            del self._counts[node]
            self._counts[children[i]] = gone_left[i]
            self._counts[children[i + len(parents)]] = held[i] - gone_left[i]
        self._ever.update(children)

    def leaves(self) -> Nodes:
        """See Partition."""
        engine = self._engine
        parts = [engine.run(s, shard.leaves, rows, engine.threads) for s, rows in enumerate(self.parts)]
        return np.concatenate(engine.get(parts))

    def gather_bits(self, nodes: Nodes, bits: bytes | memoryview) -> bytes:
        """See Partition."""
        engine, held = self._engine, self.counts_by_shard(nodes)
        sizes = np.stack([self._division.sizes, np.zeros_like(self._division.sizes)], axis=1)
        single = len(bits) == (self.n_rows + 7) // 8
        shares, _ = _native.gbdt.split_left_bits(bits, np.tile(sizes, (1 if single else len(nodes), 1, 1)))
        parts = run_each(engine, shard.gather_bits, (self.parts, shares), nodes, engine.threads)
        return _native.gbdt.join_left_bits(engine.get(parts), held)

    def node_sums(self, nodes: Nodes, pairs: ShardedPairs) -> NDArray[np.int64]:
        """See _native.gbdt.node_sums."""
        engine = self._engine
        parts = run_each(engine, shard.node_sums, (self.parts, pairs.parts), nodes, engine.threads)
        return shard.add_arrays(engine.get(parts))

    def entries(self, nodes: Nodes) -> "ShardedEntries":
        """See Partition."""
        engine = self._engine
        parts = [engine.run(s, shard.node_entries, rows, nodes, engine.threads) for s, rows in enumerate(self.parts)]
        return ShardedEntries(engine, self._division, parts)

    def left_sums(self, nodes: Nodes, bits: bytes | memoryview, pairs: ShardedPairs) -> NDArray[np.int64]:
        """See Partition."""
        engine = self._engine
        shares, _ = _native.gbdt.split_left_bits(bits, self.counts_by_shard(nodes))
        own = (self.parts, pairs.parts, shares)
        return shard.add_arrays(engine.get(run_each(engine, shard.left_node_sums, own, nodes, engine.threads)))

    def centred(self, nodes: Nodes, totals: NDArray[np.int64], pairs: ShardedPairs) -> ShardedCentred:
        """See Partition."""
        return ShardedCentred(self._engine, self._division.train_ranges(), self.parts, pairs.parts, nodes, totals)


class ShardedEntries:
    """See Entries. `parts`: per shard a handle of uint16[rows]."""

    def __init__(self, engine: Engine, division: Division, parts: list[ShardHandle]) -> None:
        self._engine = engine
        self._division = division
        self._parts = parts

    def part(self, first: int, stop: int) -> NDArray[np.uint16]:
        """See Entries."""
        engine, asked = self._engine, []
        for s, (begin, end) in enumerate(self._division.ranges()):
            a, b = max(first, begin), min(stop, end)
            if a < b:
                asked.append(engine.run(s, shard.some_rows, self._parts[s], a - begin, b - begin))
        return np.concatenate([np.zeros(0, dtype=np.uint16), *engine.get(asked)])


def not_here(what: str) -> EngineError:
    """The error for asking shards for what only rows in this process have."""
    return EngineError(
        f"asking for {what} of this process: the rows are in shards; a protocol that needs it leaves "
        "ProtocolSpec.sharded out"
    )
