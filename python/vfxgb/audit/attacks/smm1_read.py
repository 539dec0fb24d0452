"""A0 on smm1: W = M^T (I - Z Z^T) is M^T plus noise of size r'/n; rounding takes the noise off (ERRATA 1.4)."""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.smm import exchanges
from vfxgb.audit.view import AttackerView

NEEDS = ("smm1-basis", "smm1-products")


def run(view: AttackerView) -> Outcome:
    """Round W of every node."""
    claims = []
    for peer in view.peers:
        for exchange in exchanges(view, peer, *NEEDS):
            if exchange.products is not None:
                node = exchange.node
                detail = f"r'/n {len(exchange.mask()) / exchange.n:.3f}"
                values = np.rint(exchange.products) >= 1
                place = (peer, node.round, node.tree, node.node, node.rows)
                claims.append(Claim("split matrix", *place, values, detail=detail))
    return Outcome(claims)


ATTACK = Attack("smm1-read", "the split matrix, by rounding W", "active", NEEDS, run)
