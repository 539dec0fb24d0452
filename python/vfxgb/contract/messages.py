"""The messages of training that every protocol shares.

Arrays: node ids and records are int32, tokens and positions int64, sets of rows or features one bit each, lowest bit of
a byte first. `round` counts boosting rounds, `depth` levels; both are checked on receipt.
"""

from typing import Any

import msgspec

from vfxgb.transport.messages import BULK_BYTES, NOTHING, TABLE_BYTES, Bulk, Message, Reveals


class Setup(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, first: what is to be trained and on which rows, and where a run that broke off goes on.

    `max_cat_to_onehot`: see TrainParams. `told_sample`: rounds will name rows that were chosen by their gradients.
    `split_rule`, `score_bits`: how splits are scored (TrainParams). `run`: the run's id. `n_rounds`: rounds planned.
    `first_round`: the first that the receiver takes part in. `hessian_shift`: see RunFacts.
    `start_round`: rounds that are done already; then `trees_digest` is that of the active party's trees and
    `state_digest` what the receiver sent with its last RoundKept, both empty if it has taken part in no round.
    """

    TAG = "setup"
    REVEALS = Reveals("the size of the run (rows, outputs, depth) and the settings of the protocol")

    protocol: str
    protocol_params: dict[str, Any]
    n_rows: int
    n_train: int
    rows_digest: bytes
    n_outputs: int
    max_depth: int
    max_bin: int
    missing_strategy: str
    min_bucket_rows: int
    constrained: bool
    first_round: int
    run: str
    n_rounds: int
    start_round: int
    trees_digest: bytes
    state_digest: bytes
    told_sample: bool = False
    hessian_shift: int = 0
    split_rule: str = "gain"
    score_bits: int | None = None
    max_cat_to_onehot: int = 4


class Ready(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the party agrees; how many features it brings, and the digest of the state it goes on from."""

    TAG = "ready"
    REVEALS = Reveals(
        "how many features the passive party holds, and how many of them are split by sets of categories", "features"
    )

    n_features: int
    state_digest: bytes
    n_partitioned: int = 0

    def amount(self) -> int:
        """Count the features."""
        return self.n_features


class Prepare(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, at most once and before the first round: set up now (PreparingPassive)."""

    TAG = "prepare"
    REVEALS = NOTHING


class BeginRound(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: a new round, its rows (empty: all training rows) and, per output, features (empty: all)."""

    TAG = "begin-round"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "which rows a round uses; under GOSS this is sent only with told_sample, and says much about labels, because "
        "rows with large gradients are kept",
        "sampled rows",
    )

    round: int
    n_sampled: int
    sampled: Bulk
    features: list[Bulk]

    def amount(self) -> int:
        """Count the rows of a sample; there are none when all rows are used."""
        return self.n_sampled if len(self.sampled) else 0


class SplitGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Splits of one owner: nodes, their new children, who goes left. Empty bits: the receiver's own splits."""

    nodes: Bulk
    left: Bulk
    right: Bulk
    bits: Bulk


class TreeLevel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a Level: the splits since the last one, the nodes now open, which of them to build.

    `allowed`: per node one bit for each of the tree's features at the receiver; empty: all.
    """

    tree: int
    splits: list[SplitGroup]
    nodes: Bulk
    build: Bulk
    allowed: Bulk


class Level(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: the next level of every tree that still grows."""

    TAG = "level"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("which rows are together in each node of a tree that is still growing", "row memberships")

    round: int
    depth: int
    trees: list[TreeLevel]

    def amount(self) -> int:
        """Count rows once for each split they went through at another party; up to 7 more per node."""
        return sum(8 * len(group.bits) for tree in self.trees for group in tree.splits)


class TreeChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a Choose: tokens[start[i]:start[i + 1]] are the best splits of nodes[i].

    A split by a set of categories is a negative token and words (tree/category_cells.py).
    """

    tree: int
    nodes: Bulk
    start: Bulk
    tokens: Bulk


class Choose(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: nodes that the receiver's splits have won."""

    TAG = "choose"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("which of the receiver's candidate splits are the best of their node", "nodes")

    round: int
    depth: int
    trees: list[TreeChoice]

    def amount(self) -> int:
        """Count the nodes."""
        return sum(len(tree.nodes) // 4 for tree in self.trees)


class TreeRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a SplitRows: per node the token taken and the record it is filed under, and who goes left."""

    tree: int
    tokens: Bulk
    records: Bulk
    bits: Bulk


class SplitRows(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the answer to Choose."""

    TAG = "split-rows"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals(
        "which rows go left at the sender's splits: one comparison per row; its feature and threshold stay hidden",
        "row memberships",
    )

    round: int
    depth: int
    trees: list[TreeRows]

    def amount(self) -> int:
        """Count rows once for each split; up to 7 more per node."""
        return sum(8 * len(tree.bits) for tree in self.trees)


class BeginHiddenRound(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, where nodes are hidden: a new round and, per output, the features its tree may use.

    The bits of the features are empty where all may be used. Of rows nothing is said: the receiver answers for all of
    them, whichever the round uses.
    """

    TAG = "begin-hidden-round"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("that a round begins, and which features column sampling draws for it")

    round: int
    features: list[Bulk]


class TreeSlots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in an OpenSlots: how many of its nodes are open.

    `allowed`: per slot one bit for each of the tree's features at the receiver; empty: all.
    """

    tree: int
    n_slots: int
    allowed: Bulk


class OpenSlots(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, where nodes are hidden: the next level of every tree that still grows.

    A slot stands for an open node. Which node that is, only the active party knows: it draws the order of slots.
    """

    TAG = "open-slots"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("how many nodes of each tree are open, and nothing of the rows in them")

    round: int
    depth: int
    trees: list[TreeSlots]


class TreeWins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a WonSlots: tokens[start[i]:start[i + 1]] are the best splits of slots[i], which ascend.

    There are no tokens where the protocol has told the receiver already which of its candidates won.
    """

    tree: int
    slots: Bulk
    start: Bulk
    tokens: Bulk


class WonSlots(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, where nodes are hidden: slots that the receiver's splits have won.

    The protocol's roles then bring left bits to the active party.
    """

    TAG = "won-slots"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("which of the receiver's candidate splits are the best of their node", "nodes")

    round: int
    depth: int
    trees: list[TreeWins]

    def amount(self) -> int:
        """Count the nodes."""
        return sum(len(tree.slots) // 4 for tree in self.trees)


class TreePlaces(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tree in a PlaceSplits: which of the slots won there stay, and where their splits stand.

    `kept`: int32, ascending positions in the slots of WonSlots; `above`: int32, for each of them the nearest split of
    the receiver above it in the tree, as SplitPaths.above: twice its record, plus 1 on the right, or -1 for none.
    """

    tree: int
    kept: Bulk
    above: Bulk


class PlaceSplits(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive, where nodes are hidden: the splits of WonSlots that stay in the trees.

    Their records are numbered on in the order of this message.
    """

    TAG = "place-splits"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals(
        "which of the receiver's best splits stay in the tree, and below which of its own splits each one stands",
        "splits",
    )

    round: int
    depth: int
    trees: list[TreePlaces]

    def amount(self) -> int:
        """Count the splits."""
        return sum(len(tree.kept) // 4 for tree in self.trees)


class EndRound(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: the round's trees are grown; its gradients and rows can be forgotten, its records kept.

    `trees_digest`: a salted digest of all trees so far (digests.py).
    """

    TAG = "end-round"
    REVEALS = NOTHING

    round: int
    trees_digest: bytes


class RoundKept(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: the sender has kept what it needs to go on after this round.

    `state_digest`: a salted digest of its records so far and of the active party's digests.
    """

    TAG = "round-kept"
    REVEALS = NOTHING

    round: int
    state_digest: bytes


class Finish(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: no more rounds; commit to the records."""

    TAG = "finish"
    REVEALS = Reveals("how many rounds the model has")

    n_rounds: int


class Commit(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active: a salted hash of the sender's records."""

    TAG = "commit"
    REVEALS = NOTHING

    n_records: int
    digest: str


class Sealed(Message, frozen=True, forbid_unknown_fields=True):
    """Active to passive: the digest that ties the shares together, and what it was made of."""

    TAG = "sealed"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("the names of the parties")

    parties: list[tuple[str, str]]
    trees: str
    model: str


class Stored(Message, frozen=True, forbid_unknown_fields=True):
    """Passive to active, last: the sender has stored its share. Until then the run can be resumed and sealed again."""

    TAG = "stored"
    REVEALS = NOTHING


TRAINING_MESSAGES: tuple[type[Message], ...] = (
    Setup,
    Ready,
    Prepare,
    BeginRound,
    Level,
    Choose,
    SplitRows,
    BeginHiddenRound,
    OpenSlots,
    WonSlots,
    PlaceSplits,
    EndRound,
    RoundKept,
    Finish,
    Commit,
    Sealed,
    Stored,
)
