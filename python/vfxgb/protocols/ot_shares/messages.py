"""What `ot_shares` adds to the messages of training.

Blocks of transfers (`request`, `answer`) are sealed: they carry session, place and a digest (ot/wire.py). Pairs stand
without gaps, each in the bits of the largest sums (shares.py). A *column* is a feature of the passive party with at
least two bins; columns stand in an order that the passive party draws once and keeps to itself. A *slot* is a column or
several that share their trees of masks (slots.py). Within a column candidates stand in their true order: cuts ascending
and, where values are missing, descending with the missing ones on the left.
"""

from typing import ClassVar

import msgspec

from vfxgb.transport.messages import BULK_BYTES, TABLE_BYTES, Bulk, Message, Reveals


class OtStart(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once: `run`, a random number that makes the masks of this run its own.

    `stored`: the name of the set-up that the active party has kept, empty for none. `trees`: the most that the run will
    grow. `some_columns`: trees use some of the columns only, so the passive party names those of each (OtSlots).
    `transfer_bits`: those of the transfers, 1 to 8 (ot/transfer_bits.py). `greeting`: the first step of the base
    transfers, of use if a set-up is made.
    `lanes`: 32 where the sums of the run fit 32 bits each, so that two trees share masks, else 64 (rows/masks.py).
    """

    TAG: ClassVar[str] = "ot-start"
    MAX_BYTES: ClassVar[int] = 1 << 20

    run: int
    stored: bytes
    trees: int
    some_columns: bool
    transfer_bits: int
    greeting: Bulk
    lanes: int


class OtOffer(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, once: the second step of the base transfers, and what the trees of masks look like.

    `n_bins`: int32 per column; `missing`: one byte per column, 1 where values are missing. `stored`: the passive party
    has kept the set-up, too; then there are no base transfers, and `offer` is empty.
    """

    TAG: ClassVar[str] = "ot-offer"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "for every feature, in a secret order, how many bins it has and whether values are missing", "features"
    )

    offer: Bulk
    n_bins: Bulk
    missing: Bulk
    stored: bool

    def amount(self) -> int:
        """Count the features."""
        return len(self.n_bins) // 4


class OtReply(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once: the last step of the base transfers."""

    TAG: ClassVar[str] = "ot-reply"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("nothing: the choices in the base oblivious transfers are hidden")

    reply: Bulk


class OtRequest(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, one per block of rows: choices of transfers, hidden."""

    TAG: ClassVar[str] = "ot-request"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("nothing: the bins of the passive party's rows are hidden")

    block: int
    request: Bulk


class OtAnswer(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per block of rows: what makes of the transfers trees that lack one leaf each."""

    TAG: ClassVar[str] = "ot-answer"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "random masks of all bins except the row's own; they say nothing about the data"
    )

    block: int
    answer: Bulk


class OtSlots(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, once a round where columns are sampled by tree: a bit for each tree and column, set if so."""

    TAG: ClassVar[str] = "ot-slots"
    MAX_BYTES: ClassVar[int] = TABLE_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "which features, numbered in the secret order, a tree uses; sent only where columns are sampled by tree",
        "trees",
    )

    round: int
    trees: list[Bulk]

    def amount(self) -> int:
        """Count the trees."""
        return len(self.trees)


class OtGradients(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: masked pairs of the sampled rows `first` to `first + count - 1`, counted within the sample.

    `pairs`: slot by slot of the tree, row by row. `counter`: the number of the masks, never used twice.
    """

    TAG: ClassVar[str] = "ot-gradients"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
        "masked gradients: nothing, because the receiver lacks the masks of the rows' own bins", "masked pairs"
    )

    round: int
    tree: int
    counter: int
    first: int
    count: int
    n_slots: int
    pairs: Bulk

    def amount(self) -> int:
        """Count the masked pairs."""
        return self.count * self.n_slots


class TreeSums(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in an OtSums: shares of the left sums of built nodes times candidates, column by column.

    `withheld`: a bit for each, set where there is nothing to open, empty for none; allowed only where columns are
    sampled by level or node, or min_bucket_rows merges buckets. `constraint`: int8[n_candidates],
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
        "gradient sums left of each candidate split, feature by feature and with cuts in their true order; names of "
        "features and thresholds stay hidden",
        "sums",
    )

    round: int
    depth: int
    trees: list[TreeSums]

    def amount(self) -> int:
        """Count the sums of pairs."""
        return sum(tree.n_nodes * tree.n_candidates for tree in self.trees)
