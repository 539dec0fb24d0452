"""What hidden prediction asks about a party's splits, level by level, as both parties know it before any row is asked.

All splits of a party in one tree at one level are a *group*: a row stands before one of them at most, and takes one bit
of the group, or none (vfxgb.routing). Splits on different sides of another split of the same party share an *entry*:
the party knows to which side it sent the row, so that it can only be one of them, and the bits of splits that the row
cannot reach by the party's own answers above are 0. Where rows with missing values go both ways a row may stand before
several splits of a tree, and each split is a group of its own, with two bits: goes left, is missing.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb.model.shares import SplitPaths
from vfxgb.routing import Level

Numbers = NDArray[np.int32]
# Bits that a passive party holds for rows that are on their way, one for each of them and each of its splits.
MAX_HELD_BITS = 1 << 31


@dataclass(frozen=True, eq=False)
class HiddenLevel:
    """A level at which a party has splits. `trees`: int32[g], of each group.

    `records`: the party's splits of the level, ascending; `group` and `entry` (from 1 on) of each.
    """

    depth: int
    trees: Numbers
    level: Level
    records: Numbers
    group: Numbers
    entry: Numbers

    @cached_property
    def lines(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(records of the level in the order of their lines, where each line begins), for the first plane."""
        starts = np.concatenate([[0], np.cumsum(self.level.entries[:-1], dtype=np.int64)])
        line = starts[self.group] + self.entry - 1
        order = np.argsort(line, kind="stable")
        return order, np.flatnonzero(np.diff(line[order], prepend=-1))


@dataclass(frozen=True, eq=False)
class HiddenShape:
    """All levels of the first `n_trees` trees at which a party has splits, the root's first."""

    levels: tuple[HiddenLevel, ...]
    n_trees: int

    @classmethod
    def of(cls, paths: SplitPaths, n_trees: int) -> "HiddenShape":
        """Both parties make it of what they know of the trees."""
        used = np.flatnonzero(paths.tree < n_trees).astype(np.int32)
        depths = paths.depth[used]
        levels = [_level(paths, int(depth), used[depths == depth]) for depth in np.unique(depths)]
        return cls(tuple(levels), n_trees)

    @cached_property
    def by_depth(self) -> dict[int, HiddenLevel]:
        """The levels by their depth."""
        return {level.depth: level for level in self.levels}

    def after(self, depth: int) -> HiddenLevel | None:
        """The next level after a depth."""
        return next((level for level in self.levels if level.depth > depth), None)

    @property
    def end(self) -> int:
        """The depth after the last level."""
        return 1 + max((level.depth for level in self.levels), default=-1)

    @cached_property
    def n_records(self) -> int:
        """Splits of the party in these trees."""
        return sum(len(level.records) for level in self.levels)

    @cached_property
    def comparisons(self) -> int:
        """Bits that the active party can open of one row, at most: one of each group."""
        return sum(len(level.level) for level in self.levels)

    @cached_property
    def transfers(self) -> int:
        """Transfers that a row takes at all levels together."""
        return sum(level.level.transfers for level in self.levels)

    @cached_property
    def most_transfers(self) -> int:
        """Transfers that a row takes at one level, at most."""
        return max((level.level.transfers for level in self.levels), default=0)

    def table(self) -> Numbers:
        """What the parties compare: int32[groups, 3], depth, tree and number of entries."""
        rows = [
            np.stack([np.full(len(level.level), level.depth, dtype=np.int32), level.trees, level.level.entries], axis=1)
            for level in self.levels
        ]
        return np.concatenate(rows) if rows else np.zeros((0, 3), dtype=np.int32)


def _level(paths: SplitPaths, depth: int, records: Numbers) -> HiddenLevel:
    if paths.both_ways:
        every, ones = np.arange(len(records), dtype=np.int32), np.ones(len(records), dtype=np.int32)
        return HiddenLevel(depth, paths.tree[records], Level(ones, planes=2), records, every, ones)
    trees, group = np.unique(paths.tree[records], return_inverse=True)
    entry, widths = np.zeros(len(records), dtype=np.int32), []
    for number in range(len(trees)):
        inside = np.flatnonzero(group == number)
        slots, width = _share_entries({int(at): _chain(paths, int(records[at])) for at in inside}, 0)
        entry[inside] = [slots[int(at)] + 1 for at in inside]
        widths.append(width)
    level = Level(np.array(widths, dtype=np.int32))
    return HiddenLevel(depth, trees.astype(np.int32), level, records, group.astype(np.int32), entry)


def _chain(paths: SplitPaths, record: int) -> list[int]:
    """The party's own splits above a record and their sides, the topmost first."""
    chain: list[int] = []
    above = int(paths.above[record])
    while above >= 0:
        chain.append(above)
        above = int(paths.above[above // 2])
    return chain[::-1]


def _share_entries(chains: dict[int, list[int]], start: int) -> tuple[dict[int, int], int]:
    """(entry of each split, how many) for splits that share their first `start` own splits above and sides."""
    entries: dict[int, int] = {}
    width = 0
    below: dict[int, tuple[dict[int, list[int]], dict[int, list[int]]]] = {}
    for split, chain in chains.items():
        if len(chain) == start:
            entries[split] = width
            width += 1
        else:
            below.setdefault(chain[start] // 2, ({}, {}))[chain[start] % 2][split] = chain
    for sides in below.values():
        placed = [_share_entries(side, start + 1) for side in sides]
        for inner, _ in placed:
            entries |= {split: width + entry for split, entry in inner.items()}
        width += max(count for _, count in placed)
    return entries, width
