"""The encrypted gradients of one round at a passive party, and sums of them.

Ciphertexts arrive in chunks of rows, lane after lane, and go straight into one native array per lane; the bytes of a
message are not kept. The sums of the roots, which every tree begins with, grow with them. Trees that use the same
features share their root's sums, since they have the same rows in it.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.codec.plan import SlotPlan
from vfxgb.crypto import PublicKey
from vfxgb.errors import InvalidCiphertextError, MessageError
from vfxgb.protocols.base import PassiveContext, PassiveTree
from vfxgb.protocols.he.messages import HeGradients
from vfxgb.protocols.he.params import HeParams


@dataclass(frozen=True)
class Round:
    """What the ciphertexts of a round are of.

    `sampled`: int32, ascending, the training rows in use, or None for all; trees as in PassiveRole.begin_tree.
    """

    context: PassiveContext
    params: HeParams
    plan: SlotPlan
    key: PublicKey
    sampled: NDArray[np.int32] | None
    trees: Sequence[PassiveTree]


class ArrivingRows:
    """Ciphertexts while they arrive: whose turn it is, and whether what came is that; not where they are kept."""

    def __init__(self, of: Round) -> None:
        self._context = of.context
        self._params = of.params
        self._plan = of.plan
        self._key = of.key
        self._trees = of.trees
        self._count = of.context.n_train if of.sampled is None else len(of.sampled)
        self._first = 0
        self._lane = 0

    @property
    def complete(self) -> bool:
        """Whether all ciphertexts have arrived."""
        return self._first == self._count

    def read(self, message: HeGradients, round_index: int) -> None:
        """Take in the next chunk. Raises MessageError, or InvalidCiphertextError for a value outside the group."""
        self._check(message, round_index)
        self._take(message)
        self._lane += 1
        if self._lane == len(self._plan.lanes):
            self._lane = 0
            self._first += message.count

    @abstractmethod
    def _take(self, message: HeGradients) -> None:
        """Keep the chunk, which is the next one."""

    @abstractmethod
    def sums(
        self, lane: int, tree: PassiveTree, nodes: NDArray[np.int32], totals: _native.crypto.Ciphertexts, depth: int
    ) -> _native.he_sums.CipherSums:
        """Encrypted bucket sums of a tree's nodes in one lane; counts the additions they took."""

    def _check(self, message: HeGradients, round_index: int) -> None:
        what = f"{self._context.party} reading gradients"
        count = min(self._params.chunk_rows, self._count - self._first)
        found = (message.round, message.lane, message.first, message.count)
        wanted = (round_index, self._lane, self._first, count)
        if found != wanted:
            raise MessageError(
                f"{what}: found round {found[0]}, lane {found[1]}, {found[3]} rows from {found[2]}, wanted round "
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


class EncryptedRows(ArrivingRows):
    """Ciphertexts in this process."""

    def __init__(self, of: Round) -> None:
        super().__init__(of)
        n_rows, n_train, sampled = of.context.bins.n_rows, of.context.n_train, of.sampled
        # Where a row's ciphertext stands: at its own number unless rows were left out.
        self._place = None if sampled is None else places(sampled, n_rows)
        if sampled is None and n_train < n_rows:
            sampled = np.arange(n_train, dtype=np.int32)
        self._lanes = [_native.crypto.CipherRows(of.key.native, self._count) for _ in of.plan.lanes]
        self._roots: dict[tuple[int, bytes], _native.he_sums.RootSums] = {}
        self._finished: dict[tuple[int, bytes], _native.he_sums.CipherSums] = {}
        if of.params.stream:
            self._begin_roots(sampled)

    def _begin_roots(self, sampled: NDArray[np.int32] | None) -> None:
        for tree in self._trees:
            for number in self._plan.lanes_of(tree.tree):
                share = (number, tree.features.tobytes())
                if share not in self._roots and len(tree.features):
                    self._roots[share] = _native.he_sums.RootSums(
                        self._lanes[number],
                        self._context.bins,
                        self._place,
                        sampled,
                        tree.features,
                        self._params.joint_buckets,
                    )

    def _take(self, message: HeGradients) -> None:
        context = self._context
        with context.timings.phase("read gradients"):
            bad = self._lanes[message.lane].fill(message.first, message.ciphertexts, context.threads)
        if bad >= 0:
            raise bad_ciphertext(context.party, message.round, message.lane, message.first + bad)
        with context.timings.phase("sums"):
            for (lane, _), root in self._roots.items():
                if lane == message.lane:
                    root.add(message.first, message.count, context.threads)

    def sums(
        self, lane: int, tree: PassiveTree, nodes: NDArray[np.int32], totals: _native.crypto.Ciphertexts, depth: int
    ) -> _native.he_sums.CipherSums:
        """Encrypted bucket sums of a tree's nodes in one lane; counts the additions they took."""
        share = (lane, tree.features.tobytes())
        if depth > 0:
            self._roots, self._finished = {}, {}
        elif share in self._finished:
            return self._finished[share]
        context = self._context
        if share in self._roots:
            sums = self._roots.pop(share).finish(totals, context.threads)
        else:
            sums = _native.he_sums.cipher_histogram(
                self._lanes[lane],
                self._place,
                context.bins,
                tree.in_memory,
                nodes,
                totals,
                tree.features,
                self._params.joint_buckets,
                context.threads,
            )
        if depth == 0:
            self._finished[share] = sums
        context.timings.count("additions", sums.additions)
        context.timings.count("row additions", sums.rows_additions)
        return sums


def places(rows: NDArray[np.int32], n_rows: int) -> NDArray[np.int32]:
    """The position of each sampled row among them, -1 for others: int32[n_rows]."""
    found = np.full(n_rows, -1, dtype=np.int32)
    found[rows] = np.arange(len(rows), dtype=np.int32)
    return found


def bad_ciphertext(party: str, round_index: int, lane: int, row: int) -> InvalidCiphertextError:
    """The error for a gradient that is none; `row` counts within the sample."""
    return InvalidCiphertextError(
        f"{party} reading gradients of round {round_index}, lane {lane}: the ciphertext of row {row} of the sample is "
        "outside the group of the key; its sender is broken or malicious",
        row,
    )
