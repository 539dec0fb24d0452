"""Shares of gradient sums from trees of masks (cpp/ot_shares/slot_trees.h).

A pair is two numbers modulo 2^64, uint64[..., 2]. `lanes`: 64, or 32 for sums that fit 32 bits, when all numbers are
modulo 2^32 and trees of boosting 2k and 2k + 1 share their masks, with half of each for either. `leaves` int32[s]: of
the trees of each feature slot. `counter` and `run` make the tweak of a tree of boosting: never use both twice with one
set of trees. `slots` int32[k]: ascending; cells: the leaves of these slots together. `path`: a new file that large
arrays are kept in, instead of memory; it loses its name at once, and an OSError says what is wrong with it.
"""

from typing import final

import numpy as np
from numpy.typing import NDArray

from . import Buffer
from .gbdt import RowPartition

TREES_DOMAIN: int
MOST_AHEAD: int

@final
class OwnedTrees:
    """The active party's trees of masks: `rows` for every slot, a key of the hash for each block of `block_rows`.

    `first_row`: the number of row 0 among all rows of the set-up; blocks are counted over all of them.
    """

    def __init__(
        self,
        session: bytes,
        delta: bytes,
        leaves: NDArray[np.int32],
        rows: int,
        block_rows: int,
        first_row: int = 0,
        path: str | None = None,
    ) -> None: ...
    @property
    def nbytes(self) -> int: ...
    def fill(self, first: int, count: int, roots: Buffer) -> None:
        """The roots of rows first to first + count - 1, slot by slot, as tree_corrections gives them.

        tree_corrections makes them block by block, in domain TREES_DOMAIN.
        """
    def cache(self, path: str | None = None, threads: int = 1) -> None:
        """Keep all leaves, 16 bytes each, instead of growing them anew for each sum. No fill after it."""
    def drop(self) -> None:
        """Give the memory of a file back to the system; on the heap nothing happens."""
    def cover(
        self,
        counter: int,
        run: int,
        rows: NDArray[np.int32],
        slots: NDArray[np.int32],
        pairs: NDArray[np.int64],
        threads: int = 1,
        lanes: int = 64,
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """(d uint64[k, len(rows), 2]: pairs[row] plus all masks of its tree; uint64[cells, 2]: masks summed over rows).

        `rows`: ascending.
        """
    def cover_packed(
        self,
        counter: int,
        run: int,
        rows: NDArray[np.int32],
        slots: NDArray[np.int32],
        pairs: NDArray[np.int64],
        g_bits: int,
        h_bits: int,
        threads: int = 1,
        lanes: int = 64,
        ahead: RootAhead | None = None,
    ) -> tuple[bytes, NDArray[np.uint64]]:
        """As cover, with d as pack_pairs gives it. `ahead`: takes what these rows give for the next trees."""
    def sums(
        self,
        counter: int,
        run: int,
        partition: RowPartition,
        nodes: NDArray[np.int32],
        slots: NDArray[np.int32],
        threads: int = 1,
        lanes: int = 64,
    ) -> NDArray[np.uint64]:
        """Masks summed over the sampled rows of each node, uint64[nodes, cells, 2]."""

@final
class HeldTrees:
    """The passive party's: the same trees punctured at the bins of its rows."""

    def __init__(
        self,
        session: bytes,
        leaves: NDArray[np.int32],
        rows: int,
        block_rows: int,
        first_row: int = 0,
        path: str | None = None,
    ) -> None: ...
    @property
    def nbytes(self) -> int: ...
    def fill(self, first: int, holes: NDArray[np.uint16], copaths: Buffer) -> None:
        """Rows from `first` on: their bins, uint16[s, count], and their co-paths, as tree_copaths gives them."""
    def cache(self, path: str | None = None, threads: int = 1) -> None:
        """As OwnedTrees.cache."""
    def drop(self) -> None:
        """As OwnedTrees.drop."""
    def row_sums(
        self,
        counter: int,
        run: int,
        rows: NDArray[np.int32],
        slots: NDArray[np.int32],
        masked: MaskedRows,
        place: NDArray[np.int32] | None = None,
        begin: int = 0,
        threads: int = 1,
        lanes: int = 64,
        ahead: RootAhead | None = None,
    ) -> NDArray[np.uint64]:
        """Shares summed over ascending `rows`, uint64[cells, 2].

        `masked`: those of slots[0] are the ones of its slot `begin`, and so on; of row i at place[i], or at i where
        `place` is None. `ahead`: takes what these rows give for the roots of the next trees.
        """
    def root_sums(
        self,
        rows: NDArray[np.int32],
        slots: NDArray[np.int32],
        masked: MaskedRows,
        ahead: RootAhead,
        distance: int,
        threads: int = 1,
    ) -> NDArray[np.uint64]:
        """What ascending `rows` add to ahead.sums(distance) at the root of that tree, uint64[cells, 2]."""
    def sums(
        self,
        counter: int,
        run: int,
        partition: RowPartition,
        nodes: NDArray[np.int32],
        slots: NDArray[np.int32],
        masked: MaskedRows,
        place: NDArray[np.int32] | None = None,
        begin: int = 0,
        threads: int = 1,
        lanes: int = 64,
    ) -> NDArray[np.uint64]:
        """Shares summed over the sampled rows of each node, uint64[nodes, cells, 2]."""

@final
class MaskedRows:
    """The masked gradients d of one tree of boosting at the passive party: `places` of them in each slot."""

    def __init__(self, slots: int, places: int, lanes: int = 64, path: str | None = None) -> None: ...
    @property
    def nbytes(self) -> int: ...
    def fill(self, first: int, count: int, packed: Buffer, g_bits: int, h_bits: int, threads: int = 1) -> None:
        """Places first to first + count - 1 of every slot, slot by slot, as pack_pairs gives them."""
    def drop(self) -> None:
        """As OwnedTrees.drop."""

@final
class RootAhead:
    """What the root of one tree of boosting, of an even number, gives for the next `trees` trees (1 to MOST_AHEAD).

    With lanes of 32 bits (cpp/ot_shares/root_ahead.h); 8 bytes for each tree, slot and row. `distance`: which of the
    trees, from 1 on.
    """

    def __init__(self, slots: int, rows: int, cells: int, trees: int) -> None: ...
    @property
    def nbytes(self) -> int: ...
    def clear(self) -> None:
        """Begin anew, for other trees."""
    def sums(self, distance: int) -> NDArray[np.uint64]:
        """Masks, or known shares, summed over all rows that were taken, uint64[cells, 2]."""
    def cover_packed(
        self,
        distance: int,
        first: int,
        count: int,
        pairs: NDArray[np.int64],
        g_bits: int,
        h_bits: int,
        threads: int = 1,
    ) -> bytes:
        """See OwnedTrees.cover_packed: d of rows first to first + count - 1 of that tree."""

def pack_pairs(pairs: NDArray[np.uint64], g_bits: int, h_bits: int, threads: int = 1) -> bytes:
    """The low bits of all pairs, one after the other without gaps (cpp/ot_shares/pair_bits.h)."""

def unpack_pairs(data: Buffer, count: int, g_bits: int, h_bits: int, threads: int = 1) -> NDArray[np.uint64]:
    """The reverse, uint64[count, 2]. ValueError for another number of bytes or a spare bit set."""

def left_shares(cells: NDArray[np.uint64], n_bins: NDArray[np.int32], missing: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Left sums of all candidates, uint64[m, c, 2], from sums per leaf, uint64[m, n_bins.sum() + missing.sum(), 2]."""
