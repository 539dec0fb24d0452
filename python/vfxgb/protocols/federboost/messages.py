"""What `federboost` adds to the messages of training."""

import msgspec

from vfxgb.transport.messages import BULK_BYTES, TABLE_BYTES, Bulk, Message, Reveals


class Buckets(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, once: the randomised buckets of one feature, uint16[n_train]; missing is bucket n_bins.

    Every feature has the bucket for missing values, so that nothing shows whether any value is missing.
    `n_features` is how many features the sender has; they come in order. `constraint` is the monotone direction, 0
    without constraints.
    """

    TAG = "federboost-buckets"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "the bucket of each row's value in a feature, randomised: the value is hidden up to the epsilon stated",
        "values",
    )

    n_features: int
    feature: int
    n_bins: int
    constraint: int
    buckets: Bulk

    def amount(self) -> int:
        """Count the values."""
        return len(self.buckets) // 2


class TreeUsable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a Usable: one bit per open node and feature of the sender; empty for all."""

    tree: int
    features: Bulk


class Usable(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, once a level: the features that column sampling leaves."""

    TAG = "federboost-usable"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("which of the sender's features a node may use; features have numbers, not names")

    round: int
    depth: int
    trees: list[TreeUsable]
