"""The messages of joint prediction."""

import numpy as np

from vfxgb.routing.messages import ROUTING_MESSAGES
from vfxgb.transport.messages import BULK_BYTES, NOTHING, TABLE_BYTES, Bulk, Message, Reveals


class OpenPrediction(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, first: which model and which rows.

    `missing`: answers say where a value is missing, too; the receiver compares it with its own share of the model.
    `hidden`: which splits a row reaches stays hidden; HiddenGroups follows.
    """

    TAG = "open-prediction"
    REVEALS = Reveals("how many rows are scored, and by which model", "rows")

    run: str
    model: str
    n_rows: int
    rows_digest: bytes
    missing: bool
    hidden: bool = False

    def amount(self) -> int:
        """Count the rows."""
        return self.n_rows


class HiddenGroups(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: what a hidden prediction will ask, which is what the receiver's own share says, too.

    `groups`: int32[n_groups, 3], depth, tree and number of entries of each group (hidden_shape.py) in the first
    `n_trees` trees.
    """

    TAG = "hidden-groups"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("how many of the model's trees are used")

    n_trees: int
    n_groups: int
    groups: Bulk


class PredictionReady(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: same model, same rows."""

    TAG = "prediction-ready"
    REVEALS = NOTHING


class Route(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, one per level and block of rows: q questions, each a record and the rows that stand before it.

    The block has `count` rows from `first` on. `records`, int32[q], are those asked about, and `sizes`, int32[q], count
    the rows of each question. `rows` holds for each question in turn nothing if its rows are the whole block, else
    whichever is shorter: one bit per row of the block, on whole bytes, or the rows' numbers within the block,
    ascending, int32.
    """

    TAG = "route"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("which rows reach each of the receiver's splits", "row memberships")

    depth: int
    first: int
    count: int
    records: Bulk
    sizes: Bulk
    rows: Bulk

    def amount(self) -> int:
        """Count the rows of all questions. Sizes that are none, which the receiver refuses, count as 0."""
        whole = self.sizes[: len(self.sizes) // 4 * 4]
        return int(np.maximum(np.frombuffer(whole, dtype="<i4"), 0).sum(dtype=np.int64))


class Routed(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: per question one bit for each row, `n_answers` in all: goes left.

    Where the model sends rows with missing values both ways, one more bit for each: is missing.
    """

    TAG = "routed"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "which rows go left at the sender's splits: one comparison per row; its feature and threshold stay hidden",
        "comparisons",
    )

    depth: int
    n_answers: int
    left: Bulk
    missing: Bulk

    def amount(self) -> int:
        """Count the comparisons: the rows of all questions together."""
        return self.n_answers


class Leaned(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, after Routed where the model weights both ways by what each party observes of a row.

    For each of `n_values` missing values of that answer, in its order, one step of the lean (model/leanings.py), int8
    in `leans`.
    """

    TAG = "leaned"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "which of 16 classes a row is in by the sender's guess of its missing value, a function of the row's other "
        "values at the sender, as far as classes lean differently",
        "missing values",
    )

    depth: int
    n_values: int
    leans: Bulk

    def amount(self) -> int:
        """Count the missing values."""
        return self.n_values


class ClosePrediction(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, last."""

    TAG = "close-prediction"
    REVEALS = NOTHING


PREDICTION_MESSAGES: tuple[type[Message], ...] = (
    OpenPrediction,
    PredictionReady,
    Route,
    Routed,
    Leaned,
    ClosePrediction,
)
# Of hidden predictions: nothing that names a split or a row may pass.
HIDDEN_PREDICTION_MESSAGES: tuple[type[Message], ...] = (
    OpenPrediction,
    HiddenGroups,
    PredictionReady,
    *ROUTING_MESSAGES,
    ClosePrediction,
)
