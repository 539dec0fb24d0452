"""Buckets in which a single row lies: its gradient is the sum, so its label is known, and that such a row exists.

In the first tree all rows have the same hessian, so that a bucket's sum of hessians is a count. Where sums have noise
the attack rounds: a bucket counts as lone if its count rounds to one.
"""

import numpy as np

from vfxgb.audit.users.attack import UsersAttack, first_tree, rows_and_ones
from vfxgb.audit.users.claims import LoneCell, UserClaim, UsersOutcome
from vfxgb.audit.users.view import ServerView


def run(view: ServerView) -> UsersOutcome:
    """All buckets of the first tree."""
    nodes = first_tree(view)
    if len(view.start) != 1:
        return UsersOutcome(why_not="several outputs: the first tree of one output is attacked")
    if not nodes:
        return UsersOutcome(why_not="no sums of buckets in this run")
    claims: list[UserClaim] = []
    for node in nodes:
        for feature, cells in enumerate(node.cells):
            rows, ones = rows_and_ones(view, cells)
            for place in np.flatnonzero(np.rint(rows) == 1).tolist():
                bin_ = -1 if place == len(rows) - 1 else place
                claims.append(LoneCell(node.path, feature, bin_, bool(ones[place] > 0.5)))
    return UsersOutcome(claims) if claims else UsersOutcome(why_not="no bucket seems to hold a single row")


ATTACK = UsersAttack("lone-cells", "rows that are alone in a bucket, and their labels", run)
