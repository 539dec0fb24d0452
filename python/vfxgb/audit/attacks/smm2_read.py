"""A0 on smm2: W_g is g plus noise of size r'/n, and a negative g means the label 1, whatever the base score."""

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.smm import answered
from vfxgb.audit.view import AttackerView

NEEDS = ("smm2-basis", "smm2-products")


def run(view: AttackerView) -> Outcome:
    """The sign of W_g in every node."""
    claims = []
    (active,) = view.peers
    for exchange in answered(view, active, NEEDS):
        detail = f"r'/n {exchange.hidden:.3f}"
        claims.append(Claim.of_node("labels", active, exchange.node, exchange.products[0] < 0, detail=detail))
    return Outcome(claims)


ATTACK = Attack("smm2-read", "labels, by the sign of W_g", "passive", NEEDS, run)
