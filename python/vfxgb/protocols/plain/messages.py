"""What `plain` adds to the messages of training."""

import msgspec

from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, Reveals


class PlainGradients(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per output and round: (g, h) of the sampled rows, ascending, int64[rows, 2]."""

    TAG = "plain-gradients"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("the gradients of single rows, and with them the labels", "gradient pairs")

    round: int
    tree: int
    pairs: Bulk

    def amount(self) -> int:
        """Count the pairs."""
        return len(self.pairs) // 16


class PlainSlot(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, where nodes are hidden, one per slot: (g, h) of all training rows, 0 outside of the node.

    With score_bits the pairs are (integer, 0) in place of (g, h).
    """

    TAG = "plain-slot"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "the gradients of the rows of an open node, and with them these rows and their labels", "gradient pairs"
    )

    round: int
    depth: int
    tree: int
    slot: int
    pairs: Bulk

    def amount(self) -> int:
        """Count the pairs."""
        return len(self.pairs) // 16


class TreeSums(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Left sums of one tree: int64[built nodes, n_candidates, 2]; on the first level also int8 directions if asked.

    Where nodes are hidden, slots take the place of built nodes.
    """

    n_candidates: int
    sums: Bulk
    constraint: Bulk


class PlainSums(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the answer to a Level."""

    TAG = "plain-sums"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "gradient sums left of each candidate split; names of features and thresholds stay hidden, but the order of "
        "cuts can be worked out",
        "sums",
    )

    round: int
    depth: int
    trees: list[TreeSums]

    def amount(self) -> int:
        """Count the sums of pairs."""
        return sum(len(tree.sums) // 16 for tree in self.trees)


class TreeScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scores of one tree, int64[slots, n_candidates]; on the first level also int8 directions if asked."""

    tree: int
    n_candidates: int
    scores: Bulk
    constraint: Bulk


class PlainScores(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, where nodes are hidden and scores are sums of integers: the answer to a level's slots.

    Candidates stand in the order in which they meet.
    """

    TAG = "plain-scores"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "the score of each candidate split, a weighted sum of the integers of the rows left of it; names of features "
        "and thresholds stay hidden",
        "scores",
    )

    round: int
    depth: int
    trees: list[TreeScores]

    def amount(self) -> int:
        """Count the scores."""
        return sum(len(tree.scores) // 8 for tree in self.trees)


class TreeLeft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a PlainLeft: per slot the token taken, and for every row whether it goes left (RowStore.row_bits)."""

    tree: int
    tokens: Bulk
    bits: Bulk


class PlainLeft(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, where nodes are hidden: the answer to WonSlots."""

    TAG = "plain-left"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "for every row, also outside of the node, whether it goes left at the sender's splits; feature and threshold "
        "stay hidden",
        "row memberships",
    )

    round: int
    depth: int
    trees: list[TreeLeft]

    def amount(self) -> int:
        """Count all rows once for each split; up to 7 more per split."""
        return sum(8 * len(tree.bits) for tree in self.trees)
