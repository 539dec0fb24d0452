"""E41 on masked, no assumption on g: in the difference of two answers g cancels, and only the factors are unknown."""

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.masked import NEEDS, roots, unmasked
from vfxgb.audit.view import AttackerView


def run(view: AttackerView) -> Outcome:
    """Solve B1 c1 - B2 c2 = <g>1 - <g>2, then take B1 c1 off <g>1."""
    claims = []
    (active,) = view.peers
    for root in roots(view, active):
        if len(root.noise) < 2:
            continue
        g = unmasked(root)[0]
        claims.append(Claim.of_node("gradients", active, root.node, g))
        claims.append(Claim.of_node("labels", active, root.node, g < 0))
    return Outcome(claims, why_not="" if claims else "no node had two candidates")


ATTACK = Attack("masked-difference", "gradients and labels, from two answers", "passive", NEEDS, run)
