"""The messages of protocols whose passive parties score."""

import msgspec

from vfxgb.transport.messages import TABLE_BYTES, Bulk, Message, Reveals


class ScoreRule(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once a round: how to score. `step`: the value of the integer 1."""

    TAG = "score-rule"
    REVEALS = Reveals("how splits are scored: regularisation, and the step of the gradients")

    round: int
    step: float
    reg_lambda: float
    reg_alpha: float
    min_child_weight: float
    max_delta_step: float
    first_order: bool


class TreeTotals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a ScoreLevel: gradient sums int64[m, 2] of its nodes; limits float64[m, 2] of weights, or empty.

    The sums of a node in which the receiver cannot take part are zeros.
    """

    tree: int
    totals: Bulk
    bounds: Bulk


class ScoreLevel(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, once a level."""

    TAG = "score-level"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("the gradient sums of each node that is still growing", "sums")

    round: int
    depth: int
    trees: list[TreeTotals]

    def amount(self) -> int:
        """Count the sums of pairs."""
        return sum(len(tree.totals) // 16 for tree in self.trees)


class TreeBest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a BestSplits: float64[m] best gains, 0 for none; int8[m] monotone directions, or empty."""

    tree: int
    gain: Bulk
    constraint: Bulk


class BestSplits(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the answer to a level."""

    TAG = "best-splits"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("the gain of the sender's best split in each node", "gains")

    round: int
    depth: int
    trees: list[TreeBest]

    def amount(self) -> int:
        """Count the gains."""
        return sum(len(tree.gain) // 8 for tree in self.trees)


SCORED_MESSAGES: tuple[type[Message], ...] = (ScoreRule, ScoreLevel, BestSplits)
