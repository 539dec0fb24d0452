"""The same as `row-bits` by somebody who also knows feature and cut of every winning split: the most that bits tell.

An active party that follows the protocol learns no feature and no cut. It may know them from elsewhere, from a model
that was merged for example. A value then lies in one of the bins that all its comparisons leave; the middle one of them
is claimed.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.row_comparisons import middle_bins, pinned, possible_bins, told_by
from vfxgb.audit.view import AttackerView
from vfxgb.routing.messages import HiddenRouted


def run(view: AttackerView) -> Outcome:
    """Say of every value in which bins it may lie."""
    claims = []
    for peer, cuts in view.known_cuts.items():
        told = told_by(view, peer)
        possible = list(possible_bins(told, cuts))
        width = np.mean([bins.sum(axis=1).mean() / bins.shape[1] for bins in possible])
        detail = (
            f"feature and cut of all {len(told.sides):,} splits known; {pinned(possible):.4f} of values can lie in one "
            f"bin only, on average {width:.2f} of a feature's bins are left"
        )
        columns = np.stack([middle_bins(bins) for bins in possible], axis=1)
        rows = np.arange(view.setup.n_train)
        claims.append(Claim("binned table", peer, -1, -1, -1, rows, columns, detail=detail))
    return Outcome(claims)


ATTACK = Attack(
    "row-bits-cuts",
    "the binned table, by rows' bits at winning splits whose features and cuts are known from elsewhere",
    "active",
    (HiddenRouted.TAG,),
    run,
    known_cuts=True,
)
