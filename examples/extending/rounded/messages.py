"""What `rounded` adds to the messages of training. Each says what its receiver learns, and how much of it."""

import msgspec

from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, Reveals


class RoundedGradients(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per output and round: (g, h) of the sampled rows, ascending, int[rows, 2]."""

    TAG = "rounded-gradients"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("the rounded gradients of single rows, and with them the labels", "rows")

    round: int
    tree: int
    rows: int
    pairs: Bulk

    def amount(self) -> int:
        """Rows."""
        return self.rows


class TreeSums(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Left sums of one tree: int64[built nodes, n_candidates, 2]; on the first level also int8 directions if asked."""

    n_candidates: int
    sums: Bulk
    directions: Bulk


class RoundedSums(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the answer to a level."""

    TAG = "rounded-sums"
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
        """Sums of pairs, 16 bytes each."""
        return sum(len(tree.sums) // 16 for tree in self.trees)
