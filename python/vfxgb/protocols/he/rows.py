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
from vfxgb.errors import InvalidCiphertextError, MessageError
from vfxgb.protocols.he.messages import HeGradients
from vfxgb.protocols.he.params import HeParams
from vfxgb.rows.ciphers import CipherRound, Root, Share, share_of


@dataclass(frozen=True)
class Round:
    """Which round, rows and trees a round's ciphertexts belong to.

    `number` counts the rounds. `sampled` lists the training rows in use, int32 and ascending, or is None for all.
    `trees` are those of PassiveRole.begin_tree.
    """

    number: int
    context: PassiveContext
    params: HeParams
    plan: SlotPlan
    key: PublicKey
    sampled: NDArray[np.int32] | None
    trees: Sequence[PassiveTree]


class EncryptedRows:
    """Ciphertexts while they arrive: whose turn it is, and whether what came is that; then their sums."""

    def __init__(self, of: Round) -> None:
        self._of = of
        self._context = of.context
        self._key = of.key
        self._count = of.context.n_train if of.sampled is None else len(of.sampled)
        self._first = 0
        self._lane = 0
        # Sums of roots, which trees share.
        self._finished: dict[Share, _native.he_sums.CipherSums] = {}
        self._ciphers = of.context.rows.ciphers(
            CipherRound(
                party=of.context.party,
                round=of.number,
                key=of.key,
                lanes=len(of.plan.lanes),
                sampled=of.sampled,
                count=self._count,
                roots=self._roots() if of.params.stream else (),
                joint=of.params.joint_buckets,
                threads=of.context.threads,
            )
        )

    def _roots(self) -> list[Root]:
        """One per share, for the first tree that has it."""
        roots: dict[Share, Root] = {}
        for tree in self._of.trees:
            for lane in self._of.plan.lanes_of(tree.tree) if len(tree.features) else ():
                roots.setdefault(share_of(lane, tree.features), Root(lane, tree.features, tree.partition))
        return list(roots.values())

    @property
    def complete(self) -> bool:
        """Whether all ciphertexts have arrived."""
        return self._first == self._count

    def read(self, message: HeGradients) -> None:
        """Take in the next chunk. Raises MessageError, or InvalidCiphertextError for a value outside the group."""
        self._check(message)
        with self._context.timings.phase("read gradients"):
            self._ciphers.take(message.lane, message.first, message.ciphertexts)
        with self._context.timings.phase("sums"):
            self._ciphers.sum_roots(message.lane, message.first, message.count)
        self._lane += 1
        if self._lane == len(self._of.plan.lanes):
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
        self._context.timings.count("additions", sums.additions)
        self._context.timings.count("row additions", sums.rows_additions)
        return sums

    def _check(self, message: HeGradients) -> None:
        what = f"{self._context.party} reading gradients"
        count = min(self._of.params.chunk_rows, self._count - self._first)
        place = (message.round, message.lane, message.first, message.count)
        wanted = (self._of.number, self._lane, self._first, count)
        if place != wanted:
            raise MessageError(
                f"{what}: found round {place[0]}, lane {place[1]}, {place[3]} rows from {place[2]}, wanted round "
                f"{wanted[0]}, lane {wanted[1]}, {wanted[3]} rows from {wanted[2]}"
            )
        if message.key != self._key.fingerprint_bytes:
            raise MessageError(f"{what}: found key {message.key.hex()[:16]}, wanted {self._key.fingerprint[:16]}")
        size = count * self._key.wire_bytes
        if len(message.ciphertexts) != size:
            raise MessageError(f"{what}: found {len(message.ciphertexts)} bytes, wanted {size} for {count} ciphertexts")

    def totals(self, data: memoryview, count: int, what: str) -> _native.crypto.Ciphertexts:
        """Encrypted sums of `count` nodes, checked. Raises MessageError and InvalidCiphertextError."""
        native, threads = self._key.native, self._context.threads
        if len(data) != count * native.wire_bytes:
            raise MessageError(f"{what}: found {len(data)} bytes, wanted {count * native.wire_bytes} for {count} nodes")
        bad = native.check_wire(data, threads)
        if bad >= 0:
            raise InvalidCiphertextError(f"{what}: the ciphertext of node {bad} is outside the group of the key", bad)
        return native.from_wire(data, threads)

    def close(self) -> None:
        """The round is over, well or not."""
        self._ciphers.close()
