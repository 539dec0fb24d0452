"""E41 on masked with one noise vector: the factor is plus or minus sqrt(C), and the right one leaves small numbers."""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.masked import NEEDS, factor_length, roots
from vfxgb.audit.view import AttackerView


def run(view: AttackerView) -> Outcome:
    """Try both signs on the first answer of each tree."""
    if view.setup.protocol_params["W"] != 1:
        return Outcome(why_not="more than one noise vector for a candidate")
    claims = []
    (active,) = view.peers
    for root in roots(view, active):
        first, length = min(root.noise), factor_length(view, root)
        answer, noise = root.masked[first][0], root.noise[first][:, 0]
        g = min((answer - length * noise, answer + length * noise), key=lambda guess: float(np.abs(guess).sum()))
        claims.append(Claim.of_node("gradients", active, root.node, g))
        claims.append(Claim.of_node("labels", active, root.node, g < 0))
    return Outcome(claims)


ATTACK = Attack("masked-signs", "gradients and labels, from one answer with W = 1", "passive", NEEDS, run)
