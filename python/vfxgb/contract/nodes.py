"""What the two roles of a protocol are told of a tree that grows: its open nodes, and what was chosen there."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.rows.base import RowStore
from vfxgb.rows.columns import RightBins
from vfxgb.rows.integers import RowIntegers
from vfxgb.rows.parts import Pairs, Partition
from vfxgb.rows.shown_cuts import ShownCuts

Nodes = TypeVar("Nodes")


@dataclass(frozen=True)
class OpenNodes:
    """The m open nodes of one tree at one level, where splits are chosen; their ids ascend.

    `tree` is the output that the tree belongs to. `totals` are the nodes' gradient sums, int64[m, 2]. `bounds` are the
    limits of the weights under monotone constraints, float64[m, 2], or None. `rule` scores sums.

    `build` holds the positions (in `nodes`) of the nodes whose sums are to be made. The sums of any other node are
    those of its parent, at position `parent` of the level before, minus those of its sibling, at position `sibling` of
    this level; both are int64[m], and -1 where sums are made.
    """

    tree: int
    nodes: NDArray[np.int32]
    totals: NDArray[np.int64]
    bounds: NDArray[np.float64] | None
    build: NDArray[np.int64]
    sibling: NDArray[np.int64]
    parent: NDArray[np.int64]
    rule: _native.gbdt.SplitRule


@dataclass(frozen=True)
class LevelNodes(OpenNodes):
    """Open nodes at the active party. `partition` holds the tree's rows, and goes on changing with the tree.

    Where nodes are hidden, the passive parties know them as slots: slot i is the node at position order[i]. `order` is
    int64[m] and drawn in secret for each level of a tree. It is empty where nodes are shown.

    `integers` stand for the gradients of the rows in these nodes where scores are sums of integers (score_bits), 0 for
    rows of no open node; they lie where the rows are. None elsewhere.
    """

    partition: Partition
    order: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    integers: RowIntegers | None = None

    @property
    def in_memory(self) -> _native.gbdt.RowPartition:
        """The partition, for a protocol whose rows are all in this process."""
        return self.partition.here

    def left_bits_size(self, positions: NDArray[np.int64]) -> int:
        """Bytes of left bits for the nodes at `positions`."""
        return self.partition.left_bits_size(np.ascontiguousarray(self.nodes[positions]))

    def gather_bits(self, positions: NDArray[np.int64], bits: bytes | memoryview) -> bytes:
        """The left bits of the nodes at `positions`, out of bits of all rows (Partition.gather_bits)."""
        return self.partition.gather_bits(np.ascontiguousarray(self.nodes[positions]), bits)

    def left_sums(self, positions: NDArray[np.int64], bits: bytes | memoryview, pairs: Pairs) -> NDArray[np.int64]:
        """Sums int64[k, 2] of `pairs` over the rows that go left, by `bits`, at splits of the nodes at `positions`."""
        return self.partition.left_sums(np.ascontiguousarray(self.nodes[positions]), bits, pairs)


@dataclass(frozen=True)
class LevelOf(Generic[Nodes]):
    """One level of a round: the trees that still grow, with their open nodes as a party knows them."""

    round: int
    depth: int
    trees: Sequence[Nodes]


ActiveLevel: TypeAlias = LevelOf[LevelNodes]


@dataclass(frozen=True)
class Proposals:
    """The best splits of one party for the m nodes of one tree.

    `gain`: float64[m], loss change, 0 where the party has no split, or cannot take part in the node, which the others
    may split all the same; tokens[start[i]:start[i + 1]] reach it in node i. `score`: float64[m], by which parties are
    compared under split_rule='centred' (tree/CENTRED.md), None under 'gain'.
    """

    gain: NDArray[np.float64]
    start: NDArray[np.int64]
    tokens: NDArray[np.int64]
    score: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class ChosenSums:
    """What the active party learns of k chosen splits: left gradient sums int64[k, 2], monotone direction int8[k]."""

    left: NDArray[np.int64]
    constraint: NDArray[np.int8]


@dataclass(frozen=True)
class WonNodes:
    """Nodes of one tree that splits of one passive party have won, where nodes are hidden.

    `index` counts the trees of the level. `positions`: int64[k], in the order in which the party was told of them.
    """

    index: int
    positions: NDArray[np.int64]


@dataclass(frozen=True)
class LeftRows(ChosenSums):
    """What the active party learns of the k splits of a WonNodes, where nodes are hidden.

    `bits`: who goes left, of the rows of these nodes in the order of `positions`, as RowPartition.split takes it.
    `gain`: float64[k], the loss changes, where the active party knows them only from the rows; 0 for a split that must
    not be made. None where they are those proposed.
    """

    bits: bytes | memoryview
    gain: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class PassiveTree:
    """One growing tree at a passive party.

    `features` are the party's features that this tree may use, int32 and ascending. `partition` holds the rows of its
    nodes. `round` is the round that grows it. `cuts` says which cuts the nodes of the open level show under
    min_bucket_rows; a role hands it to CandidateList. None means every cut.
    """

    tree: int
    features: NDArray[np.int32]
    partition: Partition
    round: int = 0
    cuts: ShownCuts | None = None

    @property
    def in_memory(self) -> _native.gbdt.RowPartition:
        """The partition, for a protocol whose rows are all in this process."""
        return self.partition.here


@dataclass(frozen=True)
class PassiveNodes:
    """The open nodes of one tree at a passive party.

    `nodes`: int32[m], ascending; `parents`: int32[m], -1 for the root; `build`: int64, positions of those whose sums
    are asked for; `allowed`: bool[m, len(features)], which of the tree's features each node may use, or None for all.
    """

    tree: int
    nodes: NDArray[np.int32]
    parents: NDArray[np.int32]
    build: NDArray[np.int64]
    allowed: NDArray[np.bool_] | None


PassiveLevel: TypeAlias = LevelOf[PassiveNodes]


@dataclass(frozen=True)
class Resolved:
    """The splits a passive party took for k nodes: the token of each, and feature, bin and default direction.

    `rows`: the bins that decide which rows go left, None for the party's own. `right`: per split the bins that go right
    where it is one by a set of them, else None; None where no split is one. `told`: bool[k], those whose rows the
    active party was told and that may become splits of the model; None for all.
    """

    tokens: NDArray[np.int64]
    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    default_left: NDArray[np.bool_]
    rows: RowStore | None = None
    told: NDArray[np.bool_] | None = None
    right: Sequence[RightBins | None] | None = None

    def left_bits(self, own: RowStore, partition: Partition, nodes: NDArray[np.int32]) -> bytes:
        """Who of these nodes goes left, as RowPartition.split takes it; `own` are the party's rows."""
        rows = own if self.rows is None else self.rows
        if self.right is None:
            return rows.left_bits(partition, nodes, self.feature, self.bin, self.default_left)
        parts: list[bytes] = []
        for place, chosen in enumerate(self.right):
            here = slice(place, place + 1)
            if chosen is None:
                way = (self.feature[here], self.bin[here], self.default_left[here])
                parts.append(rows.left_bits(partition, nodes[here], *way))
            else:
                everyone = rows.set_bits(int(self.feature[place]), chosen, bool(self.default_left[place]))
                parts.append(partition.gather_bits(nodes[here], everyone))
        return b"".join(parts)


@dataclass(frozen=True)
class SlotTree:
    """One growing tree at a passive party from which nodes are hidden.

    `features` are the party's features that this tree may use, int32 and ascending. `round` is the round that grows it.
    """

    tree: int
    features: NDArray[np.int32]
    round: int


@dataclass(frozen=True)
class SlotNodes:
    """The open nodes of one tree, as a passive party knows them from which nodes are hidden: so many slots.

    `allowed`: bool[n_slots, len(features)], which of the tree's features each slot may use, or None for all.
    """

    tree: int
    n_slots: int
    allowed: NDArray[np.bool_] | None


SlotLevel: TypeAlias = LevelOf[SlotNodes]


@dataclass(frozen=True)
class SlotWins:
    """Slots of one tree that the party's splits have won: tokens[start[i]:start[i + 1]] are the best of slots[i].

    There are no tokens where the protocol tells the passive role itself which candidates won.
    """

    tree: int
    slots: NDArray[np.int32]
    start: NDArray[np.int64]
    tokens: NDArray[np.int64]
