"""Trees for blocks of rows, from transfers by extension: the two sessions, one for each party.

The *owner* of the trees (sender of the transfers) can compute every leaf, the *holder* (their receiver) all but one
leaf of each tree, its hole, which the owner does not learn. A block is one request of the holder and one answer:

    request       16 bytes a level and tree, rounded up to groups of 128 transfers
    corrections   16 bytes a level but the first

With `checked` the holder proves that its request belongs to one choice in each transfer, for 4 KiB a block: it cannot
learn bits of Delta then by requests made up otherwise. Both parties must have said so.

Blocks are made and answered in one order, and several requests may be on their way. Nothing of a finished block stays
here: what the parties keep (roots, or co-paths) is returned, and memory is that of the blocks on their way.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.errors import TransferError
from vfxgb.ot.base_ot import BaseReceiver, BaseSender
from vfxgb.ot.consistency import MASK_GROUPS, PROOF_BYTES, holds, prove
from vfxgb.ot.group import ModpGroup, modp_group
from vfxgb.ot.wire import CORRECTIONS, REQUEST, Bytes, Place, seal, unseal
from vfxgb.threads import resolve_threads

BLOCK_BYTES = 16
GROUP = 128


@dataclass(frozen=True)
class _Size:
    """Transfers of a block: `levels` per row, and those of a proof."""

    trees: int
    levels: int
    rows: int
    checked: bool

    @property
    def transfers(self) -> int:
        return self.rows * self.levels

    @property
    def groups(self) -> int:
        return -(-self.transfers // GROUP) + (MASK_GROUPS if self.checked else 0)

    @property
    def u_bytes(self) -> int:
        return self.groups * GROUP * BLOCK_BYTES

    @property
    def request_bytes(self) -> int:
        return self.u_bytes + (PROOF_BYTES if self.checked else 0)

    @property
    def corrections(self) -> int:
        return self.rows * (self.levels - self.trees)


@dataclass(frozen=True)
class _Pending:
    size: _Size
    group: int
    leaves: NDArray[np.int32]
    holes: NDArray[np.uint16]
    t: NDArray[np.uint8]


class HolderSession:
    """The party with secret leaves. Send `offer`, give the reply to `accept`, then request blocks.

    peer: the other party's name, for messages. Not safe to share among threads.
    """

    def __init__(
        self, peer: str, group: ModpGroup | None = None, threads: int | None = None, checked: bool = False
    ) -> None:
        self._peer = peer
        self._checked = checked
        self._threads = resolve_threads(threads)
        self._base: BaseSender | None = BaseSender(group or modp_group(), self._threads)
        self.offer = self._base.offer
        self._session = b""
        self._next_group = 0
        self._places: set[Place] = set()
        self._pending: dict[Place, _Pending] = {}

    @property
    def session(self) -> bytes:
        """The session's name, 32 bytes, known to both parties; empty before `accept`."""
        return self._session

    def accept(self, reply: Bytes) -> None:
        """Finish the base transfers with the owner's reply. TransferError for one that is none, or a second one."""
        step = f"base transfers with {self._peer}"
        if self._base is None:
            raise TransferError(f"{step}: found a second reply, wanted one; start a new session instead")
        self._session, pairs = self._base.finish(bytes(reply), step)
        self._base = None
        self._receiver = _native.ot.OtReceiver(pairs)

    def request(self, place: Place, leaves: NDArray[np.int32], holes: NDArray[np.uint16]) -> bytes:
        """Bytes for the owner: trees of leaves[s] leaves each, int32[S], with secret leaves uint16[S, rows].

        TransferError for a hole that is no leaf, for a place that was used before, and before `accept`.
        """
        step = f"requesting {place} of {self._peer}"
        _claim(place, self._places, self._session, step)
        for tree, row in np.argwhere(holes >= leaves[:, np.newaxis])[:1]:
            raise TransferError(
                f"{step}: found leaf {holes[tree, row]} in row {row} of tree {tree}, wanted one below {leaves[tree]}; "
                "every value must have a bin of the feature it was announced with"
            )
        size = _size(leaves, holes.shape[1], self._checked)
        choices = _native.ot.tree_choices(leaves, holes)
        if self._checked:
            choices += _native.rand.random_bytes(MASK_GROUPS * GROUP // 8)
        u, t = self._receiver.extend(self._next_group, choices, self._threads)
        if self._checked:
            u += prove(self._session, u, choices, t, self._threads)
        self._pending[place] = _Pending(size, self._next_group, leaves, holes, t[: size.transfers])
        self._places.add(place)
        self._next_group += size.groups
        return seal(REQUEST, self._session, place, self._pending[place].group, u)

    def finish(self, place: Place, corrections: Bytes) -> NDArray[np.uint8]:
        """The co-paths uint8[rows * levels, 16] of a block from the owner's answer, tree by tree as cpp/ot/ggm.h says.

        TransferError for bytes that are not the answer to this block; the block stays open then.
        """
        step = f"transfers with {self._peer}"
        pending = self._pending.get(place)
        if pending is None:
            raise TransferError(f"{step}: found corrections for {place}, which is not open; blocks are answered once")
        wanted = pending.size.corrections * BLOCK_BYTES
        payload = unseal(corrections, CORRECTIONS, self._session, place, pending.group, wanted, step)
        copaths = _native.ot.tree_copaths(
            self._session,
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
        return f"HolderSession(peer={self._peer!r}, groups={self._next_group})"


class OwnerSession:
    """The party that will know every leaf. Made from the holder's offer; send `reply`, then answer its requests.

    session: its name, 32 bytes. delta: 16 secret bytes; with the roots of a block, its session and its place they give
    all leaves. peer: the other party's name, for messages. Not safe to share among threads.
    """

    def __init__(
        self,
        peer: str,
        offer: Bytes,
        group: ModpGroup | None = None,
        threads: int | None = None,
        checked: bool = False,
    ) -> None:
        self._peer = peer
        self._checked = checked
        self._threads = resolve_threads(threads)
        base = BaseReceiver(bytes(offer), group or modp_group(), self._threads, f"base transfers with {peer}")
        self.reply = base.reply
        self.session = base.session
        self.delta = base.delta
        self._sender = _native.ot.OtSender(base.delta, base.seeds)
        self._next_group = 0
        self._places: set[Place] = set()
        self._broken = False

    def answer(
        self, place: Place, leaves: NDArray[np.int32], rows: int, request: Bytes
    ) -> tuple[NDArray[np.uint8], bytes]:
        """(roots uint8[S, rows, 16] to keep, bytes for the holder) for the holder's request.

        TransferError for bytes that are not the request that is next, or not of so many rows and leaves, or without the
        proof that was agreed on.
        """
        step = f"transfers with {self._peer}"
        if self._broken:
            raise TransferError(f"{step}: an earlier request did not pass its check; start a new session")
        _claim(place, self._places, self.session, f"{step}: answering {place}")
        size = _size(leaves, rows, self._checked)
        payload = unseal(request, REQUEST, self.session, place, self._next_group, size.request_bytes, step)
        u, proof = payload[: size.u_bytes], payload[size.u_bytes :]
        q = self._sender.extend(self._next_group, u, self._threads)
        if self._checked and not holds(self.session, u, q, self.delta, bytes(proof), self._threads):
            self._broken = True  # every further try would tell the other party something about Delta
            raise TransferError(
                f"{step}: the request for {place} does not pass its check, wanted one choice in each transfer; the "
                "other party deviates from the protocol, and the session is over"
            )
        roots, corrections = _native.ot.tree_corrections(
            self.session, place.domain, place.block, self.delta, leaves, rows, q[: size.transfers], self._threads
        )
        answer = seal(CORRECTIONS, self.session, place, self._next_group, corrections)
        self._places.add(place)
        self._next_group += size.groups
        return roots, answer

    def __repr__(self) -> str:
        return f"OwnerSession(peer={self._peer!r}, groups={self._next_group})"


def tree_depth(leaves: int) -> int:
    """Levels below the root of a tree: max(1, ceil(log2 leaves))."""
    return max(1, (leaves - 1).bit_length())


def _size(leaves: NDArray[np.int32], rows: int, checked: bool) -> _Size:
    return _Size(len(leaves), sum(tree_depth(int(some)) for some in leaves), rows, checked)


def _claim(place: Place, used: set[Place], session: bytes, step: str) -> None:
    if not session:
        raise TransferError(f"{step}: the base transfers are not finished; give the owner's reply to accept() first")
    if place in used:
        raise TransferError(f"{step}: found a place that was used before, wanted a new one; count blocks up")
