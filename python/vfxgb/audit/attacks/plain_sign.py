"""Protocol plain: a passive party holds every gradient; a negative one means the label 1, in every round."""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.view import AttackerView
from vfxgb.protocols.plain.messages import PlainGradients
from vfxgb.transport.messages import unpack_array


def run(view: AttackerView) -> Outcome:
    """Read gradients and their signs."""
    claims = []
    (active,) = view.peers
    roots = {(node.round, node.tree): node for node in view.nodes(active) if node.node == 0}
    for message in view.messages(active, PlainGradients.TAG, PlainGradients):
        root = roots[message.round, message.tree]
        pairs = unpack_array(message.pairs, np.int64, (len(root.rows), 2), "reading a transcript")
        claims.append(Claim.of_node("labels", active, root, pairs[:, 0] < 0))
        claims.append(Claim.of_node("gradients", active, root, pairs[:, 0].astype(np.float64), step=True))
    return Outcome(claims)


ATTACK = Attack("plain-sign", "labels and gradients, sent in clear", "passive", (PlainGradients.TAG,), run)
