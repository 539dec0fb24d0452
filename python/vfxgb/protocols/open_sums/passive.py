"""The passive role of every protocol that opens left sums to the active party: the counterpart of opened.py.

Such a protocol brings how sums are made and sent. Which candidates there are, in which secret order, how the winners
are found again, and how many of the sums shown were over few rows, is here and is the same for all.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext, PassiveNodes, PassiveTree, Resolved, equations_of
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.disclosure import SmallSums


class ShownSums:
    """What the PassiveRoles of these protocols have in common."""

    def __init__(self, context: PassiveContext) -> None:
        self._context = context
        self._trees: Sequence[PassiveTree] = ()
        self._candidates: list[CandidateList] = []
        self._small: list[SmallSums] = []

    def _given_order(self, tree: PassiveTree) -> NDArray[np.int64] | None:  # noqa: ARG002 - protocols with one use it
        """The order in which the candidates of a tree are shown; None: one that is drawn in secret."""
        return None

    def _draw(self, trees: Sequence[PassiveTree]) -> None:
        """A new round: draw the secret order of each tree's candidates, unless the protocol gives one."""
        self._trees = trees
        self._candidates = [self._list(tree) for tree in trees]
        context = self._context
        if context.note is not None:
            for tree, candidates in zip(trees, self._candidates, strict=True):
                assert candidates.order is not None  # noqa: S101 - drawn or given
                context.note("order", tree.round, tree.tree, candidates.order)
        self._small = [SmallSums(context.rows, tree) for tree in trees]

    def _list(self, tree: PassiveTree) -> CandidateList:
        context, given = self._context, self._given_order(tree)
        return CandidateList(
            context.rows,
            context.has_missing,
            tree.features,
            context.constraints,
            context.random if given is None else None,
            context.threads,
            given,
        )

    def _note_shown(self, nodes: PassiveNodes, sent: int | None = None) -> None:
        """Count what a level's answer shows; `sent`: how many nodes it has sums of, None for all asked for."""
        self._small[nodes.tree].note(nodes)
        self._context.disclosed.opened_equations += equations_of(
            len(nodes.build) if sent is None else sent, len(self._candidates[nodes.tree])
        )

    def resolve(
        self,
        tree: int,
        nodes: NDArray[np.int32],  # noqa: ARG002 - candidates are the same in every node of a tree
        start: NDArray[np.int64],
        tokens: NDArray[np.int64],
    ) -> Resolved:
        """See PassiveRole."""
        return self._candidates[tree].resolve(start, tokens)

    def _forget(self) -> None:
        """The round is over: forget the orders, and count what was shown."""
        self._trees, self._candidates = (), []
        with self._context.timings.phase("count small sums"):
            self._context.disclosed.small_sums += sum(small.count() for small in self._small)
        self._small = []
