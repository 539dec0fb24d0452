"""An attack on `rounded`: a passive party holds every gradient; a negative one means the label 1."""

from rounded.messages import RoundedGradients
from rounded.params import RoundedParams
from vfxgb.audit import Attack, AttackerView, Claim, Outcome
from vfxgb.transport.messages import unpack_array


def run(view: AttackerView) -> Outcome:
    """One claim per round: the labels of the rows that were sampled."""
    (active,) = view.peers
    width = RoundedParams(**view.setup.protocol_params).dtype
    roots = {(node.round, node.tree): node.rows for node in view.nodes(active) if node.node == 0}
    claims = []
    for message in view.messages(active, RoundedGradients.TAG, RoundedGradients):
        rows = roots[message.round, message.tree]
        pairs = unpack_array(message.pairs, width, (len(rows), 2), "reading a transcript")
        claims.append(Claim("labels", active, message.round, message.tree, 0, rows, pairs[:, 0] < 0))
    return Outcome(claims)


ATTACK = Attack("rounded-sign", "labels, by the signs of gradients", "passive", (RoundedGradients.TAG,), run)
