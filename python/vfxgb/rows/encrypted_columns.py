"""Encrypted columns of passive parties at the active one, kept where its rows are, and their sums over nodes.

vfxgb.lattice says what they are. Sums are numbers modulo 2^64 and do not depend on how rows are divided.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.lattice import ColumnSetup, HeldRows, LatticeBlock, Level, LevelSums
from vfxgb.rows.integers import OwnIntegers
from vfxgb.rows.parts import Nodes, OwnPartition


@dataclass(frozen=True, eq=False)
class SlotRows:
    """The open nodes of a tree as slots: `nodes` has the node of each slot. `integers`: those of all training rows."""

    partition: OwnPartition
    nodes: Nodes
    integers: OwnIntegers


class EncryptedColumns(Protocol):
    """The columns of one passive party."""

    def fill(self, block: LatticeBlock) -> None:
        """Take the next rows, a block that was checked (ColumnHolder.add)."""

    def sums(self, trees: Sequence[SlotRows]) -> LevelSums:
        """The sums of a level over all training rows, tree by tree and slot by slot.

        Raises LatticeError for columns that were damaged.
        """

    def close(self) -> None:
        """The run is over, well or not: forget the columns."""


class MemoryEncrypted:
    """See EncryptedColumns: in this process."""

    def __init__(self, setup: ColumnSetup, threads: int) -> None:
        self._held = HeldRows(setup, 0, setup.params.rows, None, threads)

    def fill(self, block: LatticeBlock) -> None:
        """See EncryptedColumns."""
        self._held.fill(block)

    def sums(self, trees: Sequence[SlotRows]) -> LevelSums:
        """See EncryptedColumns."""
        return self._held.sums(
            level_of([tree.partition.leaves() for tree in trees], [tree.integers for tree in trees], nodes_of(trees))
        )

    def close(self) -> None:
        """See EncryptedColumns: memory goes with the object."""


def nodes_of(trees: Sequence[SlotRows]) -> list[Nodes]:
    """The nodes of the slots of each tree."""
    return [tree.nodes for tree in trees]


def level_of(
    leaves: Sequence[Nodes], integers: Sequence[NDArray[np.integer]], nodes: Sequence[Nodes], first: int = 0
) -> Level:
    """The slots of all trees of a level, one after the other, with the integers of their rows that are not 0.

    Of each tree: the node of every row, integers of the training rows, which come first, and the node of each slot.
    `first`: the number of the first row, for a shard.
    """
    offsets, rows, weights = [np.zeros(1, dtype=np.int64)], [], []
    for of_row, made, slots_of in zip(leaves, integers, nodes, strict=True):
        own = of_row[: len(made)]
        slot = np.full(max(int(own.max(initial=0)), int(slots_of.max(initial=0))) + 1, -1, dtype=np.int32)
        slot[slots_of] = np.arange(len(slots_of), dtype=np.int32)
        ends, by_slot, its_weights = _native.lattice.nodes_of_leaves(
            own, slot, made.astype(np.int64, copy=False), len(slots_of)
        )
        offsets.append(offsets[-1][-1] + ends[1:])
        rows.append(by_slot + np.int32(first))
        weights.append(its_weights)
    return Level(np.concatenate(offsets), np.concatenate(rows), np.concatenate(weights))
