"""Trees for blocks of rows, base transfers included: the two sessions, one for each party.

The blocks are those of trees.py. The first request is larger by 4 KiB, which carry the seeds of all transfers. With
`checked` the holder proves that its requests belong to one choice in each transfer, for one group of transfers and 48
bytes a block: it cannot learn bits of Delta then by requests made up otherwise. Both parties must have said so.
"""

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import TransferError
from vfxgb.ot.base_ot import BaseReceiver, BaseSender
from vfxgb.ot.group import ModpGroup, modp_group
from vfxgb.ot.transfer_bits import DEFAULT_TRANSFER_BITS
from vfxgb.ot.transfers import Receiver, Sender, TransferSettings
from vfxgb.ot.trees import TreeHolder, TreeOwner
from vfxgb.ot.wire import Bytes, Place
from vfxgb.threads import resolve_threads


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
        self._base: BaseSender | None = BaseSender(
            bytes(greeting), group or modp_group(), resolve_threads(threads), f"base transfers with {peer}"
        )
        self.offer = self._base.offer
        self._session = b""
        self._trees: TreeHolder | None = None

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
        self._trees = TreeHolder(Receiver(self._peer, self._session, pairs, self._settings))

    def request(self, place: Place, leaves: NDArray[np.int32], holes: NDArray[np.uint16]) -> bytes:
        """Bytes for the owner: trees of leaves[s] leaves each, int32[S], with secret leaves uint16[S, rows].

        TransferError for a hole that is no leaf, for a place that was used before, and before `accept`.
        """
        if self._trees is None:
            raise _unfinished(f"requesting {place} of {self._peer}")
        return self._trees.request(place, leaves, holes)

    def finish(self, place: Place, corrections: Bytes) -> NDArray[np.uint8]:
        """The co-paths uint8[rows * levels, 16] of a block from the owner's answer, tree by tree as cpp/ot/ggm.h says.

        TransferError for bytes that are not the answer to this block; the block stays open then.
        """
        if self._trees is None:
            raise _unfinished(f"transfers with {self._peer}")
        return self._trees.finish(place, corrections)

    def __repr__(self) -> str:
        return f"HolderSession(peer={self._peer!r}, session {self._session[:4].hex()})"


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
        self._settings = TransferSettings(transfer_bits, checked, threads)
        self._base: BaseReceiver | None = BaseReceiver(group or modp_group(), resolve_threads(threads))
        self.greeting = self._base.greeting
        self.session = b""
        self.delta = b""
        self._trees: TreeOwner | None = None

    def reply(self, offer: Bytes) -> bytes:
        """Bytes that finish the base transfers at the holder. TransferError for an offer that is none, or a second."""
        step = f"base transfers with {self._peer}"
        if self._base is None:
            raise TransferError(f"{step}: found a second offer, wanted one; start a new session instead")
        reply = self._base.reply(bytes(offer), step)
        base, self._base = self._base, None
        self.session, self.delta = base.session, base.delta
        self._trees = TreeOwner(Sender(self._peer, base.session, base.delta, base.seeds, self._settings))
        return reply

    def answer(
        self, place: Place, leaves: NDArray[np.int32], rows: int, request: Bytes
    ) -> tuple[NDArray[np.uint8], bytes]:
        """(roots uint8[S, rows, 16] to keep, bytes for the holder) for the holder's request.

        TransferError for bytes that are not the request that is next, or not of so many rows and leaves, or without the
        proof that was agreed on.
        """
        if self._trees is None:
            raise _unfinished(f"transfers with {self._peer}: answering {place}")
        return self._trees.answer(place, leaves, rows, request)

    def __repr__(self) -> str:
        return f"OwnerSession(peer={self._peer!r}, session {self.session[:4].hex()})"


def _unfinished(step: str) -> TransferError:
    return TransferError(f"{step}: the base transfers are not finished; exchange greeting, offer and reply first")
