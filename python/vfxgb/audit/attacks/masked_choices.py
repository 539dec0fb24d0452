"""Which rows share a node, by the choices of hidden routing read as they are sent: a check that they were masked.

Under `sealed` every row takes the bit of its own node by an oblivious transfer. What it sends for that is its node's
number, in bits, under random choices. Read without regard to these, rows with equal bits would stand in one node, and
mostly share a label.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.routed_lines import routed_lines
from vfxgb.audit.view import AttackerView
from vfxgb.routing.messages import HiddenRoute


def run(view: AttackerView) -> Outcome:
    """Say at each level of the first round that rows with equal choices share a label."""
    (active,) = view.peers
    n = view.setup.n_train
    claims = []
    for round_index, depth, corrections, _ in routed_lines(view, active):
        if round_index > view.setup.first_round:
            break
        group = np.zeros(n, dtype=np.int64)
        for line in corrections:
            group = 2 * group + line[:n]
        _, group = np.unique(group, return_inverse=True)
        detail = f"depth {depth}: {int(group.max()) + 1} different choices"
        claims.append(Claim("leaf labels", active, round_index, 0, -1, np.arange(n), group.ravel(), detail=detail))
    return Outcome(claims, why_not="" if claims else "this party has won no split of the first round")


ATTACK = Attack(
    "masked-choices", "which rows share a node, by the choices of hidden routing", "passive", (HiddenRoute.TAG,), run
)
