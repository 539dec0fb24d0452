"""A0 on smm1: W = M^T (I - Z Z^T) is M^T plus noise of size r'/n; rounding takes the noise off (ERRATA 1.4)."""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.smm import answered
from vfxgb.audit.view import AttackerView

NEEDS = ("smm1-basis", "smm1-products")


def run(view: AttackerView) -> Outcome:
    """Round W of every node."""
    claims = []
    for peer in view.peers:
        for exchange in answered(view, peer, NEEDS):
            values, detail = np.rint(exchange.products) >= 1, f"r'/n {exchange.hidden:.3f}"
            claims.append(Claim.of_node("split matrix", peer, exchange.node, values, detail=detail))
    return Outcome(claims)


ATTACK = Attack("smm1-read", "the split matrix, by rounding W", "active", NEEDS, run)
