"""A passive party's side of `ldp`: it sums noisy gradients and scores its candidates."""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext, PassiveLevel, PassiveRole
from vfxgb.errors import MessageError
from vfxgb.protocols.ldp.messages import LdpGradients
from vfxgb.protocols.ldp.printed import PrintedPassive
from vfxgb.protocols.scored.passive import ScoredPassive
from vfxgb.transport.messages import unpack_array


class LdpPassive(ScoredPassive):
    """A PassiveRole."""

    def __init__(self, context: PassiveContext) -> None:
        super().__init__(context)
        self._pairs: list[NDArray[np.int64]] = []

    def _receive_round(self, round_index: int, sampled: NDArray[np.int32] | None) -> None:
        self._pairs = [self._receive(round_index, tree, sampled) for tree in range(len(self._trees))]

    def _receive(self, round_index: int, tree: int, sampled: NDArray[np.int32] | None) -> NDArray[np.int64]:
        context = self._context
        with context.timings.phase("wait"):
            message = context.channel.recv(LdpGradients)
        rows = context.n_train if sampled is None else len(sampled)
        place, wanted = (message.round, message.tree, message.n_rows), (round_index, tree, rows)
        if place != wanted:
            raise MessageError(
                f"{context.party} reading gradients: found round {place[0]}, tree {place[1]}, {place[2]} rows, wanted "
                f"round {wanted[0]}, tree {wanted[1]}, {wanted[2]} rows"
            )
        columns = 1 if context.params.first_order else 2
        values = unpack_array(message.values, np.int64, (rows, columns), f"{context.party} reading gradients")
        if sampled is None and columns == 2:
            return values
        pairs = np.zeros((context.n_train, 2), dtype=np.int64)
        pairs[slice(None) if sampled is None else sampled, :columns] = values
        return pairs

    def _left_sums(self, level: PassiveLevel, index: int) -> NDArray[np.int64]:
        context, nodes = self._context, level.trees[index]
        with context.timings.phase("sums"):
            return self._candidates[nodes.tree].left_sums(
                self._trees[nodes.tree].partition,
                np.ascontiguousarray(nodes.nodes[nodes.build]),
                self._pairs[nodes.tree],
                None if nodes.allowed is None else nodes.allowed[nodes.build],
                self._trees[nodes.tree].cuts,
            )

    def end_tree(self) -> None:
        """See PassiveRole."""
        super().end_tree()
        self._pairs = []


def make_passive(context: PassiveContext) -> PassiveRole:
    """Make a passive party's role: the one of the printed algorithm where the parameters ask for it."""
    return PrintedPassive(context) if context.params.as_printed else LdpPassive(context)
