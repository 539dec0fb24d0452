"""What protocols that open sums add to the messages of training under split_rule='centred'."""

from vfxgb.transport.messages import TABLE_BYTES, Bulk, Message, Reveals


class CandidateWeights(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, before the first sums of a round: uint8 per candidate, tree by tree, in the order of the sums.

    They are those of tree/split_weights.py.
    """

    TAG = "candidate-weights"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals(
        "how evenly each candidate split divides all training rows, to a part in 8 to 32, and so roughly how many rows "
        "are in each bin of a feature; names of features and thresholds stay hidden",
        "weights",
    )

    round: int
    trees: list[Bulk]

    def amount(self) -> int:
        """Count the weights."""
        return sum(len(tree) for tree in self.trees)
