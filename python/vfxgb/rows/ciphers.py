"""The ciphertexts that a passive party's rows get in a round, lane by lane, and bucket sums of them.

Ciphertexts arrive in chunks of rows, lane after lane, and go straight to where the rows are; the bytes of a message are
not kept. The sums of the roots, which every tree begins with, grow with them. Trees that use the same features share
their root's sums, since they have the same rows in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto import PublicKey
from vfxgb.errors import InvalidCiphertextError
from vfxgb.rows.parts import Nodes, OwnPartition

# A lane and the bytes of an array of features: what trees share the sums of their roots by.
Share: TypeAlias = tuple[int, bytes]


def share_of(lane: int, features: Nodes) -> Share:
    """The share of a lane and features."""
    return lane, features.tobytes()


@dataclass(frozen=True)
class Root:
    """The root of a tree whose sums in one lane will be asked for; `features`: int32, ascending, at least one."""

    lane: int
    features: Nodes
    partition: OwnPartition


@dataclass(frozen=True)
class CipherRound:
    """Which round, rows and roots a round's ciphertexts belong to.

    `party` and `round` name them in errors. `lanes` is how many ciphertexts a row gets. `sampled` lists the training
    rows in use, int32 and ascending, or is None for all; there are `count` of them. `roots` are those to sum while
    ciphertexts arrive, one per share, and none where everything shall be there first. `joint` allows sums of several
    features to be made together. `threads` is how many threads this process may use.
    """

    party: str
    round: int
    key: PublicKey
    lanes: int
    sampled: Nodes | None
    count: int
    roots: Sequence[Root]
    joint: bool
    threads: int


class RowCiphers(Protocol):
    """The ciphertexts of one round, where the rows are."""

    def take(self, lane: int, first: int, data: memoryview) -> None:
        """Keep the next ciphertexts of a lane: those of the sample's rows from `first` on.

        Raises InvalidCiphertextError for a value outside the group, now or when sums are made.
        """

    def sum_roots(self, lane: int, first: int, count: int) -> None:
        """Go on with the sums of roots, as far as what was taken last allows."""

    def sums(
        self, lane: int, features: Nodes, partition: OwnPartition, nodes: Nodes, totals: _native.crypto.Ciphertexts
    ) -> _native.he_sums.CipherSums:
        """Encrypted bucket sums of nodes in one lane. `totals`: the encrypted sum of each node."""

    def end_roots(self) -> None:
        """Forget what was made for roots: no more of them will be asked for."""

    def close(self) -> None:
        """The round is over, well or not."""


class MemoryCiphers:
    """See RowCiphers: in this process. `counted`: int32, the rows of the sample, None where it is all of `bins`."""

    def __init__(self, of: CipherRound, bins: _native.gbdt.Bins, counted: Nodes | None) -> None:
        self._of = of
        self._bins = bins
        # Where a row's ciphertext stands: at its own number unless rows were left out.
        self._place = None if of.sampled is None else places(of.sampled, bins.n_rows)
        self._lanes = [_native.crypto.CipherRows(of.key.native, of.count) for _ in range(of.lanes)]
        self._roots = {
            share_of(root.lane, root.features): _native.he_sums.RootSums(
                self._lanes[root.lane], bins, self._place, counted, root.features, of.joint
            )
            for root in of.roots
        }

    def take(self, lane: int, first: int, data: memoryview) -> None:
        """See RowCiphers; raises at once."""
        bad = self._lanes[lane].fill(first, data, self._of.threads)
        if bad >= 0:
            raise bad_ciphertext(self._of.party, self._of.round, lane, first + bad)

    def sum_roots(self, lane: int, first: int, count: int) -> None:
        """See RowCiphers."""
        for (root_lane, _), root in self._roots.items():
            if root_lane == lane:
                root.add(first, count, self._of.threads)

    def sums(
        self, lane: int, features: Nodes, partition: OwnPartition, nodes: Nodes, totals: _native.crypto.Ciphertexts
    ) -> _native.he_sums.CipherSums:
        """See RowCiphers."""
        of = self._of
        root = self._roots.pop(share_of(lane, features), None)
        if root is not None:
            return root.finish(totals, of.threads)
        return _native.he_sums.cipher_histogram(
            self._lanes[lane], self._place, self._bins, partition.here, nodes, totals, features, of.joint, of.threads
        )

    def end_roots(self) -> None:
        """See RowCiphers."""
        self._roots = {}

    def close(self) -> None:
        """See RowCiphers: memory goes with the object."""


def places(rows: Nodes, n_rows: int) -> NDArray[np.int32]:
    """The position of each sampled row among them, -1 for others: int32[n_rows]."""
    position = np.full(n_rows, -1, dtype=np.int32)
    position[rows] = np.arange(len(rows), dtype=np.int32)
    return position


def bad_ciphertext(party: str, round_index: int, lane: int, row: int) -> InvalidCiphertextError:
    """The error for a gradient that is none; `row` counts within the sample."""
    return InvalidCiphertextError(
        f"{party} reading gradients of round {round_index}, lane {lane}: the ciphertext of row {row} of the sample is "
        "outside the group of the key; its sender is broken or malicious",
        row,
    )
