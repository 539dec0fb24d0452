"""Which columns of a passive party have trees of masks, and which of them share one.

A *column* is a feature with at least two bins; columns stand in an order that the passive party draws once and keeps to
itself. A *slot* is what has a tree of masks per row: one column, or several with few bins, whose tree then has a leaf
for each combination of theirs. A pair is masked and sent once for a slot. Sums of a single column follow from those of
a slot by adding, which each party does on its own share; only they are ever opened.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.ot.trees import tree_depth


@dataclass(frozen=True, eq=False)
class Slots:
    """The columns: bins of each, int32[c], at least 2; whether values miss, bool[c]. And the slots that they are in.

    Columns share a slot while it has at most `joint_leaves` leaves. Both parties make the same slots of the same
    columns.
    """

    n_bins: NDArray[np.int32]
    missing: NDArray[np.bool_]
    joint_leaves: int = 1

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def column_leaves(self) -> NDArray[np.int32]:
        """Each column has one leaf per bin, and one more where values are missing."""
        return (self.n_bins + self.missing).astype(np.int32)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each slot, ascending; slots in the order of their first columns.

        Those with the fewest leaves come together first, and of equal ones those that come first.
        """
        leaves = self.column_leaves.tolist()
        groups: list[list[int]] = []
        product = 0
        for column in np.argsort(self.column_leaves, kind="stable").tolist():
            if groups and product * leaves[column] <= self.joint_leaves:
                groups[-1].append(column)
                product *= leaves[column]
            else:
                groups.append([column])
                product = leaves[column]
        return tuple(sorted(tuple(sorted(group)) for group in groups))

    @cached_property
    def leaves(self) -> NDArray[np.int32]:
        """Leaves of each slot's trees."""
        return np.array([int(np.prod(self.column_leaves[list(group)])) for group in self.groups], dtype=np.int32)

    @cached_property
    def values(self) -> NDArray[np.int32]:
        """What is kept of each slot's trees with their leaves: one more where nodes are cut off (cpp/ot/ggm.h)."""
        return np.where(self.leaves & (self.leaves - 1), self.leaves + 1, self.leaves)

    @cached_property
    def depths(self) -> NDArray[np.int32]:
        """Levels of each slot's trees."""
        return np.array([tree_depth(count) for count in self.leaves.tolist()], dtype=np.int32)

    @cached_property
    def levels(self) -> int:
        """The trees of one row have so many levels together."""
        return int(self.depths.sum())

    @cached_property
    def candidates(self) -> NDArray[np.int64]:
        """Candidate splits of each column, int64[c]."""
        return (self.n_bins.astype(np.int64) - 1) * (1 + self.missing)

    def same(self, other: "Slots") -> bool:
        """Whether both look alike."""
        columns = np.array_equal(self.n_bins, other.n_bins) and np.array_equal(self.missing, other.missing)
        return columns and self.groups == other.groups

    def of_columns(self, columns: NDArray[np.int32]) -> NDArray[np.int32]:
        """The slots, int32, ascending, that have any of the columns."""
        wanted = set(columns.tolist())
        return np.array([s for s, group in enumerate(self.groups) if wanted.intersection(group)], dtype=np.int32)

    def holes(self, bins: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """The leaf of each row in each slot's tree, uint16[s, rows], from the bins of the columns, uint16[c, rows].

        The first column of a slot changes slowest.
        """
        holes = np.empty((len(self), bins.shape[1]), dtype=np.uint16)
        for slot, group in enumerate(self.groups):
            holes[slot] = bins[group[0]]
            for column in group[1:]:
                holes[slot] = holes[slot] * np.uint16(self.column_leaves[column]) + bins[column]
        return holes

    def left_shares(
        self, cells: NDArray[np.uint64], slots: NDArray[np.int32], columns: NDArray[np.int32]
    ) -> NDArray[np.uint64]:
        """Sums left of the candidates of `columns`, column by column, from the sums of all leaves of `slots`.

        `cells`: uint64[m, leaves, 2]. Both ascend, and the slots have the columns.
        """
        by_column: dict[int, NDArray[np.uint64]] = {}
        first = 0
        for slot in slots.tolist():
            group, stop = self.groups[slot], first + int(self.leaves[slot])
            joint = cells[:, first:stop].reshape(len(cells), *self.column_leaves[list(group)], 2)
            for axis, column in enumerate(group, 1):
                others = tuple(other for other in range(1, len(group) + 1) if other != axis)
                by_column[column] = joint.sum(axis=others, dtype=np.uint64) if others else joint
            first = stop
        nothing = np.zeros((len(cells), 0, 2), dtype=np.uint64)
        single = np.concatenate([nothing, *(by_column[column] for column in columns.tolist())], axis=1)
        bins, missing = np.ascontiguousarray(self.n_bins[columns]), np.ascontiguousarray(self.missing[columns])
        return _native.ot_shares.left_shares(single, bins, missing)
