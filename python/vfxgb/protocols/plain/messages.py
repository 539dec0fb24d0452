"""What `plain` adds to the messages of training."""

from typing import ClassVar

import msgspec

from vfxgb.transport.messages import BULK_BYTES, Bulk, Message, Reveals


class PlainGradients(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per output and round: (g, h) of the sampled rows, ascending, int64[rows, 2]."""

    TAG: ClassVar[str] = "plain-gradients"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals("the gradients of single rows, and with them the labels", "gradient pairs")

    round: int
    tree: int
    pairs: Bulk

    def amount(self) -> int:
        """Count the pairs."""
        return len(self.pairs) // 16


class TreeSums(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Left sums of one tree: int64[built nodes, n_candidates, 2]; on the first level also int8 directions if asked."""

    n_candidates: int
    sums: Bulk
    constraint: Bulk


class PlainSums(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the answer to a Level."""

    TAG: ClassVar[str] = "plain-sums"
    MAX_BYTES: ClassVar[int] = BULK_BYTES
    REVEALS: ClassVar[Reveals] = Reveals(
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
