"""The trees of masks of protocol `ot_shares`, kept where the rows are, and the sums that each party makes of them.

The active party *owns* the trees: per row and slot 16 bytes, its root. A passive party *holds* them without one leaf:
16 bytes a level, the co-path (cpp/ot_shares/slot_trees.h; protocols/ot_shares/README.md). What they are filled with is
made in the party's own process, block of rows by block of rows, and goes straight to where the rows are. Sums are
numbers modulo 2^64, or 2^32, and do not depend on how rows are divided.

A mask has 128 bits. Where the sums of a run fit 32 bits each it serves two trees of boosting, each with half of it
(cpp/ot_shares/pair.h). In memory, when one tree masks all rows, what the roots of the next few need is made at the same
time and kept (cpp/ot_shares/root_ahead.h).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.plan import PairWidths
from vfxgb.rows.ciphers import places
from vfxgb.rows.parts import Nodes, OwnPairs, OwnPartition

BLOCK_BYTES = 16


@dataclass(frozen=True, eq=False)
class MaskForest:
    """The trees of a set-up as both parties know them.

    `session` names the set-up, 32 bytes. `leaves` and `depths`: int32 per slot, of its trees. Each of the `n_rows`
    training rows has a tree in every slot; `block_rows` of them share a key of the hash.
    """

    session: bytes
    leaves: NDArray[np.int32]
    depths: NDArray[np.int32]
    n_rows: int
    block_rows: int


@dataclass(frozen=True, eq=False)
class MaskedTree:
    """One tree of boosting between two parties.

    `counter` and `run` number its masks, which are used once; the run has at most `of` trees. `slots`: int32,
    ascending, those it uses. `sampled`: the training rows in use, int32 and ascending, or None for all; there are
    `count` of them. `widths`: the bits that pairs have on the wire.
    """

    counter: int
    run: int
    of: int
    slots: NDArray[np.int32]
    sampled: Nodes | None
    count: int
    widths: PairWidths

    @property
    def lanes(self) -> int:
        """Bits of the numbers that shares are: 32 where these hold any sum, else 64. It follows from `widths` alone."""
        return lane_bits(self.widths)

    def packed_bytes(self, count: int) -> int:
        """Bytes of the packed pairs of `count` rows in all slots of the tree."""
        return (len(self.slots) * count * (self.widths.g_bits + self.widths.h_bits) + 7) // 8


@dataclass(frozen=True, eq=False)
class MaskedChunk:
    """Masked pairs of rows `first` to `first + count - 1` of the sample, packed slot by slot.

    `sums`: uint64[cells, 2], to be added to the owner's share of the root's sums.
    """

    first: int
    count: int
    data: bytes | memoryview
    sums: NDArray[np.uint64]


class OwnedMasks(Protocol):
    """The active party's trees."""

    def fill(self, first: int, roots: NDArray[np.uint8]) -> None:
        """The roots uint8[slots, k, 16] of the next k rows, which begin with row `first`."""

    def chunks(self, tree: MaskedTree, pairs: OwnPairs, chunk_rows: int) -> Iterator[MaskedChunk]:
        """All rows of the sample, `chunk_rows` at a time; `pairs` are encoded."""

    def sums(self, tree: MaskedTree, partition: OwnPartition, nodes: Nodes) -> NDArray[np.uint64]:
        """Own share of the sums of nodes, uint64[len(nodes), cells, 2], modulo 2^64."""

    def close(self) -> None:
        """The run is over, well or not: forget the trees."""


class HeldGradients(Protocol):
    """The masked gradients of one tree of boosting at a passive party."""

    def take(self, first: int, count: int, data: memoryview) -> None:
        """Keep the next pairs, of rows `first` to `first + count - 1` of the sample, of the right number of bytes."""

    def root(self) -> NDArray[np.uint64]:
        """Own share of the root's sums, uint64[cells, 2]: everything has been taken."""

    def sums(self, partition: OwnPartition, nodes: Nodes) -> NDArray[np.uint64]:
        """Own share of the sums of nodes, uint64[len(nodes), cells, 2], modulo 2^64."""

    def close(self) -> None:
        """The tree is grown, or never will be."""


class HeldMasks(Protocol):
    """A passive party's trees."""

    def fill(self, first: int, holes: NDArray[np.uint16], copaths: NDArray[np.uint8]) -> None:
        """The next rows, which begin with row `first`: their leaves uint16[slots, k] and their co-paths.

        `copaths`: uint8[k times all levels, 16], slot by slot, row by row, level by level.
        """

    def gradients(self, tree: MaskedTree) -> HeldGradients:
        """Room for the masked gradients of a tree."""

    def close(self) -> None:
        """The run is over, well or not: forget the trees."""


@dataclass(frozen=True, eq=False)
class ReadyRoot:
    """A root that was made ahead: that of the `next`-th tree after the one it was made with."""

    ahead: _native.ot_shares.RootAhead
    next: int


class NextRoots:
    """What the root of a tree that masked all rows left for the next trees, where lanes have 32 bits.

    `leaves`: of each slot's trees; `n_rows`: training rows.
    """

    def __init__(self, leaves: NDArray[np.int32], n_rows: int) -> None:
        self._leaves = leaves
        self._n_rows = n_rows
        self._kept: tuple[MaskedTree, _native.ot_shares.RootAhead] | None = None
        # Memory of earlier trees of the same shape, used again.
        self._spare: tuple[tuple[int, int, int], _native.ot_shares.RootAhead] | None = None

    def room(self, tree: MaskedTree) -> _native.ot_shares.RootAhead | None:
        """Room for what `tree`, whose own root is not ready, leaves; None where it leaves nothing that can be used."""
        trees = min(_native.ot_shares.MOST_AHEAD, tree.of - tree.counter - 1)
        if tree.lanes != 32 or tree.counter % 2 or tree.sampled is not None or trees < 1:
            return None
        self._kept = None
        shape = (len(tree.slots), int(self._leaves[tree.slots].sum()), trees)
        if self._spare is None or self._spare[0] != shape:
            self._spare = shape, _native.ot_shares.RootAhead(shape[0], self._n_rows, *shape[1:])
        self._spare[1].clear()
        return self._spare[1]

    def keep(self, tree: MaskedTree, ahead: _native.ot_shares.RootAhead | None) -> None:
        """All rows of `tree` have been masked, and `ahead`, from `room`, is complete."""
        if ahead is not None:
            self._kept = tree, ahead

    def ready(self, tree: MaskedTree) -> ReadyRoot | None:
        """What an earlier tree left for `tree`; None if it left nothing or `tree` has other rows or slots."""
        if self._kept is None or tree.sampled is not None:
            return None
        before, ahead = self._kept
        distance = tree.counter - before.counter
        same = before.run == tree.run and np.array_equal(before.slots, tree.slots)
        trees = min(_native.ot_shares.MOST_AHEAD, before.of - before.counter - 1)
        return ReadyRoot(ahead, distance) if same and 1 <= distance <= trees else None


class MemoryOwned:
    """See OwnedMasks: in this process."""

    def __init__(self, forest: MaskForest, delta: bytes, keep_leaves: bool, threads: int) -> None:
        self._forest = forest
        self._keep = keep_leaves
        self._threads = threads
        self._trees = _native.ot_shares.OwnedTrees(
            forest.session, delta, forest.leaves, forest.n_rows, forest.block_rows
        )
        self._roots = NextRoots(forest.leaves, forest.n_rows)

    def fill(self, first: int, roots: NDArray[np.uint8]) -> None:
        """See OwnedMasks."""
        self._trees.fill(first, roots.shape[1], roots)
        if self._keep and first + roots.shape[1] == self._forest.n_rows:
            self._trees.cache(threads=self._threads)

    def chunks(self, tree: MaskedTree, pairs: NDArray[np.int64], chunk_rows: int) -> Iterator[MaskedChunk]:
        """See OwnedMasks."""
        bits = (tree.widths.g_bits, tree.widths.h_bits)
        ready = self._roots.ready(tree)
        room = self._roots.room(tree) if ready is None else None
        for first in range(0, tree.count, chunk_rows):
            count = min(chunk_rows, tree.count - first)
            if ready is not None:
                data = ready.ahead.cover_packed(ready.next, first, count, pairs, *bits, self._threads)
                # The sums are those of all rows.
                sums = ready.ahead.sums(ready.next) * np.uint64(first == 0)
            else:
                rows = sample_part(tree.sampled, first, count)
                what = (tree.counter, tree.run, rows, tree.slots, pairs)
                data, sums = self._trees.cover_packed(*what, *bits, self._threads, tree.lanes, room)
            yield MaskedChunk(first, count, data, sums)
        self._roots.keep(tree, room)

    def sums(self, tree: MaskedTree, partition: OwnPartition, nodes: Nodes) -> NDArray[np.uint64]:
        """See OwnedMasks."""
        return self._trees.sums(tree.counter, tree.run, partition.here, nodes, tree.slots, self._threads, tree.lanes)

    def close(self) -> None:
        """See OwnedMasks: memory goes with the object."""


class MemoryHeld:
    """See HeldMasks: in this process."""

    def __init__(self, forest: MaskForest, keep_leaves: bool, threads: int) -> None:
        self._forest = forest
        self._keep = keep_leaves
        self._threads = threads
        self._trees = _native.ot_shares.HeldTrees(forest.session, forest.leaves, forest.n_rows, forest.block_rows)
        self._roots = NextRoots(forest.leaves, forest.n_rows)

    def fill(self, first: int, holes: NDArray[np.uint16], copaths: NDArray[np.uint8]) -> None:
        """See HeldMasks."""
        self._trees.fill(first, holes, copaths)
        if self._keep and first + holes.shape[1] == self._forest.n_rows:
            self._trees.cache(threads=self._threads)

    def gradients(self, tree: MaskedTree) -> "MemoryGradients":
        """See HeldMasks."""
        return MemoryGradients(self._trees, self._roots, self._forest.n_rows, tree, self._threads)

    def close(self) -> None:
        """See HeldMasks: memory goes with the object."""


class MemoryGradients:
    """See HeldGradients. The root's sums grow with every chunk. `roots`: those that trees before made ahead."""

    def __init__(
        self,
        trees: _native.ot_shares.HeldTrees,
        roots: NextRoots,
        n_rows: int,
        tree: MaskedTree,
        threads: int,
    ) -> None:
        self._trees = trees
        self._roots = roots
        self._tree = tree
        self._threads = threads
        self._place = None if tree.sampled is None else places(tree.sampled, n_rows)
        self._masked = _native.ot_shares.MaskedRows(len(tree.slots), tree.count, tree.lanes)
        self._root: NDArray[np.uint64] | None = None
        self._ready: ReadyRoot | None = None
        self._room: _native.ot_shares.RootAhead | None = None

    def take(self, first: int, count: int, data: memoryview) -> None:
        """See HeldGradients."""
        tree, threads = self._tree, self._threads
        if first == 0:
            self._ready = ready = self._roots.ready(tree)
            self._room = self._roots.room(tree) if ready is None else None
            self._root = None if ready is None else ready.ahead.sums(ready.next)
        self._masked.fill(first, count, data, tree.widths.g_bits, tree.widths.h_bits, threads)
        rows = sample_part(tree.sampled, first, count)
        if self._ready is not None:
            ahead, distance = self._ready.ahead, self._ready.next
            sums = self._trees.root_sums(rows, tree.slots, self._masked, ahead, distance, threads)
        else:
            what = (tree.counter, tree.run, rows, tree.slots, self._masked, self._place)
            sums = self._trees.row_sums(*what, threads=threads, lanes=tree.lanes, ahead=self._room)
        self._root = sums if self._root is None else self._root + sums
        if first + count == tree.count:
            self._roots.keep(tree, self._room)
            self._ready = None

    def root(self) -> NDArray[np.uint64]:
        """See HeldGradients."""
        assert self._root is not None  # noqa: S101 - a sample has rows
        return self._root

    def sums(self, partition: OwnPartition, nodes: Nodes) -> NDArray[np.uint64]:
        """See HeldGradients."""
        tree = self._tree
        what = (tree.counter, tree.run, partition.here, nodes, tree.slots, self._masked, self._place)
        return self._trees.sums(*what, threads=self._threads, lanes=tree.lanes)

    def close(self) -> None:
        """See HeldGradients: memory goes with the object."""


def lane_bits(widths: PairWidths) -> int:
    """See MaskedTree.lanes."""
    return 32 if max(widths.g_bits, widths.h_bits) <= 32 else 64


def sample_part(sampled: Nodes | None, first: int, count: int) -> Nodes:
    """Rows `first` to `first + count - 1` of the sample, ascending; None for all rows."""
    if sampled is None:
        return np.arange(first, first + count, dtype=np.int32)
    return np.ascontiguousarray(sampled[first : first + count])


def pack(pairs: NDArray[np.uint64], widths: PairWidths, threads: int) -> bytes:
    """The low bits of uint64[..., 2]. What lies above them never leaves a party: carries there tell rows apart."""
    return _native.ot_shares.pack_pairs(pairs, widths.g_bits, widths.h_bits, threads)
