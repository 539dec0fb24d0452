"""The encrypted gradients of one round at a passive party: what may arrive next, and sums of what has.

Where they are kept and summed is the RowStore's affair (rows/ciphers.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.plan import SlotPlan
from vfxgb.contract import PassiveContext, PassiveTree
from vfxgb.crypto import PublicKey
from vfxgb.errors import InvalidCiphertextError
from vfxgb.protocols.he.messages import HeGradients
from vfxgb.protocols.he.params import HeParams
from vfxgb.protocols.receive import receive, require
from vfxgb.rows.ciphers import CipherRound, Root, Share, share_of


@dataclass
class EncryptedRows:
    """Ciphertexts while they arrive: whose turn it is, and whether what came is that; then their sums.

    `round` is the number of the round. `sampled` lists the training rows in use, int32 and ascending, or is None for
    all. `trees` are those of PassiveRole.begin_tree.
    """

    round: int
    context: PassiveContext
    params: HeParams
    plan: SlotPlan
    key: PublicKey
    sampled: NDArray[np.int32] | None
    trees: Sequence[PassiveTree]

    def __post_init__(self) -> None:
        self._count = self.context.n_train if self.sampled is None else len(self.sampled)
        self._first = 0
        self._lane = 0
        # Sums of roots, which trees share.
        self._finished: dict[Share, _native.he_sums.CipherSums] = {}
        self._ciphers = self.context.rows.ciphers(
            CipherRound(
                party=self.context.party,
                round=self.round,
                key=self.key,
                lanes=len(self.plan.lanes),
                sampled=self.sampled,
                count=self._count,
                roots=self._roots() if self.params.stream else (),
                joint=self.params.joint_buckets,
                threads=self.context.threads,
            )
        )

    def _roots(self) -> list[Root]:
        """One per share, for the first tree that has it."""
        roots: dict[Share, Root] = {}
        for tree in self.trees:
            for lane in self.plan.lanes_of(tree.tree) if len(tree.features) else ():
                roots.setdefault(share_of(lane, tree.features), Root(lane, tree.features, tree.partition))
        return list(roots.values())

    @property
    def complete(self) -> bool:
        """Whether all ciphertexts have arrived."""
        return self._first == self._count

    def receive(self) -> None:
        """Take in the next chunk. Raises MessageError, or InvalidCiphertextError for a value outside the group."""
        context, what = self.context, f"{self.context.party} reading gradients"
        count = min(self.params.chunk_rows, self._count - self._first)
        place = {"round": self.round, "lane": self._lane, "first": self._first, "count": count}
        key = self.key.fingerprint_bytes
        message = receive(context, context.channel, HeGradients, what, **place, key=key)
        require(what, f"{len(message.ciphertexts)} bytes", f"{count * self.key.wire_bytes} bytes")
        with context.timings.phase("read gradients"):
            self._ciphers.take(message.lane, message.first, message.ciphertexts)
        with context.timings.phase("sums"):
            self._ciphers.sum_roots(message.lane, message.first, message.count)
        self._lane += 1
        if self._lane == len(self.plan.lanes):
            self._lane = 0
            self._first += message.count

    def sums(
        self, lane: int, tree: PassiveTree, nodes: NDArray[np.int32], totals: _native.crypto.Ciphertexts, depth: int
    ) -> _native.he_sums.CipherSums:
        """Encrypted bucket sums of a tree's nodes in one lane; counts the additions they took."""
        share = share_of(lane, tree.features)
        if depth > 0:
            self._finished = {}
            self._ciphers.end_roots()
        elif share in self._finished:
            return self._finished[share]
        sums = self._ciphers.sums(lane, tree.features, tree.partition, nodes, totals)
        if depth == 0:
            self._finished[share] = sums
        self.context.timings.count("additions", sums.additions)
        self.context.timings.count("row additions", sums.rows_additions)
        return sums

    def totals(self, data: memoryview, count: int, what: str) -> _native.crypto.Ciphertexts:
        """Encrypted sums of `count` nodes, checked. Raises MessageError and InvalidCiphertextError."""
        native, threads = self.key.native, self.context.threads
        require(what, f"{len(data)} bytes", f"{count * native.wire_bytes} bytes")
        bad = native.check_wire(data, threads)
        if bad >= 0:
            raise InvalidCiphertextError(f"{what}: the ciphertext of node {bad} is outside the group of the key", bad)
        return native.from_wire(data, threads)

    def close(self) -> None:
        """The round is over, well or not."""
        self._ciphers.close()
