"""The active party's side of `rounded`: send gradients as small integers, read sums."""

from collections.abc import Sequence

import numpy as np

from rounded.messages import RoundedGradients, RoundedSums, TreeSums
from vfxgb.contract import ActiveContext, ActiveLevel, Gradients, LevelNodes
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.active import OpenedSums, OpenedTree
from vfxgb.transport.channel import broadcast
from vfxgb.transport.messages import pack_array, unpack_array


class RoundedSource:
    """A SumSource: where OpenedSums, which finds the best splits, gets its sums from."""

    def __init__(self, context: ActiveContext) -> None:
        self._context = context

    def begin_tree(self, gradients: Gradients) -> None:
        """Send every output's gradients to every passive party."""
        context = self._context
        with context.timings.phase("send gradients"):
            for tree, pairs in enumerate(gradients.pairs):
                used = pairs if gradients.sampled is None else pairs[gradients.sampled]
                small = used.astype(context.params.dtype)
                message = RoundedGradients(round=gradients.round, tree=tree, rows=len(small), pairs=pack_array(small))
                broadcast(list(context.channels.values()), message)

    def open_level(self, level: ActiveLevel) -> None:
        """The common code has told the passive parties which nodes are open; there is nothing to add."""

    def receive(self, party: str, level: ActiveLevel) -> Sequence[OpenedTree]:
        """The sums of a level. Raises MessageError unless they are of this round, depth and size."""
        with self._context.timings.phase("wait"):
            message = self._context.channels[party].recv(RoundedSums)
        found = (message.round, message.depth, len(message.trees))
        wanted = (level.round, level.depth, len(level.trees))
        if found != wanted:
            raise MessageError(f"reading sums of {party}: found round, depth and trees {found}, wanted {wanted}")
        return [_opened(party, level, nodes, tree) for nodes, tree in zip(level.trees, message.trees, strict=True)]

    def end_tree(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing runs in the background."""


def _opened(party: str, level: ActiveLevel, nodes: LevelNodes, tree: TreeSums) -> OpenedTree:
    """One tree's sums, every size checked before it is used: the other side may send anything."""
    what = f"reading sums of {party}, tree {nodes.tree}"
    if tree.n_candidates < 0:
        raise MessageError(f"{what}: found {tree.n_candidates} candidates, wanted at least 0")
    left = unpack_array(tree.sums, np.int64, (len(nodes.build), tree.n_candidates, 2), what)
    if level.depth == 0 and nodes.bounds is not None:
        return OpenedTree(left, unpack_array(tree.directions, np.int8, (tree.n_candidates,), what))
    unpack_array(tree.directions, np.int8, (0,), what)
    return OpenedTree(left, None)


def make_active(context: ActiveContext) -> OpenedSums:
    """The role."""
    return OpenedSums(context, RoundedSource(context))
