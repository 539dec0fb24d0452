"""A passive party's side of `ldp`: it sums noisy gradients and scores its candidates."""

import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import PassiveContext, PassiveLevel, PassiveRole
from vfxgb.protocols.ldp.messages import LdpGradients
from vfxgb.protocols.ldp.printed import PrintedPassive
from vfxgb.protocols.receive import receive
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
        context, what = self._context, f"{self._context.party} reading gradients"
        rows = context.n_train if sampled is None else len(sampled)
        place = {"round": round_index, "tree": tree, "n_rows": rows}
        message = receive(context, context.channel, LdpGradients, what, **place)
        columns = 1 if context.params.first_order else 2
        values = unpack_array(message.values, np.int64, (rows, columns), what)
        if sampled is None and columns == 2:
            return values
        pairs = np.zeros((context.n_train, 2), dtype=np.int64)
        pairs[slice(None) if sampled is None else sampled, :columns] = values
        return pairs

    def _left_sums(self, level: PassiveLevel, index: int) -> NDArray[np.int64]:
        nodes = level.trees[index]
        return self._sum_pairs(nodes, self._pairs[nodes.tree])

    def end_tree(self) -> None:
        """See PassiveRole."""
        super().end_tree()
        self._pairs = []


def make_passive(context: PassiveContext) -> PassiveRole:
    """Make a passive party's role: the one of the printed algorithm where the parameters ask for it."""
    return PrintedPassive(context) if context.params.as_printed else LdpPassive(context)
