"""Blocks of punctured trees over the two parties of transfers (cpp/ot/ggm.h).

The *owner* of the trees (sender of the transfers) can compute every leaf, the *holder* (their receiver) all but one
leaf of each tree, its hole, which the owner does not learn. A block is one request of the holder and one answer:

    request       ceil(128 / transfer_bits) bits a level and tree, rounded up to groups of 128 transfers
    corrections   16 bytes a level but the first

Blocks are made and answered in one order, and several requests may be on their way. Nothing of a finished block stays
here: what the parties keep (roots, or co-paths) is returned, and memory is that of the blocks on their way.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot.transfers import BLOCK_BYTES, Receiver, Sender
from vfxgb.ot.wire import CORRECTIONS, Bytes, Line, Place
from vfxgb.threads import resolve_threads


@dataclass(frozen=True)
class _Size:
    """Transfers and corrections of a block: `levels` per row in `trees` trees."""

    trees: int
    levels: int
    rows: int

    @property
    def transfers(self) -> int:
        return self.rows * self.levels

    @property
    def correction_bytes(self) -> int:
        return self.rows * (self.levels - self.trees) * BLOCK_BYTES


@dataclass(frozen=True)
class _Pending:
    size: _Size
    group: int
    leaves: NDArray[np.int32]
    holes: NDArray[np.uint16]
    t: NDArray[np.uint8]


class TreeHolder:
    """The party with secret leaves. Not safe to share among threads."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._line = Line(receiver.session, receiver.settings.transfer_bits)
        self._threads = resolve_threads(receiver.settings.threads)
        self._pending: dict[Place, _Pending] = {}

    def request(self, place: Place, leaves: NDArray[np.int32], holes: NDArray[np.uint16]) -> bytes:
        """Bytes for the owner: trees of leaves[s] leaves each, int32[S], with secret leaves uint16[S, rows].

        TransferError for a hole that is no leaf and for a place that was used before.
        """
        for tree, row in np.argwhere(holes >= leaves[:, np.newaxis])[:1]:
            raise TransferError(
                f"requesting {place} of {self._receiver.peer}: found leaf {holes[tree, row]} in row {row} of tree "
                f"{tree}, wanted one below {leaves[tree]}; every value must have a bin of the feature it was announced "
                "with"
            )
        size = _size(leaves, holes.shape[1])
        group = self._receiver.position
        request, batch = self._receiver.request(place, size.transfers, _native.ot.tree_choices(leaves, holes))
        self._pending[place] = _Pending(size, group, leaves, holes, batch.correlated()[0])
        return request

    def finish(self, place: Place, corrections: Bytes) -> NDArray[np.uint8]:
        """The co-paths uint8[rows * levels, 16] of a block from the owner's answer, tree by tree as cpp/ot/ggm.h says.

        TransferError for bytes that are not the answer to this block; the block stays open then.
        """
        step = f"transfers with {self._receiver.peer}"
        pending = self._pending.get(place)
        if pending is None:
            raise TransferError(f"{step}: found corrections for {place}, which is not open; blocks are answered once")
        wanted = pending.size.correction_bytes
        payload = self._line.unseal(corrections, CORRECTIONS, place, pending.group, wanted, step)
        copaths = _native.ot.tree_copaths(
            self._receiver.session,
            place.domain,
            place.block,
            pending.leaves,
            pending.holes,
            pending.t,
            payload,
            self._threads,
        )
        del self._pending[place]
        return copaths


class TreeOwner:
    """The party that will know every leaf. Not safe to share among threads."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._line = Line(sender.session, sender.settings.transfer_bits)
        self._threads = resolve_threads(sender.settings.threads)

    def answer(
        self, place: Place, leaves: NDArray[np.int32], rows: int, request: Bytes
    ) -> tuple[NDArray[np.uint8], bytes]:
        """(roots uint8[S, rows, 16] to keep, bytes for the holder) for the holder's request.

        TransferError for bytes that are not the request that is next, or not of so many rows and leaves, or without the
        proof that was agreed on.
        """
        sender = self._sender
        size = _size(leaves, rows)
        group = sender.position
        q = sender.answer(place, size.transfers, request, chosen=True).correlated()
        roots, corrections = _native.ot.tree_corrections(
            sender.session, place.domain, place.block, sender.delta, leaves, rows, q, self._threads
        )
        return roots, self._line.seal(CORRECTIONS, place, group, corrections)


def tree_depth(leaves: int) -> int:
    """Levels below the root of a tree: max(1, ceil(log2 leaves))."""
    return max(1, (leaves - 1).bit_length())


def _size(leaves: NDArray[np.int32], rows: int) -> _Size:
    return _Size(len(leaves), sum(tree_depth(int(some)) for some in leaves), rows)
