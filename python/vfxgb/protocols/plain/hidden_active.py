"""The active party's side of `plain` where nodes are hidden: a gradient vector per slot, bits of all rows per split.

It is the plain twin of protocols that hide nodes in earnest: what they send instead of these vectors and bits goes the
same way, at the same moments.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ActiveContext, ActiveLevel, Gradients, LeftRows, WonNodes
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.active import OpenedSums, OpenedTree
from vfxgb.protocols.plain.active import PlainSource
from vfxgb.protocols.plain.messages import PlainLeft, PlainSlot, TreeLeft
from vfxgb.rows.gradients import spread_pairs
from vfxgb.transport.channel import broadcast
from vfxgb.transport.messages import pack_array, unpack_array


class SlotSource(PlainSource):
    """A SumSource that sends gradients slot by slot, and gets sums in the order of slots."""

    def __init__(self, context: ActiveContext) -> None:
        super().__init__(context)
        self._pairs: list[NDArray[np.int64]] = []

    def begin_tree(self, gradients: Gradients) -> None:
        """Keep the gradients for the levels to come."""
        self._pairs = gradients.arrays

    def open_level(self, level: ActiveLevel) -> None:
        """Send of each slot the gradients of all rows, 0 outside of its node."""
        send_slots(self._context, level, self._pairs)

    def receive(self, party: str, level: ActiveLevel) -> Sequence[OpenedTree]:
        """See SumSource."""
        opened = []
        for nodes, tree in zip(level.trees, super().receive(party, level), strict=True):
            left = np.empty_like(tree.left)
            left[nodes.order] = tree.left
            opened.append(OpenedTree(left, tree.constraint))
        return opened

    def end_tree(self) -> None:
        """Forget the gradients."""
        self._pairs = []


class HiddenPlainActive(OpenedSums):
    """A HiddenActiveRole, which scores the sums that the passive parties send."""

    def __init__(self, context: ActiveContext) -> None:
        super().__init__(context, SlotSource(context))

    def learn_left(self, party: str, level: ActiveLevel, won: Sequence[WonNodes]) -> Sequence[LeftRows]:
        """See HiddenActiveRole."""
        message = read_left(self._context, party, level, won)
        return [self._left(party, level, each, tree) for each, tree in zip(won, message.trees, strict=True)]

    def _left(self, party: str, level: ActiveLevel, won: WonNodes, message: TreeLeft) -> LeftRows:
        what = f"reading the splits of {party}, tree {message.tree}"
        tokens = unpack_array(message.tokens, np.int64, (len(won.positions),), what)
        try:
            bits = level.trees[won.index].gather_bits(won.positions, message.bits)
        except ValueError as error:
            raise MessageError(f"{what}: {error}") from None
        chosen = self.chosen(party, won.index, won.positions, tokens, memoryview(bits))
        return LeftRows(chosen.left, chosen.constraint, bits)


def send_slots(
    context: ActiveContext, level: ActiveLevel, pairs_of: Mapping[int, NDArray[np.int64]] | Sequence[NDArray[np.int64]]
) -> None:
    """Send of each slot of a level the pairs of its tree, int64[n_train, 2], with 0 outside of its node."""
    channels = list(context.channels.values())
    with context.timings.phase("send gradients"):
        for nodes in level.trees:
            pairs = pairs_of[nodes.tree]
            members = nodes.partition.leaves()[: len(pairs)]
            for slot, node in enumerate(nodes.nodes[nodes.order].tolist()):
                rows = np.flatnonzero(members == node)
                own = spread_pairs(np.take(pairs, rows, axis=0), rows, len(pairs))
                message = PlainSlot(
                    round=level.round, depth=level.depth, tree=nodes.tree, slot=slot, pairs=pack_array(own)
                )
                broadcast(channels, message)


def read_left(context: ActiveContext, party: str, level: ActiveLevel, won: Sequence[WonNodes]) -> PlainLeft:
    """Who goes left at the splits of `party` that won. Raises MessageError unless it is about these trees."""
    with context.timings.phase("wait"):
        message = context.channels[party].recv(PlainLeft)
    numbers = [level.trees[each.index].tree for each in won]
    place = (message.round, message.depth, [tree.tree for tree in message.trees])
    if place != (level.round, level.depth, numbers):
        raise MessageError(
            f"reading the splits of {party}: found round, depth and trees {place}, wanted round {level.round}, "
            f"depth {level.depth}, trees {numbers}"
        )
    return message
