"""The active party's side of `ldp`: it sends what was released, once a round."""

import numpy as np

from vfxgb.contract import ActiveContext, ActiveRole, Gradients
from vfxgb.protocols.ldp.messages import LdpGradients
from vfxgb.protocols.ldp.printed import PrintedActive
from vfxgb.protocols.scored.active import ScoredActive
from vfxgb.transport.channel import broadcast
from vfxgb.transport.messages import pack_array


class LdpActive(ScoredActive):
    """An ActiveRole."""

    def _send_round(self, gradients: Gradients) -> None:
        context = self._context
        with context.timings.phase("send gradients"):
            for tree, pairs in enumerate(gradients.arrays):
                used = pairs if gradients.sampled is None else pairs[gradients.sampled]
                values = np.ascontiguousarray(used[:, :1]) if context.first_order else used
                message = LdpGradients(round=gradients.round, tree=tree, n_rows=len(used), values=pack_array(values))
                broadcast(list(context.channels.values()), message)


def make_active(context: ActiveContext) -> ActiveRole:
    """Make the active party's role: the one of the printed algorithm where the parameters ask for it."""
    return PrintedActive(context) if context.params.as_printed else LdpActive(context)
