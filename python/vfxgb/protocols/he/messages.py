"""What the encrypted protocols add to the messages of training.

Ciphertexts stand one after the other, each of the key's fixed length (PublicKey.wire_bytes): there is no exponent, no
precision and no count of rows on the wire (ERRATA E60; counts in encoding "shift" only, E27). `key` is the 32-byte
fingerprint of the public key. Lanes and slots: codec/plan.py.
"""

import msgspec

from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, Reveals


class HeKey(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once, in front of the first gradients: the public key as PublicKey.to_bytes writes it."""

    TAG = "he-key"
    REVEALS = Reveals("the active party's public key")

    public_key: Bulk


class HeGradients(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: one lane of the sampled rows `first` to `first + count - 1`, counted within the sample."""

    TAG = "he-gradients"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("encrypted gradients: nothing, because the receiver lacks the private key", "ciphertexts")

    round: int
    lane: int
    first: int
    count: int
    key: bytes
    ciphertexts: Bulk

    def amount(self) -> int:
        """Count the ciphertexts."""
        return self.count


class TreeTotals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a HeTotals: per lane that carries the tree's pair, one ciphertext for each node to build."""

    tree: int
    lanes: list[Bulk]


class HeTotals(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per Level: encrypted sums over all rows of each node, so that one bucket need not be made.

    `count`: ciphertexts in all.
    """

    TAG = "he-totals"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("encrypted sums of nodes: nothing, because the receiver lacks the private key", "ciphertexts")

    round: int
    depth: int
    key: bytes
    count: int
    trees: list[TreeTotals]

    def amount(self) -> int:
        """Count the ciphertexts."""
        return self.count


class TreeSums(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a HeSums: left sums of built nodes times candidates, packed and rerandomised.

    `n_pairs`: pairs that each sum shows, more than one when several outputs share a ciphertext. `lanes`: per lane that
    carries the tree's pair. `counts`: int64[built nodes, n_candidates], rows in each sum, in encoding "shift" only.
    `constraint`: int8[n_candidates], monotone directions on the first level if asked.
    """

    n_candidates: int
    n_nodes: int
    n_pairs: int
    lanes: list[Bulk]
    counts: Bulk
    constraint: Bulk


class HeSums(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the answer to a Level."""

    TAG = "he-sums"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "gradient sums left of each candidate split, for every output whose gradients share a ciphertext; names of "
        "features and thresholds stay hidden, but the order of cuts can be worked out",
        "sums",
    )

    round: int
    depth: int
    key: bytes
    trees: list[TreeSums]

    def amount(self) -> int:
        """Count the sums of pairs, those of other outputs in the same ciphertexts included."""
        return sum(tree.n_candidates * tree.n_nodes * tree.n_pairs for tree in self.trees)
