"""The integers of open nodes where rows are in shards: each shard makes those of its own rows (rows/integers.py).

Shards are told the key of the level's words and the coins of its nodes, never the seed that both follow from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.engine.base import Engine, ShardHandle, run_each
from vfxgb.rows.integers import MemoryCentred, NodeNorms, node_places
from vfxgb.rows.parts import Nodes

RowsMade: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
# Where the squares of integers add up to less, each of them has 31 bits at most.
NARROW_SQUARES = 1 << 62


@dataclass(frozen=True)
class ShardedIntegers:
    """See RowIntegers. `parts`: per shard a handle of int32[n] or int64[n], those of its training rows."""

    engine: Engine
    parts: tuple[ShardHandle, ...]

    def __array__(self, dtype: None = None, copy: bool | None = None) -> NDArray[np.int64]:
        """All of them, here: always a copy."""
        return np.concatenate(self.engine.get(self.parts)).astype(np.int64)


class ShardedCentred:
    """See CentredRows: in the shards of an engine, which make the centred gradients again whenever they are asked."""

    def __init__(
        self,
        engine: Engine,
        ranges: Sequence[tuple[int, int]],
        partition: Sequence[ShardHandle],
        pairs: Sequence[ShardHandle],
        nodes: Nodes,
        totals: NDArray[np.int64],
    ) -> None:
        """`ranges`: the training rows of each shard."""
        self.n_train = sum(stop - first for first, stop in ranges)
        self._engine = engine
        self._own = (partition, pairs)
        self._first = [first for first, _ in ranges]
        self._asked = (nodes, totals, engine.threads)
        self._rounded: list[ShardHandle] = []

    def norms(self) -> NodeNorms:
        """See CentredRows."""
        return add_norms(self._engine.get(run_each(self._engine, centred_norms, self._own, *self._asked)))

    def round(self, shift: NDArray[np.int32], stream: bytes, signs: NDArray[np.int64]) -> NodeNorms:
        """See CentredRows."""
        engine = self._engine
        self._rounded = run_each(engine, round_shard, (*self._own, self._first), *self._asked, shift, stream, signs)
        return add_norms(engine.get(run_each(engine, norms_made, [self._rounded])))

    @property
    def integers(self) -> ShardedIntegers:
        """See CentredRows."""
        return ShardedIntegers(self._engine, tuple(run_each(self._engine, integers_made, [self._rounded])))


def add_norms(parts: Sequence[NodeNorms]) -> NodeNorms:
    """Those of all rows."""
    sums, squares = ([sum(of_node) for of_node in zip(*some, strict=True)] for some in zip(*parts, strict=True))
    return sums, squares


def _centred(
    partition: _native.gbdt.RowPartition,
    pairs: NDArray[np.int64],
    nodes: Nodes,
    totals: NDArray[np.int64],
    threads: int,
) -> MemoryCentred:
    return MemoryCentred(pairs, node_places(partition.leaves(threads)[: len(pairs)], nodes), totals, threads)


def centred_norms(
    partition: _native.gbdt.RowPartition,
    pairs: NDArray[np.int64],
    nodes: Nodes,
    totals: NDArray[np.int64],
    threads: int,
) -> NodeNorms:
    """The norms of a shard's centred gradients."""
    return _centred(partition, pairs, nodes, totals, threads).norms()


def round_shard(
    partition: _native.gbdt.RowPartition,
    pairs: NDArray[np.int64],
    first: int,
    nodes: Nodes,
    totals: NDArray[np.int64],
    threads: int,
    shift: NDArray[np.int32],
    stream: bytes,
    signs: NDArray[np.int64],
) -> tuple[RowsMade, NodeNorms]:
    """The integers of a shard, whose rows are numbered from `first` on, and their norms."""
    centred = _centred(partition, pairs, nodes, totals, threads)
    norms = centred.round(shift, stream, signs, first)
    narrow = max(norms[1], default=0) < NARROW_SQUARES
    return centred.integers.astype(np.int32) if narrow else centred.integers, norms


def norms_made(made: tuple[RowsMade, NodeNorms]) -> NodeNorms:
    """The norms of what round_shard made."""
    return made[1]


def integers_made(made: tuple[RowsMade, NodeNorms]) -> RowsMade:
    """The integers that round_shard made."""
    return made[0]
