"""The trees of masks of an active party whose rows are in shards: each shard keeps the roots of its own rows.

Roots and the secret Delta of all trees are secrets like a private key: whoever has Delta and what a passive party holds
knows every mask, and so the gradients of every row. A cluster gets them only where the user has said that its workers
may hold keys. They then pass through files of the run's folder and never through Dask's scheduler.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.engine.base import Engine, ShardHandle
from vfxgb.engine.mask_pieces import LoadedState, PieceReader, TreeShards, joined, slot_groups
from vfxgb.engine.parts import Division, ShardedPairs, ShardedPartition
from vfxgb.engine.values import FETCHED_AT_ONCE, ChunkPart, chunk_tasks
from vfxgb.errors import EngineError
from vfxgb.rows.masks import BLOCK_BYTES, MaskedChunk, MaskedTree, MaskForest, pack
from vfxgb.rows.parts import Nodes


class ShardedOwned:
    """See OwnedMasks: in the shards of an engine. Raises EngineError where it may not hold secrets."""

    def __init__(self, forest: MaskForest, delta: bytes, keep_leaves: bool, engine: Engine, division: Division) -> None:
        if not engine.holds_key:
            raise EngineError("keeping trees of masks in shards: the engine may not hold secrets (workers_hold_key)")
        self._forest = forest
        self._engine = engine
        self._division = division

        def make(first: int, count: int, path: str) -> _native.ot_shares.OwnedTrees:
            return _native.ot_shares.OwnedTrees(
                forest.session, delta, forest.leaves, count, forest.block_rows, first, path
            )

        self._trees = TreeShards(engine, division, forest, keep_leaves, make, load_owned, head=delta)

    def fill(self, first: int, roots: NDArray[np.uint8]) -> None:
        """See OwnedMasks."""
        self._trees.fill(first, roots.shape[1], lambda rows: (np.ascontiguousarray(roots[:, rows]),), put_roots)

    def chunks(self, tree: MaskedTree, pairs: ShardedPairs, chunk_rows: int) -> Iterator[MaskedChunk]:
        """See OwnedMasks."""
        engine, small = self._engine, replace(tree, sampled=None)
        within = self._division.hold(engine, tree.sampled)
        counts: list[int] = self._division.used(tree.sampled).tolist()
        trees = {shard.number: shard.trees for shard in self._trees.shards}

        def ask(number: int, parts: list[ChunkPart]) -> tuple[list[ChunkPart], ShardHandle]:
            held, own = trees[number], pairs.parts[number]
            return parts, engine.run(number, mask_rows, held, own, small, within[number], parts, engine.threads)

        asked = (ask(number, parts) for number, parts in chunk_tasks(counts, chunk_rows))
        ready = iter(list(asked)) if engine.ahead is None else asked
        at_once = FETCHED_AT_ONCE if engine.ahead is None else engine.ahead
        first, apart = 0, list[NDArray[np.uint64]]()
        sums = np.zeros((int(self._forest.leaves[tree.slots].sum()), 2), dtype=np.uint64)
        while some := list(islice(ready, at_once)):
            for (parts, _), (pieces, added) in zip(some, engine.get([held for _, held in some]), strict=True):
                sums = sums + added
                for part, piece in zip(parts, pieces, strict=True):
                    if part.whole:
                        count, data = part.stop - part.first, piece.data
                    else:
                        apart.append(piece)
                        if not part.last:
                            continue
                        whole = np.concatenate(apart, axis=1)
                        count, data, apart = whole.shape[1], pack(whole, tree.widths, engine.threads), []
                    yield MaskedChunk(first, count, data, sums)
                    first, sums = first + count, np.zeros_like(sums)

    def sums(self, tree: MaskedTree, partition: ShardedPartition, nodes: Nodes) -> NDArray[np.uint64]:
        """See OwnedMasks."""
        engine, small = self._engine, replace(tree, sampled=None)
        parts = [
            engine.run(
                shard.number,
                owned_sums,
                shard.trees,
                partition.parts[shard.number],
                nodes,
                small,
                BLOCK_BYTES * shard.count,
                engine.mapped,
                engine.threads,
            )
            for shard in self._trees.shards
        ]
        return joined(engine, parts)

    def close(self) -> None:
        """Forget the trees, and their files."""
        self._trees.close()


def put_roots(trees: _native.ot_shares.OwnedTrees, row: int, parts: tuple[NDArray[Any], ...]) -> None:
    """Fill rows of mapped trees from `row` on."""
    (roots,) = parts
    trees.fill(row, roots.shape[1], roots)


def load_owned(
    path: str, counts: list[int], forest: MaskForest, first: int, count: int, keep_leaves: bool, threads: int
) -> LoadedState:
    """The trees of a shard, training rows `first` to `first + count - 1`, from its file, which begins with Delta."""
    slots, row = len(forest.leaves), 0
    with PieceReader(path) as reader:
        delta = reader.take(BLOCK_BYTES).tobytes()
        trees = _native.ot_shares.OwnedTrees(forest.session, delta, forest.leaves, count, forest.block_rows, first)
        for piece in counts:
            trees.fill(row, piece, reader.take(BLOCK_BYTES * slots * piece))
            row += piece
    if keep_leaves:
        trees.cache(threads=threads)
    return LoadedState(trees, load_owned, (path, counts, forest, first, count, keep_leaves, threads))


def mask_rows(
    trees: LoadedState,
    pairs: NDArray[np.int64],
    tree: MaskedTree,
    sampled: Nodes | None,
    parts: list[ChunkPart],
    threads: int,
) -> tuple[list[NDArray[Any]], NDArray[np.uint64]]:
    """Masked pairs of parts of chunks, packed as uint8 where the part is a whole chunk; and the sums of their masks.

    `sampled`: the shard's rows in use, None for all. Arrays take half the time of bytes from process to process.
    """
    masked: list[NDArray[Any]] = []
    total = np.zeros((0, 2), dtype=np.uint64)
    for part in parts:
        rows = np.arange(part.first, part.stop, dtype=np.int32) if sampled is None else sampled[part.first : part.stop]
        what = (tree.counter, tree.run, rows, tree.slots, pairs)
        if part.whole:
            bits = (tree.widths.g_bits, tree.widths.h_bits)
            packed, sums = trees.native.cover_packed(*what, *bits, threads, tree.lanes)
            masked.append(np.frombuffer(packed, dtype=np.uint8))
        else:
            apart, sums = trees.native.cover(*what, threads, tree.lanes)
            masked.append(apart)
        total = total + sums if len(total) else sums
    trees.native.drop()
    return masked, total


def owned_sums(
    trees: LoadedState,
    partition: _native.gbdt.RowPartition,
    nodes: Nodes,
    tree: MaskedTree,
    slot_bytes: int,
    mapped: bool,
    threads: int,
) -> NDArray[np.uint64]:
    """The sums of a shard's masks. `slot_bytes`: what one slot takes there."""
    found = []
    for some in slot_groups(tree.slots, slot_bytes, mapped):
        slots = np.ascontiguousarray(tree.slots[some])
        found.append(trees.native.sums(tree.counter, tree.run, partition, nodes, slots, threads, tree.lanes))
        trees.native.drop()
    return np.concatenate(found, axis=1)
