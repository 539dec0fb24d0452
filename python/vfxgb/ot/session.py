"""Trees for blocks of rows, from transfers by extension: the two sessions, one for each party.

The *owner* of the trees (sender of the transfers) can compute every leaf, the *holder* (their receiver) all but one
leaf of each tree, its hole, which the owner does not learn. A block is one request of the holder and one answer:

    request       ceil(128 / transfer_bits) bits a level and tree, rounded up to groups of 128 transfers
    corrections   16 bytes a level but the first

The first request is larger by 4 KiB, which carry the seeds of all transfers. With `checked` the holder proves that its
requests belong to one choice in each transfer, for one group of transfers and 48 bytes a block: it cannot learn bits of
Delta then by requests made up otherwise. Both parties must have said so.

Blocks are made and answered in one order, and several requests may be on their way. Nothing of a finished block stays
here: what the parties keep (roots, or co-paths) is returned, and memory is that of the blocks on their way.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot.base_ot import BaseReceiver, BaseSender
from vfxgb.ot.group import ModpGroup, modp_group
from vfxgb.ot.transfer_bits import DEFAULT_TRANSFER_BITS
from vfxgb.ot.transfers import BLOCK_BYTES, Receiver, Sender, TransferSettings
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


class HolderSession:
    """The party with secret leaves. Made from the owner's greeting; send `offer`, give the reply to `accept`.

    Then it requests blocks. peer: the other party's name, for messages. Not safe to share among threads.
    """

    def __init__(
        self,
        peer: str,
        greeting: Bytes,
        group: ModpGroup | None = None,
        threads: int | None = None,
        checked: bool = False,
        transfer_bits: int = DEFAULT_TRANSFER_BITS,
    ) -> None:
        self._peer = peer
        self._settings = TransferSettings(transfer_bits, checked, threads)
        self._threads = resolve_threads(threads)
        self._base: BaseSender | None = BaseSender(
            bytes(greeting), group or modp_group(), self._threads, f"base transfers with {peer}"
        )
        self.offer = self._base.offer
        self._receiver: Receiver | None = None
        self._pending: dict[Place, _Pending] = {}

    @property
    def session(self) -> bytes:
        """The session's name, 32 bytes, known to both parties; empty before `accept`."""
        return b"" if self._receiver is None else self._receiver.session

    def accept(self, reply: Bytes) -> None:
        """Finish the base transfers with the owner's reply. TransferError for one that is none, or a second one."""
        step = f"base transfers with {self._peer}"
        if self._base is None:
            raise TransferError(f"{step}: found a second reply, wanted one; start a new session instead")
        session, pairs = self._base.finish(bytes(reply), step)
        self._base = None
        self._receiver = Receiver(self._peer, session, pairs, self._settings)

    def request(self, place: Place, leaves: NDArray[np.int32], holes: NDArray[np.uint16]) -> bytes:
        """Bytes for the owner: trees of leaves[s] leaves each, int32[S], with secret leaves uint16[S, rows].

        TransferError for a hole that is no leaf, for a place that was used before, and before `accept`.
        """
        step = f"requesting {place} of {self._peer}"
        if self._receiver is None:
            raise _unfinished(step)
        for tree, row in np.argwhere(holes >= leaves[:, np.newaxis])[:1]:
            raise TransferError(
                f"{step}: found leaf {holes[tree, row]} in row {row} of tree {tree}, wanted one below {leaves[tree]}; "
                "every value must have a bin of the feature it was announced with"
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
        step = f"transfers with {self._peer}"
        pending = self._pending.get(place)
        if pending is None:
            raise TransferError(f"{step}: found corrections for {place}, which is not open; blocks are answered once")
        line = Line(self.session, self._settings.transfer_bits)
        payload = line.unseal(corrections, CORRECTIONS, place, pending.group, pending.size.correction_bytes, step)
        copaths = _native.ot.tree_copaths(
            self.session,
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

    def __repr__(self) -> str:
        return f"HolderSession(peer={self._peer!r}, open={len(self._pending)})"


class OwnerSession:
    """The party that will know every leaf. Send `greeting`, give the holder's offer to `reply`, send what that returns.

    Then it answers requests. session: its name, 32 bytes, empty before `reply`. delta: 16 secret bytes; with the roots
    of a block, its session and its place they give all leaves. peer: the other party's name, for messages. Not safe to
    share among threads.
    """

    def __init__(
        self,
        peer: str,
        group: ModpGroup | None = None,
        threads: int | None = None,
        checked: bool = False,
        transfer_bits: int = DEFAULT_TRANSFER_BITS,
    ) -> None:
        self._peer = peer
        self._threads = resolve_threads(threads)
        self._settings = TransferSettings(transfer_bits, checked, threads)
        self._base: BaseReceiver | None = BaseReceiver(group or modp_group(), self._threads)
        self.greeting = self._base.greeting
        self.session = b""
        self.delta = b""
        self._sender: Sender | None = None

    def reply(self, offer: Bytes) -> bytes:
        """Bytes that finish the base transfers at the holder. TransferError for an offer that is none, or a second."""
        step = f"base transfers with {self._peer}"
        if self._base is None:
            raise TransferError(f"{step}: found a second offer, wanted one; start a new session instead")
        reply = self._base.reply(bytes(offer), step)
        base, self._base = self._base, None
        self.session, self.delta = base.session, base.delta
        self._sender = Sender(self._peer, base.session, base.delta, base.seeds, self._settings)
        return reply

    def answer(
        self, place: Place, leaves: NDArray[np.int32], rows: int, request: Bytes
    ) -> tuple[NDArray[np.uint8], bytes]:
        """(roots uint8[S, rows, 16] to keep, bytes for the holder) for the holder's request.

        TransferError for bytes that are not the request that is next, or not of so many rows and leaves, or without the
        proof that was agreed on.
        """
        if self._sender is None:
            raise _unfinished(f"transfers with {self._peer}: answering {place}")
        size = _size(leaves, rows)
        group = self._sender.position
        q = self._sender.answer(place, size.transfers, request, chosen=True).correlated()
        roots, corrections = _native.ot.tree_corrections(
            self.session, place.domain, place.block, self.delta, leaves, rows, q, self._threads
        )
        line = Line(self.session, self._settings.transfer_bits)
        return roots, line.seal(CORRECTIONS, place, group, corrections)

    def __repr__(self) -> str:
        return f"OwnerSession(peer={self._peer!r}, session {self.session[:4].hex()})"


def tree_depth(leaves: int) -> int:
    """Levels below the root of a tree: max(1, ceil(log2 leaves))."""
    return max(1, (leaves - 1).bit_length())


def _size(leaves: NDArray[np.int32], rows: int) -> _Size:
    return _Size(len(leaves), sum(tree_depth(int(some)) for some in leaves), rows)


def _unfinished(step: str) -> TransferError:
    return TransferError(f"{step}: the base transfers are not finished; exchange greeting, offer and reply first")
