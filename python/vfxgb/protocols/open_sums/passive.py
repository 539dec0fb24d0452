"""The passive role of every protocol that opens left sums to the active party: the counterpart of active.py.

Such a protocol brings how sums are made and sent. Which candidates there are, in which secret order, how the winners
are found again, and how many of the sums shown were over few rows, is here and is the same for all.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import (
    PassiveContext,
    PassiveLevel,
    PassiveNodes,
    PassiveTree,
    Resolved,
    SlotTree,
    equations_of,
)
from vfxgb.protocols.open_sums.messages import CandidateCategories, CandidateWeights
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array
from vfxgb.tree.candidates import CandidateList
from vfxgb.tree.category_cells import pack_partitions
from vfxgb.tree.disclosure import SmallSums
from vfxgb.tree.split_weights import SplitWeights


class ShownSums:
    """What the PassiveRoles of these protocols have in common."""

    def __init__(self, context: PassiveContext) -> None:
        self._context = context
        self._trees: Sequence[PassiveTree] = ()
        self._candidates: list[CandidateList] = []
        self._small: list[SmallSums] = []
        self._weights = weights_asked(context)

    def _given_order(self, tree: PassiveTree) -> NDArray[np.int64] | None:  # noqa: ARG002 - protocols with one use it
        """The order in which the candidates of a tree are shown; None: one that is drawn in secret."""
        return None

    def _draw(self, trees: Sequence[PassiveTree]) -> None:
        """A new round: draw the secret order of each tree's candidates, unless the protocol gives one."""
        self._trees = trees
        self._candidates = draw_candidates(self._context, trees, [self._given_order(tree) for tree in trees])
        self._small = [SmallSums(self._context.rows, tree) for tree in trees]

    def _note_shown(self, nodes: PassiveNodes, sent: int | None = None) -> None:
        """Count what a level's answer shows; `sent`: how many nodes it has sums of, None for all asked for."""
        self._small[nodes.tree].note(nodes)
        self._context.disclosed.opened_equations += equations_of(
            len(nodes.build) if sent is None else sent, len(self._candidates[nodes.tree])
        )

    def _send_facts(self, level: PassiveLevel) -> None:
        """Send, before the first sums of a round, which of them are those of categories, where there are any, and the
        weights of the round's candidates, where splits are scored by them.
        """
        columns = self._context.rows.columns
        if level.depth == 0 and columns is not None and columns.partitioned.any():
            send_categories(self._context.channel, level.round, self._candidates)
        if level.depth == 0 and self._weights is not None:
            send_weights(self._context.channel, level.round, self._candidates, self._weights)

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


def weights_asked(context: PassiveContext) -> SplitWeights | None:
    """The weights of the party's candidates; None where the run does not score splits by them."""
    return SplitWeights(context.rows, context.has_missing) if context.split_rule == "centred" else None


def send_weights(
    channel: Channel, round_index: int, candidates: Sequence[CandidateList], weights: SplitWeights
) -> None:
    """Send the weights of each tree's candidates, in the order in which their sums will be shown."""
    trees = []
    for each in candidates:
        own = weights.of(each.features)
        trees.append(pack_array(own if each.order is None else own[each.order]))
    channel.send(CandidateWeights(round=round_index, trees=trees))


def send_categories(channel: Channel, round_index: int, candidates: Sequence[CandidateList]) -> None:
    """Send which sums of each tree will be those of categories."""
    trees = [pack_array(pack_partitions(each.partitions)) for each in candidates]
    count = sum(cells.n_bins for each in candidates for cells in each.partitions)
    channel.send(CandidateCategories(round=round_index, trees=trees, n_categories=count))


def draw_candidates(
    context: PassiveContext,
    trees: Sequence[PassiveTree | SlotTree],
    orders: Sequence[NDArray[np.int64] | None] | None = None,
) -> list[CandidateList]:
    """The candidates of each tree of a round, in an order that is given or, where there is none, drawn in secret."""
    candidates = [
        CandidateList(
            context.rows,
            context.has_missing,
            tree.features,
            context.constraints,
            context.random if order is None else None,
            context.threads,
            order,
        )
        for tree, order in zip(trees, orders or [None] * len(trees), strict=True)
    ]
    if context.note is not None:
        for tree, drawn in zip(trees, candidates, strict=True):
            assert drawn.order is not None  # noqa: S101 - drawn or given
            context.note("order", tree.round, tree.tree, drawn.order)
    return candidates
