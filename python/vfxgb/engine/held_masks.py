"""The trees of masks of a passive party whose rows are in shards: each shard keeps those of its rows and sums them.

Masked gradients arrive in chunks and are divided among the shards in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.plan import PairWidths
from vfxgb.engine.base import Engine, ShardHandle
from vfxgb.engine.mask_pieces import (
    LoadedState,
    PieceFile,
    PieceReader,
    ShardTrees,
    TreeShards,
    add_shares,
    joined,
    slot_groups,
)
from vfxgb.engine.parts import Division, ShardedPartition
from vfxgb.engine.shard import new_file
from vfxgb.rows.ciphers import places
from vfxgb.rows.masks import BLOCK_BYTES, MaskedTree, MaskForest, lane_bits, pack
from vfxgb.rows.parts import Nodes

HOLE_BYTES, PAIR_BYTES = 2, 16


class ShardedHeld:
    """See HeldMasks: in the shards of an engine."""

    def __init__(self, forest: MaskForest, keep_leaves: bool, engine: Engine, division: Division) -> None:
        self._forest = forest
        self._engine = engine
        self._division = division

        def make(first: int, count: int, path: str) -> _native.ot_shares.HeldTrees:
            return _native.ot_shares.HeldTrees(forest.session, forest.leaves, count, forest.block_rows, first, path)

        self._trees = TreeShards(engine, division, forest, keep_leaves, make, load_held)

    def fill(self, first: int, holes: NDArray[np.uint16], copaths: NDArray[np.uint8]) -> None:
        """See HeldMasks."""
        count, depths = holes.shape[1], self._forest.depths

        def cut(rows: slice) -> tuple[NDArray[Any], ...]:
            whole = rows.stop - rows.start == count
            own = copaths if whole else cut_copaths(copaths, depths, count, rows)
            return np.ascontiguousarray(holes[:, rows]), own

        self._trees.fill(first, count, cut, put_copaths)

    def gradients(self, tree: MaskedTree) -> "ShardedGradients":
        """See HeldMasks."""
        return ShardedGradients(tree, self._forest, self._engine, self._division, self._trees.shards)

    def close(self) -> None:
        """Forget the trees, and their files."""
        self._trees.close()


@dataclass
class _Gradients:
    """The masked gradients of one shard: `count` rows, numbered in the sample from `first` on.

    `rows`: handle of its rows in use, None for all. `place`: handle of int32, where each row's pairs are; None for the
    row's own number. `left`: rows still to come. `root`: handles of shares of the root's sums.
    """

    of: ShardTrees
    first: int
    count: int
    rows: ShardHandle
    place: ShardHandle
    left: int
    root: list[ShardHandle]
    file: PieceFile | None = None
    masked: ShardHandle = None


class ShardedGradients:
    """See HeldGradients: in the shards of an engine, `trees` of which have training rows."""

    def __init__(
        self, tree: MaskedTree, forest: MaskForest, engine: Engine, division: Division, trees: Sequence[ShardTrees]
    ) -> None:
        self._tree = replace(tree, sampled=None)
        self._engine = engine
        self._slot_bytes = HOLE_BYTES + PAIR_BYTES + BLOCK_BYTES * int(forest.depths[tree.slots].max(initial=1))
        within, counts = division.hold(engine, tree.sampled), division.used(tree.sampled).tolist()
        self._shards: list[_Gradients] = []
        first = 0
        for of in trees:
            rows, count = within[of.number], counts[of.number]
            place = None if rows is None else engine.run(of.number, places, rows, of.count)
            if count:
                self._shards.append(_Gradients(of, first, count, rows, place, count, []))
            first += count

    def take(self, first: int, count: int, data: memoryview) -> None:
        """See HeldGradients."""
        for shard in self._shards:
            begin, end = max(first, shard.first), min(first + count, shard.first + shard.count)
            if begin < end:
                part = slice(begin - first, end - first)
                own = data if end - begin == count else cut_pairs(data, self._tree, count, part, self._engine.threads)
                self._put(shard, begin - shard.first, end - begin, own)
                shard.left -= end - begin
                if shard.left == 0 and shard.file is not None:
                    self._load(shard, shard.file)

    def _put(self, shard: _Gradients, first: int, count: int, data: bytes | memoryview) -> None:
        engine, tree = self._engine, self._tree
        if not engine.mapped:
            if shard.file is None:
                shard.file = PieceFile(engine)
            shard.file.add(count, data)
            return
        if shard.masked is None:
            path = new_file(str(engine.folder))
            rows = _native.ot_shares.MaskedRows(len(tree.slots), shard.count, tree.lanes, path)
            shard.masked = engine.keep(shard.of.number, LoadedState(rows, load_masked, ()))
        (held,) = engine.get([shard.masked])
        held.native.fill(first, count, data, tree.widths.g_bits, tree.widths.h_bits, engine.threads)
        # The root's sums grow with every chunk, so that what was just written is read from memory.
        sums = self._row_sums(shard, first, count)
        shard.root = [engine.keep(shard.of.number, add_shares(engine.get([*shard.root, sums])))]

    def _load(self, shard: _Gradients, file: PieceFile) -> None:
        """All pairs of a shard are in its file: have it read them, and sum its root."""
        engine, tree = self._engine, self._tree
        file.finish()
        shard.masked = engine.run(
            shard.of.number, load_masked, file.path, file.counts, len(tree.slots), tree.widths, engine.threads
        )
        shard.root = [self._row_sums(shard, 0, shard.count)]

    def _row_sums(self, shard: _Gradients, first: int, count: int) -> ShardHandle:
        engine = self._engine
        return engine.run(
            shard.of.number,
            held_row_sums,
            shard.of.trees,
            shard.masked,
            shard.rows,
            shard.place,
            first,
            count,
            self._tree,
            engine.threads,
        )

    def root(self) -> NDArray[np.uint64]:
        """See HeldGradients."""
        return joined(self._engine, [part for shard in self._shards for part in shard.root])

    def sums(self, partition: ShardedPartition, nodes: Nodes) -> NDArray[np.uint64]:
        """See HeldGradients."""
        engine = self._engine
        parts = [
            engine.run(
                shard.of.number,
                held_sums,
                shard.of.trees,
                shard.masked,
                shard.place,
                partition.parts[shard.of.number],
                nodes,
                self._tree,
                self._slot_bytes * shard.of.count,
                engine.mapped,
                engine.threads,
            )
            for shard in self._shards
        ]
        return joined(engine, parts)

    def close(self) -> None:
        """Forget the pairs, and their files."""
        for shard in self._shards:
            if shard.file is not None:
                shard.file.remove()
        self._shards = []


def cut_copaths(copaths: NDArray[np.uint8], depths: NDArray[np.int32], count: int, rows: slice) -> NDArray[np.uint8]:
    """Those of some of `count` rows; see HeldMasks.fill."""
    parts, first = [], 0
    for depth in depths.tolist():
        parts.append(copaths[first + rows.start * depth : first + rows.stop * depth])
        first += count * depth
    return np.concatenate(parts)


def cut_pairs(data: memoryview, tree: MaskedTree, count: int, rows: slice, threads: int) -> bytes:
    """Those of some of the `count` rows of a chunk, packed."""
    widths = tree.widths
    pairs = _native.ot_shares.unpack_pairs(data, len(tree.slots) * count, widths.g_bits, widths.h_bits, threads)
    return pack(np.ascontiguousarray(pairs.reshape(len(tree.slots), count, 2)[:, rows]), widths, threads)


def put_copaths(trees: _native.ot_shares.HeldTrees, row: int, parts: tuple[NDArray[Any], ...]) -> None:
    """Fill rows of mapped trees from `row` on."""
    holes, copaths = parts
    trees.fill(row, holes, copaths)


def load_held(
    path: str, counts: list[int], forest: MaskForest, first: int, count: int, keep_leaves: bool, threads: int
) -> LoadedState:
    """The trees of a shard, training rows `first` to `first + count - 1`, from its file."""
    slots, levels, row = len(forest.leaves), int(forest.depths.sum()), 0
    trees = _native.ot_shares.HeldTrees(forest.session, forest.leaves, count, forest.block_rows, first)
    with PieceReader(path) as reader:
        for piece in counts:
            holes = reader.take(HOLE_BYTES * slots * piece).view(np.uint16).reshape(slots, piece)
            trees.fill(row, holes, reader.take(BLOCK_BYTES * levels * piece))
            row += piece
    if keep_leaves:
        trees.cache(threads=threads)
    return LoadedState(trees, load_held, (path, counts, forest, first, count, keep_leaves, threads))


def load_masked(path: str, counts: list[int], n_slots: int, widths: PairWidths, threads: int) -> LoadedState:
    """The masked gradients of a shard from its file."""
    masked, row = _native.ot_shares.MaskedRows(n_slots, sum(counts), lane_bits(widths)), 0
    with PieceReader(path) as reader:
        for piece in counts:
            size = (n_slots * piece * (widths.g_bits + widths.h_bits) + 7) // 8
            masked.fill(row, piece, reader.take(size), widths.g_bits, widths.h_bits, threads)
            row += piece
    return LoadedState(masked, load_masked, (path, counts, n_slots, widths, threads))


def held_row_sums(
    trees: LoadedState,
    masked: LoadedState,
    sampled: Nodes | None,
    place: NDArray[np.int32] | None,
    first: int,
    count: int,
    tree: MaskedTree,
    threads: int,
) -> NDArray[np.uint64]:
    """The shares of rows `first` to `first + count - 1` of a shard's sample, summed."""
    rows = np.arange(first, first + count, dtype=np.int32) if sampled is None else sampled[first : first + count]
    sums = trees.native.row_sums(
        tree.counter, tree.run, rows, tree.slots, masked.native, place, threads=threads, lanes=tree.lanes
    )
    trees.native.drop()
    masked.native.drop()
    found: NDArray[np.uint64] = sums
    return found


def held_sums(
    trees: LoadedState,
    masked: LoadedState,
    place: NDArray[np.int32] | None,
    partition: _native.gbdt.RowPartition,
    nodes: Nodes,
    tree: MaskedTree,
    slot_bytes: int,
    mapped: bool,
    threads: int,
) -> NDArray[np.uint64]:
    """The shares of a shard's rows, summed by node. `slot_bytes`: what one slot takes there."""
    found = []
    for some in slot_groups(tree.slots, slot_bytes, mapped):
        slots = np.ascontiguousarray(tree.slots[some])
        sums = trees.native.sums(
            tree.counter, tree.run, partition, nodes, slots, masked.native, place, some.start, threads, tree.lanes
        )
        found.append(sums)
        trees.native.drop()
        masked.native.drop()
    return np.concatenate(found, axis=1)
