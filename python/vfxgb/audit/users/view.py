"""What the server has to attack with: opened sums node by node, the cuts, the trees. No row of any user is in here.

Histograms are put together as the server does it: a node that was not asked for is its parent less its sibling, if
the sums of all three are over the same users. Sums are numbers here, fixed point undone, and have noise where the run
had it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfxgb.horizontal.messages import LevelTask, Plan, TreeTask, read_task
from vfxgb.horizontal.sums import NodeSums
from vfxgb.horizontal.transcript import OpenedSum

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """One split on a node's path: rows whose bin of `feature` is at most `cut` go left; those without a value too, if
    `missing_left`. `left`: whether the node is on that side."""

    feature: int
    cut: int
    missing_left: bool
    left: bool


@dataclass(frozen=True)
class NodeCells:
    """The sums of one node: `total` [2], and per feature `cells[f]` [bins + 1, 2], the last row of missing values.

    `asked`: whether the server asked for it, or took it from its parent and sibling.
    """

    round: int
    tree: int
    node: int
    depth: int
    path: tuple[Step, ...]
    users: tuple[int, ...]
    total: Floats
    cells: tuple[Floats, ...]
    asked: bool


class ServerView:
    """The server's side of a run. `budget`: what the run promised, which everybody knows."""

    def __init__(self, opened: Sequence[OpenedSum], plan: Plan, budget: tuple[float, float] | None) -> None:
        self._opened = opened
        self.budget = budget
        n_cuts = np.frombuffer(plan.n_cuts, np.int32)
        self.cuts = np.split(np.frombuffer(plan.cuts, np.float32), np.cumsum(n_cuts)[:-1])
        self.n_bins = (n_cuts + 1).astype(np.int32)
        bits = np.unpackbits(np.frombuffer(plan.has_missing, np.uint8), bitorder="little")
        self.has_missing = bits[: len(n_cuts)].astype(np.bool_)
        self.start = np.frombuffer(plan.start, np.float64)

    @cached_property
    def nodes(self) -> dict[tuple[int, int, int], NodeCells]:
        """(round, tree, node) -> the sums of every node whose buckets were opened, or follow from others."""
        known: dict[tuple[int, int, int], NodeCells] = {}
        for entry in self._opened:
            task = read_task(memoryview(entry.task))
            if not isinstance(task, LevelTask):
                continue
            end = 0
            for tree in task.trees:
                end = self._read(task, tree, entry, end, known)
        paths = {(cells.round, cells.tree, cells.path): cells for cells in known.values()}
        # Parents come first: their numbers are lower.
        for _, cells in sorted(known.items()):
            parent = paths.get((cells.round, cells.tree, cells.path[:-1])) if cells.path else None
            sibling = None if parent is None else _sibling(cells, parent)
            if sibling is not None:
                other = (sibling.round, sibling.tree, sibling.node)
                paths[sibling.round, sibling.tree, sibling.path] = known.setdefault(other, sibling)
        return known

    def _read(
        self,
        task: LevelTask,
        tree: TreeTask,
        entry: OpenedSum,
        begin: int,
        known: dict[tuple[int, int, int], NodeCells],
    ) -> int:
        """Enter the nodes of one tree of a task whose sums begin at `begin`; returns where they end."""
        nodes = np.frombuffer(tree.nodes, np.int32)
        features = np.arange(len(self.n_bins))
        if len(tree.features):
            bits = np.unpackbits(np.frombuffer(tree.features, np.uint8), bitorder="little")
            features = np.flatnonzero(bits[: len(self.n_bins)])
        layout = NodeSums(self.n_bins[features], self.has_missing[features])
        allowed = None
        if len(tree.allowed):
            flags = np.unpackbits(np.frombuffer(tree.allowed, np.uint8), bitorder="little")
            allowed = flags[: len(nodes) * len(features)].astype(np.bool_).reshape(len(nodes), -1)
        stop = begin + layout.entries(len(nodes), allowed)
        sums, totals = layout.unpack(entry.sums[begin:stop], len(nodes), allowed)
        unit = 2.0 ** (task.exponent - task.bits)
        if len(features):
            ends = np.cumsum(self.n_bins[features])[:-1]
            for node, row, total in zip(nodes.tolist(), sums * unit, totals * unit, strict=True):
                parts = [np.vstack([part, total - part.sum(axis=0)]) for part in np.split(row, ends)]
                known[task.round, tree.tree, node] = NodeCells(
                    task.round,
                    tree.tree,
                    node,
                    len(tree.levels),
                    path_of(tree.levels, node),
                    entry.users,
                    total,
                    tuple(parts),
                    True,
                )
        return stop


def _sibling(cells: NodeCells, parent: NodeCells) -> NodeCells | None:
    """The other child of `parent`, if what the two have was summed over the same users and features."""
    if parent.users != cells.users or len(parent.cells) != len(cells.cells):
        return None
    last = cells.path[-1]
    return replace(
        cells,
        node=cells.node + 1 if last.left else cells.node - 1,
        path=(*cells.path[:-1], replace(last, left=not last.left)),
        total=parent.total - cells.total,
        cells=tuple(whole - part for whole, part in zip(parent.cells, cells.cells, strict=True)),
        asked=False,
    )


def path_of(levels: Sequence[bytes | memoryview], node: int) -> tuple[Step, ...]:
    """The splits from the root to a node, by the published levels of its tree."""
    splits = [tuple(row) for level in levels for row in np.frombuffer(level, np.int32).reshape(-1, 5).tolist()]
    above = {
        left + side: (parent, Step(f, cut, bool(m), side == 0)) for parent, left, f, cut, m in splits for side in (0, 1)
    }
    steps: list[Step] = []
    while node in above:
        node, step = above[node]
        steps.append(step)
    return tuple(reversed(steps))
