"""Nodes with too few rows for secure matrix multiplication: their sums through `batch_he`, on both sides.

Keys are made and gradients encrypted only once a tree has such a node. A level of the inner protocol is the small nodes
alone, all of them built; candidates stand in the order that the outer protocol drew.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import (
    ActiveContext,
    ActiveLevel,
    Gradients,
    LevelNodes,
    PassiveContext,
    PassiveLevel,
    PassiveNodes,
    PassiveTree,
)
from vfxgb.protocols.batch_he.spec import LAYOUT
from vfxgb.protocols.he.active import HeSource
from vfxgb.protocols.he.passive import HePassive
from vfxgb.protocols.open_sums.active import OpenedTree
from vfxgb.protocols.smm.params import SmmParams
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.disclosure import SmallSums

# Of each tree of a level, by index: positions in `nodes` of the small ones.
Positions = Sequence[NDArray[np.int64]]


class SmallNodes:
    """The active party's side, for the parties of `context`; it does nothing where small nodes are skipped."""

    def __init__(self, context: ActiveContext, params: SmmParams) -> None:
        self._source: HeSource | None = None
        if params.small_nodes == "batch_he":
            self._source = HeSource(replace(context, params=params.fallback()), LAYOUT)
        self._gradients: Gradients | None = None
        self._begun = False
        self._level: ActiveLevel | None = None

    @property
    def skipped(self) -> bool:
        """Whether passive parties take no part in small nodes."""
        return self._source is None

    def begin_tree(self, gradients: Gradients) -> None:
        """A new round; nothing is sent yet."""
        self._gradients, self._begun = gradients, False

    def open_level(self, level: ActiveLevel, small: Positions) -> None:
        """Send what the passive parties need for the small nodes."""
        self._level = None
        trees = [_part(nodes, chosen) for nodes, chosen in zip(level.trees, small, strict=True) if len(chosen)]
        if not trees or self._source is None:
            return
        assert self._gradients is not None  # noqa: S101 - begin_tree came first
        if not self._begun:
            self._source.begin_tree(self._gradients)
            self._begun = True
        self._level = ActiveLevel(level.round, level.depth, trees)
        self._source.open_level(self._level)

    def receive(self, party: str) -> dict[int, OpenedTree]:
        """The sums of the small nodes of the level last opened, by tree."""
        if self._level is None or self._source is None:
            return {}
        opened = self._source.receive(party, self._level)
        return {nodes.tree: sums for nodes, sums in zip(self._level.trees, opened, strict=True)}

    def end_tree(self) -> None:
        """Forget the round."""
        self._gradients, self._level = None, None
        if self._source is not None:
            self._source.end_tree()

    def close(self) -> None:
        """End the background work."""
        if self._source is not None:
            self._source.close()


def _part(nodes: LevelNodes, chosen: NDArray[np.int64]) -> LevelNodes:
    none = np.full(len(chosen), -1, dtype=np.int64)
    return replace(
        nodes,
        nodes=np.ascontiguousarray(nodes.nodes[chosen]),
        totals=np.ascontiguousarray(nodes.totals[chosen]),
        bounds=None if nodes.bounds is None else np.ascontiguousarray(nodes.bounds[chosen]),
        build=np.arange(len(chosen), dtype=np.int64),
        sibling=none,
        parent=none,
    )


class SmallNodesPassive(HePassive):
    """A passive party's side. What it shows is counted by the outer protocol."""

    def __init__(self, context: PassiveContext, params: SmmParams) -> None:
        super().__init__(replace(context, params=params.fallback()), LAYOUT)
        self._begun = False
        self._round: tuple[int, NDArray[np.int32] | None, Sequence[PassiveTree]] = (-1, None, ())
        self._shared: list[CandidateList] = []

    def begin_round(
        self,
        round_index: int,
        sampled: NDArray[np.int32] | None,
        trees: Sequence[PassiveTree],
        candidates: list[CandidateList],
    ) -> None:
        """A new round; nothing is read yet."""
        self._round, self._shared, self._begun = (round_index, sampled, trees), candidates, False

    def open_small(self, level: PassiveLevel, small: Positions) -> None:
        """Answer for the small nodes of a level."""
        trees = [_passive_part(nodes, chosen) for nodes, chosen in zip(level.trees, small, strict=True) if len(chosen)]
        if not trees:
            return
        if not self._begun:
            self.begin_tree(*self._round)
            self._begun = True
        self.open_level(PassiveLevel(level.round, level.depth, trees))

    def end_round(self) -> None:
        """The round is over."""
        if self._begun:
            self.end_tree()
        self._round, self._shared, self._begun = (-1, None, ()), [], False

    def _draw(self, trees: Sequence[PassiveTree]) -> None:
        context = self._context
        self._trees, self._candidates = trees, self._shared
        self._small = [SmallSums(context.rows, tree) for tree in trees]

    def _note_shown(self, nodes: PassiveNodes, sent: int | None = None) -> None:
        """The outer protocol counts."""

    def _forget(self) -> None:
        self._trees, self._candidates, self._small = (), [], []


def _passive_part(nodes: PassiveNodes, chosen: NDArray[np.int64]) -> PassiveNodes:
    return PassiveNodes(
        nodes.tree,
        np.ascontiguousarray(nodes.nodes[chosen]),
        np.full(len(chosen), -1, dtype=np.int32),
        np.arange(len(chosen), dtype=np.int64),
        None if nodes.allowed is None else nodes.allowed[chosen],
    )
