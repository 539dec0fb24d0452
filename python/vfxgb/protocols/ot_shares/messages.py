"""What `ot_shares` adds to the messages of training.

Blocks of transfers (`request`, `answer`) are sealed: they carry session, place and a digest (ot/wire.py). Pairs stand
without gaps, each in the bits of the largest sums (shares.py). A *slot* is a feature of the passive party with at least
two bins; slots stand in an order that the passive party draws once and keeps to itself.
"""

from typing import ClassVar

import msgspec

from vfxgb.transport.messages import BULK_BYTES, TABLE_BYTES, Bulk, Message, Reveals


class OtStart(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once: `run`, a random number that makes the masks of this run its own.

    `stored`: the name of the set-up that the active party has kept, empty for none.
    """

    TAG: ClassVar[str] = "ot-start"

    run: int
    stored: bytes


class OtOffer(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, once: the first step of the base transfers, and what the trees of masks look like.

    `n_bins`: int32 per slot; `missing`: one byte per slot, 1 where values are missing. `stored`: the passive party has
    kept the set-up, too.
    """

    TAG: ClassVar[str] = "ot-offer"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "of every feature, in a secret order, how many bins it has and whether values are missing", "features"
    )

    offer: Bulk
    n_bins: Bulk
    missing: Bulk
    stored: bool

    def amount(self) -> int:
        """Features."""
        return len(self.n_bins) // 4


class OtReply(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once: the second step of the base transfers."""

    TAG: ClassVar[str] = "ot-reply"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("hidden choices of the base transfers: nothing")

    reply: Bulk


class OtRequest(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, one per block of rows: choices of transfers, hidden."""

    TAG: ClassVar[str] = "ot-request"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("hidden bins of the passive party's rows: nothing")

    block: int
    request: Bulk


class OtAnswer(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per block of rows: what makes of the transfers trees that lack one leaf each."""

    TAG: ClassVar[str] = "ot-answer"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("random masks of all bins but the row's own: nothing about the data")

    block: int
    answer: Bulk


class TreeOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in an OtOrder. `slots`: one bit each, those the tree may use, empty for all; `requests`: by layer."""

    slots: Bulk
    requests: list[Bulk]


class OtOrder(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, once a round: the hidden order of each tree's candidates."""

    TAG: ClassVar[str] = "ot-order"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "a hidden order of candidates: nothing; where columns are sampled by tree, which features of the secret order "
        "a tree uses"
    )

    round: int
    trees: list[TreeOrder]


class OtOrderAnswer(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once a round: per tree and layer the answer to its request."""

    TAG: ClassVar[str] = "ot-order-answer"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("random masks of sums: nothing about the data")

    round: int
    trees: list[list[Bulk]]


class OtGradients(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: masked pairs of the sampled rows `first` to `first + count - 1`, counted within the sample.

    `pairs`: slot by slot of the tree, row by row. `counter`: the number of the masks, never used twice.
    """

    TAG: ClassVar[str] = "ot-gradients"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "masked gradients: nothing to who lacks the masks of the rows' own bins", "masked pairs"
    )

    round: int
    tree: int
    counter: int
    first: int
    count: int
    n_slots: int
    pairs: Bulk

    def amount(self) -> int:
        """Masked pairs."""
        return self.count * self.n_slots


class TreeShares(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in an OtShares: per layer of the order, masked pairs of built nodes times places."""

    tree: int
    layers: list[Bulk]


class OtShares(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per Level: its share of the sums left of each candidate, masked again."""

    TAG: ClassVar[str] = "ot-shares"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("sums of random masks under further ones: nothing about the data")

    round: int
    depth: int
    trees: list[TreeShares]


class TreeSums(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in an OtSums: pairs of built nodes times candidates that only the active party can open.

    `withheld`: a bit for each, set where there is nothing to open, empty for none. `constraint`: int8[n_candidates],
    monotone directions on the first level if asked.
    """

    n_nodes: int
    n_candidates: int
    sums: Bulk
    withheld: Bulk
    constraint: Bulk


class OtSums(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the answer to a Level."""

    TAG: ClassVar[str] = "ot-sums"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "gradient sums left of each candidate split, without names and thresholds; the order of cuts can be worked out",
        "sums",
    )

    round: int
    depth: int
    trees: list[TreeSums]

    def amount(self) -> int:
        """Sums of pairs."""
        return sum(tree.n_nodes * tree.n_candidates for tree in self.trees)
