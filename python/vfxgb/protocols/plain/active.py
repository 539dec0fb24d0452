"""The active party's side of `plain`: send gradients, read sums."""

from collections.abc import Sequence

import numpy as np

from vfxgb.contract import ActiveContext, ActiveLevel, Gradients
from vfxgb.errors import MessageError
from vfxgb.protocols.open_sums.active import OpenedSums, OpenedTree
from vfxgb.protocols.plain.messages import PlainGradients, PlainSums
from vfxgb.transport.channel import broadcast
from vfxgb.transport.messages import pack_array, unpack_array


class PlainSource:
    """A SumSource without any protection."""

    def __init__(self, context: ActiveContext) -> None:
        self._context = context

    def begin_tree(self, gradients: Gradients) -> None:
        """Send every output's gradients to every passive party."""
        with self._context.timings.phase("send gradients"):
            for tree, pairs in enumerate(gradients.pairs):
                here = np.asarray(pairs)
                used = here if gradients.sampled is None else np.take(here, gradients.sampled, axis=0)
                message = PlainGradients(round=gradients.round, tree=tree, pairs=pack_array(used))
                broadcast(list(self._context.channels.values()), message)

    def open_level(self, level: ActiveLevel) -> None:
        """The Level message says all."""

    def receive(self, party: str, level: ActiveLevel) -> Sequence[OpenedTree]:
        """The sums of a level. Raises MessageError unless they are of this round, depth and size."""
        with self._context.timings.phase("wait"):
            message = self._context.channels[party].recv(PlainSums)
        if (message.round, message.depth, len(message.trees)) != (level.round, level.depth, len(level.trees)):
            raise MessageError(
                f"reading sums of {party}: found {len(message.trees)} trees of round {message.round}, depth "
                f"{message.depth}, wanted {len(level.trees)} of round {level.round}, depth {level.depth}"
            )
        opened = []
        for nodes, tree in zip(level.trees, message.trees, strict=True):
            what = f"reading sums of {party}, tree {nodes.tree}"
            if tree.n_candidates < 0:
                raise MessageError(f"{what}: found {tree.n_candidates} candidates, wanted at least 0")
            left = unpack_array(tree.sums, np.int64, (len(nodes.build), tree.n_candidates, 2), what)
            directions = level.depth == 0 and nodes.bounds is not None
            constraint = unpack_array(tree.constraint, np.int8, (tree.n_candidates if directions else 0,), what)
            opened.append(OpenedTree(left, constraint if directions else None))
        return opened

    def end_tree(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing runs in the background."""


def make_active(context: ActiveContext) -> OpenedSums:
    """Make the active party's role, which scores the sums that the passive parties send."""
    return OpenedSums(context, PlainSource(context))
