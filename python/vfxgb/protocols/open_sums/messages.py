"""What protocols that open sums add to the messages of training.

Weights of candidates under split_rule='centred', and which sums are those of categories.
"""

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


class CandidateCategories(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, before the first sums of a round, where features are split by sets of categories.

    Per tree int64 numbers, as tree/category_cells.py packs them: which of the sums are left of which category.
    """

    TAG = "candidate-categories"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals(
        "which candidate splits belong to the same feature of categories, how many categories it has, and which sums "
        "are those of which of them; what the categories are stays hidden, and so do names of features",
        "categories",
    )

    round: int
    trees: list[Bulk]
    n_categories: int

    def amount(self) -> int:
        """Count the categories of all trees."""
        return self.n_categories
