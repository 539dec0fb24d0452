"""Gradient sums over ciphertexts (cpp/he_sums)."""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from . import Buffer
from .crypto import CipherRows, Ciphertexts, PublicKey
from .gbdt import Bins, RowPartition

@final
class CipherSums:
    """Encrypted gradient sums per node, feature and bin (missing values included): what cipher_histogram makes.

    A bucket may have been left out: it is *absent*, and is the node's total minus the feature's other buckets. Sums of
    shards, made with cipher_histogram(absent=...), are joined, and given the totals of all rows then.
    """

    @staticmethod
    def join(parts: Sequence[CipherSums], threads: int = 1) -> CipherSums:
        """The sums over the rows of all parts, bucket by bucket.

        Key, number of nodes and features must be the same, and parts have no totals. A bucket that is absent in a part
        is absent in the result, and what others have of it is dropped. ValueError also if parts lack different buckets
        of a feature in a node. `additions` and `rows_additions` add up, with the additions made here.
        """
    def with_totals(self, totals: Ciphertexts) -> CipherSums:
        """These sums (a copy) with the encrypted sum of each node, from which absent buckets follow."""
    def to_bytes(self, threads: int = 1) -> bytes:
        """For a party's own machines, whatever their kernels; totals and the counts of additions included."""
    @staticmethod
    def from_bytes(key: PublicKey, data: Buffer, threads: int = 1) -> CipherSums:
        """What to_bytes made. ValueError for anything else; that ciphertexts are units is not checked."""

    @property
    def nodes(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def additions(self) -> int:
        """Homomorphic additions so far, exactly: rows, marginals, left sums; an inversion counts as its 3 products."""
    @property
    def rows_additions(self) -> int:
        """What one addition per row and feature would be: rows of the nodes times features."""
    def left_sums(
        self,
        has_missing: NDArray[np.bool_],
        order: NDArray[np.int64] | None = None,
        available: NDArray[np.bool_] | None = None,
        threads: int = 1,
    ) -> Ciphertexts:
        """Sums left of each candidate, nodes * c ciphertexts, node by node: left_sums() of the encrypted histogram.

        has_missing: of the features summed. Position j belongs to candidate order[j] (a permutation; None: j).
        available bool[nodes, c], by *candidate* and not by position: where False, the position holds an encryption of
        zero. Nothing here is randomised: rerandomize() before anything leaves. ValueError if a bucket is absent and
        there are no totals.
        """
    def buckets(self, threads: int = 1) -> Ciphertexts:
        """All bucket sums: per node and feature n_bins + 1 ciphertexts, the last of missing values. For tests.

        ValueError as left_sums.
        """

@final
class RootSums:
    """The encrypted sums of a tree's root, added up while the ciphertexts arrive.

    place[row] is the position in `rows` of the ciphertext of a sampled row (None: the row's own number); `sampled`
    ascending, None for all rows of `bins`; no two sampled rows may have one position.
    """

    def __init__(
        self,
        rows: CipherRows,
        bins: Bins,
        place: NDArray[np.int32] | None,
        sampled: NDArray[np.int32] | None,
        features: NDArray[np.int32],
        joint: bool,
    ) -> None: ...
    def add(self, first: int, count: int, threads: int = 1) -> None:
        """Adds ciphertexts first .. first + count - 1 of `rows`, which have been filled and not been added."""
    def finish(self, totals: Ciphertexts | None, threads: int = 1) -> CipherSums:
        """After every sampled row's ciphertext has been added, once. `totals`: see cipher_histogram; length 1."""

def cipher_histogram(
    rows: CipherRows,
    place: NDArray[np.int32] | None,
    bins: Bins,
    partition: RowPartition,
    nodes: NDArray[np.int32],
    totals: Ciphertexts | None,
    features: NDArray[np.int32],
    joint: bool,
    threads: int = 1,
    absent: NDArray[np.int32] | None = None,
) -> CipherSums:
    """Encrypted sums over the sampled rows of each node, for the features given (ascending ids).

    place[row] is the position in `rows` of the row's ciphertext (None: the row's own number). totals: the encrypted sum
    of each node; where it saves additions, a largest bucket is the total minus the others. None: every row is added.
    joint: sum into joint buckets of groups of features first where that takes fewer additions. `rows` must be full.

    absent, for shards, whose totals nobody has (totals is None then): of each feature given, the bin whose bucket need
    not be summed (n_bins for missing values, -1 for none), the same for all shards. Where it saves additions, a group
    of features leaves out the rows that lie in that bin of each of them, and these buckets are absent in the node.
    """

def pack_sums(x: Ciphertexts, per: int, shift_bits: int, threads: int = 1) -> Ciphertexts:
    """Ciphertext i holds the sum over j < per of x[i * per + j] << (shift_bits * j); the last may hold fewer."""
