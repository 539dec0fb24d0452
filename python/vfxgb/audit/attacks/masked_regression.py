"""E41 on masked with one answer: what regression on the noise vectors leaves of the masked gradients is almost g."""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.masked import NEEDS, roots
from vfxgb.audit.view import AttackerView


def run(view: AttackerView) -> Outcome:
    """Take the projection on the noise vectors off the first answer of each tree; the sign is the label."""
    claims = []
    (active,) = view.peers
    for root in roots(view, active):
        first = min(root.noise)
        noise, answer = root.noise[first], root.masked[first][0]
        left = answer - noise @ np.linalg.lstsq(noise, answer, rcond=None)[0]
        detail = f"W / n {noise.shape[1] / len(noise):.3f}"
        claims.append(Claim.of_node("labels", active, root.node, left < 0, detail=detail))
    return Outcome(claims)


ATTACK = Attack("masked-regression", "labels, from one answer", "passive", NEEDS, run)
